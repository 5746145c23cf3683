/**
 * Whether a request to your webhook really comes from the messaging service, and just now: its
 * signature is that of a secret that only the two of you know over the very bytes of the body, and its
 * timestamp is not far from the present time. `verifyWebhook` is for webhook endpoints,
 * `verifyCallback` for the callbacks of version 1.
 *
 * Works wherever Web Crypto does: Node, Deno, Bun, workers, browsers.
 */
import { parseCallback } from "./CallbackReport.ts"
import type { CallbackReport } from "./CallbackReport.ts"
import { headerOf, signedBytes } from "./signature.ts"
import type { Distrust, WebhookRequest } from "./signature.ts"
import type { WebhookEvent } from "./WebhookEvent.ts"

export type { CallbackReport, ConnectionReport, MessageReport } from "./CallbackReport.ts"
export type { Distrust, WebhookHeaders, WebhookRequest } from "./signature.ts"
export type { WebhookEvent, WebhookMessage } from "./WebhookEvent.ts"

export type Verification =
  | { readonly valid: true; readonly event: WebhookEvent }
  | { readonly valid: false; readonly reason: Distrust }

export type CallbackVerification =
  | {
      readonly valid: true
      /** The same on every attempt. A header, so not signed; null when it was lost on the way. */
      readonly id: string | null
      readonly report: CallbackReport
    }
  | { readonly valid: false; readonly reason: Distrust }

/**
 * Verifies a request to a webhook endpoint. Answer with a 2xx within 15 seconds when it is valid, and
 * discard an event whose `id` you have had before: a delivery may be repeated.
 *
 * @example
 * const verification = await verifyWebhook({ body: await request.text(), headers: request.headers, secret })
 * if (!verification.valid) return new Response(verification.reason, { status: 400 })
 */
export const verifyWebhook = async (request: WebhookRequest): Promise<Verification> => {
  const signed = await signedBytes(request)
  if (typeof signed === "string") return distrust(signed)
  const event = parseEvent(signed)
  return event === undefined ? distrust("malformed_body") : { valid: true, event }
}

/**
 * Verifies a callback of version 1, whose body is a form. The secret is the workspace's. Answer as to
 * a webhook; a callback may be repeated too, and has the same `id` then.
 *
 * @example
 * const verification = await verifyCallback({ body: await request.text(), headers: request.headers, secret })
 * if (!verification.valid) return new Response(verification.reason, { status: 400 })
 */
export const verifyCallback = async (request: WebhookRequest): Promise<CallbackVerification> => {
  const signed = await signedBytes(request)
  if (typeof signed === "string") return distrust(signed)
  const report = parseCallback(signed)
  if (report === undefined) return distrust("malformed_body")
  return { valid: true, id: headerOf(request.headers, "Service-Event-Id") ?? null, report }
}

const distrust = (reason: Distrust): { readonly valid: false; readonly reason: Distrust } => ({
  valid: false,
  reason,
})

const parseEvent = (body: Uint8Array): WebhookEvent | undefined => {
  try {
    const event: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body))
    return typeof event === "object" && event !== null ? (event as WebhookEvent) : undefined
  } catch {
    return undefined
  }
}
