/** What a message says that a person wrote: a stanza and its opened content become the core's record. Pure. */
import { dayMillis } from "@messaging-service/core"
import type {
  Addressed,
  IncomingChange,
  IncomingMessage,
  Person,
  ReceivedContent,
  ReceivedFile,
  ReceivedKind,
  UnreadableMessage,
} from "@messaging-service/core"
import {
  areJidsSameUser,
  isHostedLidUser,
  isHostedPnUser,
  isJidBroadcast,
  isJidGroup,
  isJidNewsletter,
  isLidUser,
  isPnUser,
  jidNormalizedUser,
  normalizeMessageContent,
  proto,
  toNumber,
} from "baileys"
import type { BinaryNode, WAMessageKey } from "baileys"
import { toFileSource } from "./files.ts"
import type { SealKind } from "./files.ts"
import { toDigits } from "./recipients.ts"

/** The number's own addresses. */
export interface Own {
  readonly id?: string | undefined
  readonly lid?: string | undefined
}

// Addresses

type Jids = ReadonlyArray<string | undefined>

const findDigits = (jids: Jids, isOfKind: (jid: string) => boolean | undefined): string | null => {
  const jid = jids.find((each) => each !== undefined && isOfKind(each) === true)
  // A device's number is cut off with the domain.
  return jid === undefined ? null : toDigits(jid)
}

/** Null without an address. */
const toPerson = (
  jids: Jids,
  username: string | undefined,
  name: string | undefined,
): Person | null => {
  const phone = findDigits(jids, (jid) => isPnUser(jid) || isHostedPnUser(jid))
  const lid = findDigits(jids, (jid) => isLidUser(jid) || isHostedLidUser(jid))
  if (!phone && !lid) return null
  return {
    phone: phone ? `+${phone}` : null,
    lid: lid || null,
    userId: null,
    username: username?.replace(/^@/, "") ?? null,
    name: name ?? null,
  }
}

const isOwn = ({ id, lid }: Own, jid: string): boolean =>
  areJidsSameUser(jid, id) || areJidsSameUser(jid, lid)

/** Statuses, broadcast lists and newsletters are never stored. */
export const isNeverStored = ({ attrs }: BinaryNode): boolean =>
  isJidBroadcast(attrs["from"] ?? "") === true || isJidNewsletter(attrs["from"] ?? "") === true

const inGroup = (
  { attrs }: BinaryNode,
  own: Own,
  group: string,
): Pick<Addressed, "fromMe" | "group" | "person"> | null => {
  const { participant, participant_lid, participant_pn, participant_username } = attrs
  if (participant === undefined) return null
  const named = { remoteId: group, name: null }
  if (isOwn(own, participant)) return { fromMe: true, group: named, person: null }
  const jids = [participant, participant_pn, participant_lid]
  const person = toPerson(jids, participant_username, attrs["notify"])
  return person && { fromMe: false, group: named, person }
}

/** The owner's own words, which other devices of the account pass on. */
const ofOwner = (
  { attrs }: BinaryNode,
  destination: string | undefined,
): Pick<Addressed, "fromMe" | "group" | "person"> | null => {
  const { peer_recipient_lid, peer_recipient_pn, recipient, recipient_lid, recipient_pn } = attrs
  const chat = destination ?? recipient
  if (chat === undefined) return null
  if (isJidGroup(chat)) {
    return { fromMe: true, group: { remoteId: chat, name: null }, person: null }
  }
  const username = attrs["peer_recipient_username"] ?? attrs["recipient_username"]
  const others = [recipient, peer_recipient_pn, recipient_pn, peer_recipient_lid, recipient_lid]
  const person = toPerson([chat, ...others], username, undefined)
  return person && { fromMe: true, group: null, person }
}

