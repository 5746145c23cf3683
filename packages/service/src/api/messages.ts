/** Messages: what to send, and the result. */
import type {
  Listing,
  Made,
  Media,
  MediaReference,
  Mode,
  Moment,
  PageOptions,
  Platform,
  SendRecipient,
  RepeatOptions,
  CancelOptions,
  SendOptions,
} from "./common.ts"

/**
 * `queued`: leaves as soon as its number can send it. `scheduled`: waits for `sendAt`. A message that
 * left is `sent`, then perhaps `delivered` and `read`. Any other message ends as `failed`, `cancelled`
 * or `expired`.
 */
export type MessageStatus =
  | "queued"
  | "scheduled"
  | "sent"
  | "delivered"
  | "read"
  | "failed"
  | "cancelled"
  | "expired"

/** Fields of every message to send. */
export interface MessageContent {
  /**
   * Id of the sending number. Without it the only connected number sends: a WhatsApp number, and a
   * Telegram account when no WhatsApp number is connected. With several, and while none is
   * connected, a send without it fails with `from_required`: with it, the message waits until the
   * number is connected again. So give it wherever a message must not be refused.
   */
  readonly from?: number | null | undefined
  /**
   * The message, or the caption of its media; required without media. `*bold*`, `_italic_` and
   * `~strike~` work. At most 3,000 characters.
   */
  readonly text?: string | undefined
  /** An image or a file; `text` is then its caption. */
  readonly media?: MediaReference | null | undefined
  /** When to send, in the future. Default: at once. */
  readonly sendAt?: Moment | null | undefined
  /**
   * In the future and after the time to send: what was not sent by then becomes `expired`. Default:
   * never.
   */
  readonly expiresAt?: Moment | null | undefined
  /**
   * What you call it, such as the id of an order. No recipient, key or webhook sees it. 1 to 200
   * characters. Results, lists and events of your program show it. Callers of `withKey` may not
   * give one.
   */
  readonly reference?: string | null | undefined
}

/** One message to send. */
export interface SendMessage extends MessageContent {
  /** The recipient. */
  readonly to: SendRecipient
  /** The message of the same chat that it quotes. Unknown while conversations are off. */
  readonly replyTo?: ReplyTo | null | undefined
}

/** The message that a send quotes: exactly one of the fields. */
export interface ReplyTo {
  /** Id of a received message. */
  readonly receivedMessageId?: number | undefined
  /** Id of a message that was sent. */
  readonly messageId?: number | undefined
}

/** The same message to many recipients. */
export interface SendBatch extends MessageContent {
  /** 1 to 1,000 recipients. Each entry gets a message, so a duplicate gets two. */
  readonly to: ReadonlyArray<SendRecipient>
}

/** The recipient: a phone, group or username, and the contact that the command named. */
export type MessageRecipient =
  | {
      /** E.164 with a leading +. */
      readonly phone: string
      /** The saved contact with that phone; null without one. */
      readonly contactId: number | null
    }
  | {
      /** Name of a WhatsApp group. */
      readonly group: string
    }
  | {
      /** The contact that the command named. */
      readonly contactId: number
      /** The contact's Telegram username. */
      readonly username: string
    }
  | {
      /** A Telegram user, as the command gave it. */
      readonly username: string
    }
  | {
      /** The chat that the command named. */
      readonly chatId: number
      /** Its phone; absent while unknown. */
      readonly phone?: string
      /** The name of a group; absent while unknown. */
      readonly group?: string
      /** Its Telegram username; absent while unknown. */
      readonly username?: string
    }

/** A quoted message, as a command names it. */
export type QuotedMessage =
  | {
      /** Id of a received message. */
      readonly receivedMessageId: number
    }
  | {
      /** Id of a message that was sent. */
      readonly messageId: number
    }

/** Why a message failed. */
export type MessageErrorCode =
  | "recipient_not_found"
  | "group_not_found"
  | "media_unavailable"
  | "send_failed"
  | "outcome_unknown"

/** A message as of the response. */
export interface Message {
  /** Unique in the store. */
  readonly id: number
  /** Its workspace. */
  readonly workspaceId: number
  /** A `test` message passes every rule, and the service sends nothing. */
  readonly mode: Mode
  /** Its state. */
  readonly status: MessageStatus
  /** The sending number. */
  readonly from: {
    /** Id of the number. */
    readonly id: number
    /**
     * Digits with country code, no +. While the message waits, the number's phone; afterwards the
     * phone that it left from. Null while the number was never linked.
     */
    readonly phone: string | null
    /** The number's platform. */
    readonly platform: Platform
  }
  /** The recipient. */
  readonly to: MessageRecipient
  /** The text, or the caption of the media. */
  readonly text: string
  /** Null without an image or a file. */
  readonly media: Media | null
  /** When to send it; null for at once. */
  readonly sendAt: Date | null
  /** When it expires; null for never. */
  readonly expiresAt: Date | null
  /** When the service accepted it. */
  readonly createdAt: Date
  /** When it left; null before. */
  readonly sentAt: Date | null
  /** Why it failed, when `status` is `failed`. */
  readonly error: {
    /** Code to branch on. */
    readonly code: MessageErrorCode
    /** For people, in English. */
    readonly message: string
  } | null
  /**
   * What the sender calls it; null without one. Webhooks do not show it. In an event of your program
   * null once the message is erased.
   */
  readonly reference: string | null
  /** The message that it quotes, as the command named it; absent without one. */
  readonly replyTo?: QuotedMessage
}

