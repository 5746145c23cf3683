/**
 * What people write to an account, and what its owner writes in another app, in the core's form. News channels,
 * service messages and Telegram's own notices are dropped before anything is stored. Pure.
 */
import { unknownPerson } from "@messaging-service/core"
import type {
  IncomingMessage,
  Person,
  ChatContext,
  ReceivedContent,
  ReceivedFile,
} from "@messaging-service/core"
import type { tl } from "@mtcute/node"
import { toggleChannelIdMark } from "@mtcute/node/utils.js"
import { getBytes, toFileSource } from "./fileSource.ts"

/** The people and groups of an update, by id. */
export interface KnownPeers {
  readonly users: ReadonlyMap<number, tl.TypeUser>
  readonly chats: ReadonlyMap<number, tl.TypeChat>
}

/** Telegram's notices, login codes among them: with those one can log in to the account. */
const noticeAccounts: ReadonlySet<number> = new Set([333_000, 777_000])

const orNull = (text: string | undefined): string | null =>
  text === undefined || text === "" ? null : text

const toPhone = (phone: string | undefined): string | null => {
  const digits = phone?.replaceAll(/\D/g, "") ?? ""
  return digits === "" ? null : `+${digits}`
}

export const toPerson = ({ users }: KnownPeers, id: number): Person => {
  const person = { ...unknownPerson, userId: String(id) }
  const user = users.get(id)
  if (user?._ !== "user") return person
  const { firstName = "", lastName = "", phone, username, usernames = [] } = user
  const active = usernames.find((each) => each.active)?.username
  return {
    ...person,
    phone: toPhone(phone),
    username: orNull(username) ?? orNull(active),
    name: orNull(`${firstName} ${lastName}`.trim()),
  }
}

/** A message's kind, and what it has in addition to its text. */
type Body = Pick<IncomingMessage, "kind" | "content" | "file">

const withContent = (kind: IncomingMessage["kind"], content: ReceivedContent | null): Body => ({
  kind,
  content,
  file: null,
})

const unsupported = (type: string): Body => withContent("unsupported", { type })

const noFile: ReceivedFile = {
  mimeType: null,
  size: null,
  fileName: null,
  seconds: null,
  sha256: null,
}

/** Null unless a whole number of bytes or seconds: a commit that fails by its content would be retried forever. */
const toCount = (value: number): number | null => {
  const count = Math.round(value)
  return Number.isSafeInteger(count) && count >= 0 ? count : null
}

/** A picture that was shown once has no file any more. */
const toImage = ({ photo }: tl.RawMessageMediaPhoto): Body => {
  if (photo?._ !== "photo") return { kind: "image", content: null, file: null }
  const size = Math.max(0, ...photo.sizes.map(getBytes))
  const file = { ...noFile, mimeType: "image/jpeg", size: size === 0 ? null : toCount(size) }
  return { kind: "image", content: null, file }
}

/** By the attributes of the file: a sticker that moves has those of a video too. */
const toFile = ({ document, video, voice }: tl.RawMessageMediaDocument): Body => {
  if (document?._ !== "document") {
    const kind = voice ? "voice" : video ? "video" : "document"
    return { kind, content: null, file: null }
  }
  let kind: IncomingMessage["kind"] = "document"
  let isSticker = false
  let file: ReceivedFile = { ...noFile, mimeType: document.mimeType, size: toCount(document.size) }
  for (const attribute of document.attributes) {
    switch (attribute._) {
      case "documentAttributeSticker":
        isSticker = true
        break
      case "documentAttributeVideo":
        kind = "video"
        file = { ...file, seconds: toCount(attribute.duration) }
        break
      case "documentAttributeAudio":
        kind = attribute.voice ? "voice" : "audio"
        file = { ...file, seconds: toCount(attribute.duration) }
        break
      case "documentAttributeFilename":
        file = { ...file, fileName: attribute.fileName }
        break
    }
  }
  return { kind: isSticker ? "sticker" : kind, content: null, file }
}

const toLocation = (
  geo: tl.TypeGeoPoint,
  { address = null, name = null }: Partial<Record<"name" | "address", string | null>> = {},
): Body =>
  withContent(
    "location",
    geo._ === "geoPoint" && Number.isFinite(geo.lat) && Number.isFinite(geo.long)
      ? { latitude: geo.lat, longitude: geo.long, name, address }
      : null,
  )

const toContact = ({ firstName, lastName, phoneNumber }: tl.RawMessageMediaContact): Body => {
  const phone = toPhone(phoneNumber)
  const name = `${firstName} ${lastName}`.trim()
  return withContent("contact", { contacts: [{ name, phones: phone === null ? [] : [phone] }] })
}

const toPoll = ({ poll }: tl.RawMessageMediaPoll): Body =>
  withContent("poll", {
    question: poll.question.text,
    options: poll.answers.map(({ text }) => text.text),
  })

