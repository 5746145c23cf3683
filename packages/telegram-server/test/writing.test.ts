/** What people write reaches the account's clients, with its later changes. */
import { assert, it } from "@effect/vitest"
import { FileLocation, Long } from "@mtcute/node"
import type { tl } from "@mtcute/node"
import { Effect } from "effect"
import type { Queue } from "effect"
import type { Attachment, Group, TelegramServerShape } from "../src/index.ts"
import {
  calling,
  comeBack,
  leave,
  listen,
  next,
  recipient,
  sender,
  sending,
  takeTexts,
} from "./Client.ts"

const third = "+4915550000003"

const theChats = Effect.gen(function* () {
  const { client, server, storage } = yield* sending
  yield* server.person(third)
  const members = [sender, recipient, third]
  const small = yield* server.group("Friends", members)
  const supergroup = yield* server.group("Crowd", members, "supergroup")
  const channel = yield* server.group("News", members, "channel")
  const updates = yield* listen(client)
  return { client, server, storage, small, supergroup, channel, updates }
})

const asMessage = (message: tl.TypeMessage): tl.RawMessage => {
  assert.strictEqual(message._, "message")
  return message as tl.RawMessage
}

it.effect("people write in private, in groups and in channels", () =>
  Effect.gen(function* () {
    const { channel, server, small, supergroup, updates } = yield* theChats
    yield* server.write(recipient, sender, "In private")
    const own = asMessage((yield* next(updates, "updateNewMessage")).message)
    assert.deepStrictEqual([own.message, own.out, own.peerId], ["In private", false, own.fromId])

    yield* server.write(third, small, "To friends")
    const friends = asMessage((yield* next(updates, "updateNewMessage")).message)
    assert.deepStrictEqual(friends.peerId, { _: "peerChat", chatId: small.id })
    assert.deepStrictEqual([friends.id, friends.message], [own.id + 1, "To friends"])

    for (const [group, text] of [
      [supergroup, "To all"],
      [channel, "News"],
    ] as const) {
      yield* server.write(third, group, text)
      const { message } = yield* next(updates, "updateNewChannelMessage")
      const { fromId, id, peerId } = asMessage(message)
      // A channel has ids of its own, and its messages no author.
      assert.deepStrictEqual(peerId, { _: "peerChannel", channelId: group.id })
      assert.deepStrictEqual([id, fromId === undefined], [1, group === channel])
    }
    assert.deepStrictEqual(
      server.shown(sender).map(({ text, to }) => [to, text]),
      [
        [sender.slice(1), "In private"],
        ["Friends", "To friends"],
        ["Crowd", "To all"],
        ["News", "News"],
      ],
    )
    assert.deepStrictEqual(server.complaints(), [])
  }),
)

it.effect("a text without its people's data arrives too", () =>
  Effect.gen(function* () {
    const { server, small, updates } = yield* theChats
    yield* server.write(recipient, sender, "Known")
    yield* server.write(recipient, sender, "Short", "short")
    yield* server.write(recipient, small, "In the group", "short")
    const found = yield* takeTexts(updates, 3)
    assert.deepStrictEqual(found, [
      [1, "Known"],
      [2, "Short"],
      [3, "In the group"],
    ])
    // The client asks who a stranger is, and gets the message with the answer.
    yield* server.person("+4915550000004")
    yield* server.write("+4915550000004", sender, "From a stranger", "short")
    assert.deepStrictEqual(yield* takeTexts(updates, 1), [[4, "From a stranger"]])
  }),
)

it.effect("what the account's owner writes in another app is its own message", () =>
  Effect.gen(function* () {
    const { client, server, storage, updates } = yield* theChats
    yield* server.write(sender, recipient, "From my phone")
    const live = asMessage((yield* next(updates, "updateNewMessage")).message)
    assert.deepStrictEqual([live.message, live.out], ["From my phone", true])
    assert.deepStrictEqual(
      server.shown(recipient).map(({ text }) => text),
      ["From my phone"],
    )
    yield* leave(client)
    yield* server.write(sender, recipient, "And later")
    const again = yield* comeBack(server, storage)
    const late = asMessage((yield* next(again.updates, "updateNewMessage")).message)
    assert.deepStrictEqual([late.message, late.out], ["And later", true])
  }),
)

