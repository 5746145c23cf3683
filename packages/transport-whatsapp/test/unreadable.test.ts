/** What cannot be read waits for its copy, in a commit, and keeps nothing else back. */
import { assert, layer } from "@effect/vitest"
import { WhatsAppServer } from "@messaging-service/whatsapp-server"
import type { Arrival } from "@messaging-service/whatsapp-server"
import { Effect } from "effect"
import {
  aLinkedNumber,
  aPerson,
  getReceived,
  inTrouble,
  layerWorld,
  noTrouble,
  until,
  untilSo,
  withConversations,
} from "./LiveWorld.ts"
import type { LinkedNumber } from "./LiveWorld.ts"
import { aConversation, endWaits, getTexts, isSettled, reconnected, written } from "./People.ts"

/** It and what comes later is answered, and nothing by an error. */
const holdsNothingBack = (number: LinkedNumber, other: string) =>
  Effect.gen(function* () {
    const server = yield* WhatsAppServer
    yield* reconnected(number)
    assert.strictEqual((yield* written(number, other, "Later"))?.text, "Later")
    assert.deepStrictEqual(server.refused(number.digits), [])
  })

const getCopies = ({ digits }: LinkedNumber, id: string) =>
  Effect.map(WhatsAppServer, (server) => server.requestedCopies(digits, id))

layer(layerWorld)("a message that does not open", (it) => {
  it.effect.each(["pn", "lid", "pn only", "lid only"] as const)(
    "is replaced by the copy that its author gives: %s",
    (address) =>
      Effect.gen(function* () {
        const { number, other } = yield* aConversation
        const server = yield* WhatsAppServer
        const what = { text: "Hello", arrives: "broken once", address } as const
        const id = yield* server.write(other, number.digits, what)
        yield* isSettled(number)
        assert.deepStrictEqual(yield* getTexts(number), ["Hello"])
        assert.strictEqual(yield* getCopies(number, id), 1)
        assert.strictEqual(yield* endWaits, 0)
        yield* holdsNothingBack(number, other)
      }),
  )

  it.effect("becomes an unreadable one without a copy, and is recovered by a later one", () =>
    Effect.gen(function* () {
      const { number, other } = yield* aConversation
      const server = yield* WhatsAppServer
      const sentAt = 1_700_000_000_000
      const id = yield* server.write(other, number.digits, {
        text: "Hello",
        arrives: "broken",
        sentAt,
      })
      yield* isSettled(number)
      assert.strictEqual(yield* getCopies(number, id), 1)
      yield* holdsNothingBack(number, other)
      assert.deepStrictEqual(yield* getTexts(number), ["Later"])
      assert.strictEqual(yield* endWaits, 1)
      const [, lost] = yield* getReceived(number)
      assert.deepInclude(lost, { kind: "unreadable", text: "", sequence: 2, sentAt })
      assert.strictEqual(lost?.from.phone, `+${other}`)
      yield* server.resend(other, id)
      yield* isSettled(number)
      const [, recovered] = yield* getReceived(number)
      assert.deepInclude(recovered, { kind: "text", text: "Hello", sequence: 2 })
    }),
  )

  it.effect("is given by the number's own phone", () =>
    Effect.gen(function* () {
      const { number, other } = yield* aConversation
      const server = yield* WhatsAppServer
      for (const arrives of ["broken", "without content"] as const) {
        const text = `by the phone: ${arrives}`
        yield* server.write(other, number.digits, { text, arrives, onPhone: true, address: "lid" })
        yield* isSettled(number)
        yield* untilSo(Effect.map(getTexts(number), (texts) => texts.includes(text)))
      }
      assert.strictEqual(yield* endWaits, 0)
    }),
  )

  it.effect("is the owner's too, and a member's where groups are kept", () =>
    Effect.gen(function* () {
      const { number, other } = yield* aConversation
      yield* withConversations(number, true)
      const server = yield* WhatsAppServer
      const participants = [number.digits, other]
      const group = yield* server.group({ subject: "Team", participants, addressing: "lid" })
      yield* written(number, other, "First", group)
      for (const [from, chat] of [
        [number.digits, other],
        [other, group],
        [number.digits, group],
      ] as const) {
        yield* server.write(from, chat, { text: "Lost", arrives: "broken" })
        yield* isSettled(number)
        assert.strictEqual(yield* endWaits, 1)
        const stored = yield* getReceived(number)
        assert.deepInclude(stored.at(-1), { kind: "unreadable", fromMe: from === number.digits })
        assert.strictEqual(stored.at(-1)?.chat.type, chat === group ? "group" : "person")
      }
      yield* holdsNothingBack(number, other)
    }),
  )
})

