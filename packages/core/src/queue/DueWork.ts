/**
 * Waking the worker's loops when there is new work. The commit that makes work is followed by
 * `wake`; a lost wake costs time, never work, because every loop also looks when something falls
 * due, and polls slowly where other processes share the store.
 */
import { Context, Effect, Latch, Layer, Scope } from "effect"
import type { Duration } from "effect"
import type { StoreUnavailable } from "../error/Refusal.ts"
import type { NumberId } from "../Ids.ts"
import { sharedLimits } from "../limit/Bulkhead.ts"
import type { Capacity, SaturatedTenants } from "../limit/Bulkhead.ts"
import type { Owned } from "../transport/Shards.ts"

// The port that tells what is left to do: when loops must look again, and whether all is idle.

/** The worker's loops; each looks for its own kind of work. */
export const kindsOfWork = [
  "lanes",
  "expiry",
  "test_messages",
  "orphaned",
  "deliveries",
  "number_checks",
  "linking",
  "reminders",
] as const

export type Work = (typeof kindsOfWork)[number]

/**
 * The kinds of work with a limit on how much a worker holds at once, and on how much of that
 * belongs to one workspace. The limit of deliveries is that of callbacks: webhook endpoints are few.
 */
export const sharedWork = {
  lanes: sharedLimits.lanes,
  deliveries: sharedLimits.callbackCalls,
  number_checks: sharedLimits.numberChecks,
  linking: sharedLimits.linkAttempts,
} as const

export type SharedWork = keyof typeof sharedWork

/** For each kind of work the earliest moment; null when nothing waits. */
export type EarliestDue = Readonly<Record<Work, number | null>>

/** An attempt that a transport has in its hands. */
export interface AttemptInFlight {
  readonly numberId: NumberId
  /** Names the attempt: no other, before or after it, has the same name. */
  readonly attempt: string
}

/**
 * All that is due or in flight, as it was at one moment: what goes from one to the other, as a lane
 * does with each of its messages, is never missed between two questions.
 */
export interface Workload {
  /** The earliest `nextDue` of all kinds of work. */
  readonly nextDue: number | null
  /**
   * The messages and the chunks of number checks in the hands of transports, in the order of their
   * names. Once its lease ran out an attempt is in no hands: `nextDue` tells when it can be taken
   * up, which for a number that is logged out is not before it reconnects.
   */
  readonly inFlight: ReadonlyArray<AttemptInFlight>
  /**
   * The latest end of a delivery's lease; null when no receiver is being called, or was when a
   * worker died.
   */
  readonly deliveringUntil: number | null
}

export class DueWork extends Context.Service<
  DueWork,
  {
    /**
     * The earliest moment at which that kind has or will have something due that its loop could
     * take; may lie in the past, null when nothing waits. What counts, and with which moment:
     *
     * - lanes: free ones that can be claimed with the moment at which they are next due, resting ones
     *   (send cap, flood wait) with the end of their rest, claimed ones with the end of their lease;
     *   those of disconnected numbers and of disabled workspaces not at all. What is in flight counts
     *   for lanes alone.
     * - test messages: with their due time; those of disabled workspaces not at all.
     * - orphaned messages: always due.
     * - deliveries: those in flight with the end of their lease; those that may not be claimed before
     *   that not at all.
     * - number checks: claimed ones with the end of their lease; those that no worker could claim not
     *   at all.
     * - linking: attempts with their end, held ones also with the end of their lease, test ones with
     *   the moment at which they link themselves, live ones that no worker holds with the moment at
     *   which they were asked for.
     *
     * `crowded`: workspaces of which the loop may hold no more. Of their lanes and number checks only
     * the ends of leases count; their callbacks do not, nor do linking attempts that no worker holds,
     * but for their end. What only the holder of a number that is not `owned` could take does not count.
     */
    nextDue(
      work: Work,
      saturated?: SaturatedTenants,
      owned?: Owned,
    ): Effect.Effect<number | null, StoreUnavailable>
    /**
     * `nextDue` of each kind of work, of all workspaces and numbers: one question for all the loops of a
     * worker that only look whether another process has made work meanwhile.
     */
    earliest(): Effect.Effect<EarliestDue, StoreUnavailable>
    /**
     * What of the whole store's work is due or in flight at `now`; all of it seen at one moment.
     * What waits for a place (all workers together), or until its workspace has less than its
     * share, is not due.
     */
    workload(
      now: number,
      places?: Readonly<Record<SharedWork, Capacity>>,
    ): Effect.Effect<Workload, StoreUnavailable>
  }
>()("core/WorkStatus") {}

/** Open once it was woken, until its loop closes it. To open it wakes this loop alone. */
export type Sleeper = Latch.Latch

export class WakeUp
  extends /*#__PURE__*/ Context.Service<
    WakeUp,
    {
      wake(work: Work): Effect.Effect<void>
      /** A latch for a loop of that kind, for as long as the scope is open. */
      latch(work: Work): Effect.Effect<Sleeper, never, Scope.Scope>
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
    latch: (work) =>
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
