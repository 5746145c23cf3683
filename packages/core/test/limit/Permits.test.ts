import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { interruptEverywhere } from "@messaging-service/testkit"
import { makeBulkhead } from "../../src/model/Bulkhead.ts"

const makeCounted = (whole: number, most: number) => {
  const places = makeBulkhead<string>({ whole, share: { most } })
  const holding: Array<string> = []
  const hold = (holder: string) =>
    Effect.forkChild(
      Effect.scoped(
        Effect.andThen(
          places.acquire(holder),
          Effect.andThen(
            Effect.sync(() => holding.push(holder)),
            Effect.never,
          ),
        ),
      ),
      { startImmediately: true },
    )
  return { hold, holding }
}

describe("a bulkhead", () => {
  it.effect("limits each tenant to its share, and its waiters block no other tenant", () =>
    Effect.gen(function* () {
      const { hold, holding } = makeCounted(4, 2)
      for (let requests = 0; requests < 10; requests++) yield* hold("greedy")
      yield* hold("modest")
      assert.deepStrictEqual(holding, ["greedy", "greedy", "modest"])
    }),
  )

  it.effect("bounds all tenants together and hands on a freed permit", () =>
    Effect.gen(function* () {
      const { hold, holding } = makeCounted(3, 2)
      const first = yield* hold("a")
      for (const holder of ["a", "b", "c", "a"]) yield* hold(holder)
      assert.deepStrictEqual(holding, ["a", "a", "b"])
      yield* Fiber.interrupt(first)
      yield* Effect.yieldNow
      assert.deepStrictEqual(holding, ["a", "a", "b", "c"])
    }),
  )

  it.effect("a caller that gives up while waiting takes no permit", () =>
    Effect.gen(function* () {
      const { hold, holding } = makeCounted(1, 1)
      const first = yield* hold("a")
      const second = yield* hold("a")
      yield* Fiber.interrupt(second)
      yield* Fiber.interrupt(first)
      yield* hold("a")
      yield* hold("b")
      yield* Effect.yieldNow
      assert.deepStrictEqual(holding, ["a", "a"])
    }),
  )

  it.effect("a caller that is interrupted anywhere leaves its permits to the others", () =>
    Effect.gen(function* () {
      const places = makeBulkhead<string>({ whole: 1, share: { most: 1 } })
      const acquired = Effect.scoped(places.acquire("a"))
      yield* interruptEverywhere(acquired, (operation) =>
        Effect.gen(function* () {
          const next = yield* Effect.forkChild(acquired)
          yield* Effect.repeat(Effect.yieldNow, { times: 10 })
          assert.isDefined(next.pollUnsafe(), `interrupted before operation ${operation}`)
        }),
      )
    }),
  )
})
