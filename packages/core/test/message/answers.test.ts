/** Sends that answer a chat: which number sends, whom it reaches, and what is refused. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import type { AnsweredChat, QuotedMessage } from "../../src/model/Answer.ts"
import type { ChatId, NumberId } from "../../src/model/Ids.ts"
import { toTarget } from "../../src/model/Recipient.ts"
import type { Phone, Recipient } from "../../src/model/Recipient.ts"
import { asksForAnswers, sendRequestParser } from "../../src/model/SendRequest.ts"
import { unknownPerson } from "../../src/model/Incoming.ts"
import { aNumber, aRequest, decide, limitedTo, verdict } from "./Accepting.ts"
import type { Circumstances } from "./Accepting.ts"

const aChat = (
  id: number,
  numberId: number,
  overrides: Partial<AnsweredChat> = {},
): AnsweredChat => ({
  ...unknownPerson,
  id: id as ChatId,
  current: id as ChatId,
  numberId: numberId as NumberId,
  type: "person",
  groupId: null,
  ...overrides,
})

const aGroup = (id: number, numberId: number, name: string | null) =>
  aChat(id, numberId, { type: "group", groupId: `${id}@g.us`, name })

const numbers = [aNumber(1), aNumber(2), aNumber(11, "telegram")]

const chats = [
  aChat(21, 1, { phone: "+15550000021", lid: "9021", username: "ann", name: "Ann" }),
  aChat(22, 1, { lid: "9022" }),
  aGroup(23, 1, "Team"),
  aGroup(24, 1, null),
  aChat(25, 2, { phone: "+15550000025" }),
  aChat(26, 11, { userId: "81", username: "ben", phone: "+15550000026" }),
  aChat(27, 11, { username: "cyrus" }),
  aChat(28, 1),
  { ...aChat(29, 1, { phone: "+15550000021" }), current: 21 as ChatId },
]

/** The sending number with the recipients, or the refusal. */
const decided = (send: object, more: Circumstances & Parameters<typeof decide>[2] = {}) => {
  const result = decide(aRequest({ ...send }), { numbers, chats }, more)
  if (Result.isFailure(result)) {
    const { code, field } = result.failure
    return `${code} ${field}`
  }
  return [result.success.numberId, ...result.success.messages.map(({ to }) => to)]
}

const to = (chatId: number) => ({ to: { chatId } })

describe("a chat as recipient", () => {
  it.effect("is reached by its number, with what is known of it", () =>
    Effect.sync(() => {
      const expected: ReadonlyArray<readonly [chatId: number, number: number, known: object]> = [
        [21, 1, { phone: "+15550000021", username: "@ann" }],
        [22, 1, { address: "lid:9022" }],
        [23, 1, { address: "group:23@g.us", group: "Team" }],
        [24, 1, { address: "group:24@g.us" }],
        [25, 2, { phone: "+15550000025" }],
        [26, 11, { address: "tg:81", phone: "+15550000026", username: "@ben" }],
        [27, 11, { username: "@cyrus" }],
        [29, 1, { phone: "+15550000021" }],
      ]
      for (const [chatId, number, known] of expected) {
        assert.deepStrictEqual<unknown>(decided(to(chatId)), [
          number,
          { kind: "chat", chatId, ...known },
        ])
        assert.deepStrictEqual(decided({ ...to(chatId), from: number }), decided(to(chatId)))
      }
    }),
  )

  it.effect("is not found where it is unknown, of another number, or of one out of reach", () =>
    Effect.sync(() => {
      const single = "chat_not_found to.chatId"
      assert.strictEqual(decided(to(99)), single)
      assert.strictEqual(decided({ ...to(99), from: 1 }), single)
      assert.strictEqual(decided({ ...to(21), from: 2 }), single)
      assert.strictEqual(decided(to(28)), single)
      assert.strictEqual(decided(to(21), { sender: limitedTo(2) }), single)
      assert.strictEqual(decided({ ...to(21), from: 3 }), "number_not_found from")
      const batch = (...ids: ReadonlyArray<number>) => ({ to: ids.map((chatId) => ({ chatId })) })
      assert.strictEqual(decided(batch(21, 99)), "chat_not_found to[1].chatId")
      assert.strictEqual(decided(batch(21, 25)), "chat_not_found to[1].chatId")
      assert.lengthOf(decided(batch(21, 22, 21)), 4)
    }),
  )

  it.effect("decides the number of a batch, and what suits that number", () =>
    Effect.sync(() => {
      const phone = { phone: "+15550000001" }
      assert.deepStrictEqual<unknown>(decided({ to: [phone, { chatId: 25 }] })[0], 2)
      assert.strictEqual(
        decided({ to: [{ username: "@someone" }, { chatId: 21 }] }),
        "username_needs_telegram to[0].username",
      )
      assert.strictEqual(
        decided({ to: [{ chatId: 26 }, { group: "Team" }] }),
        "validation_failed to[1].group",
      )
    }),
  )

  it.effect("is handed to the transport by its address, else by phone or username", () =>
    Effect.sync(() => {
      const targets = [21, 22, 23, 26, 27].map((chatId) =>
        toTarget(decided(to(chatId))[1] as Recipient),
      )
      assert.deepStrictEqual(targets, [
        { kind: "phone", phone: "+15550000021" as never },
        { kind: "lid", lid: "9022" },
        { kind: "group_id", groupId: "23@g.us" },
        { kind: "user_id", userId: 81 },
        { kind: "username", username: "cyrus" },
      ])
    }),
  )
})

