/**
 * Batches: calls of one kind that would have to wait go together as one set-based statement. A call that finds
 * no statement under way starts at once, by itself; what queues up meanwhile forms the next batch, or an
 * additional one once many wait. So nothing ever waits for a timer, and the more callers there are the less each of
 * them costs.
 *
 * A call delays no other when another transaction, as a caller's own may, locks its rows for long: its batch
 * gives up soon, the others of it continue, and that one is retried by itself until it is its turn.
 */
import type { StoreUnavailable } from "@messaging-service/core"
import { Deferred, Effect, Exit, Semaphore } from "effect"
import type { Scope } from "effect"
import * as SqlError from "effect/sql/SqlError"
import { JoinedTransaction } from "./CallersTransaction.ts"
import type { Joined } from "./CallersTransaction.ts"
import { inRealTime } from "./Database.ts"
import type { DatabaseService } from "./Database.ts"
import { isLockTimeout } from "./HostPool.ts"

export interface BatcherOptions<E> {
  /** Statements under way at once. */
  readonly concurrency: number
  /** So many calls wait before another statement begins while one is under way. */
  readonly crowd: number
  /** Calls in one statement at most. */
  readonly maxBatch: number
  /** Whether a failure may be one call's own doing: then each call of the batch is tried alone. */
  readonly isSeparable: (error: E) => boolean
  /** Whether a statement gave up because another transaction locked its rows for too long. */
  readonly isBlockedByLock: (error: E) => boolean
  /** How long a call that a lock blocks is retried. */
  readonly blockedMillis: number
}

/** What tells which calls need the same rows; null for one that shares them with none. */
export type KeyOf<In> = (input: In) => string | number | null

type Run<In, Out, E> = (inputs: ReadonlyArray<In>) => Effect.Effect<ReadonlyArray<Out>, E>

/** How long a statement that several calls share waits for a lock. */
export const lockTimeoutMillis = 250

/** Before a blocked call is retried, in real time. */
const retryPauseMillis = 100

/** Blocked calls that are retried at once: each has a connection for as long as it may wait. */
const retriesAtOnce = 1

interface Waiting<In, Out, E> {
  readonly input: In
  readonly answer: Deferred.Deferred<Out, E>
  /** Its caller was interrupted. */
  isAbandoned: boolean
}

/**
 * Makes a call out of a statement for many: `run` answers with one value for each input, in their
 * order.
 */
export const batched = Effect.fnUntraced(function* batched<In, Out, E>(
  run: Run<In, Out, E>,
  options: BatcherOptions<E>,
  toKey: KeyOf<In> = noKey,
): Effect.fn.Return<(input: In) => Effect.Effect<Out, E>, never, Scope.Scope> {
  const batcher = new Batcher(yield* Effect.scope, run, options, toKey)
  return (input: In) => batcher.call(input)
})

const noKey = () => null

class Batcher<In, Out, E> {
  readonly #scope: Scope.Scope
  readonly #run: Run<In, Out, E>
  readonly #options: BatcherOptions<E>
  readonly #toKey: KeyOf<In>
  #waiting: Array<Waiting<In, Out, E>> = []
  #underWay = 0
  readonly #turns = Semaphore.makeUnsafe(retriesAtOnce)
  /** How many calls of a key a lock blocks; later calls of that key then skip the batches. */
  readonly #blocked = new Map<string | number, number>()

  constructor(
    scope: Scope.Scope,
    run: Run<In, Out, E>,
    options: BatcherOptions<E>,
    toKey: KeyOf<In>,
  ) {
    this.#scope = scope
    this.#run = run
    this.#options = options
    this.#toKey = toKey
  }

  /** What belongs to a caller's transaction goes there by itself. */
  call(input: In): Effect.Effect<Out, E> {
    const shareOrRun = (joined: Joined | null) =>
      joined === null ? this.#share(input) : this.#runAlone(input)
    return Effect.flatMap(JoinedTransaction, shareOrRun)
  }

