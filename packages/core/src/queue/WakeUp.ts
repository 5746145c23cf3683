/**
 * Waking the worker's loops when there is new work. The commit that makes work is followed by
 * `wake`; a lost wake costs time, never work, because every loop also looks when something falls
 * due, and polls slowly where other processes share the store.
 */
import { Context, Effect, Latch, Layer } from "effect"
import type { Duration, Scope } from "effect"
import type { Work } from "./WorkStatus.ts"

/** Open once it was woken, until its loop closes it. To open it wakes this loop alone. */
export type Sleeper = Latch.Latch

export class WakeUp extends Context.Service<
  WakeUp,
  {
    wake(work: Work): Effect.Effect<void>
    /** A sleeper for a loop of that kind, for as long as the scope is open. */
    sleeper(work: Work): Effect.Effect<Sleeper, never, Scope.Scope>
    /** How often an idle loop looks at a store that other processes write to; null: never. */
    readonly poll: Duration.Input | null
  }
>()("core/WakeUp") {
  /** Within one process, for a store that no other process writes to. */
  static readonly layerLocal = Layer.sync(WakeUp, () => makeLocal(null))
}

/** The in-process part, to which an adapter can add a poll and word from other processes. */
export const makeLocal = (poll: Duration.Input | null): typeof WakeUp.Service => {
  const latches = new Map<Work, Set<Latch.Latch>>()
  return {
    poll,
    wake: (work) =>
      Effect.suspend(() => Effect.forEach(latches.get(work) ?? [], Latch.open, { discard: true })),
    sleeper: (work) =>
      Effect.gen(function* () {
        const latch = yield* Latch.make(true)
        yield* Effect.acquireRelease(
          Effect.sync(() => {
            const set = latches.get(work) ?? new Set()
            latches.set(work, set.add(latch))
          }),
          () => Effect.sync(() => latches.get(work)?.delete(latch)),
        )
        return latch
      }),
  }
}
