/**
 * Which numbers' connections this worker has. A single process has all of them; several processes on
 * one store share them out in shards, so that no two ever have one number at the same time.
 *
 * A worker gives signs of life to the store, and trusts that it has its shards for `trustMillis` after
 * the last one that the store confirmed was sent. Others end it once they have watched it give none
 * for `leaseMillis`, which is longer: by then it has let go by itself. Each measures spans with a
 * stopwatch of its own, so that the machines' clocks need not agree.
 */
import { Context, Data, Deferred, Effect, Latch, Layer, Option } from "effect"
import { StoreUnavailable } from "../error/Refusal.ts"
import type { NumberId } from "../Ids.ts"
import { countMoves, showNumbersHeld, showWorkers } from "../monitoring/Metrics.ts"
import { logThrottled, logFailure } from "../monitoring/logThrottled.ts"
import { RealTime, sleep } from "../time/Time.ts"
import { ShardLeases, ownsNone, shardCount, shardOf, shareOut } from "./Shards.ts"
import type { Fence, HeldShard, LiveWorker, Owned, Shard, ShardTable, WorkerId } from "./Shards.ts"

/** How often a worker gives a sign of life and looks what the others hold. */
const lookMillis = 1500

/**
 * The same where it could not take all that it should: another transaction has it locked for a moment.
 */
const soonMillis = 100

/** How long a worker that is watched may give no sign of life before it counts as dead. */
const leaseMillis = 9000

/** For how long after a sign of life a worker trusts that it has its shards. */
const trustMillis = 7500

/** A worker that did not look for so long cannot tell whether the others gave signs of life meanwhile. */
const watchfulMillis = leaseMillis / 2

/** How long one question to the store may take. */
const questionMillis = 2000

/** How long a look waits for work on shards that are to be given to others to end. */
const closingMillis = 1000

/** How long a worker that stops waits for work on any of its shards to end. */
const lastUseMillis = 3000

/** What this process is called in what operators see. */
export const WorkerName = /*#__PURE__*/ Context.Reference<string>("core/WorkerName", {
  defaultValue: () => "worker",
})

/** Another worker has the number by now, or may have it: nothing was written. */
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
      /** The numbers whose lanes this worker may claim now; the same value until that changes. */
      readonly owned: Effect.Effect<Owned>
      /** Whether it has the number at this very moment. */
      owns(numberId: NumberId): boolean
      /** Whether it has the number, or had it and what uses it has not ended yet, which may still write. */
      finishes(numberId: NumberId): boolean
      /**
       * What the store checks a write of the number against, so that none comes too late. Fails with
       * `NumberMoved` where `finishes` is false.
       */
      fence(numberId: NumberId): Effect.Effect<Fence, NumberMoved>
      /**
       * Runs what uses the number for as long as this worker has it; none when it does not have it, or
       * not until the end. No other worker gets the number before that has ended.
       */
      whileOwned<A, E, R>(
        numberId: NumberId,
        use: Effect.Effect<A, E, R>,
      ): Effect.Effect<Option.Option<A>, E, R>
      /** How many numbers with a session it may have beside those that it has. */
      readonly room: Effect.Effect<number>
      /** Takes numbers and keeps them until interrupted. */
      readonly hold: Effect.Effect<never>
      /** The name of the process that has the number's connection; null when none has it. */
      holderOf(numberId: NumberId): Effect.Effect<string | null, StoreUnavailable>
    }
  >()("core/NumberOwnership")
{
  /**
   * Every number: for a single process, and for transports without connections of their own (the
   * simulated phones), whose sends any worker can make.
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

  /** This worker's share, of `most` numbers at most, where several processes use one store. */
  static readonly layerShared = (most: number) => Layer.effect(NumberOwnership, make(most))
}

/** A shard that the worker has. */
interface Holding {
  readonly term: number
  /** Done once the worker has it no more. */
  readonly over: Deferred.Deferred<void>
}

/** How much uses numbers of a shard, also what is ending. */
interface Uses {
  count: number
  readonly none: Latch.Latch
}

/** Another worker's latest sign of life, and a stopwatch since it was first seen. */
interface Watched {
  readonly beat: number
  readonly since: () => number
}

const make = /*#__PURE__*/ Effect.fnUntraced(function* (most: number) {
  const name = yield* WorkerName
  const leases = yield* ShardLeases
  const { stopwatch } = yield* RealTime
  let worker: WorkerId | null = null
  /** Since the latest sign of life that was confirmed. */
  let sinceConfirmed: (() => number) | null = null
  /** Since the others were last looked at. */
  let sinceLook: (() => number) | null = null
  /** Numbers with a session of each shard, as the store last said. */
  let linked: ReadonlyArray<number> = []
  let owned = ownsNone
  const held = new Map<Shard, Holding>()
  /**
   * Shards that are to be given, each with the term that ends: under that term the worker never has it
   * again.
   */
  const leaving = new Map<Shard, number>()
  const uses = new Map<Shard, Uses>()
  /** Shards that it has no more and that are still used, each with the term that it had. */
  const ending = new Map<Shard, number>()
  const watched = new Map<WorkerId, Watched>()
  /** How many shards the log says that this worker has. */
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

  /** The worker has the shard no more: what uses it ends. */
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

  /** Says what this worker has, where that has changed. */
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

  /** The store's answer, or a failure in time. */
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

  /** Notes the others' signs of life. A worker that was away meanwhile begins to watch anew. */
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

  /** Ends workers that gave no sign of life for too long, as far as this one has watched them. */
  const endSilent = Effect.suspend(() => {
    if (sinceLook === null || sinceLook() > watchfulMillis) return Effect.void
    const silent = [...watched].flatMap(([id, { beat, since }]) =>
      since() < leaseMillis ? [] : { id, beat },
    )
    return silent.length === 0 ? Effect.void : inTime(leases.end(silent))
  })

  /** Begins with what the store says is this worker's, but for shards that leave; stops with all others. */
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

  /** Ends the use of shards that are to be given, until as many leave as are asked for. */
  const letGo = (shards: ReadonlyArray<Shard>) => {
    for (const shard of shards) {
      const holding = held.get(shard)
      if (holding === undefined || leaving.size >= shards.length) continue
      leaving.set(shard, holding.term)
      stop(shard)
    }
  }

  /** Gives what is let go and used no more. */
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

  /** Until one of those that are watched has given no sign of life for too long, or the usual time. */
  const untilNextLook = () => {
    let pause = lookMillis
    for (const { since } of watched.values()) pause = Math.min(pause, leaseMillis - since())
    return Math.max(1, pause)
  }

  /** One look; returns after how many milliseconds the next is due. */
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
    // Also a bug, and a question that was cut off from outside: if this loop ended, all others of the
    // worker would.
    Effect.catchCause((cause) =>
      Effect.as(logFailure("shards of numbers are looked at again later", cause), lookMillis),
    ),
  )

  const looks = Effect.forever(Effect.flatMap(look, sleep))

  /** Ends all use as soon as the worker can trust in nothing any more. */
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
    // What still uses a number ends with the process, and the shards are free when the lease is over.
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
