/** Messages to chats, by the addresses that incoming messages told. */
import { assert, layer } from "@effect/vitest"
import { TelegramServer } from "@messaging-service/telegram-server"
import { Effect } from "effect"
import { accepted, aPerson, aText, anAccount, layerWorld, sendNow } from "./LiveWorld.ts"

layer(layerWorld)("a message to a chat", (it) => {
  it.effect("reaches one of two small groups of a name, and once", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const account = yield* anAccount
      const { digits } = yield* aPerson()
      const members = [account.digits, digits]
      const groups = [
        yield* server.group("Friends", members),
        yield* server.group("Friends", members),
      ]
      for (const { id } of groups) {
        const message = aText(account, { kind: "group_id", groupId: String(id) }, `To ${id}`)
        assert.deepStrictEqual(yield* sendNow(message), accepted)
        assert.deepStrictEqual(yield* sendNow(message), accepted)
      }
      assert.deepStrictEqual(
        server.messagesBy(account.digits).map(({ text, to }) => [to, text]),
        groups.map((group) => [group, `To ${group.id}`]),
      )
      assert.deepStrictEqual(
        server.shown(digits).map(({ text }) => text),
        groups.map(({ id }) => `To ${id}`),
      )
    }),
  )

  it.effect("is refused in a group that the account is no member of", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const account = yield* anAccount
      const { digits } = yield* aPerson()
      const { id } = yield* server.group("Others", [digits])
      const message = aText(account, { kind: "group_id", groupId: String(id) })
      const outcome = yield* sendNow(message)
      assert.strictEqual(outcome._tag, "Refused")
    }),
  )
})
