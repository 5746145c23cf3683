/**
 * The secrets that deliveries are signed with. A secret must be at hand for every attempt, so a hash
 * of it will not do; what is stored with an endpoint is a salt, from which and the key of its purpose
 * the secret is made each time. A copy of the database alone gives no secret away.
 */
import { hmac } from "@noble/hashes/hmac.js"
import { sha256 } from "@noble/hashes/sha2.js"
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js"
import { Context, Effect, Layer } from "effect"
import { Ids } from "../id/Ids.ts"
import { remembered } from "../memory/Remembered.ts"
import { Secrets } from "../secret/Secrets.ts"

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

export class SigningSecrets extends Context.Service<
  SigningSecrets,
  {
    /** Of webhook endpoints. */
    readonly webhooks: SaltedSecrets
    /** Of workspaces, for their callbacks. */
    readonly callbacks: SaltedSecrets
  }
>()("core/SigningSecrets") {
  static readonly layer = Layer.effect(
    SigningSecrets,
    Effect.gen(function* () {
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
