/**
 * The form of every loop whose work takes time: it claims what is due, performs it side by side and
 * settles what ended meanwhile in batches. What is claimed is held under a lease, which is renewed
 * where the work may outlast it; when the process dies, or cannot record what it did, the lease runs
 * out and the work is handed out again.
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

// The form of every worker loop: work while there is work, then sleep until the next due moment of
// the store, or until woken, or until the slow poll. A store that does not answer is tried again
// with growing pauses; a loop never ends by itself.

/** Pauses after a failure, in real milliseconds: doubling between these two. */
const firstPauseMillis = 100
const longestPauseMillis = 5000

/** Real milliseconds between looks when something is due that this loop could not take. */
const busyPauseMillis = 20

interface LoopOptions<E, R> {
  readonly work: Work
  /** Made by a loop that wakes itself too. */
  readonly latch?: Sleeper
  /** One round; returns whether it found work, so that another round follows at once. */
  readonly runOnce: Effect.Effect<boolean, E, R>
  /** The workspaces whose share is used up: only what this loop settles makes room for them. */
  readonly crowded?: () => SaturatedTenants
  /** The numbers whose work it may take; all when left out. */
  readonly owned?: Effect.Effect<Owned>
}

/**
 * For so many real milliseconds the loops of a worker take one look for new work to be enough. It is
 * shorter than a poll, so that no loop is answered with what was there before its own last look.
 */
const sharedLookMillis = 100

/** `WorkStatus` for all loops of one worker, which share what they ask of all work. */
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
 * Returns when another process may have made such work: the earliest moment of it has changed since the
 * last look, or has come. Else a look of the loop itself would find what it found before.
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
 * Whether there is nothing at all of a loop's work when it begins. The loops of a worker begin together and
 * share this look; a first round of each would open a connection for each. Where no poll would find what
 * came since the look was taken, none is taken.
 */
const isNothingYet = (work: Work) =>
  Effect.gen(function* () {
    const status = yield* DueWork
    const { poll } = yield* WakeUp
    return poll !== null && (yield* status.earliest())[work] === null
  })

/** Sleeps until there may be work. `isNothing`: it is known that there is none. */
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
        // Due already when this round found nothing: another worker is at it.
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

