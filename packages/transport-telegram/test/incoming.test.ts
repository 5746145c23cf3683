/** What happens to a message of Telegram, and what an inbox collects. */
import { assert, describe, it } from "@effect/vitest"
import type { IncomingMessage } from "@messaging-service/core"
import { Long } from "@mtcute/node"
import type { tl } from "@mtcute/node"
import { makeInbox } from "../src/Inbox.ts"
import { toIncoming } from "../src/incoming.ts"

const selfId = 1
const [date, dcId] = [1_700_000_000, 2]
const now = 1_800_000_000_000

const user = (id: number, known: Partial<tl.RawUser> = {}): tl.RawUser => ({
  _: "user",
  id,
  ...known,
})

const ann = user(7, { firstName: "Ann", lastName: "Lee", phone: "4915550000007", username: "ann" })
const friends: tl.RawChatForbidden = { _: "chatForbidden", id: 70, title: "Friends" }
const crowd: tl.RawChannel = {
  _: "channel",
  id: 80,
  title: "Crowd",
  photo: { _: "chatPhotoEmpty" },
  date: 0,
  megagroup: true,
}
const difference = { users: [ann, user(selfId, { self: true })], chats: [friends, crowd] }

const peers = {
  users: new Map(difference.users.map((each) => [each.id, each])),
  chats: new Map(difference.chats.map((chat) => [chat.id, chat])),
}

const fromAnn = { _: "peerUser", userId: ann.id } as const
const inGroup = { _: "peerChat", chatId: friends.id } as const

const message = (known: Partial<tl.RawMessage> = {}): tl.RawMessage => ({
  _: "message",
  id: 5,
  peerId: fromAnn,
  date,
  message: "Hello",
  ...known,
})

const read = (known: Partial<tl.RawMessage>) => toIncoming(message(known), peers, selfId)

const annAsPerson = {
  phone: "+4915550000007",
  lid: null,
  userId: "7",
  username: "ann",
  name: "Ann Lee",
}

const asStranger = (userId: string) => ({
  phone: null,
  lid: null,
  userId,
  username: null,
  name: null,
})

describe("a message", () => {
  it("of a person is read completely", () => {
    assert.deepStrictEqual(read({}), {
      _tag: "Message",
      remoteId: "5",
      mode: "live",
      fromMe: false,
      group: null,
      person: annAsPerson,
      kind: "text",
      text: "Hello",
      content: null,
      file: null,
      quote: null,
      sentAt: date * 1000,
    })
  })

  const group = { remoteId: "70", name: "Friends" }

  it.each([
    ["the owner's", { out: true }, { fromMe: true, group: null, person: annAsPerson }],
    [
      "a note to oneself",
      { peerId: { _: "peerUser", userId: selfId } },
      { fromMe: true, group: null, person: asStranger("1") },
    ],
    [
      "a stranger's",
      { peerId: { _: "peerUser", userId: 9 } },
      { fromMe: false, group: null, person: asStranger("9") },
    ],
    [
      "one of a group",
      { peerId: inGroup, fromId: fromAnn },
      { fromMe: false, group, person: annAsPerson },
    ],
    [
      "the owner's in a group",
      { peerId: inGroup, fromId: { _: "peerUser", userId: selfId }, out: true },
      { fromMe: true, group, person: null },
    ],
    [
      "one of an unknown group",
      { peerId: { _: "peerChat", chatId: 71 }, fromId: fromAnn },
      { fromMe: false, group: { remoteId: "71", name: null }, person: annAsPerson },
    ],
  ] as ReadonlyArray<[string, Partial<tl.RawMessage>, Partial<IncomingMessage>]>)(
    "%s",
    (_, known, expected) => {
      assert.deepInclude(read(known), { ...expected })
    },
  )

  const inCrowd = { _: "peerChannel", channelId: crowd.id } as const

  it("of a supergroup has an id of that group", () => {
    assert.deepInclude(
      read({
        peerId: inCrowd,
        fromId: fromAnn,
        replyTo: { _: "messageReplyHeader", replyToMsgId: 4 },
      }),
      {
        remoteId: "80/5",
        group: { remoteId: "-1000000000080", name: "Crowd" },
        person: annAsPerson,
        quote: { remoteId: "80/4", text: "" },
      },
    )
  })

  it("of a news channel, of Telegram itself, or about the chat is not stored", () => {
    const known = { users: peers.users, chats: new Map<number, tl.TypeChat>() }
    const chats: ReadonlyArray<tl.RawChannel> = [
      { ...crowd, megagroup: false, broadcast: true },
      { ...crowd, left: true },
    ]
    for (const chat of chats) {
      known.chats.set(crowd.id, chat)
      assert.isNull(toIncoming(message({ peerId: inCrowd, fromId: fromAnn }), known, selfId))
    }
    known.chats.clear()
    assert.isNull(toIncoming(message({ peerId: inCrowd, post: true }), known, selfId))
    // A login code: with it one can log in.
    assert.isNull(
      read({ peerId: { _: "peerUser", userId: 777_000 }, message: "Login code: 12345" }),
    )
    const action = { _: "messageActionPinMessage" } as const
    const service = { _: "messageService", id: 6, peerId: inGroup, date, action } as const
    assert.isNull(toIncoming(service, peers, selfId))
    assert.isNull(toIncoming({ _: "messageEmpty", id: 6 }, peers, selfId))
  })

  it.each([
    ["a message", { replyToMsgId: 4 }, { remoteId: "4", text: "" }],
    [
      "a part of one",
      { replyToMsgId: 4, quote: true, quoteText: "tomorrow" },
      { remoteId: "4", text: "tomorrow" },
    ],
    [
      "one of another chat",
      { replyToMsgId: 4, replyToPeerId: inGroup, quoteText: "tomorrow" },
      { remoteId: null, text: "tomorrow" },
    ],
    ["nothing that is known", { replyToMsgId: 4, replyToPeerId: inGroup }, null],
  ] as ReadonlyArray<[string, Partial<tl.RawMessageReplyHeader>, object | null]>)(
    "quotes %s",
    (_, header, quote) => {
      assert.deepStrictEqual(
        read({ replyTo: { _: "messageReplyHeader", ...header } })?.quote,
        quote,
      )
    },
  )
})

