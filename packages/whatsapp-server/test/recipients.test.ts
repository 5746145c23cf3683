/** Recipients: registration, media, receipts, retries, and pre-keys. */
import { assert, it } from "@effect/vitest"
import { aesDecryptWithIV, getMediaKeys } from "baileys"
import { Effect } from "effect"
import { get } from "node:https"
import { awaitAck, recipient, recipientJid, sender, sending, serverWith, linked } from "./Client.ts"

const fetched = (url: string, ca: string | undefined) =>
  new Promise<Buffer>((resolve, reject) => {
    get(url, { ca }, (response) => {
      const chunks: Array<Buffer> = []
      response.on("data", (chunk: Buffer) => chunks.push(chunk))
      response.on("end", () => resolve(Buffer.concat(chunks)))
    }).on("error", reject)
  })

it.effect("omits numbers without a person, and answers Brazil's ninth digit as stored", () =>
  Effect.gen(function* () {
    const { client, server } = yield* sending
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

it.effect("images and documents arrive complete, with caption, name and type", () =>
  Effect.gen(function* () {
    const { client, server } = yield* sending
    const document = Buffer.alloc(70_000, "page ")
    const image = Buffer.from("an image")
    const sent = [
      { image, caption: "Look", mimetype: "image/png" },
      { document, fileName: "a b.pdf", mimetype: "application/pdf", caption: "Read" },
    ]
    for (const [index, content] of sent.entries()) {
      const messageId = `3EB0BA0${index}`
      yield* Effect.promise(() => client.socket.sendMessage(recipientJid, content, { messageId }))
      yield* awaitAck(client, messageId)
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

it.effect("an uploaded file can be fetched from the message's address, over the same TLS", () =>
  Effect.gen(function* () {
    const { client, server } = yield* sending
    const document = Buffer.from("a file to fetch")
    yield* Effect.promise(() =>
      client.socket.sendMessage(recipientJid, { document, mimetype: "text/plain" }),
    )
    yield* server.until(() => server.copies(recipient) === 1)
    const pointer = server.decrypted(recipient)[0]?.message.documentMessage
    const sealed = yield* Effect.promise(() => fetched(pointer!.url!, server.mediaCertificate))
    const { cipherKey, iv } = yield* Effect.promise(() =>
      getMediaKeys(pointer!.mediaKey, "document"),
    )
    const plain = aesDecryptWithIV(sealed.subarray(0, -10), Buffer.from(cipherKey), Buffer.from(iv))
    assert.deepStrictEqual(plain, document)
  }),
)

it.effect("without the certificate nothing is uploaded", () =>
  Effect.gen(function* () {
    const { server } = yield* sending
    const refused = yield* Effect.flip(
      Effect.tryPromise(() => fetched(`https://${server.mediaHost}/`, undefined)),
    )
    assert.match(String(refused.cause), /self-signed/)
  }),
)

it.effect("a refused upload fails the attempt, and the next one goes through", () =>
  Effect.gen(function* () {
    const { client, server } = yield* sending
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
    const { client, send, server } = yield* sending
    for (const id of ["3EB0CA01", "3EB0CA02"]) {
      yield* send(id)
      yield* awaitAck(client, id)
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

it.effect("a person with receipts sends them unprompted", () =>
  Effect.gen(function* () {
    const { client, send, server } = yield* sending
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
  it.effect(`after ${loss} the phone requests a retry, and shows the message once`, () =>
    Effect.gen(function* () {
      const { client, send, server } = yield* sending
      yield* send("3EB0EA01")
      yield* awaitAck(client, "3EB0EA01")
      yield* server[loss](recipient)
      yield* send("3EB0EA02")
      yield* server.until(() => server.copies(recipient) === 2)
      assert.strictEqual(client.receipts[0]?.attrs["type"], "retry")
    }),
  )
}

it.effect("pre-keys that run low are refilled", () =>
  Effect.gen(function* () {
    const { server } = yield* sending
    const [before = 0] = server.preKeys(sender)
    assert.isAbove(before, 800)
    yield* server.takePreKeys(sender, before - 3)
    yield* server.until(() => (server.preKeys(sender)[0] ?? 0) > 3)
  }),
)

it.effect("a person can write to a linked device", () =>
  Effect.gen(function* () {
    const { client, server } = yield* sending
    yield* server.write(recipient, sender, "Stop, please")
    const received = yield* client.until(() =>
      client.messages.find(({ message }) => message?.conversation === "Stop, please"),
    )
    assert.strictEqual(received.key.remoteJid, recipientJid)
  }),
)

it.effect("a message to a person whose LID is secret reaches none of their devices", () =>
  Effect.gen(function* () {
    const server = yield* serverWith({ [sender]: {}, [recipient]: { showsLid: false } })
    const client = yield* linked(server, sender)
    const attempt = Effect.tryPromise(() =>
      client.socket.sendMessage(recipientJid, { text: "Hello" }),
    )
    assert.include(String((yield* Effect.flip(attempt)).cause), "All encryptions failed")
    assert.strictEqual(server.copies(recipient), 0)
  }),
)

it.effect("a second device of the recipient gets what the phone gets", () =>
  Effect.gen(function* () {
    const { client, send, server } = yield* sending
    const other = yield* linked(server, recipient)
    yield* send("3EB0FA01")
    yield* awaitAck(client, "3EB0FA01")
    yield* other.until(() =>
      other.messages.find(({ message }) => message?.extendedTextMessage?.text === "3EB0FA01"),
    )
    assert.strictEqual(server.copies(recipient), 1)
  }),
)
