/** Supergroups: messages to them, what happens to those there, and marking them as read. */
import { assert, layer } from "@effect/vitest"
import { Store, TelegramTransport } from "@messaging-service/core"
import type { OutgoingMessage, Quote } from "@messaging-service/core"
import { TelegramServer } from "@messaging-service/telegram-server"
import { Effect } from "effect"
import {
  accepted,
  aPerson,
  aText,
  layerWorld,
  sendNow,
  Told,
  toSupergroup,
  until,
} from "./LiveWorld.ts"
import { aReceiver, awaitTexts } from "./Receiving.ts"

/** A receiver with a person in a supergroup, who has written there. */
const aCrowd = (title: string) =>
  Effect.gen(function* () {
    const server = yield* TelegramServer
    const receiver = yield* aReceiver({ groups: true })
    const { digits } = yield* aPerson()
    const crowd = yield* server.group(title, [receiver.digits, digits], "supergroup")
    const first = yield* server.write(digits, crowd, "First")
    yield* awaitTexts(receiver, 1)
    return { server, receiver, digits, crowd, first }
  })

const getRead = ({ transportId }: OutgoingMessage) =>
  Effect.map(Told, (told) =>
    told.filter((event) => event._tag === "Tick" && event.transportId === transportId),
  )

layer(layerWorld)("a message to a supergroup", (it) => {
  it.effect("reaches one of two of a name, once, and is no echo", () =>
    Effect.gen(function* () {
      const { crowd, digits, receiver, server } = yield* aCrowd("Crowd")
      const other = yield* server.group("Crowd", [receiver.digits, digits], "supergroup")
      yield* server.write(digits, other, "Second")
      yield* awaitTexts(receiver, 2)
      for (const group of [other, crowd]) {
        const message = aText(receiver, toSupergroup(group), `To ${group.id}`)
        assert.deepStrictEqual(yield* sendNow(message), accepted)
        assert.deepStrictEqual(yield* sendNow(message), accepted)
        yield* server.write(digits, group, `After ${group.id}`)
      }
      assert.deepStrictEqual(
        server.messagesBy(receiver.digits).map(({ text, to }) => [to, text]),
        [other, crowd].map((group) => [group, `To ${group.id}`]),
      )
      const texts = ["First", "Second", `After ${other.id}`, `After ${crowd.id}`]
      assert.deepStrictEqual(yield* awaitTexts(receiver, 4), texts)
      // The difference tells the own messages again.
      yield* server.drop(receiver.digits)
      yield* server.write(receiver.digits, crowd, "An echo")
      assert.deepStrictEqual(yield* awaitTexts(receiver, 5), [...texts, "An echo"])
      assert.deepStrictEqual(server.complaints(), [])
    }),
  )

  it.effect("hides no message of a private chat with the same id", () =>
    Effect.gen(function* () {
      const { crowd, digits, receiver, server } = yield* aCrowd("Crowd")
      const sent = aText(receiver, toSupergroup(crowd), "To all")
      assert.deepStrictEqual(yield* sendNow(sent), accepted)
      const [own] = server.messagesBy(receiver.digits)
      const ids: Array<number | undefined> = []
      for (const text of ["One", "Two", "Three"]) {
        const message = yield* server.write(digits, receiver.digits, text)
        ids.push(server.messageId(message, receiver.digits))
      }
      assert.include(ids, server.messageId(own!, receiver.digits))
      assert.deepStrictEqual(yield* awaitTexts(receiver, 4), ["First", "One", "Two", "Three"])
    }),
  )

  it.effect("is read once a member has read it there", () =>
    Effect.gen(function* () {
      const { crowd, digits, receiver, server } = yield* aCrowd("Crowd")
      const [first, second] = ["One", "Two"].map((text) =>
        aText(receiver, toSupergroup(crowd), text),
      )
      yield* sendNow(first!)
      yield* server.read(digits, crowd)
      const events = yield* Told
      yield* until(() => events.some((event) => event._tag === "Tick"))
      const tick = { _tag: "Tick", numberId: receiver.id, status: "read" } as const
      const { transportId } = first!
      assert.deepStrictEqual(yield* getRead(first!), [{ ...tick, transportId }])
      yield* sendNow(second!)
      assert.deepStrictEqual(yield* getRead(second!), [])
    }),
  )

  it.effect("quotes what was written there", () =>
    Effect.gen(function* () {
      const { crowd, digits, first, receiver, server } = yield* aCrowd("Crowd")
      const remoteId = `${crowd.id}/${server.messageId(first, receiver.digits)}`
      const quote: Quote = { remoteId, isSent: false, author: null, text: "First", sentAt: 0 }
      const message = { ...aText(receiver, toSupergroup(crowd), "An answer"), quote }
      assert.deepStrictEqual(yield* sendNow(message), accepted)
      const { quotes, text } = server.shown(digits).at(-1)!
      assert.deepStrictEqual([text, quotes], ["An answer", "First"])
    }),
  )

  it.effect("finds one that the account has not heard of yet, behind 100 other chats", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const receiver = yield* aReceiver({ groups: true })
      const { digits } = yield* aPerson()
      const members = [receiver.digits, digits]
      const crowd = yield* server.group("Crowd", members, "supergroup")
      yield* server.write(digits, crowd, "Long ago", "lost")
      for (let count = 0; count < 120; count++) {
        const kind = count % 2 === 0 ? "small" : "supergroup"
        const other = yield* server.group(`${count}`, members, kind)
        yield* server.write(digits, other, "Hello", "lost")
      }
      const to = toSupergroup(crowd)
      assert.deepStrictEqual(yield* sendNow(aText(receiver, to, "One")), accepted)
      const calls = () => server.calls(receiver.digits, "messages.getDialogs")
      assert.strictEqual(calls(), 2)
      assert.deepStrictEqual(yield* sendNow(aText(receiver, to, "Two")), accepted)
      assert.strictEqual(calls(), 2)
      assert.deepStrictEqual(
        server.shown(digits).map(({ text, to: title }) => [title, text]),
        [
          ["Crowd", "One"],
          ["Crowd", "Two"],
        ],
      )
      assert.deepStrictEqual(server.complaints(), [])
    }),
  )

  it.effect("begins no count of one that was never read: what came before is read later", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const receiver = yield* aReceiver({ groups: true })
      const { digits } = yield* aPerson()
      const crowd = yield* server.group("Crowd", [receiver.digits, digits], "supergroup")
      yield* server.write(digits, crowd, "Unheard", "lost")
      const sent = aText(receiver, toSupergroup(crowd), "Sent")
      assert.deepStrictEqual(yield* sendNow(sent), accepted)
      yield* server.drop(receiver.digits)
      assert.deepStrictEqual(yield* awaitTexts(receiver, 1), ["Unheard"])
    }),
  )

  it.effect("is refused in one that the account is no member of, or has left", () =>
    Effect.gen(function* () {
      const { crowd, digits, receiver, server } = yield* aCrowd("Crowd")
      yield* server.leave(receiver.digits, crowd)
      const other = yield* server.group("Others", [digits], "supergroup")
      for (const group of [crowd, other]) {
        const outcome = yield* sendNow(aText(receiver, toSupergroup(group)))
        assert.strictEqual(outcome._tag === "Refused" && outcome.error.code, "recipient_not_found")
      }
      assert.deepStrictEqual(server.messagesBy(receiver.digits), [])
    }),
  )

  it.effect("is sent by an access hash that Telegram has replaced", () =>
    Effect.gen(function* () {
      const { crowd, receiver, server } = yield* aCrowd("Crowd")
      const outcome = { code: 400, error: "CHANNEL_INVALID" }
      yield* server.nextCall({ phone: receiver.digits, outcome })
      const message = aText(receiver, toSupergroup(crowd), "Found again")
      assert.deepStrictEqual(yield* sendNow(message), accepted)
      assert.strictEqual(server.calls(receiver.digits, "messages.getDialogs"), 1)
    }),
  )
})

