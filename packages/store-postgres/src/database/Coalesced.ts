/**
 * Coalescing: calls of one kind that would have to wait go together as one set-based statement. A
 * call that finds a free place starts at once, alone; what queues up while all places are taken
 * forms the next batch. So nothing ever waits for a timer, and the more callers there are the less
 * each of them costs.
 */
import { Deferred, Effect, Exit } from "effect"
import type { Scope } from "effect"
import type { StoreUnavailable } from "@messaging-service/core/ports"
import * as SqlError from "effect/sql/SqlError"
import { JoinedTransaction } from "./CallersTransaction.ts"
import type { DatabaseService } from "./Database.ts"

export interface CoalescedOptions<E> {
  /** Statements under way at once. */
  readonly places: number
  /** Calls in one statement at most. */
  readonly maximum: number
  /** Whether a failure may be one call's own doing: then each call of the batch is tried alone. */
  readonly separable: (error: E) => boolean
}

interface Waiting<In, Out, E> {
  readonly input: In
  readonly answer: Deferred.Deferred<Out, E>
}

/**
 * Makes a call out of a statement for many: `run` answers with one value for each input, in their
 * order.
 */
export const coalesced = Effect.fnUntraced(function* <In, Out, E>(
  run: (inputs: ReadonlyArray<In>) => Effect.Effect<ReadonlyArray<Out>, E>,
  { maximum, places, separable }: CoalescedOptions<E>,
): Effect.fn.Return<(input: In) => Effect.Effect<Out, E>, never, Scope.Scope> {
  const scope = yield* Effect.scope
  let waiting: Array<Waiting<In, Out, E>> = []
  let underWay = 0

  const together = (batch: ReadonlyArray<Waiting<In, Out, E>>): Effect.Effect<void> =>
    run(batch.map((one) => one.input)).pipe(
      Effect.onExit((exit) =>
        batch.length > 1 && isSeparable(exit) ? Effect.void : answerAll(batch, exit),
      ),
      Effect.exit,
      Effect.flatMap((exit) =>
        batch.length > 1 && isSeparable(exit)
          ? Effect.forEach(batch, (one) => together([one]), { discard: true })
          : Effect.void,
      ),
    )
  const isSeparable = (exit: Exit.Exit<unknown, E>): boolean =>
    Exit.isFailure(exit) &&
    exit.cause.reasons.some((reason) => reason._tag === "Fail" && separable(reason.error))

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
      const one: Waiting<In, Out, E> = { input, answer: Deferred.makeUnsafe() }
      const answered = Effect.onInterrupt(Deferred.await(one.answer), () =>
        Effect.sync(() => {
          waiting = waiting.filter((other) => other !== one)
        }),
      )
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

/** How the hot calls are coalesced on a pool of this size. */
export const coalescing = (database: DatabaseService): CoalescedOptions<StoreUnavailable> => ({
  places: database.maxConnections < connectionsForAll ? 1 : places,
  maximum,
  separable: ({ cause }) =>
    SqlError.isSqlError(cause) &&
    (cause.reason._tag === "UnknownError" ||
      cause.reason._tag === "ConstraintError" ||
      cause.reason._tag === "UniqueViolation"),
})
