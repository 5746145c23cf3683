/** What happens to a stanza and its content. */
import { assert, describe, it } from "@effect/vitest"
import type { Person } from "@messaging-service/core"
import { proto } from "baileys"
import {
  isAboutAnother,
  isNeverStored,
  isWithoutContent,
  toAddressed,
  toCopies,
  toIncoming,
  toRevokedOfOther,
  toUnreadable,
} from "../src/incoming.ts"

const own = { id: "4915550000001:7@s.whatsapp.net", lid: "901:7@lid" }

const stanza = (attrs: Readonly<Record<string, string>>) => ({
  tag: "message",
  attrs: { id: "3A01", t: "1700000000", ...attrs },
})

const person = (known: Partial<Person>): Person => ({
  phone: null,
  lid: null,
  userId: null,
  username: null,
  name: null,
  ...known,
})

const phoneJid = "4915550000002@s.whatsapp.net"
const phone = "+4915550000002"
const group = "120363000000000001@g.us"
const named = { remoteId: group, name: null }

describe("who wrote, and where", () => {
  it.each([
    ["a phone", { from: phoneJid }, { phone }],
    ["a phone's device", { from: "4915550000002:3@s.whatsapp.net" }, { phone }],
    ["a LID", { from: "902:3@lid" }, { lid: "902" }],
    ["a hosted device", { from: "4915550000002:99@hosted" }, { phone }],
    ["a phone and its LID", { from: phoneJid, sender_lid: "902@lid" }, { phone, lid: "902" }],
    ["a LID and its phone", { from: "902@lid", sender_pn: phoneJid }, { phone, lid: "902" }],
    [
      "names",
      { from: "902@lid", notify: "Ann", sender_username: "@ann" },
      { lid: "902", name: "Ann", username: "ann" },
    ],
  ] as const)("by %s", (_, attrs, known) => {
    assert.deepStrictEqual(toAddressed(stanza(attrs), own), {
      remoteId: "3A01",
      mode: "live",
      fromMe: false,
      group: null,
      person: person(known),
    })
  })

  it.each([
    ["by phone", { participant: phoneJid, participant_lid: "902:1@lid", notify: "Ann" }],
    ["by LID", { participant: "902@lid", participant_pn: phoneJid, notify: "Ann" }],
  ] as const)("a member of a group %s", (_, attrs) => {
    assert.deepInclude(toAddressed(stanza({ from: group, ...attrs }), own), {
      fromMe: false,
      group: named,
      person: person({ phone, lid: "902", name: "Ann" }),
    })
  })

  it.each(["4915550000001@s.whatsapp.net", "4915550000001:2@s.whatsapp.net", "901@lid"])(
    "the owner in a group, as %s",
    (participant) => {
      const attrs = { from: group, participant, notify: "Owner" }
      assert.deepInclude(toAddressed(stanza(attrs), own), {
        fromMe: true,
        group: named,
        person: null,
      })
    },
  )

  it("the owner to a person, whom the content or the stanza names", () => {
    const from = "901@lid"
    const attrs = {
      from,
      recipient: "902@lid",
      peer_recipient_pn: phoneJid,
      peer_recipient_username: "ann",
      notify: "Owner",
    }
    assert.deepInclude(toAddressed(stanza(attrs), own), {
      fromMe: true,
      group: null,
      person: person({ phone, lid: "902", username: "ann" }),
    })
    const sent = toAddressed(stanza({ from }), own, phoneJid)
    assert.deepStrictEqual(sent?.person, person({ phone }))
    assert.deepInclude(toAddressed(stanza({ from }), own, group), { group: named, person: null })
    assert.isNull(toAddressed(stanza({ from }), own))
  })

  it.each([
    { from: "status@broadcast", participant: phoneJid },
    { from: "1700000000@broadcast", participant: phoneJid },
    { from: "120363000000000001@newsletter" },
    { from: "4915550000001@s.whatsapp.net", recipient: "1700000000@broadcast" },
    { from: "4915550000001@s.whatsapp.net", category: "peer" },
    { from: "13135550002@bot" },
    { from: group },
  ] as ReadonlyArray<Record<string, string>>)("nobody (%#)", (attrs) => {
    assert.isNull(toAddressed(stanza(attrs), own))
  })

  it("statuses, broadcast lists and newsletters are known by where they come from", () => {
    assert.isTrue(isNeverStored(stanza({ from: "status@broadcast" })))
    assert.isTrue(isNeverStored(stanza({ from: "1@newsletter" })))
    assert.isFalse(isNeverStored(stanza({ from: group })))
  })
})

