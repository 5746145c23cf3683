/**
 * The secrets that deliveries are signed with. A secret must be at hand for every attempt, so a hash
 * of it will not do; what is stored with an endpoint is a salt, from which and the service's own key
 * the secret is made each time. A copy of the endpoints alone gives no secret away.
 */
import { hmac } from "@noble/hashes/hmac.js"
import { sha256 } from "@noble/hashes/sha2.js"
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js"
import { Context, Effect, Layer } from "effect"
import { Ids } from "../id/Ids.ts"
import { remembered } from "../memory/Remembered.ts"
import { ServiceSecrets } from "../request/ServiceSecrets.ts"

export interface SigningSecret {
  /** 64 hexadecimal characters (contract: Limits). */
  readonly secret: string
  /** What is kept in its place. */
  readonly salt: string
}

/** The secret that a salt stands for, under the service's key. */
export const secretOfSalt = (key: string, salt: string): string =>
  bytesToHex(hmac(sha256, utf8ToBytes(key), utf8ToBytes(`signing-secret ${salt}`)))

export class SigningSecrets extends Context.Service<
  SigningSecrets,
  {
    /** A new one. */
    readonly make: Effect.Effect<SigningSecret>
    /** The secret of that salt. */
    of(salt: string): string
  }
>()("core/SigningSecrets") {
  static readonly layer = Layer.effect(
    SigningSecrets,
    Effect.gen(function* () {
      const ids = yield* Ids
      const key = yield* (yield* ServiceSecrets).getOrCreate("signing-key", ids.hex(64))
      return SigningSecrets.of({
        make: Effect.sync(() => {
          const salt = ids.hex(32)
          return { salt, secret: secretOfSalt(key, salt) }
        }),
        of: remembered((salt) => secretOfSalt(key, salt)),
      })
    }),
  )
}
