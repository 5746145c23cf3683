/**
 * Waking the loops of all processes that share a database. A process that makes work wakes its own loops
 * at once, and the others by a word on a channel; in case a word gets lost, idle loops look by
 * themselves four times a second, with one statement for all of them.
 *
 * The word is sent outside of every transaction (a transaction that notifies holds a global lock
 * until it is flushed) and at most ten times a second, however much work there is. It is sent and
 * heard on one connection, so that a process knows its own words. Only work that is made in a caller's
 * transaction is told of inside it, since only its own session knows when it is committed.
 */
import { WakeUp, kindsOfWork, makeLocalWakeUp } from "@messaging-service/core"
import type { Work } from "@messaging-service/core"
import { PgConnection } from "@effect/sql-pg"
import { Effect, Latch, Layer, Queue, Scope } from "effect"
import { JoinedTransaction } from "../database/CallersTransaction.ts"
import { connectionConfig } from "../database/Connection.ts"
import type { Connection, DatabaseOptions } from "../database/Connection.ts"
import { inRealTime } from "../database/Database.ts"
import { text, texts } from "../database/Fields.ts"
import { hostLine, maximumOf } from "../database/HostPool.ts"
import { defaultSchema, workChannel } from "../database/Schema.ts"
import { given, statement } from "../database/Statement.ts"

const pollMillis = 250

/** Between two words of this process. */
const pauseMillis = 100

/** Before it connects again. */
const reconnectMillis = 500

/** A notification that takes longer means that the connection died. */
const patienceMillis = 5_000

const notify = statement(
  "notify",
  given({ channel: text, works: texts }),
)("select pg_notify($channel, said.work) from unnest($works::text[]) said (work)")

/** One connection that speaks and hears, our own or one of the host's pool. */
interface Line {
  readonly connection: Connection
  /** Hears a channel from then on, its own words left out. */
  listen(channel: string): Effect.Effect<Effect.Effect<string, unknown>, unknown, Scope.Scope>
}

const ownLine = (options: DatabaseOptions) =>
  Effect.gen(function* () {
    const scope = yield* Effect.acquireRelease(Scope.make(), Scope.close)
    const connection = yield* Effect.flatMap(
      PgConnection.make(connectionConfig(options)),
      ({ pin }) => pin,
    ).pipe(Scope.provide(scope))
    const line: Line = {
      connection,
      listen: (channel) =>
        Effect.gen(function* () {
          const words = yield* connection.listen(channel)
          // Closed before it would stop listening: a server that is frozen never answers that.
          yield* Effect.addFinalizer((exit) => Scope.close(scope, exit))
          return Queue.take(words).pipe(
            Effect.repeat({ until: ({ processId }) => processId !== connection.processId }),
            Effect.map(({ payload }) => payload),
          )
        }),
    }
    return line
  })

const isWork = (payload: string): payload is Work =>
  (kindsOfWork as ReadonlyArray<string>).includes(payload)

const make = Effect.fnUntraced(function* (options: DatabaseOptions) {
  const local = makeLocalWakeUp(pollMillis)
  const toSay = new Set<Work>()
  const something = yield* Latch.make(false)

  const wakeAll = Effect.forEach(kindsOfWork, local.wake, { discard: true })

  const say = (connection: Connection, channel: string) =>
    Effect.gen(function* () {
      yield* something.await
      yield* something.close
      const works = [...toSay]
      toSay.clear()
      yield* Effect.timeout(
        connection.query(notify.text, notify.bind({ channel, works })),
        patienceMillis,
      )
      yield* Effect.sleep(pauseMillis)
    }).pipe(Effect.forever)

  const hear = (next: Effect.Effect<string, unknown>) =>
    Effect.flatMap(next, (word) => (isWork(word) ? local.wake(word) : Effect.void)).pipe(
      Effect.forever,
    )

  const { pool, schema = defaultSchema } = options
  const channel = workChannel(schema)
  const connected = Effect.gen(function* () {
    const { connection, listen } = yield* pool === undefined ? ownLine(options) : hostLine(pool)
    const next = yield* listen(channel)
    // What other processes said before this connection listened was not heard.
    yield* wakeAll
    return yield* Effect.raceFirst(say(connection, channel), hear(next))
  }).pipe(Effect.scoped)

  // The only connection of a pool is for statements: without a line, loops look by themselves.
  if (pool === undefined || maximumOf(pool) > 1) {
    yield* connected.pipe(
      Effect.ignore,
      Effect.andThen(Effect.sleep(reconnectMillis)),
      Effect.forever,
      inRealTime,
      Effect.forkScoped,
    )
  }

  const wakeNow = (work: Work) =>
    Effect.andThen(
      local.wake(work),
      Effect.suspend(() => {
        toSay.add(work)
        return something.open
      }),
    )

  return WakeUp.of({
    poll: local.poll,
    latch: local.latch,
    wake: (work) =>
      Effect.flatMap(JoinedTransaction, (joined) =>
        joined === null ? wakeNow(work) : Effect.ignore(joined.notify(work)),
      ),
  })
})

/** The wake-up of a process that shares its database with others. */
export const layerWakeUp = (options: DatabaseOptions) => Layer.effect(WakeUp, make(options))
