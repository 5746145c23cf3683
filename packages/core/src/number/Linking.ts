/**
 * Linking a number to a phone, the way a web client is linked: an attempt shows a QR code or a
 * pairing code, each replaced by a fresh one in time, until the phone has taken it or ten minutes are
 * over (contract: Number status). One attempt at most for each number.
 */
import { Clock, Context, Effect, Layer, Result } from "effect"
import { refuse } from "../error/Refusal.ts"
import type { Failure, StoreUnavailable } from "../error/Refusal.ts"
import { connectionCallback } from "../event/MessageChange.ts"
import type { Callback, ConnectionEvent } from "../event/MessageChange.ts"
import { eventId, Ids } from "../Ids.ts"
import type { LinkingId, NumberId, WorkspaceId } from "../Ids.ts"
import type { LeaseClaim, Shares } from "../limit/Bulkhead.ts"
import { WakeUp } from "../queue/DueWork.ts"
import { isLeased } from "../queue/Lane.ts"
import type { IdempotencyClaim } from "../request/Idempotency.ts"
import { PublicUrl } from "../request/Input.ts"
import { sameSecret, Secrets, signatureOf } from "../secret/Secrets.ts"
import { isOwned } from "../transport/Shards.ts"
import type { Owned } from "../transport/Shards.ts"
import type { Mode } from "../workspace/Workspace.ts"
import { NumberStore } from "./NumberStore.ts"
import type { Pacing } from "./Pacing.ts"
import { connectionReasons } from "./SendingNumber.ts"
import type { ConnectionReason, LoginMethod, NumberStatus, SendingNumber } from "./SendingNumber.ts"

/** How long an attempt lasts; then the number is disconnected again (contract: Limits). */
export const linkingMillis = 10 * 60 * 1000

/** How long an attempt stays held after its holder died, in service time. */
export const linkingLeaseMillis = 30_000

/** When a test number links itself (contract: Test mode). */
export const testLinkingMillis = 5000

/**
 * A phone for a number behind which there is none, such as a test number: digits with country code,
 * in a range that is kept free for fiction.
 */
export const madeUpPhone = (ids: typeof Ids.Service): string =>
  `1555${String(Number.parseInt(ids.hex(8), 16) % 10_000_000).padStart(7, "0")}`

/** How long a pairing code can be typed (contract: Limits). */
export const pairingCodeMillis = 3 * 60 * 1000

export interface PairingCode {
  /** 8 characters. */
  readonly code: string
  readonly expiresAt: number
}

/**
 * What there is to be seen of an attempt, replaced as a whole. The store keeps both codes sealed (see
 * `linkingSecrets.ts`).
 */
export interface LinkingView {
  /** What the QR code says at present; null until there is one. */
  readonly qrText: string | null
  readonly pairingCode: PairingCode | null
  /** The phone has taken the code, and linking finishes. */
  readonly linking: boolean
}

export interface LinkingAttempt extends LinkingView {
  readonly id: LinkingId
  readonly numberId: NumberId
  /** The number's. */
  readonly mode: Mode
  readonly method: LoginMethod
  /** The phone on which the pairing code is typed, digits with country code; null with a QR code. */
  readonly phone: string | null
  /**
   * The phone that the number had before it took over that of the pairing code, and has again when
   * this comes to nothing; null when the number's phone stayed as it was.
   */
  readonly replaced: { readonly phone: string | null } | null
  readonly requestedAt: number
  readonly endsAt: number
  /** When it links by itself; null unless it is a test number's. */
  readonly linksAt: number | null
}

/** Whether a workspace with these numbers holds as many as it may: removed ones do not count. */
export const holdsAllNumbers = (
  numbers: ReadonlyArray<{ readonly removed: boolean }>,
  limit: number | null,
): boolean => limit !== null && numbers.filter(({ removed }) => !removed).length >= limit

