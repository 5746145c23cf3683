/**
 * The form of every loop with work that takes time. It claims due work under a lease, performs it
 * concurrently, renews long leases and settles results in batches. When a process dies or cannot
 * record a result, the lease ends and the work is handed out again.
 */
import { Clock, Context, Duration, Effect, Exit, Fiber, Latch, Schedule } from "effect"
import type { StoreUnavailable } from "../model/Refusal.ts"
import type { WorkspaceId } from "../model/Ids.ts"
import { saturatedTenants, countsNearShare, makeRejectingBulkhead } from "../model/Bulkhead.ts"
import type {
  Capacity,
  SaturatedTenants,
  LeaseClaim,
  RejectingBulkhead,
  Shares,
} from "../model/Bulkhead.ts"
import { logFailure } from "../service/logThrottled.ts"
import { WakeUp } from "../store/DueWork.ts"
import type { DueWork, Sleeper, Work } from "../store/DueWork.ts"
import { RealTime, sleep, clockJumped } from "../model/Time.ts"
import type { Owned } from "../model/Shards.ts"
import { Store } from "../store/Store.ts"

// The basic loop: work while there is work, then sleep until the store's next due time, a wake or
// the slow poll. Store failures are retried with growing pauses; a loop never ends by itself.

/** Pauses after a failure, in real milliseconds: doubling between these two. */
const firstPauseMillis = 100
const longestPauseMillis = 5000

/** Real milliseconds between looks while work is due that this loop could not take. */
const busyPauseMillis = 20

interface LoopOptions<E, R> {
  readonly work: Work
  /** Supplied by a loop that also wakes itself. */
  readonly latch?: Sleeper
  /** One round; true when it found work, so that another follows at once. */
  readonly runOnce: Effect.Effect<boolean, E, R>
  /** Called when work was due before a look that this round did not find. */
  readonly onOverlooked?: () => void
  /** Workspaces at their concurrency limit: only this loop's settlements make room. */
  readonly saturated?: () => SaturatedTenants
  /** It may take work of these numbers. Default: all. */
  readonly owned?: Effect.Effect<Owned>
}

/**
 * How long the loops of a worker share one look, in real milliseconds. Shorter than a poll, so that
 * no loop sees a state older than its own last look.
 */
const sharedCheckMillis = 100

/** The store for the loops of one worker, which share their looks at what is due. */
export const sharedStore = Effect.gen(function* sharedStore() {
  const store = yield* Store
  const { stopwatch } = yield* RealTime
  let age = () => Infinity
  const check = Effect.flatMap(stopwatch, (since) => {
    age = since
    return store.queue.earliestDue()
  })
  const [earliest, forget] = yield* Effect.cachedInvalidateWithTTL(check, Duration.infinity)
  return Store.of({
    ...store,
    queue: {
      ...store.queue,
      earliestDue: () => (age() < sharedCheckMillis ? earliest : Effect.andThen(forget, earliest)),
    },
  })
})

/**
 * Returns when another process may have made work: the earliest moment changed or has come.
 * Otherwise a look would find nothing new. `isNothing`: the look at the start found none. Another
 * loop may have made that look before this one started, so the next comes as soon as it is a new one.
 */
const untilChange = (status: DueWork, work: Work, poll: Duration.Input, isNothing: boolean) => {
  let lastDue: number | null | undefined = isNothing ? null : undefined
  let pause: Duration.Input = isNothing ? sharedCheckMillis : poll
  return Effect.gen(function* change() {
    for (;;) {
      yield* sleep(pause)
      pause = poll
      const { [work]: due } = yield* status.earliestDue()
      const isNew = due !== lastDue || (due !== null && due <= (yield* Clock.currentTimeMillis))
      lastDue = due
      if (isNew) return
    }
  })
}

/**
 * Whether a starting loop has no work at all. The loops start together and share this look; a first
 * round of each would open a connection each. Without a poll it is skipped, since nothing would
 * find later work.
 */
const isNothingYet = Effect.fnUntraced(function* isNothingYet(work: Work) {
  const status = (yield* Store).queue
  const { poll } = yield* WakeUp
  return poll !== null && (yield* status.earliestDue())[work] === null
})

