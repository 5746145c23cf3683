/** Recipients get a client's messages once for each id that it drew. */
import { assert, it } from "@effect/vitest"
import { Long } from "@mtcute/node"
import { Effect, Queue } from "effect"
import { createHash } from "node:crypto"
import { calling, getClient, recipient, send, sender, sending } from "./Client.ts"

it.effect("a text to a username is shown on the recipient's phone, once", () =>
  Effect.gen(function* () {
    const { client, server } = yield* sending
    const text = "Hello *you*\n_twice_ 👋"
    yield* calling(() => client.sendText("recipient_two", text))
    assert.deepStrictEqual(
      server.shown(recipient).map((displayed) => ({ from: displayed.from, text: displayed.text })),
      [{ from: "4915550000001", text }],
    )
    assert.strictEqual(server.copies(sender), 0)
    assert.deepStrictEqual(server.complaints(), [])
  }),
)

it.effect("a message repeated under its id is refused, and shown once", () =>
  Effect.gen(function* () {
    const { client, server } = yield* sending
    yield* send(client, Long.fromNumber(7))
    const failed = yield* Effect.flip(send(client, Long.fromNumber(7)))
    assert.deepStrictEqual([failed.code, failed.text], [500, "RANDOM_ID_DUPLICATE"])
    assert.strictEqual(server.copies(recipient), 1)
  }),
)

it.effect("a connection that breaks after the work shows one copy, and before it one too", () =>
  Effect.gen(function* () {
    const { client, server } = yield* sending
    yield* server.nextCall({ outcome: { drop: "after work" } })
    const failed = yield* Effect.flip(send(client, Long.fromNumber(1)))
    assert.strictEqual(failed.text, "RANDOM_ID_DUPLICATE")
    yield* server.nextCall({ outcome: { drop: "before work" } })
    yield* send(client, Long.fromNumber(2))
    assert.strictEqual(server.copies(recipient), 2)
  }),
)

it.effect("a flood names its seconds, and nothing is shown", () =>
  Effect.gen(function* () {
    const { client, server } = yield* sending
    yield* server.nextCall({ phone: sender, outcome: { code: 420, error: "FLOOD_WAIT_17" } })
    const failed = yield* Effect.flip(send(client, Long.fromNumber(1)))
    assert.deepStrictEqual([failed.code, failed.text], [420, "FLOOD_WAIT_%d"])
    assert.strictEqual(server.copies(recipient), 0)
    assert.strictEqual(server.ordersLeft(sender), 0)
  }),
)

it.effect(
  "a file arrives with its name and every byte, large or small, and a picture without a name",
  () =>
    Effect.gen(function* () {
      const { client, server } = yield* sending
      const small = Buffer.from("%PDF-1.7 small")
      const large = Buffer.alloc(11 * 1024 * 1024, "large ")
      for (const file of [small, large]) {
        const media = {
          type: "document",
          file,
          fileName: "a.pdf",
          fileMime: "application/pdf",
        } as const
        yield* calling(() => client.sendMedia("recipient_two", media, { caption: "Look" }))
        const displayed = server.shown(recipient).at(-1)
        assert.strictEqual(displayed?.text, "Look")
        assert.deepStrictEqual(displayed?.media, {
          kind: "document",
          fileName: "a.pdf",
          mimeType: "application/pdf",
          size: file.length,
          sha256: createHash("sha256").update(file).digest("hex"),
        })
      }
      const file = Buffer.from("89504e470d0a1a0a", "hex")
      yield* calling(() => client.sendMedia("recipient_two", { type: "photo", file }))
      const { fileName, kind, mimeType } = server.shown(recipient).at(-1)?.media ?? {}
      assert.deepStrictEqual([kind, fileName, mimeType], ["photo", null, "image/png"])
      assert.deepStrictEqual(server.complaints(), [])
    }),
)

it.effect("an unknown recipient returns the remote server's error", () =>
  Effect.gen(function* () {
    const { client } = yield* sending
    const failures = yield* Effect.all([
      Effect.flip(
        calling(() => client.call({ _: "contacts.resolveUsername", username: "not_there" })),
      ),
      Effect.flip(
        calling(() => client.call({ _: "contacts.resolvePhone", phone: "4915559999999" })),
      ),
    ])
    assert.deepStrictEqual(
      failures.map(({ text }) => text),
      ["USERNAME_NOT_OCCUPIED", "PHONE_NOT_OCCUPIED"],
    )
    const phone = recipient.slice(1)
    const found = yield* calling(() =>
      client.importContacts([
        { phone, firstName: "Two", lastName: "" },
        { phone: "4915559999999", firstName: "None", lastName: "" },
      ]),
    )
    assert.deepStrictEqual(
      found.users.map((user) => (user._ === "user" ? user.phone : null)),
      [phone],
    )
  }),
)

it.effect("the sender learns of reads at once, and after an absence", () =>
  Effect.gen(function* () {
    const { client, server, storage } = yield* sending
    const heard = yield* Queue.unbounded<number>()
    const listen = (to: typeof client) =>
      to.onRawUpdate.add(({ update }) => {
        if (update._ === "updateReadHistoryOutbox") Queue.offerUnsafe(heard, update.maxId)
      })
    listen(client)
    yield* calling(() => client.sendText("recipient_two", "One"))
    yield* server.read(recipient, sender)
    assert.strictEqual(yield* Queue.take(heard), 1)
    yield* calling(() => client.sendText("recipient_two", "Two"))
    yield* Effect.promise(() => client.destroy())
    yield* server.read(recipient, sender)
    const again = yield* getClient(server, storage)
    listen(again)
    yield* calling(() => again.connect())
    yield* Effect.promise(() => again.startUpdatesLoop())
    assert.strictEqual(yield* Queue.take(heard), 2)
  }),
)

it.effect("two concurrent clients with one key are counted, and a returning client is not", () =>
  Effect.gen(function* () {
    const { client, server, storage } = yield* sending
    const other = yield* getClient(server, storage)
    const requests = (one: typeof client) => calling(() => one.call({ _: "updates.getState" }))
    yield* requests(client)
    yield* server.drop(sender)
    yield* requests(client)
    assert.strictEqual(server.sessions(sender).mixed, 0)
    yield* requests(other)
    assert.strictEqual(server.sessions(sender).mixed, 0)
    yield* requests(client)
    assert.isAbove(server.sessions(sender).mixed, 0)
  }),
)
