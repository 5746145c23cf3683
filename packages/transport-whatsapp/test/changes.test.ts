/** What people do to messages that are there already. */
import { assert, layer } from "@effect/vitest"
import { WhatsAppServer } from "@messaging-service/whatsapp-server"
import type { Writing } from "@messaging-service/whatsapp-server"
import { Effect } from "effect"
import { aLinkedNumber, aPerson, getReceived, layerWorld, withConversations } from "./LiveWorld.ts"
import type { LinkedNumber } from "./LiveWorld.ts"
import { aConversation, isSettled, written, writtenAgain } from "./People.ts"

/** A person changes a message; returns it as it is then. */
const changed = (number: LinkedNumber, from: string, what: Writing, chat = number.digits) =>
  Effect.gen(function* () {
    const server = yield* WhatsAppServer
    yield* server.write(from, chat, what)
    yield* isSettled(number)
    assert.deepStrictEqual(server.refused(number.digits), [])
    return (yield* getReceived(number))[0]
  })

/** The first message that is stored, with its id at WhatsApp. */
const first = (number: LinkedNumber, from: string, what: Writing, chat = number.digits) =>
  Effect.gen(function* () {
    const server = yield* WhatsAppServer
    const id = yield* server.write(from, chat, what)
    yield* isSettled(number)
    assert.lengthOf(yield* getReceived(number), 1)
    return id
  })

const emojis = (message: { readonly reactions: ReadonlyArray<{ readonly emoji: string }> }) =>
  message.reactions.map(({ emoji }) => emoji)

layer(layerWorld)("a stored message", (it) => {
  it.effect.each(["pn", "lid"] as const)("is edited and revoked by its author: %s", (address) =>
    Effect.gen(function* () {
      const { number, other } = yield* aConversation
      const id = yield* first(number, other, { text: "One", address })
      const edited = yield* changed(number, other, { edits: id, text: "Two", address })
      assert.deepInclude(edited, { text: "Two", revokedAt: null })
      assert.isNotNull(edited?.editedAt)
      const again = yield* changed(number, other, { edits: id, text: "Three", address: "lid only" })
      assert.strictEqual(again?.text, "Three")
      const revoked = yield* changed(number, other, { revokes: id, address })
      assert.deepInclude(revoked, { text: "", kind: "text" })
      assert.isNotNull(revoked?.revokedAt)
      const late = yield* changed(number, other, { edits: id, text: "Four", address })
      assert.strictEqual(late?.text, "")
      assert.lengthOf(yield* getReceived(number), 1)
    }),
  )

  it.effect("is changed by its author alone", () =>
    Effect.gen(function* () {
      const { number, other } = yield* aConversation
      const stranger = yield* aPerson
      const id = yield* first(number, other, { text: "One" })
      for (const from of [stranger, number.digits]) {
        const chat = from === stranger ? number.digits : other
        yield* changed(number, from, { edits: id, text: "Two" }, chat)
        yield* changed(number, from, { revokes: id }, chat)
      }
      assert.deepInclude((yield* getReceived(number))[0], { text: "One", revokedAt: null })
    }),
  )

  it.effect("gets one reaction of each person, the owner included", () =>
    Effect.gen(function* () {
      const { number, other } = yield* aConversation
      const id = yield* first(number, other, { text: "One" })
      const react = (from: string, emoji: string | null) =>
        changed(number, from, { reactsTo: id, emoji }, from === other ? number.digits : other)
      const liked = yield* react(other, "👍")
      assert.strictEqual(liked?.reactions[0]?.from.phone, `+${other}`)
      yield* react(other, "❤️")
      const both = yield* react(number.digits, "🎉")
      assert.deepStrictEqual(both && emojis(both), ["❤️", "🎉"])
      assert.strictEqual(both?.reactions[1]?.from.phone, `+${number.digits}`)
      const left = yield* react(other, null)
      assert.deepStrictEqual(left && emojis(left), ["🎉"])
    }),
  )

  it.effect("of the owner is changed from the phone", () =>
    Effect.gen(function* () {
      const { number, other } = yield* aConversation
      const id = yield* first(number, number.digits, { text: "Mine" }, other)
      const edited = yield* changed(number, number.digits, { edits: id, text: "Two" }, other)
      assert.deepInclude(edited, { fromMe: true, text: "Two" })
      const liked = yield* changed(number, other, { reactsTo: id, emoji: "👍" })
      assert.deepStrictEqual(liked && emojis(liked), ["👍"])
      const revoked = yield* changed(number, number.digits, { revokes: id }, other)
      assert.strictEqual(revoked?.text, "")
    }),
  )

  it.effect("is changed while its change had to be asked for again", () =>
    Effect.gen(function* () {
      const { number, other } = yield* aConversation
      const server = yield* WhatsAppServer
      const id = yield* first(number, other, { text: "One" })
      const what = { edits: id, text: "Two", arrives: "broken once" } as const
      assert.strictEqual((yield* changed(number, other, what))?.text, "Two")
      // What never was a message is not waited for.
      const lost = { reactsTo: id, emoji: "👍", arrives: "broken" } as const
      const lostId = yield* server.write(other, number.digits, lost)
      yield* isSettled(number)
      assert.strictEqual(server.requestedCopies(number.digits, lostId), 1)
      assert.deepStrictEqual(server.refused(number.digits), [])
      assert.lengthOf(yield* getReceived(number), 1)
    }),
  )
})

