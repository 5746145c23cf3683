/** What recipients get of what a linked device sends: once for each message id, and readable. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { make } from "../src/index.ts"
import { ackOf, linked } from "./Client.ts"

const sender = "+4915550000001"
const recipient = "+4915550000002"
const recipientJid = "4915550000002@s.whatsapp.net"

const linkedServer = Effect.gen(function* () {
  const server = yield* make()
  yield* server.person(sender, { name: "Sender" })
  yield* server.person(recipient)
  const client = yield* linked(server, sender)
  const send = (messageId: string, text: string) =>
    Effect.promise(() => client.socket.sendMessage(recipientJid, { text }, { messageId }))
  return { server, client, send }
})

it.effect("a text is acked after the recipient's phone has decrypted it", () =>
  Effect.gen(function* () {
    const { client, send, server } = yield* linkedServer
    yield* send("3EB0AA01", "Hello *you*")
    const ack = yield* ackOf(client, "3EB0AA01")
    assert.isUndefined(ack.attrs["error"])
    assert.deepStrictEqual(
      server
        .decrypted(recipient)
        .map(({ arrivals, from, id, text }) => ({ arrivals, from, id, text })),
      [{ arrivals: 1, from: "4915550000001", id: "3EB0AA01", text: "Hello *you*" }],
    )
    assert.deepStrictEqual(
      server.decrypted(sender).map(({ chat, text }) => ({ chat, text })),
      [{ chat: recipientJid, text: "Hello *you*" }],
    )
    assert.deepStrictEqual(server.complaints(), [])
  }),
)

it.effect("a message that is sent again with its id is shown once", () =>
  Effect.gen(function* () {
    const { client, send, server } = yield* linkedServer
    yield* send("3EB0AA02", "Once")
    yield* ackOf(client, "3EB0AA02")
    yield* send("3EB0AA02", "Once")
    yield* client.until(() => (client.acks.length === 2 ? true : undefined))
    assert.strictEqual(server.copies(recipient), 1)
    assert.strictEqual(server.decrypted(recipient)[0]?.arrivals, 2)
  }),
)
