/**
 * Links a number to a phone as a web client would. An attempt shows a QR code or pairing code and
 * replaces it in time, until the phone takes it or ten minutes pass (contract: Number status). Each
 * number has at most one attempt. Sections: rules, store, callbacks, progress, secrets, QR links.
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

/** How long an attempt lasts; then the number is disconnected (contract: Limits). */
export const linkingMillis = 10 * 60 * 1000

/** How long an attempt stays leased after its worker died, in service time. */
export const linkingLeaseMillis = 30_000

/** When a test number links itself (contract: Test mode). */
export const testLinkingMillis = 5000

/** A fictional phone for numbers without one, such as test numbers: digits with country code. */
export const madeUpPhone = (ids: typeof Ids.Service): string =>
  `1555${String(Number.parseInt(ids.hex(8), 16) % 10_000_000).padStart(7, "0")}`

/** How long a pairing code is valid (contract: Limits). */
export const pairingCodeMillis = 3 * 60 * 1000

export interface PairingCode {
  /** 8 characters. */
  readonly code: string
  readonly expiresAt: number
}

/**
 * What an attempt shows, replaced as a whole. The store holds both codes sealed (see `sealedView`).
 */
export interface LinkingView {
  /** Text of the current QR code; null before the first. */
  readonly qrText: string | null
  readonly pairingCode: PairingCode | null
  /** The phone took the code, and linking finishes. */
  readonly linking: boolean
}

export interface LinkingAttempt extends LinkingView {
  readonly id: LinkingId
  readonly numberId: NumberId
  /** The number's. */
  readonly mode: Mode
  readonly method: LoginMethod
  /** Where to type the pairing code, digits with country code; null with a QR code. */
  readonly phone: string | null
  /**
   * The number's phone before the attempt, restored if it fails. Null when the attempt changed no
   * phone.
   */
  readonly replaced: { readonly phone: string | null } | null
  readonly requestedAt: number
  readonly endsAt: number
  /** When a test number links itself; null for live ones. */
  readonly linksAt: number | null
}

/** Whether a workspace is at its limit of numbers; removed ones do not count. */
export const holdsAllNumbers = (
  numbers: ReadonlyArray<{ readonly removed: boolean }>,
  limit: number | null,
): boolean => limit !== null && numbers.filter(({ removed }) => !removed).length >= limit

/** Whether an attempt's time is up. */
export const hasEnded = ({ endsAt }: Pick<LinkingAttempt, "endsAt">, now: number): boolean =>
  endsAt <= now

/** Whether a test number's attempt is due to link itself. */
export const linksItself = (
  attempt: Pick<LinkingAttempt, "linksAt" | "endsAt">,
  now: number,
): boolean => attempt.linksAt !== null && attempt.linksAt <= now && !hasEnded(attempt, now)

/** Whether a worker may claim an attempt, leased to another until `leaseUntil`. */
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

/** The number's phone if its attempt, if any, fails. */
export const phoneWithoutLink = (
  { phone }: Pick<SendingNumber, "phone">,
  attempt: Pick<LinkingAttempt, "replaced"> | null,
): string | null => {
  const replaced = attempt?.replaced ?? null
  return replaced === null ? phone : replaced.phone
}

/**
 * The number's phone after a status change; null `phone` keeps it. A disconnected number gets back
 * the phone that its attempt replaced.
 */
export const phoneWithStatus = (
  number: Pick<SendingNumber, "phone">,
  attempt: Pick<LinkingAttempt, "replaced"> | null,
  status: NumberStatus,
  phone: string | null,
): string | null =>
  phone ?? (status === "disconnected" ? phoneWithoutLink(number, attempt) : number.phone)

/**
 * Whether another number has this linked phone. A phone that an attempt requests does not count;
 * one that it replaces does.
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

/** Makes a fresh link to an attempt's QR image. */
type QrLink = (attempt: LinkingAttempt, now: number) => string

/** What callers see of an attempt (contract: Numbers). */
export interface ConnectView {
  readonly qrCodeUrl: string | null
  /** A code that is still valid. */
  readonly pairingCode: PairingCode | null
  readonly linking: boolean
  /** Null when the attempt has just ended. */
  readonly requestedAt: number | null
}

/** What a connecting number's attempt shows at `now`. */
export const connectView = (
  attempt: LinkingAttempt | null,
  now: number,
  qrLink: QrLink,
): ConnectView => {
  if (attempt === null) {
    return { qrCodeUrl: null, pairingCode: null, linking: false, requestedAt: null }
  }
  const { endsAt, linking, pairingCode, qrText, requestedAt } = attempt
  // A code expires with its attempt at the latest.
  const expiresAt = Math.min(pairingCode?.expiresAt ?? 0, endsAt)
  return {
    qrCodeUrl: qrText === null ? null : qrLink(attempt, now),
    pairingCode: pairingCode === null || expiresAt <= now ? null : { ...pairingCode, expiresAt },
    linking,
    requestedAt,
  }
}