/** As it comes out of the seal. */
const opened = (message: proto.IMessage): proto.IMessage =>
  proto.Message.decode(proto.Message.encode(message).finish())

const incoming = (message: proto.IMessage) =>
  toIncoming(stanza({ from: phoneJid }), opened(message), own)

const quoteIn = (message: proto.IMessage) => {
  const found = incoming(message)
  return found?._tag === "Message" ? found.quote : undefined
}

const sha256 = Buffer.alloc(32, 1)
const pointer = { mimetype: "a/b", fileLength: 7, fileSha256: sha256 }
const file = {
  mimeType: "a/b",
  size: 7,
  fileName: null,
  seconds: null,
  sha256: sha256.toString("hex"),
}

const vcard = [
  "BEGIN:VCARD",
  "FN:Ann",
  "item1.TEL;type=CELL;waid=4915550000009:+49 1555 0000009",
  "TEL:030 1234",
  "END:VCARD",
].join("\r\n")
const card = { name: "Ann", phones: ["+4915550000009", "030 1234"] }
const poll = { name: "When?", options: [{ optionName: "Now" }, { optionName: "Later" }] }

describe("what was written", () => {
  it.each([
    ["text", { conversation: "Hi" }, { text: "Hi" }],
    ["text", { extendedTextMessage: { text: "Hi" } }, { text: "Hi" }],
    ["text", { ephemeralMessage: { message: { conversation: "Hi" } } }, { text: "Hi" }],
    ["text", { conversation: "" }, {}],
    ["image", { imageMessage: { ...pointer, caption: "Look" } }, { text: "Look", file }],
    ["image", { viewOnceMessageV2: { message: { imageMessage: pointer } } }, { file }],
    ["video", { videoMessage: { ...pointer, seconds: 3 } }, { file: { ...file, seconds: 3 } }],
    ["video", { ptvMessage: pointer }, { file }],
    ["audio", { audioMessage: pointer }, { file }],
    ["voice", { audioMessage: { ...pointer, ptt: true } }, { file }],
    [
      "document",
      { documentMessage: { ...pointer, fileName: "a.pdf" } },
      { file: { ...file, fileName: "a.pdf" } },
    ],
    [
      "document",
      {
        documentWithCaptionMessage: {
          message: { documentMessage: { ...pointer, caption: "Read" } },
        },
      },
      { text: "Read", file },
    ],
    ["sticker", { stickerMessage: pointer }, { file }],
    ["sticker", { lottieStickerMessage: { message: { stickerMessage: pointer } } }, { file }],
    [
      "location",
      { locationMessage: { degreesLatitude: 1.5, degreesLongitude: 2, name: "Here" } },
      { content: { latitude: 1.5, longitude: 2, name: "Here", address: null } },
    ],
    [
      "location",
      { liveLocationMessage: { degreesLatitude: 1, degreesLongitude: 2, caption: "On my way" } },
      {
        text: "On my way",
        content: { latitude: 1, longitude: 2, name: null, address: null },
      },
    ],
    [
      "location",
      { locationMessage: { degreesLatitude: Number.NaN, degreesLongitude: Infinity } },
      { content: { latitude: 0, longitude: 0, name: null, address: null } },
    ],
    [
      "document",
      { documentMessage: { ...pointer, fileLength: Number.MAX_SAFE_INTEGER + 1 } },
      { file: { ...file, size: null } },
    ],
    [
      "contact",
      { contactMessage: { displayName: "Ann", vcard } },
      { content: { contacts: [card] } },
    ],
    [
      "contact",
      { contactsArrayMessage: { contacts: [{ vcard }, { displayName: "Bob" }] } },
      { content: { contacts: [card, { name: "Bob", phones: [] }] } },
    ],
    [
      "poll",
      { pollCreationMessageV3: poll },
      { content: { question: "When?", options: ["Now", "Later"] } },
    ],
    [
      "unsupported",
      { messageContextInfo: {}, orderMessage: {} },
      { content: { type: "orderMessage" } },
    ],
    ["unsupported", { messageContextInfo: {} }, { content: { type: "unknown" } }],
  ] as ReadonlyArray<readonly [string, proto.IMessage, object]>)(
    "%s (%#)",
    (kind, message, more) => {
      assert.deepStrictEqual<unknown>(incoming(message), {
        remoteId: "3A01",
        address: phoneJid,
        mode: "live",
        fromMe: false,
        group: null,
        person: person({ phone }),
        kind,
        text: "",
        content: null,
        file: null,
        quote: null,
        sentAt: 1_700_000_000_000,
        _tag: "Message",
        ...more,
      })
    },
  )

  it.each([
    { protocolMessage: { key: { id: "3EB0" } } },
    { protocolMessage: { type: 0 } },
    { protocolMessage: { type: 3, key: { id: "3EB0" } } },
    { editedMessage: { message: { protocolMessage: { type: 14, key: { id: "3EB0" } } } } },
    { reactionMessage: { text: "👍" } },
    { encReactionMessage: { targetMessageKey: { id: "3EB0" } } },
    { groupStatusMessageV2: { message: { reactionMessage: { key: { id: "3EB0" }, text: "👍" } } } },
    { pollUpdateMessage: {} },
    { secretEncryptedMessage: {} },
    { senderKeyDistributionMessage: { groupId: group } },
    { groupStatusMessageV2: { message: { conversation: "A status" } } },
  ] as ReadonlyArray<proto.IMessage>)("no message of its own (%#)", (message) => {
    assert.isNull(incoming(message))
  })

  it("the owner's words are those inside", () => {
    const message = {
      deviceSentMessage: { destinationJid: phoneJid, message: { conversation: "Hi" } },
    }
    const echo = toIncoming(stanza({ from: "901@lid" }), opened(message), own)
    assert.deepInclude(echo, { fromMe: true, text: "Hi", person: person({ phone }) })
  })

  it.each([
    ["a text", { conversation: "Question?" }, "Question?"],
    ["a caption", { imageMessage: { ...pointer, caption: "Look" } }, "Look"],
    ["what is gone", undefined, ""],
  ] as const)("quotes %s", (_, quotedMessage, text) => {
    const contextInfo = { stanzaId: "3EB0", ...(quotedMessage && { quotedMessage }) }
    const answers: ReadonlyArray<proto.IMessage> = [
      { extendedTextMessage: { text: "Yes", contextInfo } },
      { imageMessage: { ...pointer, contextInfo } },
    ]
    for (const answer of answers) {
      assert.deepStrictEqual(quoteIn(answer), { remoteId: "3EB0", text })
    }
    const mention = {
      extendedTextMessage: { text: "@1", contextInfo: { mentionedJid: [phoneJid] } },
    }
    assert.isNull(quoteIn(mention))
  })
})

