/**
 * For receivers: checks whether a request to your webhook comes from the messaging service, and is
 * recent. It verifies the signature of timestamp and raw body with your shared secret, and compares
 * the timestamp with the clock. Use `verifyWebhook` for webhook endpoints and `verifyCallback` for
 * version 1 callbacks.
 *
 * Works wherever Web Crypto does: Node, Deno, Bun, workers, browsers.
 */

import type { ReceivedMessage } from "./openapi.ts"

/** The request's headers: a `Headers`, or names and values as Node's servers have them. */
export type WebhookHeaders =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | ReadonlyArray<string> | undefined>>

export interface WebhookRequest {
  /** The raw body, before any parsing: bytes, or their text in UTF-8. */
  readonly body: string | Uint8Array | ArrayBuffer
  readonly headers: WebhookHeaders
  /** The endpoint's secret, or the workspace's for callbacks: 64 hexadecimal characters. */
  readonly secret: string
  /**
   * Current time: a date, or Unix seconds as in the timestamp and in the test vectors. Default: the
   * clock's.
   */
  readonly now?: Date | number
  /** Largest difference between the timestamp and the current time, in seconds. Default: 300. */
  readonly toleranceSeconds?: number
}

/** Why you must not trust a request. */
export type Distrust =
  /** A header is missing or malformed. */
  | "malformed_headers"
  /** The request is too old, or a clock is wrong. */
  | "timestamp_out_of_tolerance"
  /** Another secret signed it, or something changed on the way. */
  | "wrong_signature"
  /** The signature is right, but the service sends no such body. */
  | "malformed_body"

/** A message in its state at the event. */
export interface WebhookMessage {
  readonly id: number
  readonly status: "sent" | "failed" | "cancelled" | "expired" | "delivered" | "read"
  readonly from: {
    readonly id: number
    /** Digits with country code; null for an account without a phone. */
    readonly phone: string | null
    readonly platform: "whatsapp" | "telegram"
  }
  /** As the command gave it: `phone` and `contact_id`, `group`, `username`, or `chat_id` with what is known of it. */
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
  /** The message that it quotes; absent without one. */
  readonly reply_to?: { readonly received_message_id: number } | { readonly message_id: number }
}

interface Envelope {
  /** `evt_` and 24 characters, the same on every retry: discard ids that you have seen. */
  readonly id: string
  /** UTC. */
  readonly created_at: string
}

/** A number in its state at the event. */
export interface WebhookNumber {
  readonly number: {
    readonly id: number
    /** Digits with country code; null until a phone scans the code. */
    readonly phone: string | null
    readonly platform: "whatsapp" | "telegram"
    readonly status: "connected" | "connecting" | "disconnected"
  }
  /** Why; null for none. */
  readonly reason: string | null
  /** When the new state began. */
  readonly since: string
}

/** Messages of a number may be missing. */
export interface WebhookGap {
  readonly gap: {
    readonly number_id: number
    /** Nothing is missing before it. */
    readonly from: string
    /** Nothing is missing after it. */
    readonly until: string
    /** `relinked`: the number was linked again. `skipped`: the platform said so. */
    readonly reason: "relinked" | "skipped"
  }
}

/** What WhatsApp lets a number do with people who never wrote to it. */
export interface WebhookRestrictions extends Pick<WebhookNumber, "number"> {
  readonly restrictions: {
    readonly number_id: number
    /** `new_chats_closed`: people who never wrote to the number cannot be written to. */
    readonly state: "none" | "new_chats_closed" | "unknown"
    /** Its end; null when unknown. */
    readonly until: string | null
    /** WhatsApp's name of the reason; null for none. */
    readonly reason: string | null
    /** Null when unknown. */
    readonly new_chats: {
      /** Null without a cap. */
      readonly limit: number | null
      readonly used: number
      readonly resets_at: string | null
      readonly warning: "none" | "first" | "second" | "capped"
    } | null
    /** When WhatsApp last told of it. */
    readonly checked_at: string | null
  }
}

/** A reaction, and the message that it is to. */
export type WebhookReaction = {
  readonly reaction: {
    /** Who reacted; the number itself for its owner. */
    readonly from: ReceivedMessage["from"]
    /** Null: it was taken back. */
    readonly emoji: string | null
    /** The author's time. */
    readonly at: string
  }
} & ({ readonly received_message: ReceivedMessage } | { readonly message: WebhookMessage })

