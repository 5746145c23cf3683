/** Faults between a linked device and the server, ordered by a test. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { awaitAck, closed, connect, opened, recipient, sender, sending } from "./Client.ts"

for (const code of [463, 479]) {
  it.effect(
    `a message refused with ${code} reaches no recipient, and the next one goes through`,
    () =>
      Effect.gen(function* () {
        const { client, send, server } = yield* sending
        yield* server.nextMessage({ outcome: { nack: code }, from: sender, to: recipient })
        yield* send("3EB0BB01")
        assert.strictEqual((yield* awaitAck(client, "3EB0BB01")).attrs["error"], String(code))
        assert.strictEqual(server.copies(recipient), 0)
        yield* send("3EB0BB02")
        assert.isUndefined((yield* awaitAck(client, "3EB0BB02")).attrs["error"])
        assert.strictEqual(server.copies(recipient), 1)
      }),
  )
}

for (const [drop, displayed, acked] of [
  ["before work", 0, 0],
  ["before ack", 1, 0],
  ["after ack", 1, 1],
] as const) {
  it.effect(`a connection that drops ${drop} leaves ${displayed} shown and ${acked} acked`, () =>
    Effect.gen(function* () {
      const { client, send, server } = yield* sending
      yield* server.nextMessage({ outcome: { drop } })
      yield* send("3EB0CC01")
      assert.strictEqual(yield* closed(client), 428)
      assert.strictEqual(server.copies(recipient), displayed)
      assert.strictEqual(client.acks.length, acked)
      const again = yield* connect(server, client.stored)
      yield* opened(again)
      yield* send("3EB0CC01", again)
      yield* awaitAck(again, "3EB0CC01")
      assert.strictEqual(server.copies(recipient), 1)
    }),
  )
}

it.effect("a withheld ack comes when it is released", () =>
  Effect.gen(function* () {
    const { client, send, server } = yield* sending
    yield* server.nextMessage({ outcome: "withhold ack" })
    yield* send("3EB0DD01")
    yield* send("3EB0DD02")
    yield* awaitAck(client, "3EB0DD02")
    assert.deepStrictEqual(
      client.acks.map(({ attrs }) => attrs["id"]),
      ["3EB0DD02"],
    )
    assert.strictEqual(server.copies(recipient), 2)
    yield* server.releaseAcks
    yield* awaitAck(client, "3EB0DD01")
  }),
)

it.effect("a lost message is neither shown nor acked", () =>
  Effect.gen(function* () {
    const { client, send, server } = yield* sending
    yield* server.nextMessage({ outcome: "lose", from: sender, times: 2 })
    assert.strictEqual(server.ordersLeft(sender), 2)
    for (const id of ["3EB0EE01", "3EB0EE02", "3EB0EE03"]) yield* send(id)
    yield* awaitAck(client, "3EB0EE03")
    assert.strictEqual(server.ordersLeft(sender), 0)
    assert.deepStrictEqual(
      server.decrypted(recipient).map(({ id }) => id),
      ["3EB0EE03"],
    )
    assert.strictEqual(client.acks.length, 1)
  }),
)

it.effect("a silent server keeps the connection and answers nothing", () =>
  Effect.gen(function* () {
    const { client, server } = yield* sending
    const ping = { tag: "iq", attrs: { to: "@s.whatsapp.net", type: "get", xmlns: "w:p" } }
    const request = Effect.tryPromise(() => client.socket.query(ping, 20))
    yield* server.silence(sender)
    assert.include(String((yield* Effect.flip(request)).cause), "Timed Out")
    assert.strictEqual(server.sessions(sender)[0]?.open, 1)
  }),
)

it.effect("nothing connects while the listener is down, and messages meanwhile are kept", () =>
  Effect.gen(function* () {
    const { client, send, server } = yield* sending
    yield* send("3EB0FF01")
    yield* awaitAck(client, "3EB0FF01")
    yield* server.down
    yield* closed(client)
    assert.strictEqual(yield* closed(yield* connect(server, client.stored)), 408)
    yield* server.receipt({ by: recipient, ids: ["3EB0FF01"], type: "read" })
    yield* server.receipt({ by: recipient, ids: ["3EB0FF01"], type: "delivered" })
    yield* server.up
    const again = yield* connect(server, client.stored)
    yield* again.until(() => (again.receipts.length === 2 ? true : undefined))
    assert.deepStrictEqual(
      again.receipts.map(({ attrs }) => attrs["type"]),
      ["read", undefined],
    )
  }),
)

it.effect("a question over the limit is answered as such", () =>
  Effect.gen(function* () {
    const { client, server } = yield* sending
    yield* server.refuseNext("groups", 429)
    const refused = yield* Effect.flip(
      Effect.tryPromise(() => client.socket.groupFetchAllParticipating()),
    )
    assert.deepInclude(refused.cause, { message: "rate-overlimit", data: 429 })
    assert.deepStrictEqual(
      yield* Effect.promise(() => client.socket.groupFetchAllParticipating()),
      {},
    )
  }),
)
