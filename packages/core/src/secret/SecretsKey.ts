/**
 * The key that everything is derived from which must not be forged or read: 32 bytes that the
 * operator keeps outside the store (`SECRETS_KEY`; contract: Configuration). A copy of the database
 * alone is worth nothing without it.
 */
import { hexToBytes } from "@noble/hashes/utils.js"
import { Context, Effect, Layer, Redacted } from "effect"
import { Ids } from "../id/Ids.ts"

/** The length of a key in hexadecimal. */
const hexLength = 64

/** The key that a text of 64 hexadecimal characters stands for; undefined for any other text. */
export const parseSecretsKey = (text: string): Redacted.Redacted<Uint8Array> | undefined =>
  /^[0-9a-fA-F]{64}$/.test(text) ? Redacted.make(hexToBytes(text)) : undefined

/** The present key and those before it. */
export interface SecretsKeys {
  readonly present: Redacted.Redacted<Uint8Array>
  readonly older: ReadonlyArray<Redacted.Redacted<Uint8Array>>
}

/** Keys with commas between them, the present one first; undefined for any other text. */
export const parseSecretsKeys = (text: string): SecretsKeys | undefined => {
  const keys = text.split(",").map(parseSecretsKey)
  const [present, ...older] = keys.filter((key) => key !== undefined)
  return present === undefined || older.length + 1 < keys.length ? undefined : { present, older }
}

export class SecretsKey extends Context.Service<SecretsKey, Redacted.Redacted<Uint8Array>>()(
  "core/SecretsKey",
) {
  /** From 64 hexadecimal characters, the same at every start. Dies with any other text. */
  static readonly layerHex = (text: string): Layer.Layer<SecretsKey> =>
    Layer.effect(
      SecretsKey,
      Effect.suspend(() => {
        const key = parseSecretsKey(text)
        return key === undefined
          ? Effect.die(new Error(`the secrets key must be ${secretsKeyRule}`))
          : Effect.succeed(key)
      }),
    )

  /** A new one, for a store that goes with the process. */
  static readonly layerRandom: Layer.Layer<SecretsKey, never, Ids> = Layer.effect(
    SecretsKey,
    Effect.map(Ids, (ids) => Redacted.make(hexToBytes(ids.hex(hexLength)))),
  )
}

/**
 * Keys that were used before the present one, for what they sealed. The store moves on to the present
 * key at the first start with both; a sealed text when it is next written.
 */
export const OlderSecretsKeys = Context.Reference<ReadonlyArray<Redacted.Redacted<Uint8Array>>>(
  "core/OlderSecretsKeys",
  { defaultValue: () => [] },
)

/** What a key must be, behind "must be". */
export const secretsKeyRule = "32 bytes in hexadecimal (64 characters)"

/** A new key as text. */
export const newSecretsKey = (ids: typeof Ids.Service): string => ids.hex(hexLength)
