/** Clocks set forward, and machines that sleep: timers notice neither. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Scope } from "effect"
import { withLeaps } from "./Leaping.ts"
import { events, send, sendBatch, status, statuses } from "./Operations.ts"
import { log, scheduled } from "./Reminding.ts"
import { ahead, aSender, hour, inAService, minute, settled } from "./Service.ts"
import type { TestService } from "./Service.ts"

/** A service with a clock that jumps, idle before and after. */
const inALeapingService = <E>(
  test: (
    leap: (millis: number) => Effect.Effect<void, unknown, TestService>,
  ) => Effect.Effect<void, E, TestService | Scope.Scope>,
) =>
  withLeaps((leap) =>
    inAService(
      test((millis) => settled.pipe(Effect.andThen(leap(millis)), Effect.andThen(settled))),
    ),
  )

describe("after its machine slept, or its clock was set forward", () => {
  it.effect("a service at once does what fell due, and nothing else", () =>
    inALeapingService((leap) =>
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const planned = yield* sendBatch(key, 2, { sendAt: yield* ahead(3 * hour) })
        const later = yield* send(key, { sendAt: yield* ahead(5 * hour) })
        yield* leap(3 * hour - minute)
        assert.deepStrictEqual(yield* statuses(key, planned), ["scheduled", "scheduled"])
        yield* leap(minute)
        assert.deepStrictEqual(yield* statuses(key, planned), ["sent", "sent"])
        assert.strictEqual(yield* status(key, later), "scheduled")
      }),
    ),
  )

  it.effect("an expiry is reported at once", () =>
    inALeapingService((leap) =>
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const fields = { sendAt: yield* ahead(2 * hour), expiresAt: yield* ahead(3 * hour) }
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
