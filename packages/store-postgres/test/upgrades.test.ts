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
import { Effect, Fiber, Layer } from "effect"
import { Database } from "../src/database/Database.ts"
import { layerStoresOf, storesOn } from "../src/stores.ts"
import { aDatabase, aDoor, aProcess, optionsOf } from "./databases.ts"
import { later } from "./laterVersion.ts"

/** A process of the later version. */
const aLaterProcess = (database: TestDatabase) =>
  Layer.build(storesOn(layerStoresOf(later), Database.layer(optionsOf(database))))

const range = (length: number) => Array.from({ length }, (_, index) => index)

/** What a process sent and delivered. */
interface Tally {
  accepted: number
  sent: number
  cancelled: number
  delivered: number
}

/** Accepts, cancels, sends and delivers, as one process does, one turn after the other. */
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
      tally.cancelled += (yield* sending.end(sending.cancelled(first))).length
    }
    const claimed = yield* sending.claim(numbers)
    tally.sent += (yield* sending.settle(claimed.map((one) => sending.sent(one)))).length
    const deliveries = yield* delivering.claimDue()
    tally.delivered += deliveries.length
    yield* delivering.settleDeliveries(...deliveries.map((one) => delivering.delivered(one)))
  })

layer(EmbeddedPostgres.layer(), { excludeTestServices: true, timeout: "120 seconds" })(
  "an upgrade",
  (it) => {
    it.effect("goes to a later version and back while both work, and nothing fails", () =>
      Effect.gen(function* () {
        const database = yield* aDatabase
        const old = yield* aProcess(database)
        const { key, workspace } = yield* Effect.provide(delivering.aStageWithKey(), old)
        yield* Effect.provide(delivering.anEndpoint(key), old)
        const numbers = yield* Effect.provide(
          Effect.forEach(range(12), () => aNumber(workspace.id)),
          old,
        )
        const tally: Tally = { accepted: 0, sent: 0, cancelled: 0, delivered: 0 }
        type Process = typeof old
        const working = (process: Process) =>
          Effect.forkScoped(
            Effect.provide(
              Effect.forEach(
                range(3),
                (at) => Effect.forever(turn(numbers.slice(at * 4, at * 4 + 4), tally)),
                { concurrency: "unbounded" },
              ),
              process,
            ),
            { startImmediately: true },
          )
        /** Until so many messages more were sent. */
        const untilSent = (more: number) => {
          const wanted = tally.sent + more
          return Effect.repeat(Effect.yieldNow, { until: () => tally.sent >= wanted })
        }

        const first = yield* working(old)
        yield* untilSent(100)
        // Two processes of the later version start at once.
        const [one, two] = yield* Effect.all([aLaterProcess(database), aLaterProcess(database)], {
          concurrency: "unbounded",
        })
        const upgraded = yield* Effect.forEach([one, two], working)
        yield* untilSent(100)
        // And back: a process of the version before starts, and those of the later one stop.
        const second = yield* working(yield* aProcess(database))
        yield* untilSent(100)
        yield* Effect.forEach(upgraded, Fiber.interrupt)
        yield* untilSent(50)

        for (const fiber of [first, second]) {
          assert.isUndefined(fiber.pollUnsafe())
          yield* Fiber.interrupt(fiber)
        }
        const door = yield* aDoor(database)
        const [counts] = yield* door.query<Record<string, number>>(
          "count",
          `select
             count(*)::integer as accepted,
             count(*) filter (where m.state = 'cancelled')::integer as cancelled,
             count(*) filter (where m.topic is null)::integer as plain
           from messages m`,
        )
        assert.isAtLeast(counts?.["accepted"] ?? 0, tally.accepted)
        assert.isAtLeast(counts?.["cancelled"] ?? 0, tally.cancelled)
        assert.strictEqual(counts?.["plain"], counts?.["accepted"])
        const doubled = yield* door.query(
          "doubled",
          "select o.message_id from outbox o group by o.message_id having count(*) > 1",
        )
        assert.deepStrictEqual(doubled, [])
        assert.isAbove(tally.delivered, 0)
      }).pipe(Effect.scoped),
    )
  },
)