/** Sleeps until there may be work. `isNothing`: the caller knows that there is none. */
const untilNext = Effect.fnUntraced(function* untilNext<E, R>(
  { onOverlooked, saturated, owned, work }: LoopOptions<E, R>,
  latch: Sleeper,
  isNothing: boolean,
) {
  const status = (yield* Store).queue
  const { poll } = yield* WakeUp
  const change = poll === null ? Effect.never : untilChange(status, work, poll, isNothing)
  for (let checks = 0; !latch.isOpen(); checks++) {
    const mine = owned === undefined ? "all" : yield* owned
    const isKnown = isNothing && checks === 0
    const due = isKnown ? null : yield* status.nextDue(work, saturated?.() ?? [], mine)
    const now = yield* Clock.currentTimeMillis
    if (due !== null && due <= now) {
      // Due, yet this round found nothing: another worker has it, or the round did not look there.
      onOverlooked?.()
      if (checks === 0) yield* Effect.raceFirst(sleep(busyPauseMillis), latch.await)
      return
    }
    const instant =
      due === null ? Effect.never : Effect.raceFirst(Effect.sleep(due - now), clockJumped)
    const polled = yield* Effect.raceFirst(
      Effect.as(Effect.raceFirst(instant, latch.await), false),
      Effect.as(change, true),
    )
    if (!polled) return
  }
})

/** Runs a loop until interrupted. */
export const runLoop = <E, R>(options: LoopOptions<E | StoreUnavailable, R>) =>
  Effect.scoped(
    Effect.gen(function* loop() {
      const latch = options.latch ?? (yield* (yield* WakeUp).latch(options.work))
      let pause = firstPauseMillis
      let hasStarted = false
      const round = Effect.gen(function* round() {
        // Reset before looking: work that arrives meanwhile wakes the loop again.
        yield* latch.close
        const isNothing = !hasStarted && (yield* isNothingYet(options.work))
        hasStarted = true
        const found = !isNothing && (yield* options.runOnce)
        if (!found) yield* untilNext(options, latch, isNothing)
        pause = firstPauseMillis
      })
      const survive = round.pipe(
        // Also catches a query interrupted from outside. The loop's own interruption never gets
        // here.
        Effect.catchCause((cause) =>
          Effect.gen(function* pauseLoop() {
            yield* logFailure("the loop failed and pauses", cause, Effect.logError)
            yield* sleep(pause)
            pause = Math.min(pause * 2, longestPauseMillis)
          }),
        ),
      )
      return yield* Effect.forever(survive)
    }),
  ).pipe(Effect.annotateLogs({ loop: options.work }))

/** How long a stopping worker waits for running work, in real milliseconds. */
export const StopMillis = Context.Reference<number>("core/StopMillis", {
  defaultValue: () => 8000,
})

/** How long a stopping worker may take to release its claims, in real time. */
const giveBackMillis = 1000

/** Retries until the store answers; the lease decides whether the result still counts. */
const retrySettling = Schedule.spaced("250 millis")

/** Pause before a blocked settlement is retried, in real milliseconds. */
const heldUpPauseMillis = 100

/** How long a turn may last while others wait for a place, in service time. */
const crowdedTurnMillis = 500

/** How long claims may begin where the one before found something, in service time. */
const boundedSearchMillis = 2000

/** What commits so long after it was due is still found, in service time. */
const lateMillis = 1000

export interface LeaseQuery extends LeaseClaim, Shares {
  /** How much of `limit` may count in `capacity`; the rest belongs to kinds with their own. */
  readonly limitShared: number
  /** The most that one piece of work brings along, itself included (see `LeasedWork.turns`). */
  readonly turn: number
  /** What was due before may be passed over (see `LeasedWork.toDueSince`); null: nothing. */
  readonly dueSince: number | null
}

/** What a settlement leaves behind. */
export interface SettledWork<Claimed, Result> {
  /** To be settled later; the rest is settled. */
  readonly blockedByLock: ReadonlyArray<Result>
  /** By the work that ended, what continues in its place, and the end of its lease. */
  readonly next: ReadonlyMap<Claimed, { readonly claimed: Claimed; readonly leaseUntil: number }>
  /** Whether something that was given back will be due again. */
  readonly comesAgain: boolean
}

