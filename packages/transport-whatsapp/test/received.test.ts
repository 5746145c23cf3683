/** What people write to a linked number: stored once, in order, before WhatsApp forgets it. */
import { assert, describe, it as plainIt, layer } from "@effect/vitest"
import { NumberOwnership, Store, toShard, WhatsAppTransport } from "@messaging-service/core"
import type { NumberId, ReceivedMessage } from "@messaging-service/core"
import { layer as layerMemory } from "@messaging-service/store-memory"
import { WhatsAppServer } from "@messaging-service/whatsapp-server"
import type { Address, SentFile, Writing } from "@messaging-service/whatsapp-server"
import { Effect, Layer } from "effect"
import { Sessions } from "../src/Account.ts"
import { makeArrivals, makeReceiving, noInbox } from "../src/received.ts"
import { aConversation, getTexts, isSettled, logins, reconnected, withSequences } from "./People.ts"
import { written } from "./People.ts"
import {
  aLinkedNumber,
  aPerson,
  aText,
  getReceived,
  inTrouble,
  layerAdapter,
  layerServer,
  layerStoresOn,
  layerWorld,
  noTrouble,
  sendNow,
  to,
  Trouble,
  until,
  withConversations,
} from "./LiveWorld.ts"

const toLid = (digits: string) => `9${digits.padStart(14, "0")}`

/** The chat of that message was read up to it. */
const markRead = ({ chat, id, workspaceId }: ReceivedMessage) =>
  Effect.gen(function* () {
    const { chats } = yield* Store
    const scope = { workspaceId, mode: "live", restriction: null } as const
    yield* chats.markRead(scope, chat.id, id, 0, null)
    const due = yield* chats.claimReadMarks(0, 0, "all", 1000)
    const mark = due.find(({ chatId }) => chatId === chat.id)
    const transport = yield* WhatsAppTransport
    return mark === undefined ? null : yield* transport.markRead!(mark)
  })

layer(layerWorld)("what was read", (it) => {
  it.effect("is marked under the address that each message came from, again without harm", () =>
    Effect.gen(function* () {
      const { number, other } = yield* aConversation
      const server = yield* WhatsAppServer
      const ids: Array<string> = []
      for (const address of ["lid", "pn", "lid only"] as const) {
        ids.push(yield* server.write(other, number.digits, { text: address, address }))
        yield* isSettled(number)
      }
      const last = (yield* getReceived(number)).at(-1)!
      assert.deepStrictEqual(yield* markRead(last), { _tag: "Marked" })
      const common = { participant: undefined, type: "read" }
      const marks = [
        { chat: `${toLid(other)}@lid`, ids: [ids[2], ids[0]], ...common },
        { chat: `${other}@s.whatsapp.net`, ids: [ids[1]], ...common },
      ]
      assert.deepStrictEqual<unknown>(server.readMarks(number.digits), marks)
      assert.deepStrictEqual(yield* markRead(last), { _tag: "Marked" })
      assert.deepStrictEqual<unknown>(server.readMarks(number.digits), [...marks, ...marks])
    }),
  )

  it.effect("in a group names the author of each message", () =>
    Effect.gen(function* () {
      const linked = yield* aLinkedNumber
      const number = yield* withConversations(linked, true)
      const server = yield* WhatsAppServer
      const [ann, ben] = [yield* aPerson, yield* aPerson]
      const group = yield* server.group({
        subject: "Read",
        participants: [ann, ben, number.digits],
      })
      yield* written(number, ann, "Hello", group)
      const last = yield* written(number, ben, "Hi", group)
      assert.deepStrictEqual(yield* markRead(last!), { _tag: "Marked" })
      const marks = server.readMarks(number.digits)
      assert.deepStrictEqual(
        marks.map(({ chat }) => chat),
        [group, group],
      )
      assert.strictEqual(new Set(marks.map(({ participant }) => participant)).size, 2)
    }),
  )
})

