import { assert, describe, it } from "@effect/vitest"
import { day, hour, minute, noon } from "@messaging-service/testkit/world"
import { Effect, Random } from "effect"
import { Ids } from "../../src/model/Ids.ts"
import { drawPauseMillis, liveWhatsAppPacing, unpaced } from "../../src/model/Pacing.ts"
import type { Pacing } from "../../src/model/Pacing.ts"
import { cappedUntil, limitedUntil } from "../../src/model/Lane.ts"

const rests = (pacing: Pacing, count: number, seed = "rests") =>
  Effect.map(Ids, (ids) => Array.from({ length: count }, () => drawPauseMillis(pacing, ids))).pipe(
    Effect.provide(Ids.layerRandom),
    Random.withSeed(seed),
  )

describe("the rest after a message", () => {
  it.effect("is drawn uniformly between shortest and longest", () =>
    Effect.gen(function* () {
      const drawn = yield* rests(liveWhatsAppPacing, 20_000)
      assert.isAtLeast(Math.min(...drawn), 1000)
      assert.isAtMost(Math.max(...drawn), 3000)
      // Ten bins of equal width, each within a tenth of its expected count.
      const parts = Array.from({ length: 10 }, () => 0)
      for (const rest of drawn) {
        const part = Math.min(9, Math.floor((rest - 1000) / 200))
        parts[part] = (parts[part] ?? 0) + 1
      }
      for (const count of parts) assert.closeTo(count, 2000, 200)
      assert.isAtLeast(new Set(drawn).size, 1900)
    }),
  )

  it.effect("includes both ends, and repeats for the same random source", () =>
    Effect.gen(function* () {
      const few = { ...unpaced, minIntervalMillis: 5, jitterMillis: 1 }
      assert.deepStrictEqual([...new Set(yield* rests(few, 100))].toSorted(), [5, 6])
      assert.deepStrictEqual(
        yield* rests(liveWhatsAppPacing, 50, "a"),
        yield* rests(liveWhatsAppPacing, 50, "a"),
      )
      assert.notDeepEqual(
        yield* rests(liveWhatsAppPacing, 50, "a"),
        yield* rests(liveWhatsAppPacing, 50, "b"),
      )
    }),
  )

  it.effect("is zero without pacing, and exact without jitter", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* rests(unpaced, 3), [0, 0, 0])
      assert.deepStrictEqual(yield* rests({ ...unpaced, minIntervalMillis: 700 }, 2), [700, 700])
    }),
  )
})

describe("the limits of a number", () => {
  const facts = {
    sentTimes: [],
    firstTimes: [],
    isNewRecipient: false,
    dailyLimit: { messages: 1000, windowMillis: day },
    pacing: null,
  }

  it.effect("a window has room again as its oldest counted message leaves", () =>
    Effect.sync(() => {
      const limit = { messages: 2, windowMillis: minute }
      const times = [noon - 50, noon - 40, noon - 30]
      assert.isNull(cappedUntil([noon - 30], noon, limit))
      assert.strictEqual(cappedUntil(times, noon, limit), noon - 40 + minute)
      assert.strictEqual(cappedUntil(times, noon - 40 + minute - 1, limit), noon - 40 + minute)
      assert.isNull(cappedUntil(times, noon - 40 + minute, limit))
      assert.isNull(cappedUntil([noon + 1, noon + 2], noon, limit))
    }),
  )

  it.effect("all apply at once: the last to admit the message decides", () =>
    Effect.sync(() => {
      const sentTimes = [noon - 2 * minute, noon - 2, noon - 1]
      const until = (pacing: Partial<Pacing>) =>
        limitedUntil({ ...facts, sentTimes, pacing: { ...unpaced, ...pacing } }, noon)
      assert.isNull(until({}))
      assert.isNull(until({ perMinute: 3, perHour: 4 }))
      assert.strictEqual(until({ perMinute: 2 }), noon - 2 + minute)
      assert.strictEqual(until({ perMinute: 2, perHour: 3 }), noon - 2 * minute + hour)
      assert.strictEqual(
        limitedUntil({ ...facts, sentTimes, dailyLimit: { messages: 1, windowMillis: day } }, noon),
        noon - 1 + day,
      )
    }),
  )

  it.effect("delays new recipients, not known ones", () =>
    Effect.sync(() => {
      const input = {
        ...facts,
        firstTimes: [noon - 2 * day, noon - hour],
        pacing: { ...unpaced, newRecipientsPerDay: 1 },
      }
      assert.isNull(limitedUntil(input, noon))
      assert.strictEqual(limitedUntil({ ...input, isNewRecipient: true }, noon), noon - hour + day)
      assert.isNull(limitedUntil({ ...input, isNewRecipient: true }, noon - hour + day))
    }),
  )
})
