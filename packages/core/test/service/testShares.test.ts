/**
 * A workspace that floods with test keys gets its share of what the store accepts and ends at once;
 * others continue.
 */
import { assert, describe, it } from "@effect/vitest"
import { layer as layerStore } from "@messaging-service/store-memory"
import { Effect, Fiber, Latch, Layer } from "effect"
import { makeTestModeSender, sharedLimits } from "../../src/index.ts"
import type { Acceptance, WorkspaceId } from "../../src/index.ts"
import { send, sendBatch, statuses } from "./Operations.ts"
import { aKey, aSender, inAService } from "./Service.ts"
import { storeChanged } from "@messaging-service/testkit"

const range = (length: number) => Array.from({ length }, (_, index) => index)

const atOnce = { concurrency: "unbounded" } as const

/** Long enough for everything that waits for no gate. */
const becomeIdle = Effect.forEach(range(2000), () => Effect.yieldNow, { discard: true })

/** A store in memory that writes acceptances once its gate is open, and shows which wait there. */
const aGatedStore = () => {
  const gate = Latch.makeUnsafe(false)
  const writing = new Set<Acceptance>()
  const store = storeChanged(({ messages: real }) => ({
    messages: {
      ...real,
      accept: (acceptance) =>
        Effect.gen(function* () {
          writing.add(acceptance)
          yield* gate.await
          writing.delete(acceptance)
          return yield* real.accept(acceptance)
        }),
    },
  })).pipe(Layer.provideMerge(layerStore))
  const readWriting = (workspaceId: WorkspaceId) => {
    const own = [...writing].filter((acceptance) => acceptance.workspaceId === workspaceId)
    const batches = own.filter(({ messages }) => messages.length > 1).length
    return { batches, sends: own.length - batches }
  }
  return { gate, store, readWriting }
}

describe("a workspace with six test keys that floods", () => {
  it.effect("gets its share of acceptance, and others do not wait behind it", () => {
    const { gate, store, readWriting } = aGatedStore()
    return inAService(
      Effect.gen(function* () {
        const flood = yield* aSender()
        const keys = yield* Effect.forEach(range(6), () => aKey(flood.workspace, { mode: "test" }))
        const idle = yield* aSender()
        const quietTest = yield* aKey(idle.workspace, { mode: "test" })
        const flooding = yield* Effect.forkChild(
          Effect.forEach(
            range(60),
            (index) => {
              const key = keys[index % 6]!
              return Effect.all([sendBatch(key, 50), send(key), send(key)], atOnce)
            },
            atOnce,
          ),
        )
        yield* becomeIdle
        const share = {
          batches: sharedLimits.testBatches.share.most,
          sends: sharedLimits.testSends.share.most,
        }
        assert.deepStrictEqual(readWriting(flood.workspace), share)

        const others = yield* Effect.forkChild(
          Effect.all(
            [
              ...range(40).map(() => send(idle.key)),
              send(quietTest),
              sendBatch(quietTest, 2),
              send(flood.key),
            ],
            atOnce,
          ),
        )
        yield* becomeIdle
        // Those of other workspaces are there at once; so are its own live ones.
        assert.deepStrictEqual(readWriting(idle.workspace), { batches: 1, sends: 41 })
        assert.deepStrictEqual(readWriting(flood.workspace), { ...share, sends: share.sends + 1 })

        yield* gate.open
        yield* Fiber.join(others)
        const all = yield* Fiber.join(flooding)
        assert.lengthOf(all, 60)
      }),
      { store, worker: false },
    )
  })

  it.effect("gets its share of each commit that ends test messages", () =>
    inAService(
      Effect.gen(function* () {
        const flood = yield* aSender()
        const keys = yield* Effect.forEach(range(6), () => aKey(flood.workspace, { mode: "test" }))
        const flooding = yield* Effect.forEach(keys, (key) => sendBatch(key, 200))
        const idle = yield* aSender()
        const quietKey = yield* aKey(idle.workspace, { mode: "test" })
        const others = yield* Effect.forEach(range(3), () => send(quietKey))
        const { runOnce } = yield* makeTestModeSender
        const { share } = sharedLimits.testMessages

        assert.strictEqual(yield* runOnce, share.most + others.length)
        assert.deepStrictEqual(yield* statuses(quietKey, others), ["sent", "sent", "sent"])
        const countSent = (all: ReadonlyArray<string>) => all.filter((one) => one === "sent").length
        assert.strictEqual(countSent(yield* statuses(keys[0]!, flooding.flat())), share.most)
        let rounds = 1
        while ((yield* runOnce) > 0) rounds++
        assert.strictEqual(rounds, Math.ceil((6 * 200) / share.most))
      }),
      { worker: false },
    ),
  )
})
