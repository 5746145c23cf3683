/**
 * The port that stores campaigns and their rows (campaigns: 1 to 9). Core decides what happens to a
 * campaign and of its rows; each method writes one decision in one commit, guarded by the
 * campaign's revision and by the rows that it takes.
 */
import type { Effect } from "effect"
import type { Acceptance, FailedGuard } from "../model/accept.ts"
import type {
  Campaign,
  CampaignRow,
  CampaignSettings,
  CampaignState,
  NewCampaign,
  NewCampaignRow,
  RowCounts,
  RowRefusal,
  RowStatus,
} from "../model/Campaign.ts"
import type { FirstAnswer, IdempotencyClaim } from "../model/Idempotency.ts"
import type { CampaignId, MessageId, NumberId, WorkspaceId } from "../model/Ids.ts"
import type { Message } from "../model/Message.ts"
import type { PageOf, PageQuery } from "../model/Page.ts"
import type { Pacing } from "../model/Pacing.ts"
import type { Phone } from "../model/Recipient.ts"
import type { StoreUnavailable } from "../model/Refusal.ts"
import type { SendingNumber } from "../model/SendingNumber.ts"
import type { Mode, Workspace } from "../model/Workspace.ts"

/** Of a workspace and mode; a removed campaign is in none. */
export interface CampaignScope {
  readonly workspaceId: WorkspaceId
  readonly mode: Mode
}

export interface CountedCampaign {
  readonly campaign: Campaign
  /** Exact when it was read. */
  readonly rows: RowCounts
}

export type CampaignInsertion =
  | { readonly _tag: "Inserted"; readonly campaign: Campaign }
  /** As many as `max` have not ended. */
  | { readonly _tag: "Full" }
  | { readonly _tag: "Conflict"; readonly guard: "idempotency" }

/** A change of a campaign's state, with what it does to its rows and messages, in one commit. */
export interface CampaignMove {
  readonly id: CampaignId
  /** Guard: of the campaign that was decided on. The move increments it. */
  readonly revision: number
  readonly now: number
  readonly to: Pick<
    Campaign,
    | "state"
    | "stateReason"
    | "isHolding"
    | "asksFromRow"
    | "runningSince"
    | "lookAt"
    | "startedAt"
    | "endedAt"
  >
  /**
   * `hold`: its waiting messages that no transport has in hands leave the queue of their numbers;
   * they stay `queued`, may expire or be cancelled, and count in the quota as before. `release`:
   * they come back in their order. Null: neither.
   */
  readonly messages: "hold" | "release" | null
  /** Pending rows before it become `skipped` with `restored`. */
  readonly skipBefore: number | null
  /** Removes it: it is unknown from then on. */
  readonly isRemoved: boolean
}

/** Rows to append to a draft. */
export interface RowsToAppend {
  readonly id: CampaignId
  /** Guard: the campaign's revision with the settings that the rows were checked with. */
  readonly revision: number
  /** Guard: how many rows it has, those of this upload included. The first new row is the next. */
  readonly after: number
  readonly rows: ReadonlyArray<NewCampaignRow>
  /** The upload that they belong to; null for rows of a call of their own. */
  readonly upload: string | null
  /** Until when the upload may go on without another commit. */
  readonly until: number
  /** Whether they count from this commit on: all of the call or the upload is there. */
  readonly isLast: boolean
  readonly now: number
  /** Finished by the last commit. */
  readonly idempotency: IdempotencyClaim | null
  /** What the claim's record keeps. */
  readonly madeIds: ReadonlyArray<number>
  /** The same, until the campaign is erased. Default: nothing. */
  readonly shown?: FirstAnswer
}

export type RowsAppended =
  | { readonly _tag: "Appended" }
  /**
   * `campaign`: it is not a draft, is gone, or has another revision or other rows. `upload`: another
   * upload is under way.
   */
  | { readonly _tag: "Conflict"; readonly guard: "campaign" | "upload" | "idempotency" }

export interface RowFilter {
  readonly statuses: ReadonlyArray<RowStatus> | null
  readonly code: string | null
  /** Of the recipient, or of the contact when its message was accepted. */
  readonly phone: Phone | null
}

