/** A process whose system clock differs from the database's stops working until both agree. */
import { assert, describe, it } from "@effect/vitest"
import { layer as layerStore } from "@messaging-service/store-memory/emulator"
import { Clock, Effect, Layer, Metric } from "effect"
import type { Scope } from "effect"
import { TestClock } from "effect/testing"
import { NumberOwnership, Readiness, StoreUnavailable, WakeUp, WorkGate } from "../../src/index.ts"
import { cancel, events, refusal, send, status } from "./Operations.ts"
import { ahead, aSender, inAService, minute, second, settled } from "./Service.ts"
import type { TestService } from "./Service.ts"
import { storeChanged } from "@messaging-service/testkit"

/**
 * A service over a database whose clock is the test's time; the process is `processAhead`
 * milliseconds ahead of it. `answers`: whether the database tells its time.
 */
const onSkewedClock = <A, E>(
  processAhead: number,
  test: (
    setAhead: (millis: number) => Effect.Effect<void>,
  ) => Effect.Effect<A, E, TestService | Scope.Scope>,
  answers: () => boolean = () => true,
) =>
  Effect.gen(function* () {
    const databaseClock = yield* Clock.Clock
    let isAheadBy = 0
    const now = () => databaseClock.currentTimeMillisUnsafe() + isAheadBy
    const store = storeChanged(({ system: real }) => ({
      system: {
        ...real,
        databaseTime: Effect.suspend(() =>
          answers()
            ? databaseClock.currentTimeMillis
            : Effect.fail(new StoreUnavailable({ operation: "databaseTime", cause: "away" })),
        ),
      },
    })).pipe(Layer.provideMerge(layerStore))
    const setAhead = (millis: number) =>
      Effect.sync(() => {
        isAheadBy = millis
      })
    isAheadBy = processAhead
    return yield* inAService(test(setAhead), { store }).pipe(
      Effect.provideService(Clock.Clock, {
        ...databaseClock,
        currentTimeMillisUnsafe: now,
        currentTimeMillis: Effect.sync(now),
      }),
    )
  })

/** More turns than anything here needs that waits for no time. */
const comeToRest = Effect.forEach(Array.from({ length: 1000 }), () => Effect.yieldNow, {
  discard: true,
})

