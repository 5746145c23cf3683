/** The people behind the server, the keys of their clients, and their messages. */
import type { tl } from "@mtcute/node"
import { Long } from "@mtcute/node"
import type { Connection } from "./Connection.ts"
import { longFrom, sha256 } from "./envelope.ts"
import type { Orders } from "./orders.ts"
import type { Verifier } from "./passwords.ts"

/** How a login code reaches its person. */
export type CodeWay = "app" | "sms" | "call" | "email"

/** A message on a person's phone. */
export interface DisplayedMessage {
  /** The sender's phone. */
  readonly from: string
  /** The recipient's phone, or the group's title. */
  readonly to: string
  readonly text: string
  readonly entities: ReadonlyArray<tl.TypeMessageEntity>
  readonly media: DisplayedMedia | null
  /** The text of the message that it answers. */
  readonly quotes: string | null
  /** The id that the sending client drew. */
  readonly randomId: string
}

export interface DisplayedMedia {
  readonly kind: "photo" | "document"
  /** Pictures have none. */
  readonly fileName: string | null
  readonly mimeType: string
  readonly size: number
  readonly sha256: string
}

/** What a message carries with its text. */
export interface Media {
  /** Null where it has no file, as for a place. */
  readonly displayed: DisplayedMedia | null
  readonly fileId: string | null
  /** As clients receive it, with a reference that opens the file for a while. */
  readonly toMedia: (fileReference: Uint8Array) => tl.TypeMessageMedia
}

/** A file that clients may download. */
export interface StoredFile {
  readonly accessHash: Long
  readonly dcId: number
  readonly date: number
  readonly bytes: Uint8Array
}

/** A message, with the copies of it in boxes. Tests hand it back to change, quote or find it. */
export interface Message {
  readonly by: Person
  readonly to: Chat
  readonly date: number
  text: string
  entities: ReadonlyArray<tl.TypeMessageEntity>
  readonly media: Media | null
  readonly replyTo: Message | null
  /** The quoted part of the other message; null quotes all of it. */
  readonly quote: string | null
  readonly randomId: Long
  /** Whether a client of this server sent it. Otherwise another app of the person did. */
  readonly isClients: boolean
  editDate: number | null
  isRemoved: boolean
  readonly reactions: Map<Person, { readonly emoji: string; readonly date: number }>
  /** Its id in each box that has it. */
  readonly ids: Map<Box, number>
}

export type Change =
  | { readonly _tag: "Written" | "Edited"; readonly message: Message }
  | { readonly _tag: "Removed"; readonly ids: ReadonlyArray<number> }
  /** Everything up to that id was read: by the others, or by the box's owner. */
  | { readonly _tag: "ReadOutbox" | "ReadInbox"; readonly chat: Chat; readonly maxId: number }

/** An event in a message box. */
export interface BoxEvent {
  readonly pts: number
  readonly ptsCount: number
  readonly date: number
  readonly change: Change
}

/** Messages and events in order: of a person (private chats and small groups), or of a channel. */
export interface Box {
  /** The channel; null in a person's box. */
  readonly channelId: number | null
  /** The state after the latest event. */
  pts: number
  readonly events: Array<BoxEvent>
  lastMessageId: number
  /** By id, in order. Removed messages are absent. */
  readonly messages: Map<number, Message>
}

/** How far an account has marked a chat as read. */
export interface ReadMark {
  /** A person's phone, or a group's title. */
  readonly chat: string
  /** The id of the person or the group. */
  readonly chatId: number
  readonly maxId: number
}

/** Each member's own box has a copy of each message. */
export interface SmallGroup {
  readonly kind: "small"
  readonly id: number
  readonly title: string
  readonly members: Set<Person>
}

/** It has a box of its own. In a channel messages have no author. */
export interface Channel {
  readonly kind: "supergroup" | "channel"
  readonly id: number
  readonly title: string
  readonly members: Set<Person>
  readonly box: Box
}

export type Group = SmallGroup | Channel

export type Chat = Person | Group