const types = proto.Message.ProtocolMessage.Type
const at = 1_700_000_000_500

describe("what is done to a message", () => {
  const key = { id: "3EB0", remoteJid: "4915550000001@s.whatsapp.net", fromMe: true }
  const edit = { key, type: types.MESSAGE_EDIT, timestampMs: at }
  const text = { conversation: "Hi" }
  const caption = { imageMessage: { ...pointer, caption: "Hi" } }

  it.each([
    ["edit", { protocolMessage: { ...edit, editedMessage: text } }, { text: "Hi" }],
    ["edit", { protocolMessage: { ...edit, editedMessage: caption } }, { text: "Hi" }],
    [
      "edit",
      { editedMessage: { message: { protocolMessage: { ...edit, editedMessage: text } } } },
      { text: "Hi" },
    ],
    ["revocation", { protocolMessage: { key, type: types.REVOKE, timestampMs: at } }, {}],
    ["reaction", { reactionMessage: { key, text: "👍", senderTimestampMs: at } }, { emoji: "👍" }],
    ["reaction", { reactionMessage: { key, text: "", senderTimestampMs: at } }, { emoji: null }],
  ] as ReadonlyArray<readonly [string, proto.IMessage, object]>)(
    "%s (%#)",
    (type, message, more) => {
      assert.deepStrictEqual<unknown>(incoming(message), {
        _tag: "Change",
        changeId: "3A01",
        mode: "live",
        fromMe: false,
        group: null,
        person: person({ phone }),
        target: { remoteId: "3EB0", fromMe: false },
        change: { type, ...more },
        at,
        isVerified: false,
      })
    },
  )

  it.each([
    ["WhatsApp's without one", null, 1_700_000_000_000],
    ["the author's", 1_600_000_000_000, 1_600_000_000_000],
    ["WhatsApp's for a clock that is a day ahead", 1_700_086_400_001, 1_700_000_000_000],
    ["WhatsApp's for what is no time", Number.MAX_SAFE_INTEGER + 1, 1_700_000_000_000],
  ] as const)("at a time: %s", (_, senderTimestampMs, expected) => {
    const found = incoming({ reactionMessage: { key, text: "👍", senderTimestampMs } })
    assert.deepInclude(found, { at: expected })
  })

  const change = (
    attrs: Readonly<Record<string, string>>,
    named: proto.IMessageKey,
    sent?: proto.Message.IDeviceSentMessage,
  ) => {
    const reactionMessage = { key: { id: "3EB0", ...named }, text: "👍" }
    const message = sent ? { deviceSentMessage: { ...sent, message: { reactionMessage } } } : null
    const found = toIncoming(stanza(attrs), opened(message ?? { reactionMessage }), own)
    return found?._tag === "Change" ? found.target.fromMe : undefined
  }
  const inGroup = { from: group, participant: "902@lid" }

  it.each([
    ["another person's own", { from: phoneJid }, { fromMe: true }, false],
    ["the number's, from another person", { from: phoneJid }, { fromMe: false }, true],
    ["a member's own", inGroup, { fromMe: true, participant: "902@lid" }, false],
    ["another member's", inGroup, { participant: "903@lid" }, false],
    ["the number's in a group, by its LID", inGroup, { participant: "901@lid" }, true],
    ["the number's in a group, by phone", inGroup, { participant: own.id }, true],
    ["a member's that is not named", inGroup, {}, null],
  ] as ReadonlyArray<readonly [string, Record<string, string>, proto.IMessageKey, boolean | null]>)(
    "to a message: %s",
    (_, attrs, named, expected) => {
      assert.strictEqual(change(attrs, named), expected)
    },
  )

  it("by the owner, whose key is as the number sees it", () => {
    const sent = { destinationJid: phoneJid }
    assert.isTrue(change({ from: "901@lid" }, { fromMe: true }, sent))
    assert.isFalse(change({ from: "901@lid" }, { fromMe: false }, sent))
  })

  it("in a group by another than its author", () => {
    const revoked = (participant: string | null, by = "902@lid", fromMe = false) => {
      const message = opened({
        protocolMessage: { type: types.REVOKE, key: { id: "3EB0", fromMe, participant } },
      })
      const attrs = { from: group, participant: by, participant_pn: phoneJid }
      const found = toIncoming(stanza(attrs), message, own)
      return found?._tag === "Change" ? toRevokedOfOther(found, message, own) : undefined
    }
    const context = { mode: "live", group: named, remoteId: "3EB0" } as const
    const other = { ...context, fromMe: false, person: person({ lid: "903" }) }
    assert.deepStrictEqual(revoked("903:2@lid"), other)
    assert.deepStrictEqual(revoked("903@lid", "901@lid"), other)
    assert.deepStrictEqual(revoked("901@lid"), { ...context, fromMe: true, person: null })
    for (const author of ["902@lid", phoneJid, null]) assert.isNull(revoked(author))
    assert.isNull(revoked("901@lid", "901@lid"))
  })
})

