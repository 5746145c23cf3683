/** How an absent store, or another worker, affects what a connection's library stores. */
import { assert, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { StoreUnavailable } from "../../src/model/Refusal.ts"
import { CannotOpen } from "../../src/model/Secrets.ts"
import { NumberMoved } from "../../src/service/NumberOwnership.ts"
import { makeSessionAccess, retryUntilStoreAnswers } from "../../src/service/SessionAccess.ts"
import { one } from "./aLiveWorld.ts"

/** A store that fails so often, and then answers. */
const answersAfter = (failures: number) => {
  let requests = 0
  return {
    requests: () => requests,
    work: Effect.suspend(() =>
      ++requests > failures
        ? Effect.void
        : Effect.fail(new StoreUnavailable({ operation: "write", cause: "away" })),
    ),
  }
}

const moved: Effect.Effect<never, StoreUnavailable | NumberMoved> = Effect.fail(
  new NumberMoved({ numberId: one }),
)

it.effect("asks a store until it answers, even that a number moved or a value does not open", () =>
  Effect.gen(function* () {
    const store = answersAfter(40)
    const requesting = yield* Effect.forkChild(retryUntilStoreAnswers(store.work))
    yield* TestClock.adjust("9 seconds")
    assert.isUndefined(requesting.pollUnsafe())
    yield* TestClock.adjust("1 second")
    assert.isDefined(requesting.pollUnsafe())
    assert.strictEqual(store.requests(), 41)
    const sealed = Effect.fail(new CannotOpen())
    const answers = Effect.all([
      Effect.flip(retryUntilStoreAnswers(moved)),
      Effect.flip(retryUntilStoreAnswers(sealed)),
    ])
    const answer = yield* Effect.forkChild(answers)
    yield* TestClock.adjust("1 second")
    assert.deepStrictEqual(
      (yield* Fiber.join(answer)).map(({ _tag }) => _tag),
      ["NumberMoved", "CannotOpen"],
    )
  }),
)

it.effect("a write that another worker's ownership prevents never continues", () =>
  Effect.gen(function* () {
    let isOwned = true
    const access = makeSessionAccess(() => isOwned, Effect.void)
    const refused = yield* Effect.forkChild(access.write(moved))
    isOwned = false
    const store = answersAfter(0)
    const late = yield* Effect.forkChild(access.write(store.work))
    yield* TestClock.adjust("1 minute")
    assert.deepStrictEqual([refused.pollUnsafe(), late.pollUnsafe()], [undefined, undefined])
    assert.strictEqual(store.requests(), 0)
  }),
)

it.effect("a write that waits out a doubt happens once, when the worker is sure again", () =>
  Effect.gen(function* () {
    let isOwned = false
    const access = makeSessionAccess(() => isOwned, Effect.void)
    const store = answersAfter(0)
    const write = Effect.suspend(() => (isOwned ? store.work : moved))
    const early = yield* Effect.forkChild(access.write(write))
    yield* TestClock.adjust("2 seconds")
    assert.isUndefined(early.pollUnsafe())
    isOwned = true
    yield* TestClock.adjust("1 second")
    assert.isDefined(early.pollUnsafe())
    // The doubt may come between the check and the write.
    let requests = 0
    const doubted = Effect.suspend(() => (requests++ === 0 ? moved : store.work))
    const late = yield* Effect.forkChild(access.write(doubted))
    yield* TestClock.adjust("1 second")
    assert.isDefined(late.pollUnsafe())
    assert.strictEqual(store.requests(), 2)
  }),
)

it.effect("reads and writes that meet an absent store in doubt go on once both are over", () =>
  Effect.gen(function* () {
    let isOwned = true
    const access = makeSessionAccess(() => isOwned, Effect.void)
    const [stored, written] = [answersAfter(2), answersAfter(2)]
    const reading = yield* Effect.forkChild(access.read(stored.work))
    const writing = yield* Effect.forkChild(access.write(written.work))
    yield* TestClock.adjust("1 millis")
    isOwned = false
    yield* TestClock.adjust("1 minute")
    assert.isDefined(reading.pollUnsafe())
    assert.isUndefined(writing.pollUnsafe())
    isOwned = true
    yield* TestClock.adjust("1 second")
    assert.isDefined(writing.pollUnsafe())
  }),
)

it.effect("a write that waited in doubt is dropped when the connection ends", () =>
  Effect.gen(function* () {
    let isOwned = false
    const access = makeSessionAccess(() => isOwned, Effect.void)
    const store = answersAfter(0)
    const waiting = yield* Effect.forkChild(access.write(store.work))
    yield* TestClock.adjust("1 second")
    access.letGo()
    isOwned = true
    yield* TestClock.adjust("1 minute")
    assert.isUndefined(waiting.pollUnsafe())
    assert.strictEqual(store.requests(), 0)
  }),
)

it.effect("nothing is written once the connection is over, and nothing waits for it", () =>
  Effect.gen(function* () {
    const access = makeSessionAccess(() => true, Effect.void)
    const unavailable = answersAfter(Infinity)
    const reading = yield* Effect.forkChild(Effect.exit(access.read(unavailable.work)))
    yield* TestClock.adjust("1 minute")
    assert.isUndefined(reading.pollUnsafe())
    access.letGo()
    const store = answersAfter(0)
    yield* access.write(store.work)
    assert.strictEqual(store.requests(), 0)
    yield* TestClock.adjust("1 second")
    assert.isDefined(reading.pollUnsafe())
  }),
)

it.effect("a commit returns once it is made, after failures and defects too", () =>
  Effect.gen(function* () {
    const access = makeSessionAccess(() => true, Effect.void)
    let tries = 0
    const work = Effect.suspend(() => {
      tries++
      if (tries === 1)
        return Effect.fail(new StoreUnavailable({ operation: "write", cause: "away" }))
      return tries === 2 ? Effect.die(new Error("a defect")) : Effect.void
    })
    const committing = yield* Effect.forkChild(access.commit(work))
    yield* TestClock.adjust("1 millis")
    assert.isUndefined(committing.pollUnsafe())
    yield* TestClock.adjust("1 second")
    assert.isDefined(committing.pollUnsafe())
    assert.strictEqual(tries, 3)
  }),
)

it.effect("a commit that the end of the connection prevents never returns", () =>
  Effect.gen(function* () {
    const access = makeSessionAccess(() => true, Effect.void)
    const unavailable = answersAfter(Infinity)
    const early = yield* Effect.forkChild(access.commit(unavailable.work))
    yield* TestClock.adjust("1 second")
    access.letGo()
    const store = answersAfter(0)
    const late = yield* Effect.forkChild(access.commit(store.work))
    yield* TestClock.adjust("1 minute")
    assert.deepStrictEqual([early.pollUnsafe(), late.pollUnsafe()], [undefined, undefined])
    assert.strictEqual(store.requests(), 0)
  }),
)
