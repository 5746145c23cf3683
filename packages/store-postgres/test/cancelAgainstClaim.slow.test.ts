/**
 * A cancel against a claim of the same message, and the reverse: each begins while the transaction of the
 * other one is open, so that it looks before the other's commit and gets its lock after that.
 */
import { assert, layer } from "@effect/vitest"
import { EmbeddedPostgres, day, noon, remaining, sending } from "@messaging-service/testkit"
import { Effect, Fiber } from "effect"
import { codeSchema } from "../src/database/build.ts"
import { inShop, phone, execute, untilItWaits } from "./callers.ts"

const minute = 60_000

const instant = (millis: number): string => `'${new Date(millis).toISOString()}'`

/** What a worker's claim says to the database. */
const claim = `select id from "${codeSchema("messaging")}".claim_lanes(
  ${instant(noon)}, ${instant(noon + minute)}, 1, 1000, ${day}, null, null, 1000, '{}', '{}', 16, null
)`

layer(EmbeddedPostgres.layer(), { excludeTestServices: true })("a cancel against a claim", (it) => {
  const ends = { cancelled: sending.cancelled, expired: sending.expired }
  for (const [name, change] of Object.entries(ends)) {
    it.effect(
      `what is claimed meanwhile is not ${name}, and gives nothing back`,
      inShop(({ client, inStores, number, send, workspace }) =>
        Effect.gen(function* () {
          const [message] = (yield* inStores(send(phone))).messages
          assert(message !== undefined)
          yield* execute(client, "begin")
          assert.deepStrictEqual((yield* execute(client, claim)).rows, [{ id: String(message.id) }])
          const ended = sending.end(change(message))
          const waiting = yield* untilItWaits(client, inStores(ended))
          assert.isUndefined(waiting.pollUnsafe())
          yield* execute(client, "commit")
          assert.deepStrictEqual(yield* Fiber.join(waiting), [])
          assert.strictEqual(yield* inStores(remaining(workspace)), 2)
          // A worker has it: its lease runs out, and it is handed out again.
          const again = yield* inStores(sending.claimOne(number, { now: noon + 2 * minute }))
          assert.strictEqual(again.message.id, message.id)
        }),
      ),
    )

    it.effect(
      `what is ${name} meanwhile is not claimed`,
      inShop(({ client, inStores, number, send, workspace }) =>
        Effect.gen(function* () {
          const [message] = (yield* inStores(send(phone))).messages
          assert(message !== undefined)
          // It has ended the message, and waits to return its allowance.
          yield* execute(client, "begin")
          yield* execute(client, "select from messaging.workspaces for update")
          const ended = sending.end(change(message))
          const waiting = yield* untilItWaits(client, inStores(ended))
          assert.isUndefined(waiting.pollUnsafe())
          assert.deepStrictEqual(yield* inStores(sending.claim([number])), [])
          yield* execute(client, "commit")
          assert.deepStrictEqual(yield* Fiber.join(waiting), [message.id])
          assert.deepStrictEqual(yield* inStores(sending.claim([number])), [])
          assert.strictEqual(yield* inStores(remaining(workspace)), 3)
        }),
      ),
    )
  }
})
