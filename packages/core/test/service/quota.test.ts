import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import {
  cancel,
  code,
  copies,
  logOut,
  reconnect,
  refusal,
  send,
  sendBatch,
  statuses,
} from "./Operations.ts"
import {
  ahead,
  aKey,
  aNumber,
  aSender,
  day,
  hour,
  inAService,
  noon,
  pass,
  second,
  settled,
} from "./Service.ts"

describe("the number's 24-hour quota", () => {
  it.effect("the 1,000th message is accepted, the 1,001st is number_daily_cap_reached", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number } = yield* aSender()
        yield* logOut(number)
        yield* sendBatch(key, 999, { from: number })
        assert.strictEqual(
          yield* code(sendBatch(key, 2, { from: number })),
          "number_daily_cap_reached",
        )
        yield* send(key, { from: number })
        const refused = yield* refusal(send(key, { from: number }))
        assert.deepStrictEqual(
          [refused.code, refused.status, refused.retryAfter],
          ["number_daily_cap_reached", 429, 86_400],
        )
      }),
    ),
  )

  it.effect("Retry-After tells when the number has room again", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        yield* send(key)
        yield* pass(hour)
        yield* sendBatch(key, 999)
        yield* pass(90 * second)
        const refused = yield* refusal(send(key))
        assert.strictEqual(refused.retryAfter, 23 * 3600 - 90)
        yield* pass((refused.retryAfter ?? 0) * second - 1)
        assert.strictEqual(yield* code(send(key)), "number_daily_cap_reached")
        yield* pass(1)
        yield* send(key)
        assert.strictEqual((yield* refusal(send(key))).retryAfter, 3600)
      }),
    ),
  )

  it.effect("planned time counts: scheduled messages fill the window around their sendAt", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number } = yield* aSender()
        const at = (millis: number) => Effect.map(ahead(millis), (sendAt) => ({ sendAt }))
        yield* sendBatch(key, 1000, yield* at(2 * day))
        const full = Effect.gen(function* () {
          const then = yield* Effect.forEach([day, day + 1, 2 * day, 3 * day - 1, 3 * day], at)
          return yield* Effect.forEach(then, (input) =>
            Effect.map(Effect.result(send(key, input)), ({ _tag }) => _tag),
          )
        })
        assert.deepStrictEqual(yield* full, ["Success", "Failure", "Failure", "Failure", "Success"])
        // The present has its own room, also while the number is logged out.
        yield* logOut(number)
        yield* send(key, { from: number })
      }),
    ),
  )

  it.effect("cancelled and expired messages refund it", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number } = yield* aSender()
        yield* logOut(number)
        const [first] = yield* sendBatch(key, 1000, {
          from: number,
          expiresAt: yield* ahead(hour),
        })
        const full = "number_daily_cap_reached"
        assert.strictEqual(yield* code(send(key, { from: number })), full)
        yield* cancel(key, first!)
        yield* send(key, { from: number })
        assert.strictEqual(yield* code(send(key, { from: number })), full)
        yield* pass(hour)
        yield* sendBatch(key, 999, { from: number })
        assert.strictEqual(yield* code(send(key, { from: number })), full)
      }),
    ),
  )

  it.effect("failed messages do not refund it", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const failing = Array.from({ length: 1000 }, () => ({ phone: "+15550010000" }))
        const messages = yield* sendBatch(key, 0, { to: failing })
        yield* settled
        assert.deepStrictEqual(new Set(yield* statuses(key, messages)), new Set(["failed"]))
        assert.strictEqual(yield* code(send(key)), "number_daily_cap_reached")
      }),
    ),
  )

  it.effect("belongs to the number, not to the workspace", () =>
    inAService(
      Effect.gen(function* () {
        const { number, workspace } = yield* aSender()
        const other = yield* aNumber(workspace)
        const key = yield* aKey(workspace)
        yield* sendBatch(key, 1000, { from: number })
        yield* sendBatch(key, 1000, { from: other })
        for (const from of [number, other]) {
          assert.strictEqual(yield* code(send(key, { from })), "number_daily_cap_reached")
        }
      }),
    ),
  )

  it.effect("concurrent requests cannot overfill it", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        yield* sendBatch(key, 990)
        const results = yield* Effect.forEach(
          Array.from({ length: 30 }),
          () => Effect.result(send(key)),
          { concurrency: "unbounded" },
        )
        assert.lengthOf(
          results.filter(({ _tag }) => _tag === "Success"),
          10,
        )
      }),
    ),
  )
})

describe("a number that comes back with more than 1,000 waiting", () => {
  it.effect("sends 1,000 in 24 hours; the excess waits, still queued", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number } = yield* aSender()
        yield* logOut(number)
        const first = yield* sendBatch(key, 1000, { from: number })
        yield* pass(day)
        const next = yield* sendBatch(key, 1000, { from: number })
        yield* reconnect(number)
        yield* settled
        assert.lengthOf(yield* copies(), 1000)
        yield* pass(day - 1)
        assert.lengthOf(yield* copies(), 1000)
        assert.deepStrictEqual(new Set(yield* statuses(key, next)), new Set(["queued"]))
        yield* pass(1)
        const all = yield* copies()
        assert.deepStrictEqual<unknown>(
          all.map(({ messageId }) => messageId),
          [...first, ...next].map(({ id }) => id),
        )
        assert.deepStrictEqual(
          new Set(all.map(({ at }) => at)),
          new Set([noon + day, noon + 2 * day]),
        )
      }),
    ),
  )
})