describe("a quoted message", () => {
  const received = (chat: AnsweredChat | undefined, overrides: Partial<QuotedMessage> = {}) => ({
    numberId: chat?.numberId ?? (1 as NumberId),
    isThere: true,
    chat: chat ?? null,
    to: null,
    ...overrides,
  })
  const sent = (to: Recipient, overrides: Partial<QuotedMessage> = {}) =>
    received(undefined, { to, ...overrides })
  const chat = (id: number) => chats.find((each) => each.id === id)
  /** The refusal, or what the message quotes. */
  const quoting = (
    recipient: object,
    quoted: QuotedMessage | null,
    replyTo: object = { receivedMessageId: 7 },
  ) => {
    const request = aRequest({ ...recipient, replyTo })
    const result = decide(request, { numbers, chats, quoted })
    return Result.isFailure(result)
      ? `${result.failure.code} ${result.failure.field}`
      : result.success.messages[0]?.replyTo
  }
  const refused = "reply_not_possible replyTo.receivedMessageId"
  const accepted = { receivedMessageId: 7 }

  it.effect("is of the same chat, however the recipient is named", () =>
    Effect.sync(() => {
      const phone = { to: { phone: "+15550000021" }, from: 1 }
      const cases: ReadonlyArray<readonly [recipient: object, quoted: QuotedMessage | null]> = [
        [to(21), received(chat(21))],
        [to(29), received(chat(21))],
        [to(21), received(chat(29))],
        [phone, received(chat(21))],
        [{ to: { group: "Team" }, from: 1 }, received(chat(23))],
        [
          { to: { username: "@BENJI" }, from: 11 },
          received({ ...aChat(26, 11), username: "benji" }),
        ],
        [{ to: { username: "tg:81" }, from: 11 }, received(chat(26))],
        [to(21), sent({ kind: "phone", phone: "+15550000021" as Phone, contactId: null })],
        [to(22), sent({ kind: "chat", chatId: 22 as ChatId, address: "lid:9022" })],
        [phone, sent({ kind: "chat", chatId: 5 as ChatId, phone: "+15550000021" as Phone })],
      ]
      for (const [recipient, quoted] of cases) {
        assert.deepStrictEqual<unknown>(quoting(recipient, quoted), accepted)
      }
      assert.deepStrictEqual<unknown>(quoting(to(21), received(chat(21)), { messageId: 8 }), {
        messageId: 8,
      })
    }),
  )

  it.effect("is refused where it is of another chat or number, or not there", () =>
    Effect.sync(() => {
      const phone = (digits: string) => ({ to: { phone: `+${digits}` }, from: 1 })
      const cases: ReadonlyArray<readonly [recipient: object, quoted: QuotedMessage | null]> = [
        [to(21), null],
        [to(21), received(chat(21), { isThere: false })],
        [to(21), received(chat(21), { numberId: 2 as NumberId })],
        [to(21), received(chat(22))],
        [phone("15550000099"), received(chat(21))],
        [to(24), received({ ...aGroup(30, 1, null) })],
        [{ to: { group: "Other" }, from: 1 }, received(chat(23))],
        [to(23), received(aGroup(31, 1, "Team"))],
        [to(21), sent({ kind: "group", group: "Team" })],
      ]
      for (const [recipient, quoted] of cases) {
        assert.strictEqual(quoting(recipient, quoted), refused)
      }
      assert.strictEqual(
        quoting(to(21), null, { messageId: 8 }),
        "reply_not_possible replyTo.messageId",
      )
      assert.strictEqual(quoting(to(99), null), "chat_not_found to.chatId")
      assert.isNull(quoting(to(21), null, null as never))
    }),
  )

  it.effect("is named once, and by a single send alone", () =>
    Effect.sync(() => {
      const { batch, single } = sendRequestParser({ allowPrivate: false }, false, true)
      const send = { text: "Hello", to: { phone: "+15550000001" } }
      assert.deepStrictEqual(verdict(single({ ...send, replyTo: {} })), [
        "validation_failed",
        "replyTo",
      ])
      assert.deepStrictEqual(
        verdict(single({ ...send, replyTo: { messageId: 1, receivedMessageId: 1 } })),
        ["validation_failed", "replyTo"],
      )
      assert.deepStrictEqual(
        verdict(batch({ ...send, to: [send.to], replyTo: { messageId: 1 } })),
        ["validation_failed", "replyTo"],
      )
    }),
  )
})

describe("without conversations", () => {
  it.effect("a chat is an unknown field", () =>
    Effect.sync(() => {
      const { batch, single } = sendRequestParser({ allowPrivate: false })
      const problem = (result: ReturnType<typeof single> | ReturnType<typeof batch>) =>
        Result.isFailure(result) ? verdict(result).concat(result.failure.message) : []
      const unknown = "is not a known field"
      assert.deepStrictEqual(problem(single({ text: "Hello", to: { chatId: 1 } })), [
        "validation_failed",
        "to.chatId",
        unknown,
      ])
      assert.deepStrictEqual(problem(batch({ text: "Hello", to: [{ chatId: 1 }] })), [
        "validation_failed",
        "to[0].chatId",
        unknown,
      ])
    }),
  )

  it.effect("only what names a chat asks for conversations", () =>
    Effect.sync(() => {
      const asking = [
        { replyTo: null },
        { to: { chatId: 1 } },
        { to: [{ phone: "+1" }, { chatId: null }] },
      ]
      const others = [
        null,
        "text",
        {},
        { to: null },
        { to: "chatId" },
        { to: [{ phone: "+1" }, 1] },
      ]
      assert.isTrue(asking.every(asksForAnswers))
      assert.isFalse(others.some(asksForAnswers))
    }),
  )
})