/** `destination`: the chat that an own device names. Null unless a person wrote it to this number. */
export const toAddressed = (
  stanza: BinaryNode,
  own: Own,
  destination?: string,
): Addressed | null => {
  const { category, from, id, notify, sender_lid, sender_pn, sender_username } = stanza.attrs
  if (from === undefined || id === undefined || category === "peer") return null
  if (isNeverStored(stanza)) return null
  const common = { remoteId: id, mode: "live" } as const
  if (isJidGroup(from)) {
    const found = inGroup(stanza, own, from)
    return found && { ...common, ...found }
  }
  if (isOwn(own, from)) {
    const found = ofOwner(stanza, destination)
    return found && { ...common, ...found }
  }
  const person = toPerson([from, sender_pn, sender_lid], sender_username, notify)
  return person && { ...common, fromMe: false, group: null, person }
}

// Content

interface Described extends Pick<IncomingMessage, "kind" | "text" | "content" | "file"> {
  /** The message's part that leads to the file. */
  readonly sealed?: { readonly kind: SealKind; readonly part: FilePart }
}

const described = (
  kind: ReceivedKind,
  text: string | null | undefined,
  content: ReceivedContent | null = null,
  file: ReceivedFile | null = null,
): Described => ({ kind, text: text ?? "", content, file })

interface FilePart {
  readonly mediaKey?: Uint8Array | null
  readonly directPath?: string | null
  readonly fileEncSha256?: Uint8Array | null
  readonly mimetype?: string | null
  readonly fileLength?: Parameters<typeof toNumber>[0]
  readonly fileName?: string | null
  readonly seconds?: number | null
  readonly fileSha256?: Uint8Array | null
}

/** Null for what no file has, and no JSON holds exactly: the sender says it. */
const toSize = (length: FilePart["fileLength"]): number | null => {
  if (length === null || length === undefined) return null
  const size = toNumber(length)
  return Number.isSafeInteger(size) && size >= 0 ? size : null
}

const toFile = (part: FilePart): ReceivedFile => ({
  mimeType: part.mimetype ?? null,
  size: toSize(part.fileLength),
  fileName: part.fileName ?? null,
  seconds: part.seconds ?? null,
  sha256:
    part.fileSha256 === null || part.fileSha256 === undefined
      ? null
      : Buffer.from(part.fileSha256).toString("hex"),
})

const withFile = (
  kind: ReceivedKind,
  text: string | null | undefined,
  seal: SealKind,
  part: FilePart,
): Described => ({
  ...described(kind, text, null, toFile(part)),
  sealed: { kind: seal, part },
})

const describeFile = (message: proto.IMessage): Described | null => {
  const { audioMessage: audio, documentMessage: document, imageMessage: image } = message
  const video = message.videoMessage ?? message.ptvMessage
  const sticker = message.stickerMessage
  if (image) return withFile("image", image.caption, "image", image)
  if (video) return withFile("video", video.caption, "video", video)
  if (audio) return withFile(audio.ptt === true ? "voice" : "audio", "", "audio", audio)
  if (document) return withFile("document", document.caption, "document", document)
  return sticker ? withFile("sticker", "", "sticker", sticker) : null
}

/** Phones on a card: what WhatsApp knows a phone by, else as it is written there. */
const phonesOn = (card: string): ReadonlyArray<string> =>
  [...card.matchAll(/^(?:item\d+\.)?TEL(?<params>[^:\r\n]*):(?<phone>[^\r\n]*)/gim)].map(
    ({ groups }) => {
      const waid = /waid=(\d+)/i.exec(groups?.["params"] ?? "")?.[1]
      return waid === undefined ? (groups?.["phone"] ?? "").trim() : `+${waid}`
    },
  )

const toContact = ({ displayName, vcard }: proto.Message.IContactMessage) => ({
  name: displayName ?? /^FN:(.*)$/im.exec(vcard ?? "")?.[1]?.trim() ?? "",
  phones: phonesOn(vcard ?? ""),
})

/** The sender may write any number, also none. */
const toDegrees = (degrees: number | null | undefined): number =>
  Number.isFinite(degrees) ? (degrees ?? 0) : 0

const toPlace = (
  place: proto.Message.ILocationMessage | proto.Message.ILiveLocationMessage,
): ReceivedContent => ({
  latitude: toDegrees(place.degreesLatitude),
  longitude: toDegrees(place.degreesLongitude),
  name: ("name" in place ? place.name : null) || null,
  address: ("address" in place ? place.address : null) || null,
})

