/**
 * Coalescing: calls of one kind that would have to wait go together as one set-based statement. A
 * call that finds a free place starts at once, alone; what queues up while all places are taken
 * forms the next batch. So nothing ever waits for a timer, and the more callers there are the less
 * each of them costs.
 *
 * A call whose rows another transaction holds for long, as a caller's own may, holds up no other: its
 * batch gives up soon, the others of it go on, and that one is tried again by itself until it is its turn.
 */
import type { StoreUnavailable } from "@messaging-service/core"
import { Deferred, Effect, Exit, Semaphore } from "effect"
import type { Scope } from "effect"
import * as SqlError from "effect/sql/SqlError"
import { JoinedTransaction } from "./CallersTransaction.ts"
import { inRealTime } from "./Database.ts"
import type { DatabaseService } from "./Database.ts"
import { isLockTimeout } from "./HostPool.ts"

export interface CoalescedOptions<E> {
  /** Statements under way at once. */
  readonly places: number
  /** Calls in one statement at most. */
  readonly maximum: number
  /** Whether a failure may be one call's own doing: then each call of the batch is tried alone. */
  readonly separable: (error: E) => boolean
  /** Whether a statement gave up because another transaction held its rows for too long. */
  readonly blockedByLock: (error: E) => boolean
  /** How long a call that is held up is tried. */
  readonly heldUpMillis: number
}

/** What tells which calls need the same rows; null for one that shares them with none. */
export type KeyOf<In> = (input: In) => string | number | null

/** How long a statement that several share waits for a row, in milliseconds. */
export const lockMillis = 250

/** Before a call that was held up is tried again, in real time. */
const heldUpPauseMillis = 100

/** Calls that are held up and tried at once: each has a connection for as long as it may wait. */
const heldUpAtOnce = 1

interface Waiting<In, Out, E> {
  readonly input: In
  readonly answer: Deferred.Deferred<Out, E>
  /** Its caller was interrupted. */
  isGivenUp: boolean
}

/**
 * Makes a call out of a statement for many: `run` answers with one value for each input, in their
 * order.
 */
export const coalesced = Effect.fnUntraced(function* <In, Out, E>(
  run: (inputs: ReadonlyArray<In>) => Effect.Effect<ReadonlyArray<Out>, E>,
  { blockedByLock, heldUpMillis, maximum, places, separable }: CoalescedOptions<E>,
  keyOf: KeyOf<In> = () => null,
): Effect.fn.Return<(input: In) => Effect.Effect<Out, E>, never, Scope.Scope> {
  const scope = yield* Effect.scope
  let waiting: Array<Waiting<In, Out, E>> = []
  let underWay = 0

  const turns = Semaphore.makeUnsafe(heldUpAtOnce)

  /** Whether the exit is a failure of which that is so. */
  const failsAs = (exit: Exit.Exit<unknown, E>, is: (error: E) => boolean): boolean =>
    Exit.isFailure(exit) &&
    exit.cause.reasons.some((reason) => reason._tag === "Fail" && is(reason.error))

  /** How many calls of a key are held up: later ones of it need not be tried beside others. */
  const held = new Map<string | number, number>()
  const hold = (input: In, more: number) => {
    const key = keyOf(input)
    if (key === null) return
    const count = (held.get(key) ?? 0) + more
    if (count > 0) held.set(key, count)
    else held.delete(key)
  }
  const isHeld = (input: In): boolean => {
    const key = keyOf(input)
    return key !== null && held.has(key)
  }

  /** Until the rows are free, or it took too long: outside of all places. */
  const untilFree = (one: Waiting<In, Out, E>): Effect.Effect<void> => {
    const until = performance.now() + heldUpMillis
    const again: Effect.Effect<void> = Effect.gen(function* () {
      yield* inRealTime(Effect.sleep(heldUpPauseMillis))
      if (one.isGivenUp) return
      const exit = yield* Effect.exit(turns.withPermit(run([one.input])))
      if (failsAs(exit, blockedByLock) && performance.now() < until) return yield* again
      yield* answerAll([one], exit)
    })
    hold(one.input, 1)
    const ended = Effect.sync(() => hold(one.input, -1))
    return Effect.asVoid(Effect.forkIn(Effect.ensuring(again, ended), scope))
  }

  const together = (batch: ReadonlyArray<Waiting<In, Out, E>>): Effect.Effect<void> => {
    const [first] = batch
    const isAlone = batch.length === 1
    if (isAlone && first !== undefined && isHeld(first.input)) return untilFree(first)
    const isOver = (exit: Exit.Exit<unknown, E>) =>
      !failsAs(exit, blockedByLock) && (isAlone || !failsAs(exit, separable))
    return run(batch.map((one) => one.input)).pipe(
      Effect.onExit((exit) => (isOver(exit) ? answerAll(batch, exit) : Effect.void)),
      Effect.exit,
      Effect.flatMap((exit) => {
        if (isOver(exit) || first === undefined) return Effect.void
        return isAlone
          ? untilFree(first)
          : Effect.forEach(batch, (one) => together([one]), { discard: true })
      }),
    )
  }

  const work = Effect.gen(function* () {
    while (waiting.length > 0) {
      const batch = waiting.slice(0, maximum)
      waiting = waiting.slice(maximum)
      yield* together(batch)
    }
  }).pipe(
    Effect.ensuring(
      Effect.sync(() => {
        underWay--
      }),
    ),
  )

  const shared = (input: In): Effect.Effect<Out, E> =>
    Effect.suspend(() => {
      const one: Waiting<In, Out, E> = { input, answer: Deferred.makeUnsafe(), isGivenUp: false }
      const answered = Effect.onInterrupt(Deferred.await(one.answer), () =>
        Effect.sync(() => {
          one.isGivenUp = true
          waiting = waiting.filter((other) => other !== one)
        }),
      )
      if (isHeld(input)) return Effect.andThen(untilFree(one), answered)
      waiting.push(one)
      if (underWay >= places) return answered
      underWay++
      return Effect.andThen(Effect.forkIn(work, scope, { startImmediately: true }), answered)
    })

  const alone = (input: In): Effect.Effect<Out, E> =>
    Effect.flatMap(Effect.exit(run([input])), (exit) => answerAt(exit, 0))

  // What belongs to a caller's transaction goes there by itself.
  return (input) =>
    Effect.flatMap(JoinedTransaction, (joined) => (joined === null ? shared : alone)(input))
})

