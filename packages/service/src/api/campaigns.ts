/** Campaigns: one message for each of many rows. */
import type {
  HasId,
  Listing,
  Made,
  MediaReference,
  Mode,
  Moment,
  PageOptions,
  Recipient,
  RepeatOptions,
} from "./common.ts"

/** Where a campaign is in its life. `done` and `stopped` are final. */
export type CampaignState = "draft" | "scheduled" | "running" | "paused" | "done" | "stopped"

/** A day of the week. */
export type Weekday = "mon" | "tue" | "wed" | "thu" | "fri" | "sat" | "sun"

/** The outcome of a row: its own state, or its message's status. */
export type CampaignRowStatus =
  | "pending"
  | "refused"
  | "skipped"
  | "queued"
  | "sent"
  | "delivered"
  | "read"
  | "failed"
  | "cancelled"
  | "expired"

/** Which campaigns: those of one mode. */
export interface CampaignOptions {
  /** Default: `live`. */
  readonly mode?: Mode | undefined
}

/** A campaign to create. */
export interface CreateCampaign {
  /** Not blank. 1 to 100 characters. */
  readonly name: string
  /**
   * Template, required without media: `{column}` is the row's value, `{column|words}` has words for
   * where it is missing or blank, `{{` and `}}` are braces. Up to 3,000 characters.
   */
  readonly text?: string | undefined
  /** For all rows. */
  readonly media?: MediaReference | null | undefined
  /** Sending numbers: null for any of the workspace, an id, or 1 to 50 ids. */
  readonly from?: number | ReadonlyArray<number> | null | undefined
  /** Of all its messages; null for `campaign-<id>`. */
  readonly reference?: string | null | undefined
  /** IANA name; required with `hours`, and for times of rows without an offset. */
  readonly timezone?: string | null | undefined
  /** It begins then, in the future; null: when it is started. */
  readonly sendAt?: Moment | null | undefined
  /** Messages leave only then, in `timezone`. */
  readonly hours?:
    | {
        /** Default: all seven. */
        readonly days?: ReadonlyArray<Weekday> | undefined
        /** Such as `09:00`. */
        readonly from: string
        /** Later than `from`, at most `24:00`. */
        readonly until: string
      }
    | null
    | undefined
  /** In the future and after the time to begin: no message leaves later. */
  readonly expiresAt?: Moment | null | undefined
  /** How many of the 1,000 in each number's 24 hours it leaves to others. Default: 200. */
  readonly quotaReserve?: number | undefined
  /** Digits of a calling code, for phones without `+`. */
  readonly defaultCountryCode?: string | null | undefined
  /** `drop` refuses later rows of the same recipient. Default: `keep`. */
  readonly duplicates?: "keep" | "drop" | undefined
}

/** Changes to a campaign. Omitted fields stay. */
export type ChangeCampaign = {
  readonly [Name in keyof CreateCampaign]?: CreateCampaign[Name] | undefined
}

/** A row to add. */
export interface CampaignRowInput {
  /** Who gets it. */
  readonly to: Recipient
  /** By the names of columns. */
  readonly values?: Readonly<Record<string, string>> | undefined
  /** It is not taken on before; null for the campaign's. */
  readonly sendAt?: Moment | null | undefined
  /** It is not sent after; null for the campaign's. */
  readonly expiresAt?: Moment | null | undefined
}

/** Why no row is taken on now. */
export interface CampaignWait {
  /** What has to end. */
  readonly reason:
    | "disabled"
    | "demo"
    | "scheduled"
    | "hours"
    | "no_credits"
    | "not_connected"
    | "number_paused"
    | "quota"
    | "sending"
  /** When it ends by itself; null when unknown. */
  readonly until: Date | null
}

