/** Messages: what is sent, and what became of it. */
import type {
  Listing,
  Made,
  Media,
  MediaReference,
  Mode,
  Moment,
  PageOptions,
  Platform,
  Recipient,
  RepeatOptions,
  SendOptions,
} from "./common.ts"

/**
 * `queued`: leaves as soon as its number can send it. `scheduled`: waits for `sendAt`. A message that left
 * is `sent`, then perhaps `delivered` and `read`; any other ends as `failed`, `cancelled` or
 * `expired`.
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

/** What every message to send may say. */
export interface MessageContent {
  /** Id of the number that sends it. When left out, the one connected number of the workspace; with several the send fails with `from_required`. */
  readonly from?: number | null | undefined
  /** At most 3,000 characters; required without media. `*bold*`, `_italic_` and `~strike~` work. */
  readonly text?: string | undefined
  /** An image or a file; `text` is then its caption. */
  readonly media?: MediaReference | null | undefined
  /** When to send, in the future; at once when left out. */
  readonly sendAt?: Moment | null | undefined
  /** In the future and after `sendAt`. A message that was not sent by then becomes `expired`. Never when left out. */
  readonly expiresAt?: Moment | null | undefined
}

/** One message to send. */
export interface SendMessage extends MessageContent {
  /** To whom. */
  readonly to: Recipient
}

/** The same message to many. */
export interface SendBatch extends MessageContent {
  /** 1 to 1,000 recipients; one that is named twice gets two messages. */
  readonly to: ReadonlyArray<Recipient>
}

/** Who receives a message: the phone, group or username, with the contact it was named by. */
export type MessageRecipient =
  | {
      /** E.164 with a leading +. */
      readonly phone: string
      /** The saved contact with that phone; null when there is none. */
      readonly contactId: number | null
    }
  | {
      /** Name of a WhatsApp group. */
      readonly group: string
    }
  | {
      /** The contact that was named. */
      readonly contactId: number
      /** The Telegram user that it is. */
      readonly username: string
    }
  | {
      /** A Telegram user, as it was given. */
      readonly username: string
    }

/** Why a message failed. */
export type MessageErrorCode =
  | "recipient_not_found"
  | "group_not_found"
  | "media_unavailable"
  | "send_failed"
  | "outcome_unknown"

/** A message as it was at the moment of the answer. */
export interface Message {
  /** Unique in the store. */
  readonly id: number
  /** Whose it is. */
  readonly workspaceId: number
  /** A `test` message goes through every rule, and nothing is sent. */
  readonly mode: Mode
  /** Its state. */
  readonly status: MessageStatus
  /** The number that sends it. */
  readonly from: {
    /** Id of the number. */
    readonly id: number
    /** Digits with country code, no +. While the message waits it is the number's phone, and afterwards the phone that the message left from; null as long as the number was never linked. */
    readonly phone: string | null
    /** What the number belongs to. */
    readonly platform: Platform
  }
  /** To whom. */
  readonly to: MessageRecipient
  /** The text, or the caption of the media. */
  readonly text: string
  /** Null without an image or a file. */
  readonly media: Media | null
  /** When it is to be sent; null for at once. */
  readonly sendAt: Date | null
  /** When it is no longer sent; null for never. */
  readonly expiresAt: Date | null
  /** When it was accepted. */
  readonly createdAt: Date
  /** When it left; null before. */
  readonly sentAt: Date | null
  /** Why it failed, when `status` is `failed`. */
  readonly error: {
    /** To branch on. */
    readonly code: MessageErrorCode
    /** For people, in English. */
    readonly message: string
  } | null
}

/** The messages of a batch. */
export interface SentBatch {
  /** One for each recipient, in their order. */
  readonly messages: ReadonlyArray<Message>
  /** True when an earlier call with the same `idempotencyKey` made them, and this one did nothing. */
  readonly replayed: boolean
}

