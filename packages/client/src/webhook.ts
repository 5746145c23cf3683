/**
 * For receivers: tells whether a request to your webhook comes from the messaging service, and just
 * now. It checks the signature over the timestamp and the body's own bytes with the secret that you
 * share with the service, and the timestamp with the clock. `verifyWebhook` is for webhook endpoints,
 * `verifyCallback` for version 1 callbacks.
 *
 * Works wherever Web Crypto does: Node, Deno, Bun, workers, browsers.
 */

/** The request's headers: a `Headers`, or names and values as Node's servers have them. */
export type WebhookHeaders =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | ReadonlyArray<string> | undefined>>

export interface WebhookRequest {
  /** The body as it came, before anything parsed it: bytes, or the text that they are in UTF-8. */
  readonly body: string | Uint8Array | ArrayBuffer
  readonly headers: WebhookHeaders
  /** The endpoint's secret, or the workspace's for callbacks: 64 hexadecimal characters. */
  readonly secret: string
  /** The present time in epoch milliseconds; the clock's by default. */
  readonly now?: number
  /** How far the timestamp may be from the present time, in seconds; 300 by default. */
  readonly toleranceSeconds?: number
}

/** Why a request is not to be trusted. */
export type Distrust =
  /** A header is missing or is not of the form that the service sends. */
  | "malformed_headers"
  /** It was sent too long ago, or a clock is wrong. */
  | "timestamp_out_of_tolerance"
  /** Another secret signed it, or something was changed on the way. */
  | "wrong_signature"
  /** The signature is right, but the body is not what the service sends. */
  | "malformed_body"

/** A message in the state it was in when the event was made. */
export interface WebhookMessage {
  readonly id: number
  readonly status: "sent" | "failed" | "cancelled" | "expired"
  readonly from: {
    readonly id: number
    /** Digits with country code; null for an account without a phone. */
    readonly phone: string | null
    readonly platform: "whatsapp" | "telegram"
  }
  /** As it was given: `phone` and `contact_id`, `group`, or `username`. */
  readonly to: Readonly<Record<string, string | number | null>>
  readonly text: string
  readonly media: {
    readonly media_id: number | null
    readonly url: string | null
    readonly type: "image" | "file" | null
    readonly file_name: string | null
  } | null
  readonly send_at: string | null
  readonly expires_at: string | null
  readonly created_at: string
  readonly sent_at: string | null
  /** Why it failed; null unless `status` is `failed`. */
  readonly error: { readonly code: string; readonly message: string } | null
}

interface Envelope {
  /** `evt_` and 24 characters, the same on every retry: discard what you have had before. */
  readonly id: string
  /** UTC. */
  readonly created_at: string
}

export type WebhookEvent =
  | (Envelope & {
      readonly type: "message.sent" | "message.failed" | "message.cancelled" | "message.expired"
      readonly data: { readonly message: WebhookMessage }
    })
  | (Envelope & { readonly type: "ping"; readonly data: { readonly webhook_id: number } })

/** What became of a message that was sent with a `webhook`. */
export interface MessageReport {
  readonly kind: "message"
  readonly msg_id: number
  readonly status: "SENT" | "FAILED" | "CANCELLED" | "EXPIRED"
  /** Why it failed; null unless `status` is `FAILED`. */
  readonly error: string | null
}

/** What became of a number that was connected with a `webhook_url`. */
export interface ConnectionReport {
  readonly kind: "connection"
  readonly event: "qr-generated" | "connected" | "disconnected"
  readonly whatsapp_client: number
  /** Digits with country code; null while the number's phone is not known. */
  readonly whatsapp_number: string | null
}

export type CallbackReport = MessageReport | ConnectionReport

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

const statuses = ["SENT", "FAILED", "CANCELLED", "EXPIRED"] as const
const events = ["qr-generated", "connected", "disconnected"] as const

/** Undefined for a form that the service does not send. */
const parseCallback = (body: Uint8Array): CallbackReport | undefined => {
  const form = new URLSearchParams(new TextDecoder().decode(body))
  const status = statuses.find((known) => known === form.get("status"))
  const messageId = idOf(form.get("msg_id"))
  if (status !== undefined && messageId !== undefined) {
    return { kind: "message", msg_id: messageId, status, error: form.get("error") }
  }
  const event = events.find((known) => known === form.get("event"))
  const numberId = idOf(form.get("whatsapp_client"))
  if (event === undefined || numberId === undefined) return undefined
  const phone = form.get("whatsapp_number")
  return {
    kind: "connection",
    event,
    whatsapp_client: numberId,
    whatsapp_number: phone === "" ? null : phone,
  }
}

const idOf = (text: string | null): number | undefined =>
  text !== null && /^\d{1,15}$/.test(text) ? Number(text) : undefined

/** The bytes of the body when they are signed as they should be, else why they are not to be trusted. */
const signedBytes = async ({
  body,
  headers,
  secret,
  now = Date.now(),
  toleranceSeconds = 300,
}: WebhookRequest): Promise<Uint8Array | Distrust> => {
  const timestamp = headerOf(headers, "Service-Timestamp")
  const signature = headerOf(headers, "Service-Signature")
  const mac = /^v1=([0-9a-f]{64})$/.exec(signature ?? "")?.[1]
  if (timestamp === undefined || !/^\d{1,15}$/.test(timestamp) || mac === undefined) {
    return "malformed_headers"
  }
  if (!(Math.abs(now / 1000 - Number(timestamp)) <= toleranceSeconds)) {
    return "timestamp_out_of_tolerance"
  }
  const bytes = typeof body === "string" ? encode(body) : new Uint8Array(body)
  return (await isSignedBy(secret, timestamp, bytes, mac)) ? bytes : "wrong_signature"
}

const encode = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text)

/** Undefined when it is missing, or came more than once. */
const headerOf = (headers: WebhookHeaders, name: string): string | undefined => {
  if (isHeaders(headers)) return headers.get(name) ?? undefined
  const lower = name.toLowerCase()
  const key = Object.keys(headers).find((candidate) => candidate.toLowerCase() === lower)
  const value = key === undefined ? undefined : headers[key]
  // Sent twice it is not what the service sends.
  return typeof value === "string" ? value : undefined
}

const isHeaders = (
  headers: WebhookHeaders,
): headers is Extract<WebhookHeaders, { get(name: string): string | null }> =>
  typeof (headers as { readonly get?: unknown }).get === "function"

/** Web Crypto compares in constant time. */
const isSignedBy = async (
  secret: string,
  timestamp: string,
  body: Uint8Array,
  mac: string,
): Promise<boolean> => {
  const { subtle } = globalThis.crypto
  const algorithm = { name: "HMAC", hash: "SHA-256" }
  const key = await subtle.importKey("raw", encode(secret), algorithm, false, ["verify"])
  const prefix = encode(`${timestamp}.`)
  const signed = new Uint8Array(prefix.length + body.length)
  signed.set(prefix)
  signed.set(body, prefix.length)
  return subtle.verify("HMAC", key, fromHex(mac), signed)
}

const fromHex = (text: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(text.match(/../g) ?? [], (byte) => Number.parseInt(byte, 16))
