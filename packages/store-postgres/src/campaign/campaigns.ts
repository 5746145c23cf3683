/** Campaigns and their rows. */
import {
  campaignStates,
  erasedAtOnce,
  fullQueue,
  newRow,
  noRows,
  toRowStatus,
  unpaced,
} from "@messaging-service/core"
import type {
  Campaign,
  CampaignFigures,
  CampaignId,
  CampaignInsertion,
  CampaignCheck,
  CampaignMove,
  CampaignNumber,
  CampaignRow,
  CampaignSettings,
  CampaignState,
  CampaignStore,
  CampaignTake,
  CampaignTaken,
  CountedCampaign,
  IdempotencyClaim,
  MessageId,
  MessageStatus,
  NewCampaign,
  NewCampaignRow,
  NextCheck,
  NumberId,
  RowCounts,
  RowRefusal,
  RowsAppended,
  RowStatus,
  RowsToAppend,
  SendingNumber,
} from "@messaging-service/core"
import { Effect } from "effect"
import { isBlockedByLock, lockTimeoutMillis } from "../database/Batcher.ts"
import type { DatabaseService } from "../database/Database.ts"
import { idOrNull, millis, statement, toColumns } from "../database/Sql.ts"
import type { Element, Params, Row } from "../database/Sql.ts"
import { toAcceptParams, toOutcome } from "../message/messages.ts"
import { toMessage } from "../message/toMessage.ts"
import { toPacing } from "../queue/lanes.ts"
import { toClaimParams } from "../request/idempotency.ts"
import { toWorkspace } from "../workspace/workspaces.ts"

// A campaign and a row as their tables keep them.

type Counted = Row<"campaign.get">
type CampaignColumns = Omit<
  Counted,
  "last_row" | "pending" | "refused" | "skipped" | "expired" | "taken"
>

const toCampaign = (row: CampaignColumns): Campaign => ({
  id: Number(row.id) as CampaignId,
  workspaceId: Number(row.workspace_id) as Campaign["workspaceId"],
  mode: row.mode as Campaign["mode"],
  state: row.state as CampaignState,
  stateReason: row.state_reason as Campaign["stateReason"],
  revision: Number(row.revision),
  isHolding: row.is_holding,
  asksFromRow: row.asks_from_row,
  runningSince: millis(row.running_since),
  lookAt: millis(row.look_at),
  createdAt: row.created_at.getTime(),
  startedAt: millis(row.started_at),
  endedAt: millis(row.ended_at),
  name: row.name,
  text: row.text,
  media: row.media as Campaign["media"],
  from: row.number_ids?.map((id) => Number(id) as NumberId) ?? null,
  reference: row.reference,
  timezone: row.timezone as Campaign["timezone"],
  sendAt: millis(row.send_at),
  hours: row.hours as Campaign["hours"],
  expiresAt: millis(row.expires_at),
  quotaReserve: row.quota_reserve,
  defaultCountryCode: row.default_country_code,
  duplicates: row.duplicates as Campaign["duplicates"],
})

/** The rows that were taken on, by the states of their messages. */
type CountsByState = ReadonlyArray<readonly [state: string, count: number]> | null

const waits = "waiting"

/** A message's status without regard to the time: one that waits is `queued`. */
const toStatus = (state: string): RowStatus =>
  toRowStatus((state === waits ? "queued" : state) as MessageStatus)

const toCounts = (row: Counted): RowCounts => {
  const counts: Record<RowStatus | "total", number> = {
    ...noRows,
    total: row.last_row,
    pending: row.pending,
    refused: row.refused,
    skipped: row.skipped,
    expired: row.expired,
  }
  for (const [state, count] of (row.taken as CountsByState) ?? []) counts[toStatus(state)] += count
  return counts
}

const toCounted = (row: Counted): CountedCampaign & { readonly id: CampaignId } => {
  const campaign = toCampaign(row)
  return { id: campaign.id, campaign, rows: toCounts(row) }
}

const toRefusal = ({
  code,
  field,
  first_row: row,
}: Pick<Row<"list_campaign_rows">, "code" | "field" | "first_row">): RowRefusal | null =>
  code === null ? null : { code: code as RowRefusal["code"], field, row }