it.effect("a quote names the message in the reader's own box, in both directions", () =>
  Effect.gen(function* () {
    const { client, server, small, updates } = yield* theChats
    // The ids of the two boxes differ.
    yield* server.write(third, recipient, "Unrelated")
    const question = yield* server.write(recipient, sender, "Today or tomorrow?")
    yield* server.write(recipient, sender, { text: "Well?", replyTo: question, quote: "tomorrow" })
    const first = asMessage((yield* next(updates, "updateNewMessage")).message)
    const reminded = asMessage((yield* next(updates, "updateNewMessage")).message)
    assert.deepStrictEqual(reminded.replyTo?._ === "messageReplyHeader" && reminded.replyTo, {
      ...(reminded.replyTo as tl.RawMessageReplyHeader),
      replyToMsgId: first.id,
      quoteText: "tomorrow",
    })
    const replyTo = server.messageId(question, sender)
    assert.strictEqual(replyTo, first.id)
    yield* calling(() => client.sendText("recipient_two", "Tomorrow", { replyTo: first.id }))
    assert.deepStrictEqual(server.shown(recipient).at(-1)?.quotes, "Today or tomorrow?")

    const answer = server.messagesBy(sender).at(-1)
    assert.isDefined(answer)
    yield* server.write(recipient, sender, { text: "Fine", replyTo: answer })
    const fine = asMessage((yield* next(updates, "updateNewMessage")).message)
    assert.deepStrictEqual(
      fine.replyTo?._ === "messageReplyHeader" && fine.replyTo.replyToMsgId,
      server.messageId(answer, sender),
    )

    // A message of another chat cannot be quoted.
    yield* server.write(third, small, "Elsewhere")
    const elsewhere = asMessage((yield* next(updates, "updateNewMessage")).message)
    const refused = yield* Effect.flip(
      calling(() => client.sendText("recipient_two", "No", { replyTo: elsewhere.id })),
    )
    assert.strictEqual(refused.text, "REPLY_MESSAGE_ID_INVALID")
  }),
)

/** Waits for the same change in a private chat, a small group and a supergroup. */
const inEachChat = (
  work: (
    server: TelegramServerShape,
    to: string | Group,
    updates: Queue.Dequeue<tl.TypeUpdate>,
    isChannels: boolean,
  ) => Effect.Effect<void>,
) =>
  Effect.gen(function* () {
    const { server, small, supergroup, updates } = yield* theChats
    for (const to of [sender, small, supergroup]) {
      yield* work(server, to, updates, to === supergroup)
    }
    assert.deepStrictEqual(server.complaints(), [])
  })

it.effect("edits have the new text, and deletions the ids", () =>
  inEachChat((server, to, updates, isChannels) =>
    Effect.gen(function* () {
      const [first, second] = [
        yield* server.write(recipient, to, "Frist"),
        yield* server.write(recipient, to, "Second"),
      ]
      yield* server.edit(first, "First")
      const kind = isChannels ? "updateEditChannelMessage" : "updateEditMessage"
      const edited = asMessage((yield* next(updates, kind)).message)
      assert.deepStrictEqual(
        [edited.id, edited.message],
        [server.messageId(first, sender), "First"],
      )
      assert.isDefined(edited.editDate)
      yield* server.remove([first, second])
      const removed = yield* next(
        updates,
        isChannels ? "updateDeleteChannelMessages" : "updateDeleteMessages",
      )
      assert.deepStrictEqual(removed.messages, [edited.id, edited.id + 1])
      assert.deepStrictEqual(server.shown(sender), [])
    }),
  ),
)

