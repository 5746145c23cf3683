/** What errors of the far side mean for a number as a whole: a table from its words to reasons. Pure. */
import type { ClosedReason } from "@messaging-service/core"
import type { FarSideError } from "./outcomes.ts"

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