const ids = { id: Long.ONE, accessHash: Long.ONE, fileReference: new Uint8Array(), date, dcId }

const document = (
  mimeType: string,
  attributes: Array<tl.TypeDocumentAttribute>,
): tl.RawMessageMediaDocument => ({
  _: "messageMediaDocument",
  document: { _: "document", ...ids, mimeType, size: 1234, attributes },
})

const described = (mimeType: string, known: object = {}) => ({
  mimeType,
  size: 1234,
  fileName: null,
  seconds: null,
  sha256: null,
  ...known,
})

const photo = (sizes: Array<tl.TypePhotoSize>): tl.RawMessageMediaPhoto => ({
  _: "messageMediaPhoto",
  photo: { _: "photo", ...ids, sizes },
})

const video = { _: "documentAttributeVideo", duration: 7, w: 1, h: 1 } as const
const sticker = {
  _: "documentAttributeSticker",
  alt: "🙂",
  stickerset: { _: "inputStickerSetEmpty" },
} as const
const geo = { _: "geoPoint", lat: 48.1, long: 11.5, accessHash: Long.ZERO } as const
const coordinates = { latitude: 48.1, longitude: 11.5 }
const text = (of: string): tl.RawTextWithEntities => ({
  _: "textWithEntities",
  text: of,
  entities: [],
})

