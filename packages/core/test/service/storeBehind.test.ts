/** A process with a store that goes back in time while it runs. */
import { assert, describe, it } from "@effect/vitest"
import { layer as layerStore } from "@messaging-service/store-memory"
import { Effect, Layer, Logger, Metric, References } from "effect"
import type { Scope } from "effect"
import { TestClock } from "effect/testing"
import {
  Readiness,
  Restoration,
  Store,
  StoreUnavailable,
  WorkGate,
  refusalOfStore,
} from "../../src/index.ts"
import type { MessageId, NumberId, StorePosition } from "../../src/index.ts"
import {
  behindBecause,
  layerWatchedStore,
  observe,
  withoutErased,
} from "../../src/service/StoreWatch.ts"
import { copies, send, status } from "./Operations.ts"
import { aSender, inAService, second, settled } from "./Service.ts"
import type { TestService } from "./Service.ts"
import { interruptEverywhere, storeChanged, storeWith } from "@messaging-service/testkit"

const position = (overrides: Partial<StorePosition> = {}): StorePosition => ({
  epoch: 1,
  messages: { given: 100, highest: 90 },
  events: { given: 200, highest: 190 },
  server: "first",
  risks: [],
  heldByCallers: [],
  missing: null,
  waitsAgain: null,
  ...overrides,
})

describe("a store", () => {
  const id = (of: number) => of as MessageId
  const observed = { ...observe(position(), null), accepted: [id(92), id(95)], ended: [id(80)] }

  it.effect("that has everything seen of it is not behind, on any server", () =>
    Effect.sync(() => {
      assert.isNull(behindBecause(observed, position()))
      assert.isNull(behindBecause(observed, position({ server: "second" })))
      // The latest messages were erased.
      const erased = position({ messages: { given: 95, highest: 3 }, missing: id(92) })
      assert.isNull(behindBecause(observed, erased))
    }),
  )

  it.effect("whose latest message was erased is not behind on another server", () =>
    Effect.sync(() => {
      const erased = position({ missing: id(95) })
      assert.deepStrictEqual(observe(erased, withoutErased(observed, erased)).accepted, [])
      const elsewhere = position({ missing: id(95), server: "second" })
      assert.strictEqual(withoutErased(observed, elsewhere), observed)
    }),
  )

  it.effect("is behind when ids, events or a message's end are missing", () =>
    Effect.sync(() => {
      const isBehind = (overrides: Partial<StorePosition>) =>
        behindBecause(observed, position(overrides)) !== null
      assert.isTrue(isBehind({ messages: { given: 94, highest: 94 } }))
      assert.isTrue(isBehind({ events: { given: 189, highest: 189 } }))
      assert.isTrue(isBehind({ waitsAgain: id(80) }))
      assert.isTrue(isBehind({ server: "second", missing: id(92) }))
      assert.isTrue(
        behindBecause({ ...observed, epoch: 2 }, position()) !== null,
        "its epoch is an older one",
      )
    }),
  )

  it.effect("is not behind in another epoch, which voids earlier sightings", () =>
    Effect.sync(() => {
      const next = position({ epoch: 2, messages: { given: 1, highest: 0 }, waitsAgain: id(80) })
      assert.isNull(behindBecause(observed, next))
      const then = observe(next, observed)
      assert.deepStrictEqual([then.highestMessage, then.accepted, then.ended], [0, [], []])
    }),
  )
})

/** A service over a store at that position, which fails while `away`. */
const onSharedStore = <A, E>(
  test: (server: {
    isUnavailable: boolean
    at: Partial<StorePosition>
  }) => Effect.Effect<A, E, TestService | Scope.Scope>,
  at: Partial<StorePosition> = {},
) => {
  const server = { isUnavailable: false, at }
  const unavailable = Effect.suspend(() =>
    server.isUnavailable
      ? Effect.fail(new StoreUnavailable({ operation: "any", cause: "away" }))
      : Effect.void,
  )
  const changed = storeChanged(({ queue, system }) => ({
    queue: { claim: (query) => Effect.andThen(unavailable, queue.claim(query)) },
    system: {
      position: () =>
        Effect.andThen(
          unavailable,
          Effect.map(system.epoch, ({ epoch }) => position({ epoch, ...server.at })),
        ),
    },
  }))
  return inAService(test(server), { store: Layer.provideMerge(changed, layerStore) })
}

const behind = { messages: { given: 3, highest: 3 } }

describe("a process whose store could lose commits", () => {
  it.effect("warns of it at the start, and shows each reason while it applies", () =>
    Effect.gen(function* () {
      const lines: Array<string> = []
      const log = Logger.layer([
        Logger.make(({ logLevel, message }) => void lines.push(`${logLevel} ${String(message)}`)),
      ])
      const shown = Effect.map(Metric.snapshot, (all) =>
        all
          .filter(({ id }) => id === "messaging_store_risk")
          .map(({ attributes, state }) => [
            attributes?.["risk"],
            "value" in state ? state.value : null,
          ])
          .toSorted(),
      )
      yield* onSharedStore(
        (server) =>
          Effect.gen(function* () {
            assert.deepStrictEqual(yield* shown, [
              ["asynchronous_commit", 0],
              ["asynchronous_standby", 1],
            ])
            server.at = {}
            yield* TestClock.adjust(5 * second)
            assert.deepStrictEqual(yield* shown, [
              ["asynchronous_commit", 0],
              ["asynchronous_standby", 0],
            ])
          }),
        { risks: ["asynchronous_standby"] },
      ).pipe(Effect.provide(log), Effect.provideService(Metric.MetricRegistry, new Map()))
      assert.lengthOf(
        lines.filter((line) => line.startsWith("Warn the database has a standby that is not sync")),
        1,
      )
    }),
  )
})

