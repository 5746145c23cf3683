/** What errors of the far side mean for a number as a whole: a table from its words to reasons. Pure. */
import type { FarSideError } from "./outcomes.ts"

/** Why a number is not connected. */
export type ClosedReason =
  | "logged_out"
  | "replaced"
  | "banned"
  | "restricted"
  | "client_outdated"
  | "connection_lost"

const endings: ReadonlyMap<string, ClosedReason> = new Map([
  ["AUTH_KEY_UNREGISTERED", "logged_out"],
  ["AUTH_KEY_INVALID", "logged_out"],
  ["AUTH_KEY_PERM_EMPTY", "logged_out"],
  ["SESSION_REVOKED", "logged_out"],
  ["SESSION_EXPIRED", "logged_out"],
  ["SESSION_PASSWORD_NEEDED", "logged_out"],
  // The same key was used from two places at once, and Telegram has ended it.
  ["AUTH_KEY_DUPLICATED", "replaced"],
  ["USER_DEACTIVATED", "banned"],
  ["USER_DEACTIVATED_BAN", "banned"],
  ["PHONE_NUMBER_BANNED", "banned"],
  ["API_ID_INVALID", "client_outdated"],
  ["UPDATE_APP_TO_LOGIN", "client_outdated"],
])

/**
 * Null for what says nothing about the session. Of other words that refuse the account (401) it is not
 * known whether the session is over for good, so that what the number has is kept.
 */
export const endingOf = ({
  code,
  text,
}: Pick<FarSideError, "code" | "text">): ClosedReason | null =>
  endings.get(text) ?? (code === 401 ? "restricted" : null)

/** Whether what the number has is worth nothing any more. */
export const isWorthless = (reason: ClosedReason): boolean =>
  reason === "logged_out" || reason === "replaced"

/**
 * The pause before the next connection: doubling with each failure in a row, of which the upper half is
 * drawn, so that numbers that were lost together do not come back together. `drawn`: from 0 up to 1.
 */
export const pauseMillis = (
  failures: number,
  drawn: number,
  { first, longest }: { readonly first: number; readonly longest: number },
): number => {
  const whole = Math.min(longest, first * 2 ** Math.min(failures, 30))
  return Math.round(whole / 2 + (drawn * whole) / 2)
}
