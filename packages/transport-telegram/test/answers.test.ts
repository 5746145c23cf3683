/** Messages to chats, by the addresses that incoming messages told. */
import { assert, layer } from "@effect/vitest"
import type { OutgoingMessage, Quote } from "@messaging-service/core"
import { TelegramServer } from "@messaging-service/telegram-server"
import { Effect } from "effect"
import {
  accepted,
  aPerson,
  aText,
  anAccount,
  layerWorld,
  sendNow,
  Told,
  toUser,
  until,
} from "./LiveWorld.ts"

const aQuote: Quote = { remoteId: "1", isSent: false, author: null, text: "", sentAt: 0 }

/** Telegram has told that it was read. */
const awaitRead = ({ transportId }: OutgoingMessage) =>
  Effect.flatMap(Told, (told) =>
    until(() => told.some((event) => event._tag === "Tick" && event.transportId === transportId)),
  )

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

layer(layerWorld)("a message that quotes", (it) => {
  const getQuotes = (digits: string) =>
    Effect.map(TelegramServer, (server) =>
      server.shown(digits).map(({ quotes, text }) => [text, quotes]),
    )

  it.effect("answers what a person wrote, also in a group", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const account = yield* anAccount
      const { digits } = yield* aPerson({ username: "quoted_three" })
      const group = yield* server.group("Friends", [account.digits, digits])
      const targets = [
        [account.digits, toUser("quoted_three")],
        [group, { kind: "group_id", groupId: String(group.id) }],
      ] as const
      for (const [chat, target] of targets) {
        const question = yield* server.write(digits, chat, "Open today?")
        const remoteId = String(server.messageId(question, account.digits))
        const quote = { ...aQuote, remoteId, text: "Open today?" }
        assert.deepStrictEqual(
          yield* sendNow({ ...aText(account, target, "Yes"), quote }),
          accepted,
        )
      }
      assert.deepStrictEqual(yield* getQuotes(digits), [
        ["Yes", "Open today?"],
        ["Yes", "Open today?"],
      ])
    }),
  )

  it.effect("answers what was sent, read or not", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const account = yield* anAccount
      const { digits } = yield* aPerson({ username: "quoted_one" })
      const to = toUser("quoted_one")
      for (const isRead of [false, true]) {
        const text = `*Sent* ${isRead}`
        const first = aText(account, to, text)
        yield* sendNow(first)
        if (isRead) {
          yield* server.read(digits, account.digits)
          yield* awaitRead(first)
        }
        const sentAt = Date.now()
        const quote = { ...aQuote, remoteId: first.transportId, isSent: true, text, sentAt }
        yield* sendNow({ ...aText(account, to, `Answer ${isRead}`), quote })
      }
      assert.deepStrictEqual(
        (yield* getQuotes(digits)).filter(([text]) => text?.startsWith("Answer")),
        [
          ["Answer false", "Sent false"],
          ["Answer true", "Sent true"],
        ],
      )
    }),
  )

  it.effect("leaves without what Telegram has no more, or was never sent", () =>
    Effect.gen(function* () {
      const account = yield* anAccount
      const { digits } = yield* aPerson({ username: "quoted_two" })
      const to = toUser("quoted_two")
      const deleted = { ...aQuote, remoteId: "999", text: "Gone" }
      const unsent = { ...aQuote, remoteId: "A".repeat(20), isSent: true, text: "Unsent" }
      for (const quote of [deleted, unsent]) {
        const outcome = yield* sendNow({ ...aText(account, to, `About ${quote.text}`), quote })
        assert.deepStrictEqual(outcome, accepted)
      }
      assert.deepStrictEqual(yield* getQuotes(digits), [
        ["About Gone", null],
        ["About Unsent", null],
      ])
    }),
  )
})
