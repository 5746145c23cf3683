/** How a delivery proves where it comes from (contract: Events, request headers). */
import { hmac } from "@noble/hashes/hmac.js"
import { sha256 } from "@noble/hashes/sha2.js"
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js"

/** `User-Agent` of every delivery. */
export const webhookUserAgent = "Service-Webhooks/2"

/**
 * `v1=` and the hexadecimal HMAC-SHA256 of `<timestamp>.<raw body>`; the key is the secret's
 * characters as they stand. `timestamp`: Unix seconds.
 */
export const signature = (secret: string, timestamp: number, body: Uint8Array): string => {
  const mac = hmac
    .create(sha256, utf8ToBytes(secret))
    .update(utf8ToBytes(`${timestamp}.`))
    .update(body)
  return `v1=${bytesToHex(mac.digest())}`
}
