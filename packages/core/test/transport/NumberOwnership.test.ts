/** Of several workers on one store one holds the numbers, and another goes on when it is gone. */
import { assert, it } from "@effect/vitest"
import { Context, Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { Ids } from "../../src/id/Ids.ts"
import { NumberOwnership } from "../../src/transport/NumberOwnership.ts"
import { layerStored } from "../secret/layerSecrets.ts"
import type { Stored } from "../secret/layerSecrets.ts"

/** A worker of its own on that store. */
const aWorker = (stored: Stored) =>
  Layer.build(
    Layer.fresh(NumberOwnership.layerLeased).pipe(
      Layer.provide([layerStored(stored), Ids.layerRandom]),
    ),
  ).pipe(Effect.map((built) => Context.get(built, NumberOwnership)))

const twoWorkers = Effect.gen(function* () {
  const stored: Stored = new Map()
  return [yield* aWorker(stored), yield* aWorker(stored)] as const
})

it.effect("the first to ask holds all numbers for as long as it asks, and the other none", () =>
  Effect.gen(function* () {
    const [first, second] = yield* twoWorkers
    assert.deepStrictEqual(yield* first.owned, [])
    yield* Effect.forkChild(first.hold)
    yield* TestClock.adjust("1 second")
    yield* Effect.forkChild(second.hold)
    for (let minute = 0; minute < 5; minute++) {
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(yield* first.owned, "all")
      assert.deepStrictEqual(yield* second.owned, [])
    }
  }),
)

it.effect("a worker that stops lets the other go on at its next look", () =>
  Effect.gen(function* () {
    const [first, second] = yield* twoWorkers
    const holding = yield* Effect.forkChild(first.hold)
    yield* TestClock.adjust("1 second")
    yield* Effect.forkChild(second.hold)
    yield* TestClock.adjust("1 second")
    yield* Fiber.interrupt(holding)
    assert.deepStrictEqual(yield* first.owned, [])
    yield* TestClock.adjust("10 seconds")
    assert.strictEqual(yield* second.owned, "all")
  }),
)

it.effect("never do both hold them, when the store answers one of them no more", () =>
  Effect.gen(function* () {
    const stored: Stored = new Map()
    const [first, second] = [yield* aWorker(stored), yield* aWorker(stored)]
    // It takes the lease, and is not heard of again.
    const holding = yield* Effect.forkChild(first.hold)
    yield* TestClock.adjust("1 second")
    const lease = [...stored]
    yield* Fiber.interrupt(holding)
    for (const [name, value] of lease) stored.set(name, value)
    yield* Effect.forkChild(second.hold)
    for (let second_ = 0; second_ < 60; second_++) {
      const both = [yield* first.owned, yield* second.owned].filter((owned) => owned === "all")
      assert.isAtMost(both.length, 1)
      yield* TestClock.adjust("1 second")
    }
    assert.strictEqual(yield* second.owned, "all")
  }),
)