it.effect("a reaction comes once, and stays at its message", () =>
  Effect.gen(function* () {
    const { client, server, updates } = yield* theChats
    yield* calling(() => client.sendText("recipient_two", "Done"))
    const [message] = server.messagesBy(sender)
    assert.isDefined(message)
    const getReactions = ({ reactions }: Pick<tl.RawMessage, "reactions">) =>
      reactions?.recentReactions?.map(({ reaction }) =>
        reaction._ === "reactionEmoji" ? reaction.emoticon : null,
      ) ?? []
    for (const emoji of ["👍", "❤", null]) {
      yield* server.react(recipient, message, emoji)
      const update = yield* next(updates, "updateMessageReactions")
      assert.strictEqual(update.msgId, server.messageId(message, sender))
      assert.deepStrictEqual(getReactions(update), emoji === null ? [] : [emoji])
    }
    yield* server.react(recipient, message, "🎉", "lost")
    const [found] = yield* calling(() => client.getMessages("recipient_two", [1]))
    assert.deepStrictEqual(getReactions(asMessage(found!.raw)), ["🎉"])
  }),
)

const attachments: ReadonlyArray<Attachment> = [
  { kind: "photo", bytes: Buffer.from("a photo") },
  { kind: "video", bytes: Buffer.alloc(2 * 1024 * 1024 + 5, "film "), seconds: 7 },
  { kind: "audio", bytes: Buffer.alloc(200_000, "song "), fileName: "song.mp3", seconds: 180 },
  { kind: "voice", bytes: Buffer.from("a voice"), seconds: 3 },
  { kind: "document", bytes: Buffer.from("%PDF"), fileName: "a.pdf", mimeType: "application/pdf" },
  { kind: "sticker", bytes: Buffer.from("a sticker") },
]

it.effect("files of every kind are downloaded byte for byte", () =>
  Effect.gen(function* () {
    const { client, server, updates } = yield* theChats
    const kinds: Array<string | undefined> = []
    for (const file of attachments) {
      const written = yield* server.write(recipient, sender, { text: "Look", file })
      yield* next(updates, "updateNewMessage")
      const id = server.messageId(written, sender) ?? 0
      const [message] = yield* calling(() => client.getMessages("recipient_two", [id]))
      const media = message?.media
      kinds.push(media?.type)
      const bytes = yield* calling(async () => {
        if (!(media instanceof FileLocation)) throw new Error("the message has no file")
        return client.downloadAsBuffer(media)
      })
      assert.deepStrictEqual(Buffer.compare(bytes, file.bytes), 0, file.kind)
    }
    assert.deepStrictEqual(
      kinds,
      attachments.map(({ kind }) => kind),
    )
    assert.deepStrictEqual(server.complaints(), [])
  }),
)

it.effect("a file reference ends, and the message has a new one", () =>
  Effect.gen(function* () {
    const { client, server, updates } = yield* theChats
    const bytes = Buffer.from("a document")
    yield* server.write(recipient, sender, { file: { kind: "document", bytes } })
    const { media } = asMessage((yield* next(updates, "updateNewMessage")).message)
    const download = (found: tl.TypeMessageMedia | undefined) =>
      calling(async () => {
        const document = found?._ === "messageMediaDocument" ? found.document : undefined
        if (document?._ !== "document") throw new Error("the message has no document")
        const { accessHash, fileReference, id } = document
        const location = { _: "inputDocumentFileLocation", id, accessHash, fileReference } as const
        return client.call({
          _: "upload.getFile",
          location: { ...location, thumbSize: "" },
          offset: 0,
          limit: 4096,
        })
      })
    yield* download(media)
    yield* server.expireFileReferences
    assert.strictEqual((yield* Effect.flip(download(media))).text, "FILE_REFERENCE_EXPIRED")
    const [again] = yield* calling(() => client.getMessages("recipient_two", [1]))
    const part = yield* download(asMessage(again!.raw).media)
    assert.isTrue(part._ === "upload.file" && Buffer.compare(part.bytes, bytes) === 0)
  }),
)

