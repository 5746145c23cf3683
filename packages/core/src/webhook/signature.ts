/** How a delivery proves where it comes from (contract: Signatures). */
import { hmac } from "@noble/hashes/hmac.js"
import { sha256 } from "@noble/hashes/sha2.js"
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js"
import { Context } from "effect"
import { remembered } from "../memory/Remembered.ts"

/** `User-Agent` of every delivery. */
export const webhookUserAgent = "Service-Webhooks/2"

/**
 * HMAC-SHA256 in hexadecimal; key and text count as UTF-8. There is one for each delivery, the only
 * place where the speed of a hash matters: a platform that has a faster one puts it here.
 */
export type HmacSha256 = (key: string, text: string) => string

/** A third of the work of a signature depends on the key alone. */
const keyed = remembered((key) => hmac.create(sha256, utf8ToBytes(key)))

/** Runs everywhere. */
const portableHmac: HmacSha256 = (key, text) =>
  bytesToHex(keyed(key).clone().update(utf8ToBytes(text)).digest())

export const HmacSha256 = Context.Reference<HmacSha256>("core/HmacSha256", {
  defaultValue: () => portableHmac,
})

/**
 * `v1=` and the hexadecimal HMAC-SHA256 of `<timestamp>.<raw body>`; the key is the secret's
 * characters as they stand. `timestamp`: Unix seconds.
 */
export const signature = (
  hmacSha256: HmacSha256,
  secret: string,
  timestamp: number,
  body: string,
): string => `v1=${hmacSha256(secret, `${timestamp}.${body}`)}`