/** Rows in their order, after one of them. */
export interface RowPageQuery {
  readonly after: number | null
  readonly limit: number
}

/** A number that the campaign may use, as far as it decides about taking on. */
export interface CampaignNumber {
  readonly number: SendingNumber
  /** Null unless it is paused now; Infinity without an end. */
  readonly pausedUntil: number | null
  /** Due messages that wait, of any sender, counted up to `fullQueue`. */
  readonly waiting: number
  /** When it became restricted or banned; null unless it is. */
  readonly restrictedSince: number | null
  readonly pacing: Pacing
  /** Grows with each live message that gives its place in the number's 24 hours back. */
  readonly givenBack: number
}

/** All that a look at a campaign reads, besides the facts of an acceptance. */
export interface CampaignCheck {
  readonly campaign: Campaign
  readonly pending: number
  readonly workspace: Workspace
  /** Those of `from`, or all of the workspace, by id, without removed ones. */
  readonly numbers: ReadonlyArray<CampaignNumber>
  /** Due pending rows, by `sendAt` (none first), then row: at most `limit` of each need. */
  readonly rows: ReadonlyArray<CampaignRow>
  /** The earliest `sendAt` of a pending row that is not due. */
  readonly nextRowAt: number | null
  /** The earliest `expiresAt` of a pending row of its own. */
  readonly nextExpiryAt: number | null
  /** Whether a message of it waits, held ones too. */
  readonly hasWaiting: boolean
}

/** When to look at a campaign next, as a look has found; a move or another look replaces it. */
export interface NextCheck {
  /** When no other thing makes it due; null: no time is known. */
  readonly lookAt: number | null
  /** Numbers with rows to take that have `refillQueue` due messages waiting or more. */
  readonly awaits: ReadonlyArray<NumberId>
  /** Full numbers with rows to take, and what the look read of each as `givenBack`. */
  readonly awaitsRoom: ReadonlyArray<{ readonly numberId: NumberId; readonly givenBack: number }>
  /** Whether the plan covers none of the rows to take. */
  readonly awaitsAllowance: boolean
}

/** No time but this one is known, and nothing is awaited. */
export const nextCheckAt = (lookAt: number | null): NextCheck => ({
  lookAt,
  awaits: [],
  awaitsRoom: [],
  awaitsAllowance: false,
})

/** Rows that one commit takes on for a number, refuses, or both. */
export interface CampaignTake {
  readonly id: CampaignId
  /** Guard (`campaign`): it runs, with that revision. Stays as it is. */
  readonly revision: number
  readonly now: number
  /** Of `taken`, in their order; null when all are refused. */
  readonly acceptance: Acceptance | null
  /** Guard (`queue`): so many due messages of the number wait at most, with those taken on. */
  readonly queueLimit: number
  /** Guard (`rows`): all of them, and all of `refused`, are pending. Their values are erased. */
  readonly taken: ReadonlyArray<{ readonly row: number; readonly phone: Phone | null }>
  readonly refused: ReadonlyArray<RowRefusal & { readonly of: number }>
  readonly next: NextCheck
}

/** When another transaction blocks it, nothing is written, and the campaign stays due. */
export type CampaignTaken =
  | { readonly _tag: "Taken"; readonly ids: ReadonlyArray<MessageId> }
  | { readonly _tag: "Conflict"; readonly guard: FailedGuard | "campaign" | "rows" | "queue" }
  | { readonly _tag: "HeldUp" }

export interface CampaignFigures {
  readonly byState: Readonly<Record<CampaignState, number>>
  /** Of campaigns that have not ended. */
  readonly pendingRows: number
  /** The earliest moment at which one was due for a look; null when none is due. */
  readonly dueSince: number | null
}

