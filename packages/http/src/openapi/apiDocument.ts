/** The service's own OpenAPI document: every part that it serves. */
import { documentOpen } from "../open/OpenRoute.ts"
import type { OpenRoute } from "../open/OpenRoute.ts"
import type { OperatorRoute } from "../operator/OperatorRoute.ts"
import type { RouteV1 } from "../v1/RouteV1.ts"
import type { RouteV2 } from "../v2/RouteV2.ts"
import { documentOperator, documentV2 } from "./documentRoutes.ts"
import { documentV1 } from "./documentV1.ts"
import { errorSchemas, refusals } from "./errors.ts"
import { openApi } from "./openApi.ts"
import type { JsonObject } from "./Operation.ts"
import { webhookCalls } from "./webhookCalls.ts"

const description = (
  publicUrl: string,
): string => `Sends WhatsApp and Telegram messages from numbers that you own.

Sending is asynchronous: a success means that the message was accepted and queued. What became of it
tells its \`status\`, or a webhook.

- Send the key as \`Authorization: Bearer <key>\`.
- Times in requests are ISO 8601 with an offset; times in answers are UTC and end in \`Z\`.
- Unknown fields of a request are refused; answers may come to hold more than is described here.
- Every error has a real HTTP status and a body \`{"error": {"code", "message", "field", "docs",
  "request_id"}}\`. Branch on \`code\`; [the error catalogue](${publicUrl}/docs/errors) explains each.
- Version 1 has other ways: see its operations.
- An unknown address answers 404 \`not_found\`; another method 405 \`method_not_allowed\`, with
  \`Allow\`. HEAD is answered as GET without a body.`

/** The tables of routes, those empty that a service does not serve. */
export interface Tables {
  readonly v2: ReadonlyArray<RouteV2>
  readonly v1: ReadonlyArray<RouteV1>
  readonly operator: ReadonlyArray<OperatorRoute>
  readonly open: ReadonlyArray<OpenRoute>
}

/** The document of what this service serves, given the origin it is reached at. */
export const apiDocument = ({ open, operator, v1, v2 }: Tables, publicUrl: string): JsonObject => {
  const [NotFound, MethodNotAllowed] = refusals(["not_found", "method_not_allowed"])
  const parts = [documentV2(v2), documentV1(v1), documentOperator(operator), documentOpen(open)]
  return openApi({
    title: "Messaging Service",
    version: "2.0.0",
    description: description(publicUrl),
    publicUrl,
    parts: parts.filter(({ operations }) => operations.length > 0),
    calls: v2.length === 0 ? [] : webhookCalls,
    anywhere: { NotFound, MethodNotAllowed },
    schemas: errorSchemas,
  })
}