const describeContent = (message: proto.IMessage): Described | null => {
  const { contactMessage, contactsArrayMessage, liveLocationMessage, locationMessage } = message
  const poll =
    message.pollCreationMessage ??
    message.pollCreationMessageV2 ??
    message.pollCreationMessageV3 ??
    message.pollCreationMessageV5
  if (locationMessage)
    return described("location", locationMessage.comment, toPlace(locationMessage))
  if (liveLocationMessage) {
    return described("location", liveLocationMessage.caption, toPlace(liveLocationMessage))
  }
  const cards = contactMessage ? [contactMessage] : contactsArrayMessage?.contacts
  if (cards) return described("contact", "", { contacts: cards.map(toContact) })
  if (!poll) return null
  const options = (poll.options ?? []).map(({ optionName }) => optionName ?? "")
  return described("poll", "", { question: poll.name ?? "", options })
}

/** About another message or this device, or the head of others: never stored as messages. */
const noMessages = [
  "protocolMessage",
  "reactionMessage",
  "encReactionMessage",
  "pollUpdateMessage",
  "keepInChatMessage",
  "pinInChatMessage",
  "encEventResponseMessage",
  "secretEncryptedMessage",
  "scheduledCallEditMessage",
  "stickerSyncRmrMessage",
  "messageHistoryBundle",
  "messageHistoryNotice",
  "albumMessage",
  "groupStatusMessage",
  "groupStatusMessageV2",
] as const satisfies ReadonlyArray<keyof proto.IMessage>

/** Parts that accompany content. */
const accompanying: ReadonlyArray<string> = [
  "messageContextInfo",
  "senderKeyDistributionMessage",
  "fastRatchetKeySenderKeyDistributionMessage",
] as const satisfies ReadonlyArray<keyof proto.IMessage>

const isNoMessage = (message: proto.IMessage): boolean => noMessages.some((name) => message[name])

/** Wrappings that the library leaves on. */
const unwrapped = (message: proto.IMessage): proto.IMessage => {
  const inner =
    message.groupMentionedMessage ??
    message.lottieStickerMessage ??
    message.pollCreationMessageV4 ??
    message.botForwardedMessage
  return inner?.message ?? message
}

const getContent = (message: proto.IMessage): proto.IMessage =>
  unwrapped(normalizeMessageContent(message) ?? {})

/** Null unless it is a message of its own. */
const describe = (message: proto.IMessage): Described | null => {
  if (isNoMessage(message)) return null
  const content = getContent(message)
  if (isNoMessage(content)) return null
  const { conversation, extendedTextMessage: extended } = content
  if (typeof conversation === "string") return described("text", conversation)
  if (extended) return described("text", extended.text)
  const found = describeFile(content) ?? describeContent(content)
  if (found !== null) return found
  const type = Object.keys(content).find((name) => !accompanying.includes(name))
  const isKeyAlone = type === undefined && Boolean(message.senderKeyDistributionMessage)
  // Content that this version of the library has no name for is lost in decoding.
  return isKeyAlone ? null : described("unsupported", "", { type: type ?? "unknown" })
}

const quoteIn = (message: proto.IMessage): IncomingMessage["quote"] => {
  const info = Object.values(getContent(message)).flatMap((part: unknown) => {
    const found = (part as { contextInfo?: proto.IContextInfo | null } | null)?.contextInfo
    return found ? [found] : []
  })[0]
  const { quotedMessage: quoted, stanzaId } = info ?? {}
  if (!stanzaId && !quoted) return null
  return { remoteId: stanzaId || null, text: (quoted && describe(quoted)?.text) ?? "" }
}

/** WhatsApp's time of a stanza. */
const toSentAt = ({ attrs }: BinaryNode): number => (Number(attrs["t"]) || 0) * 1000

// What did not open

/** What the library hands to the encryption library. */
const sealTypes: ReadonlyArray<string | undefined> = ["pkmsg", "msg", "skmsg"]

