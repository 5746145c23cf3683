/**
 * Whether a request to your webhook really comes from the messaging service, and just now: its
 * signature is that of the endpoint's secret over the very bytes of the body, and its timestamp is
 * not far from the present time.
 *
 * Works wherever Web Crypto does: Node, Deno, Bun, workers, browsers.
 */
import type { WebhookEvent } from "./WebhookEvent.ts"

export type { WebhookEvent, WebhookMessage } from "./WebhookEvent.ts"

/** The request's headers: a `Headers`, or names and values as Node's servers have them. */
export type WebhookHeaders =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | ReadonlyArray<string> | undefined>>

export interface WebhookRequest {
  /** The body as it came, before anything parsed it: bytes, or the text that they are in UTF-8. */
  readonly body: string | Uint8Array | ArrayBuffer
  readonly headers: WebhookHeaders
  /** The endpoint's secret: 64 hexadecimal characters. */
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
  /** The signature is right, but the body is no JSON. */
  | "malformed_body"

export type Verification =
  | { readonly valid: true; readonly event: WebhookEvent }
  | { readonly valid: false; readonly reason: Distrust }

/**
 * Verifies a request to a webhook endpoint. Answer with a 2xx within 15 seconds when it is valid, and
 * discard an event whose `id` you have had before: a delivery may be repeated.
 *
 * @example
 * const verification = await verifyWebhook({ body: await request.text(), headers: request.headers, secret })
 * if (!verification.valid) return new Response(verification.reason, { status: 400 })
 */
export const verifyWebhook = async ({
  body,
  headers,
  secret,
  now = Date.now(),
  toleranceSeconds = 300,
}: WebhookRequest): Promise<Verification> => {
  const timestamp = headerOf(headers, "Service-Timestamp")
  const signature = headerOf(headers, "Service-Signature")
  const mac = /^v1=([0-9a-f]{64})$/.exec(signature ?? "")?.[1]
  if (timestamp === undefined || !/^\d{1,15}$/.test(timestamp) || mac === undefined) {
    return distrust("malformed_headers")
  }
  if (!(Math.abs(now / 1000 - Number(timestamp)) <= toleranceSeconds)) {
    return distrust("timestamp_out_of_tolerance")
  }
  const bytes = typeof body === "string" ? encode(body) : new Uint8Array(body)
  if (!(await isSignedBy(secret, timestamp, bytes, mac))) return distrust("wrong_signature")
  const event = parse(bytes)
  return event === undefined ? distrust("malformed_body") : { valid: true, event }
}

const distrust = (reason: Distrust): Verification => ({ valid: false, reason })

const encode = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text)

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

const parse = (body: Uint8Array): WebhookEvent | undefined => {
  try {
    const event: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body))
    return typeof event === "object" && event !== null ? (event as WebhookEvent) : undefined
  } catch {
    return undefined
  }
}
