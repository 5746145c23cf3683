/** `ChatStore`: how far chats are read, and what remotes learn of it. */
import { assert } from "@effect/vitest"
import { Store, toShard } from "@messaging-service/core"
import type {
  ChatId,
  IdempotencyClaim,
  ReceivedMessage,
  ReceivedMessageId,
  SendingNumber,
} from "@messaging-service/core"
import { Effect } from "effect"
import { at, only, present } from "../Expect.ts"
import { setStatus } from "../Checking.ts"
import { toScope } from "../Reading.ts"
import { aClaim, anEra, aPhone, aStage, fresh, hour, minute, noon } from "../Records.ts"
import type { Topic } from "../Topic.ts"
import { aText, received, someone, turnOn } from "./receiving.ts"

const aChat = (count: number, now = noon) =>
  Effect.gen(function* () {
    const { number, workspace } = yield* aStage({ createdAt: now })
    yield* turnOn(workspace.id, { since: now })
    const person = someone({ phone: aPhone(), lid: `9${fresh()}` })
    const texts = Array.from({ length: count }, (_, index) =>
      aText({ person, remoteId: `R${index}`, address: index === 0 ? null : "9@lid" }),
    )
    const messages = yield* received(number, texts, now)
    return { number, workspace, person, messages, chatId: at(messages, 0).chat.id }
  })

const mark = (
  number: SendingNumber,
  id: ChatId,
  upTo: ReceivedMessageId,
  now = noon,
  claim: IdempotencyClaim | null = null,
) => Store.use(({ chats }) => chats.markRead(toScope(number.workspaceId), id, upTo, now, claim))

const readChat = (number: SendingNumber, id: ChatId) =>
  Effect.map(
    Store.use(({ chats }) => chats.getChat(toScope(number.workspaceId), id)),
    (chat) => {
      const { readUpTo, unread } = present(chat)
      return { readUpTo, unread }
    },
  )

/** What a worker is given at that moment, and again right away. */
const due = ({ id }: SendingNumber, now = noon) =>
  Effect.map(
    Store.use(({ chats }) =>
      chats.claimReadMarks(now, now, { of: 256, shards: [toShard(id)] }, 1000),
    ),
    (marks) => marks.filter(({ numberId }) => numberId === id),
  )

const remoteIds = (
  marks: ReadonlyArray<{ readonly messages: ReadonlyArray<{ remoteId: string }> }>,
) => marks.map(({ messages }) => messages.map(({ remoteId }) => remoteId))

const settle = (chatId: ChatId, { id }: ReceivedMessage, now = noon) =>
  Store.use(({ chats }) => chats.settleReadMark({ chatId, upTo: id, at: now }))