/** What one kind of work defines. */
export interface LeasedWork<Claimed, Result> {
  readonly work: Work
  /** How much a worker holds at once, in total and of one workspace. Claims keep to it. */
  readonly capacity: Capacity
  /** The capacity of a piece of work, when claims bring several kinds. Default: `capacity`. */
  toCapacity?(claimed: Claimed): Capacity
  /** How much a worker holds of all kinds together. Default: that of `capacity`. */
  readonly whole?: number
  readonly batch: number
  /** How long a claim outlives its worker, in service time. */
  readonly leaseMillis: number
  toWorkspaceId(claimed: Claimed): WorkspaceId
  /** Since when it was due, if claims of such work can begin to look there. */
  toDueSince?(claimed: Claimed): number
  /** `held`: what the worker already holds. */
  claim(
    query: LeaseQuery,
    inFlight: Iterable<Claimed>,
  ): Effect.Effect<ReadonlyArray<Claimed>, StoreUnavailable>
  perform(claimed: Claimed): Effect.Effect<Result>
  /** Settles results; `ended` is the work of each. Returns nothing where all is settled and over. */
  settle(
    results: ReadonlyArray<Result>,
    ended: ReadonlyArray<Claimed>,
  ): Effect.Effect<SettledWork<Claimed, Result> | void, StoreUnavailable>
  /** A claim brings work; each piece begins once the one before it is settled. */
  readonly turns?: {
    /** The most pieces of one turn. */
    readonly most: number
    /** Which work this worker may go on with. */
    readonly mayGoOn: Effect.Effect<(claimed: Claimed) => boolean>
    /** The result that also gives back what is left of the turn. */
    endingTurn(result: Result): Result
  }
  /** Settles and claims the freed capacity in one round trip. */
  readonly refill?: {
    settleAndClaim(
      results: ReadonlyArray<Result>,
      query: LeaseQuery,
    ): Effect.Effect<ReadonlyArray<Claimed>, StoreUnavailable>
    /** Whether that work is due again later. */
    isPutOff(result: Result): boolean
  }
  /** Renews leases of long work. Returns lost ones, to interrupt. */
  renew?(
    inFlight: ReadonlyArray<Claimed>,
    leaseUntil: number,
  ): Effect.Effect<ReadonlyArray<Claimed>, StoreUnavailable>
  /**
   * Renews leases that ended before the answer to their claim; returns what this worker still
   * holds. For work that must not begin while another worker may hold it.
   */
  reclaim?(
    claimed: ReadonlyArray<Claimed>,
    leaseUntil: number,
  ): Effect.Effect<ReadonlyArray<Claimed>, StoreUnavailable>
  /** Claims take work of these numbers. Default: all. */
  readonly owned?: Effect.Effect<Owned>
  /** Other work of each round; true if there was any. */
  readonly alsoEachRound?: Effect.Effect<boolean, StoreUnavailable>
  /** Releases interrupted work of a stopping worker, so that others may take it. */
  release?(inFlight: ReadonlyArray<Claimed>): Effect.Effect<void, StoreUnavailable>
}

export interface LeasedLoop {
  /**
   * Claims, performs and settles what is due; returns how much. For embedders that drive the
   * service themselves, and for tests.
   */
  readonly runOnce: Effect.Effect<number, StoreUnavailable>
  /**
   * The loop. On interruption it claims no more. Running work is released, or may finish within
   * `StopMillis` and is settled.
   */
  readonly run: Effect.Effect<never>
}

/** The work that one running loop holds. */
interface LoopState<Claimed, Result> {
  readonly leased: LeasedWork<Claimed, Result>
  /** Wakes the loops of all workers. */
  readonly wake: Effect.Effect<void>
  /** Wakes this loop. */
  readonly latch: Sleeper
  readonly fork: <A, E>(work: Effect.Effect<A, E>) => Fiber.Fiber<A, E>
  /** Claimed work and its fiber; null before it starts. */
  readonly held: Map<Claimed, Fiber.Fiber<Result> | null>
  /** When the turns of held work began. */
  readonly turnsSince: Map<Claimed, number>
  /** Open while work is held. */
  readonly holding: Latch.Latch
  readonly idle: Latch.Latch
  readonly shared: RejectingBulkhead<WorkspaceId>
  readonly pools: Map<Capacity, RejectingBulkhead<WorkspaceId>>
  /** Finished work to settle, and its results in the same order: thousands a second. */
  ended: Array<Claimed>
  results: Array<Result>
  readonly hasEnded: Latch.Latch
  /** Where the next claim begins to look; null: at the beginning. */
  dueSince: number | null
  /** When a claim last looked from the beginning. */
  wholeSearchAt: number
  /** The last claim brought all that it asked for: there may be more. */
  wasFull: boolean
  claiming: boolean
  stopping: boolean
}

