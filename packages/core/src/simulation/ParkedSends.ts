/**
 * Which attempts wait for time alone. Behind an adjustable clock a latency or a phone that never
 * answers ends only when time is moved on; whoever moves it must know that waiting longer in front of
 * such an attempt would be in vain (operator API: `clock/advance`, `settle`).
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { NumberId } from "../id/Ids.ts"

export class ParkedSends extends Context.Service<
  ParkedSends,
  {
    /**
     * The numbers of this process whose attempt does nothing until service time reaches a moment
     * that still lies ahead, or never goes on by itself.
     */
    readonly parked: Effect.Effect<ReadonlySet<NumberId>>
  }
>()("core/ParkedSends") {}
