import { Data } from "effect"

/**
 * Why a process failed to start or to continue: one line for the operator. It names the variable to
 * check, and never contains a secret.
 */
export class CannotStart
  extends /*#__PURE__*/ Data.TaggedError("CannotStart")<{ readonly message: string }> {}

/** First line of a failure's own message. */
export const briefly = (cause: unknown): string => {
  const text = cause instanceof Error ? cause.message || cause.name : String(cause)
  return text.split("\n", 1)[0]?.trim() ?? ""
}