/** The messages of a batch. */
export interface SentBatch {
  /** One per recipient, in their order. */
  readonly messages: ReadonlyArray<Message>
  /** True when an earlier call with the same `idempotencyKey` made them; this call did nothing. */
  readonly replayed: boolean
}

/** One condition that must end before a message leaves. */
export interface WaitsFor {
  /**
   * In this order:
   *
   * - `disabled`: its workspace.
   * - `held`: the store went back in time, and an operator has not released the message.
   * - `campaign`: its campaign is paused, or outside of its hours.
   * - `paused`, `not_connected`: its number.
   * - `scheduled`: its time has not come.
   * - `new_chats_closed`: its recipient is new, and WhatsApp lets its number open no new chats.
   * - `limited`: its number used up its pacing or quota.
   * - `no_room`: the disk has no room for its file, or for that of an earlier message.
   * - `resting`: its number rests after a message, or because the remote server asked for it.
   * - `sending`: its number is sending this message or an earlier one.
   */
  readonly reason:
    | "disabled"
    | "held"
    | "campaign"
    | "paused"
    | "not_connected"
    | "scheduled"
    | "new_chats_closed"
    | "limited"
    | "no_room"
    | "resting"
    | "sending"
  /** When it ends by itself; null when unknown. */
  readonly until: Date | null
  /**
   * Why the workspace or the number sends nothing, such as `account_disabled` or `logged_out`; else
   * null.
   */
  readonly because: string | null
}

/** What an entry of a timeline is about; `due` is its `sendAt`, once it has passed. */
export type TimelineEntryType =
  | "accepted"
  | "due"
  | "postponed"
  | "attempt_refused"
  | "attempt_interrupted"
  | "sent"
  | "failed"
  | "expired"
  | "cancelled"
  | "delivered"
  | "read"
  | "delivery"

/** One thing that happened to a message. */
export interface TimelineEntry {
  /** When. */
  readonly at: Date
  /**
   * `postponed`, `attempt_refused` and `attempt_interrupted` are attempts that did not end it; `delivery` is a
   * call of a webhook or callback about it.
   */
  readonly type: TimelineEntryType
  /** Of a delivery, from 1; else null. */
  readonly attempt: number | null
  /** Id of the event that ended it, or that was delivered; else null. */
  readonly eventId: string | null
  /** The endpoint of a delivery; null for a callback, and for other entries. */
  readonly webhookId: number | null
  /** The receiver of a delivery; members see it without its query. */
  readonly url: string | null
  /** HTTP status of a delivery's response; null without one. */
  readonly responseStatus: number | null
  /** Milliseconds that a delivery took; null for other entries. */
  readonly durationMillis: number | null
  /** When the next attempt comes; null without one. */
  readonly nextAttemptAt: Date | null
  /** Why it failed or was put off; else null. */
  readonly error: {
    /** Code to branch on. */
    readonly code: string
    /** For people, in English; null without words. */
    readonly message: string | null
  } | null
}

/** What happened to a message, and what it waits for. */
export interface Timeline {
  /** The message as it is now. */
  readonly message: Message
  /** The campaign and its row that it was made of; else null. */
  readonly campaign: {
    /** Of the campaign. */
    readonly id: number
    /** Of the row, from 1. */
    readonly row: number
  } | null
  /** Null once it waits no more, and where its number was removed. */
  readonly waiting: {
    /** Everything that must end before it leaves. Empty when only earlier messages block it. */
    readonly for: ReadonlyArray<WaitsFor>
    /** Due messages of its number that leave before it, counted up to 1,000. */
    readonly ahead: number
  } | null
  /** Oldest first, at most 200. */
  readonly entries: ReadonlyArray<TimelineEntry>
  /** True when older attempts and deliveries are left out. */
  readonly truncated: boolean
}