/** Whether the library finds nothing in it to open. */
export const isWithoutContent = ({ content }: BinaryNode): boolean =>
  !Array.isArray(content) ||
  !content.some(
    (part) =>
      part.content instanceof Uint8Array &&
      (part.tag === "plaintext" || (part.tag === "enc" && sealTypes.includes(part.attrs["type"]))),
  )

/** Whether it says, before it is opened, that it is about another message: then it is none to wait for. */
export const isAboutAnother = ({ attrs, content }: BinaryNode): boolean =>
  (attrs["edit"] ?? "0") !== "0" ||
  attrs["type"] === "reaction" ||
  (Array.isArray(content) &&
    content.some(({ attrs: { polltype }, tag }) => tag === "meta" && polltype === "vote"))

/** Null unless a person wrote it to this number. */
export const toUnreadable = (stanza: BinaryNode, own: Own): UnreadableMessage | null => {
  const addressed = toAddressed(stanza, own)
  return addressed && { _tag: "Unreadable", ...addressed, sentAt: toSentAt(stanza) }
}

// Changes of other messages

/** The author's time, unless its clock is a day ahead: nothing later would count. */
const toTime = (told: Parameters<typeof toNumber>[0], stanza: BinaryNode): number => {
  const sentAt = toSentAt(stanza)
  const at = toNumber(told)
  return at > 0 && at <= sentAt + dayMillis ? at : sentAt
}

/** Whether the number wrote the message that another person's key names; null when the key does not tell. */
const isOwnTarget = (
  { fromMe, participant }: proto.IMessageKey,
  place: Addressed,
  own: Own,
): boolean | null => {
  if (place.fromMe) return fromMe === true
  if (fromMe === true) return false
  // Of two people it is the other one's.
  if (place.group === null) return true
  return participant ? isOwn(own, participant) : null
}

const {
  ProtocolMessage: { Type: protocolTypes },
} = proto.Message

type Changed = Pick<IncomingChange, "at" | "change" | "target">

const describeChange = (
  stanza: BinaryNode,
  { protocolMessage: protocol, reactionMessage: reaction }: proto.IMessage,
  place: Addressed,
  own: Own,
): Changed | null => {
  const key = (reaction ?? protocol)?.key
  if (!key?.id) return null
  const of = (fromMe: boolean | null) => ({ remoteId: key.id ?? "", fromMe })
  if (reaction) {
    return {
      target: of(isOwnTarget(key, place, own)),
      change: { type: "reaction", emoji: reaction.text || null },
      at: toTime(reaction.senderTimestampMs, stanza),
    }
  }
  const at = toTime(protocol?.timestampMs, stanza)
  if (protocol?.type === protocolTypes.MESSAGE_EDIT) {
    const text = protocol.editedMessage && describe(protocol.editedMessage)?.text
    // Another person's message cannot be edited.
    return typeof text === "string"
      ? { target: of(place.fromMe), change: { type: "edit", text }, at }
      : null
  }
  if (protocol?.type !== protocolTypes.REVOKE) return null
  const fromMe = place.group === null ? place.fromMe : isOwnTarget(key, place, own)
  return { target: of(fromMe), change: { type: "revocation" }, at }
}

const isOfStatus = ({ groupStatusMessage, groupStatusMessageV2 }: proto.IMessage): boolean =>
  Boolean(groupStatusMessage ?? groupStatusMessageV2)

const toChange = (
  stanza: BinaryNode,
  message: proto.IMessage,
  place: Addressed,
  own: Own,
): IncomingChange | null => {
  if (isOfStatus(message)) return null
  const changed = describeChange(stanza, getContent(message), place, own)
  const { remoteId: changeId, ...there } = place
  return changed && { _tag: "Change", ...there, changeId, ...changed, isVerified: false }
}

