/** Recipients: who is registered, media, receipts, messages asked for again, and pre-keys. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { make } from "../src/index.ts"
import { ackOf, linked } from "./Client.ts"

const sender = "+4915550000001"
const recipient = "+4915550000002"
const recipientJid = "4915550000002@s.whatsapp.net"

const linkedServer = Effect.gen(function* () {
  const server = yield* make()
  yield* server.person(sender)
  yield* server.person(recipient)
  const client = yield* linked(server, sender)
  const send = (messageId: string) =>
    Effect.promise(() =>
      client.socket.sendMessage(recipientJid, { text: messageId }, { messageId }),
    )
  return { server, client, send }
})

it.effect("numbers without a person are left out; Brazil's ninth digit is answered as it is", () =>
  Effect.gen(function* () {
    const { client, server } = yield* linkedServer
    yield* server.person("+551187654321")
    yield* server.person("+5521998765432")
    const found = yield* Effect.promise(() =>
      client.socket.onWhatsApp("+5511987654321", "+552198765432", recipient, "+4915550009999"),
    )
    assert.deepStrictEqual(found, [
      { jid: "551187654321@s.whatsapp.net", exists: true },
      { jid: "5521998765432@s.whatsapp.net", exists: true },
      { jid: recipientJid, exists: true },
    ])
  }),
)

it.effect("images and documents arrive whole, with caption, name and type", () =>
  Effect.gen(function* () {
    const { client, server } = yield* linkedServer
    const document = Buffer.alloc(70_000, "page ")
    const image = Buffer.from("an image")
    const sent = [
      { image, caption: "Look", mimetype: "image/png" },
      { document, fileName: "a b.pdf", mimetype: "application/pdf", caption: "Read" },
    ]
    for (const [index, content] of sent.entries()) {
      const messageId = `3EB0BA0${index}`
      yield* Effect.promise(() => client.socket.sendMessage(recipientJid, content, { messageId }))
      yield* ackOf(client, messageId)
    }
    assert.deepStrictEqual(
      server.decrypted(recipient).map(({ media, text }) => ({ text, ...media })),
      [
        { text: "Look", kind: "image", mimetype: "image/png", fileName: undefined, bytes: image },
        {
          text: "Read",
          kind: "document",
          mimetype: "application/pdf",
          fileName: "a b.pdf",
          bytes: document,
        },
      ],
    )
  }),
)

it.effect("an upload that is refused fails the attempt, and the next one goes through", () =>
  Effect.gen(function* () {
    const { client, server } = yield* linkedServer
    yield* server.refuseNext("upload", 500)
    const document = Buffer.from("a file")
    const attempt = Effect.tryPromise(() =>
      client.socket.sendMessage(recipientJid, { document, mimetype: "text/plain" }),
    )
    assert.include(String((yield* Effect.flip(attempt)).cause), "failed on all hosts")
    yield* attempt
    yield* server.until(() => server.copies(recipient) === 1)
  }),
)

it.effect("receipts come in any order, repeated, by phone number or LID", () =>
  Effect.gen(function* () {
    const { client, send, server } = yield* linkedServer
    for (const id of ["3EB0CA01", "3EB0CA02"]) {
      yield* send(id)
      yield* ackOf(client, id)
    }
    const ids = ["3EB0CA01", "3EB0CA02"]
    yield* server.receipt({ by: recipient, ids, type: "read" })
    yield* server.receipt({ by: recipient, ids: ["3EB0CA01"], type: "delivered", address: "lid" })
    yield* server.receipt({ by: recipient, ids: ["3EB0CA01"], type: "delivered" })
    yield* client.until(() => (client.receipts.length === 3 ? true : undefined))
    assert.deepStrictEqual(
      client.receipts.map(({ attrs }) => [attrs["type"], attrs["from"]]),
      [
        ["read", recipientJid],
        [undefined, "904915550000002@lid"],
        [undefined, recipientJid],
      ],
    )
  }),
)

it.effect("a person with receipts gives them without being told", () =>
  Effect.gen(function* () {
    const { client, send, server } = yield* linkedServer
    yield* server.person(recipient, { receipts: ["delivered", "read"] })
    yield* send("3EB0DA01")
    yield* client.until(() => (client.receipts.length === 2 ? true : undefined))
    assert.deepStrictEqual(
      client.receipts.map(({ attrs }) => attrs["type"]),
      [undefined, "read"],
    )
  }),
)

for (const loss of ["loseSessions", "reinstall"] as const) {
  it.effect(`after ${loss} the phone asks again, and shows the message once`, () =>
    Effect.gen(function* () {
      const { client, send, server } = yield* linkedServer
      yield* send("3EB0EA01")
      yield* ackOf(client, "3EB0EA01")
      yield* server[loss](recipient)
      yield* send("3EB0EA02")
      yield* server.until(() => server.copies(recipient) === 2)
    }),
  )
}

it.effect("pre-keys that run low are refilled", () =>
  Effect.gen(function* () {
    const { server } = yield* linkedServer
    const [before = 0] = server.preKeys(sender)
    assert.isAbove(before, 800)
    yield* server.takePreKeys(sender, before - 3)
    yield* server.until(() => (server.preKeys(sender)[0] ?? 0) > 3)
  }),
)

it.effect("a person can write to a linked device", () =>
  Effect.gen(function* () {
    const { client, server } = yield* linkedServer
    yield* server.write(recipient, sender, "Stop, please")
    const received = yield* client.until(() =>
      client.messages.find(({ message }) => message?.conversation === "Stop, please"),
    )
    assert.strictEqual(received.key.remoteJid, recipientJid)
  }),
)