layer(layerWorld)("what a person writes", (it) => {
  it.effect.each([
    ["pn", true, true],
    ["lid", true, true],
    ["pn only", true, false],
    ["lid only", false, true],
  ] as ReadonlyArray<readonly [Address, boolean, boolean]>)(
    "is stored with the addresses that come along: %s",
    ([address, hasPhone, hasLid]) =>
      Effect.gen(function* () {
        const { number, other } = yield* aConversation
        const what = { text: "Hello", address, sentAt: 1_700_000_000_000, device: 3 }
        const stored = yield* written(number, other, what)
        assert.deepInclude(stored, {
          sequence: 1,
          fromMe: false,
          kind: "text",
          text: "Hello",
          sentAt: 1_700_000_000_000,
          from: {
            phone: hasPhone ? `+${other}` : null,
            lid: hasLid ? toLid(other) : null,
            userId: null,
            username: null,
            name: other,
          },
        })
      }),
  )

  it.effect("is one chat, whichever address names the person", () =>
    Effect.gen(function* () {
      const { number, other } = yield* aConversation
      for (const address of ["lid only", "pn", "pn only"] as const) {
        yield* written(number, other, { text: address, address })
      }
      const received = yield* getReceived(number)
      assert.deepStrictEqual(withSequences(received), ["1 lid only", "2 pn", "3 pn only"])
      assert.strictEqual(new Set(received.map(({ chat }) => chat.id)).size, 1)
    }),
  )

  it.effect("may be a file of any kind", () =>
    Effect.gen(function* () {
      const { number, other } = yield* aConversation
      const kinds: ReadonlyArray<SentFile["kind"]> = [
        "image",
        "video",
        "audio",
        "voice",
        "document",
        "sticker",
      ]
      for (const kind of kinds) {
        const bytes = Buffer.from(kind)
        const sent = { kind, bytes, caption: "Look", fileName: "a b.bin", seconds: 3 }
        const stored = yield* written(number, other, { file: sent })
        assert.strictEqual(stored?.kind, kind)
        assert.strictEqual(stored?.file?.size, bytes.length)
        assert.lengthOf(stored?.file?.sha256 ?? "", 64)
        assert.strictEqual(stored?.file?.fileName, kind === "document" ? "a b.bin" : null)
      }
    }),
  )

  it.effect("may be a place, a card, a poll, or what this service has no kind for", () =>
    Effect.gen(function* () {
      const { number, other } = yield* aConversation
      const location = { latitude: 52.5, longitude: 13.4, name: "Here" }
      const contacts = [{ name: "Ann", phones: ["+4915550000009"] }]
      const poll = { question: "When?", options: ["Now", "Later"] }
      const contents: ReadonlyArray<readonly [Writing, string, object]> = [
        [{ location }, "location", { ...location, address: null }],
        [{ contacts }, "contact", { contacts }],
        [{ poll }, "poll", poll],
        [{ message: { orderMessage: {} } }, "unsupported", { type: "orderMessage" }],
      ]
      for (const [what, kind, content] of contents) {
        const stored = yield* written(number, other, what)
        assert.deepStrictEqual<unknown>([stored?.kind, stored?.content], [kind, content])
      }
    }),
  )

  it.effect("quotes what was received and what was sent", () =>
    Effect.gen(function* () {
      const { number, other } = yield* aConversation
      const server = yield* WhatsAppServer
      const sent = aText(number, to(other), "Question?")
      yield* sendNow(sent)
      const first = yield* written(number, other, { text: "Yes", quotes: sent.transportId })
      assert.strictEqual(first?.replyTo?.text, "Question?")
      const id = yield* server.write(other, number.digits, "And")
      yield* isSettled(number)
      const second = yield* written(number, other, { text: "No", quotes: id })
      const [, quoted] = yield* getReceived(number)
      assert.deepStrictEqual(second?.replyTo, {
        receivedMessageId: quoted?.id ?? null,
        messageId: null,
        text: "And",
      })
    }),
  )

  it.effect("for everyone is acknowledged and not stored, broken or not", () =>
    Effect.gen(function* () {
      const { number, other } = yield* aConversation
      const server = yield* WhatsAppServer
      for (const arrives of ["readable", "broken"] as const) {
        assert.isNull(yield* written(number, other, { text: "A", arrives }, "status@broadcast"))
      }
      assert.deepStrictEqual(server.refused(number.digits), [])
      assert.deepStrictEqual(yield* getTexts(number), [])
    }),
  )

  it.effect("comes in copies until one can be read, and is stored once", () =>
    Effect.gen(function* () {
      const { number, other } = yield* aConversation
      const server = yield* WhatsAppServer
      const what = { text: "Hello", arrives: "broken once" } as const
      assert.strictEqual((yield* written(number, other, what))?.text, "Hello")
      const id = yield* server.write(other, number.digits, "Again")
      yield* isSettled(number)
      yield* server.resend(other, id)
      yield* isSettled(number)
      assert.strictEqual(server.deliveries(number.digits, id), 2)
      assert.deepStrictEqual(yield* getTexts(number), ["Hello", "Again"])
    }),
  )

  it.effect("is not stored where conversations are off, and is acknowledged as ever", () =>
    Effect.gen(function* () {
      const number = yield* aLinkedNumber
      assert.isNull(yield* written(number, yield* aPerson, "Hello"))
    }),
  )
})

