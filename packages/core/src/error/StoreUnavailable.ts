/**
 * The one way in which a storage port fails: the store did not answer, or answered with something
 * other than a decision (connection refused, pool exhausted, statement timed out). Refusals of
 * rules are values, never this.
 */
import { Data } from "effect"

export class StoreUnavailable
  extends /*#__PURE__*/ Data.TaggedError("StoreUnavailable")<{
    /** The port's operation, for logs; never shown to a client. */
    readonly operation: string
    readonly cause: unknown
    /** Seconds; there when the store is well and only has no room for this at the moment. */
    readonly retryAfter?: number
  }>
{
  override get message() {
    return `the store did not answer: ${this.operation}`
  }
}