/** A campaign. */
export interface Campaign {
  /** Unique in the store. */
  readonly id: number
  /** Only this mode sees it. */
  readonly mode: Mode
  /** Display name. */
  readonly name: string
  /** Where it is. */
  readonly state: CampaignState
  /** Why it is paused; else null. */
  readonly stateReason: "requested" | "number_restricted" | "no_numbers" | "restored" | null
  /** The template. */
  readonly text: string
  /** For all rows. */
  readonly media: {
    /** Of an uploaded file. */
    readonly mediaId: number | null
    /** Of a link. */
    readonly url: string | null
    /** How it is sent. */
    readonly type: "image" | "file" | null
    /** Name that recipients see. */
    readonly fileName: string | null
  } | null
  /** Sending numbers; null for any of the workspace. */
  readonly from: ReadonlyArray<number> | null
  /** Of all its messages. */
  readonly reference: string
  /** IANA name. */
  readonly timezone: string | null
  /** It begins then. */
  readonly sendAt: Date | null
  /** Messages leave only then. */
  readonly hours: {
    /** In the order of the week. */
    readonly days: ReadonlyArray<Weekday>
    /** Such as `09:00`. */
    readonly from: string
    /** Later than `from`, at most `24:00`. */
    readonly until: string
  } | null
  /** No message leaves later. */
  readonly expiresAt: Date | null
  /** What it leaves to others of each number's 24 hours. */
  readonly quotaReserve: number
  /** For phones without `+`. */
  readonly defaultCountryCode: string | null
  /** Whether later rows of a recipient are refused. */
  readonly duplicates: "keep" | "drop"
  /** How many rows have each status, exact when the answer is made. */
  readonly rows: Readonly<Record<CampaignRowStatus | "total", number>>
  /**
   * Why no row is taken on now; null unless `scheduled` or `running`. Empty: the next look takes
   * rows, or none is left.
   */
  readonly waitsFor: ReadonlyArray<CampaignWait> | null
  /** As far as is known now; null when unknown. */
  readonly finishesAt: Date | null
  /** Creation time. */
  readonly createdAt: Date
  /** When it began. */
  readonly startedAt: Date | null
  /** When it ended. */
  readonly endedAt: Date | null
}

/** A row of a campaign. */
export interface CampaignRow {
  /** Its number, from 1. */
  readonly row: number
  /** Its line in the file; null unless from one. */
  readonly line: number | null
  /** As the row named it; null once its message was erased. */
  readonly to: Recipient | null
  /** What happened to it: its own status, or its message's. */
  readonly status: CampaignRowStatus
  /** As it would be sent or was sent; null when refused. */
  readonly text: string | null
  /** It is not taken on before. */
  readonly sendAt: Date | null
  /** It is not sent after. */
  readonly expiresAt: Date | null
  /** Its message; null unless it was taken on. */
  readonly messageId: number | null
  /** The number that sends it. */
  readonly numberId: number | null
  /** When it became a message. */
  readonly takenOnAt: Date | null
  /** When it left. */
  readonly sentAt: Date | null
  /** When the recipient's phone had it. */
  readonly deliveredAt: Date | null
  /** When the recipient read it. */
  readonly readAt: Date | null
  /** Why it was refused or skipped, or why its message failed. */
  readonly error: {
    /** Stable code. */
    readonly code: string
    /** For people. */
    readonly message: string
    /** Path of the wrong field. */
    readonly field: string | null
    /** Of a duplicate: the first row with the recipient. */
    readonly row: number | null
  } | null
}

/** What a call added. */
export interface CampaignRowsAdded {
  /** Number of the first new row. */
  readonly firstRow: number
  /** Number of the last one. */
  readonly lastRow: number
  /** Rows that can be sent. */
  readonly pending: number
  /** Rows that cannot be sent; they never stop the others. */
  readonly refused: number
  /** The first 100 refused ones. */
  readonly problems: ReadonlyArray<CampaignRow>
}

/** A CSV file of rows: at most 32 MiB. */
export interface CampaignFile {
  /** The bytes, or a source that the service reads once. */
  readonly content: Uint8Array | Blob | AsyncIterable<Uint8Array>
  /** The column of recipients. Default: `to`, else `phone`. */
  readonly toColumn?: string | undefined
}

/** Filters campaigns. */
export interface ListCampaigns extends PageOptions, CampaignOptions {
  /** Only those. */
  readonly state?: CampaignState | ReadonlyArray<CampaignState> | undefined
}

/** Filters rows. */
export interface ListCampaignRows extends PageOptions, CampaignOptions {
  /** Only those. */
  readonly status?: CampaignRowStatus | ReadonlyArray<CampaignRowStatus> | undefined
  /** Only those with that error. */
  readonly code?: string | undefined
  /** Only those to that phone. */
  readonly to?: string | undefined
}

/** When a campaign would start and finish. */
export interface CampaignForecast {
  /** Pending rows. */
  readonly rows: number
  /** Of the workspace's plan. */
  readonly allowance: {
    /** Messages that the plan still accepts; null for unlimited. */
    readonly remaining: number | null
    /** How many rows it is short of. */
    readonly missing: number
  }
  /** Each number's share. */
  readonly numbers: ReadonlyArray<{
    /** Its id. */
    readonly numberId: number
    /** Whether it can send now. */
    readonly usable: boolean
    /** Now in its 24 hours, the reserve taken off. */
    readonly room: number
    /** Its share. */
    readonly rows: number
  }>
  /** When it would start. */
  readonly startsAt: Date | null
  /** Null when the allowance is short, or no number is usable. */
  readonly finishesAt: Date | null
  /**
   * Why no row is taken on now; null unless `scheduled` or `running`. Empty: the next look takes
   * rows, or none is left.
   */
  readonly waitsFor: ReadonlyArray<CampaignWait> | null
}

/** Options of a call that may be repeated. */
export interface CampaignRepeatOptions extends CampaignOptions, RepeatOptions {}