it.effect("a message may name a wrong length of its file", () =>
  Effect.gen(function* () {
    const { client, server, updates } = yield* theChats
    const bytes = Buffer.alloc(10_000, "x")
    for (const size of [4096, 300_000]) {
      yield* server.write(recipient, sender, { file: { kind: "document", bytes, size } })
      const { message } = yield* next(updates, "updateNewMessage")
      const [found] = yield* calling(() => client.getMessages("recipient_two", [message.id]))
      const media = found?.media
      assert.isTrue(media?.type === "document" && media.fileSize === size)
    }
  }),
)

it.effect("the client's read marks are kept, and those who wrote hear of them", () =>
  Effect.gen(function* () {
    const { client, server, small, supergroup, updates } = yield* theChats
    yield* server.write(third, supergroup, "To all")
    for (const text of ["One", "Two"]) yield* server.write(recipient, sender, text)
    yield* server.write(third, small, "Three")
    yield* takeTexts(updates, 3)
    yield* calling(() => client.readHistory("recipient_two", { maxId: 1 }))
    yield* calling(() => client.readHistory("recipient_two", { maxId: 2 }))
    yield* calling(() => client.readHistory(-small.id, { maxId: 3 }))
    yield* calling(() => client.readHistory(-1_000_000_000_000 - supergroup.id, { maxId: 1 }))
    const { id: chatId } = yield* calling(() => client.getUser("recipient_two"))
    assert.deepStrictEqual(server.readMarks(sender), [
      { chat: recipient.slice(1), chatId, maxId: 1 },
      { chat: recipient.slice(1), chatId, maxId: 2 },
      { chat: "Friends", chatId: small.id, maxId: 3 },
      { chat: "Crowd", chatId: supergroup.id, maxId: 1 },
    ])
    assert.deepStrictEqual(server.complaints(), [])
    // The account's box counts its own read marks: what follows has no gap.
    yield* server.write(recipient, sender, "Four")
    assert.deepStrictEqual(yield* takeTexts(updates, 1), [[4, "Four"]])
  }),
)

it.effect("the client sends to a group and to a supergroup", () =>
  Effect.gen(function* () {
    const { client, server, small, supergroup, updates } = yield* theChats
    yield* server.write(third, small, "Hello")
    yield* server.write(third, supergroup, "Hello")
    yield* next(updates, "updateNewChannelMessage")
    for (const peerId of [-small.id, -1_000_000_000_000 - supergroup.id]) {
      const peer = yield* calling(() => client.resolvePeer(peerId))
      const randomId = Long.fromNumber(-peerId)
      yield* calling(() =>
        client.call({ _: "messages.sendMessage", peer, randomId, message: "Hello all" }),
      )
    }
    const titles = server
      .shown(recipient)
      .flatMap(({ text, to }) => (text === "Hello all" ? to : []))
    assert.deepStrictEqual(titles, ["Friends", "Crowd"])
    yield* server.read(recipient, small)
    const { peer } = yield* next(updates, "updateReadHistoryOutbox")
    assert.deepStrictEqual(peer, { _: "peerChat", chatId: small.id })
    yield* server.read(recipient, supergroup)
    const { channelId } = yield* next(updates, "updateReadChannelOutbox")
    assert.strictEqual(channelId, supergroup.id)
  }),
)

it.effect("the list of chats comes in pages, those with the latest messages first", () =>
  Effect.gen(function* () {
    const { channel, client, server, small, supergroup } = yield* theChats
    yield* server.write(recipient, sender, "In private")
    for (const group of [supergroup, channel, small]) yield* server.write(third, group, "Hello")
    const titles: Array<string> = []
    const pages = calling(async () => {
      for await (const { lastMessage, peer } of client.iterDialogs({ chunkSize: 3 })) {
        titles.push(`${peer.displayName}: ${lastMessage?.text}`)
      }
    })
    yield* pages
    assert.deepStrictEqual(titles, [
      "Friends: Hello",
      "News: Hello",
      "Crowd: Hello",
      `Person ${(yield* calling(() => client.getUser("recipient_two"))).id}: In private`,
    ])
    // The client asks until a page is empty.
    assert.strictEqual(server.calls(sender, "messages.getDialogs"), 3)
    assert.deepStrictEqual(server.complaints(), [])
  }),
)