const makeLoopState = Effect.fnUntraced(function* makeLoopState<Claimed, Result>(
  leased: LeasedWork<Claimed, Result>,
) {
  const wakeUp = yield* WakeUp
  const { capacity, work } = leased
  const shared = makeRejectingBulkhead<WorkspaceId>(capacity)
  const loop: LoopState<Claimed, Result> = {
    leased,
    wake: wakeUp.wake(work),
    latch: yield* wakeUp.latch(work),
    fork: Effect.runForkWith(yield* Effect.context<never>()),
    held: new Map(),
    turnsSince: new Map(),
    holding: Latch.makeUnsafe(false),
    idle: Latch.makeUnsafe(true),
    shared,
    pools: new Map([[capacity, shared]]),
    ended: [],
    results: [],
    hasEnded: Latch.makeUnsafe(false),
    dueSince: null,
    wholeSearchAt: 0,
    wasFull: true,
    claiming: false,
    stopping: false,
  }
  return loop
})

const getPool = <Claimed, Result>(
  { leased, pools }: LoopState<Claimed, Result>,
  claimed: Claimed,
): RejectingBulkhead<WorkspaceId> => {
  const kind = leased.toCapacity?.(claimed) ?? leased.capacity
  const pool = pools.get(kind) ?? makeRejectingBulkhead(kind)
  if (!pools.has(kind)) pools.set(kind, pool)
  return pool
}

const uncount = <Claimed, Result>(loop: LoopState<Claimed, Result>, claimed: Claimed) =>
  getPool(loop, claimed).releaseShare(loop.leased.toWorkspaceId(claimed))

/** How much more the worker may hold, up to one batch. `freed`: work about to be released. */
const freeCapacity = <Claimed, Result>({ held, leased }: LoopState<Claimed, Result>, freed = 0) =>
  Math.min(leased.batch, (leased.whole ?? leased.capacity.whole) - held.size + freed)

/**
 * Counts claimed work and returns what may begin: all of it, since claims keep to the shares. One
 * exception: a claim made with a settlement ignores hanging calls of removed endpoints. Work above
 * the share then does not begin; it is handed out again when its lease ends.
 */
const hold = <Claimed, Result>(
  loop: LoopState<Claimed, Result>,
  claimed: ReadonlyArray<Claimed>,
  now: number,
): ReadonlyArray<Claimed> => {
  const { held, holding, idle, leased, turnsSince } = loop
  const mayBegin = claimed.filter((each) =>
    getPool(loop, each).tryAcquireShare(leased.toWorkspaceId(each)),
  )
  for (const each of mayBegin) {
    held.set(each, null)
    if (leased.turns !== undefined) turnsSince.set(each, now)
  }
  if (held.size > 0) {
    idle.closeUnsafe()
    holding.openUnsafe()
  }
  return mayBegin
}

/**
 * Frees capacity once work is settled. Where a settlement also claims, the store counts unsettled
 * work and the worker only what runs.
 */
const release = <Claimed, Result>(loop: LoopState<Claimed, Result>, claimed: Claimed) => {
  const { held, idle, leased, turnsSince } = loop
  turnsSince.delete(claimed)
  if (!held.delete(claimed)) return
  if (leased.refill === undefined) uncount(loop, claimed)
  if (held.size === 0) idle.openUnsafe()
}

/** Holds what follows in a turn, in the place of what ended. False where that is no longer held. */
const replace = <Claimed, Result>(
  { held, turnsSince }: LoopState<Claimed, Result>,
  ended: Claimed,
  next: Claimed,
): boolean => {
  if (!held.delete(ended)) return false
  const since = turnsSince.get(ended)
  turnsSince.delete(ended)
  held.set(next, null)
  if (since !== undefined) turnsSince.set(next, since)
  return true
}