export interface CampaignStore {
  /** Finishes the claim. Guards: it is still held; fewer than `max` of the scope have not ended. */
  insert(
    campaign: NewCampaign,
    max: number,
    idempotency: IdempotencyClaim | null,
  ): Effect.Effect<CampaignInsertion, StoreUnavailable>
  get(
    scope: CampaignScope,
    id: CampaignId,
    now: number,
  ): Effect.Effect<CountedCampaign | null, StoreUnavailable>
  /** As it was inserted, even if changed or removed since; answers a repeat of its creation. */
  created(id: CampaignId): Effect.Effect<Campaign | null, StoreUnavailable>
  /** Newest first. */
  list(
    scope: CampaignScope,
    filter: { readonly states: ReadonlyArray<CampaignState> | null },
    page: PageQuery,
    now: number,
  ): Effect.Effect<PageOf<CountedCampaign & { readonly id: CampaignId }>, StoreUnavailable>
  /** Replaces the settings, and increments the revision. Guard: the revision; false when not. */
  update(
    id: CampaignId,
    revision: number,
    settings: CampaignSettings,
    lookAt: number | null,
  ): Effect.Effect<boolean, StoreUnavailable>
  /**
   * Appends rows to a draft. Rows of an upload become visible with its last commit; what a broken
   * upload leaves behind goes with the next one, or with housekeeping.
   */
  appendRows(append: RowsToAppend): Effect.Effect<RowsAppended, StoreUnavailable>
  /** Ends an upload without its rows. */
  abandonUpload(id: CampaignId, upload: string): Effect.Effect<void, StoreUnavailable>
  /** The first row of each key, those of this upload included. */
  firstRows(
    id: CampaignId,
    upload: string | null,
    keys: ReadonlyArray<string>,
  ): Effect.Effect<ReadonlyMap<string, number>, StoreUnavailable>
  /** Empties a draft; how many rows it had, or null when the guard, its revision, broke. */
  clearRows(id: CampaignId, revision: number): Effect.Effect<number | null, StoreUnavailable>
  rows(
    id: CampaignId,
    filter: RowFilter,
    page: RowPageQuery,
    now: number,
  ): Effect.Effect<ReadonlyArray<CampaignRow>, StoreUnavailable>
  /** Changes its state. Guard: the revision; false when not. */
  move(move: CampaignMove): Effect.Effect<boolean, StoreUnavailable>
  /**
   * Campaigns to look at: `lookAt` has come, or it runs and nothing of it is pending or waits, or
   * it runs and something that it awaits has come: a number that it `awaits` is not removed, and
   * fewer than `refillQueue` messages wait that were due when the campaign was last looked at; one
   * of `awaitsRoom` is not removed, and has had places given back since; it `awaitsAllowance`, and
   * the plan has some. So what is due does not depend on the clock but by `lookAt`, and a look that
   * takes nothing is not repeated. In turns: the one that was looked at longest ago first.
   */
  due(now: number, limit: number): Effect.Effect<ReadonlyArray<CampaignId>, StoreUnavailable>
  /** By id, without removed ones. */
  check(
    ids: ReadonlyArray<CampaignId>,
    now: number,
    limit: number,
  ): Effect.Effect<ReadonlyArray<CampaignCheck>, StoreUnavailable>
  /**
   * Writes the acceptance as `MessageStore.accept` does, marks its rows, refuses the refused ones
   * and sets when to look again; or nothing. A full number writes no moment until which it is full:
   * its limit is not everybody's. Guards: `campaign`, `rows`, `queue`, then those of `accept`.
   */
  take(take: CampaignTake): Effect.Effect<CampaignTaken, StoreUnavailable>
  /**
   * Ends a look at `now` that took nothing. Guard: the revision. What has woken the campaign since
   * (see `Campaign.lookAt`) is not put off, nor by a take.
   */
  putOff(
    id: CampaignId,
    revision: number,
    next: NextCheck,
    now: number,
  ): Effect.Effect<void, StoreUnavailable>
  /** Pending rows become `expired` once their own time, or without one the campaign's, has passed. */
  expireRows(id: CampaignId, now: number, limit: number): Effect.Effect<number, StoreUnavailable>
  /** Its waiting messages that no transport has in hands, held ones too, by id. */
  waiting(id: CampaignId, limit: number): Effect.Effect<ReadonlyArray<Message>, StoreUnavailable>
  /**
   * Erases name, text and rows of removed campaigns, and rows of unfinished uploads that ended
   * before `now`. What a retention ends goes with `ErasureStore.eraseEnded`.
   */
  forget(now: number): Effect.Effect<void, StoreUnavailable>
  figures(now: number): Effect.Effect<CampaignFigures, StoreUnavailable>
}