describe("what is not there to open", () => {
  const enc = (type: string) => ({ tag: "enc", attrs: { type }, content: new Uint8Array(1) })
  const unavailable = { tag: "unavailable", attrs: {} }

  it.each([
    [true, [unavailable]],
    [true, undefined],
    [true, [enc("msmsg")]],
    [false, [enc("pkmsg"), enc("skmsg")]],
    [false, [{ tag: "plaintext", attrs: {}, content: new Uint8Array(1) }]],
  ])("%s (%#)", (expected, content) => {
    const one = { ...stanza({ from: phoneJid }), ...(content && { content }) }
    assert.strictEqual(isWithoutContent(one), expected)
  })

  it.each([
    [{ edit: "1" }, true],
    [{ edit: "7" }, true],
    [{ type: "reaction" }, true],
    [{ edit: "0", type: "text" }, false],
    [{}, false],
  ] as ReadonlyArray<readonly [Record<string, string>, boolean]>)(
    "may be known to be about another message (%#)",
    (attrs, expected) => {
      assert.strictEqual(isAboutAnother(stanza({ from: phoneJid, ...attrs })), expected)
    },
  )

  it("may be a vote", () => {
    const meta = (polltype: string) => ({ tag: "meta", attrs: { polltype } })
    const ofPoll = (polltype: string) => ({
      ...stanza({ from: phoneJid }),
      content: [meta(polltype)],
    })
    assert.isTrue(isAboutAnother(ofPoll("vote")))
    assert.isFalse(isAboutAnother(ofPoll("creation")))
  })

  it("waits with its place and time", () => {
    const unreadable = toUnreadable(stanza({ from: phoneJid }), own)
    assert.deepInclude(unreadable, { _tag: "Unreadable", remoteId: "3A01", sentAt: 1.7e12 })
    assert.isNull(toUnreadable(stanza({ from: phoneJid, category: "peer" }), own))
  })
})

