/** Events delivered in process: in order, again after a failure, and within a bound. */
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { EventFeed, EventSignal, Store, StoreUnavailable, WakeUp } from "../../src/index.ts"
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
      assert.isNotNull(messageId)
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
          follow(
            0,
            listener,
            ({ messageId }) => void (messageId !== null && dealtWith.push(messageId)),
          ),
        )
        yield* pass(156 * second)
        assert.deepStrictEqual(dealtWith, [first, next])
        assert.deepStrictEqual(heard, [first, first, first, first, first, next])
      }),
    ),
  )

  it.effect("misses nothing that its store does not announce, and ends when interrupted", () => {
    const unavailable = new StoreUnavailable({ operation: "webhooks.readEvents", cause: "away" })
    let breaking: Effect.Effect<never, StoreUnavailable> | null = null
    const store = storeWithin((query, effect) =>
      Effect.andThen(
        Effect.suspend((): Effect.Effect<void, StoreUnavailable> =>
          query === "webhooks.readEvents" && breaking !== null ? breaking : Effect.void,
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
        for (breaking of [
          Effect.fail(unavailable),
          Effect.die(new Error("a bug")),
          Effect.interrupt,
        ]) {
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

describe("a subscription whose lease another process may take", () => {
  const unavailable = new StoreUnavailable({
    operation: "webhooks.saveSubscription",
    cause: "away",
  })

  /** Two processes on one store; the first cannot write while `isUnavailable`. */
  const twoFeeds = Effect.gen(function* () {
    const store = yield* Store
    const wakeUp = yield* WakeUp
    const state = { isUnavailable: false }
    const webhooks: typeof store.webhooks = {
      ...store.webhooks,
      saveSubscription: (held) =>
        Effect.suspend(() =>
          state.isUnavailable ? Effect.fail(unavailable) : store.webhooks.saveSubscription(held),
        ),
    }
    const feedOn = (own: typeof store) =>
      Effect.map(
        Layer.build(
          Layer.fresh(EventFeed.layer).pipe(
            Layer.provide(Layer.fresh(EventSignal.layer)),
            Layer.provide(Layer.succeed(Store, own)),
            Layer.provide(Layer.succeed(WakeUp, { ...wakeUp, poll: second })),
          ),
        ),
        (context) => Context.get(context, EventFeed),
      )
    return { state, first: yield* feedOn({ ...store, webhooks }), other: yield* feedOn(store) }
  })

  const subscriber = (listener: (event: OutboxEvent) => Effect.Effect<void>) => ({
    concerns: () => true,
    listener,
    known: Effect.void,
  })

  it.effect("handles no event after the lease has run out, before the store has renewed it", () =>
    inAService(
      Effect.gen(function* () {
        const { first, other, state } = yield* twoFeeds
        const heard: Array<string> = []
        const hearing = (who: string, rest: number) =>
          subscriber(({ messageId }) =>
            Effect.andThen(
              Effect.sync(() => void heard.push(`${who} ${messageId}`)),
              Effect.sleep(rest),
            ),
          )
        yield* Effect.forkScoped(first.subscribe("a", hearing("first", 40 * second)))
        yield* pass(2 * second)
        yield* Effect.forkScoped(other.subscribe("a", hearing("other", 0)))
        yield* pass(2 * second)
        state.isUnavailable = true
        const [one, two, three] = yield* cancelled(3)
        yield* pass(60 * second)
        const all = [`first ${one}`, `other ${one}`, `other ${two}`, `other ${three}`]
        assert.deepStrictEqual(heard, all)
        state.isUnavailable = false
        yield* pass(60 * second)
        const [four] = yield* cancelled(1)
        yield* pass(5 * second)
        assert.deepStrictEqual(heard, [...all, `other ${four}`])
      }),
    ),
  )

  it.effect("takes the name up again only once its own handler has ended", () =>
    inAService(
      Effect.gen(function* () {
        const { first, other, state } = yield* twoFeeds
        const steps: Array<string> = []
        let finish: () => void = () => undefined
        const slow = subscriber(({ messageId }) =>
          // A promise continues when the effect that waits for it is interrupted.
          Effect.promise(
            () =>
              new Promise<void>((resolve) => {
                steps.push(`begins ${messageId}`)
                finish = () => {
                  steps.push(`ends ${messageId}`)
                  resolve()
                }
              }),
          ),
        )
        yield* Effect.forkScoped(first.subscribe("a", slow))
        yield* pass(2 * second)
        const [one] = yield* cancelled(1)
        yield* pass(2 * second)
        state.isUnavailable = true
        const failing = subscriber(() => Effect.never)
        const waiting = yield* Effect.forkScoped(other.subscribe("a", failing))
        yield* pass(60 * second)
        state.isUnavailable = false
        yield* pass(20 * second)
        yield* Fiber.interrupt(waiting)
        yield* pass(20 * second)
        assert.deepStrictEqual(steps, [`begins ${one}`])
        finish()
        yield* pass(5 * second)
        finish()
        assert.deepStrictEqual(steps, [
          `begins ${one}`,
          `ends ${one}`,
          `begins ${one}`,
          `ends ${one}`,
        ])
      }),
    ),
  )
})