export interface Person {
  readonly id: number
  /** Digits with country code. */
  readonly phone: string
  username: string | null
  readonly dcId: number
  readonly code: string
  /** How login codes are sent: first, and at each repeat. */
  readonly codeWays: ReadonlyArray<CodeWay>
  readonly verifier: Verifier | null
  /** Whether phones find the account. */
  readonly isFoundByPhone: boolean
  isBanned: boolean
  /** What the person's phone shows. */
  readonly displayed: Array<Message>
  readonly box: Box
  /** The number of updates that have an order of their own, without a box. */
  seq: number
  /** The ids that clients drew for messages. */
  readonly randomIds: Set<string>
  /** How often its clients called each method. */
  readonly calls: Map<string, number>
  /** What clients of the account marked as read, in order. */
  readonly readMarks: Array<ReadMark>
  /** By chat: how far this person has read, and how far others have read what this person wrote. */
  readonly readInbox: Map<Chat, number>
  readonly readOutbox: Map<Chat, number>
  /** Parts of unsent files. */
  readonly uploads: Map<string, Map<number, Uint8Array>>
}

/** An authorization key, which is one client of one data centre. */
export interface AuthKey {
  readonly id: string
  readonly bytes: Uint8Array
  readonly dcId: number
  /** Used salts, the latest last. */
  salts: ReadonlyArray<Long>
  person: Person | null
  /** The person who has yet to enter a password. */
  awaited: Person | null
  /** Why it is worthless, in the server's words. */
  ended: string | null
  /** Whether it has named its client and layer. */
  isIntroduced: boolean
  readonly sessions: Map<string, Session>
  /** The maximum of sessions that received updates at once. */
  max: number
  /** The connections that received updates: their number, and the latest. */
  started: number
  latest: Connection | null
  /** How often its connections asked to be closed after a silence. */
  pings: number
  /** How often an earlier one of them spoke while the latest was open. */
  mixed: number
}

/** A client's state across its connections; it has one at a time at most. */
export interface Session {
  readonly id: Long
  readonly key: AuthKey
  connection: Connection | null
  /** How many messages were sent that the client acknowledges. */
  sent: number
  /** It has called a method that subscribes it to updates. */
  hearsUpdates: boolean
  readonly requests: Map<string, "working" | "answered">
}

/** A login by code in progress. */
export interface CodeSent {
  readonly hash: string
  readonly person: Person | null
  repeats: number
}

export interface LoginToken {
  readonly keyId: string
  readonly dcId: number
  /** The person who has scanned it. */
  by: Person | null
}

/** How much a client that was away receives. */
export interface DifferenceLimits {
  /** Events in one answer; the client asks for the next ones. Default: 100. */
  slice: number
  /** Above so many missed events the server skips them (`differenceTooLong`). Default: no bound. */
  tooLong: number
}

export interface ServerState {
  readonly apiId: number
  readonly apiHash: string
  /** By digits. */
  readonly people: Map<string, Person>
  /** The id of the latest person. */
  lastId: number
  readonly keys: Map<string, AuthKey>
  readonly codes: Map<string, CodeSent>
  /** By the token in base64url. */
  readonly tokens: Map<string, LoginToken>
  readonly orders: Orders
  /** Ports of the data centres, by their ids. */
  readonly ports: Map<number, number>
  readonly groups: Array<Group>
  /** The messages on all phones, in order of arrival. */
  readonly messages: Array<Message>
  /** By id. */
  readonly files: Map<string, StoredFile>
  /** References of earlier rounds open no file. */
  fileRound: number
  readonly limits: DifferenceLimits
  readonly complaints: Array<string>
  /** The length of a second of a ping's `disconnect_delay`, in real milliseconds. */
  readonly disconnectSecondMillis: number
  /** Withheld answers. */
  readonly pending: Array<() => void>
  /** Whether contacts may be imported; otherwise clients must retry later. */
  takesContacts: boolean
  readonly changed: () => void
}

/** The answer to a call is an error. */
export class Refused extends Error {
  readonly code: number
  readonly text: string
  constructor(code: number, text: string) {
    super(text)
    this.code = code
    this.text = text
  }
}