/** Which messages. */
export interface ListMessages extends PageOptions {
  /** One or several. */
  readonly status?: MessageStatus | ReadonlyArray<MessageStatus> | undefined
  /** Id of the sending number. */
  readonly from?: number | undefined
  /** The recipient's phone, E.164 with a leading +. */
  readonly to?: string | undefined
  /** Created then or later. */
  readonly since?: Moment | undefined
  /** Created before. */
  readonly until?: Moment | undefined
}

/** Messages of one workspace, in one mode. */
export interface MessagesApi {
  /**
   * Accepts one message; it leaves later. Resolves to it as it was accepted. A refused message stores
   * nothing. Fails with `validation_failed`, `text_required`, `text_too_long`, `invalid_phone`,
   * `invalid_username`, `invalid_datetime`, `time_in_past`, `invalid_media_url`, `contact_not_found`,
   * `media_not_found`, `number_not_found`, `number_not_allowed`, `from_required`,
   * `username_needs_telegram`, `no_credits`, `number_daily_cap_reached` (`details.room`: how many fit
   * at that time; `details.roomAt`: from when on all fit, as text), `message_rejected`, and as
   * `idempotencyKey` and `transaction` say.
   */
  readonly send: (command: SendMessage, options?: SendOptions) => Promise<Made<Message>>
  /**
   * Accepts one message for each recipient, all or none of them. Fails as `send` does, with the
   * recipient in `field`, such as `to[3].phone`; and with `too_many_recipients`.
   */
  readonly sendBatch: (command: SendBatch, options?: SendOptions) => Promise<SentBatch>
  /** The message as it is now. Fails with `message_not_found`. */
  readonly get: (id: number) => Promise<Message>
  /** Newest first. Fails with `validation_failed`, `invalid_cursor`, `invalid_phone`, `invalid_datetime`. */
  readonly list: (query?: ListMessages) => Listing<Message>
  /**
   * Cancels a waiting message and resolves to it. One that is being sent at this moment is waited for,
   * at most 5 seconds. Fails with `message_not_found`, and with `not_cancellable` when it was too late
   * (`details.status`; `details.sending` when it may leave yet).
   */
  readonly cancel: (id: number) => Promise<Message>
}

/** A file to upload: at most 64 MiB. */
export interface UploadFile {
  /** 1 to 255 characters; of a path only the last part is kept. */
  readonly fileName: string
  /** The bytes, or a source of them, which is read once. */
  readonly content: Uint8Array | Blob | AsyncIterable<Uint8Array>
}

/** A stored file. */
export interface MediaFile {
  /** The `mediaId` of messages. */
  readonly id: number
  /** Whose it is. */
  readonly workspaceId: number
  /** Test files are seen by test callers alone. */
  readonly mode: Mode
  /** What recipients see. */
  readonly fileName: string
  /** How it is sent. */
  readonly type: "image" | "file"
  /** Told by the content; of text files by the ending of the name. */
  readonly mimeType: string
  /** Bytes. */
  readonly size: number
  /** Link to it, which `handler` serves; it works for 26 hours from the answer on. */
  readonly url: string
  /** When it was uploaded. */
  readonly createdAt: Date
}

/** Which files. */
export interface ListMedia extends PageOptions {
  /** Only images, or only other files. */
  readonly type?: "image" | "file" | undefined
}

/** Files of one workspace, in one mode. */
export interface MediaApi {
  /**
   * Keeps a file. Fails with `validation_failed` (no name, no content, no disk), `request_too_large`,
   * `storage_full` (`details.used` and `details.limit` in bytes),
   * `service_unavailable` while the disk has no room, and as `idempotencyKey` says.
   */
  readonly upload: (file: UploadFile, options?: RepeatOptions) => Promise<Made<MediaFile>>
  /** The file, with a fresh link. Fails with `media_not_found`. */
  readonly get: (id: number) => Promise<MediaFile>
  /** Newest first. Fails with `validation_failed`, `invalid_cursor`. */
  readonly list: (query?: ListMedia) => Listing<MediaFile>
  /** The whole content. Fails with `media_not_found`. */
  readonly content: (id: number) => Promise<Uint8Array>
  /** Deletes it; messages that wait with this file will fail with `media_unavailable`. Fails with `media_not_found`. */
  readonly remove: (id: number) => Promise<void>
}
