import { Data } from "effect"

/**
 * Why a process did not start, or could not go on: one line for the operator. It names the variable
 * to look at, and never holds a secret.
 */
export class CannotStart
  extends /*#__PURE__*/ Data.TaggedError("CannotStart")<{ readonly message: string }> {}

/** The first line of what a failure says about itself. */
export const briefly = (cause: unknown): string => {
  const text = cause instanceof Error ? cause.message || cause.name : String(cause)
  return text.split("\n", 1)[0]?.trim() ?? ""
}
