/** Clocks that are set forward, and machines that sleep: timers know nothing of either. */
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Latch } from "effect"
import type { Scope } from "effect"
import { RealTime } from "../../src/ports.ts"
import { events, send, sendBatch, status, statuses } from "./Operations.ts"
import { log, scheduled } from "./Reminding.ts"
import { ahead, aSender, hour, inAService, minute, settled } from "./Service.ts"
import type { TestService } from "./Service.ts"

/** A service whose clock leaps, while its timers go on as if nothing had happened. */
const inALeapingService = <E>(
  test: (
    leap: (millis: number) => Effect.Effect<void, unknown, TestService>,
  ) => Effect.Effect<void, E, TestService | Scope.Scope>,
) =>
  Effect.gen(function* () {
    const steady = yield* Clock.Clock
    const realTime = yield* RealTime
    const leaps = Latch.makeUnsafe(false)
    let leapt = 0
    const now = () => steady.currentTimeMillisUnsafe() + leapt
    const leap = (millis: number) =>
      Effect.gen(function* () {
        yield* settled
        leapt += millis
        yield* leaps.release
        yield* settled
      })
    yield* inAService(test(leap)).pipe(
      Effect.provideService(RealTime, { ...realTime, untilLeap: leaps.await }),
      Effect.provideService(Clock.Clock, {
        ...steady,
        currentTimeMillisUnsafe: now,
        currentTimeMillis: Effect.sync(now),
      }),
    )
  })

describe("when its machine has slept, or its clock was set forward", () => {
  it.effect("a service does at once what fell due meanwhile, and not what did not", () =>
    inALeapingService((leap) =>
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const planned = yield* sendBatch(key, 2, { send_at: yield* ahead(3 * hour) })
        const later = yield* send(key, { send_at: yield* ahead(5 * hour) })
        yield* leap(3 * hour - minute)
        assert.deepStrictEqual(yield* statuses(key, planned), ["scheduled", "scheduled"])
        yield* leap(minute)
        assert.deepStrictEqual(yield* statuses(key, planned), ["sent", "sent"])
        assert.strictEqual(yield* status(key, later), "scheduled")
      }),
    ),
  )

  it.effect("what expired meanwhile is told of at once", () =>
    inALeapingService((leap) =>
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const fields = { send_at: yield* ahead(2 * hour), expires_at: yield* ahead(3 * hour) }
        const message = yield* send(key, fields)
        yield* leap(4 * hour)
        assert.strictEqual(yield* status(key, message), "expired")
        assert.deepStrictEqual(yield* events(message), ["message.expired"])
      }),
    ),
  )

  it.effect("the latest run of a reminder is made up", () =>
    inALeapingService((leap) =>
      Effect.gen(function* () {
        const { key, workspace } = yield* aSender()
        const reminder = yield* scheduled(key, "0 15 * * *")
        yield* leap(3 * hour + 30 * minute)
        assert.deepStrictEqual(yield* log(workspace, reminder), [
          ["2026-03-02T15:00:00Z", "accepted", null],
        ])
      }),
    ),
  )
})
