/** Numbers that are shared among workers, over a real PostgreSQL. */
import { assert, layer } from "@effect/vitest"
import { toShard, Store } from "@messaging-service/core"
import { EmbeddedPostgres, aStage, noon, ownershipContract } from "@messaging-service/testkit"
import { Deferred, Effect, Fiber } from "effect"
import { aDatabase, aDatabaseClient, aProcess, storesOfOneTest } from "./databases.ts"

const server = EmbeddedPostgres.layer()

ownershipContract("workers on PostgreSQL", server, storesOfOneTest, { histories: 1 })

layer(server, { excludeTestServices: true })("a session's write that is under way", (it) => {
  it.effect("keeps the number's shard from being taken until it is committed", () =>
    Effect.gen(function* () {
      const database = yield* aDatabase
      const stores = yield* aProcess(database)
      const client = yield* aDatabaseClient(database)
      yield* Effect.gen(function* () {
        const { sessions } = yield* Store

        const { number } = yield* aStage()
        const shards = [toShard(number.id)]
        const [before, after] = [
          yield* sessions.addWorker("before", 1),
          yield* sessions.addWorker("after", 1),
        ]
        yield* sessions.write(number.id, "first", [], noon, null)
        const [fence = null] = yield* sessions.takeShards(before, shards)

        // It waits for the session's row with the shard's row in its hands.
        const [isLocked, free] = [Deferred.makeUnsafe<void>(), Deferred.makeUnsafe<void>()]
        const locking = yield* Effect.forkChild(
          client.transaction("lock", (run) =>
            Effect.gen(function* () {
              yield* run("select from sessions for update", [])
              yield* Deferred.succeed(isLocked, undefined)
              yield* Deferred.await(free)
            }),
          ),
        )
        yield* Deferred.await(isLocked)
        const writing = yield* Effect.forkChild(sessions.write(number.id, "last", [], noon, fence))
        const waiting = client.query<{ readonly count: bigint }>(
          "waiting",
          "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
        )
        yield* Effect.repeat(waiting, { until: ([row]) => row?.count === 1n })

        const dying = yield* Effect.forkChild(sessions.removeWorker(before))
        yield* Effect.repeat(waiting, { until: ([row]) => row?.count === 2n })
        assert.deepStrictEqual(yield* sessions.takeShards(after, shards), [])
        yield* Deferred.succeed(free, undefined)
        yield* Fiber.join(locking)
        assert.isTrue(yield* Fiber.join(writing))
        yield* Fiber.join(dying)
        assert.lengthOf(yield* sessions.takeShards(after, shards), 1)
        assert.strictEqual(yield* sessions.credentials(number.id), "last")
        assert.isFalse(yield* sessions.write(number.id, "late", [], noon, fence))
      }).pipe(Effect.provide(stores))
    }),
  )
})
