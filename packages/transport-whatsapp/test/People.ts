/** People who write to a linked number, and what is stored of that. */
import { Store } from "@messaging-service/core"
import type { EventId, ReceivedMessage } from "@messaging-service/core"
import { WhatsAppServer } from "@messaging-service/whatsapp-server"
import type { Writing } from "@messaging-service/whatsapp-server"
import { Effect } from "effect"
import { aLinkedNumber, aPerson, getReceived, withConversations } from "./LiveWorld.ts"
import type { LinkedNumber } from "./LiveWorld.ts"

/** A linked number of a workspace with conversations, and a person. */
export const aConversation = Effect.gen(function* () {
  const number = yield* Effect.flatMap(aLinkedNumber, (linked) => withConversations(linked))
  return { number, other: yield* aPerson }
})

export const getTexts = (number: LinkedNumber) =>
  Effect.map(getReceived(number), (received) => received.map(({ text }) => text))

/** Everything is answered, and nothing by an error. */
export const isSettled = ({ digits }: LinkedNumber) =>
  Effect.gen(function* () {
    const server = yield* WhatsAppServer
    yield* server.until(() => server.unanswered(digits).length === 0)
  })

/** A person writes. Returns the stored message, or null when none was stored. */
export const written = (
  number: LinkedNumber,
  from: string,
  what: string | Writing,
  chat: string = number.digits,
) =>
  Effect.gen(function* () {
    const server = yield* WhatsAppServer
    const before = (yield* getReceived(number)).length
    yield* server.write(from, chat, what)
    yield* isSettled(number)
    return (yield* getReceived(number))[before] ?? null
  })

export const withSequences = (received: ReadonlyArray<ReceivedMessage>) =>
  received.map(({ sequence, text }) => `${sequence} ${text}`)

export const logins = ({ digits }: LinkedNumber) =>
  Effect.map(WhatsAppServer, (server) => () => server.sessions(digits)[0]?.logins ?? 0)

/** The connection breaks, and is open again. */
export const reconnected = (number: LinkedNumber) =>
  Effect.gen(function* () {
    const server = yield* WhatsAppServer
    const count = yield* logins(number)
    const before = count()
    yield* server.drop(number.digits)
    yield* server.until(() => count() > before)
  })

/** Answers get lost this many times: the message comes again after each reconnect. Returns its id. */
export const writtenAgain = (
  number: LinkedNumber,
  from: string,
  what: Writing,
  times: number,
  chat: string = number.digits,
) =>
  Effect.gen(function* () {
    const server = yield* WhatsAppServer
    yield* server.loseAnswers(number.digits, times)
    const id = yield* server.write(from, chat, what)
    for (let left = times - 1; left >= 0; left--) {
      yield* server.until(() => server.ordersLeft(number.digits) <= left)
      yield* reconnected(number)
    }
    yield* isSettled(number)
    return id
  })

/** The wait for a copy is over. How many messages are waiting no more. */
export const endWaits = Effect.gen(function* () {
  const { chats } = yield* Store
  const eventIds = Array.from({ length: 100 }, (_, index) => `event ${index}` as EventId)
  return yield* chats.endCopyWaits(Date.now() + 24 * 3_600_000, eventIds)
}).pipe(Effect.orDie)
