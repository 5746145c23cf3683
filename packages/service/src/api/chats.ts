/** What people write to numbers, and the chats that it is in. */
import type {
  HasId,
  Listing,
  Made,
  Moment,
  PageOptions,
  Platform,
  RepeatOptions,
} from "./common.ts"
import type { Message } from "./messages.ts"

/** The known addresses of a person; each is null when unknown. */
export interface Person {
  /** `+` and digits. */
  readonly phone: string | null
  /** WhatsApp's other name of the account, in digits. */
  readonly lid: string | null
  /** Telegram's id of the account, in digits. */
  readonly userId: string | null
  /** Without @. */
  readonly username: string | null
  /** What the person calls itself; nothing is decided by it. */
  readonly name: string | null
}

/** What a message is. */
export type ReceivedKind =
  | "text"
  | "image"
  | "video"
  | "audio"
  | "voice"
  | "document"
  | "sticker"
  | "location"
  | "contact"
  | "poll"
  | "unsupported"
  | "unreadable"

/** What a kind has in addition to its text. */
export type ReceivedContent =
  | {
      /** Degrees. */
      readonly latitude: number
      /** Degrees. */
      readonly longitude: number
      /** Of the place. */
      readonly name: string | null
      /** Of the place. */
      readonly address: string | null
    }
  | {
      /** The contacts that it names. */
      readonly contacts: ReadonlyArray<{
        /** Of the contact. */
        readonly name: string
        /** Of the contact. */
        readonly phones: ReadonlyArray<string>
      }>
    }
  | {
      /** Of a poll. */
      readonly question: string
      /** Of a poll. */
      readonly options: ReadonlyArray<string>
    }
  | {
      /** The platform's name of what has no kind. */
      readonly type: string
    }
  | Record<never, never>

/** A reaction of a person, or of the number's owner, to a message. */
export interface Reaction {
  /** Who; the number itself for its owner. */
  readonly from: Person
  /** Null of one that was taken back, in an event. */
  readonly emoji: string | null
  /** The author's time. */
  readonly at: Date
}

/** A message that a person wrote to a number, or its owner on the phone. */
export interface ReceivedMessage {
  /** Unique in the store. */
  readonly id: number
  /** From 1, one more with each message stored for the number; never used again. */
  readonly sequence: number
  /** The number. */
  readonly number: {
    /** Its id. */
    readonly id: number
    /** Its digits; null while unknown. */
    readonly phone: string | null
    /** Where it is. */
    readonly platform: Platform
  }
  /** The chat. */
  readonly chat: {
    /** Its id. */
    readonly id: number
    /** With whom. */
    readonly type: "person" | "group"
    /** Of the person or the group. */
    readonly name: string | null
  }
  /** The number's owner wrote it, on the phone or another device. */
  readonly fromMe: boolean
  /** The number itself when `from_me`. */
  readonly from: Person
  /** What it is. */
  readonly kind: ReceivedKind
  /** Text or caption; may be empty. */
  readonly text: string
  /** What the kind has in addition to its text. `truncated` is true of a text that was cut. */
  readonly content: ReceivedContent | null
  /** The file, as the message reports it until it is `ready`. */
  readonly media: {
    /**
     * `ready`: kept here. `remote`: fetched, or fetched once `url` is called. `full`: there was no
     * room. `gone`: the platform has it no more. `refused`: it is not what the message says.
     */
    readonly state: "ready" | "remote" | "too_large" | "full" | "gone" | "refused" | "off"
    /** As the sender says. */
    readonly mimeType: string | null
    /** Bytes. */
    readonly size: number | null
    /** As the sender says. */
    readonly fileName: string | null
    /** Of sound and moving pictures. */
    readonly seconds: number | null
    /** Hexadecimal. */
    readonly sha256: string | null
    /** Of a `ready` or `remote` file, for 26 hours; a call waits up to 30 s while it is fetched. */
    readonly url: string | null
  } | null
  /** The message that it quotes, by its id where it is known here. */
  readonly replyTo: {
    /** Null when it is not a received message, or unknown. */
    readonly receivedMessageId: number | null
    /** Null when it is not a message of this service, or unknown. */
    readonly messageId: number | null
    /** At most 200 code points. */
    readonly text: string
  } | null
  /** One for each person, the latest last; at most 50. */
  readonly reactions: ReadonlyArray<Reaction>
  /** The sender's time. */
  readonly sentAt: Date
  /** When it was stored here. */
  readonly receivedAt: Date
  /** When its author changed it; null while it is as first written. */
  readonly editedAt: Date | null
  /** When its author took it back; null while it stands. */
  readonly revokedAt: Date | null
}