const toRow = (row: Row<"list_campaign_rows">): CampaignRow => ({
  row: row.place,
  line: row.line,
  to: row.recipient as CampaignRow["to"],
  needs: row.needs as CampaignRow["needs"],
  recipientKey: row.recipient_key,
  phone: row.phone as CampaignRow["phone"],
  values: row.row_values as CampaignRow["values"],
  sendAt: millis(row.send_at),
  expiresAt: millis(row.expires_at),
  state: row.state as CampaignRow["state"],
  refusal: toRefusal(row),
  status: row.status as RowStatus,
  messageId: idOrNull<MessageId>(row.message_id),
  sentText: row.sent_text,
  numberId: idOrNull<NumberId>(row.number_id),
  takenOnAt: millis(row.taken_on_at),
  sentAt: millis(row.sent_at),
  deliveredAt: millis(row.delivered_at),
  readAt: millis(row.read_at),
  error:
    row.error_code === null ? null : { code: row.error_code, message: row.error_message ?? "" },
})

const toSettings = (settings: CampaignSettings) => ({
  name: settings.name,
  text: settings.text,
  media: settings.media,
  numberIds: settings.from,
  reference: settings.reference,
  timezone: settings.timezone,
  sendAt: settings.sendAt,
  hours: settings.hours,
  expiresAt: settings.expiresAt,
  quotaReserve: settings.quotaReserve,
  defaultCountryCode: settings.defaultCountryCode,
  duplicates: settings.duplicates,
})

const toNewCampaign = (
  campaign: NewCampaign,
  most: number,
  claim: IdempotencyClaim | null,
): Params<"insert_campaign"> => ({
  workspaceId: campaign.workspaceId,
  mode: campaign.mode,
  state: campaign.state,
  stateReason: campaign.stateReason,
  isHolding: campaign.isHolding,
  asksFromRow: campaign.asksFromRow,
  runningSince: campaign.runningSince,
  lookAt: campaign.lookAt,
  createdAt: campaign.createdAt,
  startedAt: campaign.startedAt,
  endedAt: campaign.endedAt,
  ...toSettings(campaign),
  original: campaign,
  most,
  ...toClaimParams(claim),
})

const toCreated = ({ id, original }: Row<"campaign.made">): Campaign | null =>
  original === null
    ? null
    : { ...(original as NewCampaign), id: Number(id) as CampaignId, revision: 1 }

type RowElement = Element<"append_campaign_rows", "r">

const toRowElement = (row: NewCampaignRow): RowElement => ({
  rRow: row.row,
  rLine: row.line,
  rRecipient: row.to,
  rNeeds: row.needs,
  rRecipientKey: row.recipientKey,
  rPhone: row.phone,
  rValues: row.values,
  rSendAt: row.sendAt,
  rExpiresAt: row.expiresAt,
  rState: row.state,
  rCode: row.refusal?.code ?? null,
  rField: row.refusal?.field ?? null,
  rFirstRow: row.refusal?.row ?? null,
})

const toAppend = (append: RowsToAppend): Params<"append_campaign_rows"> => ({
  id: append.id,
  revision: append.revision,
  after: append.after,
  upload: append.upload,
  until: append.until,
  isLast: append.isLast,
  now: append.now,
  madeIds: append.madeIds,
  shown: append.shown ?? null,
  ...toClaimParams(append.idempotency),
  ...toColumns(append.rows.map(toRowElement)),
})

const toMove = ({ messages, to, ...move }: CampaignMove): Params<"move_campaign"> => ({
  ...to,
  id: move.id,
  revision: move.revision,
  now: move.now,
  messages,
  skipBefore: move.skipBefore,
  isRemoved: move.isRemoved,
})

const toNext = ({ awaitsRoom, ...next }: NextCheck) => ({
  ...next,
  awaitsRoom: awaitsRoom.map(({ numberId }) => numberId),
  awaitsGivenBack: awaitsRoom.map(({ givenBack }) => givenBack),
})