layer(layerWorld)("a message without content", (it) => {
  it.effect("becomes an unreadable one, unless its content comes", () =>
    Effect.gen(function* () {
      const { number, other } = yield* aConversation
      const server = yield* WhatsAppServer
      const absent = { text: "Content", arrives: "without content" } as const
      const first = yield* server.write(other, number.digits, absent)
      yield* isSettled(number)
      yield* server.write(other, number.digits, absent)
      yield* isSettled(number)
      assert.deepStrictEqual(yield* getTexts(number), [])
      yield* server.resend(other, first)
      yield* isSettled(number)
      assert.deepStrictEqual(yield* getTexts(number), ["Content"])
      assert.strictEqual(yield* endWaits, 1)
      const [, lost] = yield* getReceived(number)
      assert.strictEqual(lost?.kind, "unreadable")
      // Announced once more, although it is stored.
      yield* server.write(other, number.digits, { ...absent, id: first })
      yield* isSettled(number)
      assert.strictEqual(yield* endWaits, 0)
      yield* holdsNothingBack(number, other)
    }),
  )
})

layer(layerWorld)("nothing of a message that cannot be read", (it) => {
  it.effect.each(["broken", "without content"] as const)(
    "is acknowledged or asked for before its wait is stored: %s",
    (arrives) =>
      Effect.gen(function* () {
        const { number, other } = yield* aConversation
        const server = yield* WhatsAppServer
        const trouble = yield* inTrouble(
          (operation, numberId) => operation === "receive" && numberId === number.id,
        )
        const id = yield* server.write(other, number.digits, { text: "Hello", arrives })
        yield* until(() => trouble.met.length > 2)
        assert.deepStrictEqual(server.unanswered(number.digits), [id])
        assert.strictEqual(yield* getCopies(number, id), 0)
        yield* noTrouble
        yield* isSettled(number)
        assert.strictEqual(yield* getCopies(number, id), arrives === "broken" ? 1 : 0)
        assert.strictEqual(yield* endWaits, 1)
      }).pipe(Effect.scoped),
  )

  it.effect("is asked for where it is not kept: it is acknowledged", () =>
    Effect.gen(function* () {
      const { number, other } = yield* aConversation
      const server = yield* WhatsAppServer
      const participants = [number.digits, other]
      const group = yield* server.group({ subject: "Team", participants })
      for (const chat of [group, "status@broadcast"]) {
        for (const arrives of ["broken", "without content"] satisfies ReadonlyArray<Arrival>) {
          const id = yield* server.write(other, chat, { text: "Hello", arrives })
          yield* isSettled(number)
          assert.strictEqual(yield* getCopies(number, id), 0)
          assert.deepStrictEqual(server.refused(number.digits), [])
        }
      }
      assert.strictEqual(yield* endWaits, 0)
      assert.deepStrictEqual(yield* getTexts(number), [])
    }),
  )

  it.effect("is stored while conversations are off: it is refused, and its copy asked for", () =>
    Effect.gen(function* () {
      const server = yield* WhatsAppServer
      const number = yield* aLinkedNumber
      const other = yield* aPerson
      const id = yield* server.write(other, number.digits, { text: "Hello", arrives: "broken" })
      yield* server.until(() => server.refused(number.digits).length === 1)
      assert.deepStrictEqual(server.refused(number.digits), [id])
      assert.strictEqual(yield* getCopies(number, id), 1)
      assert.strictEqual(yield* endWaits, 0)
    }),
  )
})
