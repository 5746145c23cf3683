/** Retry receipts of recipients: each gets its own copy. */
import { assert, describe, it } from "@effect/vitest"
import type { BinaryNode } from "baileys"
import { Effect, Fiber } from "effect"
import { makeResender } from "../src/retryReceipts.ts"
import type { RetryRequests } from "../src/retryReceipts.ts"
import { until } from "./LiveWorld.ts"

const requesting = (participant: string, count: number): BinaryNode => ({
  tag: "receipt",
  attrs: { from: "crew@g.us", participant, id: "M", type: "retry" },
  content: [{ tag: "retry", attrs: { id: "M", count: String(count) } }],
})

/** A resender, and the recipients of its copies. */
const scene = (pauseMillis: number) => {
  const requests: RetryRequests = new Map()
  const resender = makeResender({ requests, pauseMillis })
  const handedOver: Array<string> = []
  const serve = (participant: string, name = participant, count = 1) =>
    Effect.forkChild(
      Effect.promise(() =>
        resender.serve(requesting(participant, count), async () => void handedOver.push(name)),
      ),
      { startImmediately: true },
    )
  const copies = (name: string) => handedOver.filter((each) => each === name).length
  return { requests, resender, serve, copies, handedOver }
}

describe("two members of a group who request one message", () => {
  it.live("wait for one another: an ack names neither of them", () =>
    Effect.gen(function* () {
      const { copies, handedOver, requests, resender, serve } = scene(60_000)
      yield* serve("a")
      yield* serve("b")
      yield* until(() => copies("a") === 1)
      assert.deepStrictEqual(handedOver, ["a"])
      resender.heard("M", null)
      yield* until(() => copies("b") === 1)
      assert.deepStrictEqual([...requests.keys()], ["M:b"])
      resender.heard("M", null)
      yield* until(() => requests.size === 0)
      assert.deepStrictEqual(handedOver, ["a", "b"])
    }),
  )

  it.live("one's refusal is not the other's", () =>
    Effect.gen(function* () {
      const { copies, requests, resender, serve } = scene(10)
      yield* serve("a")
      yield* serve("b")
      yield* until(() => copies("a") === 1)
      resender.heard("M", "475")
      yield* until(() => copies("b") > 1)
      assert.strictEqual(copies("a"), 1)
      resender.over()
      assert.deepStrictEqual([...requests.keys()], ["M:b"])
    }),
  )
})

describe("a request", () => {
  it.live("is acknowledged once a copy of it was accepted, or none ever will be", () =>
    Effect.gen(function* () {
      const { copies, resender, serve } = scene(5)
      const claimed = yield* serve("a")
      yield* until(() => copies("a") === 1)
      assert.isUndefined(claimed.pollUnsafe())
      resender.heard("M", null)
      assert.isTrue(yield* Fiber.join(claimed))
      // Its copies never get an answer.
      assert.isTrue(yield* Fiber.join(yield* serve("b")))
      assert.strictEqual(copies("b"), 4)
    }),
  )

  it.live("is not acknowledged here when another connection or a repeat answers it", () =>
    Effect.gen(function* () {
      const { copies, resender, serve } = scene(60_000)
      const first = yield* serve("a", "first")
      yield* until(() => copies("first") === 1)
      assert.isFalse(yield* Fiber.join(yield* serve("a", "told again")))
      const later = yield* serve("a", "later", 2)
      resender.over()
      assert.isFalse(yield* Fiber.join(first))
      assert.isFalse(yield* Fiber.join(later))
      assert.strictEqual(copies("told again"), 0)
    }),
  )

  it.live("replaced by later ones is acknowledged with the last of them, and not before", () =>
    Effect.gen(function* () {
      const { copies, resender, serve } = scene(60_000)
      const first = yield* serve("a", "first")
      yield* until(() => copies("first") === 1)
      const second = yield* serve("a", "second", 2)
      // Not accepted for now: it is the turn of the next.
      resender.heard("M", "503")
      yield* until(() => copies("second") === 1)
      const third = yield* serve("a", "third", 3)
      resender.heard("M", "503")
      yield* until(() => copies("third") === 1)
      assert.isUndefined(first.pollUnsafe())
      assert.isUndefined(second.pollUnsafe())
      resender.heard("M", null)
      assert.deepStrictEqual(
        yield* Effect.forEach([first, second, third], (one) => Fiber.join(one)),
        [true, true, true],
      )
    }),
  )

  it.live("replaces the recipient's earlier one, whose keys are older", () =>
    Effect.gen(function* () {
      const { copies, handedOver, resender, serve } = scene(10)
      yield* serve("a", "first")
      yield* until(() => copies("first") > 0)
      yield* serve("a", "second", 2)
      yield* until(() => copies("second") > 1)
      resender.over()
      assert.isBelow(handedOver.lastIndexOf("first"), handedOver.indexOf("second"))
    }),
  )

  it.live("is not answered by the ack of the message's first copy", () =>
    Effect.gen(function* () {
      const { copies, requests, resender, serve } = scene(10)
      resender.expectsFirst("M")
      yield* serve("a")
      yield* until(() => copies("a") === 1)
      resender.heard("M", null)
      yield* until(() => copies("a") > 1)
      resender.heard("M", null)
      yield* until(() => requests.size === 0)
    }),
  )

  it.live("unanswered when the connection ends is kept for the next one", () =>
    Effect.gen(function* () {
      const { copies, requests, resender, serve } = scene(60_000)
      yield* serve("a")
      yield* until(() => copies("a") === 1)
      resender.over()
      yield* Effect.yieldNow
      assert.deepStrictEqual([...requests.keys()], ["M:a"])
    }),
  )
})