  #runAlone(input: In): Effect.Effect<Out, E> {
    const firstAnswer = (exit: Exit.Exit<ReadonlyArray<Out>, E>) => answerAt(exit, 0)
    return Effect.flatMap(Effect.exit(this.#run([input])), firstAnswer)
  }

  #share(input: In): Effect.Effect<Out, E> {
    const one: Waiting<In, Out, E> = { input, answer: Deferred.makeUnsafe(), isAbandoned: false }
    const abandon = () => {
      one.isAbandoned = true
      this.#waiting = this.#waiting.filter((other) => other !== one)
      return Effect.void
    }
    const answered = Effect.onInterrupt(Deferred.await(one.answer), abandon)
    const begin = (): Effect.Effect<unknown> => {
      if (this.#isBlocked(input)) return this.#retryUntilFree(one)
      this.#waiting.push(one)
      if (!this.#hasLocation()) return Effect.void
      this.#underWay++
      return Effect.forkIn(this.#work(), this.#scope, { startImmediately: true })
    }
    // A place that was counted without a fiber that works would never become free.
    return Effect.andThen(Effect.uninterruptible(Effect.suspend(begin)), answered)
  }

  #hasLocation(): boolean {
    const { concurrency, crowd } = this.#options
    return this.#underWay === 0 || (this.#underWay < concurrency && this.#waiting.length >= crowd)
  }

  /** Batch after batch, until no call waits, or too few for more than one statement. */
  #work(): Effect.Effect<void> {
    let hasLocation = true
    const end = () => {
      if (hasLocation) this.#underWay--
      hasLocation = false
    }
    const next = (): Effect.Effect<void> => {
      const min = this.#underWay > 1 ? this.#options.crowd : 1
      // At once: of two that end, the later one sees that it is the last.
      if (this.#waiting.length < min) {
        end()
        return Effect.void
      }
      const batch = this.#waiting.slice(0, this.#options.maxBatch)
      this.#waiting = this.#waiting.slice(this.#options.maxBatch)
      return Effect.flatMap(this.#runBatch(batch), next)
    }
    return Effect.ensuring(Effect.suspend(next), Effect.sync(end))
  }

  #runBatch(batch: ReadonlyArray<Waiting<In, Out, E>>): Effect.Effect<void> {
    const { isBlockedByLock, isSeparable } = this.#options
    const [first] = batch
    const isAlone = batch.length === 1
    if (isAlone && first !== undefined && this.#isBlocked(first.input)) {
      return this.#retryUntilFree(first)
    }
    const isOver = (exit: Exit.Exit<unknown, E>) =>
      !failsAs(exit, isBlockedByLock) && (isAlone || !failsAs(exit, isSeparable))
    const answerIfOver = (exit: Exit.Exit<ReadonlyArray<Out>, E>) =>
      isOver(exit) ? answerAll(batch, exit) : Effect.void
    const splitUnlessOver = (exit: Exit.Exit<unknown, E>) => {
      if (isOver(exit) || first === undefined) return Effect.void
      return isAlone
        ? this.#retryUntilFree(first)
        : Effect.forEach(batch, (one) => this.#runBatch([one]), { discard: true })
    }
    return this.#run(batch.map(getInput)).pipe(
      Effect.onExit(answerIfOver),
      Effect.exit,
      Effect.flatMap(splitUnlessOver),
    )
  }

  /** Retries outside the batches, until the rows are free or the time is over. */
  #retryUntilFree(one: Waiting<In, Out, E>): Effect.Effect<void> {
    const { blockedMillis, isBlockedByLock } = this.#options
    const until = performance.now() + blockedMillis
    const attempt = Effect.exit(this.#turns.withPermit(this.#run([one.input])))
    const retry: Effect.Effect<void> = Effect.gen(function* retry() {
      for (;;) {
        yield* inRealTime(Effect.sleep(retryPauseMillis))
        if (one.isAbandoned) return
        const exit = yield* attempt
        if (failsAs(exit, isBlockedByLock) && performance.now() < until) continue
        return yield* answerAll([one], exit)
      }
    })
    this.#countBlocked(one.input, 1)
    const ended = Effect.sync(() => this.#countBlocked(one.input, -1))
    return Effect.asVoid(Effect.forkIn(Effect.ensuring(retry, ended), this.#scope))
  }

  #countBlocked(input: In, more: number): void {
    const key = this.#toKey(input)
    if (key === null) return
    const count = (this.#blocked.get(key) ?? 0) + more
    if (count > 0) this.#blocked.set(key, count)
    else this.#blocked.delete(key)
  }

  #isBlocked(input: In): boolean {
    const key = this.#toKey(input)
    return key !== null && this.#blocked.has(key)
  }
}

const getInput = <In>({ input }: { readonly input: In }): In => input

/** Whether the exit is a failure that matches. */
const failsAs = <E>(exit: Exit.Exit<unknown, E>, is: (error: E) => boolean): boolean =>
  Exit.isFailure(exit) &&
  exit.cause.reasons.some((reason) => reason._tag === "Fail" && is(reason.error))

const answerAll = <In, Out, E>(
  batch: ReadonlyArray<Waiting<In, Out, E>>,
  exit: Exit.Exit<ReadonlyArray<Out>, E>,
): Effect.Effect<void> =>
  Effect.sync(function answerEach() {
    for (const [index, { answer }] of batch.entries()) {
      Deferred.doneUnsafe(answer, answerAt(exit, index))
    }
  })

const answerAt = <Out, E>(exit: Exit.Exit<ReadonlyArray<Out>, E>, index: number) => {
  if (Exit.isFailure(exit)) return Exit.failCause(exit.cause)
  const out = exit.value[index]
  return out === undefined
    ? Exit.die(new Error("a statement left out an answer"))
    : Exit.succeed(out)
}

/** A batch much larger would make its first caller wait for its last. */
const maxBatch = 64

/**
 * While one statement of a kind is being flushed or waits for a lock, a second one works. More of
 * them would take callers from one another's batches, and cost more than they gain. So would a second
 * one for few callers: each statement costs the process and the database more than a call in it.
 */
const concurrency = 2
const crowd = 8

/** Of the five hot kinds a worker or a server uses at most four, each twice; a smaller pool leaves less
 * for each. */
const connectionsForAll = 8

/** How the hot calls are batched on a pool of this size. */
export const batching = (database: DatabaseService): BatcherOptions<StoreUnavailable> => ({
  concurrency: database.maxConnections < connectionsForAll ? 1 : concurrency,
  crowd,
  maxBatch,
  isBlockedByLock,
  // As long as any statement may take.
  blockedMillis: database.statementMillis,
  isSeparable: ({ cause }) =>
    SqlError.isSqlError(cause) &&
    (cause.reason._tag === "UnknownError" ||
      cause.reason._tag === "ConstraintError" ||
      cause.reason._tag === "UniqueViolation"),
})

export const isBlockedByLock = ({ cause }: StoreUnavailable): boolean => isLockTimeout(cause)

/**
 * How long a statement may wait for a lock, in milliseconds: not long where calls share it, and as the caller's
 * own transaction says where it is part of one; null for as long as it takes.
 */
export const sharedLockTimeout = Effect.map(JoinedTransaction, (joined) =>
  joined === null ? lockTimeoutMillis : null,
)

/** Statements for one input each that are made at once. */
const singlesAtOnce = 2

interface Split<In, Out> {
  readonly done: ReadonlyArray<Out>
  readonly blockedByLock: ReadonlyArray<In>
}

/**
 * One statement for all inputs, or one for each when another transaction locks rows that all of them wait for.
 * `blockedByLock` are those that wait even then.
 */
export const batchOrSplit = <In, Out>(
  inputs: ReadonlyArray<In>,
  run: (some: ReadonlyArray<In>) => Effect.Effect<Out, StoreUnavailable>,
): Effect.Effect<Split<In, Out>, StoreUnavailable> => {
  const allDone = (out: Out): Split<In, Out> => ({ done: [out], blockedByLock: [] })
  const runOne = (input: In) => batchOrSplit([input], run)
  const splitIfBlocked = (error: StoreUnavailable) => {
    if (!isBlockedByLock(error)) return Effect.fail(error)
    if (inputs.length === 1) return Effect.succeed({ done: [], blockedByLock: inputs })
    const singles = Effect.forEach(inputs, runOne, { concurrency: singlesAtOnce })
    return Effect.map(singles, mergeSplits<In, Out>)
  }
  return Effect.catchTag(Effect.map(run(inputs), allDone), "StoreUnavailable", splitIfBlocked)
}

const mergeSplits = <In, Out>(all: ReadonlyArray<Split<In, Out>>): Split<In, Out> => ({
  done: all.flatMap(({ done }) => done),
  blockedByLock: all.flatMap(({ blockedByLock }) => blockedByLock),
})
