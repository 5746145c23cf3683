/**
 * Links a number to a phone as a web client would. An attempt shows a QR code or pairing code and
 * replaces it in time, until the phone takes it or ten minutes pass (contract: Number status). Each
 * number has at most one attempt. Sections: rules, store, secrets.
 */
import { Result } from "effect"
import type { Effect } from "effect"
import type { StoreUnavailable } from "./Refusal.ts"
import type { Callback } from "./MessageChange.ts"
import type { Ids, LinkingId, NumberId, WorkspaceId, NumberEventIds } from "./Ids.ts"
import type { LeaseClaim, Shares } from "./Bulkhead.ts"
import { isLeased } from "./Lane.ts"
import type { IdempotencyClaim } from "./Idempotency.ts"
import type { Secrets } from "./Secrets.ts"
import { isOwned } from "./Shards.ts"
import type { Owned } from "./Shards.ts"
import type { Mode } from "./Workspace.ts"
import type { Pacing } from "./Pacing.ts"
import type { ConnectionReason, LoginMethod, NumberStatus, SendingNumber } from "./SendingNumber.ts"

/** How long an attempt lasts; then the number is disconnected (contract: Limits). */
export const linkingMillis = 10 * 60 * 1000

/** How long an attempt stays leased after its worker died, in service time. */
export const linkingLeaseMillis = 30_000

/** When a test number links itself (contract: Test mode). */
export const testLinkingMillis = 5000

