/**
 * Links to the QR image of a number that is being connected. A link works for ten minutes, without
 * a key, for as long as that attempt goes on, and always shows the newest code; every call makes
 * another one (contract: Number status). Nothing is kept for a link: it says by itself which
 * attempt it means and until when, and is signed. And the port that draws QR codes.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { refuse } from "../error/Refusal.ts"
import type { Failure } from "../error/Refusal.ts"
import { Ids } from "../Ids.ts"
import type { LinkingId, NumberId } from "../Ids.ts"
import { PublicUrl } from "../request/Answer.ts"
import { sameSecret, signatureOf } from "../secret/hashing.ts"
import { Secrets } from "../secret/Secrets.ts"
import { LinkingStore } from "./Linking.ts"
import type { QrLink } from "./Linking.ts"
import { openedAttempt } from "./linkingSecrets.ts"

/** How long a link works (contract: Number status). */
const qrLinkMillis = 10 * 60 * 1000

const suffix = ".png"

interface Meaning {
  readonly numberId: NumberId
  /** Epoch milliseconds. */
  readonly expires: number
  /** Tells links of the same moment apart. */
  readonly nonce: string
}

const makeToken = (secret: string, attempt: LinkingId, meaning: Meaning): string => {
  const { expires, nonce, numberId } = meaning
  const signature = signatureOf(secret, [attempt, numberId, expires, nonce])
  return `${numberId.toString(36)}-${expires.toString(36)}-${nonce}-${signature}`
}

/** What a token says; whether its signature is right is for the caller to check. */
const readToken = (token: string): Meaning | undefined => {
  const match = /^([0-9a-z]{1,11})-([0-9a-z]{1,11})-([0-9a-f]{16})-[0-9a-f]{32}$/.exec(token)
  const [, number = "", moment = "", nonce = ""] = match ?? []
  const numberId = Number.parseInt(number, 36)
  const expires = Number.parseInt(moment, 36)
  return Number.isSafeInteger(numberId) && Number.isSafeInteger(expires)
    ? { numberId: numberId as NumberId, expires, nonce }
    : undefined
}

export class QrLinks extends Context.Service<
  QrLinks,
  {
    readonly link: QrLink
    /**
     * What the code behind a link says now; the link is given by the last segment of its path. Fails
     * with `not_found`: never given out, expired, or its attempt over.
     */
    read(segment: string): Effect.Effect<string, Failure>
  }
>()("core/QrLinks") {
  static readonly layer = Layer.effect(
    QrLinks,
    Effect.gen(function* () {
      const ids = yield* Ids
      const store = yield* LinkingStore
      const origin = yield* PublicUrl
      const secrets = yield* Secrets
      const secret = secrets.keys.qrLinks

      return QrLinks.of({
        link: (attempt, now) => {
          const { id, numberId } = attempt
          const meaning = { numberId, expires: now + qrLinkMillis, nonce: ids.hex(16) }
          return `${origin}/qr/${makeToken(secret, id, meaning)}${suffix}`
        },
        read: Effect.fn("QrLinks.read")(function* (segment) {
          const token = segment.endsWith(suffix) ? segment.slice(0, -suffix.length) : ""
          const meaning = readToken(token)
          const now = yield* Clock.currentTimeMillis
          if (meaning === undefined || meaning.expires <= now) return yield* refuse("not_found")
          const attempt = yield* store.get(meaning.numberId)
          if (attempt === null || attempt.endsAt <= now) return yield* refuse("not_found")
          if (!sameSecret(token, makeToken(secret, attempt.id, meaning))) {
            return yield* refuse("not_found")
          }
          return openedAttempt(secrets, attempt).qrText ?? (yield* refuse("not_found"))
        }),
      })
    }),
  )
}

export class QrImages extends Context.Service<
  QrImages,
  {
    /** A PNG whose QR code says exactly that text. */
    png(text: string): Effect.Effect<Uint8Array>
  }
>()("core/QrImages") {}
