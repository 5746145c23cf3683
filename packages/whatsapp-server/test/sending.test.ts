/** Recipients get a linked device's messages once for each message id, and readable. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { awaitAck, recipient, recipientJid, sender, sending } from "./Client.ts"

it.effect("a text is acked after the recipient's phone has decrypted it", () =>
  Effect.gen(function* () {
    const { client, server } = yield* sending
    const text = "Hello *you*\n_twice_ 👋"
    yield* Effect.promise(() =>
      client.socket.sendMessage(recipientJid, { text }, { messageId: "3EB0AA01" }),
    )
    const ack = yield* awaitAck(client, "3EB0AA01")
    assert.isUndefined(ack.attrs["error"])
    assert.deepStrictEqual(
      server
        .decrypted(recipient)
        .map((displayed) => ({ from: displayed.from, id: displayed.id, text: displayed.text })),
      [{ from: "4915550000001", id: "3EB0AA01", text }],
    )
    assert.deepStrictEqual(
      server.decrypted(sender).map((displayed) => ({ chat: displayed.chat, text: displayed.text })),
      [{ chat: recipientJid, text }],
    )
  }),
)

it.effect("a newly linked device gets ticks at once, after its history", () =>
  Effect.gen(function* () {
    const { client, send, server } = yield* sending
    yield* send("3EB0AA03")
    yield* awaitAck(client, "3EB0AA03")
    yield* server.receipt({ by: recipient, ids: ["3EB0AA03"], type: "delivered" })
    const tick = yield* client.until(() => client.ticks.find(({ key }) => key.id === "3EB0AA03"))
    assert.strictEqual(tick.update.status, 3)
    assert.strictEqual(client.stored.creds.accountSyncCounter, 1)
  }),
)

it.effect("a message repeated with its id is shown once", () =>
  Effect.gen(function* () {
    const { client, send, server } = yield* sending
    yield* send("3EB0AA02")
    yield* awaitAck(client, "3EB0AA02")
    yield* send("3EB0AA02")
    yield* client.until(() => (client.acks.length === 2 ? true : undefined))
    assert.strictEqual(server.copies(recipient), 1)
    assert.strictEqual(server.decrypted(recipient)[0]?.arrivals, 2)
  }),
)