/** A chat of a number with a person or a group. */
export interface Chat extends Person {
  /** Unique in the store. */
  readonly id: number
  /** The number. */
  readonly numberId: number
  /** With whom. */
  readonly type: "person" | "group"
  /** When the latest message was received; null before the first. */
  readonly lastReceivedAt: Date | null
  /** When the latest message was sent; null before the first. */
  readonly lastSentAt: Date | null
  /** Messages of others that are not marked as read. */
  readonly unread: number
  /** Up to which message it is marked as read; null for none. */
  readonly readUpTo: number | null
  /** The chat that continues in its place: both were with the same person. */
  readonly mergedInto: number | null
}

/** What is in a chat, received or sent: one of the two is null. */
export interface ChatEntry {
  /** When it was received, or sent. */
  readonly at: Date
  /** What was received. */
  readonly receivedMessage: ReceivedMessage | null
  /** What was sent. */
  readonly message: Message | null
}

/** Which received messages. */
export interface ListReceived extends PageOptions {
  /** Id of the number that received them. */
  readonly number?: number | undefined
  /** Id of the chat. */
  readonly chatId?: number | undefined
  /** What they are. */
  readonly kind?: ReceivedKind | undefined
  /** Received then or later. */
  readonly since?: Moment | undefined
  /** Received before. */
  readonly until?: Moment | undefined
  /**
   * A `sequence`, 0 at first, with `number`: what that number received behind it, lowest first, in one page. Then
   * only `kind` and `limit` may be given besides.
   */
  readonly after?: number | undefined
}

/** Which chats. */
export interface ListChats extends PageOptions {
  /** Id of the number. */
  readonly number?: number | undefined
  /** The person's phone. */
  readonly phone?: string | undefined
  /** Whether it has messages of others that are not marked as read. */
  readonly unread?: boolean | undefined
}

/** How far a chat was read. */
export interface MarkRead {
  /** Id of a received message of the chat: the last one that was read. */
  readonly upTo: number
}

/** How far a chat is read by now. */
export interface ReadChat {
  /** Id of the chat. */
  readonly chatId: number
  /** Id of the furthest message that was marked. */
  readonly upTo: number
}

/** What people wrote to one workspace's numbers, in one mode. While conversations are off there is none. */
export interface ReceivedMessagesApi {
  /** Newest first, or with `after` the lowest `sequence` first. Fails with `validation_failed`, `invalid_datetime`, `invalid_cursor`. */
  readonly list: (query?: ListReceived) => Listing<ReceivedMessage>
  /** The message. Fails with `received_message_not_found`. */
  readonly get: (message: HasId) => Promise<ReceivedMessage>
  /** Erases it here, not on phones. Fails with `received_message_not_found`. */
  readonly remove: (message: HasId) => Promise<void>
}

/** Chats of one workspace's numbers, in one mode. While conversations are off there is none. */
export interface ChatsApi {
  /** The latest activity first. Fails with `validation_failed`, `invalid_phone`, `invalid_cursor`. */
  readonly list: (query?: ListChats) => Listing<Chat>
  /** The chat. Fails with `chat_not_found`. */
  readonly get: (chat: HasId) => Promise<Chat>
  /** Erases all that was received in it. Fails with `chat_not_found`. */
  readonly remove: (chat: HasId) => Promise<void>
  /** What is in it, both directions, newest first. Fails with `chat_not_found`, `validation_failed`, `invalid_cursor`. */
  readonly messages: (chat: HasId, query?: PageOptions) => Listing<ChatEntry>
  /**
   * Marks it as read up to a message of it, never back; the number's phone marks it too once it is connected. Fails with
   * `chat_not_found`, `received_message_not_found`, and the codes of `idempotencyKey`.
   */
  readonly markRead: (
    chat: HasId,
    command: MarkRead,
    options?: RepeatOptions,
  ) => Promise<Made<ReadChat>>
}
