/**
 * Decides which numbers' connections this worker owns. A single process owns all; several share
 * them in shards, so that no two own a number at once.
 *
 * A worker sends heartbeats to the store, and trusts its shards for `trustMillis` after sending the
 * last confirmed one. Others end it after watching no heartbeat for the longer `leaseMillis`; by
 * then it has stopped by itself. Each uses its own stopwatch, so the machines' clocks need not
 * agree.
 */
import { Context, Data, Deferred, Effect, Latch, Layer, Option } from "effect"
import { StoreUnavailable } from "../error/Refusal.ts"
import type { NumberId } from "../Ids.ts"
import { countMoves, showNumbersHeld, showWorkers } from "../monitoring/Metrics.ts"
import { logThrottled, logFailure } from "../monitoring/logThrottled.ts"
import { RealTime, sleep } from "../time/Time.ts"
import { ShardLeases, ownsNone, shardCount, shardOf, shareOut } from "./Shards.ts"
import type { Fence, HeldShard, LiveWorker, Owned, Shard, ShardTable, WorkerId } from "./Shards.ts"

/** How often a worker sends a heartbeat and reads what others hold. */
const lookMillis = 1500

/** The same when a transaction blocks some of the shards it should take. */
const soonMillis = 100

/** How long a watched worker may send no heartbeat before it counts as dead. */
const leaseMillis = 9000

/** How long after a heartbeat a worker trusts its shards. */
const trustMillis = 7500

/** After this long without a look, a worker cannot tell whether others sent heartbeats. */
const watchfulMillis = leaseMillis / 2

/** Time limit of one store query. */
const questionMillis = 2000

/** How long a look waits for work to end on shards that it gives away. */
const closingMillis = 1000

/** How long a stopping worker waits for work on its shards to end. */
const lastUseMillis = 3000

/** This process's name, for operators. */
export const WorkerName = /*#__PURE__*/ Context.Reference<string>("core/WorkerName", {
  defaultValue: () => "worker",
})

/** Another worker owns the number, or may: nothing was written. */
export class NumberMoved
  extends /*#__PURE__*/ Data.TaggedError("NumberMoved")<{ readonly numberId: NumberId }>
{
  override get message() {
    return `number ${this.numberId} is not this worker's any more`
  }
}

export class NumberOwnership
  extends /*#__PURE__*/ Context.Service<
    NumberOwnership,
    {
      /** The numbers whose lanes this worker may claim; the same value until it changes. */
      readonly owned: Effect.Effect<Owned>
      /** Whether it owns the number right now. */
      owns(numberId: NumberId): boolean
      /** Whether it owns the number, or its work from owning it may still write. */
      finishes(numberId: NumberId): boolean
      /**
       * The store checks a write against this, so that none comes too late. Fails with
       * `NumberMoved` when `finishes` is false.
       */
      fence(numberId: NumberId): Effect.Effect<Fence, NumberMoved>
      /**
       * Runs work while this worker owns the number; none when it does not, or loses it first. No
       * other worker gets the number before the work ends.
       */
      whileOwned<A, E, R>(
        numberId: NumberId,
        use: Effect.Effect<A, E, R>,
      ): Effect.Effect<Option.Option<A>, E, R>
      /** How many more numbers with a session it may own. */
      readonly room: Effect.Effect<number>
      /** Acquires numbers and keeps them until interrupted. */
      readonly hold: Effect.Effect<never>
      /** The name of the process that owns the number; null for none. */
      holderOf(numberId: NumberId): Effect.Effect<string | null, StoreUnavailable>
    }
  >()("core/NumberOwnership")
{
  /**
   * Every number: for a single process, and for transports without connections (simulated phones),
   * where any worker can send.
   */
  static readonly layerAll = /*#__PURE__*/ Layer.effect(
    NumberOwnership,
    /*#__PURE__*/ Effect.map(WorkerName, (name) =>
      NumberOwnership.of({
        owned: Effect.succeed<Owned>("all"),
        owns: () => true,
        finishes: () => true,
        fence: () => Effect.succeed(null),
        whileOwned: (_, use) => Effect.asSome(use),
        room: Effect.succeed(Infinity),
        hold: Effect.never,
        holderOf: () => Effect.succeed(name),
      }),
    ),
  )

  /** This worker's share, at most `most` numbers, among processes on one store. */
  static readonly layerShared = (most: number) => Layer.effect(NumberOwnership, make(most))
}

/** An owned shard. */
interface Holding {
  readonly term: number
  /** Done once the shard is lost. */
  readonly over: Deferred.Deferred<void>
}

/** Running work on a shard's numbers, ending work included. */
interface Uses {
  count: number
  readonly none: Latch.Latch
}

/** Another worker's latest heartbeat, and a stopwatch since it was first seen. */
interface Watched {
  readonly beat: number
  readonly since: () => number
}