/** Whether other work of that workspace may wait for a place. */
const isCrowded = <Claimed, Result>(
  { held, leased, shared }: LoopState<Claimed, Result>,
  claimed: Claimed,
): boolean =>
  held.size >= (leased.whole ?? leased.capacity.whole) ||
  (shared.shares.get(leased.toWorkspaceId(claimed)) ?? 0) >= leased.capacity.share.most

/** What a claim asks for. `held`: the shares that count against it. */
const leaseQuery = <Claimed, Result>(
  { capacity, leaseMillis }: LeasedWork<Claimed, Result>,
  limit: number,
  limitShared: number,
  held: Shares["held"],
  turn: number,
): Effect.Effect<LeaseQuery> =>
  Effect.map(Clock.currentTimeMillis, (now) => {
    const shares = { perWorkspace: capacity.share.most, held }
    return {
      now,
      leaseUntil: now + leaseMillis,
      limit,
      limitShared,
      turn,
      dueSince: null,
      ...shares,
      held: countsNearShare(shares, Math.min(limit, limitShared)),
    }
  })

/**
 * What of a claim may begin: if its answer took longer than the lease, another worker may hold it. If less than half
 * of the lease is left, that might end before its first renewal.
 */
const stillLeased = Effect.fnUntraced(function* stillLeased<Claimed, Result>(
  { leaseMillis, reclaim }: LeasedWork<Claimed, Result>,
  claimed: ReadonlyArray<Claimed>,
  leaseUntil: number,
) {
  let left = claimed
  let end = leaseUntil
  for (;;) {
    const now = yield* Clock.currentTimeMillis
    if (reclaim === undefined || left.length === 0 || end - now > leaseMillis / 2) return left
    end = now + leaseMillis
    left = yield* reclaim(left, end)
  }
})

/** Whether work of a workspace may wait for a place, perhaps longer than what a claim finds. */
const hasFullShare = <Claimed, Result>({ leased, shared }: LoopState<Claimed, Result>): boolean =>
  Array.from(shared.shares.values()).some((count) => count >= leased.capacity.share.most)

/**
 * Where a claim begins to look: where the last one found something. What was due before was claimed, and is
 * old versions of rows where a transaction elsewhere keeps them. What became due there late is found by the
 * look at what is due next, or soon by a claim from the beginning.
 */
const searchSince = <Claimed, Result>(loop: LoopState<Claimed, Result>, now: number) => {
  const isOld = Math.abs(now - loop.wholeSearchAt) >= boundedSearchMillis
  if (isOld || hasFullShare(loop)) loop.dueSince = null
  if (loop.dueSince === null) loop.wholeSearchAt = now
  return loop.dueSince
}

/**
 * Claims and holds. Only one claim at a time may count in `capacity`, since concurrent claims would
 * not see each other's work.
 */
const claimWith = <Claimed, Result>(
  loop: LoopState<Claimed, Result>,
  limit: number,
  claim: (query: LeaseQuery) => Effect.Effect<ReadonlyArray<Claimed>, StoreUnavailable>,
) =>
  Effect.acquireUseRelease(
    Effect.sync(() => {
      const alone = !loop.claiming
      loop.claiming = true
      return alone
    }),
    (alone) => {
      const { leased, shared } = loop
      let room = alone ? leased.capacity.whole : 0
      for (const count of shared.shares.values()) room -= count
      const turnSize = leased.turns?.most ?? 1
      const wasFull = hasFullShare(loop)
      return leaseQuery(leased, limit, Math.max(0, room), shared.shares, turnSize).pipe(
        Effect.map((query) => ({ ...query, dueSince: searchSince(loop, query.now) })),
        Effect.flatMap((query) =>
          Effect.flatMap(claim(query), (claimed) =>
            Effect.map(stillLeased(leased, claimed, query.leaseUntil), (left) => {
              const newlyHeld = hold(loop, left, query.now)
              const [first] = claimed
              const found = first === undefined ? undefined : leased.toDueSince?.(first)
              if (wasFull || hasFullShare(loop)) loop.dueSince = null
              else if (found !== undefined) loop.dueSince = found - lateMillis
              return newlyHeld
            }),
          ),
        ),
      )
    },
    (alone) =>
      Effect.sync(() => {
        if (alone) loop.claiming = false
      }),
  )

