import { assert, it } from "@effect/vitest"
import { everyMessage, Store } from "@messaging-service/core"
import type { Message } from "@messaging-service/core"
import {
  accepted,
  aNumber,
  aStage,
  aWorkspace,
  noon,
  roomy,
  toScope,
  sending,
} from "@messaging-service/testkit"
import { Effect } from "effect"
import { layer } from "../src/index.ts"

it.effect("every build of the layer is a separate store", () =>
  Effect.gen(function* () {
    const isEmpty = Store.use(({ workspaces: store }) => store.isEmpty)
    yield* Effect.provide(aWorkspace(), layer)
    assert.isTrue(yield* Effect.provide(isEmpty, layer))
    const both = Effect.andThen(aWorkspace(), isEmpty)
    assert.isFalse(yield* Effect.provide(both, layer))
  }),
)

it.effect("accepts, lists, sends and counts a hundred thousand messages", () =>
  Effect.gen(function* () {
    const store = (yield* Store).messages
    const { workspace, number: busy } = yield* aStage()
    const others = yield* Effect.forEach(Array.from({ length: 99 }), () => aNumber(workspace.id))
    const numbers = [busy, ...others]
    // Half of all wait in one lane, the others in 99.
    for (let batch = 0; batch < 50; batch++) yield* accepted(busy, { count: 1000 })
    for (let batch = 0; batch < 50; batch++) {
      for (const number of others) yield* accepted(number, { count: 10 })
    }
    const total = 50 * 1000 + 50 * 99 * 10

    const page = yield* store.list(
      toScope(workspace.id),
      everyMessage,
      { before: total - 90_000, limit: 100 },
      noon,
    )
    assert.lengthOf(page.items, 100)

    let sent = 0
    const last = new Map<Message["from"]["id"], Message["id"]>()
    for (;;) {
      const claimed = yield* sending.claim(numbers, { limit: 50, dailyLimit: roomy })
      if (claimed.length === 0) break
      for (const { message } of claimed) {
        // An assertion for each of them would take longer than the store does.
        if (message.id <= (last.get(message.from.id) ?? 0)) assert.fail(`${message.id} is late`)
        last.set(message.from.id, message.id)
      }
      sent += (yield* sending.settle(claimed.map((each) => sending.sent(each)))).length
    }
    assert.strictEqual(sent, total)
    assert.isNull(yield* Store.use(({ queue: status }) => status.nextDue("lanes")))
  }).pipe(Effect.provide(layer)),
)
