/** What leaves in chats: it moves them, and is in them with what was received. */
import { assert } from "@effect/vitest"
import { Store } from "@messaging-service/core"
import type {
  ChatEntry,
  ChatId,
  Message,
  NumberId,
  Person,
  Phone,
  Recipient,
  SendingNumber,
  StoreUnavailable,
} from "@messaging-service/core"
import { Effect } from "effect"
import { at, ids, only, present } from "../Expect.ts"
import { toScope } from "../Reading.ts"
import {
  aContact,
  aMessage,
  aNumber,
  aPhone,
  aStage,
  day,
  fresh,
  hour,
  minute,
  noon,
} from "../Records.ts"
import { change, end, sendNext } from "../Sending.ts"
import type { Topic } from "../Topic.ts"
import { aLid, aText, readChats, received, someone, turnOn } from "./receiving.ts"

const aReceivingStage = Effect.tap(aStage(), ({ workspace }) => turnOn(workspace.id))

const toPhone = (phone: string): Recipient => ({
  kind: "phone",
  phone: phone as Phone,
  contactId: null,
})

/** A message to that recipient leaves then. */
const left = (number: SendingNumber, to: Recipient, now = noon) =>
  Effect.gen(function* () {
    const message = yield* aMessage(number, { message: { to } })
    yield* sendNext(number, now)
    return message
  })

const list = (
  { workspaceId }: SendingNumber,
  id: ChatId,
  limit = 100,
  restriction: ReadonlyArray<NumberId> | null = null,
) =>
  Store.use(({ chats }) =>
    chats.listEntries({ ...toScope(workspaceId), restriction }, id, null, limit),
  )

const names = (items: ReadonlyArray<ChatEntry>) =>
  items.map(({ message, receivedMessage }) =>
    message === null ? `received ${receivedMessage?.id}` : `sent ${message.id}`,
  )

const entries = (number: SendingNumber, id: ChatId) =>
  Effect.map(list(number, id), (page) => names(present(page).items))

const getSent = (number: SendingNumber) =>
  Effect.map(readChats(number), (chats) => chats.map(({ id, lastSentAt }) => [id, lastSentAt]))

