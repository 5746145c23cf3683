/** How much of conversations is stored, and how large their events are (contract: Events of conversations). */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { receivedEvent, reportedReceived, unknownPerson } from "../../src/index.ts"
import type { EventId, ReceivedMessage } from "../../src/index.ts"
import { makeReceivedErasure } from "../../src/service/Chats.ts"
import { inAService, noon } from "./Service.ts"
import { storeWithin } from "./Watched.ts"

const person = { ...unknownPerson, phone: "+15550001234" }

const aMessage = (overrides: Partial<ReceivedMessage>): ReceivedMessage => ({
  id: 1 as ReceivedMessage["id"],
  workspaceId: 1 as ReceivedMessage["workspaceId"],
  mode: "live",
  sequence: 1,
  number: { id: 1 as ReceivedMessage["number"]["id"], phone: "15550000100", platform: "whatsapp" },
  chat: { id: 1 as ReceivedMessage["chat"]["id"], type: "person", name: "Ada" },
  fromMe: false,
  from: person,
  kind: "text",
  text: "Hello",
  content: null,
  file: null,
  replyTo: null,
  reactions: [],
  sentAt: noon,
  receivedAt: noon,
  editedAt: null,
  revokedAt: null,
  ...overrides,
})

const reported = (overrides: Partial<ReceivedMessage>) => {
  const { body } = receivedEvent({ eventId: "evt_1" as EventId }, aMessage(overrides))
  assert.isAtMost(new TextEncoder().encode(body).length, 300 * 1024)
  return reportedReceived(body)
}

it("an event of more than 300 KiB leaves out reactions, then content, and then the end of its text", () => {
  const reactions = [{ from: person, emoji: "👍", at: noon }]
  const many = Array.from({ length: 50 }, () => ({
    from: { ...person, name: "x".repeat(4000) },
    emoji: "👍",
    at: noon,
  }))
  const content = { question: "?", options: ["é".repeat(60_000)] }
  const text = "é".repeat(60_000)
  const fitting = reported({ text, content, reactions })
  assert.deepStrictEqual([fitting.text, fitting.content], [text, content])
  assert.lengthOf(fitting.reactions, 1)
  const crowded = reported({ text, content, reactions: many })
  assert.deepStrictEqual([crowded.text, crowded.content, crowded.reactions], [text, content, []])
  const large = reported({ text: "🙂".repeat(50_000), content, reactions })
  assert.deepStrictEqual([large.content, large.reactions], [null, []])
  assert.strictEqual(large.text, "🙂".repeat(50_000))
  // Each takes six bytes in JSON.
  const escaped = reported({ text: "\u0001".repeat(65_536), content })
  assert.deepStrictEqual(escaped.content, { truncated: true })
  assert.isAbove(escaped.text.length, 50_000)
})

it.effect("a workspace keeps a million received messages and 100,000 chats", () => {
  const queries: Array<unknown> = []
  const store = storeWithin((operation, effect, [query]) => {
    if (operation === "chats.eraseReceived") queries.push(query)
    return effect
  })
  return inAService(
    Effect.gen(function* () {
      yield* (yield* makeReceivedErasure)(null)
      const marksBefore = noon - 30 * 24 * 60 * 60 * 1000
      assert.deepStrictEqual(queries, [
        { workspaceId: null, now: noon, most: 1_000_000, mostChats: 100_000, marksBefore },
      ])
    }),
    { store, worker: false },
  )
})
