/** Claiming while many messages are overdue on numbers that are logged out, against without them. */
import { dailyQuota, unchangedLane, Store } from "@messaging-service/core"
import type { Settlement } from "@messaging-service/core"
import { Context, Effect, Layer } from "effect"
import type { BenchDatabase } from "../database/BenchDatabase.ts"
import { loadWaiting, loadWorkspace } from "../database/fixture.ts"
import { withoutIndexes } from "../database/history.ts"
import { check, CheckFailed } from "../measuring/checks.ts"
import type { Candidate, Row } from "../measuring/Comparison.ts"
import { median } from "../measuring/rounds.ts"
import { storeOn } from "../Setup.ts"
import type { Setup } from "../Setup.ts"

const limit = 50
const connected = 1000
const loggedOut = 1000
const leaseMillis = 30_000

const held = (numbers: number, status: string) => ({ numbers, keys: 0, status })

/** A database on which that many older messages wait on numbers that are logged out. */
const prepared = Effect.fnUntraced(function* prepared(
  { database: makeDatabase, sizes }: Setup,
  stuck: number,
) {
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
  const store = yield* Layer.build(storeOn(database, 4)).pipe(Effect.orDie)
  return { database, queue: Context.get(store, Store).queue, firstConnected: on.firstNumber }
})

type Prepared = Effect.Success<ReturnType<typeof prepared>>

/** Claims once and gives all back, so that every call meets the same line; milliseconds of the claim. */
const timedClaim = Effect.fnUntraced(function* timedClaim({ firstConnected, queue }: Prepared) {
  const now = Date.now()
  const started = performance.now()
  const claimed = yield* queue.claim({
    now,
    leaseUntil: now + leaseMillis,
    limit,
    owned: "all",
    dailyLimit: dailyQuota,
    turn: 1,
    dueSince: null,
    perWorkspace: limit,
    held: new Map(),
  })
  const millis = performance.now() - started
  const numbers = new Set(claimed.map(({ number }) => number.id))
  yield* check("lanes claimed", numbers.size, limit)
  yield* check(
    "claimed of numbers that are logged out",
    [...numbers].filter((id) => id < firstConnected).length,
    0,
  )
  yield* queue.settle(
    claimed.map(({ lease, message, number }): Settlement => ({
      _tag: "Again",
      numberId: number.id,
      lease,
      ...unchangedLane,
      messageId: message.id,
      unfinished: null,
    })),
    now,
  )
  return millis
})

const candidate = (name: string, calls: number, on: Prepared): Candidate => ({
  name,
  run: Effect.gen(function* run() {
    const times: Array<number> = []
    for (let call = 0; call < calls; call++) times.push(yield* timedClaim(on))
    yield* tidy(on.database)
    return median(times)
  }).pipe(Effect.mapError(({ message }) => new CheckFailed({ message }))),
})

export const stuckRow: Row = {
  id: "stuck",
  title: "claim with stuck messages / without",
  prepare: Effect.fnUntraced(function* prepare(setup) {
    const { sizes } = setup
    const without = "without"
    const stuck = `with ${sizes.stuck.toLocaleString("en")} stuck`
    return {
      unit: "ms",
      candidates: [
        candidate(without, sizes.calls, yield* prepared(setup, 0)),
        candidate(stuck, sizes.calls, yield* prepared(setup, sizes.stuck)),
      ],
      ratios: [
        {
          name: `${stuck} / without`,
          numerator: stuck,
          denominator: without,
          limit: { atMost: 1.3 },
        },
      ],
      notes: [
        `the median call of each run, for ${limit} lanes, through the store; settled between calls`,
        `${sizes.waiting.toLocaleString("en")} messages wait on ${connected.toLocaleString("en")} ` +
          "connected numbers; the stuck ones are older",
      ],
    }
  }),
}

const tidy = (database: BenchDatabase) => database.query("vacuum lanes")
