import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Schema } from "effect"
import { Store } from "../../src/index.ts"
import type { MessageJson, TransportId } from "../../src/index.ts"
import { events, get, send, status, statuses, stored } from "./Operations.ts"
import { ahead, aSender, hour, inAService, settled } from "./Service.ts"

describe("ticks", () => {
  const tick = (message: MessageJson, state: "delivered" | "read") =>
    Effect.gen(function* () {
      const { from, transportId } = yield* stored(message)
      const now = yield* Clock.currentTimeMillis
      return yield* Store.use(({ messages: store }) => store.tick(from.id, transportId, state, now))
    })

  it.effect.prop(
    "may repeat, skip or come out of order, and the status never goes back",
    [Schema.Array(Schema.Literals(["delivered", "read"]))],
    ([ticks]) =>
      inAService(
        Effect.gen(function* () {
          const { key } = yield* aSender()
          const message = yield* send(key)
          yield* settled
          const order = ["sent", "delivered", "read"]
          let reached = 0
          for (const each of ticks) {
            yield* tick(message, each)
            reached = Math.max(reached, order.indexOf(each))
            assert.strictEqual(yield* status(key, message), order[reached])
          }
          assert.deepStrictEqual(yield* events(message), ["message.sent"])
          assert.strictEqual((yield* get(key, message)).sent_at, "2026-03-02T12:00:00Z")
        }),
      ),
    { arbitrary: { runs: 20 } },
  )

  it.effect("do not move a message that was not sent", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const failed = yield* send(key, { to: { phone: "+15550010000" } })
        const scheduled = yield* send(key, { sendAt: yield* ahead(hour) })
        yield* settled
        for (const message of [failed, scheduled]) {
          yield* tick(message, "delivered")
          yield* tick(message, "read")
        }
        assert.deepStrictEqual(yield* statuses(key, [failed, scheduled]), ["failed", "scheduled"])
      }),
    ),
  )

  it.effect("for an unknown id are ignored", () =>
    inAService(
      Effect.gen(function* () {
        const { number } = yield* aSender()
        const unknown = "FFFFFFFFFFFFFFFFFFFF" as TransportId
        assert.isNull(
          yield* Store.use(({ messages: store }) => store.tick(number, unknown, "read", 0)),
        )
      }),
    ),
  )
})