layer(layerWorld)("what the owner writes on the phone", (it) => {
  it.effect("is an echo in the chat with the recipient", () =>
    Effect.gen(function* () {
      const { number, other } = yield* aConversation
      yield* written(number, other, { text: "Hello", address: "lid only" })
      for (const address of ["pn", "lid"] as const) {
        const what = { text: "Mine", address }
        const echo = yield* written(number, number.digits, what, other)
        assert.deepInclude(echo, { fromMe: true, text: "Mine" })
        assert.strictEqual(echo?.from.phone, `+${number.digits}`)
      }
      const chats = (yield* getReceived(number)).map(({ chat }) => chat.id)
      assert.strictEqual(new Set(chats).size, 1)
      assert.isNull(yield* written(number, number.digits, "A", "status@broadcast"))
    }),
  )
})

layer(layerWorld)("what is written in a group", (it) => {
  const inGroup = (addressing: "pn" | "lid") =>
    Effect.gen(function* () {
      const server = yield* WhatsAppServer
      const number = yield* aLinkedNumber
      const members = [yield* aPerson, yield* aPerson] as const
      const participants = [number.digits, ...members]
      const group = yield* server.group({ subject: "Team", participants, addressing })
      return { group, members, number }
    })

  it.effect.each(["pn", "lid"] as const)(
    "is stored where groups are kept, with its author: %s",
    (addressing) =>
      Effect.gen(function* () {
        const { group, members, number } = yield* inGroup(addressing)
        yield* withConversations(number, true)
        for (const from of [...members, ...members, number.digits]) {
          const stored = yield* written(number, from, `by ${from}`, group)
          assert.deepInclude(stored, { text: `by ${from}`, fromMe: from === number.digits })
          assert.strictEqual(stored?.from.phone, `+${from}`)
          assert.strictEqual(stored?.chat.type, "group")
        }
        const received = yield* getReceived(number)
        assert.strictEqual(new Set(received.map(({ chat }) => chat.id)).size, 1)
        assert.deepStrictEqual(
          received.map(({ sequence }) => sequence),
          [1, 2, 3, 4, 5],
        )
      }),
  )

  it.effect("is acknowledged and not stored where they are not", () =>
    Effect.gen(function* () {
      const { group, members, number } = yield* inGroup("lid")
      yield* withConversations(number)
      assert.isNull(yield* written(number, members[0], "Hello", group))
      assert.strictEqual((yield* written(number, members[0], "Hello"))?.chat.type, "person")
    }),
  )
})

layer(layerWorld)("a message whose receipt was lost", (it) => {
  it.effect("comes again, opens no second time, and is acknowledged as readable", () =>
    Effect.gen(function* () {
      const { number, other } = yield* aConversation
      const server = yield* WhatsAppServer
      const members = [number.digits, other]
      const group = yield* server.group({ subject: "Team", participants: members })
      yield* withConversations(number, true)
      yield* written(number, other, "Before")
      for (const chat of [number.digits, group, group]) {
        yield* server.loseAnswers(number.digits)
        const id = yield* server.write(other, chat, "Hello")
        yield* server.until(() => server.ordersLeft(number.digits) === 0)
        assert.deepStrictEqual(server.unanswered(number.digits), [id])
        yield* reconnected(number)
        yield* isSettled(number)
        assert.strictEqual(server.deliveries(number.digits, id), 2)
        assert.deepStrictEqual(server.refused(number.digits), [])
      }
      assert.deepStrictEqual(yield* getTexts(number), ["Before", "Hello", "Hello", "Hello"])
    }),
  )
})

layer(layerWorld)("messages that wait at WhatsApp", (it) => {
  it.effect("are stored in the order in which they were written, before later ones", () =>
    Effect.gen(function* () {
      const { number, other } = yield* aConversation
      const server = yield* WhatsAppServer
      const people = [other, yield* aPerson, yield* aPerson]
      const expected: Array<string> = []
      for (const round of [1, 2, 3]) {
        yield* server.down
        for (const from of [...people, ...people.toReversed()]) {
          expected.push(`${expected.length + 1} ${round}`)
          // A stranger's addresses are stored before the first words are opened.
          const address = expected.length % 2 === 0 ? "lid" : "pn"
          yield* server.write(from, number.digits, { text: String(round), address })
        }
        yield* server.up
        const count = yield* logins(number)
        yield* server.until(() => count() > round)
        for (const from of people) {
          expected.push(`${expected.length + 1} live ${from}`)
          yield* server.write(from, number.digits, `live ${from}`)
        }
        yield* isSettled(number)
      }
      assert.deepStrictEqual(withSequences(yield* getReceived(number)), expected)
    }),
  )
})