export interface NewAttempt extends Omit<LinkingAttempt, "numberId" | "replaced"> {
  /** Receives the attempt's outcome and a later log-out; replaces the previous address. */
  readonly callbackUrl: string | null
  /** The number's pacing, if none was ever set; null for none. */
  readonly pacing: Pacing | null
}

/** When and why an attempt failed. */
export interface GivenUp {
  readonly at: number
  readonly reason: ConnectionReason
}

/** Callbacks for both outcomes; the commit writes the one that applies. */
export interface EndReports {
  readonly connected: Callback
  readonly disconnected: Callback
}

/** The first guard that failed, in this order; nothing was written. */
export type BrokenLinkingGuard =
  /** Another request holds the claim. */
  | "idempotency"
  /** The workspace was deleted, or the number is gone or not disconnected. */
  | "number"
  /** The workspace is at its limit of numbers. */
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
  /** The numbers that this worker may link. */
  readonly owned: Owned
}

/**
 * The port that stores linking attempts. An attempt starts and ends in the commit that changes its
 * number's status; a removed number has none.
 *
 * The worker of a live attempt's connection holds it by a lease that grows with every claim. Only
 * the latest lease may change what is shown. A link may be reported without it, as by the
 * emulator's scan.
 *
 * The commit of a change also writes its callback, if one is given and the number still reports
 * there.
 */
export class LinkingStore
  extends /*#__PURE__*/ Context.Service<
    LinkingStore,
    {
      /**
       * Creates a connecting number with lane and attempt, if the workspace has fewer than `limit`
       * (null: any) numbers. Removed ones do not count. Finishes the claim with the number's id.
       */
      add(
        number: Omit<SendingNumber, "id" | "status">,
        attempt: NewAttempt,
        limit: number | null,
        idempotency: IdempotencyClaim | null,
      ): Effect.Effect<LinkingOutcome, StoreUnavailable>
      /**
       * Starts an attempt for a disconnected number, which takes its login method and, unless null,
       * its phone. The attempt stores the replaced phone. Finishes the claim with the number's id,
       * phone and label as of the commit.
       */
      reconnect(
        workspaceId: WorkspaceId,
        numberId: NumberId,
        attempt: NewAttempt,
        idempotency: IdempotencyClaim | null,
      ): Effect.Effect<LinkingOutcome, StoreUnavailable>
      /** Null when the number is not connecting. */
      get(numberId: NumberId): Effect.Effect<LinkingAttempt | null, StoreUnavailable>
      /**
       * Claims unleased, unfinished live attempts of owned numbers, oldest first, within each
       * workspace's share.
       */
      claim(query: LinkingClaimQuery): Effect.Effect<ReadonlyArray<HeldAttempt>, StoreUnavailable>
      /** Renews leases; returns the attempts that they still hold. */
      renew(
        held: ReadonlyArray<{ readonly id: LinkingId; readonly lease: number }>,
        leaseUntil: number,
      ): Effect.Effect<ReadonlySet<LinkingId>, StoreUnavailable>
      /** Replaces what the attempt shows; false when it ended or another worker holds it. */
      show(
        id: LinkingId,
        lease: number,
        view: LinkingView,
        callback?: Callback | null,
      ): Effect.Effect<boolean, StoreUnavailable>
      /**
       * Records that the phone took the code, without a lease; false when the attempt ended by
       * `now`.
       */
      taken(id: LinkingId, now: number): Effect.Effect<boolean, StoreUnavailable>
      /**
       * Ends the attempt and connects its number with that phone. If another number of the
       * workspace (same platform and mode, not removed) has the phone, it disconnects the number
       * instead and restores its replaced phone. Returns the number; null when the attempt ended by
       * `now`.
       */
      linked(
        id: LinkingId,
        phone: string,
        now: number,
        reports?: EndReports | null,
      ): Effect.Effect<SendingNumber | null, StoreUnavailable>
      /**
       * Ends the attempt, disconnects its number and restores the replaced phone; false when it
       * already ended.
       */
      giveUp(
        id: LinkingId,
        why: GivenUp,
        callback?: Callback | null,
      ): Effect.Effect<boolean, StoreUnavailable>
      /** Attempts past their end at `now`, the oldest end first. */
      lapsed(
        now: number,
        limit: number,
      ): Effect.Effect<ReadonlyArray<LinkingAttempt>, StoreUnavailable>
      /** Test attempts due to link themselves by `now`, whose time is not up. */
      dueTest(
        now: number,
        limit: number,
      ): Effect.Effect<ReadonlyArray<LinkingAttempt>, StoreUnavailable>
    }
  >()("core/LinkingStore") {}