/** The other member's message that a change revokes in a group, which an administrator may do; else null. */
export const toRevokedOfOther = (
  { change, group, mode, person, target }: IncomingChange,
  opened: proto.IMessage,
  own: Own,
): Addressed | null => {
  const { message } = opened.deviceSentMessage ?? { message: opened }
  const { participant } = getContent(message ?? {}).protocolMessage?.key ?? {}
  if (change.type !== "revocation" || group === null || !participant) return null
  const fromMe = isOwn(own, participant)
  const author = fromMe ? null : toPerson([participant], undefined, undefined)
  if (fromMe ? person === null : author === null) return null
  const isItsAuthor =
    author !== null &&
    person !== null &&
    ((author.phone !== null && author.phone === person.phone) ||
      (author.lid !== null && author.lid === person.lid))
  return isItsAuthor ? null : { mode, fromMe, group, person: author, remoteId: target.remoteId }
}

// Opened content

/** The record of a stanza's opened content; null for what is neither a message nor about one. */
/** Who wrote the message, without the device. */
const addressIn = ({ attrs }: BinaryNode): string | null =>
  jidNormalizedUser(attrs["participant"] ?? attrs["from"]) || null

/** The message's key, by which the phone finds it. */
const toKey = (
  { attrs }: BinaryNode,
  { fromMe, remoteId }: Addressed,
  destination: string | null | undefined,
): WAMessageKey => ({
  remoteJid: (fromMe ? (destination ?? attrs["recipient"]) : undefined) ?? attrs["from"] ?? null,
  fromMe,
  id: remoteId,
  participant: attrs["participant"] ?? null,
})

/** The record of a stanza's opened content; null for what is not stored as a message. */
export const toIncoming = (
  stanza: BinaryNode,
  opened: proto.IMessage,
  own: Own,
): IncomingMessage | IncomingChange | null => {
  const sent = opened.deviceSentMessage
  const message = sent?.message ?? opened
  const addressed = toAddressed(stanza, own, sent?.destinationJid ?? undefined)
  if (!addressed) return null
  const content = describe(message)
  if (!content) return toChange(stanza, message, addressed, own)
  const { sealed, ...shown } = content
  const key = toKey(stanza, addressed, sent?.destinationJid)
  const fileSource = sealed ? toFileSource(sealed.kind, sealed.part, key) : null
  return {
    _tag: "Message",
    ...addressed,
    address: addressed.fromMe ? null : addressIn(stanza),
    ...shown,
    ...(fileSource === null ? {} : { fileSource }),
    quote: quoteIn(message),
    sentAt: toSentAt(stanza),
  }
}

/** The stanza of a message that the phone names by its key. */
const toNamed = (
  { key, messageTimestamp, participant, pushName }: proto.IWebMessageInfo,
  { id: ownId = "" }: Own,
): BinaryNode => {
  const { fromMe, id, participant: author, remoteJid } = key ?? {}
  const chat = remoteJid ?? ""
  const isOwners = fromMe === true
  const by = isJidGroup(chat) ? (isOwners ? ownId : (author ?? participant)) : undefined
  return {
    tag: "message",
    attrs: {
      id: id ?? "",
      t: String(toNumber(messageTimestamp)),
      ...(isOwners && !isJidGroup(chat) ? { from: ownId, recipient: chat } : { from: chat }),
      ...(by ? { participant: by } : {}),
      ...(pushName && !isOwners ? { notify: pushName } : {}),
    },
  }
}

/**
 * What the own phone gives of messages that this device asked for. `awaited` has the stanzas of some, by id:
 * they may name more addresses.
 */
export const toCopies = (
  { attrs }: BinaryNode,
  opened: proto.IMessage,
  own: Own,
  awaited: ReadonlyMap<string, BinaryNode>,
): ReadonlyArray<IncomingMessage | IncomingChange> => {
  if (attrs["category"] !== "peer" || !isOwn(own, attrs["from"] ?? "")) return []
  const { protocolMessage: protocol } = opened.deviceSentMessage?.message ?? opened
  const results = protocol?.peerDataOperationRequestResponseMessage?.peerDataOperationResult ?? []
  return results.flatMap(({ placeholderMessageResendResponse: response }) => {
    if (!response?.webMessageInfoBytes) return []
    const info = proto.WebMessageInfo.decode(response.webMessageInfoBytes)
    const stanza = awaited.get(info.key?.id ?? "") ?? toNamed(info, own)
    return (info.message && toIncoming(stanza, info.message, own)) ?? []
  })
}
