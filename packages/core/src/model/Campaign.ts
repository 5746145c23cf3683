/**
 * Campaigns: a text, many rows and a time; the service makes one ordinary message of each
 * row (campaigns: 1 to 7). The record, its states and the states of its rows. One commit accepts a
 * row's message and marks the row, so a row has one message or none. Pure.
 */
import type { CampaignId, MessageId, NumberId, WorkspaceId } from "./Ids.ts"
import type { MediaReference } from "./Media.ts"
import type { MessageStatus } from "./Message.ts"
import type { Phone } from "./Recipient.ts"
import type { Code } from "./Refusal.ts"
import type { TimeZone } from "./Cron.ts"
import type { Mode } from "./Workspace.ts"

/** Rows of a campaign at most (campaigns: 10). */
export const maximumCampaignRows = 100_000

/** Bytes of a CSV file at most (campaigns: 10). */
export const maximumCampaignFileBytes = 32 * 1024 * 1024

/** Campaigns of a workspace and mode that have not ended, at most (campaigns: 10). */
export const maximumOpenCampaigns = 100

/** Rows that one commit takes on for a number at most (campaigns: 10). */
export const rowsAtOnce = 20

/** No row is taken on for a number with so many due messages waiting (campaigns: 5). */
export const fullQueue = 20

/** Rows are taken on again once fewer due messages of the number wait (campaigns: 5). */
export const refillQueue = 10

export const campaignStates = [
  "draft",
  "scheduled",
  "running",
  "paused",
  "done",
  "stopped",
] as const

export type CampaignState = (typeof campaignStates)[number]

/** Whether it is in a state that no action leaves. */
export const hasCampaignEnded = ({ state }: { readonly state: CampaignState }): boolean =>
  state === "done" || state === "stopped"

export const pauseReasons = ["requested", "number_restricted", "no_numbers", "restored"] as const

/** Why a campaign is paused. */
export type CampaignPauseReason = (typeof pauseReasons)[number]

export const weekdays = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"] as const

export type Weekday = (typeof weekdays)[number]

/** When its messages may leave, in its time zone. */
export interface SendingHours {
  /** In the order of the week, none twice. */
  readonly days: ReadonlyArray<Weekday>
  /** Minutes after midnight. */
  readonly from: number
  /** Exclusive; up to 1,440. */
  readonly until: number
}

/** The fields that requests set (campaigns: 2). Times in epoch milliseconds. */
export interface CampaignSettings {
  readonly name: string
  /** The template. */
  readonly text: string
  readonly media: MediaReference | null
  /** Null: any number of the workspace. */
  readonly from: ReadonlyArray<NumberId> | null
  /** Null: `campaign-<id>`; see `campaignReference`. */
  readonly reference: string | null
  readonly timezone: TimeZone | null
  readonly sendAt: number | null
  readonly hours: SendingHours | null
  readonly expiresAt: number | null
  /** How many of a number's 24 hours it leaves to others. */
  readonly quotaReserve: number
  /** Digits of a calling code, for phones without `+`. */
  readonly defaultCountryCode: string | null
  readonly duplicates: "keep" | "drop"
}

export interface Campaign extends CampaignSettings {
  readonly id: CampaignId
  readonly workspaceId: WorkspaceId
  readonly mode: Mode
  readonly state: CampaignState
  /** Null unless paused. */
  readonly stateReason: CampaignPauseReason | null
  /** Grows with each change of settings, rows of a draft or state, not with rows taken on. */
  readonly revision: number
  /** Whether its waiting messages are held: it is paused, or outside of its hours. */
  readonly isHolding: boolean
  /** A restore made it unknown which rows had left: `resume` must name the first that had not. */
  readonly asksFromRow: boolean
  /** Since when it runs without a break; restrictions before then do not pause it. */
  readonly runningSince: number | null
  /**
   * When the runner is to look at it next, whatever else happens; null: no time is known. While it
   * runs, a change of what it may wait for wakes it: of its workspace, of a number's connection or
   * pause, or of the set of numbers. A call without effect may wake it too.
   */
  readonly lookAt: number | null
  readonly createdAt: number
  readonly startedAt: number | null
  readonly endedAt: number | null
}

