import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Messages } from "../../src/index.ts"
import { cancel, code, get, send } from "./Operations.ts"
import { ahead, aKey, aNumber, aSender, hour, inAService } from "./Service.ts"

describe("a key limited to some numbers", () => {
  it.effect("sends, reads, lists and cancels only its numbers' messages", () =>
    inAService(
      Effect.gen(function* () {
        const { number, workspace } = yield* aSender()
        const own = yield* aNumber(workspace)
        const all = yield* aKey(workspace)
        const limited = yield* aKey(workspace, { numberIds: [own] })
        const sendAt = yield* ahead(hour)
        const theirs = yield* send(all, { from: number, sendAt })
        const its = yield* send(all, { from: own, sendAt })
        assert.strictEqual(yield* code(send(limited, { from: number })), "number_not_allowed")
        assert.strictEqual(yield* code(send(limited)), "from_required")
        const sent = yield* send(limited, { from: own, sendAt })
        const messages = yield* Messages
        const { items } = yield* messages.list(limited, {})
        assert.deepStrictEqual<unknown>(
          items.map(({ id }) => id),
          [sent.id, its.id],
        )
        assert.strictEqual(yield* code(get(limited, theirs)), "message_not_found")
        assert.strictEqual(yield* code(cancel(limited, theirs)), "message_not_found")
        assert.strictEqual((yield* get(limited, its)).id, its.id)
        assert.strictEqual((yield* cancel(limited, its)).status, "cancelled")
      }),
    ),
  )

  it.effect("uses the only connected number when it may", () =>
    inAService(
      Effect.gen(function* () {
        const { number, workspace } = yield* aSender()
        const other = yield* aNumber(workspace, { status: "disconnected" })
        const limited = yield* aKey(workspace, { numberIds: [number] })
        const elsewhere = yield* aKey(workspace, { numberIds: [other] })
        assert.strictEqual((yield* send(limited)).from.id, number)
        assert.strictEqual(yield* code(send(elsewhere)), "from_required")
      }),
    ),
  )
})
