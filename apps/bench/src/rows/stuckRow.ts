/** Claiming while many messages are overdue on numbers that are logged out, against without them. */
import { LaneQueue, dailyQuota, noAftermath } from "@messaging-service/core"
import type { Settlement } from "@messaging-service/core"
import { Context, Effect, Layer } from "effect"
import type { BenchDatabase } from "../database/BenchDatabase.ts"
import { loadWaiting, loadWorkspace } from "../database/fixture.ts"
import { withoutIndexes } from "../database/history.ts"
import { check } from "../measuring/checks.ts"
import { CheckFailed } from "../measuring/checks.ts"
import type { Candidate, Row } from "../measuring/Comparison.ts"
import { median } from "../measuring/rounds.ts"
import { storeOn } from "../Setup.ts"

const limit = 50
const connected = 1000
const loggedOut = 1000
const leaseMillis = 30_000

const held = (numbers: number, status: string) => ({ numbers, keys: 0, status })

export const stuckRow: Row = {
  id: "stuck",
  title: "claim with stuck messages / without",
  prepare: Effect.fnUntraced(function* ({ database: makeDatabase, sizes }) {
    const prepared = (stuck: number) =>
      Effect.gen(function* () {
        const database = yield* makeDatabase
        // The older ones are those that are stuck: a claim by age alone would meet them first.
        const out = yield* loadWorkspace(database, held(loggedOut, "disconnected"))
        const on = yield* loadWorkspace(database, held(connected, "connected"))
        const numbers = (first: number, count: number) => ({ from: first, to: first + count - 1 })
        yield* withoutIndexes(
          database,
          "messages",
          Effect.gen(function* () {
            if (stuck > 0) {
              yield* loadWaiting(database, stuck, numbers(out.firstNumber, loggedOut), 30)
            }
            yield* loadWaiting(database, sizes.waiting, numbers(on.firstNumber, connected), 1)
          }),
        )
        const queue = Context.get(
          yield* Layer.build(storeOn(database, 4)).pipe(Effect.orDie),
          LaneQueue,
        )
        return { database, queue, firstConnected: on.firstNumber }
      })

    const candidate = (
      name: string,
      { database, firstConnected, queue }: Effect.Success<ReturnType<typeof prepared>>,
    ): Candidate => ({
      name,
      run: Effect.gen(function* () {
        const times: Array<number> = []
        for (let call = 0; call < sizes.calls; call++) {
          const now = Date.now()
          const started = performance.now()
          const claimed = yield* queue.claim({
            now,
            leaseUntil: now + leaseMillis,
            limit,
            owned: "all",
            sendCap: dailyQuota,
            perWorkspace: limit,
            held: new Map(),
          })
          times.push(performance.now() - started)
          const numbers = new Set(claimed.map(({ number }) => number.id))
          yield* check("lanes claimed", numbers.size, limit)
          yield* check(
            "claimed of numbers that are logged out",
            [...numbers].filter((id) => id < firstConnected).length,
            0,
          )
          // Given back, so that every call meets the same line.
          yield* queue.settle(
            claimed.map(({ lease, message, number }): Settlement => ({
              _tag: "Again",
              numberId: number.id,
              lease,
              ...noAftermath,
              messageId: message.id,
              interrupted: false,
            })),
            now,
          )
        }
        yield* tidy(database)
        return median(times)
      }).pipe(Effect.mapError(({ message }) => new CheckFailed({ message }))),
    })
    const without = "without"
    const stuck = `with ${sizes.stuck.toLocaleString("en")} stuck`
    return {
      unit: "ms",
      candidates: [
        candidate(without, yield* prepared(0)),
        candidate(stuck, yield* prepared(sizes.stuck)),
      ],
      ratios: [{ name: `${stuck} / without`, of: stuck, by: without, limit: { atMost: 1.3 } }],
      notes: [
        `the median call of each run, for ${limit} lanes, through the store; settled between calls`,
        `${sizes.waiting.toLocaleString("en")} messages wait on ${connected.toLocaleString("en")} ` +
          "connected numbers; the stuck ones are older",
      ],
    }
  }),
}

const tidy = (database: BenchDatabase) => database.query("vacuum lanes")
