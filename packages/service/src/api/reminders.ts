/** Reminders: messages that repeat on a schedule. */
import type {
  Listing,
  Made,
  Media,
  MediaReference,
  Mode,
  PageOptions,
  Recipient,
  RepeatOptions,
} from "./common.ts"

/** The schedule of a reminder. */
export interface ReminderTimes {
  /** Five fields: minute, hour, day of month, month, day of week. Such as `30 9 * * 1-5`. */
  readonly cron: string
  /** IANA name. Left out it is UTC; in a change of the schedule it stays what it was. */
  readonly timezone?: string | undefined
}

/** A reminder to create. */
export interface CreateReminder {
  /** Not blank. 1 to 100 characters. */
  readonly name: string
  /** The recipient; each run looks a contact up. */
  readonly to: Recipient
  /**
   * Id of a connected number; null or left out: any connected one, at each run. Required for a key
   * limited to some numbers.
   */
  readonly from?: number | null | undefined
  /** Required when the reminder is made. At most 3,000 characters. */
  readonly text?: string | undefined
  /** An image or a file; `text` is then its caption. Null: none. */
  readonly media?: MediaReference | null | undefined
  /** Schedule. */
  readonly schedule: ReminderTimes
  /** False pauses it, true resumes it. Default of a new one: true. */
  readonly active?: boolean | undefined
}

/** Changes to a reminder. Omitted fields stay. */
export type ChangeReminder = {
  readonly [Name in keyof CreateReminder]?: CreateReminder[Name] | undefined
}

/** Result of one run. */
export interface ReminderRun {
  /** Due time. */
  readonly dueAt: Date
  /** `missed`: no process ran when it was due, and it was too late to catch up. */
  readonly outcome: "accepted" | "refused" | "missed"
  /** The accepted message; null without one. */
  readonly messageId: number | null
  /** Why the run was refused: a code of the error catalogue. */
  readonly code: string | null
}

/** Result of the latest run. */
export interface LastReminderRun extends ReminderRun {
  /** Why the service refused it, in words; null otherwise. */
  readonly message: string | null
}

/** Recipient of a reminder, as the command named it. */
export type ReminderRecipient =
  | {
      /** E.164 with a leading +. */
      readonly phone: string
    }
  | {
      /** Name of a WhatsApp group. */
      readonly group: string
    }
  | {
      /** Id of a contact. */
      readonly contactId: number
    }
  | {
      /** A Telegram user. */
      readonly username: string
    }

/** A reminder as it is now. */
export interface Reminder {
  /** Unique in the store. */
  readonly id: number
  /** Its workspace. */
  readonly workspaceId: number
  /** A `test` reminder creates test messages: the service sends nothing. */
  readonly mode: Mode
  /** Display name. */
  readonly name: string
  /** False while it is paused. */
  readonly active: boolean
  /** The recipient. */
  readonly to: ReminderRecipient
  /** The sending number; null for any connected one. */
  readonly from: number | null
  /** The text, or the caption of the media. */
  readonly text: string
  /** The image or file; null without one. */
  readonly media: Media | null
  /** Schedule. */
  readonly schedule: {
    /** Five fields, as given. */
    readonly cron: string
    /** IANA name. */
    readonly timezone: string
  }
  /** Next run; null when paused, or when no run ever comes. */
  readonly nextRunAt: Date | null
  /** Creation time. */
  readonly createdAt: Date
  /** The outcome of the latest run; null before the first. */
  readonly lastRun: LastReminderRun | null
}

/** Filters reminders. */
export interface ListReminders extends PageOptions {
  /** Only active or only paused reminders. */
  readonly active?: boolean | undefined
}

/** Reminders of one workspace, in one mode. */
export interface RemindersApi {
  /**
   * Creates a reminder. Fails with `validation_failed`, `text_required`, `text_too_long`,
   * `invalid_phone`, `invalid_username`, `username_needs_telegram`, `contact_not_found`,
   * `media_not_found`, `invalid_media_url`, `number_not_allowed`, `number_not_connected`,
   * `invalid_cron`, `invalid_timezone`, `plan_required`, and the codes of `idempotencyKey`.
   */
  readonly create: (command: CreateReminder, options?: RepeatOptions) => Promise<Made<Reminder>>
  /** The reminder as it is now. Fails with `reminder_not_found`. */
  readonly get: (id: number) => Promise<Reminder>
  /** Newest first. Fails with `validation_failed`, `invalid_cursor`. */
  readonly list: (query?: ListReminders) => Listing<Reminder>
  /**
   * Changes the given fields. Fails as `create` does, and with `reminder_not_found`; pausing needs no
   * plan.
   */
  readonly update: (id: number, change: ChangeReminder) => Promise<Reminder>
  /** Deletes the reminder, which ends its runs. Fails with `reminder_not_found`. */
  readonly remove: (id: number) => Promise<void>
}
