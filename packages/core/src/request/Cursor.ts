/**
 * Cursors: opaque, signed, and bound to the list they were made for (contract: Pages and cursors).
 * Anything but the exact string given out is `invalid_cursor`.
 */
import { hmac } from "@noble/hashes/hmac.js"
import { sha256 } from "@noble/hashes/sha2.js"
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js"
import { Context, Effect, Layer } from "effect"
import { refuse } from "../error/Refusal.ts"
import type { Refusal } from "../error/Refusal.ts"
import { sameSecret } from "../key/secret.ts"
import { Secrets } from "../secret/Secrets.ts"

/**
 * What a cursor is bound to: the resource, whose it is, and every filter. The limit is not among
 * them.
 */
export type CursorBinding = ReadonlyArray<string | number | null | ReadonlyArray<string | number>>

/** 128 bits of the signature are given out. */
const signatureLength = 32

const sign = (secret: Uint8Array, before: number, binding: CursorBinding): string =>
  bytesToHex(hmac(sha256, secret, utf8ToBytes(JSON.stringify([before, binding])))).slice(
    0,
    signatureLength,
  )

/** The cursor of the page that follows the record with this id. */
export const makeCursor = (secret: string, before: number, binding: CursorBinding): string =>
  `${before.toString(36)}.${sign(utf8ToBytes(secret), before, binding)}`

/** The id that a cursor of this list continues after; undefined for any other text. */
export const readCursor = (
  secret: string,
  cursor: string,
  binding: CursorBinding,
): number | undefined => {
  const before = Number.parseInt(cursor.slice(0, cursor.indexOf(".")), 36)
  if (!Number.isSafeInteger(before)) return undefined
  return sameSecret(cursor, makeCursor(secret, before, binding)) ? before : undefined
}

export class Cursors extends Context.Service<
  Cursors,
  {
    make(before: number | null, binding: CursorBinding): string | null
    /** Fails with `invalid_cursor`. Null (no cursor) is the first page. */
    read(cursor: string | null, binding: CursorBinding): Effect.Effect<number | null, Refusal>
  }
>()("core/Cursors") {
  static readonly layer: Layer.Layer<Cursors, never, Secrets> = Layer.effect(
    Cursors,
    Effect.gen(function* () {
      const secret = (yield* Secrets).keys.cursors
      return Cursors.of({
        make: (before, binding) => (before === null ? null : makeCursor(secret, before, binding)),
        read: (cursor, binding) => {
          if (cursor === null) return Effect.succeed(null)
          const before = readCursor(secret, cursor, binding)
          return before === undefined
            ? Effect.fail(refuse("invalid_cursor", { field: "cursor" }))
            : Effect.succeed(before)
        },
      })
    }),
  )
}
