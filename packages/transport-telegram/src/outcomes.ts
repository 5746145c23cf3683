/** What the far side's words on a message, or on a question before it, mean for the message. Pure. */
import type { MessageErrorCode, SendOutcome } from "@messaging-service/core"

export const refused = (
  code: MessageErrorCode,
  message: string,
  againstNumber = false,
): SendOutcome => ({ _tag: "Refused", error: { code, message }, againstNumber })

const postponed = (afterMillis: number) => ({ _tag: "Postponed", afterMillis }) as const

/** When to look again after nothing was handed over. */
export const soon = postponed(5000)

/** Another worker has the number by now, and goes on. */
export const moved = postponed(500)

export const accepted = { _tag: "Accepted" } as const
export const unknown = { _tag: "Unknown" } as const
export const notConnected = { _tag: "NotConnected" } as const

/** What the far side answered in place of a result. */
export interface FarSideError {
  readonly code: number
  /** Such as `FLOOD_WAIT_%d`. */
  readonly text: string
  /** For how long to wait, where it says so. */
  readonly seconds: number | null
}

/** No such recipient, or none that this account may know. */
const strangers: ReadonlySet<string> = new Set([
  "PEER_ID_INVALID",
  "USER_ID_INVALID",
  "USERNAME_INVALID",
  "USERNAME_NOT_OCCUPIED",
  "PHONE_NOT_OCCUPIED",
  "INPUT_USER_DEACTIVATED",
])

/** What is known of the words with which messages are refused. */
const refusals: ReadonlyMap<string, string> = new Map([
  ["PEER_FLOOD", "the account writes to too many people who do not know it"],
  ["USER_RESTRICTED", "the account is restricted"],
  ["USER_IS_BLOCKED", "the recipient has blocked the account"],
  ["YOU_BLOCKED_USER", "the account has blocked the recipient"],
  ["USER_PRIVACY_RESTRICTED", "the recipient's settings do not let the account write"],
  ["PRIVACY_PREMIUM_REQUIRED", "the recipient takes messages from Premium accounts only"],
  ["ALLOW_PAYMENT_REQUIRED", "the recipient takes messages for payment only"],
  ["MESSAGE_TOO_LONG", "it is too long"],
  ["MEDIA_CAPTION_TOO_LONG", "the caption is too long"],
  ["MESSAGE_EMPTY", "it is empty"],
  ["FROZEN_METHOD_INVALID", "the account is frozen"],
])

/** Those of them that tell of the account that sends. */
const restrictions: ReadonlySet<string> = new Set([
  "PEER_FLOOD",
  "USER_RESTRICTED",
  "FROZEN_METHOD_INVALID",
])

/** It was sent before under this id: the proof that it was shown. */
export const sentBefore = "RANDOM_ID_DUPLICATE"

export const isSentBefore = (text: string): boolean => text.startsWith(sentBefore)

/** No pause that the far side asks for is shorter or longer: then it is asked again. */
const [shortestPause, longestPause] = [1000, 24 * 60 * 60_000]

/** No word of the far side's is longer; what it says is shown to callers. */
const longestWord = 64

/** The far side may have done what it was asked for: no answer came, or a fault of its own before it. */
export const isUnanswered = ({ code }: Pick<FarSideError, "code">): boolean =>
  code === 0 || code >= 500 || code < 0

/** `isSend`: the error came to the message itself, and not to a question before it. */
export const afterError = ({ code, seconds, text }: FarSideError, isSend: boolean): SendOutcome => {
  if (isSend && isSentBefore(text)) return accepted
  if (seconds !== null) {
    return postponed(Math.max(shortestPause, Math.min(longestPause, seconds * 1000)))
  }
  if (strangers.has(text)) {
    return refused("recipient_not_found", `Telegram knows no such recipient (${text}).`)
  }
  // A fault of the far side's own: the message may have been shown before it.
  if (isUnanswered({ code })) return isSend ? unknown : soon
  const known = refusals.get(text)
  // It is to be asked later, or somewhere else; that is not about the message.
  if ((code === 420 && known === undefined) || code === 303) return soon
  const why = known === undefined ? "" : `: ${known}`
  return refused(
    "send_failed",
    `Telegram refused the message (${text.slice(0, longestWord)})${why}.`,
    restrictions.has(text),
  )
}
