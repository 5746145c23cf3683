/**
 * A number that a workspace sends from: a linked WhatsApp phone or a Telegram account; and its
 * pauses.
 */
import type { NumberId, WorkspaceId } from "./Ids.ts"
import type { Mode } from "./Workspace.ts"

export const platforms = ["whatsapp", "telegram"] as const

export type Platform = (typeof platforms)[number]

export const numberStatuses = ["connected", "connecting", "disconnected"] as const

export type NumberStatus = (typeof numberStatuses)[number]

/** Why a number is not connected, or sends nothing although it is. */
export const connectionReasons = [
  "logged_out",
  "replaced",
  "banned",
  "restricted",
  "client_outdated",
  "passkey_required",
  "link_expired",
  "connection_lost",
  "not_linked",
  "paused",
  "account_disabled",
] as const

export type ConnectionReason = (typeof connectionReasons)[number]

export const loginMethods = ["qr", "phone_code"] as const

export type LoginMethod = (typeof loginMethods)[number]

export interface SendingNumber {
  readonly id: NumberId
  readonly workspaceId: WorkspaceId
  /** A test number was added by a test key: it has no phone, and only test keys see it. */
  readonly mode: Mode
  /** Digits with country code, no `+`; null until a QR code was scanned. */
  readonly phone: string | null
  readonly label: string
  readonly platform: Platform
  readonly status: NumberStatus
  readonly loginMethod: LoginMethod
  readonly createdAt: number
}

/** What callers see of it. */
export type PublicNumber = Omit<SendingNumber, "workspaceId" | "mode" | "createdAt">

/** The modes of numbers that keys of a mode see: both see live ones (contract: Test mode). */
export const visibleModes = (mode: Mode): ReadonlyArray<Mode> =>
  mode === "test" ? ["live", "test"] : ["live"]

export const isVisibleTo = (mode: Mode, number: Pick<SendingNumber, "mode">): boolean =>
  visibleModes(mode).includes(number.mode)

/** What identifies a number. */
type Identity = Pick<SendingNumber, "mode" | "phone" | "platform">

/** Whether both are the same phone or account, in the same mode. */
export const isSameNumber = (one: Identity, other: Identity): boolean =>
  one.phone === other.phone && one.platform === other.platform && one.mode === other.mode

// Pauses of a number, until a time or an operator's resume. Meanwhile messages wait and may expire
// (contract: Pauses).
// The circuit breaker pauses a number after consecutive refusals that blame the number, not a
// recipient. Such refusals precede the closing of an account, and further sends make it worse.

/** Consecutive refusals that pause a number, and the length of its first pause. */
const maxRefusals = 5
export const firstPauseMillis = 60 * 60_000

/** Limit on the doublings of pauses; that is years. */
const maxDoublings = 14

/** `paused`: by an operator. */
export type PauseReason = Extract<
  ConnectionReason,
  "paused" | "restricted" | "banned" | "client_outdated"
>

export interface Pause {
  /** Null: until it is resumed. */
  readonly until: number | null
  readonly reason: PauseReason
}

/** How the remote has lately answered what a number sent. */
export interface ConsecutiveFailures {
  /** Refusals since the last accepted message and the last pause. */
  readonly refusals: number
  /** Pauses since the last accepted message. */
  readonly pauses: number
}

export const noFailures: ConsecutiveFailures = { refusals: 0, pauses: 0 }

/** The end of a pause; infinite when only an operator ends it. */
export const getEnd = ({ until }: Pause): number => until ?? Infinity

/** The end of a pause in force at `now`; null when there is none. */
export const pausedUntil = (pause: Pause | null, now: number): number | null =>
  pause === null || getEnd(pause) <= now ? null : getEnd(pause)

/**
 * A number's pauses: at most one from an operator and one from the service (circuit breaker or
 * remote). Neither ends the other.
 */
export interface Pauses {
  /** The pause in force, which ends later; null for none. */
  readonly first: Pause | null
  /** The other pause; null for none. */
  readonly behind: Pause | null
}

export const noPauses: Pauses = { first: null, behind: null }

