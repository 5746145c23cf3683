/**
 * Adds rows to the draft of a campaign: those of a call, or of a file that comes in pieces and is taken
 * whole or not at all (campaigns: 1 and 3).
 */
import { Clock, Effect, Result, Stream } from "effect"
import { maximumCampaignRows, newRow } from "../model/Campaign.ts"
import type { Campaign, NewCampaignRow } from "../model/Campaign.ts"
import { checksRowsAlike } from "../model/CampaignInput.ts"
import type { GivenRow } from "../model/CampaignInput.ts"
import { dropDuplicates, recipientKeys, rowChecker } from "../model/campaignRows.ts"
import type { FirstAnswer, IdempotencyClaim } from "../model/Idempotency.ts"
import type { CampaignId } from "../model/Ids.ts"
import { CsvReader, rowsOfColumns } from "../model/readCsv.ts"
import type { CsvResult, ReadRow } from "../model/readCsv.ts"
import { refuse } from "../model/Refusal.ts"
import type { Code, Failure, Refusal } from "../model/Refusal.ts"
import type {
  CampaignScope,
  CampaignStore,
  CountedCampaign,
  RowsToAppend,
} from "../store/CampaignStore.ts"
import type { RowsAdded, RowsUpload } from "./Campaigns.ts"
import { rowView } from "./campaignViews.ts"

/** Decisions to try while others change the campaign. */
const attempts = 10

/** Rows of a file that one commit appends. */
const rowsOfCommit = 5000

/** How long an upload may go on without another commit. */
const uploadMillis = 120_000

/** Refused rows that an answer shows. */
const problemsShown = 100

type AddedRecord = Pick<RowsToAppend, "madeIds" | "shown">

/** A campaign, as a call names it. */
export interface CampaignLocation {
  readonly store: CampaignStore
  readonly scope: CampaignScope
  readonly id: CampaignId | undefined
}

/** Fails with `campaign_not_found`. */
export const findCampaign = Effect.fnUntraced(function* findCampaign({
  id,
  scope,
  store,
}: CampaignLocation): Effect.fn.Return<CountedCampaign, Failure<"campaign_not_found">> {
  const now = yield* Clock.currentTimeMillis
  const found = id === undefined ? null : yield* store.get(scope, id, now)
  return found ?? (yield* refuse("campaign_not_found"))
})

/** Rows are added to a draft alone, and taken from it. */
export const findDraft = Effect.fnUntraced(function* findDraft(
  place: CampaignLocation,
): Effect.fn.Return<CountedCampaign, Failure<"campaign_not_found" | "campaign_started">> {
  const found = yield* findCampaign(place)
  return found.campaign.state === "draft" ? found : yield* refuse("campaign_started")
})

const refusedIn = (rows: ReadonlyArray<NewCampaignRow>): ReadonlyArray<NewCampaignRow> =>
  rows.filter(({ state }) => state === "refused")

/** What a repeat of the call is answered from: the rows may be gone by then, and others in their place. */
const addedRecord = (
  id: CampaignId,
  firstRow: number,
  lastRow: number,
  refused: number,
  problems: ReadonlyArray<NewCampaignRow>,
): AddedRecord => ({
  madeIds: [-id, firstRow, lastRow, refused],
  ...(problems.length > 0 && {
    shown: {
      problems: problems.slice(0, problemsShown).map((row) => ({ ...row, values: null })),
    },
  }),
})

const addedRows = ({
  madeIds: [, firstRow = 0, lastRow = 0, refused = 0],
  shown,
}: AddedRecord): RowsAdded => ({
  firstRow,
  lastRow,
  pending: lastRow - firstRow + 1 - refused,
  refused,
  problems:
    shown !== undefined && "problems" in shown
      ? shown.problems.map((row) =>
          rowView("", newRow({ ...(row as NewCampaignRow), state: "refused" })),
        )
      : [],
})

const requireRoom = (count: number): Result.Result<void, Refusal<"too_many_rows">> =>
  count > maximumCampaignRows
    ? Result.fail(refuse("too_many_rows", { field: "rows" }))
    : Result.void

