/** `ChatStore`: what people write to numbers, and what happens to it. */
import { assert } from "@effect/vitest"
import {
  formatInstant,
  messageJson,
  receivedEvent,
  receivedEventTypes,
  Store,
  toShard,
} from "@messaging-service/core"
import type {
  Addressed,
  CallerScope,
  ChatFilter,
  ChatId,
  ConversationSettings,
  Incoming,
  IncomingMessage,
  NewReceived,
  NumberId,
  Person,
  ReceivedErasure,
  ReceivedFilter,
  ReceivedMessage,
  ReceivedMessageId,
  SendingNumber,
  WorkspaceId,
} from "@messaging-service/core"
import { Effect, Random } from "effect"
import {
  anEndpoint,
  aStageWithKey,
  claimDue,
  delivered,
  readLog,
  refused,
  settleDeliveries,
} from "../Delivering.ts"
import { at, ids, only, present } from "../Expect.ts"
import { followOutbox } from "../follow.ts"
import { toScope } from "../Reading.ts"
import {
  aMessage,
  anEventId,
  aNumber,
  aPhone,
  aStage,
  below,
  day,
  fresh,
  hour,
  minute,
  noon,
  oneSecond,
} from "../Records.ts"
import { aLink, sendNext } from "../Sending.ts"
import { bySize } from "../../testSize.ts"
import type { Topic } from "../Topic.ts"

const settings: ConversationSettings = {
  groups: true,
  retentionDays: 7,
  media: "off",
  maxFileBytes: 1000,
  maxStorageBytes: 1000,
  holdNewChats: false,
  since: noon,
}

export const turnOn = (workspaceId: WorkspaceId, changes: Partial<ConversationSettings> = {}) =>
  Store.use(({ chats }) => chats.putConversations(workspaceId, { ...settings, ...changes }))

export const nobody: Person = { phone: null, lid: null, userId: null, username: null, name: null }

export const aLid = (): string => `9${fresh()}`

export const someone = (known: Partial<Person> = { phone: aPhone() }): Person => ({
  ...nobody,
  ...known,
})

export const aText = (overrides: Partial<IncomingMessage> = {}): IncomingMessage => ({
  _tag: "Message",
  remoteId: `REMOTE${fresh()}`,
  mode: "live",
  fromMe: false,
  group: null,
  person: someone(),
  kind: "text",
  text: "Hello",
  content: null,
  file: null,
  quote: null,
  sentAt: noon - minute,
  ...overrides,
})

export const withEvents = (incoming: ReadonlyArray<Incoming>): ReadonlyArray<NewReceived> =>
  incoming.map((one) => ({
    incoming: one,
    eventId: anEventId(),
    toMessageJson: (message) => messageJson(message, noon, aLink),
  }))

export const receive = (
  { id }: Pick<SendingNumber, "id">,
  incoming: ReadonlyArray<Incoming>,
  now = noon,
) => Store.use(({ chats }) => chats.receive(id, withEvents(incoming), now))

/** Messages that are new and kept. */
export const received = (number: SendingNumber, incoming: ReadonlyArray<Incoming>, now = noon) =>
  Effect.gen(function* () {
    const outcomes = yield* receive(number, incoming, now)
    assert.isTrue(outcomes.every(({ became }) => became === "stored"))
    return yield* Effect.forEach(outcomes, ({ id }) => lookUp(number, present(id)))
  })

const everyReceived: ReceivedFilter = {
  numberId: null,
  chatId: null,
  kind: null,
  since: null,
  until: null,
}

const everyChat: ChatFilter = { numberId: null, phone: null, unread: null }

const list = (
  scope: CallerScope,
  filter: Partial<ReceivedFilter> = {},
  page = { before: null as number | null, limit: 100 },
) => Store.use(({ chats }) => chats.listReceived(scope, { ...everyReceived, ...filter }, page))

export const listIds = (scope: CallerScope, filter: Partial<ReceivedFilter> = {}) =>
  Effect.map(list(scope, filter), ({ items }) => ids(items))

const listChats = (
  scope: CallerScope,
  filter: Partial<ChatFilter> = {},
  page = { before: null as number | null, limit: 100 },
) => Store.use(({ chats }) => chats.listChats(scope, { ...everyChat, ...filter }, page))

export const readChats = ({ workspaceId }: SendingNumber, mode: "live" | "test" = "live") =>
  Effect.map(listChats(toScope(workspaceId, mode)), ({ items }) => items)

export const find = (
  { workspaceId }: SendingNumber,
  id: ReceivedMessageId,
  mode: "live" | "test" = "live",
) => Store.use(({ chats }) => chats.getReceived(toScope(workspaceId, mode), id))

export const lookUp = (number: SendingNumber, id: ReceivedMessageId) =>
  Effect.gen(function* () {
    return present((yield* find(number, id)) ?? (yield* find(number, id, "test")))
  })

const sequences = (items: ReadonlyArray<ReceivedMessage>) => items.map(({ sequence }) => sequence)

export const needsNoCopy = (number: SendingNumber, message: Addressed) =>
  Store.use(({ chats }) => chats.needsNoCopy(number.id, message))