export const toDigits = (phone: string): string => phone.replaceAll(/\D/g, "")

export const secondsNow = (): number => Math.floor(Date.now() / 1000)

/** An id is valid only together with this hash, which differs for each viewer. */
const accessHash = (viewer: Person | null, id: number): Long =>
  longFrom(sha256(Buffer.from(`${viewer?.id ?? 0} sees ${id}`)))

export const userFor = (viewer: Person | null, person: Person): tl.RawUser => ({
  _: "user",
  id: person.id,
  accessHash: accessHash(viewer, person.id),
  firstName: `Person ${person.id}`,
  ...(person.username === null ? {} : { username: person.username }),
  ...(person.isFoundByPhone || viewer === person ? { phone: person.phone } : {}),
  ...(viewer === person ? { self: true } : {}),
})

export const isGroup = (chat: Chat): chat is Group => "members" in chat

const noPhoto: tl.RawChatPhotoEmpty = { _: "chatPhotoEmpty" }

export const chatFor = (viewer: Person, group: Group): tl.TypeChat => {
  const { id, kind, members, title } = group
  const isOutside = !members.has(viewer)
  const hash = accessHash(viewer, id)
  const date = 0
  if (kind === "small") {
    if (isOutside) return { _: "chatForbidden", id, title }
    const participantsCount = members.size
    return { _: "chat", id, title, photo: noPhoto, participantsCount, date, version: 1 }
  }
  const sort = kind === "channel" ? { broadcast: true } : { megagroup: true }
  if (isOutside) return { _: "channelForbidden", ...sort, id, accessHash: hash, title }
  return { _: "channel", ...sort, id, accessHash: hash, title, photo: noPhoto, date }
}

export const toPeer = (chat: Chat): tl.TypePeer => {
  if (!isGroup(chat)) return { _: "peerUser", userId: chat.id }
  return chat.kind === "small"
    ? { _: "peerChat", chatId: chat.id }
    : { _: "peerChannel", channelId: chat.id }
}

const personById = ({ people }: ServerState, id: number): Person | undefined =>
  [...people.values()].find((person) => person.id === id)

/** The person with that id and hash, for that viewer. */
export const personSeen = (
  state: ServerState,
  viewer: Person,
  { accessHash: hash, userId }: { readonly userId: number; readonly accessHash: Long },
): Person | undefined => {
  const person = personById(state, userId)
  return person !== undefined && accessHash(viewer, userId).eq(hash) ? person : undefined
}

/** The channel with that id and hash. Its viewer must be a member. */
export const channelSeen = (
  { groups }: ServerState,
  viewer: Person,
  input: tl.TypeInputChannel | tl.RawInputPeerChannel,
): Channel => {
  const found = groups.find(
    (group): group is Channel =>
      group.kind !== "small" &&
      "accessHash" in input &&
      group.id === input.channelId &&
      accessHash(viewer, group.id).eq(input.accessHash),
  )
  if (found === undefined) throw new Refused(400, "CHANNEL_INVALID")
  if (!found.members.has(viewer)) throw new Refused(400, "CHANNEL_PRIVATE")
  return found
}

/** The caller. */
export const getCaller = ({ awaited, person }: AuthKey): Person => {
  if (awaited !== null) throw new Refused(401, "SESSION_PASSWORD_NEEDED")
  if (person === null) throw new Refused(401, "AUTH_KEY_UNREGISTERED")
  if (person.isBanned) throw new Refused(401, "USER_DEACTIVATED_BAN")
  return person
}

/** The state of an empty box. */
const firstPts = 1

export const makeBox = (channelId: number | null): Box => ({
  channelId,
  pts: firstPts,
  events: [],
  lastMessageId: 0,
  messages: new Map(),
})

/** Calls with the person's keys fail with 401 and this text from now on. */
export const endSessions = (state: ServerState, person: Person | null, text: string): void => {
  for (const key of state.keys.values()) if (key.person === person) key.ended = text
  state.changed()
}