/** A fictional phone for numbers without one, such as test numbers: digits with country code. */
export const inventedPhone = (ids: typeof Ids.Service): string =>
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
  /** When another QR code replaces it; null without one. */
  readonly qrExpiresAt: number | null
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
export const ownsAllNumbers = (
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

export const emptyLinkingView: LinkingView = {
  qrText: null,
  qrExpiresAt: null,
  pairingCode: null,
  linking: false,
}

/** Makes a fresh link to an attempt's QR image. */
export type QrLink = (attempt: LinkingAttempt, now: number) => string

/** What callers see of an attempt (contract: Numbers). */
export interface ConnectView {
  readonly qrCodeUrl: string | null
  /** When another QR code replaces it; null without one. */
  readonly qrCodeExpiresAt: number | null
  /** A code that is still valid. */
  readonly pairingCode: PairingCode | null
  readonly linking: boolean
  /** Null when the attempt has just ended. */
  readonly requestedAt: number | null
  /** When the attempt ends without a link; null when it has just ended. */
  readonly endsAt: number | null
}

const noConnectView: ConnectView = {
  qrCodeUrl: null,
  qrCodeExpiresAt: null,
  pairingCode: null,
  linking: false,
  requestedAt: null,
  endsAt: null,
}

/** What a connecting number's attempt shows at `now`. */
export const connectView = (
  attempt: LinkingAttempt | null,
  now: number,
  qrLink: QrLink,
): ConnectView => {
  if (attempt === null) return noConnectView
  const { endsAt, linking, pairingCode, qrExpiresAt, qrText, requestedAt } = attempt
  // A code expires with its attempt at the latest.
  const expiresAt = Math.min(pairingCode?.expiresAt ?? 0, endsAt)
  return {
    qrCodeUrl: qrText === null ? null : qrLink(attempt, now),
    qrCodeExpiresAt: qrText === null || qrExpiresAt === null ? null : Math.min(qrExpiresAt, endsAt),
    pairingCode: pairingCode === null || expiresAt <= now ? null : { ...pairingCode, expiresAt },
    linking,
    requestedAt,
    endsAt,
  }
}

export interface NewAttempt extends Omit<LinkingAttempt, "numberId" | "replaced"> {
  /** Receives the attempt's outcome and a later log-out; replaces the previous address. */
  readonly callbackUrl: string | null
  /** The number's pacing, if none was ever set; null for none. */
  readonly pacing: Pacing | null
}

/** When and why an attempt failed. */
export interface Abandoned {
  readonly at: number
  readonly reason: ConnectionReason
}

/** Callbacks for both outcomes; the commit writes the one that applies. */
export interface EndReports {
  readonly connected: Callback
  readonly disconnected: Callback
}

/** The first guard that failed, in this order; nothing was written. */
export type FailedLinkingGuard =
  /** Another request holds the claim. */
  | "idempotency"
  /** The workspace was deleted, or the number is gone or not disconnected. */
  | "number"
  /** The workspace is at its limit of numbers. */
  | "limit"

export type LinkingOutcome =
  | { readonly _tag: "Begun"; readonly number: SendingNumber }
  | { readonly _tag: "Conflict"; readonly guard: FailedLinkingGuard }

export interface LeasedAttempt {
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
export interface LinkingStore {
  /**
   * Creates a connecting number with lane and attempt, if the workspace has fewer than `limit`
   * (null: any) numbers. Removed ones do not count. Finishes the claim with the number's id.
   */
  addLinking(
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
  getLinking(numberId: NumberId): Effect.Effect<LinkingAttempt | null, StoreUnavailable>
  /**
   * Claims unleased, unfinished live attempts of owned numbers, oldest first, within each
   * workspace's share.
   */
  claimLinkings(
    query: LinkingClaimQuery,
  ): Effect.Effect<ReadonlyArray<LeasedAttempt>, StoreUnavailable>
  /** Renews leases; returns the attempts that they still hold. */
  renewLinkings(
    leased: ReadonlyArray<{ readonly id: LinkingId; readonly lease: number }>,
    leaseUntil: number,
  ): Effect.Effect<ReadonlySet<LinkingId>, StoreUnavailable>
  /** Replaces what the attempt shows; false when it ended or another worker holds it. */
  showLinking(
    id: LinkingId,
    lease: number,
    view: LinkingView,
    callback?: Callback | null,
  ): Effect.Effect<boolean, StoreUnavailable>
  /**
   * Records that the phone took the code, without a lease; false when the attempt ended by
   * `now`.
   */
  isLinkingClaimed(id: LinkingId, now: number): Effect.Effect<boolean, StoreUnavailable>
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
    events?: NumberEventIds,
  ): Effect.Effect<SendingNumber | null, StoreUnavailable>
  /**
   * Ends the attempt, disconnects its number and restores the replaced phone; false when it
   * already ended.
   */
  abandonLinking(
    id: LinkingId,
    why: Abandoned,
    callback?: Callback | null,
    events?: NumberEventIds,
  ): Effect.Effect<boolean, StoreUnavailable>
  /** Attempts past their end at `now`, the oldest end first. */
  lapsedLinkings(
    now: number,
    limit: number,
  ): Effect.Effect<ReadonlyArray<LinkingAttempt>, StoreUnavailable>
  /** Test attempts due to link themselves by `now`, unless their time is up. */
  dueTestLinkings(
    now: number,
    limit: number,
  ): Effect.Effect<ReadonlyArray<LinkingAttempt>, StoreUnavailable>
}

// Codes are secrets: a reader can link the account to another device, and WhatsApp's QR code holds
// the new device's key. The store gets them sealed, like credentials.

type Sealing = Pick<typeof Secrets.Service, "seal" | "open">

const qrContext = (id: LinkingId) => `QR code of linking attempt ${id}`
const codeContext = (id: LinkingId) => `pairing code of linking attempt ${id}`

/**
 * The view for the store. Each code is sealed once, since the store recognizes a new QR code by its
 * sealed text.
 */
export const sealedView = ({ seal }: Sealing, id: LinkingId, view: LinkingView): LinkingView => ({
  ...view,
  qrText: view.qrText === null ? null : seal(qrContext(id), view.qrText),
  pairingCode:
    view.pairingCode === null
      ? null
      : { ...view.pairingCode, code: seal(codeContext(id), view.pairingCode.code) },
})

/**
 * The attempt with its codes opened. An unreadable code, as after a change of the secrets key,
 * counts as none: the next one comes soon.
 */
export const openedAttempt = ({ open }: Sealing, attempt: LinkingAttempt): LinkingAttempt => {
  const { id, pairingCode, qrText } = attempt
  const opened = (context: string, sealed: string | undefined): string | null =>
    sealed === undefined ? null : Result.getOrNull(open(context, sealed))
  const code = opened(codeContext(id), pairingCode?.code)
  return {
    ...attempt,
    qrText: opened(qrContext(id), qrText ?? undefined),
    pairingCode: pairingCode === null || code === null ? null : { ...pairingCode, code },
  }
}