/** Runs a loop until it is interrupted. */
export const runLoop = <E, R>(options: LoopOptions<E | StoreUnavailable, R>) =>
  Effect.scoped(
    Effect.gen(function* () {
      const latch = options.latch ?? (yield* (yield* WakeUp).latch(options.work))
      let pause = firstPauseMillis
      let hasBegun = false
      const round = Effect.gen(function* round() {
        // Reset before looking: what arrives while we look wakes us again.
        yield* latch.close
        const isNothing = !hasBegun && (yield* isNothingYet(options.work))
        hasBegun = true
        const found = !isNothing && (yield* options.runOnce)
        if (!found) yield* untilNext(options, latch, isNothing)
        pause = firstPauseMillis
      })
      const survive = round.pipe(
        // Also a question that was cut off from outside. An interruption of the loop itself never gets
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

/** How long a stopping worker waits for what is under way, in real milliseconds. */
export const StopMillis = Context.Reference<number>("core/StopMillis", {
  defaultValue: () => 8000,
})

/** How long a stopping worker takes to give back what it holds, in real time. */
const giveBackMillis = 1000

/** Settling is tried again until the store answers; the lease decides whether it still counts. */
const retrySettling = Schedule.spaced("250 millis")

/** The pause before what was held up is settled again, in real milliseconds. */
const heldUpPauseMillis = 100

/** What each claim asks for. */
export interface LeaseQuery extends LeaseClaim, Shares {
  /** How much of that may count in `capacity`; the rest is of kinds with a capacity of their own. */
  readonly limitShared: number
}

/** What one kind of work does its own way. */
export interface LeasedWork<Claimed, Result> {
  readonly work: Work
  /** How much a worker holds at once: in all, and of one workspace. Claims keep to it. */
  readonly capacity: Capacity
  /** The capacity that a piece of work counts in, where claims bring several kinds; else `capacity`. */
  capacityOf?(claimed: Claimed): Capacity
  /** How much a worker holds at once of all kinds together; else what `capacity` says. */
  readonly whole?: number
  /** How much one claim takes at most. */
  readonly batch: number
  /** How long a claim lasts after its worker died, in service time. */
  readonly leaseMillis: number
  workspaceOf(claimed: Claimed): WorkspaceId
  /** `held`: what the worker holds already. */
  claim(
    query: LeaseQuery,
    held: Iterable<Claimed>,
  ): Effect.Effect<ReadonlyArray<Claimed>, StoreUnavailable>
  perform(claimed: Claimed): Effect.Effect<Result>
  /** Returns what is held up and to be settled later; the rest is settled. */
  settle(
    results: ReadonlyArray<Result>,
  ): Effect.Effect<ReadonlyArray<Result> | void, StoreUnavailable>
  /** For claims that take the places which a settlement frees, in the same round trip. */
  readonly refill?: {
    settleAndClaim(
      results: ReadonlyArray<Result>,
      query: LeaseQuery,
    ): Effect.Effect<ReadonlyArray<Claimed>, StoreUnavailable>
    /** Whether that work is due again later. */
    isPutOff(result: Result): boolean
  }
  /** Prolongs leases, for work that may outlast one; returns what to give up, since it is lost. */
  renew?(
    held: ReadonlyArray<Claimed>,
    leaseUntil: number,
  ): Effect.Effect<ReadonlyArray<Claimed>, StoreUnavailable>
  /** The numbers whose work claims take; all when left out. */
  readonly owned?: Effect.Effect<Owned>
  /** What else there is to do in each round; tells whether there was anything. */
  readonly alsoEachRound?: Effect.Effect<boolean, StoreUnavailable>
  /** For work that a stopping worker breaks off: from then on others may take it. */
  release?(held: ReadonlyArray<Claimed>): Effect.Effect<void, StoreUnavailable>
}

export interface LeasedLoop {
  /**
   * Claims what is due, performs it and settles it; returns how much it was. For embedders that
   * drive the service themselves, and for tests.
   */
  readonly runOnce: Effect.Effect<number, StoreUnavailable>
  /**
   * The loop. When interrupted it claims nothing more; what is under way is given back, or may end
   * within `StopMillis` and is settled.
   */
  readonly run: Effect.Effect<never>
}

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
      const claimed = yield* leased.claim(yield* queryFor(batch, capacity.whole, new Map()), [])
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
        /** What this worker holds, and the fiber that performs it; null before it has begun. */
        const held = new Map<Claimed, Fiber.Fiber<Result> | null>()
        const holding = Latch.makeUnsafe(false)
        const idle = Latch.makeUnsafe(true)
        /** The places of each kind of work, by its capacity. */
        const shared = makeRejectingBulkhead<WorkspaceId>(capacity)
        const pools = new Map<Capacity, RejectingBulkhead<WorkspaceId>>([[capacity, shared]])
        /** What has ended and waits to be settled, and its results in the same order: thousands a second. */
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
         * Counts what was claimed, and returns what may begin: all of it, since claims keep to the share
         * of each workspace themselves. One exception: a claim that goes with a settlement knows nothing
         * of calls that still hang although their endpoint was removed. What it brings above the share
         * beside those does not begin, and is handed out again when its lease runs out.
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
         * Claims and holds. While a claim is under way, a second one takes nothing that counts in
         * `capacity`: neither knows what the other takes.
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
              Effect.flatMap(claim),
              Effect.map(hold),
              Effect.ensuring(
                Effect.sync(() => {
                  if (alone) claiming = false
                }),
              ),
            )
          })

        /**
         * A place is free once its work is settled. Where a settlement also claims, the store counts
         * what is not settled, and the worker only what it performs.
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
            // A bug: as if the worker had died under it, its lease runs out.
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
          // When there were fewer than asked for, nothing else is both due and free.
          return claimed.length === room
        }).pipe(
          // A claim that is cut off after the store made it would leave work with no worker.
          Effect.uninterruptible,
        )

        /** What another transaction holds up keeps its place, and keeps no other from being settled. */
        const settleLater = (claimed: Claimed, result: Result) => {
          const again = Effect.sync(() => {
            if (!held.has(claimed)) return
            ended.push(claimed)
            results.push(result)
            hasEnded.openUnsafe()
          })
          fork(Effect.andThen(sleep(heldUpPauseMillis), again))
        }

        // Whatever ended meanwhile is settled together.
        const settleLoop = Effect.gen(function* settleLoop() {
          yield* hasEnded.await
          // What ends in the same moment is settled with it.
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
            // A bug, or settling was cut off from outside: what ended is not settled, and its leases
            // run out.
            Effect.catchCause((cause) =>
              Effect.as(Effect.logError("settling broke off", cause), []),
            ),
          )
          // A stopping worker takes no more, and ends as soon as it holds nothing.
          if (stopping) yield* wake
          for (const [at, each] of settled.entries()) {
            const result = settling[at]
            if (result !== undefined && blockedByLock.has(result)) settleLater(each, result)
            else release(each)
          }
          const beginAll = Effect.sync(() => claimed.forEach(begin))
          // Many calls take long to begin: what ended meanwhile is on its way to the store before them.
          if (results.length > 0) fork(Effect.andThen(Effect.yieldNow, beginAll))
          else yield* beginAll
          // The claim brought something, but fewer than asked for, and nothing was put off: all that is
          // due is under way, and the loop need not look.
          const isSteady =
            refill !== undefined &&
            claimed.length > 0 &&
            claimed.length < room &&
            !settling.some(refill.isPutOff)
          // What a settlement frees this worker has room for, and takes first: to wake the others too would
          // cost each of them a claim for every settlement of one. They find what is left by themselves.
          if (!isSteady) yield* latch.open
        }).pipe(
          // It waits for results each time.
          Effect.forever({ disableYield: true }),
        )

        /** Breaks off what is no longer this worker's. */
        const letGo = (claimed: Claimed) => {
          const fiber = held.get(claimed)
          release(claimed)
          fiber?.interruptUnsafe()
        }

        const notRenewed = (reason: unknown) => logFailure("leases could not be renewed", reason)

        // Sleeps only while work is held, so that an idle worker has no business with the clock.
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

        // Released in reverse order: renewing ends, work ends, settling ends, the rest is given up.
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