layer(layerWorld)("a message in a group", (it) => {
  const inGroup = (addressing: "pn" | "lid") =>
    Effect.gen(function* () {
      const server = yield* WhatsAppServer
      const number = yield* Effect.flatMap(aLinkedNumber, (each) => withConversations(each, true))
      const [author, member, administrator] = [yield* aPerson, yield* aPerson, yield* aPerson]
      const participants = [number.digits, author, member, administrator]
      const administrators = [administrator]
      const options = { subject: "Team", participants, administrators, addressing }
      const group = yield* server.group(options)
      const id = yield* first(number, author, { text: "One" }, group)
      const change = (from: string, what: Writing) => changed(number, from, what, group)
      return { administrator, author, change, group, id, member, number, server }
    })

  it.effect.each(["pn", "lid"] as const)(
    "is revoked by its author and by administrators alone: %s",
    (addressing) =>
      Effect.gen(function* () {
        const { administrator, author, change, group, id, member, number, server } =
          yield* inGroup(addressing)
        assert.strictEqual((yield* change(member, { edits: id, text: "Two" }))?.text, "One")
        assert.strictEqual((yield* change(member, { revokes: id }))?.text, "One")
        const liked = yield* change(member, { reactsTo: id, emoji: "👍" })
        assert.strictEqual(liked?.reactions[0]?.from.phone, `+${member}`)
        assert.strictEqual((yield* change(author, { edits: id, text: "Two" }))?.text, "Two")
        const revoked = yield* change(administrator, { revokes: id })
        assert.isNotNull(revoked?.revokedAt)
        for (const from of [author, number.digits]) {
          const other = yield* server.write(from, group, "Two")
          yield* isSettled(number)
          yield* change(from === author ? author : administrator, { revokes: other })
        }
        const stored = yield* getReceived(number)
        assert.deepStrictEqual(
          stored.map(({ revokedAt, text }) => [text, revokedAt === null]),
          [
            ["", false],
            ["", false],
            ["", false],
          ],
        )
      }),
  )

  it.effect("is not revoked by another while WhatsApp does not tell who may", () =>
    Effect.gen(function* () {
      const { administrator, change, id, server } = yield* inGroup("lid")
      yield* server.refuseNext("group", 500)
      assert.strictEqual((yield* change(administrator, { revokes: id }))?.text, "One")
      assert.strictEqual((yield* change(administrator, { revokes: id }))?.text, "")
    }),
  )
})

layer(layerWorld)("what comes again over reconnects", (it) => {
  it.effect.each([1, 2, 3, 5, 8, 12])(
    "is stored once, and its author is not asked for a copy: %s times",
    (times) =>
      Effect.gen(function* () {
        const { number, other } = yield* aConversation
        const server = yield* WhatsAppServer
        const group = yield* server.group({
          subject: "Team",
          participants: [number.digits, other],
          addressing: "lid",
        })
        yield* withConversations(number, true)
        yield* written(number, other, "Before", group)
        const again = (what: Writing, chat = number.digits) =>
          Effect.gen(function* () {
            const id = yield* writtenAgain(number, other, what, times, chat)
            assert.strictEqual(server.deliveries(number.digits, id), times + 1)
            assert.strictEqual(server.requestedCopies(number.digits, id), 0)
            assert.deepStrictEqual(server.refused(number.digits), [])
            return id
          })
        const id = yield* again({ text: "One" })
        yield* again({ text: "Two" }, group)
        yield* again({ edits: id, text: "Three" })
        yield* again({ reactsTo: id, emoji: "👍" })
        const stored = yield* getReceived(number)
        assert.deepStrictEqual(
          stored.map(({ reactions, text }) => [text, reactions.length]),
          [
            ["Before", 0],
            ["Three", 1],
            ["Two", 0],
          ],
        )
        yield* again({ revokes: id })
        assert.strictEqual((yield* getReceived(number))[1]?.text, "")
      }),
  )
})
