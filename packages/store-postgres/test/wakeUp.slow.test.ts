/** Word of new work between processes: heard soon, not too often, and again after an outage. */
import { assert, layer } from "@effect/vitest"
import { WakeUp } from "@messaging-service/core"
import type { TestDatabase } from "@messaging-service/testkit"
import { EmbeddedPostgres } from "@messaging-service/testkit"
import { PgConnection } from "@effect/sql-pg"
import { Context, Effect, Layer, Queue } from "effect"
import { layerWakeUp } from "../src/index.ts"
import type { DatabaseOptions } from "../src/database/Connection.ts"
import { aDatabase, aDatabaseClient, aPool, toOptions } from "./databases.ts"

const aWakeUp = (database: TestDatabase, options: DatabaseOptions = toOptions(database)) =>
  Effect.map(Layer.build(layerWakeUp(options)), (built) => Context.get(built, WakeUp))

/** Of a process on a pool of its host's. */
const aGuest = (database: TestDatabase) =>
  Effect.flatMap(aPool(database), (pool) => aWakeUp(database, { pool }))

const patience = "10 seconds"

/** Wakes until the latch learns of it: a process needs a moment until it listens. */
const wakesEventually = Effect.fnUntraced(function* (
  from: typeof WakeUp.Service,
  to: typeof WakeUp.Service,
) {
  const latch = yield* to.latch("lanes")
  yield* latch.close
  yield* Effect.raceFirst(
    latch.await,
    Effect.forever(Effect.andThen(from.wake("lanes"), Effect.sleep("50 millis"))),
  ).pipe(Effect.timeout(patience))
  yield* latch.close
})

layer(EmbeddedPostgres.layer(), { excludeTestServices: true })(
  "wake-up between processes",
  (it) => {
    it.effect("a process hears of the other's work, and of its own at once", () =>
      Effect.gen(function* () {
        const database = yield* aDatabase
        const one = yield* aWakeUp(database)
        const other = yield* aGuest(database)
        yield* wakesEventually(one, other)
        yield* wakesEventually(other, one)

        const lanes = yield* other.latch("lanes")
        const expiry = yield* other.latch("expiry")
        yield* lanes.close
        yield* expiry.close
        yield* one.wake("expiry")
        yield* Effect.timeout(expiry.await, patience)

        const own = yield* one.latch("expiry")
        yield* own.close
        yield* one.wake("expiry")
        assert.isTrue(own.isOpen())
      }),
    )

    it.effect("however much work there is, a process says so a few times a second", () =>
      Effect.gen(function* () {
        const database = yield* aDatabase
        const one = yield* aWakeUp(database)
        const { path, username } = database
        const ear = yield* PgConnection.make({ path, username, database: database.database })
        const words = yield* ear.listen("messaging_service_work_messaging")
        yield* Effect.raceFirst(
          Queue.take(words),
          Effect.forever(Effect.andThen(one.wake("lanes"), Effect.sleep("20 millis"))),
        ).pipe(Effect.timeout(patience))
        let heard = 0
        let tenths = 0
        const counting = Effect.forever(
          Effect.andThen(
            Effect.sleep("100 millis"),
            Effect.sync(() => tenths++),
          ),
        )
        yield* Effect.forkScoped(counting)
        yield* Effect.raceFirst(
          Effect.forever(
            Effect.andThen(
              Queue.take(words),
              Effect.sync(() => heard++),
            ),
          ),
          Effect.repeat(Effect.andThen(one.wake("lanes"), Effect.sleep("1 millis")), {
            times: 300,
          }),
        )
        assert.isAtLeast(heard, 1)
        assert.isAtMost(heard, 3 + tenths)
      }),
    )

    it.effect("after an outage it listens again, and wakes for what it may have missed", () =>
      Effect.gen(function* () {
        const postgres = yield* EmbeddedPostgres
        const database = yield* aDatabase
        const one = yield* aWakeUp(database)
        const other = yield* aGuest(database)
        yield* wakesEventually(one, other)
        const latch = yield* other.latch("orphaned")
        yield* latch.close
        yield* postgres.stop
        yield* one.wake("orphaned")
        yield* postgres.start
        yield* Effect.timeout(latch.await, patience)
        yield* wakesEventually(one, other)
        const client = yield* aDatabaseClient(database)
        yield* client.query(
          "kill",
          `select pg_terminate_backend(pid)
          from pg_stat_activity
          where datname = current_database() and pid <> pg_backend_pid()`,
        )
        yield* wakesEventually(one, other)
      }),
    )
  },
)