/** Checks the rows, which follow those that the campaign has. */
const checkRows = Effect.fnUntraced(function* checkRows(
  store: CampaignStore,
  campaign: Campaign,
  input: ReadonlyArray<GivenRow>,
  after: number,
  upload: string | null,
  now: number,
) {
  const check = rowChecker(campaign, now)
  const rows = input.map((row, index) => check(row, after + index + 1))
  if (campaign.duplicates === "keep") return rows
  return dropDuplicates(rows, yield* store.firstRows(campaign.id, upload, recipientKeys(rows)))
})

type AppendCode = "upload_in_progress" | "idempotency_in_progress"

/** Whether they were appended; not when the campaign stopped being such a draft. */
const append = Effect.fnUntraced(function* append(
  store: CampaignStore,
  rows: RowsToAppend,
): Effect.fn.Return<boolean, Failure<AppendCode>> {
  const appended = yield* store.appendRows(rows)
  if (appended._tag === "Appended") return true
  if (appended.guard === "campaign") return false
  return yield* appended.guard === "upload"
    ? refuse("upload_in_progress", { retryAfter: 1 })
    : refuse("idempotency_in_progress", { retryAfter: 1 })
})

/** Adds the rows of one call. */
export const addRows = Effect.fnUntraced(function* addRows(
  place: CampaignLocation,
  input: ReadonlyArray<GivenRow>,
  idempotency: IdempotencyClaim | null,
) {
  const { store } = place
  for (let attempt = 0; attempt < attempts; attempt++) {
    const { campaign, rows: counts } = yield* findDraft(place)
    const after = counts.total
    yield* Effect.fromResult(requireRoom(after + input.length))
    const now = yield* Clock.currentTimeMillis
    const rows = yield* checkRows(store, campaign, input, after, null, now)
    const refused = refusedIn(rows)
    const { id } = campaign
    const record = addedRecord(id, after + 1, after + rows.length, refused.length, refused)
    const isAdded = yield* append(store, {
      id,
      revision: campaign.revision,
      after,
      rows,
      upload: null,
      until: now,
      isLast: true,
      now,
      idempotency,
      ...record,
    })
    if (isAdded) return addedRows(record)
  }
  return yield* refuse("service_unavailable", { retryAfter: 1 })
})

/** An upload in progress. */
interface Upload {
  readonly place: CampaignLocation
  campaign: Campaign
  /** Rows that the campaign had before. */
  readonly before: number
  readonly token: string
  readonly toColumn: string | null
  readonly reader: CsvReader
  toRow: ReadRow | null
  /** Rows that no commit has appended. */
  held: ReadonlyArray<GivenRow>
  appended: number
  refused: number
  problems: ReadonlyArray<NewCampaignRow>
}

type UploadCode =
  | AppendCode
  | "invalid_csv"
  | "column_not_found"
  | "too_many_rows"
  | "campaign_started"

/** Appends some of the rows that are held, or none at its begin, so that no other upload begins. */
const appendHeld = Effect.fnUntraced(function* appendHeld(
  upload: Upload,
  isLast: boolean,
  idempotency: IdempotencyClaim | null,
): Effect.fn.Return<AddedRecord | null, Failure<UploadCode>> {
  const { before, campaign, place, token } = upload
  const input = upload.held.slice(0, rowsOfCommit)
  const after = before + upload.appended
  const now = yield* Clock.currentTimeMillis
  const rows = yield* checkRows(place.store, campaign, input, after, token, now)
  const refused = refusedIn(rows)
  const refusedCount = upload.refused + refused.length
  const problems = [...upload.problems, ...refused].slice(0, problemsShown)
  const record = addedRecord(campaign.id, before + 1, after + rows.length, refusedCount, problems)
  const isAppended = yield* append(place.store, {
    id: campaign.id,
    revision: campaign.revision,
    after,
    rows,
    upload: token,
    until: now + uploadMillis,
    isLast,
    now,
    idempotency: isLast ? idempotency : null,
    ...(isLast ? record : { madeIds: [] }),
  })
  if (!isAppended) return null
  upload.held = upload.held.slice(input.length)
  upload.appended += rows.length
  upload.refused = refusedCount
  upload.problems = problems
  return record
})

