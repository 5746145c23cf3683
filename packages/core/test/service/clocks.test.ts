/** A process stops working while its system clock differs from the database's. */
import { assert, describe, it } from "@effect/vitest"
import { layer as layerStore } from "@messaging-service/store-memory"
import { Clock, Effect, Layer, Metric } from "effect"
import type { Scope } from "effect"
import { TestClock } from "effect/testing"
import {
  NumberOwnership,
  Readiness,
  StoreUnavailable,
  WakeUp,
  Webhooks,
  WorkGate,
} from "../../src/index.ts"
import { cancel, events, refusal, send, status } from "./Operations.ts"
import { receiving } from "./Receiving.ts"
import { ahead, aSender, hour, inAService, minute, noon, second, settled } from "./Service.ts"
import type { ServiceParts, TestService } from "./Service.ts"
import { storeChanged } from "@messaging-service/testkit"

/**
 * A service over a database with the test's time as its clock; the process is `processAhead`
 * milliseconds ahead of it. `answers`: whether the database tells its time. `sharesLeaps`: it leaps too.
 */
const onSkewedClock = <A, E>(
  processAhead: number,
  test: (
    setAhead: (millis: number) => Effect.Effect<void>,
  ) => Effect.Effect<A, E, TestService | Scope.Scope>,
  {
    answers = () => true,
    sharesLeaps = false,
    ...parts
  }: ServiceParts & { readonly answers?: () => boolean; readonly sharesLeaps?: boolean } = {},
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
            ? Effect.sync(() => (sharesLeaps ? now() : databaseClock.currentTimeMillisUnsafe()))
            : Effect.fail(new StoreUnavailable({ operation: "databaseTime", cause: "away" })),
        ),
      },
    })).pipe(Layer.provideMerge(layerStore))
    const setAhead = (millis: number) =>
      Effect.sync(() => {
        isAheadBy = millis
      })
    isAheadBy = processAhead
    return yield* inAService(test(setAhead), { ...parts, store }).pipe(
      Effect.provideService(Clock.Clock, {
        ...databaseClock,
        currentTimeMillisUnsafe: now,
        currentTimeMillis: Effect.sync(now),
      }),
    )
  })

/** More turns than anything here needs that waits for no time. */
const becomeIdle = Effect.forEach(Array.from({ length: 1000 }), () => Effect.yieldNow, {
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
        yield* becomeIdle
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
        yield* becomeIdle
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
      { answers: () => answers },
    )
  })
})

describe("a clock that leaps", () => {
  it.effect.each([hour, -hour, 3 * second])(
    "by %d ms decides nothing until it was compared, also once it has come back",
    (leap) => {
      let answers = true
      return onSkewedClock(
        0,
        (setAhead) =>
          Effect.gen(function* () {
            const { key } = yield* aSender()
            const { causes } = yield* WorkGate
            answers = false
            yield* setAhead(leap)
            // No time passes: the look at the time itself closes the gate.
            const refused = yield* refusal(send(key))
            assert.deepStrictEqual([refused.code, refused.status], ["service_unavailable", 503])
            assert.include(causes().get("clock"), `leapt by ${(leap / second).toFixed(1)} s`)
            yield* TestClock.adjust(6 * second)
            yield* setAhead(0)
            assert.strictEqual((yield* refusal(send(key))).code, "service_unavailable")
            answers = true
            yield* TestClock.adjust(5 * second)
            const message = yield* send(key)
            yield* settled
            assert.strictEqual(yield* status(key, message), "sent")
          }),
        { answers: () => answers },
      )
    },
  )

  it.effect("goes on at once where the database agrees with it", () =>
    onSkewedClock(3 * second, (setAhead) =>
      Effect.gen(function* () {
        const { key } = yield* aSender()
        yield* setAhead(0)
        yield* Effect.ignore((yield* WorkGate).pass)
        yield* becomeIdle
        yield* send(key)
      }),
    ),
  )

  it.effect("together with the database's counts once it has lasted ten seconds", () =>
    onSkewedClock(
      0,
      (setAhead) =>
        Effect.gen(function* () {
          const { key } = yield* aSender()
          const { causes } = yield* WorkGate
          const leap = Effect.andThen(setAhead(hour), refusal(send(key)))
          assert.strictEqual((yield* leap).code, "service_unavailable")
          yield* TestClock.adjust(5 * second)
          assert.strictEqual(causes().size, 1)
          yield* setAhead(0)
          yield* TestClock.adjust(5 * second)
          assert.strictEqual(causes().size, 0)
          assert.strictEqual((yield* leap).code, "service_unavailable")
          yield* TestClock.adjust(10 * second)
          const { created_at: createdAt } = yield* send(key)
          assert.isAtLeast(Date.parse(createdAt), noon + hour)
        }),
      { sharesLeaps: true },
    ),
  )

  it.effect("puts off no retry of a call that it meets on the way", () => {
    const { egress, posts } = receiving(() =>
      Effect.as(Effect.sleep(5 * second), { status: 500, headers: {} }),
    )
    return onSkewedClock(
      0,
      (setAhead) =>
        Effect.gen(function* () {
          const { key } = yield* aSender()
          yield* Webhooks.use((webhooks) =>
            webhooks.create(key, { url: "https://example.com/hook" }, null),
          )
          yield* send(key)
          yield* settled
          yield* setAhead(hour)
          yield* TestClock.adjust(5 * second)
          yield* setAhead(0)
          yield* TestClock.adjust(20 * second)
          assert.lengthOf(posts, 2)
        }),
      { egress },
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
      yield* becomeIdle
      assert.strictEqual(running, 1)
      yield* gate.close("clock", "it is wrong")
      yield* gate.close("store_behind", "it went back")
      yield* becomeIdle
      assert.strictEqual(running, 0)
      yield* gate.open("clock")
      yield* becomeIdle
      assert.strictEqual(running, 0)
      assert.deepStrictEqual([...gate.causes()], [["store_behind", "it went back"]])
      yield* gate.open("store_behind")
      yield* becomeIdle
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
          run: Effect.acquireUseRelease(
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
        yield* becomeIdle
        assert.strictEqual(holds, 0)
        yield* gate.open("store_behind")
        yield* becomeIdle
        assert.strictEqual(holds, 1)
      }),
      { ownership },
    )
  })
})
