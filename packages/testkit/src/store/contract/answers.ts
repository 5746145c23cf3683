/** Sends that answer a chat: what acceptance reads of it, and what a message keeps. */
import { assert } from "@effect/vitest"
import { recipientName, Store } from "@messaging-service/core"
import type {
  AcceptanceQuery,
  AnsweredChat,
  ChatId,
  MessageId,
  Phone,
  ReceivedMessageId,
  Recipient,
  ReplyTo,
  SendingNumber,
  WorkspaceId,
} from "@messaging-service/core"
import { Effect } from "effect"
import { at, ids, only, present } from "../Expect.ts"
import { toScope } from "../Reading.ts"
import {
  aMessage,
  aNumber,
  aPhone,
  aQuery,
  aStage,
  fresh,
  hour,
  minute,
  noon,
  roomy,
} from "../Records.ts"
import { claimOne, sendNext } from "../Sending.ts"
import type { Topic } from "../Topic.ts"
import { aLid, aText, nobody, readChats, received, someone, turnOn } from "./receiving.ts"

const unknown = 999_999_999 as ChatId

const aReceivingStage = Effect.tap(aStage(), ({ workspace }) => turnOn(workspace.id))

const facts = (workspaceId: WorkspaceId, query: Partial<AcceptanceQuery>) =>
  Store.use(({ messages }) => messages.loadAcceptance({ ...aQuery(workspaceId), ...query }))

const quote = (number: SendingNumber, replyTo: ReplyTo) =>
  Store.use(({ chats }) => chats.quote(number.id, replyTo))

