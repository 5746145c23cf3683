/**
 * What webhooks and callbacks have in common: the headers that sign them, and whether the signature is
 * that of a secret over the timestamp and the very bytes of the body.
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

/** The bytes of the body when they are signed as they should be, else why they are not to be trusted. */
export const signedBytes = async ({
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
export const headerOf = (headers: WebhookHeaders, name: string): string | undefined => {
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