layer(layerWorld)("a store that is away", (it) => {
  it.effect(
    "delays what is written: no receipt leaves before its commit, and then all in order",
    () =>
      Effect.gen(function* () {
        const { number, other } = yield* aConversation
        const server = yield* WhatsAppServer
        const [third, busy, recipient] = [yield* aPerson, yield* aLinkedNumber, yield* aPerson]
        yield* written(number, other, "Before")
        const trouble = yield* inTrouble(
          (operation, numberId) => operation === "receive" && numberId === number.id,
        )
        const ids: Array<string> = []
        for (const from of [other, third, other]) {
          ids.push(yield* server.write(from, number.digits, `${ids.length + 1}`))
        }
        yield* until(() => trouble.met.length > 2)
        assert.deepStrictEqual(server.unanswered(number.digits), ids)
        // Other numbers reach the same people.
        assert.strictEqual((yield* sendNow(aText(busy, to(recipient))))._tag, "Accepted")
        assert.strictEqual((yield* sendNow(aText(busy, to(other))))._tag, "Accepted")
        yield* noTrouble
        yield* isSettled(number)
        assert.deepStrictEqual(yield* getTexts(number), ["Before", "1", "2", "3"])
        assert.isTrue(ids.every((id) => server.deliveries(number.digits, id) === 1))
      }).pipe(Effect.scoped),
  )

  it.effect("stops the reading of what comes, and later reads on", () =>
    Effect.gen(function* () {
      const { number, other } = yield* aConversation
      const server = yield* WhatsAppServer
      const session = yield* (yield* Sessions).open(number.id)
      if (session === null || typeof session === "string") throw new Error("it is not open")
      const { ws } = session.connection.socket
      const isPaused = () => (ws as unknown as { socket: { isPaused: boolean } }).socket.isPaused
      yield* inTrouble((operation, numberId) => operation === "receive" && numberId === number.id)
      const expected: Array<string> = []
      while (expected.length < 10) {
        const text = `${expected.length + 1} `
        expected.push(text)
        yield* server.write(other, number.digits, text.padEnd(1024 * 1024))
      }
      yield* until(isPaused)
      assert.strictEqual(server.unanswered(number.digits).length, expected.length)
      yield* noTrouble
      yield* isSettled(number)
      assert.isFalse(isPaused())
      const texts = yield* getTexts(number)
      assert.deepStrictEqual(
        texts.map((text) => `${text.trim()} `),
        expected,
      )
    }).pipe(Effect.scoped),
  )

  it.effect("does not settle a message when its connection ends", () =>
    Effect.gen(function* () {
      const { number, other } = yield* aConversation
      const server = yield* WhatsAppServer
      const trouble = yield* inTrouble(
        (operation, numberId) => operation === "receive" && numberId === number.id,
      )
      const id = yield* server.write(other, number.digits, "Hello")
      yield* until(() => trouble.met.length > 0)
      yield* server.drop(number.digits)
      yield* noTrouble
      yield* isSettled(number)
      assert.deepStrictEqual(yield* getTexts(number), ["Hello"])
      assert.isAtLeast(server.deliveries(number.digits, id), 1)
      assert.strictEqual((yield* written(number, other, "Later"))?.sequence, 2)
    }).pipe(Effect.scoped),
  )
})

/** Each write names the term that the test sets. */
const terms = { current: 0 }

const layerFenced = Layer.effect(
  NumberOwnership,
  Effect.map(NumberOwnership, (all) => ({
    ...all,
    fence: (numberId: NumberId) =>
      Effect.sync(() => ({ shard: toShard(numberId), term: terms.current })),
  })),
).pipe(Layer.provide(NumberOwnership.layerAll))

