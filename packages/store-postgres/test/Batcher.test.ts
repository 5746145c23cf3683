/** Batches: what goes together, what goes at once, and who learns of a failure. */
import { assert, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber } from "effect"
import { interruptEverywhere } from "@messaging-service/testkit"
import { batched } from "../src/database/Batcher.ts"

/** A statement that answers when the test says so, and remembers what it was asked. */
const aStatement = Effect.gen(function* () {
  const batches: Array<ReadonlyArray<number>> = []
  const gates: Array<Deferred.Deferred<void, string>> = []
  const run = (inputs: ReadonlyArray<number>) =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void, string>()
      batches.push(inputs)
      gates.push(gate)
      yield* Deferred.await(gate)
      return inputs.map((input) => input * 10)
    })
  const toGate = (index: number) => gates[index] ?? Deferred.makeUnsafe<void, string>()
  return {
    run,
    batches,
    finish: (index: number) => Deferred.succeed(toGate(index), undefined),
    fail: (index: number, reason: string) => Deferred.fail(toGate(index), reason),
  }
})

const settings = {
  concurrency: 1,
  crowd: 1,
  maxBatch: 3,
  isSeparable: (reason: string) => reason === "one's own",
  isBlockedByLock: (reason: string) => reason === "held up",
  blockedMillis: 1000,
}

const start = <A, E>(call: Effect.Effect<A, E>) =>
  Effect.forkChild(call, { startImmediately: true })

it.effect("a call that finds a free place starts at once, alone", () =>
  Effect.gen(function* () {
    const statement = yield* aStatement
    const call = yield* batched(statement.run, { ...settings, concurrency: 2 })
    yield* start(call(1))
    yield* start(call(2))
    assert.deepStrictEqual(statement.batches, [[1], [2]])
  }),
)

it.effect("another statement begins beside one once so many calls wait, and while they do", () =>
  Effect.gen(function* () {
    const statement = yield* aStatement
    const call = yield* batched(statement.run, {
      ...settings,
      concurrency: 2,
      crowd: 3,
      maxBatch: 4,
    })
    const fibers = yield* Effect.forEach([1, 2, 3], (input) => start(call(input)))
    assert.deepStrictEqual(statement.batches, [[1]])
    fibers.push(...(yield* Effect.forEach([4, 5, 6], (input) => start(call(input)))))
    assert.deepStrictEqual(statement.batches, [[1], [2, 3, 4]])
    yield* statement.finish(1)
    yield* Effect.yieldNow
    assert.deepStrictEqual(statement.batches, [[1], [2, 3, 4]])
    yield* statement.finish(0)
    yield* Effect.yieldNow
    assert.deepStrictEqual(statement.batches, [[1], [2, 3, 4], [5, 6]])
    yield* statement.finish(2)
    assert.deepStrictEqual(yield* Effect.forEach(fibers, Fiber.join), [10, 20, 30, 40, 50, 60])
  }),
)

it.effect("what queues up while all places are taken goes together, at most so many", () =>
  Effect.gen(function* () {
    const statement = yield* aStatement
    const call = yield* batched(statement.run, settings)
    const fibers = yield* Effect.forEach([1, 2, 3, 4, 5], (input) => start(call(input)))
    assert.deepStrictEqual(statement.batches, [[1]])
    yield* statement.finish(0)
    yield* Effect.yieldNow
    assert.deepStrictEqual(statement.batches, [[1], [2, 3, 4]])
    yield* statement.finish(1)
    yield* Effect.yieldNow
    yield* statement.finish(2)
    assert.deepStrictEqual(statement.batches, [[1], [2, 3, 4], [5]])
    assert.deepStrictEqual(yield* Effect.forEach(fibers, Fiber.join), [10, 20, 30, 40, 50])
  }),
)

it.effect("a place is free again after its last call", () =>
  Effect.gen(function* () {
    const statement = yield* aStatement
    const call = yield* batched(statement.run, settings)
    const first = yield* start(call(1))
    yield* statement.finish(0)
    yield* Fiber.join(first)
    yield* start(call(2))
    assert.deepStrictEqual(statement.batches, [[1], [2]])
  }),
)

it.effect("each caller gets a failure of the batch", () =>
  Effect.gen(function* () {
    const statement = yield* aStatement
    const call = yield* batched(statement.run, settings)
    const fibers = yield* Effect.forEach([1, 2, 3], (input) => start(call(input)))
    yield* statement.finish(0)
    yield* Effect.yieldNow
    yield* statement.fail(1, "no answer")
    const exits = yield* Effect.forEach(fibers, Fiber.await)
    assert.deepStrictEqual(exits, [
      Exit.succeed(10),
      Exit.fail("no answer"),
      Exit.fail("no answer"),
    ])
    assert.lengthOf(statement.batches, 2)
  }),
)

it.effect("a failure that may be one call's own doing does not touch the others", () =>
  Effect.gen(function* () {
    const batches: Array<ReadonlyArray<number>> = []
    const gate = yield* Deferred.make<void>()
    const run = (inputs: ReadonlyArray<number>) =>
      Effect.gen(function* () {
        batches.push(inputs)
        if (inputs.includes(1)) yield* Deferred.await(gate)
        if (inputs.includes(3)) return yield* Effect.fail("one's own")
        return inputs
      })
    const call = yield* batched(run, settings)
    const fibers = yield* Effect.forEach([1, 2, 3, 4], (input) => start(call(input)))
    yield* Deferred.succeed(gate, undefined)
    const exits = yield* Effect.forEach(fibers, Fiber.await)
    assert.deepStrictEqual(exits, [
      Exit.succeed(1),
      Exit.succeed(2),
      Exit.fail("one's own"),
      Exit.succeed(4),
    ])
    assert.deepStrictEqual(batches, [[1], [2, 3, 4], [2], [3], [4]])
  }),
)

it.effect("a caller that gives up while it waits takes its call with it", () =>
  Effect.gen(function* () {
    const statement = yield* aStatement
    const call = yield* batched(statement.run, settings)
    const first = yield* start(call(1))
    const second = yield* start(call(2))
    const third = yield* start(call(3))
    yield* Fiber.interrupt(second)
    yield* statement.finish(0)
    yield* Fiber.join(first)
    yield* statement.finish(1)
    assert.strictEqual(yield* Fiber.join(third), 30)
    assert.deepStrictEqual(statement.batches, [[1], [3]])
  }),
)

it.effect("a statement under way is finished for the others when one of its callers gives up", () =>
  Effect.gen(function* () {
    const statement = yield* aStatement
    const call = yield* batched(statement.run, settings)
    const [first, second, third] = yield* Effect.forEach([1, 2, 3], (input) => start(call(input)))
    yield* statement.finish(0)
    yield* Effect.yieldNow
    if (first !== undefined) yield* Fiber.join(first)
    if (second !== undefined) yield* Fiber.interrupt(second)
    yield* statement.finish(1)
    if (third !== undefined) assert.strictEqual(yield* Fiber.join(third), 30)
  }),
)

it.effect("a call that is interrupted anywhere leaves its place to later calls", () =>
  Effect.gen(function* () {
    const run = (inputs: ReadonlyArray<number>) => Effect.as(Effect.yieldNow, inputs)
    const call = yield* batched(run, settings)
    yield* interruptEverywhere(call(1), (operation) =>
      Effect.gen(function* () {
        const later = yield* start(call(2))
        yield* Effect.repeat(Effect.yieldNow, { times: 10 })
        assert.isDefined(later.pollUnsafe(), `interrupted before operation ${operation}`)
      }),
    )
  }),
)