const toTake = (take: CampaignTake): Params<"take_campaign_rows"> => {
  const next = toNext(take.next)
  return {
    cId: take.id,
    cRevision: take.revision,
    cNow: take.now,
    cQueueLimit: take.queueLimit,
    cLookAt: next.lookAt,
    cAwaits: next.awaits,
    cAwaitsRoom: next.awaitsRoom,
    cAwaitsGivenBack: next.awaitsGivenBack,
    cAwaitsAllowance: next.awaitsAllowance,
    ...toColumns(take.taken.map(({ phone, row }) => ({ tRow: row, tPhone: phone }))),
    ...toColumns(
      take.refused.map(({ code, field, of, row }) => ({
        rRow: of,
        rCode: code,
        rField: field,
        rFirstRow: row,
      })),
    ),
    ...toAcceptParams(take.acceptance === null ? [] : [take.acceptance], lockTimeoutMillis),
  }
}

// A look: its numbers and rows come as JSON.

interface LookedNumber {
  readonly number: SendingNumber
  readonly isPaused: boolean | null
  readonly pausedUntil: number | null
  readonly waiting: number
  readonly restrictedSince: number | null
  readonly pacing: ReadonlyArray<number | null> | null
  readonly givenBack: number
}

const toLookedNumber = ({
  isPaused,
  pacing,
  pausedUntil,
  ...one
}: LookedNumber): CampaignNumber => ({
  ...one,
  pausedUntil: isPaused === true ? (pausedUntil ?? Infinity) : null,
  pacing: toPacing(pacing) ?? unpaced,
})

type LookedRow = Omit<NewCampaignRow, "refusal" | "state">

const toLookedRow = (row: LookedRow): CampaignRow =>
  newRow({ ...row, state: "pending", refusal: null })

const toCheck = (row: Row<"campaign.look">): CampaignCheck => ({
  campaign: toCampaign(row),
  pending: row.pending,
  workspace: toWorkspace(row),
  numbers: ((row.numbers as ReadonlyArray<LookedNumber> | null) ?? []).map(toLookedNumber),
  rows: ((row.rows as ReadonlyArray<LookedRow> | null) ?? []).map(toLookedRow),
  nextRowAt: millis(row.next_row_at),
  nextExpiryAt: millis(row.next_expiry_at),
  hasWaiting: row.has_waiting,
})

const insertCampaign = statement("insert_campaign")
const getCampaign = statement("campaign.get")
const createdCampaign = statement("campaign.made")
const listCampaigns = statement("campaign.list")
const updateCampaign = statement("campaign.update")
const appendRows = statement("append_campaign_rows")
const abandonUpload = statement("campaign.abandonUpload")
const firstRows = statement("campaign.firstRows")
const clearRows = statement("clear_campaign_rows")
const listRows = statement("list_campaign_rows")
const moveCampaign = statement("move_campaign")
const dueCampaigns = statement("campaign.due")
const checkCampaigns = statement("campaign.look")
const takeRows = statement("take_campaign_rows")
const putOffCampaign = statement("campaign.putOff")
const expireRows = statement("expire_campaign_rows")
const waitingMessages = statement("campaign.waiting")
const settled = statement("campaign.settled")
const brokenUploads = statement("campaign.uploads")
const endUploads = statement("campaign.endUploads")
const removedRows = statement("campaign.removedRows")
const removedCampaigns = statement("campaign.removed")
const countCampaigns = statement("campaign.figures")
const dueSince = statement("campaign.dueSince")

const toTaken = (row: Row<"take_campaign_rows"> | undefined): CampaignTaken => {
  if (row === undefined) return { _tag: "Conflict", guard: "campaign" }
  const outcome = toOutcome<"campaign" | "rows" | "queue">(row)
  return outcome._tag === "Conflict" ? outcome : { _tag: "Taken", ids: outcome.ids }
}

const readFigures = (database: DatabaseService, now: number) =>
  Effect.gen(function* () {
    const rows = yield* countCampaigns.rows(database, {})
    const byState = Object.fromEntries(campaignStates.map((state) => [state, 0])) as Record<
      CampaignState,
      number
    >
    let pendingRows = 0
    for (const row of rows) {
      byState[row.state as CampaignState] = Number(row.campaigns)
      pendingRows += Number(row.pending)
    }
    const due = yield* dueSince.one(database, { now }, (row) => millis(row.due))
    const figures: CampaignFigures = { byState, pendingRows, dueSince: due }
    return figures
  })

