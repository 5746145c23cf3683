/**
 * The form of every loop whose work takes time. It claims due work under a lease, performs it
 * concurrently, renews long leases and settles results in batches. When a process dies or cannot
 * record a result, the lease ends and the work is handed out again.
 */
import { Clock, Context, Duration, Effect, Exit, Fiber, Latch, Schedule } from "effect"
import type { StoreUnavailable } from "../error/Refusal.ts"
import type { WorkspaceId } from "../Ids.ts"
import { saturatedTenants, countsNearShare, makeRejectingBulkhead } from "../limit/Bulkhead.ts"
import type {
  Capacity,
  SaturatedTenants,
  LeaseClaim,
  RejectingBulkhead,
  Shares,
} from "../limit/Bulkhead.ts"
import { logFailure } from "../monitoring/logThrottled.ts"
import { WakeUp, DueWork } from "../queue/DueWork.ts"
import type { Sleeper, Work } from "../queue/DueWork.ts"
import { RealTime, sleep, clockJumped } from "../time/Time.ts"
import type { Owned } from "../transport/Shards.ts"

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
  /** Workspaces at their concurrency limit: only this loop's settlements make room. */
  readonly crowded?: () => SaturatedTenants
  /** The numbers whose work it may take. Default: all. */
  readonly owned?: Effect.Effect<Owned>
}

/**
 * How long the loops of a worker share one look, in real milliseconds. Shorter than a poll, so that
 * no loop sees a state older than its own last look.
 */
const sharedLookMillis = 100

/** `DueWork` for the loops of one worker, which share their queries. */
export const sharedWorkStatus = Effect.gen(function* sharedWorkStatus() {
  const status = yield* DueWork
  const { stopwatch } = yield* RealTime
  let age = () => Infinity
  const look = Effect.flatMap(stopwatch, (since) => {
    age = since
    return status.earliest()
  })
  const [earliest, forget] = yield* Effect.cachedInvalidateWithTTL(look, Duration.infinity)
  return DueWork.of({
    ...status,
    earliest: () => (age() < sharedLookMillis ? earliest : Effect.andThen(forget, earliest)),
  })
})

/**
 * Returns when another process may have made work: the earliest moment changed or has come.
 * Otherwise a look would find nothing new.
 */
const untilNews = (
  status: typeof DueWork.Service,
  work: Work,
  poll: Duration.Input,
  known?: number | null,
) => {
  let seen = known
  return Effect.gen(function* () {
    for (;;) {
      yield* sleep(poll)
      const { [work]: due } = yield* status.earliest()
      const isNew = due !== seen || (due !== null && due <= (yield* Clock.currentTimeMillis))
      seen = due
      if (isNew) return
    }
  })
}

/**
 * Whether a starting loop has no work at all. The loops start together and share this look; a first
 * round of each would open a connection each. Without a poll it is skipped, since nothing would
 * find later work.
 */
const isNothingYet = (work: Work) =>
  Effect.gen(function* () {
    const status = yield* DueWork
    const { poll } = yield* WakeUp
    return poll !== null && (yield* status.earliest())[work] === null
  })

/** Sleeps until there may be work. `isNothing`: the caller knows that there is none. */
const untilNext = <E, R>(
  { crowded, owned, work }: LoopOptions<E, R>,
  latch: Sleeper,
  isNothing: boolean,
) =>
  Effect.gen(function* () {
    const status = yield* DueWork
    const { poll } = yield* WakeUp
    const news =
      poll === null ? Effect.never : untilNews(status, work, poll, isNothing ? null : undefined)
    for (let looks = 0; !latch.isOpen(); looks++) {
      const mine = owned === undefined ? "all" : yield* owned
      const isKnown = isNothing && looks === 0
      const due = isKnown ? null : yield* status.nextDue(work, crowded?.() ?? [], mine)
      const now = yield* Clock.currentTimeMillis
      if (due !== null && due <= now) {
        // Due, yet this round found nothing: another worker has it.
        if (looks === 0) yield* Effect.raceFirst(sleep(busyPauseMillis), latch.await)
        return
      }
      const moment =
        due === null ? Effect.never : Effect.raceFirst(Effect.sleep(due - now), clockJumped)
      const polled = yield* Effect.raceFirst(
        Effect.as(Effect.raceFirst(moment, latch.await), false),
        Effect.as(news, true),
      )
      if (!polled) return
    }
  })

