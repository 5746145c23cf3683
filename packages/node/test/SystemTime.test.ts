import { assert, describe, it } from "@effect/vitest"
import { RealTime } from "@messaging-service/core"
import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"
import { realTimeLayer, systemClock, untilLeaptOver } from "../src/NodeServices.ts"

describe("realTimeLayer", () => {
  it.effect("real time advances while the service's clock is stopped", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(5000)
      const before = systemClock.monotonicTimeNanosUnsafe()
      const realTime = yield* RealTime
      yield* realTime.sleep("2 millis")
      assert.isTrue(systemClock.monotonicTimeNanosUnsafe() - before > 0n)
      assert.strictEqual(yield* Clock.currentTimeMillis, 5000)
    }).pipe(Effect.provide(realTimeLayer)),
  )
})

describe("a clock jump", () => {
  /** Number of checks until one finds a jump, where each check sees the next lead. */
  const looksUntilLeap = (leads: ReadonlyArray<number>) =>
    Effect.gen(function* () {
      let checks = 0
      const last = leads.length - 1
      const readLead = () => leads[Math.min(checks, last)] ?? 0
      const sleep = () => Effect.sync(() => void checks++)
      yield* untilLeaptOver(sleep, readLead)
      return checks
    })

  it.effect("is found where the clock is a second further on than the steady one", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* looksUntilLeap([50, 50, 1049, 1050]), 3)
      assert.strictEqual(yield* looksUntilLeap([0, 7_200_000]), 1)
    }),
  )

  it.effect("excludes a clock set back, but includes its correction", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* looksUntilLeap([0, -7_200_000, -7_200_000, 0]), 3)
    }),
  )
})