const kinds: ReadonlyArray<[string, tl.TypeMessageMedia, object]> = [
  ["text", { _: "messageMediaWebPage", webpage: { _: "webPageEmpty", id: Long.ONE } }, {}],
  [
    "image",
    photo([
      { _: "photoSize", type: "m", w: 1, h: 1, size: 12 },
      { _: "photoSizeProgressive", type: "y", w: 1, h: 1, sizes: [100, 1234] },
    ]),
    { file: described("image/jpeg") },
  ],
  ["image", { _: "messageMediaPhoto", ttlSeconds: 5 }, {}],
  [
    "video",
    document("video/mp4", [{ ...video, duration: 6.7 }]),
    { file: described("video/mp4", { seconds: 7 }) },
  ],
  [
    "audio",
    document("audio/mpeg", [
      { _: "documentAttributeAudio", duration: 180 },
      { _: "documentAttributeFilename", fileName: "song.mp3" },
    ]),
    { file: described("audio/mpeg", { seconds: 180, fileName: "song.mp3" }) },
  ],
  [
    "voice",
    document("audio/ogg", [{ _: "documentAttributeAudio", voice: true, duration: 3 }]),
    { file: described("audio/ogg", { seconds: 3 }) },
  ],
  ["voice", { _: "messageMediaDocument", voice: true, ttlSeconds: 5 }, {}],
  [
    "document",
    document("application/pdf", [{ _: "documentAttributeFilename", fileName: "a.pdf" }]),
    { file: described("application/pdf", { fileName: "a.pdf" }) },
  ],
  ["sticker", document("image/webp", [sticker]), { file: described("image/webp") }],
  [
    "sticker",
    document("video/webm", [sticker, video]),
    { file: described("video/webm", { seconds: 7 }) },
  ],
  [
    "location",
    { _: "messageMediaGeo", geo },
    { content: { ...coordinates, name: null, address: null } },
  ],
  [
    "location",
    {
      _: "messageMediaVenue",
      geo,
      title: "Cafe",
      address: "Main Street 1",
      provider: "",
      venueId: "",
      venueType: "",
    },
    { content: { ...coordinates, name: "Cafe", address: "Main Street 1" } },
  ],
  ["location", { _: "messageMediaGeo", geo: { ...geo, lat: NaN } }, {}],
  [
    "video",
    document("video/mp4", [{ ...video, duration: Infinity }]),
    { file: described("video/mp4") },
  ],
  [
    "contact",
    {
      _: "messageMediaContact",
      phoneNumber: "+49 155 50000008",
      firstName: "Bob",
      lastName: "",
      vcard: "",
      userId: 0,
    },
    { content: { contacts: [{ name: "Bob", phones: ["+4915550000008"] }] } },
  ],
  [
    "poll",
    {
      _: "messageMediaPoll",
      poll: {
        _: "poll",
        id: Long.ONE,
        question: text("When?"),
        answers: ["Today", "Tomorrow"].map((each): tl.RawPollAnswer => ({
          _: "pollAnswer",
          text: text(each),
          option: new Uint8Array(),
        })),
        hash: Long.ZERO,
      },
      results: { _: "pollResults" },
    },
    { content: { question: "When?", options: ["Today", "Tomorrow"] } },
  ],
  [
    "unsupported",
    { _: "messageMediaDice", value: 6, emoticon: "🎲" },
    { content: { type: "messageMediaDice" } },
  ],
]

it.each(kinds)("a message of kind %s", (kind, media, expected) => {
  const { content, file, kind: found, text: caption } = read({ media }) ?? {}
  assert.deepStrictEqual(
    { kind: found, text: caption, content, file },
    { kind: kind as never, text: "Hello", content: null, file: null, ...expected },
  )
})

describe("an inbox", () => {
  const update = (known: Partial<tl.RawMessage>): tl.RawUpdateNewMessage => ({
    _: "updateNewMessage",
    message: message(known),
    pts: 1,
    ptsCount: 1,
  })
  const sentHere = (id: number): tl.RawUpdateMessageID => ({
    _: "updateMessageID",
    id,
    randomId: Long.ONE,
  })
  const state = { _: "updates.state", pts: 9, qts: 0, date, seq: 0, unreadCount: 0 } as const
  const ids = (inbox: ReturnType<typeof makeInbox>) =>
    inbox.take().flatMap((each) => (each._tag === "Message" ? each.remoteId : []))

  it("has each message once, from updates and from a difference, in the order of arrival", () => {
    const inbox = makeInbox({ selfId, now: () => now })
    inbox.addUpdate(update({ id: 3 }), peers)
    inbox.addDifference({
      _: "updates.difference",
      newMessages: [message({ id: 2 }), message({ id: 3 }), message({ id: 4 })],
      newEncryptedMessages: [],
      otherUpdates: [update({ id: 5 })],
      ...difference,
      state,
    })
    for (const id of [4, 2, 6]) inbox.addUpdate(update({ id }), peers)
    assert.deepStrictEqual(ids(inbox), ["3", "2", "4", "5", "6"])
    assert.deepStrictEqual(ids(inbox), [])
    inbox.addDifference({ _: "updates.differenceEmpty", date, seq: 0 })
    inbox.addDifference({ _: "updates.differenceTooLong", pts: 9 })
    assert.deepStrictEqual(ids(inbox), [])
  })

  it("leaves out what this service sent, whether that is known before or after it", () => {
    const inbox = makeInbox({ selfId, now: () => now })
    inbox.addOwn("2")
    for (const id of [1, 2, 3]) inbox.addUpdate(update({ id, out: true }), peers)
    inbox.addOwnIn([sentHere(3), update({ id: 3, out: true })])
    // Telegram names no chat: those of a supergroup, and of others, are not messages of the box.
    const inSupergroup = { id: 1, out: true, peerId: { _: "peerChannel", channelId: 80 } } as const
    inbox.addOwnIn([sentHere(1), update(inSupergroup), update({ id: 1 })])
    inbox.addDifference({
      _: "updates.differenceSlice",
      newMessages: [message({ id: 2, out: true }), message({ id: 4, out: true })],
      newEncryptedMessages: [],
      otherUpdates: [sentHere(4)],
      ...difference,
      intermediateState: state,
    })
    assert.deepStrictEqual(ids(inbox), ["1"])
  })
})