export type NewCampaign = Omit<Campaign, "id" | "revision">

/** The reference of its messages. */
export const campaignReference = ({ id, reference }: Pick<Campaign, "id" | "reference">): string =>
  reference ?? `campaign-${id}`

// Rows.

export const rowStatuses = [
  "pending",
  "refused",
  "skipped",
  "queued",
  "sent",
  "delivered",
  "read",
  "failed",
  "cancelled",
  "expired",
] as const

/** What happened to a row: its own state, or its message's status. */
export type RowStatus = (typeof rowStatuses)[number]

/** How many rows have each status; `total` is their sum. */
export type RowCounts = Readonly<Record<RowStatus | "total", number>>

/** Of a campaign without rows. */
export const noRows: RowCounts = {
  total: 0,
  pending: 0,
  refused: 0,
  skipped: 0,
  queued: 0,
  sent: 0,
  delivered: 0,
  read: 0,
  failed: 0,
  cancelled: 0,
  expired: 0,
}

/**
 * The stored state. `taken`: its message tells the rest. A pending row of a stopped campaign is
 * skipped, without a write to each of them.
 */
export type RowState = "pending" | "refused" | "skipped" | "expired" | "taken"

/** Which platform must carry a row: a username only Telegram, a group only WhatsApp. */
export type RowNeeds = "whatsapp" | "telegram" | "either"

/** A recipient as the row named it; what was refused is kept as it came. */
export type RowRecipient =
  | { readonly phone: string }
  | { readonly group: string }
  | { readonly contactId: number }
  | { readonly username: string }

/** A row before the store has it. */
export interface NewCampaignRow {
  readonly row: number
  /** Of the file; null unless from one. */
  readonly line: number | null
  readonly to: RowRecipient
  /** Null when it was refused. */
  readonly needs: RowNeeds | null
  /** Tells recipients apart (`duplicates`); null when it was refused. */
  readonly recipientKey: string | null
  /** The phone that it names; null for other recipients. */
  readonly phone: Phone | null
  /** By the names of columns as given; null once it was taken on. */
  readonly values: Readonly<Record<string, string>> | null
  readonly sendAt: number | null
  readonly expiresAt: number | null
  readonly state: RowState
  readonly refusal: RowRefusal | null
}

/** Codes that only rows have (campaigns: 11). */
export const rowCodes = {
  placeholder_empty: "A placeholder of the text has no value.",
  duplicate_recipient: "An earlier row has the same recipient.",
  restored: "The store was restored, and the row may have left before.",
  stopped: "The campaign was stopped before.",
} as const

export type RowCode = Code | keyof typeof rowCodes

export interface RowRefusal {
  readonly code: RowCode
  readonly field: string | null
  /** Of `duplicate_recipient`: the first row with the recipient. */
  readonly row: number | null
}

/** A row as it is read, with what is known of its message. */
export interface CampaignRow extends Omit<NewCampaignRow, "to"> {
  /** Null once its message was erased. */
  readonly to: RowRecipient | null
  readonly status: RowStatus
  readonly messageId: MessageId | null
  /** The message's text; null unless it was taken on. */
  readonly sentText: string | null
  readonly numberId: NumberId | null
  readonly takenOnAt: number | null
  readonly sentAt: number | null
  readonly deliveredAt: number | null
  readonly readAt: number | null
  /** Of a message that failed. */
  readonly error: { readonly code: string; readonly message: string } | null
}

/** A row that has no message; a state other than `taken` is its status. */
export const newRow = (
  row: Omit<NewCampaignRow, "state"> & { readonly state: Exclude<RowState, "taken"> },
): CampaignRow => ({
  ...row,
  status: row.state,
  messageId: null,
  sentText: null,
  numberId: null,
  takenOnAt: null,
  sentAt: null,
  deliveredAt: null,
  readAt: null,
  error: null,
})

/** The status that a message gives its row: one that waits is `queued`, whatever its time. */
export const toRowStatus = (status: MessageStatus): RowStatus =>
  status === "scheduled" ? "queued" : status
