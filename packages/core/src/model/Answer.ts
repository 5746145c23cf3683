/**
 * Sends that answer a chat: whom a chat reaches, and which message a send quotes (contract: Answers). Pure;
 * `accept.ts` decides with it.
 */
import type { ChatId, MessageId, NumberId, ReceivedMessageId } from "./Ids.ts"
import type { Person } from "./Incoming.ts"
import type { ChatType } from "./Received.ts"
import type { ChatAddress, Phone, Recipient } from "./Recipient.ts"

/** The message that a send answers: one that was received, or one that was sent. */
export type ReplyTo =
  | { readonly receivedMessageId: ReceivedMessageId }
  | { readonly messageId: MessageId }

/** A chat as acceptance decides on it, under any of its ids. */
export interface AnsweredChat extends Person {
  readonly id: ChatId
  /** The chat that goes on; another one where it was merged. */
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