/** Until nothing more is to go. */
export const erase = (workspaceId: WorkspaceId, changes: Partial<ReceivedErasure> = {}) =>
  Effect.gen(function* () {
    const { chats } = yield* Store
    const whole = { now: noon, most: 1000, mostChats: 1000, marksBefore: noon - 30 * day }
    let rounds = 0
    while (yield* chats.eraseReceived({ workspaceId, ...whole, ...changes })) {
      assert.isBelow(++rounds, 10)
    }
  })

/** With conversations. */
export const aReceivingStage = (changes: Partial<ConversationSettings> = {}) =>
  Effect.tap(aStage(), ({ workspace }) => turnOn(workspace.id, changes))

/** With an endpoint that names the events of received messages. */
export const aToldStage = Effect.gen(function* () {
  const stage = yield* aStageWithKey()
  yield* turnOn(stage.workspace.id)
  const endpoint = yield* anEndpoint(stage.key, { events: receivedEventTypes })
  return { ...stage, endpoint }
})

/** The addresses that each message of a person has. */
const waysToKnow: ReadonlyArray<ReadonlyArray<"phone" | "lid" | "both">> = [
  ["lid", "lid", "both"],
  ["phone", "phone", "both"],
  ["both", "lid", "phone"],
  // Of this one it turns out late that both are the same person.
  ["lid", "phone", "lid", "phone", "both"],
  ["lid", "lid"],
  ["phone", "phone"],
]

const aKnownPerson = (index: number) => {
  const [phone, lid] = [aPhone(), aLid()]
  const addresses = { phone: { phone }, lid: { lid }, both: { phone, lid } }
  const texts = at(waysToKnow, index % waysToKnow.length).map((known) =>
    aText({ person: someone(addresses[known]) }),
  )
  return { addresses, texts, chats: new Set<ChatId>(), found: new Set<ReceivedMessageId>() }
}

