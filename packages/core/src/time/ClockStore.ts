/** The port that keeps the adjustable clock's offset and tells whether the store answers. */
import { Context } from "effect"
import type { Effect } from "effect"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"

export class ClockStore extends Context.Service<
  ClockStore,
  {
    /** Milliseconds that service time is ahead of system time. */
    offset: Effect.Effect<number, StoreUnavailable>
    /** Raises the offset; it never goes back. Returns the one then in force. */
    raiseOffset(to: number): Effect.Effect<number, StoreUnavailable>
    /** Answers when the store does. */
    ping: Effect.Effect<void, StoreUnavailable>
  }
>()("core/ClockStore") {}
