/** Messages to chats, by the addresses that incoming messages told. */
import { assert, layer } from "@effect/vitest"
import type { OutgoingMedia, Quote, ReceivedMessage, Target } from "@messaging-service/core"
import { WhatsAppServer } from "@messaging-service/whatsapp-server"
import { Effect, Stream } from "effect"
import { createHash } from "node:crypto"
import {
  aLinkedNumber,
  aPerson,
  aText,
  getReceived,
  layerWorld,
  quoting,
  sendNow,
  to,
  withConversations,
} from "./LiveWorld.ts"
import type { LinkedNumber } from "./LiveWorld.ts"

const aFile = (bytes: Uint8Array): OutgoingMedia => ({
  type: "file",
  fileName: "menu.pdf",
  mimeType: "application/pdf",
  size: bytes.length,
  sha256: createHash("sha256").update(bytes).digest("hex"),
  content: Stream.make(bytes),
})

const accepted = { _tag: "Accepted" } as const

/** A number with conversations, groups included. */
const aNumber = Effect.flatMap(aLinkedNumber, (linked) => withConversations(linked, true))

/** Once everything that was written is stored. */
const received = (number: LinkedNumber) =>
  Effect.gen(function* () {
    const server = yield* WhatsAppServer
    yield* server.until(() => server.unanswered(number.digits).length === 0)
    return yield* getReceived(number)
  })

/** What a person's phone shows of the number. */
const getShown = (person: string, number: LinkedNumber) =>
  Effect.map(WhatsAppServer, (server) =>
    server
      .decrypted(person)
      .filter(({ from }) => from === number.digits)
      .map(({ chat, text }) => [chat, text]),
  )

layer(layerWorld)("a message to a chat", (it) => {
  it.effect("reaches a person of whom only a LID is known", () =>
    Effect.gen(function* () {
      const server = yield* WhatsAppServer
      const [number, person] = [yield* aNumber, yield* aPerson]
      yield* server.write(person, number.digits, { text: "Hello", address: "lid only" })
      const [first] = yield* received(number)
      assert.isNull(first?.from.phone ?? null)
      const target: Target = { kind: "lid", lid: first?.from.lid ?? "" }
      assert.deepStrictEqual(yield* sendNow(aText(number, target, "Welcome")), accepted)
      assert.deepStrictEqual(yield* getShown(person, number), [[undefined, "Welcome"]])
      assert.deepStrictEqual(server.complaints(), [])
    }),
  )

  it.effect.each(["pn", "lid"] as const)("reaches one of two groups of a name: %s", (addressing) =>
    Effect.gen(function* () {
      const server = yield* WhatsAppServer
      const [number, person] = [yield* aNumber, yield* aPerson]
      const participants = [number.digits, person]
      const groups = [
        yield* server.group({ subject: "Team", participants, addressing }),
        yield* server.group({ subject: "Team", participants, addressing }),
      ]
      const byName = yield* sendNow(aText(number, { kind: "group", group: "Team" }, "Which?"))
      assert.strictEqual(byName._tag, "Refused")
      for (const groupId of groups) {
        const outcome = yield* sendNow(aText(number, { kind: "group_id", groupId }, groupId))
        assert.deepStrictEqual(outcome, accepted)
      }
      assert.deepStrictEqual(
        yield* getShown(person, number),
        groups.map((group) => [group, group]),
      )
    }),
  )
})

layer(layerWorld)("a message that quotes", (it) => {
  /** What the latest message on the person's phone quotes. */
  const getQuoted = (person: string) =>
    Effect.map(WhatsAppServer, (server) => {
      const { message } = server.decrypted(person).at(-1) ?? {}
      const part =
        message?.extendedTextMessage ?? message?.imageMessage ?? message?.documentMessage ?? {}
      const { participant, quotedMessage, stanzaId } = part.contextInfo ?? {}
      return [stanzaId, participant, quotedMessage?.conversation]
    })

  const toQuote = (message: ReceivedMessage, remoteId: string): Quote => ({
    remoteId,
    isSent: false,
    author: message.fromMe ? null : message.from,
    text: message.text,
    sentAt: message.sentAt,
  })

  it.effect("names the message, its author and its text", () =>
    Effect.gen(function* () {
      const server = yield* WhatsAppServer
      const [number, person] = [yield* aNumber, yield* aPerson]
      const id = yield* server.write(person, number.digits, "Open today?")
      const [question] = yield* received(number)
      const target = to(person)
      const answer = quoting(aText(number, target, "Yes"), toQuote(question!, id))
      assert.deepStrictEqual(yield* sendNow(answer), accepted)
      assert.deepStrictEqual(yield* getQuoted(person), [
        id,
        `${person}@s.whatsapp.net`,
        "Open today?",
      ])
      const own = { ...toQuote(question!, answer.transportId), author: null, text: "Yes" }
      const second = quoting(aText(number, target, "Until ten"), { ...own, isSent: true })
      assert.deepStrictEqual(yield* sendNow(second), accepted)
      assert.deepStrictEqual(yield* getQuoted(person), [
        answer.transportId,
        `${number.digits}@s.whatsapp.net`,
        "Yes",
      ])
      assert.deepStrictEqual(yield* sendNow(aText(number, target, "Bye")), accepted)
      assert.deepStrictEqual(yield* getQuoted(person), [undefined, undefined, undefined])
    }),
  )

  it.effect("in a file, and of a person of whom only a LID is known", () =>
    Effect.gen(function* () {
      const server = yield* WhatsAppServer
      const [number, person] = [yield* aNumber, yield* aPerson]
      const id = yield* server.write(person, number.digits, { text: "Menu?", address: "lid only" })
      const [question] = yield* received(number)
      const target: Target = { kind: "lid", lid: question?.from.lid ?? "" }
      const media = aFile(Buffer.from("a menu"))
      const message = quoting({ ...aText(number, target, "Here"), media }, toQuote(question!, id))
      assert.deepStrictEqual(yield* sendNow(message), accepted)
      assert.deepStrictEqual(yield* getQuoted(person), [id, `${question?.from.lid}@lid`, "Menu?"])
    }),
  )

  it.effect("quotes also in the copy that a phone asks for", () =>
    Effect.gen(function* () {
      const server = yield* WhatsAppServer
      const [number, person] = [yield* aNumber, yield* aPerson]
      const id = yield* server.write(person, number.digits, "Open today?")
      const [question] = yield* received(number)
      yield* server.loseSessions(person)
      const answer = quoting(aText(number, to(person), "Yes"), toQuote(question!, id))
      assert.deepStrictEqual(yield* sendNow(answer), accepted)
      yield* server.until(() => server.decrypted(person).some(({ text }) => text === "Yes"))
      assert.deepStrictEqual(yield* getQuoted(person), [
        id,
        `${person}@s.whatsapp.net`,
        "Open today?",
      ])
    }),
  )
})