export const receiving: Topic = (it, { quick }) => {
  it.effect("stores what is written to a number in its order, field by field", () =>
    Effect.gen(function* () {
      const { number, workspace } = yield* aReceivingStage()
      const person = someone({ phone: aPhone(), name: "Ann" })
      const file = {
        mimeType: "image/png",
        size: 7,
        fileName: "a.png",
        seconds: null,
        sha256: null,
      }
      const image = aText({
        person,
        kind: "image",
        text: 'Grüße 🙂 "\\',
        content: { type: "of its own" },
        file,
      })
      const [first, second] = yield* received(number, [aText({ person }), image], noon + minute)
      assert.deepStrictEqual(second, {
        id: present(second).id,
        workspaceId: workspace.id,
        mode: "live",
        sequence: 2,
        number: { id: number.id, phone: number.phone, platform: number.platform },
        chat: { id: present(first).chat.id, type: "person", name: "Ann" },
        fromMe: false,
        from: person,
        kind: "image",
        text: image.text,
        content: image.content,
        file: { ...file, state: "off" },
        replyTo: null,
        reactions: [],
        sentAt: noon - minute,
        receivedAt: noon + minute,
        editedAt: null,
        revokedAt: null,
      })
      assert.strictEqual(first?.sequence, 1)
      assert.isBelow(first?.id ?? 0, second?.id ?? 0)
      const another = yield* aNumber(workspace.id)
      assert.deepStrictEqual(sequences(yield* received(another, [aText()])), [1])
      assert.deepStrictEqual(sequences(yield* received(number, [aText(), aText()])), [3, 4])
    }),
  )

  it.effect("a repeat is dropped, by phone, by LID and by both", () =>
    Effect.gen(function* () {
      const { number } = yield* aReceivingStage()
      const [phone, lid] = [aPhone(), aLid()]
      const variants = [{ phone }, { phone, lid }, { lid }, { lid, userId: `8${fresh()}` }]
      const text = aText({ person: someone({ phone }) })
      const outcomes = yield* Effect.forEach(variants, (known) =>
        receive(number, [{ ...text, person: someone(known) }]),
      )
      const { id } = only(at(outcomes, 0))
      assert.deepStrictEqual(
        outcomes.flat(),
        variants.map((_, index) => ({ id, became: index === 0 ? "stored" : "repeat" })),
      )
      const inBatch = aText()
      assert.deepStrictEqual(
        (yield* receive(number, [inBatch, inBatch])).map(({ became }) => became),
        ["stored", "repeat"],
      )
      assert.isTrue(yield* needsNoCopy(number, { ...text, person: someone({ lid }) }))
      assert.isFalse(yield* needsNoCopy(number, { ...text, fromMe: true }))
      assert.isFalse(yield* needsNoCopy(number, { ...text, mode: "test" }))
      assert.isFalse(yield* needsNoCopy(number, { ...text, remoteId: "another" }))
      const group = { remoteId: `group ${fresh()}`, name: "Group" }
      assert.isFalse(yield* needsNoCopy(number, { ...text, group }))
      assert.isFalse(yield* needsNoCopy(number, { ...text, person: someone() }))
    }),
  )

  it.effect("of a person who was known twice the older record and chat go on", () =>
    Effect.gen(function* () {
      const { chats } = yield* Store
      for (const order of [
        ["lid", "phone"],
        ["phone", "lid"],
      ] as const) {
        const { number } = yield* aReceivingStage()
        const addresses = { phone: aPhone(), lid: aLid() }
        const alone = order.map((name) =>
          aText({ person: someone({ [name]: addresses[name], name }) }),
        )
        const [first, second] = yield* received(number, alone)
        assert.notStrictEqual(first?.chat.id, second?.chat.id)
        const [third] = yield* received(number, [
          aText({ person: someone({ ...addresses, username: "ann" }) }),
        ])
        const known = { ...nobody, ...addresses, username: "ann", name: order[0] }
        assert.strictEqual(third?.chat.id, first?.chat.id)
        assert.deepStrictEqual((yield* lookUp(number, present(first).id)).from, known)
        const moved = yield* lookUp(number, present(second).id)
        assert.deepStrictEqual([moved.chat.id, moved.from], [present(first).chat.id, known])
        const chat = only(yield* readChats(number))
        assert.deepStrictEqual(
          { ...chat, activity: 0 },
          {
            ...known,
            id: present(first).chat.id,
            numberId: number.id,
            type: "person",
            activity: 0,
            lastReceivedAt: noon,
            lastSentAt: null,
            unread: 3,
            readUpTo: null,
            mergedInto: null,
          },
        )
        const scope = toScope(number.workspaceId)
        const merged = present(yield* chats.getChat(scope, present(second).chat.id))
        assert.deepStrictEqual([merged.mergedInto, merged.unread], [chat.id, 0])
        assert.deepStrictEqual(
          yield* listIds(scope, { chatId: merged.id }),
          yield* listIds(scope, { chatId: chat.id }),
        )
        assert.lengthOf(yield* listIds(scope, { chatId: merged.id }), 3)
        for (const text of alone) {
          const again = { ...text, person: someone(addresses) }
          assert.strictEqual(only(yield* receive(number, [again])).became, "repeat")
        }
      }
    }),
  )

  it.effect("people have one chat each, in whatever order their addresses come", () =>
    Effect.gen(function* () {
      const { chats } = yield* Store
      const { number } = yield* aReceivingStage()
      const scope = toScope(number.workspaceId)
      const length = quick ? bySize({ change: 200, all: 1000, night: 1000 }) : 60
      const people = Array.from({ length }, (_, index) => aKnownPerson(index))
      const all = people.flatMap((person) => person.texts.map((text) => ({ person, text })))
      for (const { person, text } of yield* Random.shuffle(all)) {
        const message = only(yield* received(number, [text]))
        person.found.add(message.id)
        person.chats.add(message.chat.id)
      }
      for (const person of people) {
        const first = Math.min(...person.chats)
        for (const id of person.chats) {
          const chat = present(yield* chats.getChat(scope, id))
          assert.deepStrictEqual([chat.id, chat.mergedInto], [id, id === first ? null : first])
          const listed = yield* listIds(scope, { chatId: id })
          assert.sameMembers([...listed], [...person.found])
        }
      }
      const open = yield* listChats(scope, {}, { before: null, limit: people.length + 1 })
      assert.lengthOf(open.items, people.length)
      // Each comes again under any address.
      for (const { person, text } of yield* Random.shuffle(all)) {
        const known = at(waysToKnow, 2)[yield* below(3)] ?? "both"
        const isLinked = person.texts.length > 2
        const again = isLinked ? { ...text, person: someone(person.addresses[known]) } : text
        const { became, id } = only(yield* receive(number, [again]))
        assert.deepStrictEqual([became, person.found.has(present(id))], ["repeat", true])
      }
    }).pipe(Random.withSeed("people")),
  )

  it.effect("what a person is called later is shown in earlier messages too", () =>
    Effect.gen(function* () {
      const { number } = yield* aReceivingStage()
      const phone = aPhone()
      const [first] = yield* received(number, [aText({ person: someone({ phone, name: "Ann" }) })])
      yield* received(number, [aText({ person: someone({ phone, name: "Anna" }) })])
      yield* received(number, [aText({ person: someone({ phone }) })])
      const { chat, from } = yield* lookUp(number, present(first).id)
      assert.deepStrictEqual([chat.name, from.name], ["Anna", "Anna"])
    }),
  )

  it.effect("what the owner wrote on the phone is in the other one's chat, and not unread", () =>
    Effect.gen(function* () {
      const { number } = yield* aReceivingStage()
      const person = someone()
      const [first, echo] = yield* received(number, [
        aText({ person }),
        aText({ person, fromMe: true }),
      ])
      assert.strictEqual(echo?.chat.id, first?.chat.id)
      assert.deepStrictEqual(echo?.from, { ...nobody, phone: `+${number.phone}` })
      const chat = only(yield* readChats(number))
      assert.deepStrictEqual([chat.unread, chat.phone], [1, person.phone])
      const group = { remoteId: `group ${fresh()}`, name: "Group" }
      const own = aText({ group, person: null, fromMe: true })
      const [inGroup] = yield* received(number, [own])
      assert.strictEqual(inGroup?.chat.name, "Group")
      assert.strictEqual(only(yield* receive(number, [own])).became, "repeat")
    }),
  )

  it.effect("groups are stored where the workspace keeps them", () =>
    Effect.gen(function* () {
      const { number, workspace } = yield* aReceivingStage()
      const group = { remoteId: `group ${fresh()}`, name: "Group" }
      const [ann, ben] = [someone(), someone()]
      const texts = [aText({ group, person: ann }), aText({ group, person: ben })]
      const [first, second] = yield* received(number, texts)
      assert.deepStrictEqual([first?.from, second?.from], [ann, ben])
      assert.deepStrictEqual(first?.chat, second?.chat)
      assert.strictEqual(first?.chat.type, "group")
      const renamed = { ...group, name: "Another name" }
      yield* received(number, [aText({ group: renamed, person: ann })])
      yield* received(number, [aText({ group: { ...group, name: null }, person: ann })])
      const chat = only(yield* readChats(number))
      assert.deepStrictEqual([chat.name, chat.phone, chat.unread], ["Another name", null, 4])
      yield* received(number, [aText({ person: ann })])
      assert.lengthOf(yield* readChats(number), 2)
      yield* turnOn(workspace.id, { groups: false })
      const outcomes = yield* receive(number, [
        aText({ group, person: ann }),
        aText({ person: ann }),
      ])
      assert.deepStrictEqual(
        outcomes.map(({ became }) => became),
        ["dropped", "stored"],
      )
    }),
  )

  it.effect("a quote names what it quotes where that is known", () =>
    Effect.gen(function* () {
      const { number } = yield* aReceivingStage()
      const sent = yield* aMessage(number)
      yield* sendNext(number)
      const person = someone()
      const text = aText({ person })
      const quoting = (remoteId: string | null, whose = person) =>
        aText({ person: whose, quote: { remoteId, text: "quoted" } })
      const messages = yield* received(number, [
        text,
        quoting(text.remoteId),
        quoting(sent.transportId),
        quoting("unknown"),
        quoting(null),
        // Of another chat.
        quoting(text.remoteId, someone()),
      ])
      const none = { receivedMessageId: null, messageId: null, text: "quoted" }
      assert.deepStrictEqual(
        messages.map(({ replyTo }) => replyTo),
        [
          null,
          { ...none, receivedMessageId: present(messages[0]).id },
          { ...none, messageId: sent.id },
          none,
          none,
          none,
        ],
      )
    }),
  )

  it.effect("both modes are apart, and share the number's order", () =>
    Effect.gen(function* () {
      const { number, workspace } = yield* aReceivingStage()
      const text = aText()
      const [live, test] = yield* received(number, [text, { ...text, mode: "test" }])
      assert.deepStrictEqual([live?.sequence, test?.sequence], [1, 2])
      assert.deepStrictEqual(yield* listIds(toScope(workspace.id)), [present(live).id])
      assert.deepStrictEqual(yield* listIds(toScope(workspace.id, "test")), [present(test).id])
      assert.isNull(yield* find(number, present(test).id))
      assert.strictEqual(only(yield* readChats(number, "test")).id, test?.chat.id)
      assert.strictEqual(only(yield* readChats(number)).id, live?.chat.id)
    }),
  )

  it.effect("lists by number, chat, kind and time, page by page", () =>
    Effect.gen(function* () {
      const { chats } = yield* Store
      const { number, workspace } = yield* aReceivingStage()
      const another = yield* aNumber(workspace.id)
      const person = someone()
      const a = only(yield* received(number, [aText({ person })], noon))
      const b = only(yield* received(another, [aText({ kind: "image" })], noon + 1))
      const c = only(yield* received(number, [aText({ kind: "image" })], noon + 2))
      const d = only(yield* received(number, [aText({ person })], noon + 3))
      const scope = toScope(workspace.id)
      assert.deepStrictEqual(yield* listIds(scope), ids([d, c, b, a]))
      assert.deepStrictEqual(yield* listIds(scope, { numberId: number.id }), ids([d, c, a]))
      assert.deepStrictEqual(yield* listIds(scope, { chatId: a.chat.id }), ids([d, a]))
      assert.deepStrictEqual(yield* listIds(scope, { kind: "image" }), ids([c, b]))
      assert.deepStrictEqual(
        yield* listIds(scope, { numberId: number.id, kind: "image" }),
        ids([c]),
      )
      assert.deepStrictEqual(yield* listIds(scope, { chatId: a.chat.id, numberId: another.id }), [])
      assert.deepStrictEqual(
        yield* listIds(scope, { since: noon + 1, until: noon + 3 }),
        ids([c, b]),
      )
      const restricted = { ...scope, restriction: [another.id] }
      assert.deepStrictEqual(yield* listIds(restricted), ids([b]))
      assert.deepStrictEqual(yield* listIds(restricted, { numberId: number.id }), [])
      assert.deepStrictEqual(yield* listIds(restricted, { chatId: a.chat.id }), [])
      assert.isNull(yield* chats.getReceived(restricted, a.id))
      for (const filter of [{}, { numberId: number.id }, { chatId: a.chat.id }]) {
        const whole = yield* listIds(scope, filter)
        const walked: Array<ReceivedMessageId> = []
        let before: number | null = null
        do {
          const page: Effect.Success<ReturnType<typeof list>> = yield* list(scope, filter, {
            before,
            limit: 1,
          })
          walked.push(...ids(page.items))
          before = page.next
        } while (before !== null)
        assert.deepStrictEqual(walked, whole)
      }
      const after = (sequence: number, kind: "image" | null = null, limit = 100) =>
        Effect.map(chats.receivedAfter(scope, number.id, sequence, kind, limit), ids)
      assert.deepStrictEqual(yield* after(0), ids([a, c, d]))
      assert.deepStrictEqual(yield* after(1), ids([c, d]))
      assert.deepStrictEqual(yield* after(0, null, 2), ids([a, c]))
      assert.deepStrictEqual(yield* after(0, "image"), ids([c]))
      assert.deepStrictEqual(yield* after(3), [])
      assert.deepStrictEqual(yield* chats.receivedAfter(restricted, number.id, 0, null, 9), [])
    }),
  )

  it.effect("chats are listed by their latest activity, by number, phone and unread", () =>
    Effect.gen(function* () {
      const { chats } = yield* Store
      const { number, workspace } = yield* aReceivingStage()
      const another = yield* aNumber(workspace.id)
      const person = someone()
      const a = only(yield* received(number, [aText({ person })])).chat.id
      const b = only(yield* received(another, [aText({ person })])).chat.id
      const c = only(yield* received(number, [aText({ fromMe: true })])).chat.id
      yield* received(number, [aText({ person })], noon + 1)
      const scope = toScope(workspace.id)
      const listed = (filter: Partial<ChatFilter> = {}, of = scope) =>
        Effect.map(listChats(of, filter), ({ items }) => ids(items))
      assert.deepStrictEqual(yield* listed(), [a, c, b])
      assert.deepStrictEqual(yield* listed({ numberId: number.id }), [a, c])
      assert.deepStrictEqual(yield* listed({ phone: person.phone }), [a, b])
      assert.deepStrictEqual(yield* listed({ phone: person.phone, numberId: another.id }), [b])
      assert.deepStrictEqual(yield* listed({ phone: aPhone() }), [])
      assert.deepStrictEqual(yield* listed({ unread: true }), [a, b])
      assert.deepStrictEqual(yield* listed({ unread: false }), [c])
      const restricted = { ...scope, restriction: [another.id] }
      assert.deepStrictEqual(yield* listed({}, restricted), [b])
      assert.deepStrictEqual(yield* listed({ phone: person.phone }, restricted), [b])
      assert.deepStrictEqual(yield* listed({ numberId: number.id }, restricted), [])
      assert.isNull(yield* chats.getChat(restricted, a))
      assert.strictEqual((yield* chats.getChat(scope, a))?.lastReceivedAt, noon + 1)
      const first = yield* listChats(scope, {}, { before: null, limit: 2 })
      assert.deepStrictEqual(ids(first.items), [a, c])
      const rest = yield* listChats(scope, {}, { before: first.next, limit: 2 })
      assert.deepStrictEqual([ids(rest.items), rest.next], [[b], null])
    }),
  )

  it.effect("the words of an erased message go from what quotes it, and from its events", () =>
    Effect.gen(function* () {
      const follow = yield* followOutbox
      const { endpoint, number, workspace } = yield* aToldStage
      const { chats, webhooks } = yield* Store
      const person = someone()
      const secret = aText({ person, text: "a secret" })
      const quote = { remoteId: secret.remoteId, text: 'a "secret"\u2028' }
      const [original, ...quoting] = yield* received(number, [
        secret,
        aText({ person, quote, text: '"reply_to":null' }),
        aText({ person, quote }),
        aText({ person, quote: { remoteId: null, text: "of another" } }),
      ])
      // One is delivered, the others are put off; all are in the log.
      const claimed = (yield* claimDue()).filter(({ targetId }) => targetId === endpoint.id)
      const results = claimed.map((one, index) =>
        index === 1 ? delivered(one) : refused(one, noon + minute),
      )
      yield* settleDeliveries(...results)
      assert.isTrue(yield* chats.deleteReceived(toScope(workspace.id), present(original).id, noon))
      const replies = yield* Effect.forEach(quoting, (one) => lookUp(number, one.id))
      const none = { receivedMessageId: null, messageId: null, text: "" }
      assert.deepStrictEqual(
        replies.map(({ replyTo }) => replyTo),
        [none, none, { ...none, text: "of another" }],
      )
      const published = (yield* follow(workspace.id)).map(({ body }) => body)
      const waiting = (yield* claimDue({ now: noon + hour })).map(({ body }) => body)
      const logged = yield* Effect.forEach(yield* readLog(endpoint), (line) =>
        Effect.map(webhooks.attempt(endpoint.id, line.id), (one) => one?.requestBody ?? ""),
      )
      assert.deepStrictEqual([published.length, waiting.length], [3, 2])
      assert.lengthOf(
        logged.filter((body) => body !== ""),
        3,
      )
      for (const body of [...published, ...waiting, ...logged]) assert.notInclude(body, "secret")
      assert.strictEqual(
        published.filter((body) => body.includes(JSON.stringify('"reply_to":null'))).length,
        1,
      )
    }),
  )

  it.effect("each message announces itself once, to endpoints that name its event", () =>
    Effect.gen(function* () {
      const follow = yield* followOutbox
      const { key, number, workspace } = yield* aToldStage
      const usual = yield* anEndpoint(key)
      const { chats } = yield* Store
      const person = someone({ phone: aPhone(), name: "Ann" })
      const group = { remoteId: `group ${fresh()}`, name: "Group" }
      const contact = { contacts: [{ name: "Ben", phones: ["+4915550000"] }] }
      const incoming = withEvents([
        aText({ person, kind: "contact", content: contact }),
        aText({ person, fromMe: true, quote: { remoteId: null, text: "q" } }),
        aText({ group, person }),
        aText({ mode: "test" }),
      ])
      const outcomes = yield* chats.receive(number.id, incoming, noon + minute)
      yield* chats.receive(number.id, incoming, noon + hour)
      const events = yield* Effect.forEach(outcomes, ({ id }, index) =>
        Effect.map(lookUp(number, present(id)), (message) =>
          receivedEvent(at(incoming, index), message),
        ),
      )
      const published = (yield* follow(workspace.id)).map((one) => ({
        id: one.eventId,
        type: one.type,
        workspaceId: one.workspaceId,
        mode: one.mode,
        messageId: one.messageId,
        createdAt: one.createdAt,
        body: one.body,
      }))
      assert.deepStrictEqual(
        published,
        events.map(({ body, createdAt, id, messageId, mode, type, workspaceId }) => ({
          id,
          type,
          workspaceId,
          mode,
          messageId,
          createdAt,
          body,
        })),
      )
      const claimed = yield* claimDue({ now: noon + minute })
      const own = claimed.filter(({ eventId }) => events.some(({ id }) => id === eventId))
      assert.sameMembers(
        own.map(({ body }) => body),
        events.filter(({ mode }) => mode === "live").map(({ body }) => body),
      )
      assert.isFalse(claimed.some(({ targetId }) => targetId === usual.id))
      yield* settleDeliveries(...claimed.map((one) => delivered(one)))
    }),
  )

  it.effect("what a clock behind the conversations' beginning stores is kept, at that time", () =>
    Effect.gen(function* () {
      const follow = yield* followOutbox
      const { number, workspace } = yield* aToldStage
      const message = only(yield* received(number, [aText()], noon - 5 * oneSecond))
      assert.strictEqual(message.receivedAt, noon)
      yield* erase(workspace.id)
      assert.deepStrictEqual(yield* lookUp(number, message.id), message)
      assert.strictEqual(only(yield* readChats(number)).lastReceivedAt, noon)
      const [told] = (yield* follow(workspace.id)).slice(-1)
      assert.strictEqual(told?.createdAt, noon)
      assert.include(told?.body, formatInstant(noon))
    }),
  )

  it.effect("nothing is stored while conversations are off, or for a removed number", () =>
    Effect.gen(function* () {
      const { chats, numbers } = yield* Store
      const { number, workspace } = yield* aStage()
      const nothing = [{ id: null, became: "dropped" }] as const
      const text = aText()
      assert.deepStrictEqual(yield* receive(number, [text]), nothing)
      assert.isFalse(yield* needsNoCopy(number, text))
      yield* turnOn(workspace.id)
      assert.isTrue(yield* chats.anyConversations)
      const { id } = only(yield* received(number, [text]))
      assert.isTrue(yield* needsNoCopy(number, text))
      assert.deepStrictEqual(present(yield* chats.conversations(workspace.id)).stored, {
        messages: 1,
        bytes: 0,
        oldestAt: noon,
      })
      yield* chats.deleteConversations(workspace.id, noon)
      assert.deepStrictEqual(yield* receive(number, [aText()]), nothing)
      assert.isNull(yield* find(number, id))
      assert.deepStrictEqual(yield* readChats(number), [])
      // What came before is not read again.
      yield* turnOn(workspace.id, { since: noon + 1 })
      assert.isNull(yield* find(number, id))
      const another = yield* aNumber(workspace.id)
      const later = only(yield* received(another, [aText()], noon + 1))
      yield* numbers.remove(workspace.id, another.id, noon + 2)
      assert.deepStrictEqual(yield* receive(another, [aText()], noon + 2), nothing)
      assert.isNull(yield* find(another, later.id))
      assert.deepStrictEqual(yield* readChats(another), [])
      assert.deepStrictEqual(
        yield* chats.receive(999_999_999 as NumberId, withEvents([aText()]), noon),
        nothing,
      )
    }),
  )

  it.effect("a session's write stores what it opened, and nothing once another has the shard", () =>
    Effect.gen(function* () {
      const { sessions } = yield* Store
      const { number, workspace } = yield* aReceivingStage()
      const worker = yield* Effect.acquireRelease(sessions.addWorker("a worker", 100), (id) =>
        Effect.orDie(sessions.removeWorker(id)),
      )
      const shard = toShard(number.id)
      let leases = yield* sessions.takeShards(worker, [shard])
      // Skipped while a write in flight locks it.
      while (leases.length === 0) leases = yield* sessions.takeShards(worker, [shard])
      const fence = only(leases)
      const text = aText()
      const write = (term: number, one: Incoming, value: string) =>
        Effect.map(
          sessions.receive(
            number.id,
            "credentials",
            [{ type: "session", id: "1", value }],
            noon,
            { shard: fence.shard, term },
            withEvents([one]),
          ),
          (outcomes) => outcomes !== null,
        )
      assert.isTrue(yield* write(fence.term, text, "one"))
      assert.isFalse(yield* write(fence.term - 1, aText(), "late"))
      assert.isTrue(yield* write(fence.term, text, "two"))
      assert.lengthOf(yield* listIds(toScope(workspace.id)), 1)
      assert.deepStrictEqual(
        [...(yield* sessions.keys(number.id, "session", ["1"]))],
        [["1", "two"]],
      )
    }),
  )

  it.effect("a deleted message is gone with its event, and its repeat stays one", () =>
    Effect.gen(function* () {
      const { chats, webhooks } = yield* Store
      const follow = yield* followOutbox
      const { endpoint, number, workspace } = yield* aToldStage
      const text = aText()
      const [first, second] = yield* received(number, [text, aText({ person: text.person })])
      const [told] = yield* claimDue({ now: noon, perTarget: 1 })
      yield* settleDeliveries(delivered(present(told)))
      const scope = toScope(workspace.id)
      const { id } = present(first)
      assert.isFalse(yield* chats.deleteReceived(toScope(workspace.id, "test"), id, noon))
      assert.isFalse(yield* chats.deleteReceived({ ...scope, restriction: [] }, id, noon))
      assert.isTrue(yield* chats.deleteReceived(scope, id, noon))
      assert.isFalse(yield* chats.deleteReceived(scope, id, noon))
      assert.isNull(yield* chats.getReceived(scope, id))
      assert.lengthOf(yield* follow(workspace.id), 1)
      assert.strictEqual(only(yield* readChats(number)).unread, 1)
      assert.deepStrictEqual(only(yield* receive(number, [text])), { id, became: "repeat" })
      assert.isTrue(yield* needsNoCopy(number, text))
      assert.deepStrictEqual(sequences(yield* received(number, [aText()])), [3])
      const attempt = only(yield* readLog(endpoint))
      assert.isNull(present(yield* webhooks.attempt(endpoint.id, attempt.id)).requestBody)
      yield* chats.deleteReceived(scope, present(second).id, noon)
      yield* Effect.forEach(yield* listIds(scope), (one) => chats.deleteReceived(scope, one, noon))
      assert.deepStrictEqual(yield* claimDue({ now: noon }), [])
      assert.deepStrictEqual(yield* follow(workspace.id), [])
    }),
  )

  it.effect("a delivery in flight ends with its message", () =>
    Effect.gen(function* () {
      const { chats } = yield* Store
      const { endpoint, number, workspace } = yield* aToldStage
      const { id } = only(yield* received(number, [aText()]))
      const claimed = only(yield* claimDue({ now: noon }))
      yield* chats.deleteReceived(toScope(workspace.id), id, noon)
      yield* settleDeliveries(delivered(claimed))
      assert.deepStrictEqual(yield* readLog(endpoint), [])
      const later = only(yield* received(number, [aText()]))
      const next = only(yield* claimDue({ now: noon }))
      assert.include(next.body, `"id":${later.id},`)
      yield* settleDeliveries(delivered(next))
    }),
  )

  it.effect("a removed chat is unknown at once, and what comes later begins another", () =>
    Effect.gen(function* () {
      const { chats } = yield* Store
      const { number, workspace } = yield* aReceivingStage()
      const addresses = { phone: aPhone(), lid: aLid() }
      const [first, second] = yield* received(number, [
        aText({ person: someone({ phone: addresses.phone }) }),
        aText({ person: someone({ lid: addresses.lid }) }),
        aText({ person: someone(addresses) }),
      ])
      const scope = toScope(workspace.id)
      // Merged into the first one's.
      const chatId = present(second).chat.id
      assert.strictEqual(chatId, present(first).chat.id)
      const merged = present(yield* chats.getChat(scope, chatId))
      assert.isFalse(yield* chats.deleteChat(toScope(workspace.id, "test"), chatId, noon))
      assert.isTrue(yield* chats.deleteChat(scope, merged.id, noon))
      assert.isFalse(yield* chats.deleteChat(scope, merged.id, noon))
      assert.isNull(yield* chats.getChat(scope, chatId))
      assert.deepStrictEqual(yield* listIds(scope), [])
      assert.deepStrictEqual(yield* listIds(scope, { chatId }), [])
      assert.deepStrictEqual(yield* chats.receivedAfter(scope, number.id, 0, null, 9), [])
      const later = only(yield* received(number, [aText({ person: someone(addresses) })]))
      assert.notStrictEqual(later.chat.id, chatId)
      yield* erase(workspace.id)
      assert.deepStrictEqual(yield* listIds(scope), [later.id])
      assert.deepStrictEqual(present(yield* chats.conversations(workspace.id)).stored, {
        messages: 1,
        bytes: 0,
        oldestAt: noon,
      })
    }),
  )

  it.effect("a chat that was merged is removed with the one that went on", () =>
    Effect.gen(function* () {
      const { chats } = yield* Store
      const { number, workspace } = yield* aReceivingStage()
      const addresses = { phone: aPhone(), lid: aLid() }
      const first = only(
        yield* received(number, [aText({ person: someone({ lid: addresses.lid }) })]),
      )
      const second = only(
        yield* received(number, [aText({ person: someone({ phone: addresses.phone }) })]),
      )
      yield* received(number, [aText({ person: someone(addresses) })])
      const scope = toScope(workspace.id)
      assert.isTrue(yield* chats.deleteChat(scope, second.chat.id, noon))
      assert.isNull(yield* chats.getChat(scope, first.chat.id))
      assert.isNull(yield* chats.getChat(scope, second.chat.id))
      assert.isFalse(yield* chats.deleteChat(scope, second.chat.id, noon))
      yield* erase(workspace.id)
      assert.deepStrictEqual(yield* readChats(number), [])
    }),
  )

  it.effect("erases what is older than the workspace keeps it, and marks in time", () =>
    Effect.gen(function* () {
      const { number, workspace } = yield* aReceivingStage({ retentionDays: 7 })
      const texts = [aText(), aText()]
      const old = yield* received(number, texts.slice(0, 1), noon)
      const [kept] = yield* received(number, texts.slice(1), noon + 1)
      const scope = toScope(workspace.id)
      yield* erase(workspace.id, { now: noon + 7 * day })
      assert.deepStrictEqual(yield* listIds(scope), ids([present(kept), ...old]))
      yield* erase(workspace.id, { now: noon + 7 * day + 1, marksBefore: noon })
      assert.deepStrictEqual(yield* listIds(scope), [present(kept).id])
      assert.lengthOf(yield* readChats(number), 1)
      assert.isTrue(yield* needsNoCopy(number, present(texts[0])))
      yield* erase(workspace.id, {
        now: noon + 7 * day + 1,
        marksBefore: noon + 7 * day + 2,
      })
      assert.isFalse(yield* needsNoCopy(number, present(texts[0])))
      assert.isTrue(yield* needsNoCopy(number, present(texts[1])))
      assert.deepStrictEqual(sequences(yield* received(number, texts.slice(0, 1), noon + 2)), [3])
    }),
  )

  it.effect("of too many the oldest messages and chats go", () =>
    Effect.gen(function* () {
      const { number, workspace } = yield* aReceivingStage()
      const person = someone()
      const texts = [aText({ person }), aText({ mode: "test" }), aText(), aText({ person })]
      const messages = yield* received(number, texts)
      const scope = toScope(workspace.id)
      yield* erase(workspace.id, { most: 2 })
      assert.deepStrictEqual(yield* listIds(scope), ids(messages.slice(2).toReversed()))
      assert.deepStrictEqual(yield* listIds(toScope(workspace.id, "test")), [])
      yield* erase(workspace.id, { mostChats: 1 })
      assert.deepStrictEqual(yield* listIds(scope), ids(messages.slice(3)))
      assert.lengthOf(yield* readChats(number), 1)
    }),
  )

  it.effect(
    "erases all of a workspace that turned conversations off, and of a removed number",
    () =>
      Effect.gen(function* () {
        const { chats, numbers } = yield* Store
        const follow = yield* followOutbox
        const { number, workspace } = yield* aToldStage
        const another = yield* aNumber(workspace.id)
        const group = { remoteId: `group ${fresh()}`, name: "Group" }
        yield* received(number, [aText(), aText({ group }), aText({ mode: "test" })])
        const remaining = only(yield* received(another, [aText()]))
        yield* numbers.remove(workspace.id, number.id, noon)
        yield* erase(workspace.id)
        assert.deepStrictEqual(present(yield* chats.conversations(workspace.id)).stored.messages, 1)
        assert.deepStrictEqual(
          (yield* follow(workspace.id)).map(
            ({ body }) => JSON.parse(body).data.received_message.id,
          ),
          [remaining.id],
        )
        yield* chats.deleteConversations(workspace.id, noon)
        yield* erase(workspace.id)
        assert.deepStrictEqual(yield* follow(workspace.id), [])
        assert.deepStrictEqual(yield* claimDue({ now: noon }), [])
        // Turned on again, nothing of before is there.
        yield* turnOn(workspace.id)
        assert.deepStrictEqual(yield* listIds(toScope(workspace.id)), [])
        assert.deepStrictEqual(present(yield* chats.conversations(workspace.id)).stored, {
          messages: 0,
          bytes: 0,
          oldestAt: null,
        })
        assert.deepStrictEqual(sequences(yield* received(another, [aText()])), [2])
      }),
  )

  it.effect("a deleted workspace is erased once nothing is left of what it received", () =>
    Effect.gen(function* () {
      const { system, workspaces } = yield* Store
      const { number, workspace } = yield* aReceivingStage()
      yield* received(number, [aText(), aText()])
      yield* workspaces.delete(workspace.id, noon)
      const eraseDeleted = Effect.gen(function* () {
        yield* system.eraseEnded([{ workspaceId: workspace.id, endedBefore: noon + day }])
        yield* system.eraseRemoved({ now: noon, endpointsBefore: noon, sessionsBefore: noon })
        yield* system.eraseDeleted([{ id: workspace.id, claimants: [] }], noon)
        const left = yield* system.retainedWorkspaces(workspace.id - 1, 1)
        return !ids(left).includes(workspace.id)
      })
      assert.isFalse(yield* eraseDeleted)
      yield* erase(workspace.id)
      assert.isTrue(yield* eraseDeleted)
    }),
  )

  it.effect("an unknown scope or id finds nothing", () =>
    Effect.gen(function* () {
      const { chats } = yield* Store
      const { number } = yield* aReceivingStage()
      const { chat, id } = only(yield* received(number, [aText()]))
      const other = toScope((yield* aStage()).workspace.id)
      assert.isNull(yield* chats.getReceived(other, id))
      assert.isNull(yield* chats.getChat(other, chat.id))
      assert.isFalse(yield* chats.deleteReceived(other, id, noon))
      assert.isFalse(yield* chats.deleteChat(other, chat.id, noon))
      assert.deepStrictEqual(yield* listIds(other, { numberId: number.id }), [])
      assert.deepStrictEqual(yield* listIds(other, { chatId: chat.id }), [])
      assert.deepStrictEqual(yield* chats.receivedAfter(other, number.id, 0, null, 9), [])
    }),
  )
}