layer(layerWorld)("a supergroup", (it) => {
  it.effect("is marked as read by the id that the latest message has there", () =>
    Effect.gen(function* () {
      const { crowd, digits, receiver, server } = yield* aCrowd("Crowd")
      const { chats } = yield* Store
      yield* server.write(digits, receiver.digits, "In private")
      yield* server.write(digits, crowd, "Second")
      yield* awaitTexts(receiver, 3)
      const last = (yield* receiver.received).at(-1)!
      const scope = { workspaceId: last.workspaceId, mode: "live", restriction: null } as const
      yield* chats.markRead(scope, last.chat.id, last.id, 0, null)
      const due = yield* chats.claimReadMarks(0, 0, "all", 1000)
      const mark = due.find(({ chatId }) => chatId === last.chat.id)!
      const transport = yield* TelegramTransport
      assert.deepStrictEqual(yield* transport.markRead!(mark), { _tag: "Marked" })
      const expected = { chat: "Crowd", chatId: crowd.id, maxId: 2 }
      assert.deepStrictEqual(server.readMarks(receiver.digits), [expected])
      yield* server.leave(receiver.digits, crowd)
      assert.deepStrictEqual(yield* transport.markRead!(mark), { _tag: "Marked" })
      assert.deepStrictEqual(server.complaints(), [])
    }),
  )
})