/** Whether an attempt has ended: its time is up, whatever became of it. */
export const hasEnded = ({ endsAt }: Pick<LinkingAttempt, "endsAt">, now: number): boolean =>
  endsAt <= now

/** Whether a test number's attempt is to link itself now. */
export const linksItself = (
  attempt: Pick<LinkingAttempt, "linksAt" | "endsAt">,
  now: number,
): boolean => attempt.linksAt !== null && attempt.linksAt <= now && !hasEnded(attempt, now)

/** Whether a worker may take an attempt up, which another one holds until `leaseUntil`. */
export const canBeLinked = (
  attempt: Pick<LinkingAttempt, "mode" | "endsAt" | "numberId">,
  leaseUntil: number | null,
  owned: Owned,
  now: number,
): boolean =>
  attempt.mode === "live" &&
  !hasEnded(attempt, now) &&
  !isLeased(leaseUntil, now) &&
  isOwned(attempt.numberId, owned)

/** The phone that a number has when its attempt, if there is one, comes to nothing. */
export const phoneWithoutLink = (
  { phone }: Pick<SendingNumber, "phone">,
  attempt: Pick<LinkingAttempt, "replaced"> | null,
): string | null => {
  const replaced = attempt?.replaced ?? null
  return replaced === null ? phone : replaced.phone
}

/**
 * The phone of a number that gets this status, and that phone unless it is null. A number that drops out
 * has the phone again that its attempt has replaced.
 */
export const phoneWithStatus = (
  number: Pick<SendingNumber, "phone">,
  attempt: Pick<LinkingAttempt, "replaced"> | null,
  status: NumberStatus,
  phone: string | null,
): string | null =>
  phone ?? (status === "disconnected" ? phoneWithoutLink(number, attempt) : number.phone)

/**
 * Whether another number, with its attempt, has the phone that one was linked to. A phone that an
 * attempt asks for is not had yet, and the one that it replaces is had still.
 */
export const hasPhone = (
  other: Pick<SendingNumber, "id" | "phone" | "platform" | "mode">,
  attempt: Pick<LinkingAttempt, "replaced"> | null,
  linked: Pick<SendingNumber, "id" | "platform" | "mode">,
  phone: string,
): boolean =>
  other.id !== linked.id &&
  other.platform === linked.platform &&
  other.mode === linked.mode &&
  phoneWithoutLink(other, attempt) === phone

export const nothingShown: LinkingView = { qrText: null, pairingCode: null, linking: false }

/** Makes a link to the QR image of an attempt, a fresh one with each call. */
type QrLink = (attempt: LinkingAttempt, now: number) => string

/** What a caller is shown of an attempt (contract: Numbers). */
export interface ConnectView {
  readonly qrCodeUrl: string | null
  /** One that can be typed yet. */
  readonly pairingCode: PairingCode | null
  readonly linking: boolean
  /** Null when the attempt has just ended. */
  readonly requestedAt: number | null
}

/** What there is to be seen at `now` of the attempt of a connecting number. */
export const connectView = (
  attempt: LinkingAttempt | null,
  now: number,
  qrLink: QrLink,
): ConnectView => {
  if (attempt === null) {
    return { qrCodeUrl: null, pairingCode: null, linking: false, requestedAt: null }
  }
  const { endsAt, linking, pairingCode, qrText, requestedAt } = attempt
  // At the end of its attempt a code ends too.
  const expiresAt = Math.min(pairingCode?.expiresAt ?? 0, endsAt)
  return {
    qrCodeUrl: qrText === null ? null : qrLink(attempt, now),
    pairingCode: pairingCode === null || expiresAt <= now ? null : { ...pairingCode, expiresAt },
    linking,
    requestedAt,
  }
}

export interface NewAttempt extends Omit<LinkingAttempt, "numberId" | "replaced"> {
  /** Where the attempt, and the number's log-out after it, are reported; replaces what was before. */
  readonly callbackUrl: string | null
  /** What the number's pacing is from now on, if it was never told another one; null for none. */
  readonly pacing: Pacing | null
}

