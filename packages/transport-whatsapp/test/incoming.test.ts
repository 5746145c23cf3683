/** What becomes of a stanza and its content. */
import { assert, describe, it } from "@effect/vitest"
import type { Person } from "@messaging-service/core"
import { proto } from "baileys"
import { isNeverStored, toAddressed, toIncoming } from "../src/incoming.ts"

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
        ...more,
      })
    },
  )

  it.each([
    { protocolMessage: { type: proto.Message.ProtocolMessage.Type.REVOKE } },
    { editedMessage: { message: { protocolMessage: { type: 14 } } } },
    { reactionMessage: { text: "👍" } },
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
    const revoked = { ...message.deviceSentMessage, message: { protocolMessage: { type: 0 } } }
    const none = toIncoming(
      stanza({ from: "901@lid" }),
      opened({ deviceSentMessage: revoked }),
      own,
    )
    assert.isNull(none)
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
      assert.deepStrictEqual(incoming(answer)?.quote, { remoteId: "3EB0", text })
    }
    const mention = {
      extendedTextMessage: { text: "@1", contextInfo: { mentionedJid: [phoneJid] } },
    }
    assert.isNull(incoming(mention)?.quote)
  })
})