const toBody = ({ media, richMessage }: tl.RawMessage): Body => {
  if (richMessage !== undefined) return unsupported(richMessage._)
  if (media === undefined) return withContent("text", null)
  switch (media._) {
    case "messageMediaEmpty":
    // The preview of a link.
    case "messageMediaWebPage":
      return withContent("text", null)
    case "messageMediaPhoto":
      return toImage(media)
    case "messageMediaDocument":
      return toFile(media)
    case "messageMediaGeo":
    case "messageMediaGeoLive":
      return toLocation(media.geo)
    case "messageMediaVenue":
      return toLocation(media.geo, { name: orNull(media.title), address: orNull(media.address) })
    case "messageMediaContact":
      return toContact(media)
    case "messageMediaPoll":
      return toPoll(media)
    default:
      return unsupported(media._)
  }
}

/** Telegram has the text of a quoted message only where a part of it was quoted. */
const toQuote = ({ peerId, replyTo }: tl.RawMessage): IncomingMessage["quote"] => {
  if (replyTo?._ !== "messageReplyHeader") return null
  const { quoteText = "", replyToEphemeral, replyToMsgId, replyToPeerId } = replyTo
  const isHere = replyToMsgId !== undefined && replyToPeerId === undefined && !replyToEphemeral
  if (!isHere && quoteText === "") return null
  return { remoteId: isHere ? toRemoteId(peerId, replyToMsgId) : null, text: quoteText }
}

/** Whether the account is a member of that supergroup. */
export const isSupergroup = (chat: tl.TypeChat | null | undefined): boolean =>
  chat?._ === "channel" && chat.megagroup === true && chat.left !== true

/** Null for a news channel, and for a supergroup that the account has left. */
export const toGroup = (
  peerId: tl.RawPeerChat | tl.RawPeerChannel,
  { chats }: KnownPeers,
): ChatContext["group"] => {
  const isChannel = peerId._ === "peerChannel"
  const chat = chats.get(isChannel ? peerId.channelId : peerId.chatId)
  if (isChannel && chat !== undefined && !isSupergroup(chat)) return null
  // Small groups and channels may have the same ids.
  const remoteId = String(isChannel ? toggleChannelIdMark(peerId.channelId) : peerId.chatId)
  return { remoteId, name: chat !== undefined && "title" in chat ? orNull(chat.title) : null }
}

/** Ids of messages are unique in the account, but for those of channels, which are unique in the channel. */
export const toRemoteId = (peerId: tl.TypePeer, messageId: number): string =>
  peerId._ === "peerChannel" ? `${peerId.channelId}/${messageId}` : String(messageId)

/** Telegram's id of the message in its box. */
export const toMessageId = (remoteId: string): number =>
  Number(remoteId.slice(remoteId.indexOf("/") + 1))

/** The chat, and the person who wrote or was written to; null for what is not stored. */
export const toPlace = (
  { fromId, out = false, peerId, post = false }: tl.RawMessage,
  peers: KnownPeers,
  selfId: number,
): ChatContext | null => {
  if (peerId._ === "peerUser") {
    const { userId } = peerId
    // Notes to oneself are the owner's.
    const fromMe = out || userId === selfId
    return noticeAccounts.has(userId)
      ? null
      : { mode: "live", fromMe, group: null, person: toPerson(peers, userId) }
  }
  const group = post ? null : toGroup(peerId, peers)
  if (group === null) return null
  if (out) return { mode: "live", fromMe: true, group, person: null }
  const person = fromId?._ === "peerUser" ? toPerson(peers, fromId.userId) : unknownPerson
  return { mode: "live", fromMe: false, group, person }
}

const leadingToFile = ({
  id: messageId,
  media,
  peerId,
}: tl.RawMessage): Pick<IncomingMessage, "fileSource"> => {
  const position =
    peerId._ === "peerChannel" ? { messageId, channelId: peerId.channelId } : { messageId }
  const isPhoto = media?._ === "messageMediaPhoto"
  const isDocument = media?._ === "messageMediaDocument"
  const fileSource = isPhoto
    ? toFileSource(media.photo, position)
    : isDocument
      ? toFileSource(media.document, position)
      : null
  return fileSource === null ? {} : { fileSource }
}

/** Null for what is not stored. */
export const toIncoming = (
  message: tl.TypeMessage,
  peers: KnownPeers,
  selfId: number,
): IncomingMessage | null => {
  if (message._ !== "message") return null
  const found = toPlace(message, peers, selfId)
  return (
    found && {
      ...found,
      ...toBody(message),
      _tag: "Message",
      remoteId: toRemoteId(message.peerId, message.id),
      text: message.message,
      quote: toQuote(message),
      sentAt: message.date * 1000,
      ...leadingToFile(message),
    }
  )
}
