/**
 * Opens the secrets with the key and what the store keeps of them. In its own module: what signs and
 * seals needs no store.
 */
import { xchacha20poly1305 } from "@noble/ciphers/chacha.js"
import { bytesToUtf8 } from "@noble/ciphers/utils.js"
import { hkdf } from "@noble/hashes/hkdf.js"
import { sha256 } from "@noble/hashes/sha2.js"
import { bytesToHex, hexToBytes, utf8ToBytes } from "@noble/hashes/utils.js"
import { Effect, Layer, Redacted, Result } from "effect"
import type { StoreUnavailable } from "../model/Refusal.ts"
import { Ids } from "../model/Ids.ts"
import {
  Secrets,
  SecretsKey,
  OlderSecretsKeys,
  WrongSecretsKey,
  CannotOpen,
  sameSecret,
} from "../model/Secrets.ts"
import type { SigningPurpose } from "../model/Secrets.ts"
import { Store } from "../store/Store.ts"

/** Bytes of a nonce: so many that random ones never meet. */
const nonceBytes = 24

/** The key for a purpose: HKDF with SHA-256. */
const deriveKey = (key: Uint8Array, purpose: string): Uint8Array =>
  hkdf(sha256, key, undefined, utf8ToBytes(`messaging-service ${purpose}`), 32)

/** A secrets key with what is made from it. */
const keyed = (key: Uint8Array) => {
  const derived = (purpose: string) => bytesToHex(deriveKey(key, purpose))
  const sealing = deriveKey(key, "sealing")
  return {
    id: derived("id").slice(0, 8),
    derived,
    cipher: (context: string, nonce: string) =>
      xchacha20poly1305(sealing, hexToBytes(nonce), utf8ToBytes(context)),
  }
}

/** Whether a store with this mark (`secrets-key-check`) was first used with one of the keys. */
export const isMarkOfSecretsKeys = (
  mark: string,
  keys: ReadonlyArray<Redacted.Redacted<Uint8Array>>,
): boolean => keys.some((key) => sameSecret(mark, keyed(Redacted.value(key)).derived("check")))

/** Fails with `WrongSecretsKey`, so that nothing is signed or sealed with a key by mistake. */
export const layerStoredSecrets: Layer.Layer<
  Secrets,
  StoreUnavailable | WrongSecretsKey,
  SecretsKey | Store | Ids
> = /*#__PURE__*/ Layer.effect(
  Secrets,
  /*#__PURE__*/ Effect.gen(function* () {
    const ids = yield* Ids
    const store = (yield* Store).system
    const present = keyed(Redacted.value(yield* SecretsKey))
    const ring = [
      present,
      ...(yield* OlderSecretsKeys).map((older) => keyed(Redacted.value(older))),
    ]

    const stored = yield* store.getOrCreateSecret("secrets-key-check", present.derived("check"))
    const former = ring.find(({ derived }) => sameSecret(stored, derived("check")))
    if (former === undefined) return yield* new WrongSecretsKey()

    const seal = (context: string, text: string): string => {
      const nonce = ids.hex(2 * nonceBytes)
      const bytes = present.cipher(context, nonce).encrypt(utf8ToBytes(text))
      return `${present.id}.${nonce}.${bytesToHex(bytes)}`
    }
    const open = (context: string, sealed: string): Result.Result<string, CannotOpen> => {
      const [, id, nonce = "", bytes = ""] =
        /^([0-9a-f]{8})\.([0-9a-f]{48})\.([0-9a-f]+)$/.exec(sealed) ?? []
      const key = ring.find((one) => one.id === id)
      return key === undefined
        ? Result.fail(new CannotOpen())
        : Result.try({
            try: () => bytesToUtf8(key.cipher(context, nonce).decrypt(hexToBytes(bytes))),
            catch: () => new CannotOpen(),
          })
    }

    /** What is sealed under that name, from now on with the present key; null where nothing is. */
    const resealed = Effect.fnUntraced(function* resealed(name: string) {
      const sealed = yield* store.getSecret(name)
      if (sealed === null) return null
      const text = yield* Effect.fromResult(open(name, sealed))
      if (!sealed.startsWith(`${present.id}.`)) {
        yield* store.replaceSecret(name, sealed, seal(name, text))
      }
      return text
    })
    /**
     * Receivers and links know what signs, so it outlives the secrets key that it was made from:
     * with the first start on another one it is kept, sealed.
     */
    const readKey = Effect.fnUntraced(
      function* readKey(purpose: SigningPurpose) {
        const name = `key for ${purpose}`
        const key = (yield* resealed(name)) ?? former.derived(purpose)
        if (former !== present) yield* store.getOrCreateSecret(name, seal(name, key))
        return key
      },
      // What was sealed with a key that the check has just confirmed can be opened.
      Effect.catchTag("CannotOpen", Effect.die),
    )
    const keys = {
      cursors: yield* readKey("cursors"),
      mediaLinks: yield* readKey("mediaLinks"),
      qrLinks: yield* readKey("qrLinks"),
      webhooks: yield* readKey("webhooks"),
      callbacks: yield* readKey("callbacks"),
      browserSessions: yield* readKey("browserSessions"),
    }
    if (former !== present) {
      yield* store.replaceSecret("secrets-key-check", stored, present.derived("check"))
    }

    return Secrets.of({ keys, seal, open })
  }),
)
