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
import { StoreUnavailable } from "../model/Refusal.ts"
import type { NumberId } from "../model/Ids.ts"
import { countMoves, showNumbersHeld, showWorkers } from "../store/Metrics.ts"
import { logThrottled, logFailure } from "./logThrottled.ts"
import { RealTime, sleep } from "../model/Time.ts"
import { ownsNone, shardCount, toShard, shareOut } from "../model/Shards.ts"
import type {
  ShardLeases,
  Fence,
  ShardLease,
  LiveWorker,
  Owned,
  Shard,
  ShardTable,
  WorkerId,
} from "../model/Shards.ts"
import { Store } from "../store/Store.ts"

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
      /** The numbers of the lanes that this worker may claim; the same value until it changes. */
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
      /** What this worker has of the numbers that several share; null where none shares them. */
      readonly held: Effect.Effect<{ readonly numbers: number; readonly shards: number } | null>
      /** Acquires numbers and keeps them until interrupted. */
      readonly run: Effect.Effect<never>
      /** The name of the process that owns the number; null for none. */
      findOwner(numberId: NumberId): Effect.Effect<string | null, StoreUnavailable>
      /** The same of any number, as of one look. */
      readonly holders: Effect.Effect<(numberId: NumberId) => string | null, StoreUnavailable>
    }
  >()("core/NumberOwnership")
{
  /**
   * Every number: for a single process, and for transports without connections (simulated phones),
   * where any worker can send.
   */
  static readonly layerAll = /*#__PURE__*/ Layer.effect(
    NumberOwnership,
    /*#__PURE__*/ Effect.map(WorkerName, (name) => allHeldBy(name)),
  )

  /** Every number too, in a process that leaves the sending to others: it names no holder. */
  static readonly layerAllUnheld = /*#__PURE__*/ Layer.sync(NumberOwnership, () => allHeldBy(null))

  /** This worker's share, at most `most` numbers, among processes on one store. */
  static readonly layerShared = (max: number) => Layer.effect(NumberOwnership, make(max))
}

const allHeldBy = (name: string | null) =>
  NumberOwnership.of({
    owned: Effect.succeed<Owned>("all"),
    owns: () => true,
    finishes: () => true,
    fence: () => Effect.succeed(null),
    whileOwned: (_, use) => Effect.asSome(use),
    room: Effect.succeed(Infinity),
    held: Effect.succeed(null),
    run: Effect.never,
    findOwner: () => Effect.succeed(name),
    holders: Effect.succeed(() => name),
  })