const answerAll = <In, Out, E>(
  batch: ReadonlyArray<Waiting<In, Out, E>>,
  exit: Exit.Exit<ReadonlyArray<Out>, E>,
) =>
  Effect.sync(() => {
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
const maximum = 64

/**
 * While one statement of a kind is being flushed or waits for a lock, a second one works. More of
 * them would take callers from one another's batches, and cost more than they gain.
 */
const places = 2

/** There are five hot kinds, of which workers and servers have some each; a pool that is too small for
 * twice four has less room for each. */
const connectionsForAll = 8

export const isHeldUp = ({ cause }: StoreUnavailable): boolean => isLockTimeout(cause)

/** Statements for one input each that are made at once. */
const aloneAtOnce = 2

interface TogetherOrAlone<In, Out> {
  readonly done: ReadonlyArray<Out>
  readonly blockedByLock: ReadonlyArray<In>
}

/**
 * One statement for all inputs, or one for each when another transaction holds up what all of them wait
 * for. `blockedByLock` are those that it still held up then.
 */
export const togetherOrAlone = <In, Out>(
  inputs: ReadonlyArray<In>,
  run: (some: ReadonlyArray<In>) => Effect.Effect<Out, StoreUnavailable>,
): Effect.Effect<TogetherOrAlone<In, Out>, StoreUnavailable> =>
  run(inputs).pipe(
    Effect.map((out): TogetherOrAlone<In, Out> => ({ done: [out], blockedByLock: [] })),
    Effect.catchTag(
      "StoreUnavailable",
      (error): Effect.Effect<TogetherOrAlone<In, Out>, StoreUnavailable> => {
        if (!isHeldUp(error)) return Effect.fail(error)
        if (inputs.length === 1) return Effect.succeed({ done: [], blockedByLock: inputs })
        const each = Effect.forEach(inputs, (input) => togetherOrAlone([input], run), {
          concurrency: aloneAtOnce,
        })
        return Effect.map(each, (all) => ({
          done: all.flatMap(({ done }) => done),
          blockedByLock: all.flatMap(({ blockedByLock }) => blockedByLock),
        }))
      },
    ),
  )

/**
 * How long a statement may wait for a row: not long where calls share it, and as the caller's own
 * transaction says where it is part of one. In milliseconds; null for as long as it takes.
 */
export const lockPatience = Effect.map(JoinedTransaction, (joined) =>
  joined === null ? lockMillis : null,
)

/** How the hot calls are coalesced on a pool of this size. */
export const coalescing = (database: DatabaseService): CoalescedOptions<StoreUnavailable> => ({
  places: database.maxConnections < connectionsForAll ? 1 : places,
  maximum,
  blockedByLock: isHeldUp,
  // As long as any statement may take.
  heldUpMillis: database.statementMillis,
  separable: ({ cause }) =>
    SqlError.isSqlError(cause) &&
    (cause.reason._tag === "UnknownError" ||
      cause.reason._tag === "ConstraintError" ||
      cause.reason._tag === "UniqueViolation"),
})