export const entriesOfChats: Topic = (it) => {
  const addresses: ReadonlyArray<
    readonly [
      string,
      Partial<Person>,
      (known: Person, number: SendingNumber) => Effect.Effect<Recipient, StoreUnavailable, Store>,
    ]
  > = [
    ["a phone", { phone: aPhone() }, ({ phone }) => Effect.succeed(toPhone(phone ?? ""))],
    [
      "a contact's phone",
      { phone: aPhone(), lid: aLid() },
      Effect.fnUntraced(function* toContact({ phone }, { workspaceId }) {
        const { id } = yield* aContact(workspaceId, { phone: phone as Phone })
        return { kind: "contact_phone", contactId: id, phone: phone as Phone }
      }),
    ],
    [
      "a username",
      { username: "Ann_Example" },
      () => Effect.succeed({ kind: "username", username: "@ann_example" }),
    ],
    [
      "a link",
      { username: "ann_of_links" },
      () => Effect.succeed({ kind: "username", username: "https://t.me/Ann_of_links/" }),
    ],
    [
      "a contact's user id",
      { userId: `8${fresh()}` },
      Effect.fnUntraced(function* toContact({ userId }, { workspaceId }) {
        const username = `tg:${userId}`
        const { id } = yield* aContact(workspaceId, { phone: null, username })
        return { kind: "contact_username", contactId: id, username }
      }),
    ],
  ]
  it.effect.each(addresses)("a message to %s moves the chat with that person", ([, known, toTo]) =>
    Effect.gen(function* () {
      const { number } = yield* aReceivingStage
      const person = someone(known)
      const [first, other] = yield* received(number, [
        aText({ person: { ...person, lid: known.lid ?? aLid() } }),
        aText({ person: someone({ lid: aLid() }) }),
      ])
      const [chat, another] = [present(first).chat.id, present(other).chat.id]
      assert.deepStrictEqual(yield* getSent(number), [
        [another, null],
        [chat, null],
      ])
      const message = yield* left(number, yield* toTo(person, number), noon + minute)
      assert.deepStrictEqual(yield* getSent(number), [
        [chat, noon + minute],
        [another, null],
      ])
      assert.deepStrictEqual(yield* entries(number, chat), [
        `sent ${message.id}`,
        `received ${first?.id}`,
      ])
      assert.deepStrictEqual(yield* entries(number, another), [`received ${other?.id}`])
    }),
  )

  it.effect("a message to a group by name moves the one with the latest activity", () =>
    Effect.gen(function* () {
      const { number } = yield* aReceivingStage
      const inGroup = (name: string) =>
        aText({ group: { remoteId: `group ${fresh()}`, name }, person: someone() })
      const [, second, other] = yield* received(number, [
        inGroup("Team"),
        inGroup("Team"),
        inGroup("team"),
      ])
      yield* left(number, { kind: "group", group: "Team" }, noon + minute)
      assert.deepStrictEqual((yield* getSent(number)).slice(0, 2), [
        [present(second).chat.id, noon + minute],
        [present(other).chat.id, null],
      ])
    }),
  )

  it.effect("a message to a chat by its id moves the one that goes on in its place", () =>
    Effect.gen(function* () {
      const { number } = yield* aReceivingStage
      const known = { phone: aPhone(), lid: aLid() }
      const [first, second] = yield* received(number, [
        aText({ person: someone({ phone: known.phone }) }),
        aText({ person: someone({ lid: known.lid }) }),
      ])
      const [chat, merged] = [present(first).chat.id, present(second).chat.id]
      const before = yield* left(number, {
        kind: "chat",
        chatId: merged,
        address: `lid:${known.lid}`,
      })
      assert.deepStrictEqual((yield* getSent(number))[0], [merged, noon])
      const [third] = yield* received(number, [aText({ person: someone(known) })], noon + 1)
      const after = yield* left(
        number,
        { kind: "chat", chatId: merged, address: `lid:${known.lid}` },
        noon + minute,
      )
      assert.deepStrictEqual(yield* getSent(number), [[chat, noon + minute]])
      const all = [
        `sent ${after.id}`,
        `received ${third?.id}`,
        `sent ${before.id}`,
        `received ${second?.id}`,
        `received ${first?.id}`,
      ]
      assert.deepStrictEqual(yield* entries(number, chat), all)
      assert.deepStrictEqual(yield* entries(number, merged), all)
    }),
  )

  it.effect("a message to a person without a chat makes and moves none", () =>
    Effect.gen(function* () {
      const { number, workspace } = yield* aReceivingStage
      const other = yield* aNumber(workspace.id)
      const person = someone()
      const [first] = yield* received(number, [aText({ person })])
      yield* left(number, toPhone(aPhone()))
      yield* left(other, toPhone(person.phone ?? ""))
      const failing = yield* aMessage(number, { message: { to: toPhone(person.phone ?? "") } })
      yield* end(change(failing, { trigger: "cancel" }))
      const chat = present(first).chat.id
      assert.deepStrictEqual(yield* getSent(number), [[chat, null]])
      assert.deepStrictEqual(yield* entries(number, chat), [`received ${first?.id}`])
    }),
  )

  it.effect("a test message moves the chat of its mode", () =>
    Effect.gen(function* () {
      const { number } = yield* aReceivingStage
      const person = someone()
      yield* received(number, [aText({ person }), aText({ person, mode: "test" })])
      const to = toPhone(person.phone ?? "")
      const message: Message = yield* aMessage(number, { mode: "test", message: { to } })
      yield* end(change(message, { trigger: "send_succeeded" }, noon + minute))
      assert.deepStrictEqual((yield* getSent(number))[0]?.[1], null)
      const chat = only(yield* readChats(number, "test"))
      assert.strictEqual(chat.lastSentAt, noon + minute)
    }),
  )

  it.effect("entries come in pages by time, of the caller's numbers alone", () =>
    Effect.gen(function* () {
      const { chats } = yield* Store
      const { number, workspace } = yield* aStage()
      yield* turnOn(workspace.id, { since: noon - day })
      const person = someone()
      const to = toPhone(person.phone ?? "")
      const [a, b] = yield* received(number, [aText({ person }), aText({ person })], noon)
      const chat = present(a).chat.id
      const sent = [yield* left(number, to, noon), yield* left(number, to, noon)]
      // Later by its id, earlier by its time.
      const [c] = yield* received(number, [aText({ person })], noon - hour)
      const all = [
        `sent ${sent[1]?.id}`,
        `sent ${sent[0]?.id}`,
        `received ${b?.id}`,
        `received ${a?.id}`,
        `received ${c?.id}`,
      ]
      assert.deepStrictEqual(yield* entries(number, chat), all)
      for (const limit of [1, 2, 3, 4, 5]) {
        const found: Array<ChatEntry> = []
        let next = null
        for (;;) {
          const page: Effect.Success<ReturnType<typeof list>> = yield* chats.listEntries(
            toScope(workspace.id),
            chat,
            next,
            limit,
          )
          found.push(...present(page).items)
          next = present(page).next
          if (next === null) break
          assert.strictEqual(present(page).items.length, limit)
        }
        assert.deepStrictEqual(names(found), all)
      }
      const { items } = present(yield* list(number, chat))
      assert.deepStrictEqual(
        items.map((entry) => entry.at),
        [noon, noon, noon, noon, noon - hour],
      )
      assert.deepStrictEqual(at(items, 0).message, {
        ...present(sent[1]),
        state: "sent",
        sentAt: noon,
      })
      const other = yield* aNumber(workspace.id)
      assert.isNull(yield* list(number, chat, 10, [other.id]))
      assert.lengthOf(present(yield* list(number, chat, 10, ids([number]))).items, 5)
      yield* chats.deleteReceived(toScope(workspace.id), present(b).id, noon)
      assert.lengthOf(yield* entries(number, chat), 4)
      yield* chats.deleteChat(toScope(workspace.id), chat, noon)
      assert.isNull(yield* list(number, chat))
    }),
  )
}
