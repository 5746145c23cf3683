/** What people write, as the library hears it. */
import { assert, it } from "@effect/vitest"
import { aesDecryptWithIV, getMediaKeys, hmacSign, normalizeMessageContent, sha256 } from "baileys"
import type { proto } from "baileys"
import { Effect } from "effect"
import { get } from "node:https"
import {
  awaitAck,
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
import type { Address, SentFile, WhatsAppServerShape, Writing } from "../src/index.ts"

const recipientLid = "904915550000002@lid"

const awaitMessage = (client: Client, id: string) =>
  client.until(() => client.messages.find(({ key, message }) => key.id === id && message))

const isSettled = (server: WhatsAppServerShape) =>
  server.until(() => server.unanswered(sender).length === 0)

/** A person writes, and the client has read it. */
const received = (
  { client, server }: { readonly client: Client; readonly server: WhatsAppServerShape },
  what: string | Writing,
  from = recipient,
  to = sender,
) =>
  Effect.gen(function* () {
    const id = yield* server.write(from, to, what)
    const { key, message } = yield* awaitMessage(client, id)
    return { id, key, content: normalizeMessageContent(message) ?? {} }
  })

it.effect("texts, places, cards and polls", () =>
  Effect.gen(function* () {
    const world = yield* sending
    const text = yield* received(world, "Hello")
    assert.strictEqual(text.content.conversation, "Hello")
    const location = { latitude: 52.5, longitude: 13.4, name: "Here", address: "Street 1" }
    const { locationMessage } = (yield* received(world, { location })).content
    assert.deepInclude(
      { ...locationMessage },
      { degreesLatitude: 52.5, degreesLongitude: 13.4, name: "Here", address: "Street 1" },
    )
    const ann = { name: "Ann", phones: ["+49 1"] }
    const { contactMessage } = (yield* received(world, { contacts: [ann] })).content
    assert.strictEqual(contactMessage?.displayName, "Ann")
    assert.include(contactMessage?.vcard, "waid=491:+49 1")
    const both = (yield* received(world, { contacts: [ann, ann] })).content
    assert.strictEqual(both.contactsArrayMessage?.contacts?.length, 2)
    const poll = { question: "When?", options: ["Now", "Later"] }
    const { messageContextInfo, pollCreationMessageV3 } = (yield* received(world, { poll })).content
    assert.deepStrictEqual(
      pollCreationMessageV3?.options?.map(({ optionName }) => optionName),
      ["Now", "Later"],
    )
    assert.strictEqual(messageContextInfo?.messageSecret?.length, 32)
    const other = { message: { liveLocationMessage: { degreesLatitude: 1, degreesLongitude: 2 } } }
    assert.isDefined((yield* received(world, other)).content.liveLocationMessage)
  }),
)

it.effect("quotes, edits, revocations and reactions name the message", () =>
  Effect.gen(function* () {
    const world = yield* sending
    yield* world.send("3EB0AA11")
    yield* awaitAck(world.client, "3EB0AA11")
    const answer = yield* received(world, { text: "Yes", quotes: "3EB0AA11" })
    const quote = answer.content.extendedTextMessage
    assert.strictEqual(quote?.text, "Yes")
    assert.strictEqual(quote?.contextInfo?.stanzaId, "3EB0AA11")
    assert.strictEqual(quote?.contextInfo?.participant, "4915550000001@s.whatsapp.net")
    assert.strictEqual(quote?.contextInfo?.quotedMessage?.extendedTextMessage?.text, "3EB0AA11")
    const file = { kind: "image", bytes: Buffer.from("x") } as const
    const image = yield* received(world, { file, quotes: answer.id })
    assert.strictEqual(image.content.imageMessage?.contextInfo?.stanzaId, answer.id)
    const edit = (yield* received(world, { edits: answer.id, text: "No" })).content.protocolMessage
    assert.strictEqual(edit?.type, 14)
    assert.strictEqual(edit?.key?.id, answer.id)
    assert.strictEqual(edit?.editedMessage?.conversation, "No")
    const revoked = (yield* received(world, { revokes: answer.id })).content.protocolMessage
    assert.strictEqual(revoked?.type, 0)
    assert.strictEqual(revoked?.key?.id, answer.id)
    for (const emoji of ["👍", null]) {
      const { reactionMessage } = (yield* received(world, { reactsTo: "3EB0AA11", emoji })).content
      assert.strictEqual(reactionMessage?.text, emoji ?? "")
      assert.deepInclude({ ...reactionMessage?.key }, { id: "3EB0AA11", fromMe: true })
    }
    const own = yield* received(world, { reactsTo: answer.id, emoji: "👍" })
    assert.deepInclude({ ...own.content.reactionMessage?.key }, { id: answer.id, fromMe: false })
  }),
)

interface Fetched {
  readonly status: number | undefined
  readonly bytes: Buffer
}

const fetched = (server: WhatsAppServerShape, path: string) =>
  Effect.promise(
    () =>
      new Promise<Fetched>((resolve, reject) => {
        const url = `https://${server.mediaHost}${path}`
        get(url, { ca: server.mediaCertificate }, (response) => {
          const chunks: Array<Buffer> = []
          response.on("data", (chunk: Buffer) => chunks.push(chunk))
          response.on("end", () =>
            resolve({ status: response.statusCode, bytes: Buffer.concat(chunks) }),
          )
        }).on("error", reject)
      }),
  )

const pointerIn = (content: proto.IMessage) =>
  content.imageMessage ??
  content.videoMessage ??
  content.audioMessage ??
  content.documentMessage ??
  content.stickerMessage

const isSame = (one: Uint8Array, other: Uint8Array | null | undefined) =>
  Buffer.compare(one, other ?? Buffer.alloc(0)) === 0

/** What a file says of itself that is not so, and the file. */
const checked = (server: WhatsAppServerShape, kind: SentFile["kind"], content: proto.IMessage) =>
  Effect.gen(function* () {
    const pointer = pointerIn(content)
    const { bytes } = yield* fetched(server, pointer?.directPath ?? "")
    const keys = yield* Effect.promise(() =>
      getMediaKeys(pointer?.mediaKey, kind === "voice" ? "ptt" : kind),
    )
    const body = bytes.subarray(0, -10)
    const signed = Buffer.concat([keys.iv, body])
    const mac = hmacSign(signed, keys.macKey ?? Buffer.alloc(0)).subarray(0, 10)
    const plain = aesDecryptWithIV(body, Buffer.from(keys.cipherKey), Buffer.from(keys.iv))
    const wrong = [
      ...(isSame(mac, bytes.subarray(-10)) ? [] : ["seal"]),
      ...(isSame(sha256(bytes), pointer?.fileEncSha256) ? [] : ["sealed hash"]),
      ...(isSame(sha256(plain), pointer?.fileSha256) ? [] : ["hash"]),
      ...(Number(pointer?.fileLength) === plain.length ? [] : ["length"]),
    ]
    return { wrong, plain }
  })

it.effect("files of each kind open, with caption, name and length", () =>
  Effect.gen(function* () {
    const world = yield* sending
    for (const kind of ["image", "video", "audio", "voice", "document", "sticker"] as const) {
      const bytes = Buffer.alloc(70_000, kind)
      const file = { kind, bytes, caption: "Look", fileName: "a b.bin", seconds: 3 }
      const { content } = yield* received(world, { file })
      assert.deepStrictEqual(yield* checked(world.server, kind, content), {
        wrong: [],
        plain: bytes,
      })
      if (kind === "document") assert.strictEqual(content.documentMessage?.fileName, "a b.bin")
      if (kind === "image") assert.strictEqual(content.imageMessage?.caption, "Look")
      if (kind === "voice") assert.isTrue(content.audioMessage?.ptt)
    }
  }),
)

it.effect("files that are not what they say", () =>
  Effect.gen(function* () {
    const world = yield* sending
    for (const wrong of ["seal", "sealed hash", "hash", "length"] as const) {
      const file = { kind: "image", bytes: Buffer.from("an image"), wrong } as const
      const { content } = yield* received(world, { file })
      assert.deepStrictEqual((yield* checked(world.server, "image", content)).wrong, [wrong])
    }
    const pointer = { url: "http://127.0.0.1:1/", directPath: "/elsewhere" }
    const file = { kind: "image", bytes: Buffer.from("an image"), pointer } as const
    const { imageMessage } = (yield* received(world, { file })).content
    assert.deepInclude({ ...imageMessage }, pointer)
  }),
)

it.effect("a link that has ended is renewed by the phone, unless it has the file no more", () =>
  Effect.gen(function* () {
    const { client, server } = yield* sending
    const bytes = Buffer.from("a document")
    const file = { kind: "document", bytes } as const
    const id = yield* server.write(recipient, sender, { file })
    const message = yield* awaitMessage(client, id)
    const pointer = message.message!.documentMessage!
    yield* server.endLink(recipient, id, 410)
    assert.strictEqual((yield* fetched(server, pointer.directPath!)).status, 410)
    yield* Effect.promise(() => client.socket.updateMediaMessage(message))
    assert.deepStrictEqual((yield* checked(server, "document", message.message!)).plain, bytes)

    const lost = { ...file, ended: 404, renewal: "not found" } as const
    const lostId = yield* server.write(recipient, sender, { file: lost })
    const second = yield* awaitMessage(client, lostId)
    const path = second.message!.documentMessage!.directPath!
    assert.strictEqual((yield* fetched(server, path)).status, 404)
    const refused = yield* Effect.flip(
      Effect.tryPromise(() => client.socket.updateMediaMessage(second)),
    )
    assert.include(String(refused.cause), "Media re-upload failed")
  }),
)

for (const [address, jid, alt] of [
  ["pn", recipientJid, recipientLid],
  ["lid", recipientLid, recipientJid],
  ["pn only", recipientJid, undefined],
  ["lid only", recipientLid, undefined],
] as ReadonlyArray<readonly [Address, string, string | undefined]>) {
  it.effect(`a person is named by ${address}`, () =>
    Effect.gen(function* () {
      const world = yield* sending
      const first = yield* received(world, { text: "Hello", address })
      assert.deepInclude(
        { remoteJidAlt: undefined, ...first.key },
        { remoteJid: jid, remoteJidAlt: alt },
      )
      const second = yield* received(world, { text: "Hello", address, device: 3 })
      assert.strictEqual(second.key.remoteJid, jid)
      yield* isSettled(world.server)
      assert.strictEqual(world.server.deliveries(sender, second.id), 1)
    }),
  )
}

it.effect("what the owner writes on the phone comes as the owner's", () =>
  Effect.gen(function* () {
    const world = yield* sending
    const { content, id, key } = yield* received(world, "From the phone", sender, recipient)
    assert.strictEqual(content.conversation, "From the phone")
    assert.deepInclude({ ...key }, { remoteJid: recipientJid, fromMe: true })
    const edit = yield* received(world, { edits: id, text: "Edited" }, sender, recipient)
    assert.strictEqual(edit.content.protocolMessage?.key?.fromMe, true)
    const byLid = yield* received(world, { text: "By LID", address: "lid" }, sender, recipient)
    assert.deepInclude({ ...byLid.key }, { remoteJid: recipientLid, fromMe: true })
    yield* isSettled(world.server)
  }),
)

const members = ["+4915550000002", "+4915550000003"] as const

const inGroup = (addressing: "pn" | "lid") =>
  Effect.gen(function* () {
    const participants = [sender, ...members]
    const server = yield* serverWith(Object.fromEntries(participants.map((each) => [each, {}])))
    const group = yield* server.group({ subject: "Team", participants, addressing })
    const client = yield* linked(server, sender)
    return { server, client, group }
  })

for (const addressing of ["pn", "lid"] as const) {
  it.effect(`members of a group with ${addressing} addresses write, and its owner does`, () =>
    Effect.gen(function* () {
      const world = yield* inGroup(addressing)
      const { client, group, server } = world
      for (const from of [...members, ...members, sender]) {
        const { content, key } = yield* received(world, "Hello", from, group)
        assert.strictEqual(content.conversation, "Hello")
        assert.strictEqual(key.remoteJid, group)
        assert.strictEqual(key.fromMe, from === sender)
        assert.include(key.participant, addressing === "lid" ? "@lid" : from.slice(1))
      }
      const [one, other] = members
      const first = yield* received(world, "Mine", one, group)
      const reaction = yield* received(world, { reactsTo: first.id, emoji: "👍" }, other, group)
      assert.include(reaction.content.reactionMessage?.key?.participant, "0000002")
      const revoked = yield* received(world, { revokes: first.id }, other, group)
      assert.include(revoked.content.protocolMessage?.key?.participant, "0000002")
      const broken = { text: "Unreadable", arrives: "broken once" } as const
      const copy = yield* received(world, broken, one, group)
      assert.strictEqual(copy.content.conversation, "Unreadable")
      yield* isSettled(server)
      assert.strictEqual(server.deliveries(sender, copy.id), 2)
      for (const key of client.stored.keys.keys()) {
        if (key.startsWith("sender-key/")) client.stored.keys.delete(key)
      }
      const after = yield* received(world, "Without the key", one, group)
      assert.strictEqual(after.content.conversation, "Without the key")
    }),
  )
}

it.effect("what cannot be read comes again when it is asked for, or never", () =>
  Effect.gen(function* () {
    const world = yield* sending
    const { client, server } = world
    yield* received(world, "Hello")
    for (const arrives of ["broken once", "broken once"] as const) {
      const { content, id } = yield* received(world, { text: "Copied", arrives })
      assert.strictEqual(content.conversation, "Copied")
      yield* isSettled(server)
      assert.strictEqual(server.deliveries(sender, id), 2)
    }
    const id = yield* server.write(recipient, sender, { text: "Lost", arrives: "broken" })
    yield* client.until(() => client.messages.find(({ key }) => key.id === id))
    yield* received(world, "Later")
    yield* server.until(() => server.unanswered(sender).length === 1)
    assert.deepStrictEqual(server.unanswered(sender), [id])
    assert.strictEqual(server.deliveries(sender, id), 1)
    yield* server.resend(recipient, id)
    assert.strictEqual((yield* awaitMessage(client, id)).message?.conversation, "Lost")
    yield* isSettled(server)
  }),
)

it.effect("content comes after the announcement, under the same id", () =>
  Effect.gen(function* () {
    const { client, server } = yield* sending
    const what = {
      text: "Content",
      arrives: "without content",
      id: "3A00000000000000AB01",
    } as const
    const id = yield* server.write(recipient, sender, what)
    assert.strictEqual(id, what.id)
    const placeholder = yield* client.until(() => client.messages.find(({ key }) => key.id === id))
    assert.isNotOk(placeholder.message)
    yield* isSettled(server)
    yield* server.resend(recipient, id)
    assert.strictEqual((yield* awaitMessage(client, id)).message?.conversation, "Content")
  }),
)

it.effect("the number's phone gives what neither its author nor the server does", () =>
  Effect.gen(function* () {
    const { client, server } = yield* sending
    for (const arrives of ["broken", "without content"] as const) {
      const what = { text: "From the phone", arrives, onPhone: true }
      const id = yield* server.write(recipient, sender, what)
      const { message } = yield* awaitMessage(client, id)
      assert.strictEqual(message?.conversation, "From the phone")
    }
  }),
)

it.effect("statuses reach everyone's devices", () =>
  Effect.gen(function* () {
    const world = yield* sending
    for (const arrives of ["readable", "broken once"] as const) {
      const what = { text: "Status", arrives }
      const { key } = yield* received(world, what, recipient, "status@broadcast")
      assert.strictEqual(key.remoteJid, "status@broadcast")
      assert.strictEqual(key.participant, recipientJid)
    }
  }),
)

it.effect("files and broken messages wait for a device that is away", () =>
  Effect.gen(function* () {
    const { client, server } = yield* sending
    yield* server.drop(sender)
    yield* closed(client)
    const broken = { text: "Broken", arrives: "broken once", sentAt: 1_700_000_000_000 } as const
    const id = yield* server.write(recipient, sender, broken)
    const again = yield* connect(server, client.stored)
    yield* opened(again)
    const { message, messageTimestamp } = yield* awaitMessage(again, id)
    assert.strictEqual(message?.conversation, "Broken")
    assert.strictEqual(Number(messageTimestamp), 1_700_000_000)
    yield* isSettled(server)
  }),
)

it.effect("read marks are kept, whether the author sees them or not", () =>
  Effect.gen(function* () {
    const world = yield* sending
    const { client, server } = world
    const [one, two] = [yield* received(world, "One"), yield* received(world, "Two")]
    yield* Effect.promise(() => client.socket.readMessages([one.key, two.key]))
    yield* Effect.promise(() =>
      client.socket.sendReceipt(recipientJid, undefined, [two.id], "read-self"),
    )
    yield* server.until(() => server.readMarks(sender).length === 2)
    assert.deepStrictEqual(server.readMarks(sender), [
      { chat: recipientJid, participant: undefined, ids: [one.id, two.id], type: "read" },
      { chat: recipientJid, participant: undefined, ids: [two.id], type: "read-self" },
    ])
  }),
)
