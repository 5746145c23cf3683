/**
 * Tells the worker's loops when to look for work. `WakeUp` signals new work after the commit that
 * makes it; `DueWork` asks the store what is due next. A lost wake costs time, never work: every
 * loop also looks when something falls due, and polls slowly where other processes share the store.
 */
import { Context, Effect, Latch, Layer, Scope } from "effect"
import type { Duration } from "effect"
import type { StoreUnavailable } from "../model/Refusal.ts"
import type { NumberId } from "../model/Ids.ts"
import { sharedLimits } from "../model/Bulkhead.ts"
import type { Capacity, SaturatedTenants } from "../model/Bulkhead.ts"
import type { Owned } from "../model/Shards.ts"
import type { Mode } from "../model/Workspace.ts"

/** The worker's loops, by the kind of work they look for. */
export const kindsOfWork = [
  "lanes",
  "expiry",
  "test_messages",
  "orphaned",
  "deliveries",
  "number_checks",
  "linking",
  "reminders",
  "campaigns",
  "pauses",
  "copies",
  "read_marks",
  "files",
] as const

export type Work = (typeof kindsOfWork)[number]

/** The work that sends messages of a mode. */
export const sendingWork = (mode: Mode): Work => (mode === "test" ? "test_messages" : "lanes")

/**
 * Kinds of work with a limit on how much a worker holds at once, in total and of one workspace.
 * Deliveries take the limit of callbacks, since webhook endpoints are few.
 */
export const sharedWork = {
  lanes: sharedLimits.lanes,
  deliveries: sharedLimits.callbackCalls,
  number_checks: sharedLimits.numberChecks,
  linking: sharedLimits.linkAttempts,
  files: sharedLimits.receivedFiles,
} as const

export type SharedWork = keyof typeof sharedWork

/** The earliest moment of each kind of work; null when nothing waits. */
export type EarliestDue = Readonly<Record<Work, number | null>>

/** An attempt that a transport is making. */
export interface AttemptInFlight {
  readonly numberId: NumberId
  /** Unique among all attempts ever made. */
  readonly attempt: string
}

/**
 * All work that is due or in flight, in one snapshot: work that moves from one to the other is
 * never missed.
 */
export interface Workload {
  readonly nextDue: number | null
  /**
   * Messages, chunks of number checks and files that transports hold, ordered by name. An attempt leaves
   * the list when its lease ends; `nextDue` tells when it can be claimed again. For a logged-out
   * number that is not before it reconnects.
   */
  readonly inFlight: ReadonlyArray<AttemptInFlight>
  /** The latest end of a delivery's lease. Null when no receiver is being called. */
  readonly deliveringUntil: number | null
}

export interface DueWork {
  /**
   * The earliest moment at which the loop of that kind could take work; may lie in the past. Null
   * when nothing waits. Moments that count:
   *
   * - lanes: free ones when next due, resting ones (send cap, flood wait) at the end of their rest,
   *   claimed ones at the end of their lease; those of disconnected numbers or disabled workspaces
   *   never, except messages in flight.
   * - test messages: when due; those of disabled workspaces never. Also their ticks (see `dueTestTicks`).
   * - orphaned messages: always due.
   * - deliveries: in-flight ones at the end of their lease; those that cannot be claimed before
   *   then never.
   * - number checks: claimed ones at the end of their lease; those that no worker could claim
   *   never.
   * - linking: attempts at their end; claimed ones also at the end of their lease; test ones when
   *   they link themselves; unclaimed live ones when they were requested.
   * - campaigns: when `CampaignStore.due` would list them.
   * - pauses: when one with a reported begin ends by itself (see `pauseReport`), or a wait for new chats
   *   (see `newChatsUntil`).
   * - copies: when a message has waited long enough for a copy (see `ChatStore.endCopyWaits`).
   * - read marks: of connected numbers (see `ChatStore.claimReadMarks`).
   * - files of received messages: when due; claimed ones at the end of their lease.
   *
   * `saturated`: workspaces at their concurrency limit. Of their lanes, number checks and files only the
   * ends of leases count, and of their unclaimed linking attempts only the ends. Their callbacks
   * do not count. Work that needs a number outside `owned` never counts.
   */
  nextDue(
    work: Work,
    saturated?: SaturatedTenants,
    owned?: Owned,
  ): Effect.Effect<number | null, StoreUnavailable>
  /**
   * `nextDue` of each kind of work over all workspaces and numbers. One query serves every idle
   * loop of a worker that checks for other processes' work.
   */
  earliestDue(): Effect.Effect<EarliestDue, StoreUnavailable>
  /**
   * The whole store's work, due or in flight at `now`, in one snapshot. Work that waits for free
   * capacity, of the workers or of its workspace's share, is not due.
   */
  workload(
    now: number,
    capacity?: Readonly<Record<SharedWork, Capacity>>,
  ): Effect.Effect<Workload, StoreUnavailable>
}

/** Opens when woken, until its loop closes it. Opening it wakes this loop alone. */
export type Sleeper = Latch.Latch

export class WakeUp
  extends /*#__PURE__*/ Context.Service<
    WakeUp,
    {
      wake(work: Work): Effect.Effect<void>
      /** A latch for a loop of that kind, until the scope closes. */
      latch(work: Work): Effect.Effect<Sleeper, never, Scope.Scope>
      /** How often an idle loop checks a store that other processes write to; null: never. */
      readonly poll: Duration.Input | null
    }
  >()("core/WakeUp")
{
  /** For a store that only this process writes to. */
  static readonly layerLocal = /*#__PURE__*/ Layer.sync(WakeUp, () => makeLocal(null))
}

/**
 * Commits, then wakes. Uninterruptible: without a poll, a loop would not find what was committed
 * for a caller that has hung up.
 */
export const commitAndWake = <A, E>(
  commit: Effect.Effect<A, E>,
  wake: Effect.Effect<unknown>,
): Effect.Effect<A, E> => Effect.uninterruptible(Effect.tap(commit, wake))

/**
 * The in-process part; adapters add a poll and wakes from other processes. It avoids
 * `Effect.forEach` and `Effect.acquireRelease`, which would enlarge the bundled part of Effect by
 * half.
 */
export const makeLocal = (poll: Duration.Input | null): typeof WakeUp.Service => {
  const latches = new Map<Work, Set<Latch.Latch>>()
  return {
    poll,
    wake: (work) =>
      Effect.gen(function* () {
        for (const latch of latches.get(work) ?? []) yield* latch.open
        // Without a poll: what frees a number may free campaigns that await it.
        if (poll !== null || (work !== "lanes" && work !== "test_messages")) return
        for (const latch of latches.get("campaigns") ?? []) yield* latch.open
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
