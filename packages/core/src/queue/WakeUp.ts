/**
 * Waking the worker's loops when there is new work. The commit that makes work is followed by
 * `wake`; a lost wake costs time, never work, because every loop also looks when something falls
 * due, and polls slowly where other processes share the store.
 */
import { Context, Effect, Latch, Layer, Scope } from "effect"
import type { Duration } from "effect"
import type { Work } from "./WorkStatus.ts"

/** Open once it was woken, until its loop closes it. To open it wakes this loop alone. */
export type Sleeper = Latch.Latch

export class WakeUp
  extends /*#__PURE__*/ Context.Service<
    WakeUp,
    {
      wake(work: Work): Effect.Effect<void>
      /** A sleeper for a loop of that kind, for as long as the scope is open. */
      sleeper(work: Work): Effect.Effect<Sleeper, never, Scope.Scope>
      /** How often an idle loop looks at a store that other processes write to; null: never. */
      readonly poll: Duration.Input | null
    }
  >()("core/WakeUp")
{
  /** Within one process, for a store that no other process writes to. */
  static readonly layerLocal = /*#__PURE__*/ Layer.sync(WakeUp, () => makeLocal(null))
}

/**
 * The in-process part, to which an adapter can add a poll and word from other processes. With neither
 * `Effect.forEach` nor `Effect.acquireRelease`, which would bring half as much again of Effect along.
 */
export const makeLocal = (poll: Duration.Input | null): typeof WakeUp.Service => {
  const latches = new Map<Work, Set<Latch.Latch>>()
  return {
    poll,
    wake: (work) =>
      Effect.gen(function* () {
        for (const latch of latches.get(work) ?? []) yield* latch.open
      }),
    sleeper: (work) =>
      Effect.flatMap(Effect.scope, (scope) =>
        Effect.suspend(() => {
          const latch = Latch.makeUnsafe(true)
          const set = latches.get(work) ?? new Set()
          latches.set(work, set.add(latch))
          const leave = Effect.sync(() => set.delete(latch))
          return Effect.as(Scope.addFinalizer(scope, leave), latch)
        }).pipe(Effect.uninterruptible),
      ),
  }
}