const isOperators = ({ reason }: Pause): boolean => reason === "paused"

/**
 * Adds a pause. An operator's replaces the operator's old one, so that it can be shortened. The
 * service's replaces its old one only if it ends later. The one that ends later is in force; on a
 * tie, the service's.
 */
export const pausesAfter = ({ behind, first }: Pauses, next: Pause): Pauses => {
  if (first === null) return { first: next, behind: null }
  const before = behind === null ? [first] : [first, behind]
  const last = before.find((pause) => isOperators(pause) === isOperators(next))
  const other = before.find((pause) => isOperators(pause) !== isOperators(next))
  const isReplaced = last === undefined || isOperators(next) || getEnd(next) > getEnd(last)
  const own = isReplaced ? next : last
  if (other === undefined) return { first: own, behind: null }
  const [operators, services] = isOperators(own) ? [own, other] : [other, own]
  return getEnd(operators) > getEnd(services)
    ? { first: operators, behind: services }
    : { first: services, behind: operators }
}

/**
 * The pauses that survive a new session: a link or login ends the service's, an operator's stays.
 */
export const pausesOnceLinked = ({ behind, first }: Pauses): Pauses => ({
  first: [first, behind].find((pause) => pause !== null && isOperators(pause)) ?? null,
  behind: null,
})

/** The failures after an attempt's outcome, and the pause they cause; null for no change. */
export const failuresAfter = (
  failures: ConsecutiveFailures,
  outcome: { readonly _tag: string; readonly againstNumber?: boolean },
  now: number,
): { readonly failures: ConsecutiveFailures; readonly pause: Pause | null } | null => {
  if (outcome._tag === "Accepted") {
    return failures.refusals === 0 && failures.pauses === 0
      ? null
      : { failures: noFailures, pause: null }
  }
  if (outcome.againstNumber !== true) return null
  const refusals = failures.refusals + 1
  if (refusals < maxRefusals) return { failures: { ...failures, refusals }, pause: null }
  const millis = firstPauseMillis * 2 ** Math.min(failures.pauses, maxDoublings)
  return {
    failures: { refusals: 0, pauses: failures.pauses + 1 },
    pause: { until: now + millis, reason: "restricted" },
  }
}

/**
 * Whether a number may not even connect: the remote shut it out, and no operator has resumed it.
 */
export const suspends = (reason: PauseReason | null): boolean =>
  reason === "banned" || reason === "client_outdated"

/**
 * Reasons for giving up a number although its device is still linked. Only an operator's resume or a
 * process start reconnects it.
 */
export const abandonedReasons: ReadonlyArray<ConnectionReason> = [
  "replaced",
  "restricted",
  "banned",
  "client_outdated",
]

const isRestriction = (reason: ConnectionReason | null | undefined): boolean =>
  reason === "restricted" || reason === "banned"

/** Whether the pause is for the remote's verdict on what the number sent. */
export const restricts = ({ reason }: Pause): boolean => isRestriction(reason)

/** When it became restricted or banned; null unless it is. */
export const restrictedSince = (
  number: {
    readonly status: NumberStatus
    /** Since when it has its status, and why. */
    readonly changed: { readonly at: number; readonly reason: ConnectionReason | null } | null
    readonly pauses: Pauses
    /** When it was last paused for a restriction. */
    readonly restrictedAt: number | null
  },
  now: number,
): number | null => {
  const { changed, pauses, restrictedAt, status } = number
  const isPaused = [pauses.first, pauses.behind].some(
    (pause) => pause !== null && restricts(pause) && getEnd(pause) > now,
  )
  if (isPaused) return restrictedAt
  return status !== "connected" && isRestriction(changed?.reason) ? (changed?.at ?? null) : null
}

/**
 * The reason after an operator's resume or an account's login: the transport then connects the
 * number.
 */
export const reasonOnceResumed = "connection_lost" satisfies ConnectionReason

/** The pause for the remote's verdict on the number itself, which only an operator ends. */
export const pauseFor = (reason: ConnectionReason | null): Pause | null =>
  reason === "banned" || reason === "client_outdated" ? { until: null, reason } : null
