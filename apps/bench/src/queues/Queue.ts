/** Something that dispatches what waits in the messages' table. */
import type { Effect } from "effect"
import type { CheckFailed } from "../measuring/checks.ts"

export interface Queue {
  readonly name: string
  /** Makes jobs of the waiting messages, where there have to be any; not timed. */
  readonly fill: Effect.Effect<void, CheckFailed>
  /** Dispatches until nothing is left; returns how many messages were handed over. */
  dispatch(workers: number, count: number): Effect.Effect<number, CheckFailed>
  /** Whether everything it had to do is done, by its own records. */
  checkDone(count: number): Effect.Effect<void, CheckFailed>
}
