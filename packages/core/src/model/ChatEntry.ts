/** What is in a chat, in both directions (contract: Received messages and chats). Pure. */
import type { Message } from "./Message.ts"
import type { ReceivedMessage } from "./Received.ts"

/** One of the two is null. */
export interface ChatEntry {
  /** When it was received, or left. */
  readonly at: number
  readonly receivedMessage: ReceivedMessage | null
  readonly message: Message | null
}

/** The place of an entry in its chat: the later one comes first, then the one with the higher id. */
export interface EntryPlace {
  readonly at: number
  /** At the same moment sent ones come before received ones. */
  readonly isSent: boolean
  readonly id: number
}