/** An owned shard. */
interface OwnedShard {
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

/** This worker's shards, and what it knows of the others. */
interface Worker {
  readonly name: string
  /** How many numbers it may own. */
  readonly most: number
  readonly leases: ShardLeases
  readonly stopwatch: Effect.Effect<() => number>
  /** Null until it joins. */
  id: WorkerId | null
  /** Since the latest confirmed heartbeat. */
  sinceConfirmed: (() => number) | null
  /** Since the last look at the others. */
  sinceCheck: (() => number) | null
  /** Numbers with a session in each shard, as of the last answer. */
  linked: ReadonlyArray<number>
  owned: Owned
  readonly held: Map<Shard, OwnedShard>
  /**
   * Shards to give away, each with its ending term: under it the worker never owns the shard again.
   */
  readonly leaving: Map<Shard, number>
  readonly uses: Map<Shard, Uses>
  /** Lost shards still in use, each with its former term. */
  readonly ending: Map<Shard, number>
  readonly watched: Map<WorkerId, Watched>
  /** The count of shards that was last logged. */
  loggedShards: number
}

const isTrusted = (worker: Worker) =>
  worker.sinceConfirmed !== null && worker.sinceConfirmed() < trustMillis

const ownedNumbers = (worker: Worker) => {
  let sum = 0
  for (const shard of worker.held.keys()) sum += worker.linked[shard] ?? 0
  return sum
}

const publish = (worker: Worker) => {
  worker.owned =
    worker.held.size === 0 ? ownsNone : { of: shardCount, shards: [...worker.held.keys()] }
}

const start = ({ held }: Worker, { shard, term }: ShardLease) => {
  held.set(shard, { term, over: Deferred.makeUnsafe() })
}

/** The shard is lost: its work ends. */
const stop = (worker: Worker, shard: Shard) => {
  const { ending, held } = worker
  const holding = held.get(shard)
  if (holding === undefined) return
  held.delete(shard)
  if (getUses(worker, shard).count > 0) ending.set(shard, holding.term)
  Deferred.doneUnsafe(holding.over, Effect.void)
}

const stopAll = (worker: Worker) =>
  Effect.suspend(() => {
    const lost = worker.held.size
    for (const shard of worker.held.keys()) stop(worker, shard)
    publish(worker)
    return Effect.andThen(countMoves("lost", lost), showHeld(worker))
  })

/** Logs the worker's share when it changed. */
const logShare = /*#__PURE__*/ Effect.fnUntraced(function* logShare(
  worker: Worker,
  workers: number,
) {
  const { held } = worker
  if (held.size === worker.loggedShards) return
  worker.loggedShards = held.size
  yield* logThrottled("this worker's share of numbers", {
    shards: held.size,
    numbers: ownedNumbers(worker),
    workers,
  })
})

const showHeld = (worker: Worker) =>
  Effect.suspend(() => showNumbersHeld(ownedNumbers(worker), worker.held.size))

const getUses = ({ uses }: Worker, shard: Shard): Uses => {
  const known = uses.get(shard) ?? { count: 0, none: Latch.makeUnsafe(true) }
  uses.set(shard, known)
  return known
}

const unused = (worker: Worker, shards: Iterable<Shard>) =>
  Effect.forEach([...shards], (shard) => getUses(worker, shard).none.await, { discard: true })

/** The term under which this worker may write of the number; undefined when it may not. */
const findTerm = (worker: Worker, numberId: NumberId): number | undefined => {
  const { ending, held } = worker
  if (!isTrusted(worker)) return undefined
  const shard = toShard(numberId)
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
const watch = /*#__PURE__*/ Effect.fnUntraced(function* watch(
  worker: Worker,
  workers: ReadonlyArray<LiveWorker>,
) {
  const { stopwatch, watched } = worker
  if (worker.sinceCheck === null || worker.sinceCheck() > watchfulMillis) watched.clear()
  worker.sinceCheck = yield* stopwatch
  const there = new Set(workers.map(({ id }) => id))
  for (const id of watched.keys()) if (!there.has(id)) watched.delete(id)
  for (const { beat, id } of workers) {
    if (id === worker.id || watched.get(id)?.beat === beat) continue
    watched.set(id, { beat, since: yield* stopwatch })
  }
})

/** Ends workers that this one has watched without a heartbeat for too long. */
const endSilent = (worker: Worker) =>
  Effect.suspend(() => {
    if (worker.sinceCheck === null || worker.sinceCheck() > watchfulMillis) return Effect.void
    const silent = [...worker.watched].flatMap(([id, { beat, since }]) =>
      since() < leaseMillis ? [] : { id, beat },
    )
    return silent.length === 0 ? Effect.void : inTime(worker.leases.endWorkers(silent))
  })

/**
 * Starts with the shards that the store assigns to this worker, except leaving ones; stops all
 * others.
 */
const adopt = (worker: Worker, { shards }: ShardTable, me: WorkerId) => {
  const { held, leaving } = worker
  worker.linked = shards.map((state) => state.linked)
  for (const [index, state] of shards.entries()) {
    const shard = index as Shard
    const isMine = state.workerId === me
    if (!isMine || held.get(shard)?.term !== state.term) stop(worker, shard)
    if (!isMine || leaving.get(shard) !== state.term) leaving.delete(shard)
    if (isMine && !held.has(shard) && !leaving.has(shard))
      start(worker, { shard, term: state.term })
  }
}

/** Stops using shards to give away, until enough of them leave. */
const letGo = (worker: Worker, shards: ReadonlyArray<Shard>) => {
  const { held, leaving } = worker
  for (const shard of shards) {
    const holding = held.get(shard)
    if (holding === undefined || leaving.size >= shards.length) continue
    leaving.set(shard, holding.term)
    stop(worker, shard)
  }
}

/** Gives away released shards once their work has ended. */
const give = /*#__PURE__*/ Effect.fnUntraced(function* give(worker: Worker, me: WorkerId) {
  const { leases, leaving } = worker
  if (leaving.size === 0) return
  yield* Effect.raceFirst(unused(worker, leaving.keys()), sleep(closingMillis))
  const ready = [...leaving].flatMap(([shard, term]) =>
    getUses(worker, shard).count === 0 ? { shard, term } : [],
  )
  if (ready.length === 0) return
  yield* inTime(leases.releaseShards(me, ready))
  yield* countMoves("given", ready.length)
})

/** Until a watched worker has been silent for too long, or the usual time. */
const untilNextCheck = ({ watched }: Worker) => {
  let pause = lookMillis
  for (const { since } of watched.values()) pause = Math.min(pause, leaseMillis - since())
  return Math.max(1, pause)
}

/** One look; returns the milliseconds until the next. */
const check = /*#__PURE__*/ Effect.fnUntraced(
  function* check(worker: Worker) {
    const { leases, leaving, most, name, stopwatch, watched } = worker
    const me = (worker.id ??= yield* inTime(leases.addWorker(name, most)))
    yield* endSilent(worker)
    const since = yield* stopwatch
    const table = yield* inTime(leases.beat(me))
    if (table === null) {
      yield* Effect.logWarning("this worker was taken for dead, and joins again")
      yield* stopAll(worker)
      leaving.clear()
      watched.clear()
      worker.id = null
      return soonMillis
    }
    worker.sinceConfirmed = since
    yield* watch(worker, table.workers)
    adopt(worker, table, me)
    const sharing = shareOut(table, me)
    letGo(worker, sharing.release)
    publish(worker)
    yield* showWorkers(table.workers.length)
    yield* give(worker, me)
    const acquired =
      sharing.take.length === 0 ? [] : yield* inTime(leases.takeShards(me, sharing.take))
    for (const shard of acquired) start(worker, shard)
    publish(worker)
    yield* countMoves("taken", acquired.length)
    yield* showHeld(worker)
    yield* logShare(worker, table.workers.length)
    return acquired.length < sharing.take.length ? soonMillis : untilNextCheck(worker)
  },
  // Also catches bugs and outside interruptions: if this loop ended, all the worker's loops
  // would.
  Effect.catchCause((cause) =>
    Effect.as(logFailure("shards of numbers are looked at again later", cause), lookMillis),
  ),
)

/** Stops all work when the worker no longer trusts its shards. */
const stopUntrusted = /*#__PURE__*/ Effect.fnUntraced(function* stopUntrusted(worker: Worker) {
  const left = worker.sinceConfirmed === null ? lookMillis : trustMillis - worker.sinceConfirmed()
  yield* sleep(Math.max(1, left > 0 ? left : lookMillis))
  if (worker.held.size === 0 || isTrusted(worker)) return
  yield* Effect.logWarning("the store confirms no shards, so their numbers are let go")
  yield* stopAll(worker)
})

const leave = /*#__PURE__*/ Effect.fnUntraced(function* leave(worker: Worker) {
  const { leases, uses } = worker
  yield* stopAll(worker)
  yield* Effect.raceFirst(unused(worker, uses.keys()), sleep(lastUseMillis))
  const isUsed = [...uses.values()].some(({ count }) => count > 0)
  // Work still running ends with the process; the shards become free when the lease ends.
  if (worker.id !== null && !isUsed) yield* inTime(leases.removeWorker(worker.id))
  worker.id = null
})

const getFence = (worker: Worker, numberId: NumberId): Effect.Effect<Fence, NumberMoved> =>
  Effect.suspend(() => {
    const term = findTerm(worker, numberId)
    return term === undefined
      ? Effect.fail(new NumberMoved({ numberId }))
      : Effect.succeed({ shard: toShard(numberId), term })
  })

const whileOwned = <A, E, R>(worker: Worker, numberId: NumberId, use: Effect.Effect<A, E, R>) => {
  const shard = toShard(numberId)
  // An interruption between counting and ending would keep the shard in this worker.
  return Effect.acquireUseRelease(
    Effect.sync(() => {
      const holding = isTrusted(worker) ? worker.held.get(shard) : undefined
      if (holding === undefined) return null
      const using = getUses(worker, shard)
      using.count++
      using.none.closeUnsafe()
      return { holding, using }
    }),
    (owned) =>
      owned === null
        ? Effect.succeedNone
        : Effect.raceFirst(
            Effect.asSome(use),
            Effect.as(Deferred.await(owned.holding.over), Option.none()),
          ),
    (owned) =>
      Effect.sync(() => {
        if (owned === null) return
        const { using } = owned
        using.count--
        if (using.count > 0) return
        worker.ending.delete(shard)
        using.none.openUnsafe()
      }),
  )
}

const make = /*#__PURE__*/ Effect.fnUntraced(function* make(most: number) {
  const worker: Worker = {
    name: yield* WorkerName,
    most,
    leases: (yield* Store).sessions,
    stopwatch: (yield* RealTime).stopwatch,
    id: null,
    sinceConfirmed: null,
    sinceCheck: null,
    linked: [],
    owned: ownsNone,
    held: new Map(),
    leaving: new Map(),
    uses: new Map(),
    ending: new Map(),
    watched: new Map(),
    loggedShards: 0,
  }
  const checking = Effect.forever(Effect.flatMap(check(worker), sleep))
  const hold = Effect.all([checking, Effect.forever(stopUntrusted(worker))], {
    concurrency: "unbounded",
  })
  return NumberOwnership.of({
    owned: Effect.sync(() => (isTrusted(worker) ? worker.owned : ownsNone)),
    owns: (numberId) => isTrusted(worker) && worker.held.has(toShard(numberId)),
    finishes: (numberId) => findTerm(worker, numberId) !== undefined,
    fence: (numberId) => getFence(worker, numberId),
    whileOwned: (numberId, use) => whileOwned(worker, numberId, use),
    room: Effect.sync(() => most - ownedNumbers(worker)),
    held: Effect.sync(() => ({ numbers: ownedNumbers(worker), shards: worker.held.size })),
    run: hold.pipe(Effect.andThen(Effect.never), Effect.ensuring(Effect.ignore(leave(worker)))),
    findOwner: (numberId) => worker.leases.findOwner(toShard(numberId)),
    holders: Effect.map(
      worker.leases.holders,
      (names) => (numberId) => names.get(toShard(numberId)) ?? null,
    ),
  })
})
