/** Reminders: messages that are sent again and again. */
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

/** The times at which a reminder runs. */
export interface ReminderTimes {
  /** Five fields: minute, hour, day of month, month, day of week, such as `30 9 * * 1-5`. */
  readonly cron: string
  /** IANA name such as `Europe/Berlin`. When left out, a new reminder has UTC, and a changed one keeps its own. */
  readonly timezone?: string | undefined
}

/** A reminder to make. */
export interface CreateReminder {
  /** 1 to 100 characters, not blank. */
  readonly name: string
  /** To whom; a contact is looked up at each run. */
  readonly to: Recipient
  /** Id of a connected number; null or left out: any connected one, at each run. */
  readonly from?: number | null | undefined
  /** At most 3,000 characters; required. */
  readonly text?: string | undefined
  /** An image or a file; `text` is then its caption. */
  readonly media?: MediaReference | null | undefined
  /** When it runs. */
  readonly schedule: ReminderTimes
  /** False: paused. True when left out. */
  readonly active?: boolean | undefined
}

/** What to change of a reminder: only what is named changes. */
export interface ChangeReminder {
  /** 1 to 100 characters, not blank. */
  readonly name?: string | undefined
  /** To whom. */
  readonly to?: Recipient | undefined
  /** Id of a connected number; null: any connected one, at each run. */
  readonly from?: number | null | undefined
  /** At most 3,000 characters. */
  readonly text?: string | undefined
  /** An image or a file; null takes it away. */
  readonly media?: MediaReference | null | undefined
  /** When it runs. */
  readonly schedule?: ReminderTimes | undefined
  /** False pauses it, true resumes it. */
  readonly active?: boolean | undefined
}

/** What became of one run. */
export interface ReminderRun {
  /** When it was due. */
  readonly dueAt: Date
  /** `missed`: nothing ran when it was due, and it was too late to make it up. */
  readonly outcome: "accepted" | "refused" | "missed"
  /** Id of the message that was accepted; null when none was. */
  readonly messageId: number | null
  /** Why it was refused, as a code of `MessagingError`; null otherwise. */
  readonly code: string | null
}

/** What became of the latest run. */
export interface LastReminderRun extends ReminderRun {
  /** Why it was refused, in words; null otherwise. */
  readonly message: string | null
}

/** To whom a reminder sends, as it was named. */
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
  /** Whose it is. */
  readonly workspaceId: number
  /** The messages of a `test` reminder are test messages: nothing is sent. */
  readonly mode: Mode
  /** Its name for people. */
  readonly name: string
  /** False while it is paused. */
  readonly active: boolean
  /** To whom. */
  readonly to: ReminderRecipient
  /** The sending number; null for any connected one. */
  readonly from: number | null
  /** The text, or the caption of the media. */
  readonly text: string
  /** The image or file, as it was given; null without one. */
  readonly media: Media | null
  /** When it runs. */
  readonly schedule: {
    /** Five fields, as given. */
    readonly cron: string
    /** IANA name. */
    readonly timezone: string
  }
  /** Null when paused, or when no run ever comes. */
  readonly nextRunAt: Date | null
  /** When it was made. */
  readonly createdAt: Date
  /** What became of the latest run; null before the first. */
  readonly lastRun: LastReminderRun | null
}

/** Which reminders. */
export interface ListReminders extends PageOptions {
  /** Only running or only paused ones. */
  readonly active?: boolean | undefined
}

/** Reminders of one workspace, in one mode. */
export interface RemindersApi {
  /**
   * Makes a reminder. Fails with `validation_failed`, `text_required`, `text_too_long`, `invalid_phone`,
   * `invalid_username`, `username_needs_telegram`, `contact_not_found`, `media_not_found`,
   * `invalid_media_url`, `number_not_allowed`, `number_not_connected`, `invalid_cron`,
   * `invalid_timezone`, `plan_required`, and as `idempotencyKey` says.
   */
  readonly create: (command: CreateReminder, options?: RepeatOptions) => Promise<Made<Reminder>>
  /** The reminder as it is now. Fails with `reminder_not_found`. */
  readonly get: (id: number) => Promise<Reminder>
  /** Newest first. Fails with `validation_failed`, `invalid_cursor`. */
  readonly list: (query?: ListReminders) => Listing<Reminder>
  /** Changes what is named. Fails as `create` does, and with `reminder_not_found`; pausing needs no plan. */
  readonly update: (id: number, change: ChangeReminder) => Promise<Reminder>
  /** Deletes it: it runs no more. Fails with `reminder_not_found`. */
  readonly remove: (id: number) => Promise<void>
}