const make = /*#__PURE__*/ Effect.fnUntraced(function* (most: number) {
  const name = yield* WorkerName
  const leases = yield* ShardLeases
  const { stopwatch } = yield* RealTime
  let worker: WorkerId | null = null
  /** Since the latest confirmed heartbeat. */
  let sinceConfirmed: (() => number) | null = null
  /** Since the last look at the others. */
  let sinceLook: (() => number) | null = null
  /** Numbers with a session in each shard, as of the last answer. */
  let linked: ReadonlyArray<number> = []
  let owned = ownsNone
  const held = new Map<Shard, Holding>()
  /**
   * Shards to give away, each with its ending term: under it the worker never owns the shard again.
   */
  const leaving = new Map<Shard, number>()
  const uses = new Map<Shard, Uses>()
  /** Lost shards still in use, each with its former term. */
  const ending = new Map<Shard, number>()
  const watched = new Map<WorkerId, Watched>()
  /** The count of shards that was last logged. */
  let loggedShards = 0

  const isTrusted = () => sinceConfirmed !== null && sinceConfirmed() < trustMillis

  const numbersHeld = () => {
    let sum = 0
    for (const shard of held.keys()) sum += linked[shard] ?? 0
    return sum
  }

  const publish = () => {
    owned = held.size === 0 ? ownsNone : { of: shardCount, shards: [...held.keys()] }
  }

  const start = ({ shard, term }: HeldShard) => {
    held.set(shard, { term, over: Deferred.makeUnsafe() })
  }

  /** The shard is lost: its work ends. */
  const stop = (shard: Shard) => {
    const holding = held.get(shard)
    if (holding === undefined) return
    held.delete(shard)
    if (usesOf(shard).count > 0) ending.set(shard, holding.term)
    Deferred.doneUnsafe(holding.over, Effect.void)
  }

  const stopAll = Effect.suspend(() => {
    const lost = held.size
    for (const shard of held.keys()) stop(shard)
    publish()
    return Effect.andThen(countMoves("lost", lost), showHeld)
  })

  /** Logs the worker's share when it changed. */
  const logShare = Effect.fnUntraced(function* logShare(workers: number) {
    if (held.size === loggedShards) return
    loggedShards = held.size
    yield* logThrottled("this worker's share of numbers", {
      shards: held.size,
      numbers: numbersHeld(),
      workers,
    })
  })

  const showHeld = Effect.suspend(() => showNumbersHeld(numbersHeld(), held.size))

  const usesOf = (shard: Shard): Uses => {
    const known = uses.get(shard) ?? { count: 0, none: Latch.makeUnsafe(true) }
    uses.set(shard, known)
    return known
  }

  const unused = (shards: Iterable<Shard>) =>
    Effect.forEach([...shards], (shard) => usesOf(shard).none.await, { discard: true })

  /** The term under which this worker may write of the number; undefined when it may not. */
  const termOf = (numberId: NumberId): number | undefined => {
    if (!isTrusted()) return undefined
    const shard = shardOf(numberId)
    return held.get(shard)?.term ?? ending.get(shard)
  }

  /** The store's answer, or a failure after the time limit. */
  const inTime = <A>(question: Effect.Effect<A, StoreUnavailable>) =>
    Effect.raceFirst(
      Effect.asSome(question),
      Effect.as(sleep(questionMillis), Option.none<A>()),
    ).pipe(
      Effect.flatMap(
        Option.match({
          onNone: () =>
            Effect.fail(new StoreUnavailable({ operation: "shards", cause: "not in time" })),
          onSome: Effect.succeed,
        }),
      ),
    )

  /** Records the others' heartbeats. A worker that was away starts over. */
  const watch = Effect.fnUntraced(function* watch(workers: ReadonlyArray<LiveWorker>) {
    if (sinceLook === null || sinceLook() > watchfulMillis) watched.clear()
    sinceLook = yield* stopwatch
    const there = new Set(workers.map(({ id }) => id))
    for (const id of watched.keys()) if (!there.has(id)) watched.delete(id)
    for (const { beat, id } of workers) {
      if (id === worker || watched.get(id)?.beat === beat) continue
      watched.set(id, { beat, since: yield* stopwatch })
    }
  })

  /** Ends workers that this one has watched without a heartbeat for too long. */
  const endSilent = Effect.suspend(() => {
    if (sinceLook === null || sinceLook() > watchfulMillis) return Effect.void
    const silent = [...watched].flatMap(([id, { beat, since }]) =>
      since() < leaseMillis ? [] : { id, beat },
    )
    return silent.length === 0 ? Effect.void : inTime(leases.end(silent))
  })

  /**
   * Starts with the shards that the store assigns to this worker, except leaving ones; stops all
   * others.
   */
  const adopt = ({ shards }: ShardTable, me: WorkerId) => {
    linked = shards.map((state) => state.linked)
    for (const [place, state] of shards.entries()) {
      const shard = place as Shard
      const isMine = state.workerId === me
      if (!isMine || held.get(shard)?.term !== state.term) stop(shard)
      if (!isMine || leaving.get(shard) !== state.term) leaving.delete(shard)
      if (isMine && !held.has(shard) && !leaving.has(shard)) start({ shard, term: state.term })
    }
  }

  /** Stops using shards to give away, until enough of them leave. */
  const letGo = (shards: ReadonlyArray<Shard>) => {
    for (const shard of shards) {
      const holding = held.get(shard)
      if (holding === undefined || leaving.size >= shards.length) continue
      leaving.set(shard, holding.term)
      stop(shard)
    }
  }

  /** Gives away released shards whose work has ended. */
  const give = Effect.fnUntraced(function* give(me: WorkerId) {
    if (leaving.size === 0) return
    yield* Effect.raceFirst(unused(leaving.keys()), sleep(closingMillis))
    const ready = [...leaving].flatMap(([shard, term]) =>
      usesOf(shard).count === 0 ? { shard, term } : [],
    )
    if (ready.length === 0) return
    yield* inTime(leases.give(me, ready))
    yield* countMoves("given", ready.length)
  })

  /** Until a watched worker has been silent for too long, or the usual time. */
  const untilNextLook = () => {
    let pause = lookMillis
    for (const { since } of watched.values()) pause = Math.min(pause, leaseMillis - since())
    return Math.max(1, pause)
  }

  /** One look; returns the milliseconds until the next. */
  const look = Effect.gen(function* look() {
    const me = (worker ??= yield* inTime(leases.join(name, most)))
    yield* endSilent
    const since = yield* stopwatch
    const table = yield* inTime(leases.beat(me))
    if (table === null) {
      yield* Effect.logWarning("this worker was taken for dead, and joins again")
      yield* stopAll
      leaving.clear()
      watched.clear()
      worker = null
      return soonMillis
    }
    sinceConfirmed = since
    yield* watch(table.workers)
    adopt(table, me)
    const sharing = shareOut(table, me)
    letGo(sharing.give)
    publish()
    yield* showWorkers(table.workers.length)
    yield* give(me)
    const taken = sharing.take.length === 0 ? [] : yield* inTime(leases.take(me, sharing.take))
    taken.forEach(start)
    publish()
    yield* countMoves("taken", taken.length)
    yield* showHeld
    yield* logShare(table.workers.length)
    return taken.length < sharing.take.length ? soonMillis : untilNextLook()
  }).pipe(
    // Also catches bugs and outside interruptions: if this loop ended, all the worker's loops
    // would.
    Effect.catchCause((cause) =>
      Effect.as(logFailure("shards of numbers are looked at again later", cause), lookMillis),
    ),
  )

  const looks = Effect.forever(Effect.flatMap(look, sleep))

  /** Ends all work once the worker trusts no shard. */
  const trusts = Effect.gen(function* trusts() {
    const left = sinceConfirmed === null ? lookMillis : trustMillis - sinceConfirmed()
    yield* sleep(Math.max(1, left > 0 ? left : lookMillis))
    if (held.size === 0 || isTrusted()) return
    yield* Effect.logWarning("the store confirms no shards, so their numbers are let go")
    yield* stopAll
  }).pipe(Effect.forever)

  const leave = Effect.gen(function* leave() {
    yield* stopAll
    yield* Effect.raceFirst(unused(uses.keys()), sleep(lastUseMillis))
    const isUsed = [...uses.values()].some(({ count }) => count > 0)
    // Work still running ends with the process; the shards become free when the lease ends.
    if (worker !== null && !isUsed) yield* inTime(leases.leave(worker))
    worker = null
  }).pipe(Effect.ignore)

  return NumberOwnership.of({
    owned: Effect.sync(() => (isTrusted() ? owned : ownsNone)),
    owns: (numberId) => isTrusted() && held.has(shardOf(numberId)),
    finishes: (numberId) => termOf(numberId) !== undefined,
    fence: (numberId) =>
      Effect.suspend((): Effect.Effect<Fence, NumberMoved> => {
        const term = termOf(numberId)
        return term === undefined
          ? Effect.fail(new NumberMoved({ numberId }))
          : Effect.succeed({ shard: shardOf(numberId), term })
      }),
    whileOwned: (numberId, use) =>
      Effect.suspend(() => {
        const shard = shardOf(numberId)
        const holding = isTrusted() ? held.get(shard) : undefined
        if (holding === undefined) return Effect.succeedNone
        const using = usesOf(shard)
        using.count++
        using.none.closeUnsafe()
        return Effect.raceFirst(
          Effect.asSome(use),
          Effect.as(Deferred.await(holding.over), Option.none()),
        ).pipe(
          Effect.ensuring(
            Effect.sync(() => {
              using.count--
              if (using.count > 0) return
              ending.delete(shard)
              using.none.openUnsafe()
            }),
          ),
        )
      }),
    room: Effect.sync(() => most - numbersHeld()),
    hold: Effect.all([looks, trusts], { concurrency: "unbounded" }).pipe(
      Effect.andThen(Effect.never),
      Effect.ensuring(leave),
    ),
    holderOf: (numberId) => leases.holderOf(shardOf(numberId)),
  })
})
