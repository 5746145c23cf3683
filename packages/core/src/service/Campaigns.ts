/**
 * Campaigns for operators, portals and programs (campaigns: 1 to 8): drafts and their rows, start,
 * pause, resume and stop, results and forecast.
 */
import { Context } from "effect"
import type { Effect, Stream } from "effect"
import type {
  Campaign,
  CampaignRow,
  CampaignState,
  RowCounts,
  RowStatus,
} from "../model/Campaign.ts"
import type { IdempotencyKey } from "../model/Idempotency.ts"
import type { CampaignId, NumberId, WorkspaceId } from "../model/Ids.ts"
import type { CursorPage, ListPage } from "../model/Page.ts"
import type { Code, Failure, StoreUnavailable } from "../model/Refusal.ts"
import type { Mode, Role } from "../model/Workspace.ts"
import type { IdempotentResult } from "./makeIdempotent.ts"

/** Why no row is taken on now, in the order of the answer (campaigns: 2). */
export const campaignWaitReasons = [
  "disabled",
  "demo",
  "scheduled",
  "hours",
  "no_credits",
  "not_connected",
  "number_paused",
  "quota",
  "sending",
] as const

export interface CampaignWait {
  readonly reason: (typeof campaignWaitReasons)[number]
  /** Epoch milliseconds; null where no time is known. */
  readonly until: number | null
}

/** A campaign as callers see it. */
export interface CampaignView extends Campaign {
  readonly rows: RowCounts
  /** Null unless `scheduled` or `running`. */
  readonly waitsFor: ReadonlyArray<CampaignWait> | null
  readonly finishesAt: number | null
}

/** A row as callers see it. */
export interface CampaignRowView extends Omit<CampaignRow, "error"> {
  /** As it would be sent or was sent; null when refused, and once it was erased. */
  readonly text: string | null
  readonly problem: {
    readonly code: string
    readonly message: string
    readonly field: string | null
    readonly row: number | null
  } | null
}

/** What a call added to a draft. */
export interface RowsAdded {
  readonly firstRow: number
  readonly lastRow: number
  readonly pending: number
  readonly refused: number
  /** The first 100 refused ones. */
  readonly problems: ReadonlyArray<CampaignRowView>
}

export interface ListCampaigns extends ListPage {
  readonly state?: CampaignState | ReadonlyArray<CampaignState> | undefined
}

export interface ListCampaignRows extends ListPage {
  readonly status?: RowStatus | ReadonlyArray<RowStatus> | undefined
  readonly code?: string | undefined
  readonly to?: string | undefined
}

export interface CampaignForecast {
  /** Pending rows. */
  readonly rows: number
  readonly allowance: { readonly remaining: number | null; readonly missing: number }
  readonly numbers: ReadonlyArray<{
    readonly numberId: NumberId
    readonly usable: boolean
    readonly room: number
    readonly rows: number
  }>
  readonly startsAt: number | null
  readonly finishesAt: number | null
  readonly waitsFor: ReadonlyArray<CampaignWait> | null
}

/** A CSV file that comes in pieces. */
export interface RowsUpload {
  /** The query's `to_column`. */
  readonly toColumn: string | null
  readonly content: Stream.Stream<Uint8Array, Failure<Code>>
}

/** The campaign's owner: a workspace, in one mode. */
type Of = readonly [role: Role, workspaceId: WorkspaceId | undefined, mode: Mode]

/** What each method may fail with is in the document of its operation. */
type Failing<A> = Effect.Effect<A, Failure<Code> | StoreUnavailable>

export class Campaigns extends Context.Service<
  Campaigns,
  {
    /** POST …/campaigns: a draft. `command` is a CampaignInput (`CampaignBody`), in camelCase. */
    create(
      ...args: readonly [...of: Of, command: unknown, idempotency: IdempotencyKey | null]
    ): Failing<IdempotentResult<CampaignView>>
    /** GET …/campaigns: newest first. */
    list(...args: readonly [...of: Of, query: ListCampaigns]): Failing<CursorPage<CampaignView>>
    get(...args: readonly [...of: Of, id: CampaignId | undefined]): Failing<CampaignView>
    /** PATCH: the given fields (`CampaignChangeBody`). */
    update(
      ...args: readonly [...of: Of, id: CampaignId | undefined, command: unknown]
    ): Failing<CampaignView>
    /** DELETE: as `stop`, and the campaign is unknown. */
    remove(...args: readonly [...of: Of, id: CampaignId | undefined]): Failing<CampaignId>
    /** POST …/rows in JSON (`RowsBody`). */
    addRows(
      ...args: readonly [
        ...of: Of,
        id: CampaignId | undefined,
        command: unknown,
        idempotency: IdempotencyKey | null,
      ]
    ): Failing<IdempotentResult<RowsAdded>>
    /** POST …/rows with a file: taken whole or not at all. */
    uploadRows(
      ...args: readonly [
        ...of: Of,
        id: CampaignId | undefined,
        upload: RowsUpload,
        idempotency: IdempotencyKey | null,
      ]
    ): Failing<IdempotentResult<RowsAdded>>
    /** DELETE …/rows: how many rows a draft had. */
    clearRows(...args: readonly [...of: Of, id: CampaignId | undefined]): Failing<number>
    /** GET …/rows: in the order of `row`. */
    rows(
      ...args: readonly [...of: Of, id: CampaignId | undefined, query: ListCampaignRows]
    ): Failing<CursorPage<CampaignRowView>>
    row(
      ...args: readonly [...of: Of, id: CampaignId | undefined, row: number | undefined]
    ): Failing<CampaignRowView>
    /** GET …/results.csv: the file in pieces; fails before the first piece or not at all. */
    results(
      ...args: readonly [
        ...of: Of,
        id: CampaignId | undefined,
        query: Pick<ListCampaignRows, "status">,
      ]
    ): Failing<Stream.Stream<string, StoreUnavailable>>
    forecast(...args: readonly [...of: Of, id: CampaignId | undefined]): Failing<CampaignForecast>
    start(...args: readonly [...of: Of, id: CampaignId | undefined]): Failing<CampaignView>
    pause(...args: readonly [...of: Of, id: CampaignId | undefined]): Failing<CampaignView>
    /** `command` may name `fromRow` (`ResumeBody`). */
    resume(
      ...args: readonly [...of: Of, id: CampaignId | undefined, command: unknown]
    ): Failing<CampaignView>
    stop(...args: readonly [...of: Of, id: CampaignId | undefined]): Failing<CampaignView>
  }
>()("core/Campaigns") {}