/** When an attempt came to nothing, and why. */
export interface GivenUp {
  readonly at: number
  readonly reason: ConnectionReason
}

/** The callbacks for both ends that an attempt can have; that of the end it comes to is written. */
export interface EndReports {
  readonly connected: Callback
  readonly disconnected: Callback
}

/** The first guard that did not hold, in this order: nothing was written. */
export type BrokenLinkingGuard =
  /** The claim is no longer this request's. */
  | "idempotency"
  /** The workspace was deleted, or the number is gone or no longer disconnected. */
  | "number"
  /** The workspace holds as many numbers as it may. */
  | "limit"

export type LinkingOutcome =
  | { readonly _tag: "Begun"; readonly number: SendingNumber }
  | { readonly _tag: "Broken"; readonly guard: BrokenLinkingGuard }

export interface HeldAttempt {
  readonly attempt: LinkingAttempt
  readonly workspaceId: WorkspaceId
  readonly lease: number
}

interface LinkingClaimQuery extends LeaseClaim, Shares {
  /** Which numbers this worker may link. */
  readonly owned: Owned
}

/**
 * The port that keeps attempts at linking. An attempt begins together with the change of its
 * number's status and ends with it, in one commit each; a removed number has none.
 *
 * A live attempt is held by the worker that runs its connection, under a lease: a number that grows
 * with every claim. Only the holder of the present lease may say what is shown; that the number was
 * linked may be said without holding it, as by the emulator's scan.
 *
 * Callbacks are written in the commit of the change that they report, if it is made and if the number
 * is still one that reports there.
 */
export class LinkingStore
  extends /*#__PURE__*/ Context.Service<
    LinkingStore,
    {
      /**
       * Makes a connecting number with its lane and its attempt, if the workspace holds fewer than
       * `limit` numbers (null: any number) that are not removed. Finishes the claim with the number's
       * id.
       */
      add(
        number: Omit<SendingNumber, "id" | "status">,
        attempt: NewAttempt,
        limit: number | null,
        idempotency: IdempotencyClaim | null,
      ): Effect.Effect<LinkingOutcome, StoreUnavailable>
      /**
       * Begins an attempt for a disconnected number of the workspace, which takes over its login
       * method, and its phone unless that is null; the phone that it replaces is kept with the attempt.
       * Finishes the claim with the number's id, and keeps phone and label as the commit leaves them.
       */
      reconnect(
        workspaceId: WorkspaceId,
        numberId: NumberId,
        attempt: NewAttempt,
        idempotency: IdempotencyClaim | null,
      ): Effect.Effect<LinkingOutcome, StoreUnavailable>
      /** The number's attempt; null when it is not being connected. */
      get(numberId: NumberId): Effect.Effect<LinkingAttempt | null, StoreUnavailable>
      /**
       * Claims live attempts of owned numbers that no worker holds and that have not ended at `now`,
       * the oldest first, of each workspace its share of the worker at most.
       */
      claim(query: LinkingClaimQuery): Effect.Effect<ReadonlyArray<HeldAttempt>, StoreUnavailable>
      /** Prolongs leases; returns the attempts that are still held by them. */
      renew(
        held: ReadonlyArray<{ readonly id: LinkingId; readonly lease: number }>,
        leaseUntil: number,
      ): Effect.Effect<ReadonlySet<LinkingId>, StoreUnavailable>
      /** Replaces what the attempt shows; false when it is over or held by another. */
      show(
        id: LinkingId,
        lease: number,
        view: LinkingView,
        callback?: Callback | null,
      ): Effect.Effect<boolean, StoreUnavailable>
      /** The phone has taken the code, which needs no lease; false when it is over at `now`. */
      taken(id: LinkingId, now: number): Effect.Effect<boolean, StoreUnavailable>
      /**
       * Ends the attempt by connecting its number with that phone. If another number of the workspace
       * has the phone (same platform and mode, not removed), the number is disconnected instead, has
       * its replaced phone again and does not keep that of the other. Returns the number; null when the
       * attempt is over at `now`.
       */
      linked(
        id: LinkingId,
        phone: string,
        now: number,
        reports?: EndReports | null,
      ): Effect.Effect<SendingNumber | null, StoreUnavailable>
      /**
       * Ends the attempt by disconnecting its number, which has its replaced phone again; false when it
       * is over already.
       */
      giveUp(
        id: LinkingId,
        why: GivenUp,
        callback?: Callback | null,
      ): Effect.Effect<boolean, StoreUnavailable>
      /** Attempts whose end has come at `now`, the longest ago first. */
      lapsed(
        now: number,
        limit: number,
      ): Effect.Effect<ReadonlyArray<LinkingAttempt>, StoreUnavailable>
      /** Test attempts that link themselves by `now` and have not ended before. */
      dueTest(
        now: number,
        limit: number,
      ): Effect.Effect<ReadonlyArray<LinkingAttempt>, StoreUnavailable>
    }
  >()("core/LinkingStore") {}

