/**
 * Sends that answer a chat: whom a chat reaches, and which message a send quotes (contract: Answers). Pure;
 * `accept.ts` decides with it.
 */
import type { ChatId, NumberId } from "./Ids.ts"
import type { Person } from "./Incoming.ts"
import type { ChatType } from "./Received.ts"
import { contactAddress } from "./Recipient.ts"
import type { ChatAddress, Phone, Recipient } from "./Recipient.ts"

/** A chat as acceptance decides on it, under any of its ids. */
export interface AnsweredChat extends Person {
  readonly id: ChatId
  /** The chat that continues; another one where it was merged. */
  readonly current: ChatId
  readonly numberId: NumberId
  readonly type: ChatType
  /** The platform's id of a group; null for a person. */
  readonly groupId: string | null
}

/** How the platform knows a chat where no phone says it. */
const toAddress = ({ groupId, lid, phone, userId }: AnsweredChat): ChatAddress | null => {
  if (groupId !== null) return `group:${groupId}`
  if (userId !== null) return `tg:${userId}`
  return phone === null && lid !== null ? `lid:${lid}` : null
}

/** The recipient of a message to the chat; null where nothing is known that reaches it. */
export const chatRecipient = (chat: AnsweredChat): Recipient | null => {
  const address = toAddress(chat)
  const { name, phone, type, username } = chat
  if (address === null && phone === null && username === null) return null
  return {
    kind: "chat",
    chatId: chat.id,
    ...(address !== null && { address }),
    ...(phone !== null && { phone: phone as Phone }),
    ...(type === "group" && name !== null && { group: name }),
    ...(username !== null && { username: `@${username.replace(/^@/, "")}` }),
  }
}

/** The stored message that a send quotes: one that was received in `chat`, or one that was sent to `to`. */
export interface QuotedMessage {
  readonly numberId: NumberId
  /** Not revoked, and it has left if it was sent. */
  readonly isThere: boolean
  /** Of one that was sent: the chat that it named, if any. */
  readonly chat: AnsweredChat | null
  /** Null for one that was received. */
  readonly to: Recipient | null
}

/** All names of a recipient: two with one in common are the same. */
const namesOfRecipient = (to: Recipient): ReadonlyArray<string | undefined> => {
  switch (to.kind) {
    case "phone":
    case "contact_phone":
      return [to.phone]
    case "group":
      return [`group ${to.group}`]
    case "username":
    case "contact_username":
      return [contactAddress({ phone: null, username: to.username })]
    case "chat":
      return [to.address, to.phone, to.group && `group ${to.group}`, to.username?.toLowerCase()]
  }
}

const namesOfChat = (chat: AnsweredChat): ReadonlyArray<string | undefined> => {
  const { groupId, lid, name, phone, userId, username } = chat
  if (groupId !== null) return [`group:${groupId}`, name === null ? undefined : `group ${name}`]
  return [
    phone ?? undefined,
    lid === null ? undefined : `lid:${lid}`,
    userId === null ? undefined : `tg:${userId}`,
    username === null ? undefined : `@${username.toLowerCase()}`,
  ]
}

/** Whether a message to this recipient may quote it: it is there, and in the same chat. `chats`: those that sends name. */
export const isQuotable = (
  quoted: QuotedMessage,
  to: Recipient,
  chats: ReadonlyMap<ChatId, AnsweredChat>,
): boolean => {
  if (!quoted.isThere) return false
  const chat = to.kind === "chat" ? chats.get(to.chatId) : undefined
  if (chat !== undefined && quoted.chat !== null) return chat.current === quoted.chat.current
  const names = new Set([
    ...(quoted.chat === null ? [] : namesOfChat(quoted.chat)),
    ...(quoted.to === null ? [] : namesOfRecipient(quoted.to)),
  ])
  names.delete(undefined)
  const own = [...namesOfRecipient(to), ...(chat === undefined ? [] : namesOfChat(chat))]
  return own.some((name) => names.has(name))
}

/** A quoted message as the remote knows it. */
export interface Quote {
  /** The platform's id; of one that this service sent, its transport id. */
  readonly remoteId: string
  /** Whether this service sent it. */
  readonly isSent: boolean
  /** Who wrote it; null for the number's owner and this service. */
  readonly author: Person | null
  readonly text: string
  /** When it left; of a received one the sender's time. */
  readonly sentAt: number
}