/**
 * Appends some of the rows of an upload in progress: the draft may have been started or emptied. A
 * change of settings that its rows were not checked with does not matter.
 */
const goOn = Effect.fnUntraced(function* goOn(
  upload: Upload,
  isLast: boolean,
  idempotency: IdempotencyClaim | null,
) {
  for (let attempt = 0; attempt < attempts; attempt++) {
    const record = yield* appendHeld(upload, isLast, idempotency)
    if (record !== null) return record
    const { campaign } = yield* findDraft(upload.place)
    const before = upload.campaign
    if (campaign.revision === before.revision || !checksRowsAlike(campaign, before)) break
    upload.campaign = campaign
  }
  return yield* refuse("upload_in_progress", { retryAfter: 1 })
})

const openUpload = Effect.fnUntraced(function* openUpload(
  place: CampaignLocation,
  toColumn: string | null,
  token: string,
): Effect.fn.Return<Upload, Failure<UploadCode | "campaign_not_found" | "service_unavailable">> {
  for (let attempt = 0; attempt < attempts; attempt++) {
    const { campaign, rows } = yield* findDraft(place)
    const upload: Upload = {
      place,
      campaign,
      before: rows.total,
      token,
      toColumn,
      reader: new CsvReader(),
      toRow: null,
      held: [],
      appended: 0,
      refused: 0,
      problems: [],
    }
    if ((yield* appendHeld(upload, false, null)) !== null) return upload
  }
  return yield* refuse("service_unavailable", { retryAfter: 1 })
})

const takeRows = (upload: Upload, read: CsvResult): Result.Result<void, Refusal<UploadCode>> =>
  Result.gen(function* () {
    const rows = yield* read
    const { columns } = upload.reader
    if (columns === null) return
    const toRow = upload.toRow ?? (yield* rowsOfColumns(columns, upload.toColumn))
    upload.toRow = toRow
    const more: Array<GivenRow> = []
    for (const row of rows) more.push(yield* toRow(row))
    upload.held = [...upload.held, ...more]
    yield* requireRoom(upload.before + upload.appended + upload.held.length)
  })

/** One row is left for the last commit at least. */
const take = Effect.fnUntraced(function* take(upload: Upload, read: CsvResult) {
  yield* Effect.fromResult(takeRows(upload, read))
  while (upload.held.length > rowsOfCommit) yield* goOn(upload, false, null)
})

/** Adds the rows of a file; one that is interrupted leaves nothing behind. */
export const uploadRows = Effect.fnUntraced(function* uploadRows(
  place: CampaignLocation,
  { content, toColumn }: RowsUpload,
  token: string,
  idempotency: IdempotencyClaim | null,
): Effect.fn.Return<RowsAdded, Failure<Code>> {
  const upload = yield* openUpload(place, toColumn, token)
  const finished = Effect.gen(function* () {
    const reading = Stream.runForEach(content, (piece) => take(upload, upload.reader.next(piece)))
    yield* Effect.interruptible(reading)
    yield* take(upload, upload.reader.end())
    return yield* goOn(upload, true, idempotency)
  })
  const record = yield* Effect.onError(finished, () =>
    Effect.ignore(place.store.abandonUpload(upload.campaign.id, token)),
  )
  return addedRows(record)
}, Effect.uninterruptible)

/** The first answer to a call that added rows. */
export const addedBefore = Effect.fnUntraced(function* addedBefore(
  place: CampaignLocation,
  madeIds: ReadonlyArray<number>,
  shown: FirstAnswer | undefined,
): Effect.fn.Return<RowsAdded, Failure<"campaign_not_found">> {
  yield* findCampaign(place)
  return addedRows(shown === undefined ? { madeIds } : { madeIds, shown })
})