// The callbacks of a number's connection, made from what the store knows of the number when something
// happens to it. Whether it does happen, and is reported, is up to the commit.

/** Makes the callbacks of numbers: null where a number reports nowhere. */
export const makeConnectionCallbacks = Effect.gen(function* makeConnectionCallbacks() {
  const numbers = yield* NumberStore
  const attempts = yield* LinkingStore
  const ids = yield* Ids

  /** The number and its reports now; most report nowhere, so that is asked first. */
  const reporting = Effect.fnUntraced(function* reporting(id: NumberId) {
    const url = yield* numbers.callbackUrl(id)
    const number = url === null ? null : yield* numbers.find(id)
    if (url === null || number === null) return null
    const now = yield* Clock.currentTimeMillis
    const report = (event: ConnectionEvent, phone: string | null) =>
      connectionCallback(eventId(ids, now), event, { ...number, phone }, url, now)
    return { number, report }
  })

  const keptBy = (number: SendingNumber) =>
    Effect.map(attempts.get(number.id), (attempt) => phoneWithoutLink(number, attempt))

  return {
    /** Of an event; `phone` is one that the event reveals. */
    of: Effect.fnUntraced(function* (
      id: NumberId,
      event: ConnectionEvent,
      phone: string | null = null,
    ) {
      const found = yield* reporting(id)
      if (found === null) return null
      const { number, report } = found
      const known = event === "disconnected" ? yield* keptBy(number) : number.phone
      return report(event, phone ?? known)
    }),
    /** Of a link that is made with that phone, whichever way it ends. */
    ofEnd: Effect.fnUntraced(function* ofEnd(id: NumberId, phone: string) {
      const found = yield* reporting(id)
      if (found === null) return null
      const { number, report } = found
      // A number that could not be linked does not keep the phone of another one.
      const before = yield* keptBy(number)
      return {
        connected: report("connected", phone),
        disconnected: report("disconnected", before === phone ? null : before),
      }
    }),
  }
})

// What becomes of an attempt at linking, as it is reported by the transport through the worker, the
// emulator's scan, or a test number by itself. A number that reports its connection somewhere does
// so in the same commit.

const annotated = <A, E, R>(effect: Effect.Effect<A, E, R>, { numberId }: LinkingAttempt) =>
  Effect.annotateLogs(effect, { number: numberId })