describe("a process whose store a caller's transaction holds", () => {
  it.effect("shows for how long, and names the number once", () =>
    Effect.gen(function* () {
      const lines: Array<unknown> = []
      const log = Logger.layer([
        Logger.make(({ fiber, logLevel, message }) => {
          if (logLevel !== "Warn") return
          const { number } = fiber.getRef(References.CurrentLogAnnotations)
          lines.push([number, String(message)])
        }),
      ])
      const seconds = Effect.map(Metric.snapshot, (all) =>
        all
          .filter(({ id }) => id === "messaging_callers_hold_seconds")
          .map(({ state }) => ("value" in state ? state.value : null)),
      )
      const hold = (transaction: string) => [{ numberId: 7 as NumberId, transaction }]
      yield* onSharedStore((server) =>
        Effect.gen(function* () {
          assert.deepStrictEqual(yield* seconds, [0])
          // Several in a row do not count as a long one.
          for (const transaction of ["a", "b", "c"]) {
            server.at = { heldByCallers: hold(transaction) }
            yield* TestClock.adjust(8 * second)
          }
          assert.deepStrictEqual(lines, [])
          yield* TestClock.adjust(52 * second)
          assert.isAtLeast(Number((yield* seconds)[0]), 50)
          assert.lengthOf(lines, 1)
          assert.match(JSON.stringify(lines), /\[7,"a transaction of the program's that cancelled/)
          server.at = {}
          yield* TestClock.adjust(4 * second)
          assert.deepStrictEqual(yield* seconds, [0])
        }),
      ).pipe(Effect.provide(log), Effect.provideService(Metric.MetricRegistry, new Map()))
    }),
  )
})

describe("a process whose store went back in time", () => {
  it.effect("accepts and sends nothing until `restored` is called", () =>
    onSharedStore((server) =>
      Effect.gen(function* () {
        const { key } = yield* aSender()
        yield* send(key)
        yield* settled
        server.at = behind
        yield* TestClock.adjust(5 * second)
        const gate = yield* WorkGate
        assert.match(gate.causes().get("store_behind") ?? "", /message ids up to 3 alone/)
        const failure = yield* Effect.flip(send(key))
        assert.strictEqual(
          failure._tag === "StoreUnavailable" ? refusalOfStore(failure).code : failure.code,
          "service_unavailable",
        )
        assert.isTrue((yield* (yield* Readiness).notReady).has("store_behind"))
        assert.lengthOf(yield* copies(), 1)

        yield* Restoration.use((all) => all.restored("owner", {}))
        yield* TestClock.adjust(5 * second)
        assert.strictEqual(gate.causes().size, 0)
        const message = yield* send(key)
        yield* settled
        assert.strictEqual(yield* status(key, message), "sent")
      }),
    ),
  )

  it.effect("claims nothing between an outage and its next check", () =>
    onSharedStore((server) =>
      Effect.gen(function* () {
        const { key } = yield* aSender()
        server.isUnavailable = true
        const waiting = yield* send(key)
        yield* TestClock.adjust(second)
        server.at = behind
        server.isUnavailable = false
        yield* TestClock.adjust(2 * second)
        assert.lengthOf(yield* copies(), 0)
        assert.strictEqual(yield* status(key, waiting), "queued")
        assert.isTrue((yield* WorkGate).causes().has("store_behind"))
      }),
    ),
  )

  it.effect("looks before the next claim also when a look is interrupted anywhere", () =>
    Effect.gen(function* () {
      const server = { isUnavailable: false, isSlow: false, checks: 0 }
      const unavailable = Effect.fail(new StoreUnavailable({ operation: "claim", cause: "away" }))
      const store = storeWith({
        queue: { claim: () => (server.isUnavailable ? unavailable : Effect.succeed([])) },
        system: {
          position: () =>
            Effect.suspend(() => {
              server.checks++
              return server.isSlow ? Effect.never : Effect.succeed(position())
            }),
        },
      })
      const ready = Layer.mock(Readiness, { raise: () => Effect.void })
      const gate = Layer.provide(WorkGate.layer, ready)
      const watched = layerWatchedStore.pipe(Layer.provide(Layer.merge(store, gate)))
      yield* Effect.gen(function* () {
        const { queue } = yield* Store
        const claimed = queue.claim({} as Parameters<typeof queue.claim>[0])
        const failed = Effect.suspend(() => {
          Object.assign(server, { isUnavailable: true, isSlow: false })
          return Effect.ignore(claimed)
        })
        yield* failed
        yield* interruptEverywhere(claimed, (operation) =>
          Effect.gen(function* () {
            Object.assign(server, { isUnavailable: false, isSlow: false, checks: 0 })
            yield* claimed
            assert.strictEqual(server.checks, 1, `interrupted before operation ${operation}`)
            yield* failed
            Object.assign(server, { isUnavailable: false, isSlow: true })
          }),
        )
      }).pipe(Effect.provide(watched))
    }),
  )
})
