/**
 * Waking the loops of all processes that share a database. Who makes work wakes its own loops at
 * once, and the others by a word on a channel; in case a word gets lost, idle loops look by
 * themselves four times a second.
 *
 * The word is sent outside of every transaction (a transaction that notifies holds a global lock
 * until it is flushed) and at most ten times a second, however much work there is. It is sent and
 * heard on one connection, so that a process knows its own words.
 */
import { WakeUp, kindsOfWork, makeLocalWakeUp } from "@messaging-service/core/ports"
import type { Work } from "@messaging-service/core/ports"
import { PgConnection } from "@effect/sql-pg"
import { Effect, Latch, Layer, Queue } from "effect"
import { connectionConfig, inRealTime } from "../database/Database.ts"
import type { DatabaseOptions } from "../database/Database.ts"
import { text, texts } from "../database/Fields.ts"
import { given, statement } from "../database/Statement.ts"

const channel = "messaging_service_work"

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

const isWork = (payload: string): payload is Work =>
  (kindsOfWork as ReadonlyArray<string>).includes(payload)

const make = Effect.fnUntraced(function* (options: DatabaseOptions) {
  const local = makeLocalWakeUp(pollMillis)
  const toSay = new Set<Work>()
  const something = yield* Latch.make(false)

  const wakeAll = Effect.forEach(kindsOfWork, local.wake, { discard: true })

  const say = (connection: PgConnection.PgConnection) =>
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

  const hear = (words: Queue.Dequeue<PgConnection.Notification, unknown>, own: number) =>
    Effect.flatMap(Queue.take(words), ({ payload, processId }) =>
      processId !== own && isWork(payload) ? local.wake(payload) : Effect.void,
    ).pipe(Effect.forever)

  const connected = Effect.gen(function* () {
    const connection = yield* PgConnection.make(connectionConfig(options))
    const owned = yield* connection.pin
    const words = yield* owned.listen(channel)
    // Who knows what was said before.
    yield* wakeAll
    return yield* Effect.raceFirst(say(owned), hear(words, owned.processId))
  }).pipe(Effect.scoped)

  yield* connected.pipe(
    Effect.ignore,
    Effect.andThen(Effect.sleep(reconnectMillis)),
    Effect.forever,
    inRealTime,
    Effect.forkScoped,
  )

  return WakeUp.of({
    poll: local.poll,
    sleeper: local.sleeper,
    wake: (work) =>
      Effect.andThen(
        local.wake(work),
        Effect.suspend(() => {
          toSay.add(work)
          return something.open
        }),
      ),
  })
})

/** The wake-up of a process that shares its database with others. */
export const layerWakeUp = (options: DatabaseOptions) => Layer.effect(WakeUp, make(options))