describe("what the own phone gives", () => {
  const awaited = new Map([["3A02", stanza({ id: "3A02", from: "902@lid", sender_pn: phoneJid })]])
  const getCopies = (
    info: proto.IWebMessageInfo,
    attrs: Readonly<Record<string, string>> = { from: own.id, category: "peer" },
  ) => {
    const message = { conversation: "Hi" }
    const whole = { message, messageTimestamp: 1_700_000_000, ...info }
    const placeholderMessageResendResponse = {
      webMessageInfoBytes: proto.WebMessageInfo.encode(whole).finish(),
    }
    const peerDataOperationRequestResponseMessage = {
      peerDataOperationResult: [{}, { placeholderMessageResendResponse }],
    }
    const protocolMessage = { peerDataOperationRequestResponseMessage }
    return toCopies(stanza(attrs), opened({ protocolMessage }), own, awaited)
  }

  it.each([
    ["by LID", { remoteJid: "902@lid" }, { person: person({ lid: "902" }) }],
    [
      "as its stanza named it",
      { remoteJid: phoneJid, id: "3A02" },
      { person: person({ phone, lid: "902" }), remoteId: "3A02" },
    ],
    [
      "of the owner",
      { remoteJid: phoneJid, fromMe: true },
      { fromMe: true, person: person({ phone }) },
    ],
    [
      "of a member",
      { remoteJid: group, participant: "902@lid" },
      { group: named, person: person({ lid: "902" }) },
    ],
    ["of the owner in a group", { remoteJid: group, fromMe: true }, { fromMe: true, group: named }],
  ] as ReadonlyArray<readonly [string, proto.IMessageKey, object]>)(
    "is a message: %s",
    (_, key, more) => {
      const [copy, ...others] = getCopies({ key: { id: "3A01", ...key } })
      assert.lengthOf(others, 0)
      assert.deepInclude<object | undefined>(copy, {
        _tag: "Message",
        remoteId: "3A01",
        fromMe: false,
        group: null,
        person: null,
        kind: "text",
        text: "Hi",
        sentAt: 1_700_000_000_000,
        ...more,
      })
    },
  )

  it("is nothing from anybody else, and without a message", () => {
    const key = { id: "3A01", remoteJid: phoneJid }
    assert.deepStrictEqual(getCopies({ key }, { from: phoneJid, category: "peer" }), [])
    assert.deepStrictEqual(getCopies({ key }, { from: own.id }), [])
    assert.deepStrictEqual(getCopies({ key, message: null }), [])
  })
})