/** The callers' operations. */
const callersOperations = (
  database: DatabaseService,
): Pick<
  CampaignStore,
  | "insert"
  | "get"
  | "created"
  | "list"
  | "update"
  | "appendRows"
  | "abandonUpload"
  | "firstRows"
  | "clearRows"
  | "rows"
> => ({
  insert(campaign, max, claim) {
    const params = toNewCampaign(campaign, max, claim)
    return insertCampaign.one(database, params, ({ guard, id }): CampaignInsertion => {
      if (guard === "full") return { _tag: "Full" }
      if (id === null) return { _tag: "Conflict", guard: "idempotency" }
      const created = { ...campaign, id: Number(id) as CampaignId, revision: 1 }
      return { _tag: "Inserted", campaign: created }
    })
  },
  get(scope, id) {
    return getCampaign.first(database, { ...scope, id }, (row) => {
      const { campaign, rows } = toCounted(row)
      return { campaign, rows }
    })
  },
  created(id) {
    return createdCampaign.first(database, { id }, toCreated)
  },
  list(scope, { states }, page) {
    return listCampaigns.page(database, scope.workspaceId, { ...scope, states, ...page }, toCounted)
  },
  update(id, revision, settings, lookAt) {
    return updateCampaign.any(database, { ...toSettings(settings), id, revision, lookAt })
  },
  appendRows(append) {
    return Effect.map(appendRows.value(database, toAppend(append)), (guard): RowsAppended =>
      guard === null
        ? { _tag: "Appended" }
        : { _tag: "Conflict", guard: guard as "campaign" | "upload" | "idempotency" },
    )
  },
  abandonUpload(id, upload) {
    return abandonUpload.run(database, { id, upload })
  },
  firstRows(id, upload, keys) {
    return Effect.map(
      firstRows.rows(database, { id, upload, keys }),
      (rows) => new Map(rows.map(({ key, row }) => [key, row])),
    )
  },
  clearRows(id, revision) {
    return clearRows.value(database, { id, revision })
  },
  rows(id, { code, phone, statuses }, { after, limit }) {
    const params = { id, code, phone, statuses, after: after ?? 0, limit }
    return listRows.all(database, params, toRow)
  },
})

/** The worker's operations. */
const workersOperations = (
  database: DatabaseService,
): Omit<CampaignStore, keyof ReturnType<typeof callersOperations>> => ({
  move(move) {
    return moveCampaign.isTrue(database, toMove(move))
  },
  due(now, limit) {
    return dueCampaigns.all(database, { now, limit }, ({ id }) => Number(id) as CampaignId)
  },
  check(ids, now, limit) {
    return checkCampaigns.all(database, { ids, now, limit, fullQueue }, toCheck)
  },
  take(take) {
    return takeRows.rows(database, toTake(take)).pipe(
      Effect.map(([row]) => toTaken(row)),
      Effect.catchIf(isBlockedByLock, () => Effect.succeed<CampaignTaken>({ _tag: "HeldUp" })),
    )
  },
  putOff(id, revision, next, now) {
    return putOffCampaign.run(database, { id, revision, ...toNext(next), now })
  },
  expireRows(id, now, limit) {
    return Effect.map(expireRows.value(database, { id, now, limit }), (count) => count ?? 0)
  },
  waiting(id, limit) {
    return waitingMessages.all(database, { id, limit }, toMessage)
  },
  forget(now) {
    const limit = erasedAtOnce
    return Effect.gen(function* () {
      yield* settled.run(database, {})
      yield* brokenUploads.untilDone(database, { now, limit })
      yield* endUploads.run(database, { now })
      yield* removedRows.untilDone(database, { limit })
      yield* removedCampaigns.run(database, { now })
    })
  },
  figures(now) {
    return readFigures(database, now)
  },
})

export const campaignStore = (database: DatabaseService): CampaignStore => ({
  ...callersOperations(database),
  ...workersOperations(database),
})
