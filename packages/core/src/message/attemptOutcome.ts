/**
 * The rules of one attempt to send a message: what is checked last, and what its outcome means. The
 * promise lives here: never sent twice, never after it was cancelled or expired, and always reported
 * truthfully. Pure.
 */
import { mayHaveLeft } from "../queue/Lane.ts"
import type { ClaimedMessage } from "../queue/LaneQueue.ts"
import type { SendOutcome } from "../transport/Transport.ts"
import { hasExpired } from "./Message.ts"
import type { Message, MessageError } from "./Message.ts"
import type { Ending } from "./MessageChange.ts"

/**
 * A transport that does not answer for this long counts as interrupted (contract: How messages
 * leave).
 */
export const attemptTimeoutMillis = 60_000

/** Interrupted attempts that end in `outcome_unknown`. */
export const maximumInterruptions = 3

const unknownOutcome: MessageError = {
  code: "outcome_unknown",
  message: "It cannot be known whether the message left; it is not sent again.",
}

/** What became of an attempt: the transport's word, or what became of its media. */
export type AttemptOutcome =
  | SendOutcome
  | { readonly _tag: "Unsendable"; readonly error: MessageError }
  | { readonly _tag: "TooLate" }
  | { readonly _tag: "NoRoom" }

/** What an outcome means: the end of the message, or another try. Pure. */
export const judgeAttempt = (
  claimed: Pick<ClaimedMessage, "interruptions"> & {
    readonly message: Pick<Message, "expiresAt">
  },
  outcome: AttemptOutcome,
  dropsCopies: boolean,
  now: number,
):
  | { readonly _tag: "End"; readonly ending: Ending }
  | {
      readonly _tag: "Again"
      readonly notBefore: number | null
      readonly interrupted: boolean
    } => {
  const failed = (error: MessageError) =>
    ({ _tag: "End", ending: { trigger: "send_failed", error } }) as const
  // A refusal of a repeat says nothing about the attempts before it, whose copy may have been shown.
  const earlierMayHaveLeft = mayHaveLeft(claimed)
  const again = (notBefore: number | null, interrupted: boolean) =>
    // It may have left before it expired, so that expired would not be the truth.
    (interrupted || earlierMayHaveLeft) && hasExpired(claimed.message, now)
      ? failed(unknownOutcome)
      : ({ _tag: "Again", notBefore, interrupted } as const)
  switch (outcome._tag) {
    case "Accepted":
      return { _tag: "End", ending: { trigger: "send_succeeded" } }
    case "Refused":
    case "Unsendable":
      return failed(earlierMayHaveLeft ? unknownOutcome : outcome.error)
    case "TooLate":
      return earlierMayHaveLeft
        ? failed(unknownOutcome)
        : { _tag: "End", ending: { trigger: "expire" } }
    case "Postponed":
      return again(now + outcome.afterMillis, false)
    case "NotConnected":
    case "NoRoom":
      return again(null, false)
    case "Unknown":
      return dropsCopies && claimed.interruptions + 1 < maximumInterruptions
        ? again(null, true)
        : failed(unknownOutcome)
  }
}

/** Whether the far side may have seen the attempt, so that the number's rest begins with its end. */
export const mayHaveBeenSeen = ({ _tag }: AttemptOutcome): boolean =>
  _tag === "Accepted" || _tag === "Refused" || _tag === "Unknown"

/** Why a claimed message must not be handed to a transport any more, if so. Pure. */
export const lastCheck = (
  claimed: Pick<ClaimedMessage, "message" | "interruptions" | "removed">,
  dropsCopies: boolean,
  now: number,
): Ending | undefined => {
  const { message, interruptions, removed } = claimed
  const over = hasExpired(message, now)
  if (!mayHaveLeft(claimed)) {
    if (removed) return { trigger: "cancel" }
    return over ? { trigger: "expire" } : undefined
  }
  // It may have left: neither cancelled nor expired would be the truth, and sending again would
  // break the promise.
  const givenUp = !dropsCopies || interruptions >= maximumInterruptions
  return removed || over || givenUp ? { trigger: "send_failed", error: unknownOutcome } : undefined
}