const addResult = <Claimed, Result>(
  loop: LoopState<Claimed, Result>,
  claimed: Claimed,
  result: Result,
) => {
  if (!loop.held.has(claimed)) return
  loop.ended.push(claimed)
  loop.results.push(result)
  loop.hasEnded.openUnsafe()
}

const end = <Claimed, Result>(
  loop: LoopState<Claimed, Result>,
  claimed: Claimed,
  exit: Exit.Exit<Result>,
) => {
  const { fork, held, leased, wake } = loop
  if (leased.refill !== undefined) uncount(loop, claimed)
  if (!held.has(claimed)) return
  if (Exit.isSuccess(exit)) return addResult(loop, claimed, exit.value)
  // A bug: treat it as a dead worker and let the lease end.
  release(loop, claimed)
  fork(Effect.andThen(Effect.logError("worker task failed", exit.cause), wake))
}

const begin = <Claimed, Result>(loop: LoopState<Claimed, Result>, claimed: Claimed) => {
  const { fork, held, leased } = loop
  if (!held.has(claimed)) return
  const fiber = fork(leased.perform(claimed))
  held.set(claimed, fiber)
  fiber.addObserver((exit) => end(loop, claimed, exit))
}

const startAll = <Claimed, Result>(
  loop: LoopState<Claimed, Result>,
  claimed: ReadonlyArray<Claimed>,
) => {
  for (const each of claimed) begin(loop, each)
}

/** Claims and begins what is due; true when more may be due. */
const claimMore = <Claimed, Result>(loop: LoopState<Claimed, Result>) =>
  Effect.gen(function* claim() {
    const { held, leased } = loop
    const room = freeCapacity(loop)
    loop.wasFull = room <= 0
    if (room <= 0) return false
    const claimed = yield* claimWith(loop, room, (query) => leased.claim(query, held.keys()))
    startAll(loop, claimed)
    // Fewer than requested: nothing else is both due and free.
    loop.wasFull = claimed.length === room
    return loop.wasFull
  }).pipe(
    // Interrupting after the store's claim would leave work without a worker.
    Effect.uninterruptible,
  )

/** Results of turns that this worker does not go on with: it stops, others wait, or the work is not its own. */
const endTurns = Effect.fnUntraced(function* endTurns<Claimed, Result>(
  loop: LoopState<Claimed, Result>,
  { endingTurn, mayGoOn }: NonNullable<LeasedWork<Claimed, Result>["turns"]>,
  ended: ReadonlyArray<Claimed>,
  results: ReadonlyArray<Result>,
) {
  const isOurs = yield* mayGoOn
  const latest = (yield* Clock.currentTimeMillis) - crowdedTurnMillis
  return results.map((result, at) => {
    const claimed = ended[at]
    const goesOn =
      claimed !== undefined &&
      !loop.stopping &&
      isOurs(claimed) &&
      ((loop.turnsSince.get(claimed) ?? latest) > latest || !isCrowded(loop, claimed))
    return goesOn ? result : endingTurn(result)
  })
})

/**
 * Settles results, and claims in the same round trip where the store can. Retries until the store
 * answers. Returns what it claimed and what the settlement left behind.
 */
const settleBatch = Effect.fnUntraced(function* settleBatch<Claimed, Result>(
  loop: LoopState<Claimed, Result>,
  settling: ReadonlyArray<Result>,
  ended: ReadonlyArray<Claimed>,
  room: number,
) {
  const { leased, wake } = loop
  const { refill } = leased
  let left: SettledWork<Claimed, Result> = { blockedByLock: [], next: new Map(), comesAgain: true }
  const settleOnly = Effect.map(
    Effect.suspend(() => leased.settle(settling, ended)),
    (settledWork): ReadonlyArray<Claimed> => {
      left = settledWork ?? left
      return []
    },
  )
  const claimed = yield* Effect.suspend(() =>
    refill === undefined || loop.stopping
      ? settleOnly
      : claimWith(loop, room, (query) => refill.settleAndClaim(settling, query)),
  ).pipe(
    Effect.tapError((error) =>
      // Perhaps only the answer was lost, and there is more to claim.
      Effect.andThen(logFailure("settling is tried again", error), wake),
    ),
    Effect.retry(retrySettling),
    // A bug, or an interruption from outside: the leases end unsettled.
    Effect.catchCause((cause) => Effect.as(Effect.logError("settling failed", cause), [])),
  )
  return { claimed, left }
})

