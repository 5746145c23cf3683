/**
 * The secrets key and what is derived from it: a key for each purpose, and a box for what must be stored but
 * not be read in the store. The keys of different purposes tell nothing of one another.
 *
 * The secrets key can be exchanged: a start with the new one, and with those before it as older ones,
 * opens what these sealed and seals only with the new one. What signs stays as it was.
 */
import { equalBytes } from "@noble/ciphers/utils.js"
import { hmac } from "@noble/hashes/hmac.js"
import { sha256 } from "@noble/hashes/sha2.js"
import { bytesToHex, hexToBytes, utf8ToBytes } from "@noble/hashes/utils.js"
import { Context, Data, Effect, Layer, Redacted } from "effect"
import type { Result } from "effect"
import { Ids } from "./Ids.ts"

// What is made of secrets with SHA-256: the hash that is stored, what they sign, and how they are compared.

/** SHA-256, hexadecimal. Keys are random, so that a plain hash is enough and can be looked up. */
export const hashSecret = (secret: string): string => bytesToHex(sha256(utf8ToBytes(secret)))

/** 128 bits of a value's signature, hexadecimal, by which links and cursors are known again. */
export const sign = (secret: string, value: unknown): string =>
  bytesToHex(hmac(sha256, utf8ToBytes(secret), utf8ToBytes(JSON.stringify(value)))).slice(0, 32)

/** In UTF-8 all lone surrogates become the same bytes; JSON escapes each as it is. */
const exactBytes = (text: string): Uint8Array => utf8ToBytes(JSON.stringify(text))

/**
 * Whether two secrets are equal, in a time that does not depend on where they differ: their hashes
 * are compared, whole.
 */
export const sameSecret = (a: string, b: string): boolean =>
  equalBytes(sha256(exactBytes(a)), sha256(exactBytes(b)))

/** The length of a key in hexadecimal. */
const hexLength = 64

/**
 * The bytes of a key, which no log shows. An interface, because TypeScript 5.6 cannot read what the
 * compiler would write into the declarations in its place.
 */
interface HiddenKey extends Redacted.Redacted<Uint8Array> {}

/** The key in a text of 64 hexadecimal characters; undefined for any other text. */
export const parseSecretsKey = (text: string): HiddenKey | undefined =>
  /^[0-9a-fA-F]{64}$/.test(text) ? Redacted.make(hexToBytes(text)) : undefined

/** The present key and those before it. */
export interface SecretsKeys {
  readonly present: HiddenKey
  readonly older: ReadonlyArray<HiddenKey>
}

/** Keys with commas between them, the present one first; undefined for any other text. */
export const parseSecretsKeys = (text: string): SecretsKeys | undefined => {
  const keys = text.split(",").map(parseSecretsKey)
  const [present, ...older] = keys.filter((key) => key !== undefined)
  return present === undefined || older.length + 1 < keys.length ? undefined : { present, older }
}

/**
 * The key that everything is derived from which must not be forged or read: 32 bytes that the
 * operator keeps outside the store (`SECRETS_KEY`; contract: Configuration). A copy of the database
 * alone is worth nothing without it.
 */
export class SecretsKey
  extends /*#__PURE__*/ Context.Service<SecretsKey, HiddenKey>()("core/SecretsKey")
{
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
  static readonly layerRandom: Layer.Layer<SecretsKey, never, Ids> = /*#__PURE__*/ Layer.effect(
    SecretsKey,
    /*#__PURE__*/ Effect.map(Ids, (ids) => Redacted.make(hexToBytes(ids.hex(hexLength)))),
  )
}

/**
 * Keys that were used before the present one, for what they sealed. The store moves on to the present
 * key at the first start with both; a sealed text when it is next written.
 */
export const OlderSecretsKeys = /*#__PURE__*/ Context.Reference<ReadonlyArray<HiddenKey>>(
  "core/OlderSecretsKeys",
  { defaultValue: () => [] },
)

/** What a key must be: the words after "must be" in a complaint. */
export const secretsKeyRule = "32 bytes in hexadecimal (64 characters)"

/** A new key as text. */
export const newSecretsKey = (ids: typeof Ids.Service): string => ids.hex(hexLength)

/** What a key signs. */
export type SigningPurpose =
  | "cursors"
  | "mediaLinks"
  | "qrLinks"
  | "webhooks"
  | "callbacks"
  | "browserSessions"

/** The store was first used with another secrets key. */
export class WrongSecretsKey extends /*#__PURE__*/ Data.TaggedError("WrongSecretsKey") {
  override get message() {
    return "the secrets key is not the one that this store was first used with"
  }
}

/** A sealed text was altered, belongs elsewhere, or was sealed with another key. */
export class CannotOpen extends /*#__PURE__*/ Data.TaggedError("CannotOpen") {
  override get message() {
    return "a sealed text could not be opened"
  }
}

export class Secrets
  extends /*#__PURE__*/ Context.Service<
    Secrets,
    {
      /** What signs for a purpose: 64 hexadecimal characters. */
      readonly keys: Readonly<Record<SigningPurpose, string>>
      /**
       * Encrypts a text for the store. `context` says what the text is and in which record: it opens
       * nowhere else. The result begins with the id of the key.
       */
      seal(context: string, text: string): string
      open(context: string, sealed: string): Result.Result<string, CannotOpen>
    }
  >()("core/Secrets") {}