export const answers: Topic = (it) => {
  it.effect("the named chats, with their number where the request names none", () =>
    Effect.gen(function* () {
      const { number, workspace } = yield* aReceivingStage
      const another = yield* aNumber(workspace.id)
      const [lid, remoteId] = [aLid(), `group ${fresh()}`]
      const inGroup = aText({ group: { remoteId, name: "Group" } })
      const [first, second] = yield* received(number, [
        aText({ person: someone({ lid }) }),
        inGroup,
      ])
      const [other] = yield* received(another, [aText({ mode: "test" })])
      const stranger = yield* aReceivingStage
      const [foreign] = yield* received(stranger.number, [aText()])
      const [person, group] = [present(first).chat.id, present(second).chat.id]
      const chatIds = [unknown, present(foreign).chat.id, group, person, present(other).chat.id]
      const expected: ReadonlyArray<AnsweredChat> = [
        {
          ...nobody,
          lid,
          id: person,
          current: person,
          numberId: number.id,
          type: "person",
          groupId: null,
        },
        {
          ...nobody,
          name: "Group",
          id: group,
          current: group,
          numberId: number.id,
          type: "group",
          groupId: remoteId,
        },
      ]
      const found = yield* facts(workspace.id, { chatIds })
      assert.deepStrictEqual(
        [...found.chats.values()].toSorted((a, b) => a.id - b.id),
        expected,
      )
      assert.deepStrictEqual(found.named?.number, number)
      assert.deepStrictEqual(found.connected, [])

      const limit = { numberId: number.id, planned: { plannedAt: noon, count: 1, limit: roomy } }
      const counted = yield* facts(workspace.id, { chatIds, exactQuota: limit })
      assert.deepStrictEqual(counted.named?.quota.exact, { planned: 0, roomAt: noon })

      const named = yield* facts(workspace.id, { chatIds, from: another.id })
      assert.deepStrictEqual(named.named?.number, another)
      assert.strictEqual(named.chats.size, 2)
      const test = yield* facts(workspace.id, { chatIds, mode: "test" })
      assert.deepStrictEqual([...test.chats.keys()], [present(other).chat.id])
      assert.deepStrictEqual(test.named?.number, another)

      const none = yield* facts(workspace.id, { chatIds: [unknown] })
      assert.deepStrictEqual([none.chats.size, none.named], [0, null])
      assert.deepStrictEqual(ids(none.connected.map((each) => each.number)), [
        number.id,
        another.id,
      ])
    }),
  )

  it.effect("a merged chat under both of its ids, and none that was removed", () =>
    Effect.gen(function* () {
      const { chats } = yield* Store
      const { number, workspace } = yield* aReceivingStage
      const [phone, lid] = [aPhone(), aLid()]
      const alone = [aText({ person: someone({ lid }) }), aText({ person: someone({ phone }) })]
      const [first, second] = yield* received(number, alone)
      yield* received(number, [aText({ person: someone({ phone, lid }) })])
      const [goesOn, merged] = [present(first).chat.id, present(second).chat.id]
      const read = Effect.map(facts(workspace.id, { chatIds: [merged, goesOn] }), (found) => [
        ...found.chats,
      ])
      const person = {
        ...nobody,
        phone,
        lid,
        numberId: number.id,
        type: "person",
        groupId: null,
      } as const
      assert.deepStrictEqual(
        (yield* read).toSorted(([a], [b]) => a - b),
        [
          [goesOn, { ...person, id: goesOn, current: goesOn }],
          [merged, { ...person, id: merged, current: goesOn }],
        ],
      )
      yield* chats.deleteChat(toScope(workspace.id), merged, noon)
      assert.deepStrictEqual(yield* read, [])
    }),
  )

  it.effect("no chat while conversations are off", () =>
    Effect.gen(function* () {
      const { chats } = yield* Store
      const { number, workspace } = yield* aReceivingStage
      yield* received(number, [aText()])
      const { id } = only(yield* readChats(number))
      assert.strictEqual((yield* facts(workspace.id, { chatIds: [id] })).chats.size, 1)
      yield* chats.deleteConversations(workspace.id, noon)
      assert.strictEqual((yield* facts(workspace.id, { chatIds: [id] })).chats.size, 0)
    }),
  )

  it.effect("a received message that is quoted, with its chat, while it is stored", () =>
    Effect.gen(function* () {
      const { chats } = yield* Store
      const { number, workspace } = yield* aReceivingStage
      const person = someone({ phone: aPhone(), name: "Ann" })
      const texts = [aText({ person }), aText({ person, fromMe: true, text: "Mine" })]
      const [first, echo] = yield* received(number, texts)
      const replyTo = { receivedMessageId: present(first).id }
      const read = (query: Partial<AcceptanceQuery> = {}) =>
        Effect.map(facts(workspace.id, { replyTo, ...query }), ({ quoted }) => quoted)
      const { id } = present(first).chat
      assert.deepStrictEqual(yield* read(), {
        numberId: number.id,
        isThere: true,
        chat: { ...person, id, current: id, numberId: number.id, type: "person", groupId: null },
        to: null,
      })
      assert.isNull(yield* read({ mode: "test" }))
      assert.isNull(yield* read({ workspaceId: (yield* aReceivingStage).workspace.id }))
      assert.isNull(yield* read({ replyTo: { receivedMessageId: 999_999_999 as never } }))
      const [text, own] = texts
      assert.deepStrictEqual(yield* quote(number, replyTo), {
        remoteId: present(text).remoteId,
        isSent: false,
        author: person,
        text: "Hello",
        sentAt: present(text).sentAt,
      })
      assert.deepStrictEqual(yield* quote(number, { receivedMessageId: present(echo).id }), {
        remoteId: present(own).remoteId,
        isSent: false,
        author: null,
        text: "Mine",
        sentAt: present(own).sentAt,
      })
      assert.isNull(yield* quote(yield* aNumber(workspace.id), replyTo))
      yield* chats.deleteReceived(toScope(workspace.id), replyTo.receivedMessageId, noon)
      assert.isNull(yield* read())
      assert.isNull(yield* quote(number, replyTo))
    }),
  )

  it.effect("a message that is quoted is there once it has left", () =>
    Effect.gen(function* () {
      const { number, workspace } = yield* aReceivingStage
      const [first] = yield* received(number, [aText({ person: someone({ lid: aLid() }) })])
      const { id } = present(first).chat
      const to = { kind: "chat", chatId: id, address: "lid:1" } as const
      const message = yield* aMessage(number, { message: { to, text: "Sent" } })
      const other = yield* aMessage(number, { now: noon + 1 })
      const read = (messageId: MessageId, query: Partial<AcceptanceQuery> = {}) =>
        Effect.map(
          facts(workspace.id, { replyTo: { messageId }, ...query }),
          ({ quoted }) => quoted,
        )
      const waiting = present(yield* read(message.id))
      assert.deepStrictEqual(
        [waiting.numberId, waiting.isThere, waiting.to, waiting.chat?.id],
        [number.id, false, to, id],
      )
      assert.isNull(yield* quote(number, { messageId: message.id }))
      yield* sendNext(number)
      assert.isTrue((yield* read(message.id))?.isThere)
      assert.deepStrictEqual(yield* quote(number, { messageId: message.id }), {
        remoteId: message.transportId,
        isSent: true,
        author: null,
        text: "Sent",
        sentAt: noon,
      })
      assert.deepStrictEqual(yield* read(other.id), {
        numberId: number.id,
        isThere: false,
        chat: null,
        to: other.to,
      })
      assert.isNull(yield* read(message.id, { mode: "test" }))
      assert.isNull(yield* quote(yield* aNumber(workspace.id), { messageId: message.id }))
    }),
  )

  it.effect("a message keeps what it quotes", () =>
    Effect.gen(function* () {
      const { messages } = yield* Store
      const { number } = yield* aStage()
      const quoted: ReadonlyArray<ReplyTo> = [
        { receivedMessageId: 7 as ReceivedMessageId },
        { messageId: 8 as MessageId },
      ]
      const sent = yield* Effect.forEach(quoted, (replyTo, index) =>
        aMessage(number, { now: noon + index, message: { replyTo } }),
      )
      assert.deepStrictEqual<unknown>(
        (yield* messages.byIds(ids(sent))).map(({ replyTo }) => replyTo),
        quoted,
      )
      const claimed = yield* claimOne(number, { now: noon + hour })
      assert.deepStrictEqual(claimed.message.replyTo, quoted[0])
    }),
  )

  it.effect("a message to a chat keeps what reaches it", () =>
    Effect.gen(function* () {
      const { messages } = yield* Store
      const { number, workspace } = yield* aStage()
      const chat = { kind: "chat", chatId: unknown } as const
      const recipients: ReadonlyArray<Recipient> = [
        { ...chat, phone: aPhone() },
        { ...chat, address: "lid:4711" },
        { ...chat, address: "tg:81", username: "@ann", phone: aPhone() },
        { ...chat, address: "group:1203@g.us", group: 'Team "Süd"' },
        { ...chat, address: "group:1204@g.us" },
        { ...chat, username: "@ann" },
      ]
      const sent = yield* Effect.forEach(recipients, (to, index) =>
        aMessage(number, { now: noon + index, message: { to } }),
      )
      const read = yield* messages.byIds(ids(sent))
      assert.deepStrictEqual(
        read.map(({ to }) => to),
        recipients,
      )
      assert.deepStrictEqual(recipients.map(recipientName), [
        present(at(recipients, 0) as { phone?: Phone }).phone,
        "lid:4711",
        present(at(recipients, 2) as { phone?: Phone }).phone,
        "group:1203@g.us",
        "group:1204@g.us",
        "@ann",
      ])
      const claimed = yield* claimOne(number, {
        now: noon + hour,
        leaseUntil: noon + hour + minute,
      })
      assert.deepStrictEqual(claimed.message, at(sent, 0))
      assert.strictEqual(claimed.message.workspaceId, workspace.id)
    }),
  )
}
