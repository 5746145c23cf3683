/**
 * Which operations the service answers. Pages and parts that need another one are not shown; tests show them, over a
 * stand-in. An operation leaves this list, and `additions.ts`, when it comes into the service's document.
 */
import type { Additions } from "./additions.ts"
import type { OperationName } from "./operations.ts"

const pending: Readonly<Record<keyof Additions, true>> = {
  "GET /admin/v1/workspaces/{id}/messages?text": true,
  "POST /admin/v1/workspaces/{id}/messages/cancel": true,
  "GET /admin/v1/workspaces/{id}/messages/{message_id}/timeline": true,
}

const hasStandIn = import.meta.env["VITE_STAND_IN"] === "true"

export const isOffered = (name: OperationName): boolean => hasStandIn || !(name in pending)
