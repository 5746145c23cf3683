/** `ClockStore` and `ServiceSecrets`: values of the service as a whole. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { Topic } from "../Topic.ts"
import { aWorkspace, hour, oneSecond } from "../Records.ts"
import { Store } from "@messaging-service/core"

export const clock: Topic = (it) => {
  it.effect("the offset rises and never goes back", () =>
    Effect.gen(function* () {
      const store = (yield* Store).system
      const start = yield* store.clockOffset
      assert.isAtLeast(start, 0)
      assert.strictEqual(yield* store.raiseClockOffset(start + hour), start + hour)
      assert.strictEqual(yield* store.clockOffset, start + hour)
      assert.strictEqual(yield* store.raiseClockOffset(start + oneSecond), start + hour)
      assert.strictEqual(yield* store.clockOffset, start + hour)
    }),
  )

  it.effect("the furthest of concurrent offsets wins", () =>
    Effect.gen(function* () {
      const store = (yield* Store).system
      const start = yield* store.clockOffset
      const targets = [5, 1, 8, 3, 2, 7].map((step) => start + step * oneSecond)
      yield* Effect.forEach(targets, (to) => store.raiseClockOffset(to), {
        concurrency: "unbounded",
      })
      assert.strictEqual(yield* store.clockOffset, start + 8 * oneSecond)
    }),
  )

  it.effect("the store tells its own time, unless it has only the process's clock", () =>
    Effect.gen(function* () {
      const store = (yield* Store).system
      const before = Date.now()
      const databaseAt = yield* store.databaseTime
      // Databases of tests run on the machine of the test.
      if (databaseAt !== null) assert.closeTo(databaseAt, before, 10_000)
    }),
  )

  it.effect("the store answers", () => Effect.flatMap(Store, ({ system: store }) => store.ping))
}

export const secrets: Topic = (it) => {
  it.effect("a secret is created once by its name, and is the same for every caller", () =>
    Effect.gen(function* () {
      const store = (yield* Store).system
      const { id } = yield* aWorkspace()
      assert.strictEqual(yield* store.getOrCreateSecret(`a ${id}`, "first"), "first")
      assert.strictEqual(yield* store.getOrCreateSecret(`a ${id}`, "second"), "first")
      assert.strictEqual(yield* store.getOrCreateSecret(`b ${id}`, "third"), "third")
    }),
  )

  it.effect("one of concurrent candidates becomes the secret of all", () =>
    Effect.gen(function* () {
      const store = (yield* Store).system
      const { id } = yield* aWorkspace()
      const answers = yield* Effect.forEach(
        Array.from({ length: 12 }, (_, index) => `candidate ${index}`),
        (candidate) => store.getOrCreateSecret(`c ${id}`, candidate),
        { concurrency: "unbounded" },
      )
      assert.strictEqual(new Set(answers).size, 1)
    }),
  )

  it.effect("a value is replaced only while the store still has the one that was read", () =>
    Effect.gen(function* () {
      const store = (yield* Store).system
      const { id } = yield* aWorkspace()
      const name = `replaced ${id}`
      yield* store.replaceSecret(name, "none", "never")
      assert.isNull(yield* store.getSecret(name))
      yield* store.getOrCreateSecret(name, "first")
      yield* store.replaceSecret(name, "other", "second")
      assert.strictEqual(yield* store.getSecret(name), "first")
      yield* store.replaceSecret(name, "first", "second")
      assert.strictEqual(yield* store.getSecret(name), "second")
    }),
  )
}