export const readMarks: Topic = (it) => {
  it.effect("a chat is read up to a message of it, and never back", () =>
    Effect.gen(function* () {
      const { chatId, messages, number, person } = yield* aChat(4)
      const [first, , third] = messages
      assert.deepStrictEqual(yield* mark(number, chatId, present(third).id), {
        _tag: "Marked",
        upTo: present(third).id,
      })
      const read = { readUpTo: present(third).id, unread: 1 }
      assert.deepStrictEqual(yield* readChat(number, chatId), read)
      assert.deepStrictEqual(yield* mark(number, chatId, present(first).id), {
        _tag: "Marked",
        upTo: present(third).id,
      })
      assert.deepStrictEqual(yield* readChat(number, chatId), read)
      yield* received(number, [aText({ person }), aText({ person, fromMe: true })])
      assert.deepStrictEqual(yield* readChat(number, chatId), { ...read, unread: 2 })
      // What was read before it was erased does not count.
      yield* Store.use(({ chats }) =>
        chats.deleteReceived(toScope(number.workspaceId), present(first).id, noon),
      )
      assert.deepStrictEqual(yield* readChat(number, chatId), { ...read, unread: 2 })
      yield* Store.use(({ chats }) =>
        chats.deleteReceived(toScope(number.workspaceId), at(messages, 3).id, noon),
      )
      assert.deepStrictEqual(yield* readChat(number, chatId), { ...read, unread: 1 })
    }),
  )

  it.effect("a mark names a chat of the caller and a message of that chat", () =>
    Effect.gen(function* () {
      const { chatId, messages, number } = yield* aChat(1)
      const other = yield* aChat(1)
      const { id } = at(messages, 0)
      const refused = (guard: "chat" | "message") => ({ _tag: "Refused" as const, guard })
      assert.deepStrictEqual(yield* mark(other.number, chatId, id), refused("chat"))
      assert.deepStrictEqual(
        yield* mark(number, chatId, at(other.messages, 0).id),
        refused("message"),
      )
      const chats = (yield* Store).chats
      const scope = { ...toScope(number.workspaceId), restriction: [other.number.id] }
      assert.deepStrictEqual(yield* chats.markRead(scope, chatId, id, noon, null), refused("chat"))
      yield* chats.deleteReceived(toScope(number.workspaceId), id, noon)
      assert.deepStrictEqual(yield* mark(number, chatId, id), refused("message"))
      yield* chats.deleteChat(toScope(number.workspaceId), chatId, noon)
      assert.deepStrictEqual(yield* mark(number, chatId, id), refused("chat"))
      assert.deepStrictEqual(yield* due(number), [])
    }),
  )

  it.effect("a mark finishes its claim, and a claim that was lost marks nothing", () =>
    Effect.gen(function* () {
      const { chatId, messages, number } = yield* aChat(2)
      const { messages: requests } = yield* Store
      const { id } = at(messages, 1)
      const claim = aClaim(fresh() as IdempotencyClaim["keyId"])
      assert.deepStrictEqual(yield* mark(number, chatId, id, noon, claim), {
        _tag: "Refused",
        guard: "idempotency",
      })
      assert.deepStrictEqual(yield* readChat(number, chatId), { readUpTo: null, unread: 2 })
      yield* requests.claimKey(claim, noon)
      assert.deepStrictEqual(yield* mark(number, chatId, id, noon, claim), {
        _tag: "Marked",
        upTo: id,
      })
      const again = yield* requests.claimKey({ ...claim, token: `other ${fresh()}` }, noon)
      assert.strictEqual(again._tag, "Finished")
      assert.deepStrictEqual(again._tag === "Finished" ? again.record.madeIds : [], [chatId, id])
    }),
  )

  it.effect("the number's owner is given each chat once, for the furthest mark", () =>
    Effect.gen(function* () {
      const { chatId, messages, number, person } = yield* aChat(4)
      const { chats } = yield* Store
      yield* mark(number, chatId, at(messages, 0).id)
      yield* mark(number, chatId, at(messages, 2).id, noon + minute)
      assert.deepStrictEqual(yield* due(number, noon + minute - 1), [])
      const furthest = only(yield* due(number, noon + minute))
      assert.deepStrictEqual(furthest, {
        chatId,
        numberId: number.id,
        platform: number.platform,
        upTo: at(messages, 2).id,
        group: null,
        person,
        messages: [
          { remoteId: "R2", address: "9@lid" },
          { remoteId: "R1", address: "9@lid" },
          { remoteId: "R0", address: null },
        ],
      })
      const shards = [toShard(number.id) === 0 ? 1 : 0]
      const others = yield* chats.claimReadMarks(
        noon + hour,
        noon + hour,
        { of: 256, shards },
        1000,
      )
      assert.isFalse(others.some((one) => one.chatId === chatId))
      const claimed = yield* chats.claimReadMarks(
        noon + minute,
        noon + 2 * minute,
        { of: 256, shards: [toShard(number.id)] },
        1000,
      )
      assert.include(
        claimed.map((one) => one.chatId),
        chatId,
      )
      assert.deepStrictEqual(yield* due(number, noon + 2 * minute - 1), [])
      assert.lengthOf(yield* due(number, noon + 2 * minute), 1)
      yield* chats.postponeReadMark(chatId, noon + 3 * minute)
      assert.deepStrictEqual(yield* due(number, noon + 3 * minute - 1), [])
      // It was read further while the mark was under way.
      yield* mark(number, chatId, at(messages, 3).id, noon + 3 * minute)
      yield* settle(chatId, at(messages, 2), noon + 3 * minute)
      assert.deepStrictEqual(remoteIds(yield* due(number, noon + hour)), [["R3"]])
      yield* settle(chatId, at(messages, 3), noon + hour)
      assert.deepStrictEqual(yield* due(number, noon + hour), [])
      assert.deepStrictEqual(yield* chats.settledReadMarks(number.id), [
        { chatId, upTo: at(messages, 3).id, at: noon + hour },
      ])
      // A repeat changes nothing.
      yield* settle(chatId, at(messages, 0), noon + hour)
      assert.lengthOf(yield* chats.settledReadMarks(number.id), 1)
      yield* mark(number, chatId, at(messages, 1).id, noon + hour)
      assert.deepStrictEqual(yield* due(number, noon + hour), [])
    }),
  )

  it.effect("marks wait for the number's connection, and those of test keys for nothing", () =>
    Effect.gen(function* () {
      const era = anEra()
      const { chatId, messages, number, workspace } = yield* aChat(1, era)
      const { chats, queue } = yield* Store
      const owned = { of: 256, shards: [toShard(number.id)] }
      const nextDue = queue.nextDue("read_marks", [], owned)
      const before = yield* nextDue
      yield* mark(number, chatId, at(messages, 0).id, era)
      assert.strictEqual(yield* nextDue, Math.min(era, before ?? era))
      yield* setStatus(number, "disconnected")
      assert.strictEqual(yield* nextDue, before)
      assert.deepStrictEqual(yield* due(number, era), [])
      yield* setStatus(number, "connected")
      assert.lengthOf(yield* due(number, era), 1)
      yield* chats.deleteConversations(workspace.id, noon)
      assert.deepStrictEqual(yield* due(number, era), [])
      assert.strictEqual(yield* nextDue, before)

      const test = yield* aChat(1)
      const own = aText({ mode: "test" })
      const [inTest] = yield* received(test.number, [own])
      const scope = toScope(test.workspace.id, "test")
      const { chat, id } = present(inTest)
      assert.deepStrictEqual(yield* chats.markRead(scope, chat.id, id, noon, null), {
        _tag: "Marked",
        upTo: id,
      })
      assert.deepStrictEqual(yield* due(test.number), [])
    }),
  )

  it.effect(
    "of two chats that turn out to be one the further mark holds, and nothing is left unmarked",
    () =>
      Effect.gen(function* () {
        const { number, workspace } = yield* aStage()
        yield* turnOn(workspace.id)
        const addresses = { phone: aPhone(), lid: `9${fresh()}` }
        const inOne = (known: Partial<typeof addresses>, remoteId: string) =>
          aText({ person: someone(known), remoteId })
        const [a, b, c] = yield* received(number, [
          inOne({ phone: addresses.phone }, "A"),
          inOne({ lid: addresses.lid }, "B"),
          inOne({ phone: addresses.phone }, "C"),
        ])
        const [first, second, third] = [present(a), present(b), present(c)]
        yield* mark(number, first.chat.id, first.id)
        yield* settle(first.chat.id, first)
        yield* mark(number, second.chat.id, second.id)
        yield* received(number, [inOne(addresses, "D")])
        const chatId = first.chat.id
        assert.deepStrictEqual(yield* readChat(number, chatId), { readUpTo: second.id, unread: 2 })
        assert.deepStrictEqual(remoteIds(yield* due(number)), [["B", "A"]])
        // Under the id of the chat that was merged too.
        assert.deepStrictEqual(yield* mark(number, second.chat.id, third.id), {
          _tag: "Marked",
          upTo: third.id,
        })
        assert.deepStrictEqual(yield* readChat(number, chatId), { readUpTo: third.id, unread: 1 })
        assert.deepStrictEqual(remoteIds(yield* due(number)), [["C", "B", "A"]])
      }),
  )
}
