/** Events delivered in process: in order, again after a failure, and within a bound. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { EventFeed, StoreUnavailable } from "../../src/index.ts"
import type { MessageId, OutboxEvent } from "../../src/index.ts"
import { cancel, send } from "./Operations.ts"
import { ahead, aSender, hour, inAService, pass, second } from "./Service.ts"
import { storeWithin } from "./Watched.ts"

/** What a listener heard that fails so many times. */
const aListener = () => {
  const heard: Array<MessageId> = []
  const failing = new Map<MessageId, number>()
  const listener = ({ messageId }: OutboxEvent) =>
    Effect.suspend(() => {
      heard.push(messageId)
      const left = failing.get(messageId) ?? 0
      failing.set(messageId, left - 1)
      return left > 0 ? Effect.fail("the listener failed") : Effect.void
    })
  return { failing, heard, listener }
}

/** Messages that were cancelled one after the other. */
const cancelled = (count: number) =>
  Effect.gen(function* () {
    const { key } = yield* aSender()
    const ids: Array<MessageId> = []
    for (let at = 0; at < count; at++) {
      const message = yield* send(key, { sendAt: yield* ahead(hour) })
      yield* cancel(key, message)
      ids.push(message.id)
    }
    return ids
  })

describe("an event listener", () => {
  it.effect("receives every event after its position, in order, and later ones", () =>
    inAService(
      Effect.gen(function* () {
        const { end, follow } = yield* EventFeed
        const [before = 0] = yield* cancelled(1)
        const position = yield* end
        const { heard, listener } = aListener()
        const all = aListener()
        yield* Effect.forkScoped(follow(position, listener))
        yield* Effect.forkScoped(follow(0, all.listener))
        yield* pass(second)
        const ids = yield* cancelled(3)
        yield* pass(second)
        assert.deepStrictEqual(heard, ids)
        assert.deepStrictEqual(all.heard, [before, ...ids])
      }),
    ),
  )

  it.effect("gets a failed event again after growing pauses, while later events wait", () =>
    inAService(
      Effect.gen(function* () {
        const { follow } = yield* EventFeed
        const [first = 0 as MessageId, next = 0 as MessageId] = yield* cancelled(2)
        const { failing, heard, listener } = aListener()
        failing.set(first, 3)
        yield* Effect.forkScoped(follow(0, listener))
        for (const [pause, times] of [
          [0, 1],
          [1, 2],
          [5, 3],
          [29, 3],
        ] as const) {
          yield* pass(pause * second)
          assert.deepStrictEqual(
            heard,
            Array.from({ length: times }, () => first),
          )
        }
        yield* pass(second)
        assert.deepStrictEqual(heard, [first, first, first, first, next])
      }),
    ),
  )

  it.effect("gets a failing event five times, then the next one", () =>
    inAService(
      Effect.gen(function* () {
        const { follow } = yield* EventFeed
        const [first = 0 as MessageId, next = 0 as MessageId] = yield* cancelled(2)
        const { failing, heard, listener } = aListener()
        failing.set(first, Infinity)
        const dealtWith: Array<MessageId> = []
        yield* Effect.forkScoped(
          follow(0, listener, ({ messageId }) => void dealtWith.push(messageId)),
        )
        yield* pass(156 * second)
        assert.deepStrictEqual(dealtWith, [first, next])
        assert.deepStrictEqual(heard, [first, first, first, first, first, next])
      }),
    ),
  )

  it.effect("misses nothing that its store does not announce, and ends when interrupted", () => {
    const away = new StoreUnavailable({ operation: "webhooks.readEvents", cause: "away" })
    let breaking: Effect.Effect<never, StoreUnavailable> | null = null
    const store = storeWithin((asked, effect) =>
      Effect.andThen(
        Effect.suspend((): Effect.Effect<void, StoreUnavailable> =>
          asked === "webhooks.readEvents" && breaking !== null ? breaking : Effect.void,
        ),
        effect,
      ),
    )
    return inAService(
      Effect.gen(function* () {
        const { follow } = yield* EventFeed
        const { heard, listener } = aListener()
        const following = yield* Effect.forkScoped(follow(0, listener))
        const all: Array<MessageId> = []
        for (breaking of [Effect.fail(away), Effect.die(new Error("a bug")), Effect.interrupt]) {
          const before = [...all]
          all.push(...(yield* cancelled(1)))
          yield* TestClock.adjust(2 * second)
          assert.deepStrictEqual(heard, before)
          breaking = null
          yield* pass(2 * second)
          assert.deepStrictEqual(heard, all)
        }
        yield* Fiber.interrupt(following)
        yield* cancelled(1)
        yield* pass(second)
        assert.deepStrictEqual(heard, all)
      }),
      { store },
    )
  })
})
