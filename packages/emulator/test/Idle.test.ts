/** When time may move on although another process has work in flight. */
import { assert, it } from "@effect/vitest"
import { Housekeeping, IdleMonitor, WakeUp, deliveryLeaseMillis } from "@messaging-service/core"
import type { NumberId } from "@messaging-service/core"
import { Clock, Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { Idle, ParkedSends } from "../src/index.ts"
import { storeWith } from "@messaging-service/testkit"

const nextDue = 1_000_000

/**
 * The service as seen by this process, which has nothing in flight. The store takes its time, and always
 * finds another process at the attempt of that name, or at none; and a receiver's call with a lease until
 * that moment, or none.
 */
const anIdle = (attemptNow: () => string | null, deliveringUntil: number | null = null) =>
  Idle.layer.pipe(
    Layer.provide(IdleMonitor.layer),
    Layer.provide(
      storeWith({
        queue: {
          workload: () =>
            Effect.delay(
              Effect.sync(() => {
                const attempt = attemptNow()
                const inFlight = attempt === null ? [] : [{ numberId: 1 as NumberId, attempt }]
                return { nextDue, inFlight, deliveringUntil }
              }),
              "500 millis",
            ),
        },
      }),
    ),
    Layer.provide(Layer.merge(WakeUp.layerLocal, Housekeeping.layer)),
    Layer.provide(Layer.succeed(ParkedSends, { parked: Effect.succeed(new Set<NumberId>()) })),
  )

const stalled = Effect.forkChild(Effect.flatMap(Idle, (idle) => idle.stalled))

it.effect("another process's work in flight delays time for two seconds at most", () =>
  Effect.gen(function* () {
    const waiting = yield* stalled
    yield* TestClock.adjust("1900 millis")
    assert.isUndefined(waiting.pollUnsafe())
    yield* TestClock.adjust("2 seconds")
    assert.isDefined(waiting.pollUnsafe())
    assert.strictEqual(yield* Fiber.join(waiting), nextDue)
  }).pipe(Effect.provide(anIdle(() => "message 1 1"))),
)

it.effect("a lane that another process drains delays time until it is empty", () => {
  let checks = 0
  return Effect.gen(function* () {
    const waiting = yield* stalled
    yield* TestClock.adjust("40 seconds")
    assert.isUndefined(waiting.pollUnsafe())
    yield* TestClock.adjust("20 seconds")
    assert.isDefined(waiting.pollUnsafe())
    assert.strictEqual(checks, 101)
  }).pipe(Effect.provide(anIdle(() => (++checks > 100 ? null : `message 1 ${checks}`))))
})

it.effect("a receiver's call delays time for 16 s at most: then its worker has died", () =>
  Effect.gen(function* () {
    const waiting = yield* stalled
    yield* TestClock.adjust("15900 millis")
    assert.isUndefined(waiting.pollUnsafe())
    yield* TestClock.adjust("1 seconds")
    assert.isDefined(waiting.pollUnsafe())
    assert.strictEqual(yield* Fiber.join(waiting), nextDue)
  }).pipe(Effect.provide(anIdle(() => null, deliveryLeaseMillis))),
)

it.effect("work put back while the store was being asked is not overlooked", () => {
  let messages = 3
  /** A worker sends a message during each query, and puts its lane back as due. */
  const idle = Idle.layer.pipe(
    Layer.provide(IdleMonitor.layer),
    Layer.provide(
      storeWith({
        queue: {
          workload: () =>
            Effect.gen(function* () {
              yield* Effect.sleep("10 millis")
              messages--
              const due = messages > 0 ? yield* Clock.currentTimeMillis : null
              return { nextDue: due, inFlight: [], deliveringUntil: null }
            }),
        },
      }),
    ),
    Layer.provide(Layer.merge(WakeUp.layerLocal, Housekeeping.layer)),
    Layer.provide(Layer.succeed(ParkedSends, { parked: Effect.succeed(new Set<NumberId>()) })),
  )
  return Effect.gen(function* () {
    const settled = yield* Effect.forkChild(Effect.flatMap(Idle, (service) => service.settled))
    yield* TestClock.adjust("10 seconds")
    yield* Fiber.join(settled)
    assert.strictEqual(messages, 0)
  }).pipe(Effect.provide(idle))
})