/**
 * What follows in the turns of settled work, held in its place. Where the answer took longer than the lease,
 * another worker may have it.
 */
const takeNext = Effect.fnUntraced(function* takeNext<Claimed, Result>(
  loop: LoopState<Claimed, Result>,
  next: SettledWork<Claimed, Result>["next"],
) {
  const following: Array<Claimed> = []
  let leaseUntil = Infinity
  for (const [ended, one] of next) {
    if (!replace(loop, ended, one.claimed)) continue
    following.push(one.claimed)
    leaseUntil = Math.min(leaseUntil, one.leaseUntil)
  }
  if (following.length === 0) return following
  const ours = yield* stillLeased(loop.leased, following, leaseUntil).pipe(
    Effect.tapError((error) => logFailure("leases could not be looked at", error)),
    Effect.orElseSucceed((): ReadonlyArray<Claimed> => []),
  )
  if (ours.length === following.length) return ours
  for (const each of following) if (!ours.includes(each)) release(loop, each)
  yield* loop.wake
  return ours
})

/** A result that another transaction blocks keeps its capacity but delays no other settlement. */
const settleLater = <Claimed, Result>(
  loop: LoopState<Claimed, Result>,
  claimed: Claimed,
  result: Result,
) => {
  const again = Effect.sync(() => addResult(loop, claimed, result))
  loop.fork(Effect.andThen(sleep(heldUpPauseMillis), again))
}

/** Settles what ended, and begins what the settlement claimed. */
const settleEnded = Effect.fnUntraced(function* settleEnded<Claimed, Result>(
  loop: LoopState<Claimed, Result>,
) {
  const { fork, hasEnded, latch, wake } = loop
  const { refill, turns } = loop.leased
  yield* hasEnded.await
  // Let work that ends in the same moment join.
  yield* Effect.yieldNow
  hasEnded.closeUnsafe()
  const { ended, results: received } = loop
  loop.ended = []
  loop.results = []
  const results = turns === undefined ? received : yield* endTurns(loop, turns, ended, received)
  const room = freeCapacity(loop, ended.length)
  const { claimed, left } = yield* settleBatch(loop, results, ended, room)
  // A stopping worker ends once it holds nothing.
  if (loop.stopping) yield* wake
  const blockedByLock = new Set(left.blockedByLock)
  // Whether there may be work that was not there, or had no place, at the last claim.
  let mayClaimMore = turns === undefined || left.comesAgain || loop.wasFull
  for (const [at, each] of ended.entries()) {
    const result = results[at]
    if (left.next.has(each)) continue
    if (result !== undefined && blockedByLock.has(result)) settleLater(loop, each, result)
    else {
      mayClaimMore ||= isCrowded(loop, each)
      release(loop, each)
    }
  }
  const next = yield* takeNext(loop, left.next)
  const beginning = Effect.sync(() => {
    startAll(loop, claimed)
    startAll(loop, next)
  })
  // Starting many calls takes long: send the results to the store first.
  if (loop.results.length > 0) fork(Effect.andThen(Effect.yieldNow, beginning))
  else yield* beginning
  // The claim got work, but less than requested, and nothing was put off. All due work is running,
  // so the loop need not look.
  const isSteady =
    refill !== undefined &&
    claimed.length > 0 &&
    claimed.length < room &&
    !results.some(refill.isPutOff)
  // This worker fills its freed capacity first. Waking the others would cost each a claim per
  // settlement; they find the rest by themselves.
  if (mayClaimMore && !isSteady) yield* latch.open
})

/** Interrupts work when its lease is lost. */
const cancel = <Claimed, Result>(loop: LoopState<Claimed, Result>, claimed: Claimed) => {
  const fiber = loop.held.get(claimed)
  release(loop, claimed)
  fiber?.interruptUnsafe()
}

const logNotRenewed = (reason: unknown) => logFailure("leases could not be renewed", reason)

