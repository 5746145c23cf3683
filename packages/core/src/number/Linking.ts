/**
 * Linking a number to a phone, the way a web client is linked: an attempt shows a QR code or a
 * pairing code, each replaced by a fresh one in time, until the phone has taken it or ten minutes are
 * over (contract: Number status). One attempt at most for each number.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { Callback } from "../callback/Callback.ts"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"
import type { Ids, LinkingId, NumberId, WorkspaceId } from "../Ids.ts"
import type { LeaseClaim, Shares } from "../limit/Held.ts"
import type { IdempotencyClaim } from "../request/Idempotency.ts"
import { isLeased } from "../queue/Lane.ts"
import { isOwned } from "../transport/Shards.ts"
import type { Owned } from "../transport/Shards.ts"
import type { Mode } from "../workspace/Workspace.ts"
import type { Pacing } from "./Pacing.ts"
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
export type QrLink = (attempt: LinkingAttempt, now: number) => string

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

export interface LinkingClaimQuery extends LeaseClaim, Shares {
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
