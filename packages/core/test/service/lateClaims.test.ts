/** Claims with an answer that takes longer than their lease. */
import { assert, it } from "@effect/vitest"
import { layer as layerStore } from "@messaging-service/store-memory"
import { storeChanged } from "@messaging-service/testkit"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { NumberOperations } from "../../src/index.ts"
import { copies, send, status } from "./Operations.ts"
import { aSender, inAService, second, settled } from "./Service.ts"

it.effect("a number that is paused before a late claim is answered hands over nothing", () => {
  let isLate = true
  const store = storeChanged(({ queue }) => ({
    queue: {
      claim: (query) =>
        Effect.tap(queue.claim(query), (claimed) =>
          isLate && claimed.length > 0 ? Effect.sleep(31 * second) : Effect.void,
        ),
    },
  }))
  return inAService(
    Effect.gen(function* () {
      const { key, number, workspace } = yield* aSender()
      const message = yield* send(key)
      yield* TestClock.adjust(second)
      const operations = yield* NumberOperations
      yield* operations.pause("owner", workspace, number, { until: null })
      yield* TestClock.adjust(31 * second)
      assert.deepStrictEqual(yield* copies(), [])
      assert.strictEqual(yield* status(key, message), "queued")
      isLate = false
      yield* operations.resume("owner", workspace, number)
      yield* settled
      assert.lengthOf(yield* copies(), 1)
      assert.strictEqual(yield* status(key, message), "sent")
    }),
    { store: Layer.provideMerge(store, layerStore) },
  )
})