layer(Layer.merge(layerStoresOn(layerMemory, layerFenced), layerServer))(
  "a worker that was frozen while its number moved",
  (it) => {
    it.effect("stores and acknowledges nothing; the next one does", () =>
      Effect.gen(function* () {
        const server = yield* WhatsAppServer
        const { sessions } = yield* Store
        const trouble = yield* Trouble
        const other = yield* aPerson
        let refusedWrites = 0
        const { ids, number } = yield* Effect.gen(function* () {
          const linked = yield* Effect.flatMap(aLinkedNumber, (each) => withConversations(each))
          yield* written(linked, other, "Before")
          const worker = yield* sessions.addWorker("two", 1)
          const [lease] = yield* sessions.takeShards(worker, [toShard(linked.id)])
          assert.isAbove(lease?.term ?? 0, terms.current)
          trouble.meets = (operation) => {
            if (operation === "receive") refusedWrites++
            return false
          }
          const first = yield* server.write(other, linked.digits, "One")
          const second = yield* server.write(other, linked.digits, "Two")
          yield* until(() => refusedWrites > 2)
          assert.deepStrictEqual(server.unanswered(linked.digits), [first, second])
          assert.deepStrictEqual(yield* getTexts(linked), ["Before"])
          return { ids: [first, second], number: linked }
        }).pipe(Effect.provide(layerAdapter()))
        yield* until(() => server.sessions(number.digits)[0]?.open === 0)
        assert.deepStrictEqual(server.unanswered(number.digits), ids)
        assert.deepStrictEqual(yield* getTexts(number), ["Before"])
        terms.current++
        yield* Effect.provide(isSettled(number), layerAdapter())
        const received = yield* getReceived(number)
        assert.deepStrictEqual(withSequences(received), ["1 Before", "2 One", "3 Two"])
      }),
    )
  },
)

describe("arrivals", () => {
  const aStanza = (size: number) => ({
    tag: "message",
    attrs: { id: "1", offline: "0" },
    content: [{ tag: "enc", attrs: {}, content: new Uint8Array(size) }],
  })

  const anArrival = (takeTurn = () => Promise.resolve()) => {
    const log: Array<string> = []
    let isOpen = true
    const receiving = makeReceiving({
      inbox: noInbox,
      own: () => ({}),
      isAdministrator: () => Promise.resolve(false),
    })
    const arrived = makeArrivals(receiving, {
      takeTurn,
      isOpen: () => isOpen,
      pause: () => void log.push("pause"),
      resume: () => void log.push("resume"),
      acknowledge: () => Promise.resolve(),
    })
    return { arrived, stanzas: receiving.stanzas, log, end: () => (isOpen = false) }
  }

  plainIt.each([
    ["a thousand messages", 1000, 1],
    ["8 MiB", 8, 1024 * 1024],
  ] as const)("stop being read at %s that are not stored", async (_, most, size) => {
    const { arrived, log } = anArrival()
    const commits = Array.from({ length: most + 2 }, () => Promise.withResolvers<void>())
    const handled = commits.map(({ promise }) => arrived(aStanza(size), () => promise))
    assert.deepStrictEqual(log, ["pause"])
    for (const { resolve } of commits.slice(0, 2)) resolve()
    await Promise.all(handled.slice(0, 2))
    assert.deepStrictEqual(log, ["pause"])
    commits[2]?.resolve()
    await handled[2]
    assert.deepStrictEqual(log, ["pause", "resume"])
    for (const { resolve } of commits) resolve()
    await Promise.all(handled)
    assert.deepStrictEqual(log, ["pause", "resume"])
  })

  plainIt("wait for their turn, and are not heard once the connection has ended", async () => {
    const queue = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const left = [...queue]
    const { arrived, end } = anArrival(() => left.shift()?.promise ?? Promise.resolve())
    let heard = 0
    const hear = () => Promise.resolve(void heard++)
    const all = [arrived(aStanza(1), hear), arrived(aStanza(1), hear)]
    await Promise.resolve()
    assert.strictEqual(heard, 0)
    queue[0]?.resolve()
    await all[0]
    assert.strictEqual(heard, 1)
    end()
    queue[1]?.resolve()
    await all[1]
    assert.strictEqual(heard, 1)
  })

  plainIt("are heard one after the other, whatever becomes of the one before", async () => {
    const { arrived, end, stanzas } = anArrival()
    const heard: Array<string> = []
    const hear = (name: string, end?: Error) => async () => {
      heard.push(`${name} begins`)
      await Promise.resolve()
      heard.push(`${name} ends`)
      if (end !== undefined) throw end
    }
    const first = aStanza(1)
    await Promise.allSettled([
      arrived(first, hear("first", new Error("it failed"))),
      arrived(aStanza(1), hear("second")),
    ])
    assert.deepStrictEqual(heard, ["first begins", "first ends", "second begins", "second ends"])
    assert.strictEqual(stanzas.get(first.content[0]!.content), first)
    end()
    await arrived(aStanza(1), hear("after the end"))
    assert.lengthOf(heard, 4)
  })
})