/**
 * Campaigns of a workspace. Every method that names one fails with `campaign_not_found` for one of the
 * other mode too.
 */
export interface CampaignsApi {
  /**
   * Creates a draft. Fails with `validation_failed`, `text_required`, `text_too_long`,
   * `invalid_template`, `invalid_datetime`, `invalid_timezone`, `time_in_past`, `number_not_found`,
   * `media_not_found`, `invalid_media_url`, `campaign_limit_reached` and the codes of `idempotencyKey`.
   */
  readonly create: (
    command: CreateCampaign,
    options?: CampaignRepeatOptions,
  ) => Promise<Made<Campaign>>
  /** Newest first. Fails with `validation_failed`, `invalid_cursor`. */
  readonly list: (query?: ListCampaigns) => Listing<Campaign>
  /** The campaign as it is now. Fails with `campaign_not_found`. */
  readonly get: (campaign: HasId, options?: CampaignOptions) => Promise<Campaign>
  /**
   * Changes the given fields. Fails as `create` does, and with `campaign_not_found`, `campaign_has_rows`,
   * `campaign_started`, `campaign_ended`.
   */
  readonly update: (
    campaign: HasId,
    change: ChangeCampaign,
    options?: CampaignOptions,
  ) => Promise<Campaign>
  /** Stops and deletes it; its messages stay. Fails with `campaign_not_found`. */
  readonly remove: (campaign: HasId, options?: CampaignOptions) => Promise<void>
  /**
   * Adds 1 to 1,000 rows to a draft. A refused row never stops the others. Fails with
   * `campaign_not_found`, `campaign_started`, `upload_in_progress`, `too_many_rows`,
   * `validation_failed` and the codes of `idempotencyKey`.
   */
  readonly addRows: (
    campaign: HasId,
    rows: ReadonlyArray<CampaignRowInput>,
    options?: CampaignRepeatOptions,
  ) => Promise<Made<CampaignRowsAdded>>
  /**
   * Adds the rows of a CSV file to a draft, all or none. Needs `dataDirectory`. Fails as `addRows` does,
   * and with `column_not_found`, `invalid_csv`, `request_too_large`, `rate_limited`,
   * `service_unavailable`.
   */
  readonly uploadRows: (
    campaign: HasId,
    file: CampaignFile,
    options?: CampaignRepeatOptions,
  ) => Promise<Made<CampaignRowsAdded>>
  /** Deletes a draft's rows; resolves to their number. Fails with `campaign_not_found`, `campaign_started`. */
  readonly clearRows: (campaign: HasId, options?: CampaignOptions) => Promise<number>
  /**
   * Rows in their order. Fails with `campaign_not_found`, `validation_failed`, `invalid_phone`,
   * `invalid_cursor`.
   */
  readonly rows: (campaign: HasId, query?: ListCampaignRows) => Listing<CampaignRow>
  /** One row. Fails with `campaign_not_found`, `row_not_found`. */
  readonly row: (campaign: HasId, row: number, options?: CampaignOptions) => Promise<CampaignRow>
  /** The outcome of each row, as CSV. Fails with `campaign_not_found`, `validation_failed`. */
  readonly results: (
    campaign: HasId,
    query?: CampaignOptions & Pick<ListCampaignRows, "status">,
  ) => Promise<string>
  /** When it would start and finish, from what is known now. Fails with `campaign_not_found`. */
  readonly forecast: (campaign: HasId, options?: CampaignOptions) => Promise<CampaignForecast>
  /**
   * Starts a draft. Fails with `campaign_not_found`, `campaign_started`, `campaign_ended`, `no_rows`,
   * `time_in_past`, `number_not_found`, `account_disabled`, `demo_account`.
   */
  readonly start: (campaign: HasId, options?: CampaignOptions) => Promise<Campaign>
  /**
   * Pauses it; what waits is held. Fails with `campaign_not_found`, `campaign_not_started`,
   * `campaign_ended`.
   */
  readonly pause: (campaign: HasId, options?: CampaignOptions) => Promise<Campaign>
  /**
   * Resumes it. After a restore of the store `fromRow` names the first row that had not left. Fails with
   * `campaign_not_found`, `campaign_not_started`, `campaign_ended`, `from_row_required`,
   * `validation_failed`.
   */
  readonly resume: (
    campaign: HasId,
    options?: CampaignOptions & {
      /** The first row that had not left before a restore. */
      readonly fromRow?: number | undefined
    },
  ) => Promise<Campaign>
  /**
   * Stops it for good: pending rows are skipped, and waiting messages cancelled. Fails with
   * `campaign_not_found`, `campaign_not_started`, `campaign_ended`.
   */
  readonly stop: (campaign: HasId, options?: CampaignOptions) => Promise<Campaign>
}
