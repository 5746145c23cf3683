/**
 * How a delivery proves where it comes from (contract: Signatures), and the secrets that it is signed
 * with: each is made from the service's key and a salt of its own, and the salt alone is kept.
 */
import { hmac } from "@noble/hashes/hmac.js"
import { sha256 } from "@noble/hashes/sha2.js"
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js"
import { Context, Effect, Layer } from "effect"
import { Ids } from "../Ids.ts"
import { remembered } from "../limit/Remembered.ts"
import { Secrets } from "../secret/Secrets.ts"

/** `User-Agent` of every delivery. */
export const webhookUserAgent = "Service-Webhooks/2"

/**
 * HMAC-SHA256 in hexadecimal; key and text count as UTF-8. There is one for each delivery, the only
 * place where the speed of a hash matters: a platform that has a faster one puts it here.
 */
export type HmacSha256 = (key: string, text: string) => string

/** A third of the work of a signature depends on the key alone. */
const keyed = /*#__PURE__*/ remembered((key) => hmac.create(sha256, utf8ToBytes(key)))

/** Runs everywhere. */
const portableHmac: HmacSha256 = (key, text) =>
  bytesToHex(keyed(key).clone().update(utf8ToBytes(text)).digest())

export const HmacSha256 = /*#__PURE__*/ Context.Reference<HmacSha256>("core/HmacSha256", {
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

export interface SigningSecret {
  /** 64 hexadecimal characters (contract: Signatures). */
  readonly secret: string
  /** What is kept in its place. */
  readonly salt: string
}

/** The secret that a salt stands for, under the service's key. */
export const secretOfSalt = (key: string, salt: string): string =>
  bytesToHex(hmac(sha256, utf8ToBytes(key), utf8ToBytes(`signing-secret ${salt}`)))

/** The secrets of one purpose. */
export interface SaltedSecrets {
  /** A new one. */
  readonly make: Effect.Effect<SigningSecret>
  /** The secret of that salt. */
  of(salt: string): string
}

export class SigningSecrets
  extends /*#__PURE__*/ Context.Service<
    SigningSecrets,
    {
      /** Of webhook endpoints. */
      readonly webhooks: SaltedSecrets
      /** Of workspaces, for their callbacks. */
      readonly callbacks: SaltedSecrets
    }
  >()("core/SigningSecrets")
{
  static readonly layer = /*#__PURE__*/ Layer.effect(
    SigningSecrets,
    /*#__PURE__*/ Effect.gen(function* () {
      const ids = yield* Ids
      const { keys } = yield* Secrets
      const salted = (key: string): SaltedSecrets => ({
        make: Effect.sync(() => {
          const salt = ids.hex(32)
          return { salt, secret: secretOfSalt(key, salt) }
        }),
        of: remembered((salt) => secretOfSalt(key, salt)),
      })
      return SigningSecrets.of({
        webhooks: salted(keys.webhooks),
        callbacks: salted(keys.callbacks),
      })
    }),
  )
}