// Callbacks of a number's connection, made from its stored state. The commit decides whether the
// event happens and is reported.

/** Makes a number's callbacks; null when it has no callback address. */
export const makeConnectionCallbacks = Effect.gen(function* makeConnectionCallbacks() {
  const numbers = yield* NumberStore
  const attempts = yield* LinkingStore
  const ids = yield* Ids

  /** The number and its address; most have none, so that is checked first. */
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
    /** The callback of an event; `phone` is one that the event reveals. */
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
    /** Callbacks for a link with that phone, for either outcome. */
    ofEnd: Effect.fnUntraced(function* ofEnd(id: NumberId, phone: string) {
      const found = yield* reporting(id)
      if (found === null) return null
      const { number, report } = found
      // A number that could not be linked does not keep another's phone.
      const before = yield* keptBy(number)
      return {
        connected: report("connected", phone),
        disconnected: report("disconnected", before === phone ? null : before),
      }
    }),
  }
})

// Applies the progress of an attempt, as reported by the worker's transport, the emulator's scan or
// a test number. The same commit writes the callback, if any.

const annotated = <A, E, R>(effect: Effect.Effect<A, E, R>, { numberId }: LinkingAttempt) =>
  Effect.annotateLogs(effect, { number: numberId })

export const makeLinkProgress = Effect.gen(function* makeLinkProgress() {
  const store = yield* LinkingStore
  const callbacks = yield* makeConnectionCallbacks
  const wakeUp = yield* WakeUp

  return {
    /** Stores a new, sealed view. False when the attempt ended or another worker holds it. */
    shown: Effect.fn("LinkProgress.shown")(function* shown(held: HeldAttempt, view: LinkingView) {
      const { attempt, lease } = held
      const callback =
        view.qrText === null ? null : yield* callbacks.of(attempt.numberId, "qr-generated")
      return yield* store.show(attempt.id, lease, view, callback)
    }),
    /** The phone took the code. False when the attempt ended. */
    taken: Effect.fn("LinkProgress.taken")(function* taken({ id }: LinkingAttempt) {
      return yield* store.taken(id, yield* Clock.currentTimeMillis)
    }),
    /**
     * Connects the number, and its waiting messages may leave. If another number of the workspace
     * has that phone, it disconnects instead. `phone` is digits with country code. Null when the
     * attempt ended.
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
    /** Ends the attempt without a link. False when it already ended. */
    ended: Effect.fn("LinkProgress.ended")(function* (attempt: LinkingAttempt, reason: string) {
      const callback = yield* callbacks.of(attempt.numberId, "disconnected")
      const at = yield* Clock.currentTimeMillis
      // Transports may give other reasons, for people: they are logged, not stored.
      const shown = connectionReasons.find((one) => one === reason) ?? "not_linked"
      const ended = yield* store.giveUp(attempt.id, { at, reason: shown }, callback)
      if (ended) yield* Effect.logInfo(`linking ended: ${reason}`)
      return ended
    }, annotated),
  }
})

// Codes are secrets: a reader can link the account to another device, and WhatsApp's QR code holds
// the new device's key. The store gets them sealed, like credentials.

type Sealing = Pick<typeof Secrets.Service, "seal" | "open">

const qrPlace = (id: LinkingId) => `QR code of linking attempt ${id}`
const codePlace = (id: LinkingId) => `pairing code of linking attempt ${id}`

/**
 * The view for the store. Each code is sealed once, since the store recognizes a new QR code by its
 * sealed text.
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
 * The attempt with its codes opened. An unreadable code, as after a change of the secrets key,
 * counts as none: the next one comes soon.
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

// Signed links to a connecting number's QR image, and the port that draws QR codes. A link works
// without a key for ten minutes, while its attempt lasts, and shows the newest code (contract:
// Number status). It carries attempt and expiry itself; nothing is stored.

/** How long a link works (contract: Number status). */
const qrLinkMillis = 10 * 60 * 1000

const suffix = ".png"

interface Meaning {
  readonly numberId: NumberId
  /** Epoch milliseconds. */
  readonly expires: number
  /** Distinguishes links made at the same time. */
  readonly nonce: string
}

const makeToken = (secret: string, attempt: LinkingId, meaning: Meaning): string => {
  const { expires, nonce, numberId } = meaning
  const signature = signatureOf(secret, [attempt, numberId, expires, nonce])
  return `${numberId.toString(36)}-${expires.toString(36)}-${nonce}-${signature}`
}

/** Parses a token; the caller checks its signature. */
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
     * The current QR text for the last path segment of a link. Fails with `not_found`: forged,
     * expired, or the attempt ended.
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
    /** A PNG of a QR code with exactly that text. */
    png(text: string): Effect.Effect<Uint8Array>
  }
>()("core/QrImages") {}