export type WebhookEvent =
  | (Envelope & {
      readonly type: "message.sent" | "message.failed" | "message.cancelled" | "message.expired"
      readonly data: { readonly message: WebhookMessage }
    })
  /** Only where conversations are on, and the endpoint names them. */
  | (Envelope & {
      readonly type: "message.delivered" | "message.read"
      readonly data: { readonly message: WebhookMessage }
    })
  | (Envelope & {
      readonly type: "number.connected" | "number.disconnected" | "number.paused" | "number.resumed"
      readonly data: WebhookNumber
    })
  | (Envelope & { readonly type: "number.gap"; readonly data: WebhookGap })
  | (Envelope & {
      readonly type: "number.restricted" | "number.unrestricted"
      readonly data: WebhookRestrictions
    })
  | (Envelope & {
      readonly type:
        | "message.received"
        | "message.echo"
        | "message.edited"
        | "message.revoked"
        | "message.recovered"
      readonly data: { readonly received_message: ReceivedMessage }
    })
  | (Envelope & { readonly type: "message.reaction"; readonly data: WebhookReaction })
  | (Envelope & { readonly type: "ping"; readonly data: { readonly webhook_id: number } })

/** Result of a message with a `webhook`. */
export interface MessageReport {
  readonly kind: "message"
  readonly msg_id: number
  readonly status: "SENT" | "FAILED" | "CANCELLED" | "EXPIRED"
  /** Why it failed; null unless `status` is `FAILED`. */
  readonly error: string | null
}

/** Result of connecting a number with a `webhook_url`. */
export interface ConnectionReport {
  readonly kind: "connection"
  readonly event: "qr-generated" | "connected" | "disconnected"
  readonly whatsapp_client: number
  /** Digits with country code; null while unknown. */
  readonly whatsapp_number: string | null
}

export type CallbackReport = MessageReport | ConnectionReport

export type Verification =
  | { readonly valid: true; readonly event: WebhookEvent }
  | { readonly valid: false; readonly reason: Distrust }

export type CallbackVerification =
  | {
      readonly valid: true
      /** The same on every attempt. It is a header, so unsigned; null when a proxy dropped it. */
      readonly id: string | null
      readonly report: CallbackReport
    }
  | { readonly valid: false; readonly reason: Distrust }

/**
 * Verifies a request to a webhook endpoint. Answer a valid one with a 2xx within 15 seconds. Discard
 * an event if you have seen its `id`: the service may repeat a delivery.
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
 * Verifies a version 1 callback. Its body is a form. The secret is the workspace's. Answer as to a
 * webhook; a repeated callback has the same `id`.
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
  return { valid: true, id: findHeader(request.headers, "Service-Event-Id") ?? null, report }
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

/** Undefined for a malformed form. */
const parseCallback = (body: Uint8Array): CallbackReport | undefined => {
  const form = new URLSearchParams(new TextDecoder().decode(body))
  const status = statuses.find((known) => known === form.get("status"))
  const messageId = findId(form.get("msg_id"))
  if (status !== undefined && messageId !== undefined) {
    return { kind: "message", msg_id: messageId, status, error: form.get("error") }
  }
  const event = events.find((known) => known === form.get("event"))
  const numberId = findId(form.get("whatsapp_client"))
  if (event === undefined || numberId === undefined) return undefined
  const phone = form.get("whatsapp_number")
  return {
    kind: "connection",
    event,
    whatsapp_client: numberId,
    whatsapp_number: phone === "" ? null : phone,
  }
}

const findId = (text: string | null): number | undefined =>
  text !== null && /^\d{1,15}$/.test(text) ? Number(text) : undefined

/** The body's bytes when the signature is valid, else the reason for distrust. */
const signedBytes = async ({
  body,
  headers,
  secret,
  now = new Date(),
  toleranceSeconds = 300,
}: WebhookRequest): Promise<Uint8Array | Distrust> => {
  const timestamp = findHeader(headers, "Service-Timestamp")
  const signature = findHeader(headers, "Service-Signature")
  const mac = /^v1=([0-9a-f]{64})$/.exec(signature ?? "")?.[1]
  if (timestamp === undefined || !/^\d{1,15}$/.test(timestamp) || mac === undefined) {
    return "malformed_headers"
  }
  const seconds = typeof now === "number" ? now : now.getTime() / 1000
  if (!(Math.abs(seconds - Number(timestamp)) <= toleranceSeconds)) {
    return "timestamp_out_of_tolerance"
  }
  const bytes = typeof body === "string" ? encode(body) : new Uint8Array(body)
  return (await isSignedBy(secret, timestamp, bytes, mac)) ? bytes : "wrong_signature"
}

const encode = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text)

/** Undefined when it is missing or repeated. */
const findHeader = (headers: WebhookHeaders, name: string): string | undefined => {
  if (isHeaders(headers)) return headers.get(name) ?? undefined
  const lower = name.toLowerCase()
  const key = Object.keys(headers).find((candidate) => candidate.toLowerCase() === lower)
  const value = key === undefined ? undefined : headers[key]
  // The service never sends it twice.
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