/** Makes what takes such reports. */
export const makeLinkProgress = Effect.gen(function* makeLinkProgress() {
  const store = yield* LinkingStore
  const callbacks = yield* makeConnectionCallbacks
  const wakeUp = yield* WakeUp

  return {
    /** There is something new to be seen, sealed by now. False when the attempt is over or held by another. */
    shown: Effect.fn("LinkProgress.shown")(function* shown(held: HeldAttempt, view: LinkingView) {
      const { attempt, lease } = held
      const callback =
        view.qrText === null ? null : yield* callbacks.of(attempt.numberId, "qr-generated")
      return yield* store.show(attempt.id, lease, view, callback)
    }),
    /** The phone has taken the code. False when the attempt is over. */
    taken: Effect.fn("LinkProgress.taken")(function* taken({ id }: LinkingAttempt) {
      return yield* store.taken(id, yield* Clock.currentTimeMillis)
    }),
    /**
     * The link is made: the number is connected and what waits for it may leave, unless another
     * number of the workspace has that phone already; then it is disconnected again. `phone` is
     * digits with country code. Null when the attempt is over.
     */
    linked: Effect.fn("LinkProgress.linked")(function* linked(
      attempt: LinkingAttempt,
      phone: string,
    ) {
      const now = yield* Clock.currentTimeMillis
      const reports = yield* callbacks.ofEnd(attempt.numberId, phone)
      const number = yield* store.linked(attempt.id, phone, now, reports)
      if (number === null) return null
      if (number.status === "connected") {
        yield* Effect.logInfo("number linked")
        yield* wakeUp.wake("lanes")
      } else {
        yield* Effect.logWarning("number not linked: another one has its phone")
      }
      return number
    }, annotated),
    /** The attempt ends without a link. False when it is over already. */
    ended: Effect.fn("LinkProgress.ended")(function* (attempt: LinkingAttempt, reason: string) {
      const callback = yield* callbacks.of(attempt.numberId, "disconnected")
      const at = yield* Clock.currentTimeMillis
      // A transport may give other reasons, for people: they are logged, and not kept with the number.
      const shown = connectionReasons.find((one) => one === reason) ?? "not_linked"
      const ended = yield* store.giveUp(attempt.id, { at, reason: shown }, callback)
      if (ended) yield* Effect.logInfo(`linking ended: ${reason}`)
      return ended
    }, annotated),
  }
})

// What is shown of an attempt at linking is a secret: who reads the text of its QR code or its pairing code can
// link the account to a device of their own, and the QR code of WhatsApp says the key by which the new
// device proves itself from then on. The store sees it sealed, as it does credentials.

type Sealing = Pick<typeof Secrets.Service, "seal" | "open">

const qrPlace = (id: LinkingId) => `QR code of linking attempt ${id}`
const codePlace = (id: LinkingId) => `pairing code of linking attempt ${id}`

/**
 * The view as the store keeps it. Sealed once for each thing that is shown, since the store tells by the
 * sealed text whether a QR code is a new one.
 */
export const sealedView = ({ seal }: Sealing, id: LinkingId, view: LinkingView): LinkingView => ({
  ...view,
  qrText: view.qrText === null ? null : seal(qrPlace(id), view.qrText),
  pairingCode:
    view.pairingCode === null
      ? null
      : { ...view.pairingCode, code: seal(codePlace(id), view.pairingCode.code) },
})

/**
 * The attempt as it is shown. What cannot be opened, as after the exchange of the key, counts as nothing:
 * the next code comes soon.
 */
export const openedAttempt = ({ open }: Sealing, attempt: LinkingAttempt): LinkingAttempt => {
  const { id, pairingCode, qrText } = attempt
  const opened = (place: string, sealed: string | undefined): string | null =>
    sealed === undefined ? null : Result.getOrNull(open(place, sealed))
  const code = opened(codePlace(id), pairingCode?.code)
  return {
    ...attempt,
    qrText: opened(qrPlace(id), qrText ?? undefined),
    pairingCode: pairingCode === null || code === null ? null : { ...pairingCode, code },
  }
}

// Links to the QR image of a number that is being connected. A link works for ten minutes, without
// a key, for as long as that attempt goes on, and always shows the newest code; every call makes
// another one (contract: Number status). Nothing is kept for a link: it says by itself which
// attempt it means and until when, and is signed. And the port that draws QR codes.

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
        read: Effect.fn("QrLinks.read")(function* read(segment) {
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
