/** How a delivery proves where it comes from (contract: Events, request headers). */
import { hmac } from "@noble/hashes/hmac.js"
import { sha256 } from "@noble/hashes/sha2.js"
import { bytesToHex } from "@noble/hashes/utils.js"
import { remembered } from "../memory/Remembered.ts"

/** `User-Agent` of every delivery. */
export const webhookUserAgent = "Service-Webhooks/2"

const encoder = new TextEncoder()

/** A third of the work of a signature depends on the secret alone. */
const keyed = remembered((secret) => hmac.create(sha256, encoder.encode(secret)))

/**
 * `v1=` and the hexadecimal HMAC-SHA256 of `<timestamp>.<raw body>`; the key is the secret's
 * characters as they stand. `timestamp`: Unix seconds.
 */
export const signature = (secret: string, timestamp: number, body: Uint8Array): string => {
  const mac = keyed(secret)
    .clone()
    .update(encoder.encode(`${timestamp}.`))
    .update(body)
  return `v1=${bytesToHex(mac.digest())}`
}