describe("a process with a wrong clock", () => {
  it.effect("sends no scheduled message early, and continues once the clock is right", () =>
    onSkewedClock(0, (setAhead) =>
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const message = yield* send(key, { sendAt: yield* ahead(3 * minute) })
        yield* settled
        yield* setAhead(2 * minute)
        yield* TestClock.adjust(minute)
        yield* TestClock.adjust(30 * second)
        yield* comeToRest
        // By its own clock the message is long due.
        assert.strictEqual(yield* status(key, message), "queued")
        assert.deepStrictEqual([...(yield* WorkGate).causes().keys()], ["clock"])

        yield* setAhead(0)
        yield* TestClock.adjust(5 * second)
        yield* settled
        assert.strictEqual((yield* WorkGate).causes().size, 0)
        assert.strictEqual(yield* status(key, message), "scheduled")
        yield* TestClock.adjust(2 * minute)
        yield* settled
        assert.strictEqual(yield* status(key, message), "sent")
      }),
    ),
  )

  it.effect("expires no message early", () =>
    onSkewedClock(0, (setAhead) =>
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const fields = { sendAt: yield* ahead(20 * minute), expiresAt: yield* ahead(30 * minute) }
        const message = yield* send(key, fields)
        yield* settled
        yield* setAhead(40 * minute)
        yield* TestClock.adjust(minute)
        // As when another process signals new work.
        yield* (yield* WakeUp).wake("expiry")
        yield* comeToRest
        yield* setAhead(0)
        yield* TestClock.adjust(20 * minute)
        yield* settled
        assert.strictEqual(yield* status(key, message), "sent")
        assert.deepStrictEqual(yield* events(message), ["message.sent"])
      }),
    ),
  )

  it.effect("cancels rather than expires a message before its time", () =>
    onSkewedClock(0, (setAhead) =>
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const fields = { sendAt: yield* ahead(20 * minute), expiresAt: yield* ahead(30 * minute) }
        const message = yield* send(key, fields)
        yield* settled
        yield* setAhead(40 * minute)
        yield* TestClock.adjust(minute)
        const cancelled = yield* cancel(key, message)
        assert.strictEqual(cancelled.status, "cancelled")
        assert.deepStrictEqual(yield* events(message), ["message.cancelled"])
      }),
    ),
  )

  it.effect("accepts nothing from its start, ahead or behind, and says why", () =>
    Effect.forEach([11 * second, -11 * second], (skew) =>
      onSkewedClock(skew, (setAhead) =>
        Effect.gen(function* () {
          const { key } = yield* aSender()
          const refused = yield* refusal(send(key))
          const { code, retryAfter, status } = refused
          assert.deepStrictEqual([code, status, retryAfter], ["service_unavailable", 503, 5])
          const gate = yield* WorkGate
          assert.match(
            gate.causes().get("clock") ?? "",
            skew > 0 ? /11.0 s ahead of/ : /11.0 s behind/,
          )
          assert.strictEqual((yield* Effect.flip(gate.pass)).code, "service_unavailable")
          const { notReady } = yield* Readiness
          assert.deepStrictEqual([...(yield* notReady).keys()], ["clock"])
          yield* setAhead(0)
          yield* TestClock.adjust(5 * second)
          yield* send(key)
        }),
      ),
    ),
  )

  it.effect("works with a skew of 10 s, and reports it as a warning and a metric", () =>
    onSkewedClock(-10 * second, () =>
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const message = yield* send(key)
        yield* settled
        assert.strictEqual(yield* status(key, message), "sent")
        const found = (yield* Metric.snapshot).find(
          ({ id }) => id === "messaging_clock_skew_seconds",
        )
        assert.deepInclude(found?.state, { value: -10 })
      }),
    ).pipe(Effect.provideService(Metric.MetricRegistry, new Map())),
  )

  it.effect("keeps its last verdict while the store does not answer", () => {
    let answers = true
    return onSkewedClock(
      0,
      (setAhead) =>
        Effect.gen(function* () {
          const gate = yield* WorkGate
          yield* setAhead(minute)
          yield* TestClock.adjust(minute)
          assert.strictEqual(gate.causes().size, 1)
          answers = false
          yield* setAhead(0)
          yield* TestClock.adjust(minute)
          assert.strictEqual(gate.causes().size, 1)
          answers = true
          yield* TestClock.adjust(5 * second)
          assert.strictEqual(gate.causes().size, 0)
        }),
      () => answers,
    )
  })
})

describe("the gate", () => {
  it.effect("stays closed until the last cause is gone, then runs the loops again", () =>
    Effect.gen(function* () {
      const gate = yield* WorkGate
      let running = 0
      const work = Effect.acquireUseRelease(
        Effect.sync(() => void running++),
        () => Effect.never,
        () => Effect.sync(() => void running--),
      )
      yield* Effect.forkScoped(gate.whileOpen(work))
      yield* comeToRest
      assert.strictEqual(running, 1)
      yield* gate.close("clock", "it is wrong")
      yield* gate.close("store_behind", "it went back")
      yield* comeToRest
      assert.strictEqual(running, 0)
      yield* gate.open("clock")
      yield* comeToRest
      assert.strictEqual(running, 0)
      assert.deepStrictEqual([...gate.causes()], [["store_behind", "it went back"]])
      yield* gate.open("store_behind")
      yield* comeToRest
      assert.strictEqual(running, 1)
      yield* gate.pass
    }).pipe(
      Effect.provide(
        WorkGate.layer.pipe(Layer.provide(Layer.mock(Readiness, { raise: () => Effect.void }))),
      ),
    ),
  )

  it.effect("hands the worker's numbers to others while closed", () => {
    let holds = 0
    const ownership = Layer.effect(
      NumberOwnership,
      Effect.map(NumberOwnership, (real) =>
        NumberOwnership.of({
          ...real,
          hold: Effect.acquireUseRelease(
            Effect.sync(() => void holds++),
            () => Effect.never,
            () => Effect.sync(() => void holds--),
          ),
        }),
      ),
    ).pipe(Layer.provide(NumberOwnership.layerAll))
    return inAService(
      Effect.gen(function* () {
        const gate = yield* WorkGate
        assert.strictEqual(holds, 1)
        yield* gate.close("store_behind", "it went back")
        yield* comeToRest
        assert.strictEqual(holds, 0)
        yield* gate.open("store_behind")
        yield* comeToRest
        assert.strictEqual(holds, 1)
      }),
      { ownership },
    )
  })
})