/** Renews leases. Sleeps only while work is held, so that an idle worker sets no timers. */
const renewHeld = Effect.fnUntraced(function* renewHeld<Claimed, Result>(
  loop: LoopState<Claimed, Result>,
  renew: NonNullable<LeasedWork<Claimed, Result>["renew"]>,
) {
  const { held, holding, leased, wake } = loop
  yield* holding.await
  // A third of the lease, so that one renewal may fail.
  yield* Effect.sleep(leased.leaseMillis / 3)
  if (held.size === 0) {
    holding.closeUnsafe()
    return
  }
  const now = yield* Clock.currentTimeMillis
  const lost = yield* renew([...held.keys()], now + leased.leaseMillis)
  if (lost.length === 0) return
  for (const each of lost) cancel(loop, each)
  yield* wake
})

/** Releases the work that a stopping worker still holds. */
const abandon = Effect.fnUntraced(function* abandon<Claimed, Result>({
  held,
  leased,
  wake,
}: LoopState<Claimed, Result>) {
  const left = [...held.keys()]
  const fibers = [...held.values()].filter((fiber) => fiber !== null)
  held.clear()
  yield* Fiber.interruptAll(fibers)
  if (leased.release === undefined || left.length === 0) return
  yield* Effect.raceFirst(Effect.ignore(leased.release(left)), sleep(giveBackMillis))
  yield* wake
})

/** Stops claiming. Waits for running work, unless it is released. */
const drain = <Claimed, Result>(loop: LoopState<Claimed, Result>, stopMillis: number) =>
  Effect.suspend(() => {
    loop.stopping = true
    return loop.leased.release === undefined
      ? Effect.raceFirst(loop.idle.await, sleep(stopMillis))
      : Effect.void
  })

const runLeased = Effect.fnUntraced(function* runLeased<Claimed, Result>(
  leased: LeasedWork<Claimed, Result>,
  stopMillis: number,
) {
  const { alsoEachRound, capacity, owned, renew, work } = leased
  const loop = yield* makeLoopState(leased)
  const annotated = Effect.annotateLogs({ loop: work })
  // Finalizers run in reverse: renewing, work, settling, then the release of the rest.
  yield* Effect.addFinalizer(() => abandon(loop))
  // `settleEnded` waits for results each time.
  const settling = Effect.forever(settleEnded(loop), { disableYield: true })
  yield* Effect.forkScoped(annotated(settling))
  yield* Effect.addFinalizer(() => drain(loop, stopMillis))
  if (renew !== undefined) {
    const renewing = Effect.forever(Effect.catchCause(renewHeld(loop, renew), logNotRenewed))
    yield* Effect.forkScoped(annotated(renewing))
  }
  const claiming = claimMore(loop)
  return yield* runLoop({
    work,
    latch: loop.latch,
    runOnce:
      alsoEachRound === undefined
        ? claiming
        : Effect.zipWith(alsoEachRound, claiming, (also, more) => also || more),
    onOverlooked: () => {
      loop.dueSince = null
    },
    saturated: () => saturatedTenants(loop.shared.shares, capacity),
    ...(owned === undefined ? {} : { owned }),
  })
})

const runLeasedOnce = Effect.fnUntraced(function* runLeasedOnce<Claimed, Result>(
  leased: LeasedWork<Claimed, Result>,
) {
  const query = yield* leaseQuery(leased, leased.batch, leased.capacity.whole, new Map(), 1)
  const claimed = yield* stillLeased(leased, yield* leased.claim(query, []), query.leaseUntil)
  if (claimed.length === 0) return 0
  let results: ReadonlyArray<Result> = yield* Effect.forEach(claimed, leased.perform, {
    concurrency: "unbounded",
  })
  for (;;) {
    results = (yield* leased.settle(results, claimed))?.blockedByLock ?? []
    if (results.length === 0) return claimed.length
    yield* sleep(heldUpPauseMillis)
  }
})

export const makeLeasedLoop = <Claimed, Result>(
  leased: LeasedWork<Claimed, Result>,
): Effect.Effect<LeasedLoop, never, WakeUp | Store> =>
  Effect.gen(function* make() {
    const services = yield* Effect.context<WakeUp | Store>()
    const stopMillis = yield* StopMillis
    return {
      runOnce: runLeasedOnce(leased),
      run: Effect.provideContext(Effect.scoped(runLeased(leased, stopMillis)), services),
    }
  })
