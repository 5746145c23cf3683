/** Readiness: why a process is not ready, logged once. */
import { assert, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Logger } from "effect"
import { TestClock } from "effect/testing"
import {
  MediaFiles,
  MediaFilesError,
  Readiness,
  StoreUnavailable,
  WorkGate,
} from "../../src/index.ts"
import { interruptEverywhere, storeWith } from "@messaging-service/testkit"

/** A readiness with scripted answers of store and disk, and its log. */
const aReadiness = Effect.gen(function* () {
  const lines: Array<string> = []
  const answers: {
    ping: Effect.Effect<void, StoreUnavailable>
    ready: Effect.Effect<void, MediaFilesError>
  } = { ping: Effect.void, ready: Effect.void }
  const ports = Layer.mergeAll(
    storeWith({ system: { ping: Effect.suspend(() => answers.ping) } }),
    Layer.mock(MediaFiles, { ready: Effect.suspend(() => answers.ready), isRetained: true }),
  )
  const log = Logger.layer([
    Logger.make(({ logLevel, message }) => void lines.push(`${logLevel} ${String(message)}`)),
  ])
  const context = yield* Layer.build(Layer.merge(Readiness.layer.pipe(Layer.provide(ports)), log))
  return { answers, context, lines }
})

const refused = new StoreUnavailable({
  operation: "ping",
  cause: new Error("the pool failed", { cause: new Error("connection refused") }),
})

it.effect("a process is unready for each current reason, and one line lists them", () =>
  Effect.gen(function* () {
    const { answers, context, lines } = yield* aReadiness
    yield* Effect.gen(function* () {
      const { notReady, raise } = yield* Readiness
      assert.deepStrictEqual([...(yield* notReady)], [])
      assert.deepStrictEqual(lines, [])

      answers.ping = Effect.fail(refused)
      answers.ready = Effect.fail(
        new MediaFilesError({ reason: "full", cause: "the disk is full" }),
      )
      const store = ["store", "connection refused"] as const
      const disk = ["disk", "the disk is full"] as const
      for (let times = 0; times < 3; times++) {
        assert.deepStrictEqual([...(yield* notReady)], [store, disk])
      }
      const both = "Warn not ready: store (connection refused), disk (the disk is full)"
      assert.deepStrictEqual(lines, [both])

      answers.ping = Effect.void
      answers.ready = Effect.void
      assert.deepStrictEqual([...(yield* notReady)], [])
      assert.deepStrictEqual(lines.slice(1), ["Info ready again"])

      yield* raise("clock", "12 s ahead")
      assert.deepStrictEqual([...(yield* notReady)], [["clock", "12 s ahead"]])
      yield* raise("clock", null)
      assert.deepStrictEqual([...(yield* notReady)], [])
      assert.deepStrictEqual(lines.slice(2), [
        "Warn not ready: clock (12 s ahead)",
        "Info ready again",
      ])
    }).pipe(Effect.provideContext(context))
  }),
)

it.effect("logs changing reasons once a minute", () =>
  Effect.gen(function* () {
    const { answers, context, lines } = yield* aReadiness
    yield* Effect.gen(function* () {
      const { notReady } = yield* Readiness
      for (let second = 0; second < 90; second++) {
        answers.ping = second % 2 === 0 ? Effect.fail(refused) : Effect.void
        yield* notReady
        yield* TestClock.adjust("1 second")
      }
      assert.deepStrictEqual(lines, [
        "Warn not ready: store (connection refused)",
        "Info ready again",
        "Warn not ready: store (connection refused)",
        "Info ready again",
      ])
    }).pipe(Effect.provideContext(context))
  }),
)

it.effect(
  "a store that answers late is slow; one that keeps silent for three times as long is away",
  () =>
    Effect.gen(function* () {
      const { answers, context } = yield* aReadiness
      yield* Effect.gen(function* () {
        const { isStoreSlow, notReady } = yield* Readiness
        const after = (millis: number) =>
          Effect.gen(function* () {
            const request = yield* Effect.forkChild(notReady)
            yield* TestClock.adjust(millis)
            return [...(yield* Fiber.join(request))]
          })
        assert.deepStrictEqual([yield* after(0), yield* isStoreSlow], [[], false])
        answers.ping = Effect.sleep("5 seconds")
        assert.deepStrictEqual([yield* after(5000), yield* isStoreSlow], [[], true])
        answers.ping = Effect.never
        const unavailable = ["store", "no answer within 6 seconds"]
        assert.deepStrictEqual([yield* after(6000), yield* isStoreSlow], [[unavailable], false])
      }).pipe(Effect.provideContext(context))
    }),
)

it.effect("a store that has no room on its disk is a reason by that name", () =>
  Effect.gen(function* () {
    const { answers, context } = yield* aReadiness
    yield* Effect.gen(function* () {
      const { notReady } = yield* Readiness
      const cause = new Error("could not extend file: No space left on device")
      answers.ping = Effect.fail(
        new StoreUnavailable({ operation: "ping", cause, isDiskFull: true }),
      )
      assert.deepStrictEqual([...(yield* notReady)], [["disk", cause.message]])
    }).pipe(Effect.provideContext(context))
  }),
)

it.effect("an unresponsive or failing store is a reason", () =>
  Effect.gen(function* () {
    const { answers, context } = yield* aReadiness
    yield* Effect.gen(function* () {
      const { notReady } = yield* Readiness
      answers.ping = Effect.never
      const request = yield* Effect.forkChild(notReady)
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(
        [...(yield* Fiber.join(request))],
        [["store", "no answer within 2 seconds"]],
      )
      answers.ping = Effect.die(new Error("a bug"))
      assert.deepStrictEqual([...(yield* notReady)], [["store", "a bug"]])
    }).pipe(Effect.provideContext(context))
  }),
)

it.effect(
  "a cause that no longer closes the gate is no reason, however its end is interrupted",
  () =>
    Effect.gen(function* () {
      const { context } = yield* aReadiness
      yield* Effect.gen(function* () {
        const { notReady } = yield* Readiness
        const gate = yield* WorkGate
        yield* interruptEverywhere(gate.open("clock"), (operation) =>
          Effect.gen(function* () {
            assert.deepStrictEqual(
              [...(yield* notReady).keys()],
              [...gate.causes().keys()],
              `interrupted before operation ${operation}`,
            )
            yield* gate.close("clock", "12 s ahead")
          }),
        )
      }).pipe(Effect.provide(WorkGate.layer), Effect.provideContext(context))
    }),
)
