import { assert, describe, it } from "@effect/vitest"
import { RealTime } from "@messaging-service/core/ports"
import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"
import { realTimeLayer, systemClock } from "../src/NodeServices.ts"

describe("realTimeLayer", () => {
  it.effect("real time goes on where the service's clock does not move", () =>
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
