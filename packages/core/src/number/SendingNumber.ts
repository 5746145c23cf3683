/** A number that a workspace sends from: a linked WhatsApp phone or a Telegram account. */
import type { NumberId, WorkspaceId } from "../Ids.ts"
import type { Mode } from "../workspace/Workspace.ts"

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
  /** A test number was added by a test key: no phone is behind it, and only test keys see it. */
  readonly mode: Mode
  /** Digits with country code, no `+`; null until a QR code was scanned. */
  readonly phone: string | null
  readonly label: string
  readonly platform: Platform
  readonly status: NumberStatus
  readonly loginMethod: LoginMethod
  readonly createdAt: number
}

/** What a caller is shown of it. */
export type ShownNumber = Omit<SendingNumber, "workspaceId" | "mode" | "createdAt">

/**
 * The modes of the numbers that keys of a mode see: both share what is live (contract: Test mode).
 */
export const modesSeenBy = (mode: Mode): ReadonlyArray<Mode> =>
  mode === "test" ? ["live", "test"] : ["live"]

/** Whether keys of that mode see the number. */
export const isSeenBy = (mode: Mode, number: Pick<SendingNumber, "mode">): boolean =>
  modesSeenBy(mode).includes(number.mode)

/** What tells numbers apart. */
type Identity = Pick<SendingNumber, "mode" | "phone" | "platform">

/** Whether both are the same phone or account, in the same mode. */
export const isSameNumber = (one: Identity, other: Identity): boolean =>
  one.phone === other.phone && one.platform === other.platform && one.mode === other.mode

// Pauses of a number: until a moment, or until an operator resumes it. While it is paused nothing is
// sent; messages wait and may expire (contract: Pauses).
// The breaker pauses by itself: refusals in a row that the far side makes because of the number, not of
// a recipient, are what comes before an account is closed, and to go on makes it worse.

/** Refusals in a row that pause a number, and for how long the first time. */
const mostRefusals = 5
export const firstPauseMillis = 60 * 60_000

/** Each pause is twice as long as the one before, so many times; that is years. */
const mostDoublings = 14

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

/** How the far side has taken what a number sent lately. */
export interface ConsecutiveFailures {
  /** Refusals since the last accepted message and the last pause. */
  readonly refusals: number
  /** Pauses since the last accepted message. */
  readonly pauses: number
}

export const noFailures: ConsecutiveFailures = { refusals: 0, pauses: 0 }

/** The end of a pause as a moment; infinite where only an operator ends it. */
export const endOf = ({ until }: Pause): number => until ?? Infinity

/** Until when a number is paused at `now`; null when it is not. */
export const pausedUntil = (pause: Pause | null, now: number): number | null =>
  pause === null || endOf(pause) <= now ? null : endOf(pause)

/**
 * The pauses of a number: an operator and the service itself (its breaker, or what the far side says)
 * have one at most, and neither ends the other's.
 */
export interface Pauses {
  /** The pause that ends later, which counts; null: there is none. */
  readonly first: Pause | null
  /** The pause of the other one; null: there is none. */
  readonly behind: Pause | null
}

export const noPauses: Pauses = { first: null, behind: null }

const isOperators = ({ reason }: Pause): boolean => reason === "paused"

/**
 * The pauses of a number once `next` is added. An operator's new pause replaces the operator's old one, so
 * that a pause can be shortened. A new pause of the service replaces its old one only if it ends later.
 * Which of the two counts is the one that ends later; when both end together it is the service's.
 */
export const pausesAfter = ({ behind, first }: Pauses, next: Pause): Pauses => {
  if (first === null) return { first: next, behind: null }
  const before = behind === null ? [first] : [first, behind]
  const last = before.find((pause) => isOperators(pause) === isOperators(next))
  const other = before.find((pause) => isOperators(pause) !== isOperators(next))
  const isReplaced = last === undefined || isOperators(next) || endOf(next) > endOf(last)
  const own = isReplaced ? next : last
  if (other === undefined) return { first: own, behind: null }
  const [operators, services] = isOperators(own) ? [own, other] : [other, own]
  return endOf(operators) > endOf(services)
    ? { first: operators, behind: services }
    : { first: services, behind: operators }
}

/**
 * The pauses that are left once a number has a new session: a link or a login ends what the number's own
 * standing caused, and an operator's pause stays.
 */
export const pausesOnceLinked = ({ behind, first }: Pauses): Pauses => ({
  first: [first, behind].find((pause) => pause !== null && isOperators(pause)) ?? null,
  behind: null,
})

/** What an attempt's outcome adds to the strikes, and the pause that it brings; null for no change. */
export const failuresAfter = (
  strikes: ConsecutiveFailures,
  outcome: { readonly _tag: string; readonly againstNumber?: boolean },
  now: number,
): { readonly strikes: ConsecutiveFailures; readonly pause: Pause | null } | null => {
  if (outcome._tag === "Accepted") {
    return strikes.refusals === 0 && strikes.pauses === 0
      ? null
      : { strikes: noFailures, pause: null }
  }
  if (outcome.againstNumber !== true) return null
  const refusals = strikes.refusals + 1
  if (refusals < mostRefusals) return { strikes: { ...strikes, refusals }, pause: null }
  const millis = firstPauseMillis * 2 ** Math.min(strikes.pauses, mostDoublings)
  return {
    strikes: { refusals: 0, pauses: strikes.pauses + 1 },
    pause: { until: now + millis, reason: "restricted" },
  }
}

/** Whether a number may not even connect: the far side has shut it out, and an operator has not resumed it. */
export const keepsAway = (reason: PauseReason | null): boolean =>
  reason === "banned" || reason === "client_outdated"

/**
 * Why a number was given up whose device is still linked: it is connected again once an operator resumes
 * it, and until then by nothing but a process that starts.
 */
export const givenUpReasons: ReadonlyArray<ConnectionReason> = [
  "replaced",
  "restricted",
  "banned",
  "client_outdated",
]

/**
 * Why such a number is not connected once an operator has resumed it, or an account has logged in: its
 * transport connects it.
 */
export const reasonOnceResumed = "connection_lost" satisfies ConnectionReason

/** What the far side says of the number itself, after which only an operator lets it send again. */
export const pauseFor = (reason: ConnectionReason | null): Pause | null =>
  reason === "banned" || reason === "client_outdated" ? { until: null, reason } : null
