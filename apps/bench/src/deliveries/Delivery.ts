/** Something that delivers the same events to the same endpoints. */
import type { Effect } from "effect"
import type { CheckFailed } from "../measuring/checks.ts"

export interface Delivery {
  readonly name: string
  /** Delivers all events; ends when every call is answered and whatever is kept of it is written. */
  readonly deliverAll: Effect.Effect<void, CheckFailed>
  /** Whether everything it had to do is done, by its own records. */
  readonly checkDone: Effect.Effect<void, CheckFailed>
}
