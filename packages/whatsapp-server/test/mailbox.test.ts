/** What a linked device has not answered comes again, in order. */
import { assert, it } from "@effect/vitest"
import type { BinaryNode, WAMessageKey } from "baileys"
import { Effect } from "effect"
import {
  closed,
  connect,
  linked,
  opened,
  recipient,
  recipientJid,
  sender,
  sending,
  serverWith,
} from "./Client.ts"
import type { Client } from "./Client.ts"

const other = "+4915550000003"

const texts = ({ messages }: Client) =>
  messages.flatMap(({ message }) => message?.conversation ?? [])

const awaitText = (client: Client, text: string) =>
  client.until(() => (texts(client).includes(text) ? true : undefined))

/** A client that gets messages and answers none. */
const deaf = (client: Client) => client.socket.ws.removeAllListeners("CB:message")

const numberAway = Effect.gen(function* () {
  const world = yield* sending
  yield* world.server.person(other)
  yield* world.server.drop(sender)
  yield* closed(world.client)
  return world
})

it.effect("messages of a device that was away come in order, before later ones", () =>
  Effect.gen(function* () {
    const { client, server } = yield* numberAway
    for (const [from, text] of [
      [recipient, "one"],
      [other, "two"],
      [recipient, "three"],
    ] as const) {
      yield* server.write(from, sender, text)
    }
    const again = yield* connect(server, client.stored)
    yield* opened(again)
    yield* server.write(other, sender, "four")
    yield* awaitText(again, "four")
    assert.deepStrictEqual(texts(again), ["one", "two", "three", "four"])
    yield* server.until(() => server.unanswered(sender).length === 0)
  }),
)

it.effect(
  "a message without an answer comes again after each login, and once answered no more",
  () =>
    Effect.gen(function* () {
      const { client, server } = yield* sending
      deaf(client)
      const id = yield* server.write(recipient, sender, "Hello")
      assert.strictEqual(server.deliveries(sender, id), 1)
      assert.deepStrictEqual(server.unanswered(sender), [id])
      yield* server.drop(sender)
      const again = yield* connect(server, client.stored)
      yield* awaitText(again, "Hello")
      yield* server.until(() => server.unanswered(sender).length === 0)
      yield* server.drop(sender)
      const third = yield* connect(server, again.stored)
      yield* opened(third)
      yield* server.write(recipient, sender, "Again")
      yield* awaitText(third, "Again")
      assert.strictEqual(server.deliveries(sender, id), 2)
    }),
)

it.effect("a device that has lost its keys asks, and gets the message for a new session", () =>
  Effect.gen(function* () {
    const { client, server } = yield* sending
    yield* server.write(recipient, sender, "before")
    yield* awaitText(client, "before")
    for (const key of client.stored.keys.keys()) {
      if (key.startsWith("session/")) client.stored.keys.delete(key)
    }
    const id = yield* server.write(recipient, sender, "after")
    yield* awaitText(client, "after")
    yield* server.until(() => server.unanswered(sender).length === 0)
    assert.strictEqual(server.deliveries(sender, id), 2)
  }),
)

it.effect("a message whose answer was lost comes again, and opens no second time", () =>
  Effect.gen(function* () {
    const { client, server } = yield* sending
    yield* server.write(recipient, sender, "before")
    yield* awaitText(client, "before")
    yield* server.until(() => server.unanswered(sender).length === 0)
    yield* server.loseAnswers(sender)
    const id = yield* server.write(recipient, sender, "Hello")
    yield* awaitText(client, "Hello")
    yield* server.until(() => server.ordersLeft(sender) === 0)
    assert.deepStrictEqual(server.unanswered(sender), [id])
    yield* server.drop(sender)
    yield* closed(client)
    yield* connect(server, client.stored)
    yield* server.until(() => server.refused(sender).includes(id))
    assert.strictEqual(server.deliveries(sender, id), 2)
  }),
)

it.effect("a linked device hears of a recipient's device that could not read it", () =>
  Effect.gen(function* () {
    const server = yield* serverWith({ [sender]: {}, [recipient]: {} })
    const getMessage = ({ id }: WAMessageKey) =>
      Promise.resolve({ extendedTextMessage: { text: id ?? "" } })
    const client = yield* linked(server, sender, { getMessage })
    const send = (messageId: string) =>
      Effect.promise(() =>
        client.socket.sendMessage(recipientJid, { text: messageId }, { messageId }),
      )
    const reader = yield* linked(server, recipient)
    const isRead = (text: string) =>
      reader.until(() =>
        reader.messages.find(({ message }) => message?.extendedTextMessage?.text === text),
      )
    yield* send("3EB0CD01")
    yield* isRead("3EB0CD01")
    for (const key of reader.stored.keys.keys()) {
      if (key.startsWith("session/")) reader.stored.keys.delete(key)
    }
    yield* send("3EB0CD02")
    yield* isRead("3EB0CD02")
    assert.strictEqual(client.receipts.at(-1)?.attrs["type"], "retry")
  }),
)

it.effect("a refused message comes first after each login, and holds later ones back", () =>
  Effect.gen(function* () {
    const { client, server } = yield* sending
    yield* server.person(other)
    const refuse = ({ socket }: Client) => {
      socket.ws.removeAllListeners("CB:message")
      socket.ws.on("CB:message", (stanza: BinaryNode) => {
        // The connection may be gone by then.
        socket.sendMessageAck(stanza, 500).catch(() => undefined)
      })
    }
    refuse(client)
    const id = yield* server.write(recipient, sender, "refused")
    yield* server.until(() => server.refused(sender).includes(id))
    yield* server.drop(sender)
    yield* closed(client)
    const later = yield* server.write(other, sender, "later")
    for (const times of [2, 3]) {
      const again = yield* connect(server, client.stored)
      refuse(again)
      yield* opened(again)
      yield* server.until(() => server.deliveries(sender, id) === times)
      assert.deepStrictEqual(server.refused(sender), [id])
      assert.strictEqual(server.deliveries(sender, later), 0)
      yield* server.drop(sender)
      yield* closed(again)
    }
    const healthy = yield* connect(server, client.stored)
    yield* awaitText(healthy, "later")
    assert.deepStrictEqual(texts(healthy), ["refused", "later"])
  }),
)
