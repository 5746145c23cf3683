/**
 * A database under load goes to a later version and back: both versions work on it side by side, no
 * statement of either fails, and no message is lost or sent twice.
 */
import { assert, layer } from "@effect/vitest"
import {
  EmbeddedPostgres,
  aNumber,
  accepted,
  delivering,
  sending,
} from "@messaging-service/testkit"
import type { SendingNumber } from "@messaging-service/core"
import type { TestDatabase } from "@messaging-service/testkit"
import { Effect, Fiber, Layer, Schedule } from "effect"
import type { Context } from "effect"
import { Database } from "../src/database/Database.ts"
import { layerStoresFor, storesOn } from "../src/PostgresService.ts"
import { aDatabase, aDatabaseClient, aProcess, toOptions } from "./databases.ts"
import type { Stores } from "./databases.ts"
import { later } from "./laterVersion.ts"

/** A process of the later version. */
const aLaterProcess = (database: TestDatabase) =>
  Layer.build(storesOn(layerStoresFor(later), Database.layer(toOptions(database))))

const range = (length: number) => Array.from({ length }, (_, index) => index)

/** What all processes did. */
interface Tally {
  accepted: number
  cancelled: number
  sent: number
  delivered: number
}

/** Accepts, cancels, sends and delivers, as one process does. */
const turn = (numbers: ReadonlyArray<SendingNumber>, tally: Tally) =>
  Effect.gen(function* () {
    const messages = yield* Effect.forEach(
      numbers,
      (number) => Effect.map(accepted(number, { count: 2 }), ([first]) => first),
      { concurrency: "unbounded" },
    )
    tally.accepted += 2 * numbers.length
    const [first] = messages
    if (first !== undefined) {
      const ended = yield* sending.end(sending.cancelled(first))
      tally.cancelled += ended.length
    }
    yield* work(numbers, tally)
  })

/** Sends and delivers what is due; how much that was. */
const work = (numbers: ReadonlyArray<SendingNumber>, tally: Tally) =>
  Effect.gen(function* () {
    const claimed = yield* sending.claim(numbers)
    const settled = yield* sending.settle(claimed.map((one) => sending.sent(one)))
    tally.sent += settled.length
    const deliveries = yield* delivering.claimDue()
    yield* delivering.settleDeliveries(...deliveries.map((one) => delivering.delivered(one)))
    tally.delivered += deliveries.length
    return claimed.length + deliveries.length
  })

const noTally = (): Tally => ({ accepted: 0, cancelled: 0, sent: 0, delivered: 0 })

/** Processes of both versions at work, until all that was accepted is sent and delivered. */
const upgradeAndBack = (database: TestDatabase) =>
  Effect.gen(function* () {
    const old = yield* aProcess(database)
    const { key, workspace } = yield* Effect.provide(delivering.aStageWithKey(), old)
    yield* Effect.provide(delivering.anEndpoint(key), old)
    const numbers = yield* Effect.provide(
      Effect.forEach(range(12), () => aNumber(workspace.id)),
      old,
    )
    const tally = noTally()
    /** Begins to work; what comes of it ends that after a turn, and fails if a statement did. */
    const begin = (process: Context.Context<Stores>) =>
      Effect.gen(function* () {
        let isStopping = false
        const loops = Effect.forEach(
          range(3),
          (at) =>
            Effect.repeat(turn(numbers.slice(at * 4, at * 4 + 4), tally), {
              until: () => isStopping,
            }),
          { concurrency: "unbounded", discard: true },
        )
        const fiber = yield* Effect.forkScoped(Effect.provide(loops, process))
        return Effect.suspend(() => {
          isStopping = true
          return Fiber.join(fiber)
        })
      })
    const untilSent = (more: number) => {
      const expected = tally.sent + more
      return Effect.repeat(Effect.void, {
        schedule: Schedule.spaced(10),
        until: () => tally.sent >= expected,
      })
    }

    const stops = [yield* begin(old)]
    yield* untilSent(50)
    // Two processes of the later version start at once.
    const upgraded = yield* Effect.forEach(range(2), () => aLaterProcess(database), {
      concurrency: "unbounded",
    })
    const laterStops = yield* Effect.forEach(upgraded, begin)
    yield* untilSent(100)
    // And back: one of the version before starts, and those of the later one stop.
    stops.push(yield* begin(yield* aProcess(database)))
    yield* Effect.all(laterStops)
    yield* untilSent(50)
    yield* Effect.all(stops)
    yield* Effect.repeat(Effect.provide(work(numbers, tally), old), {
      until: (done) => done === 0,
    })
    return tally
  })

layer(EmbeddedPostgres.layer(), { excludeTestServices: true })("an upgrade", (it) => {
  it.effect("goes to a later version and back while both work, and nothing fails", () =>
    Effect.gen(function* () {
      const database = yield* aDatabase
      const tally = yield* Effect.scoped(upgradeAndBack(database))
      // Counts of deadlocks are known when the connections have closed.
      const client = yield* aDatabaseClient(database)
      const [counts] = yield* client.query<Tally & { readonly deadlocks: number }>(
        "count",
        `select
             count(*)::integer as accepted,
             count(*) filter (where m.state = 'cancelled' and m.topic is null)::integer as cancelled,
             count(*) filter (where m.state = 'sent' and m.topic is null)::integer as sent,
             (select count(distinct a.event_id)::integer from webhook_attempts a) as delivered,
             (select d.deadlocks::integer from pg_stat_database d where d.datname = current_database())
               as deadlocks
           from messages m`,
      )
      assert.deepStrictEqual(counts, { ...tally, deadlocks: 0 })
      assert.strictEqual(tally.accepted, tally.sent + tally.cancelled)
      assert.strictEqual(tally.delivered, tally.accepted)
    }),
  )
})
