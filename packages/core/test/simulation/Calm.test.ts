/** When time may move on although another process has something in its hands. */
import { assert, it } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import type { NumberId } from "../../src/id/Ids.ts"
import { WakeUp } from "../../src/queue/WakeUp.ts"
import { WorkStatus } from "../../src/queue/WorkStatus.ts"
import { Calm } from "../../src/simulation/Calm.ts"
import { ParkedSends } from "../../src/simulation/ParkedSends.ts"

/** Another process has a message in its hands for ever, and the store takes its time to say so. */
const aSlowStore = Layer.mock(WorkStatus, {
  nextDue: () => Effect.succeed(null),
  inFlight: () => Effect.delay(Effect.succeed([1 as NumberId]), "500 millis"),
  checking: Effect.succeed([]),
  deliveringUntil: Effect.succeed(null),
})

const layer = Calm.layer.pipe(
  Layer.provide(aSlowStore),
  Layer.provide(WakeUp.layerLocal),
  Layer.provide(Layer.succeed(ParkedSends, { parked: Effect.succeed(new Set<NumberId>()) })),
)

it.effect("what another process has in its hands holds time up for two seconds, not for ever", () =>
  Effect.gen(function* () {
    const calm = yield* Calm
    const waiting = yield* Effect.forkChild(calm.stalled)
    yield* TestClock.adjust("1900 millis")
    assert.isUndefined(waiting.pollUnsafe())
    yield* TestClock.adjust("1 second")
    assert.isDefined(waiting.pollUnsafe())
    yield* Fiber.join(waiting)
  }).pipe(Effect.provide(layer)),
)