/** Filters messages. */
export interface ListMessages extends PageOptions {
  /** One or several. */
  readonly status?: MessageStatus | ReadonlyArray<MessageStatus> | undefined
  /** Id of the sending number. */
  readonly from?: number | undefined
  /** The recipient's phone, E.164 with a leading +. */
  readonly to?: string | undefined
  /** Created at that time or later. */
  readonly since?: Moment | undefined
  /** Created before that time. */
  readonly until?: Moment | undefined
  /** Messages with exactly that `reference`. Callers of `withKey` may not ask by it. */
  readonly reference?: string | undefined
  /** Messages that failed with it. Callers of `withKey` may not ask by it. */
  readonly error?: MessageErrorCode | undefined
  /**
   * Looked for in the texts of the newest 50,000 messages that the other filters leave, upper and
   * lower case alike; not with `to`. A page may then have fewer messages than `limit` and still be
   * followed by another. Callers of `withKey` may not ask by it.
   */
  readonly text?: string | undefined
}

/** Messages of one workspace, in one mode. */
export interface MessagesApi {
  /**
   * Accepts one message, which leaves later. Resolves to the accepted message. A refused message
   * stores nothing. Fails with `validation_failed`, `text_required`, `text_too_long`, `invalid_phone`,
   * `invalid_username`, `invalid_datetime`, `time_in_past`, `invalid_media_url`, `contact_not_found`,
   * `media_not_found`, `number_not_found`, `number_not_allowed`, `from_required`,
   * `username_needs_telegram`, `no_credits`, `number_daily_cap_reached` (`details.room`: how many fit
   * at that time; `details.roomAt`: when all fit, as text), `message_rejected`, `account_disabled`,
   * `demo_account`, and the codes of `idempotencyKey` and `transaction`.
   */
  readonly send: (command: SendMessage, options?: SendOptions) => Promise<Made<Message>>
  /**
   * Accepts one message for each recipient, all or none. Fails as `send` does, with the recipient in
   * `field`, such as `to[3].phone`, and with `too_many_recipients`.
   */
  readonly sendBatch: (command: SendBatch, options?: SendOptions) => Promise<SentBatch>
  /** The message as it is now. Fails with `message_not_found`. */
  readonly get: (id: number) => Promise<Message>
  /** Newest first. Fails with `validation_failed`, `invalid_cursor`, `invalid_phone`, `invalid_datetime`. */
  readonly list: (query?: ListMessages) => Listing<Message>
  /**
   * Cancels a waiting message and resolves to it. While an attempt is sending it, the call waits for
   * the result, at most 5 seconds. It takes effect at once, or with your commit inside a `transaction`,
   * where it waits for no attempt. Fails with `message_not_found`, and with `not_cancellable` when it
   * was too late (`details.status`; `details.sending` when it may still leave).
   */
  readonly cancel: (id: number, options?: CancelOptions) => Promise<Message>
}

/** A file to upload: at most 64 MiB. */
export interface UploadFile {
  /** 1 to 255 characters; of a path the service keeps only the last part. */
  readonly fileName: string
  /** The bytes, or a source that the service reads once. */
  readonly content: Uint8Array | Blob | AsyncIterable<Uint8Array>
}

/** A stored file. */
export interface MediaFile {
  /** The `mediaId` of a message. */
  readonly id: number
  /** Its workspace. */
  readonly workspaceId: number
  /** Only test callers see test files. */
  readonly mode: Mode
  /** File name that recipients see. */
  readonly fileName: string
  /** How the service sends it. */
  readonly type: "image" | "file"
  /** Detected from the content; for text, from the ending of the name. */
  readonly mimeType: string
  /** Bytes. */
  readonly size: number
  /**
   * Link to the file, valid for 26 hours; two answers within a second may have the same one.
   * `handler` serves it.
   */
  readonly url: string
  /** Upload time. */
  readonly createdAt: Date
}

/** Filters files. */
export interface ListMedia extends PageOptions {
  /** Only images, or only other files. */
  readonly type?: "image" | "file" | undefined
}

/** Files of one workspace, in one mode. */
export interface MediaApi {
  /**
   * Stores a file. Fails with `validation_failed` (no name, no content, no disk), `request_too_large`,
   * `storage_full` (`details.used` and `details.limit` in bytes), `service_unavailable` while the disk
   * is full, and the codes of `idempotencyKey`.
   */
  readonly upload: (file: UploadFile, options?: RepeatOptions) => Promise<Made<MediaFile>>
  /** The file, with a fresh link. Fails with `media_not_found`. */
  readonly get: (id: number) => Promise<MediaFile>
  /** Newest first. Fails with `validation_failed`, `invalid_cursor`. */
  readonly list: (query?: ListMedia) => Listing<MediaFile>
  /** The whole content. Fails with `media_not_found`. */
  readonly content: (id: number) => Promise<Uint8Array>
  /**
   * Deletes the file. Waiting messages with this file will fail with `media_unavailable`. Fails with
   * `media_not_found`.
   */
  readonly remove: (id: number) => Promise<void>
}