/** Runs a loop until interrupted. */
export const runLoop = <E, R>(options: LoopOptions<E | StoreUnavailable, R>) =>
  Effect.scoped(
    Effect.gen(function* () {
      const latch = options.latch ?? (yield* (yield* WakeUp).latch(options.work))
      let pause = firstPauseMillis
      let hasBegun = false
      const round = Effect.gen(function* round() {
        // Reset before looking: work that arrives meanwhile wakes the loop again.
        yield* latch.close
        const isNothing = !hasBegun && (yield* isNothingYet(options.work))
        hasBegun = true
        const found = !isNothing && (yield* options.runOnce)
        if (!found) yield* untilNext(options, latch, isNothing)
        pause = firstPauseMillis
      })
      const survive = round.pipe(
        // Also catches a query interrupted from outside. The loop's own interruption never gets
        // here.
        Effect.catchCause((cause) =>
          Effect.gen(function* () {
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

export interface LeaseQuery extends LeaseClaim, Shares {
  /** How much of `limit` may count in `capacity`; the rest belongs to kinds with their own. */
  readonly limitShared: number
}

/** What one kind of work defines. */
export interface LeasedWork<Claimed, Result> {
  readonly work: Work
  /** How much a worker holds at once, in all and of one workspace. Claims keep to it. */
  readonly capacity: Capacity
  /** The capacity of a piece of work, when claims bring several kinds. Default: `capacity`. */
  capacityOf?(claimed: Claimed): Capacity
  /** How much a worker holds of all kinds together. Default: that of `capacity`. */
  readonly whole?: number
  readonly batch: number
  /** How long a claim outlives its worker, in service time. */
  readonly leaseMillis: number
  workspaceOf(claimed: Claimed): WorkspaceId
  /** `held`: what the worker already holds. */
  claim(
    query: LeaseQuery,
    held: Iterable<Claimed>,
  ): Effect.Effect<ReadonlyArray<Claimed>, StoreUnavailable>
  perform(claimed: Claimed): Effect.Effect<Result>
  /** Returns blocked results, to be settled later; the rest is settled. */
  settle(
    results: ReadonlyArray<Result>,
  ): Effect.Effect<ReadonlyArray<Result> | void, StoreUnavailable>
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
    held: ReadonlyArray<Claimed>,
    leaseUntil: number,
  ): Effect.Effect<ReadonlyArray<Claimed>, StoreUnavailable>
  /**
   * Renews leases that ended before the answer to their claim; returns what this worker still holds. For work
   * that must not begin while another worker may hold it.
   */
  reclaim?(
    claimed: ReadonlyArray<Claimed>,
    leaseUntil: number,
  ): Effect.Effect<ReadonlyArray<Claimed>, StoreUnavailable>
  /** The numbers whose work claims take. Default: all. */
  readonly owned?: Effect.Effect<Owned>
  /** Other work of each round; true if there was any. */
  readonly alsoEachRound?: Effect.Effect<boolean, StoreUnavailable>
  /** Releases interrupted work of a stopping worker, so that others may take it. */
  release?(held: ReadonlyArray<Claimed>): Effect.Effect<void, StoreUnavailable>
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

/** What of a claim may begin: if its answer took longer than the lease, another worker may hold it. */
const stillLeased = <Claimed, Result>(
  { leaseMillis, reclaim }: LeasedWork<Claimed, Result>,
  claimed: ReadonlyArray<Claimed>,
  leaseUntil: number,
): Effect.Effect<ReadonlyArray<Claimed>, StoreUnavailable> =>
  Effect.gen(function* reclaimed() {
    let left = claimed
    let end = leaseUntil
    for (;;) {
      const now = yield* Clock.currentTimeMillis
      if (reclaim === undefined || left.length === 0 || now < end) return left
      end = now + leaseMillis
      left = yield* reclaim(left, end)
    }
  })

export const makeLeasedLoop = <Claimed, Result>(
  leased: LeasedWork<Claimed, Result>,
): Effect.Effect<LeasedLoop, never, WakeUp | DueWork> =>
  Effect.gen(function* () {
    const { batch, capacity, leaseMillis, refill, work } = leased
    const { whole = capacity.whole } = leased
    const services = yield* Effect.context<WakeUp | DueWork>()
    const wakeUp = yield* WakeUp
    const stopMillis = yield* StopMillis
    const wake = wakeUp.wake(work)

    const queryFor = (
      limit: number,
      limitShared: number,
      held: Shares["held"],
    ): Effect.Effect<LeaseQuery> =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        const shares = { perWorkspace: capacity.share.most, held }
        return {
          now,
          leaseUntil: now + leaseMillis,
          limit,
          limitShared,
          ...shares,
          held: countsNearShare(shares, Math.min(limit, limitShared)),
        }
      })

    const runOnce = Effect.gen(function* runOnce() {
      const query = yield* queryFor(batch, capacity.whole, new Map())
      const claimed = yield* stillLeased(leased, yield* leased.claim(query, []), query.leaseUntil)
      if (claimed.length === 0) return 0
      let results: ReadonlyArray<Result> = yield* Effect.forEach(claimed, leased.perform, {
        concurrency: "unbounded",
      })
      for (;;) {
        results = (yield* leased.settle(results)) ?? []
        if (results.length === 0) return claimed.length
        yield* sleep(heldUpPauseMillis)
      }
    })

    const run = Effect.scoped(
      Effect.gen(function* () {
        /** Claimed work and its fiber; null before it starts. */
        const held = new Map<Claimed, Fiber.Fiber<Result> | null>()
        const holding = Latch.makeUnsafe(false)
        const idle = Latch.makeUnsafe(true)
        const shared = makeRejectingBulkhead<WorkspaceId>(capacity)
        const pools = new Map<Capacity, RejectingBulkhead<WorkspaceId>>([[capacity, shared]])
        /** Finished work to settle, and its results in the same order: thousands a second. */
        let ended: Array<Claimed> = []
        let results: Array<Result> = []
        const hasEnded = Latch.makeUnsafe(false)
        let stopping = false
        const latch = yield* wakeUp.latch(work)
        const fork = Effect.runForkWith(yield* Effect.context<never>())

        const poolOf = (claimed: Claimed): RejectingBulkhead<WorkspaceId> => {
          const kind = leased.capacityOf?.(claimed) ?? capacity
          const pool = pools.get(kind) ?? makeRejectingBulkhead(kind)
          if (!pools.has(kind)) pools.set(kind, pool)
          return pool
        }

        const uncount = (claimed: Claimed) =>
          poolOf(claimed).releaseShare(leased.workspaceOf(claimed))

        /**
         * Counts claimed work and returns what may begin: all of it, since claims keep to the
         * shares. One exception: a claim made with a settlement ignores hanging calls of removed
         * endpoints. Work above the share then does not begin; it is handed out again when its
         * lease ends.
         */
        const hold = (claimed: ReadonlyArray<Claimed>): ReadonlyArray<Claimed> => {
          const mayBegin = claimed.filter((each) =>
            poolOf(each).tryAcquireShare(leased.workspaceOf(each)),
          )
          for (const each of mayBegin) held.set(each, null)
          if (held.size > 0) {
            idle.closeUnsafe()
            holding.openUnsafe()
          }
          return mayBegin
        }

        let claiming = false

        /**
         * Claims and holds. Only one claim at a time may count in `capacity`, since concurrent
         * claims would not see each other's work.
         */
        const claimWith = (
          limit: number,
          claim: (query: LeaseQuery) => Effect.Effect<ReadonlyArray<Claimed>, StoreUnavailable>,
        ) =>
          Effect.suspend(() => {
            const alone = !claiming
            claiming = true
            let room = alone ? capacity.whole : 0
            for (const count of shared.shares.values()) room -= count
            return queryFor(limit, Math.max(0, room), shared.shares).pipe(
              Effect.flatMap((query) =>
                Effect.flatMap(claim(query), (claimed) =>
                  stillLeased(leased, claimed, query.leaseUntil),
                ),
              ),
              Effect.map(hold),
              Effect.ensuring(
                Effect.sync(() => {
                  if (alone) claiming = false
                }),
              ),
            )
          })

        /**
         * Frees capacity once work is settled. Where a settlement also claims, the store counts
         * unsettled work and the worker only what runs.
         */
        const release = (claimed: Claimed) => {
          if (!held.delete(claimed)) return
          if (refill === undefined) uncount(claimed)
          if (held.size === 0) idle.openUnsafe()
        }

        const end = (claimed: Claimed, exit: Exit.Exit<Result>) => {
          if (refill !== undefined) uncount(claimed)
          if (!held.has(claimed)) return
          if (Exit.isSuccess(exit)) {
            ended.push(claimed)
            results.push(exit.value)
            hasEnded.openUnsafe()
          } else {
            // A bug: treat it as a dead worker and let the lease end.
            release(claimed)
            fork(Effect.andThen(Effect.logError("work broke off", exit.cause), wake))
          }
        }

        const begin = (claimed: Claimed) => {
          if (!held.has(claimed)) return
          const fiber = fork(leased.perform(claimed))
          held.set(claimed, fiber)
          fiber.addObserver((exit) => end(claimed, exit))
        }

        const claimMore = Effect.gen(function* claimMore() {
          const room = Math.min(batch, whole - held.size)
          if (room <= 0) return false
          const claimed = yield* claimWith(room, (query) => leased.claim(query, held.keys()))
          claimed.forEach(begin)
          // Fewer than requested: nothing else is both due and free.
          return claimed.length === room
        }).pipe(
          // Interrupting after the store's claim would leave work without a worker.
          Effect.uninterruptible,
        )

        /**
         * A result that another transaction blocks keeps its capacity but delays no other
         * settlement.
         */
        const settleLater = (claimed: Claimed, result: Result) => {
          const again = Effect.sync(() => {
            if (!held.has(claimed)) return
            ended.push(claimed)
            results.push(result)
            hasEnded.openUnsafe()
          })
          fork(Effect.andThen(sleep(heldUpPauseMillis), again))
        }

        const settleLoop = Effect.gen(function* settleLoop() {
          yield* hasEnded.await
          // Let work that ends in the same moment join.
          yield* Effect.yieldNow
          hasEnded.closeUnsafe()
          const settled = ended
          const settling = results
          ended = []
          results = []
          const room = Math.min(batch, whole - held.size + settled.length)
          let blockedByLock: ReadonlySet<Result> = new Set()
          const settleAlone = Effect.map(
            Effect.suspend(() => leased.settle(settling)),
            (later): ReadonlyArray<Claimed> => {
              blockedByLock = new Set(later ?? [])
              return []
            },
          )
          const claimed = yield* Effect.suspend(() =>
            refill === undefined || stopping
              ? settleAlone
              : claimWith(room, (query) => refill.settleAndClaim(settling, query)),
          ).pipe(
            Effect.tapError((error) =>
              // Perhaps only the answer was lost, and there is more to claim.
              Effect.andThen(logFailure("settling is tried again", error), wake),
            ),
            Effect.retry(retrySettling),
            // A bug, or settling was interrupted from outside: the leases end unsettled.
            Effect.catchCause((cause) =>
              Effect.as(Effect.logError("settling broke off", cause), []),
            ),
          )
          // A stopping worker ends once it holds nothing.
          if (stopping) yield* wake
          for (const [at, each] of settled.entries()) {
            const result = settling[at]
            if (result !== undefined && blockedByLock.has(result)) settleLater(each, result)
            else release(each)
          }
          const beginAll = Effect.sync(() => claimed.forEach(begin))
          // Starting many calls takes long: send the results to the store first.
          if (results.length > 0) fork(Effect.andThen(Effect.yieldNow, beginAll))
          else yield* beginAll
          // The claim got work, but less than requested, and nothing was put off. All due work is
          // running, so the loop need not look.
          const isSteady =
            refill !== undefined &&
            claimed.length > 0 &&
            claimed.length < room &&
            !settling.some(refill.isPutOff)
          // This worker fills its freed capacity first. Waking the others would cost each a claim
          // per settlement; they find the rest by themselves.
          if (!isSteady) yield* latch.open
        }).pipe(
          // It waits for results each time.
          Effect.forever({ disableYield: true }),
        )

        /** Interrupts work whose lease is lost. */
        const letGo = (claimed: Claimed) => {
          const fiber = held.get(claimed)
          release(claimed)
          fiber?.interruptUnsafe()
        }

        const notRenewed = (reason: unknown) => logFailure("leases could not be renewed", reason)

        // Sleeps only while work is held, so that an idle worker sets no timers.
        const renewLoop = (renew: NonNullable<typeof leased.renew>) =>
          Effect.gen(function* () {
            yield* holding.await
            // A third of the lease, so that one renewal may fail.
            yield* Effect.sleep(leaseMillis / 3)
            if (held.size === 0) {
              holding.closeUnsafe()
              return
            }
            const now = yield* Clock.currentTimeMillis
            const lost = yield* renew([...held.keys()], now + leaseMillis)
            if (lost.length === 0) return
            lost.forEach(letGo)
            yield* wake
          }).pipe(Effect.catchCause(notRenewed), Effect.forever)

        const giveUp = Effect.gen(function* giveUp() {
          const left = [...held.keys()]
          const fibers = [...held.values()].filter((fiber) => fiber !== null)
          held.clear()
          yield* Fiber.interruptAll(fibers)
          if (leased.release === undefined || left.length === 0) return
          yield* Effect.raceFirst(Effect.ignore(leased.release(left)), sleep(giveBackMillis))
          yield* wake
        })

        const drain = Effect.suspend(() => {
          stopping = true
          return leased.release === undefined
            ? Effect.raceFirst(idle.await, sleep(stopMillis))
            : Effect.void
        })

        // Finalizers run in reverse: renewing, work, settling, then the release of the rest.
        yield* Effect.addFinalizer(() => giveUp)
        const annotated = Effect.annotateLogs({ loop: work })
        yield* Effect.forkScoped(annotated(settleLoop))
        yield* Effect.addFinalizer(() => drain)
        if (leased.renew !== undefined) yield* Effect.forkScoped(annotated(renewLoop(leased.renew)))
        const { alsoEachRound } = leased
        return yield* runLoop({
          work,
          latch,
          runOnce:
            alsoEachRound === undefined
              ? claimMore
              : Effect.zipWith(alsoEachRound, claimMore, (also, more) => also || more),
          crowded: () => saturatedTenants(shared.shares, capacity),
          ...(leased.owned === undefined ? {} : { owned: leased.owned }),
        })
      }),
    ).pipe(Effect.provideContext(services))

    return { runOnce, run }
  })
