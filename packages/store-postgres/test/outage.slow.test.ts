/** A database that goes away and comes back: every call ends in bounded time, and the process continues. */
import { assert, layer } from "@effect/vitest"
import { StoreUnavailable, Store } from "@messaging-service/core"
import { EmbeddedPostgres, accepted, aStage } from "@messaging-service/testkit"
import { Context, Effect, Fiber, Layer, Schedule } from "effect"
import { layer as layerPostgres } from "../src/index.ts"
import type { DatabaseOptions } from "../src/database/Connection.ts"
import { aDatabase, aDatabaseClient, aPool, aProcess } from "./databases.ts"

/** Short, so that tests of time-outs are quick; the rules are the same. */
const impatient = { acquireMillis: 500, statementMillis: 1_000 } as const

/** More than any call may take with these options, however busy the machine. */
const bound = "60 seconds"

const isUnavailable = (error: unknown) => assert.instanceOf(error, StoreUnavailable)

/** The call as soon as it succeeds; it may fail a few times while connections reopen. */
const eventually = <A, E, R>(call: Effect.Effect<A, E, R>) =>
  Effect.retry(call, { times: 20 }).pipe(Effect.timeout(bound))

/** A stage that a process with the usual limits sets, and a call on it by an impatient one. */
const anImpatientProcess = Effect.fnUntraced(function* (more: Partial<DatabaseOptions> = {}) {
  const database = yield* aDatabase
  const { number } = yield* Effect.scoped(
    Effect.flatMap(aProcess(database), (stores) => Effect.provide(aStage(), stores)),
  )
  const stores = yield* eventually(aProcess(database, { ...impatient, ...more }))
  const call = Effect.provide(accepted(number), stores)
  return { call, database, ping: Context.get(stores, Store).system.ping }
})

/** A crash must lose nothing that was committed. */
const server = EmbeddedPostgres.layer({ settings: { synchronous_commit: "on" } })

layer(server, { excludeTestServices: true })("a database that does not answer", (it) => {
  it.effect("stopped: calls fail at once, and succeed once it is started again", () =>
    Effect.gen(function* () {
      const postgres = yield* EmbeddedPostgres
      const { call, ping } = yield* anImpatientProcess()
      yield* eventually(call)
      yield* postgres.stop
      isUnavailable(yield* Effect.flip(Effect.timeout(ping, bound)))
      isUnavailable(yield* Effect.flip(Effect.timeout(ping, bound)))
      yield* postgres.start
      yield* eventually(ping)
      yield* eventually(call)
    }),
  )

  it.effect("crashed: what was accepted is there, and work goes on", () =>
    Effect.gen(function* () {
      const postgres = yield* EmbeddedPostgres
      const { call, ping } = yield* anImpatientProcess()
      yield* eventually(call)
      yield* postgres.crash
      isUnavailable(yield* Effect.flip(Effect.timeout(ping, bound)))
      yield* postgres.start
      yield* eventually(ping)
      yield* eventually(call)
    }),
  )

  it.effect("frozen: calls under way and new ones end in bounded time", () =>
    Effect.gen(function* () {
      const postgres = yield* EmbeddedPostgres
      const { call, ping } = yield* anImpatientProcess({ maxConnections: 4 })
      yield* postgres.freeze
      const failures = yield* Effect.forEach(
        [ping, ping, ping, call, call, ping, ping, ping],
        (each) => Effect.timeout(Effect.flip(Effect.asVoid(each)), bound),
        { concurrency: "unbounded" },
      )
      failures.forEach(isUnavailable)
      yield* postgres.thaw
      yield* eventually(ping)
      yield* eventually(call)
    }).pipe(Effect.ensuring(Effect.ignore(EmbeddedPostgres.use((postgres) => postgres.thaw)))),
  )

  it.effect("on a pool of the host's: frozen, used up, and there again", () =>
    Effect.gen(function* () {
      const postgres = yield* EmbeddedPostgres
      const database = yield* aDatabase
      yield* Effect.scoped(aProcess(database))
      const pool = yield* aPool(database)
      const stores = yield* eventually(Layer.build(layerPostgres({ pool, ...impatient })))
      const ping = Context.get(stores, Store).system.ping
      yield* postgres.freeze
      // More than the pool has connections: the last ones wait for one, with no end of the pool's own.
      const failures = yield* Effect.forEach(
        Array.from({ length: 12 }, () => ping),
        (each) => Effect.timeout(Effect.flip(each), bound),
        { concurrency: "unbounded" },
      )
      failures.forEach(isUnavailable)
      yield* postgres.thaw
      yield* eventually(ping)
      yield* Effect.repeat(Effect.void, {
        until: () => pool.totalCount === pool.idleCount && pool.waitingCount === 0,
        schedule: Schedule.spaced("5 millis"),
      }).pipe(Effect.timeout(bound))
    }).pipe(Effect.ensuring(Effect.ignore(EmbeddedPostgres.use((postgres) => postgres.thaw)))),
  )

  it.effect("one whose backends are killed one after the other goes on", () =>
    Effect.gen(function* () {
      const { call, database } = yield* anImpatientProcess()
      const client = yield* aDatabaseClient(database)
      for (let round = 0; round < 5; round++) {
        yield* eventually(call)
        yield* client.query(
          "kill",
          `select pg_terminate_backend(pid)
            from pg_stat_activity
            where datname = current_database() and pid <> pg_backend_pid()`,
        )
      }
      yield* eventually(call)
    }),
  )

  it.effect("a pool whose connections are all taken fails who waits too long", () =>
    Effect.gen(function* () {
      const database = yield* aDatabase
      const warden = yield* aPool(database)
      const execute = (text: string) => Effect.promise(() => warden.query(text))
      const limits = { acquireMillis: 200, maxConnections: 2 }
      const door = yield* eventually(aDatabaseClient(database, limits))
      const client = yield* Effect.promise(() => warden.connect())
      yield* Effect.promise(() => client.query("select pg_advisory_lock(1)"))
      const wait = eventually(door.query("wait", "select pg_advisory_xact_lock(1)"))
      const waiting = yield* Effect.forkChild(Effect.all([wait, wait], { concurrency: 2 }))
      yield* Effect.repeat(
        execute("select from pg_locks where locktype = 'advisory' and not granted"),
        {
          until: ({ rowCount }) => rowCount === 2,
        },
      )
      const error = yield* Effect.flip(door.query("quick", "select 1"))
      isUnavailable(error)
      assert.match(
        String((error as StoreUnavailable).cause),
        /the pool is exhausted: all 2 connections were in use for 200 ms/,
      )
      client.release(true)
      yield* Fiber.join(waiting)
      yield* eventually(door.query("quick", "select 1"))
    }),
  )

  it.effect("a statement that takes too long is ended by the server", () =>
    Effect.gen(function* () {
      const database = yield* eventually(aDatabaseClient(yield* aDatabase, impatient))
      isUnavailable(
        yield* Effect.flip(Effect.timeout(database.query("slow", "select pg_sleep(60)"), bound)),
      )
      yield* eventually(database.query("quick", "select 1"))
    }),
  )

  it.effect("a start without a database says so", () =>
    Effect.gen(function* () {
      const database = yield* aDatabase
      const postgres = yield* EmbeddedPostgres
      yield* postgres.stop
      const error = yield* Effect.flip(Effect.scoped(aProcess(database, impatient)))
      isUnavailable(error)
      yield* postgres.start
      yield* Effect.scoped(aProcess(database))
    }),
  )
})
