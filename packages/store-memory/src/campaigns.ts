/** `CampaignStore` in memory. */
import {
  campaignStates,
  hasCampaignEnded,
  fullQueue,
  isVisibleTo,
  messagesRemaining,
  nextCheckAt,
  pausedUntil,
  refillQueue,
  restrictedSince,
  noRows,
  toRowStatus,
  statusAt,
  unpaced,
} from "@messaging-service/core"
import type {
  Campaign,
  CampaignFigures,
  CampaignId,
  CampaignCheck,
  CampaignMove,
  CampaignNumber,
  CampaignRow,
  CampaignScope,
  CampaignState,
  CampaignStore,
  CampaignTake,
  CampaignTaken,
  CountedCampaign,
  MessageId,
  NewCampaignRow,
  NextCheck,
  RowCounts,
  RowFilter,
  RowNeeds,
  RowRefusal,
  RowsAppended,
  RowStatus,
  RowsToAppend,
  WorkspaceId,
} from "@messaging-service/core"
import { Effect, Record } from "effect"
import { earliest, newestFirst } from "./collections.ts"
import type { Steps } from "./collections.ts"
import { holdMessages, isLeased, releaseMessages, abandonMessages } from "./lanes.ts"
import { accept } from "./messages.ts"
import { finishClaim, forgetShown, isLost, toMessage } from "./tables.ts"
import type { CampaignEntry, Lane, MessageRow, RowEntry, Tables, WorkspaceRow } from "./tables.ts"

/** Unless it was removed. */
const findEntry = (tables: Tables, id: CampaignId): CampaignEntry | undefined => {
  const entry = tables.campaigns.get(id)
  return entry === undefined || entry.removed ? undefined : entry
}

const entryAt = (tables: Tables, id: CampaignId, revision: number): CampaignEntry | undefined => {
  const entry = findEntry(tables, id)
  return entry?.campaign.revision === revision ? entry : undefined
}

const isIn = ({ mode, workspaceId }: CampaignScope, { campaign }: CampaignEntry): boolean =>
  campaign.workspaceId === workspaceId && campaign.mode === mode

/** Those that count, without rows of an upload that has not ended. */
const getRows = ({ count, rows }: CampaignEntry): ReadonlyArray<RowEntry> =>
  rows.length === count ? rows : rows.slice(0, count)

const change = (entry: CampaignEntry, to: Partial<Campaign>): void => {
  entry.campaign = { ...entry.campaign, ...to, revision: entry.campaign.revision + 1 }
}

// Rows.

/** A pending row of a stopped campaign was skipped with it. */
const isStopped = ({ campaign }: CampaignEntry, { row }: RowEntry): boolean =>
  row.state === "pending" && campaign.state === "stopped"

const stopped: RowRefusal = { code: "stopped", field: null, row: null }

const getStatus = (entry: CampaignEntry, one: RowEntry): RowStatus => {
  const { lastStatus, message, row } = one
  if (message !== null) return toRowStatus(statusAt(message.message, Infinity))
  if (lastStatus !== null) return lastStatus
  if (isStopped(entry, one)) return "skipped"
  return row.state === "taken" ? "queued" : row.state
}

/** The row as it is read. */
const readRow = (entry: CampaignEntry, one: RowEntry): CampaignRow => {
  const { message, row, takenOnAt } = one
  const reported = message?.message ?? null
  const isSkipped = isStopped(entry, one)
  return {
    ...row,
    state: isSkipped ? "skipped" : row.state,
    refusal: isSkipped ? stopped : row.refusal,
    status: getStatus(entry, one),
    messageId: reported?.id ?? null,
    sentText: reported?.text ?? null,
    numberId: one.numberId,
    takenOnAt,
    sentAt: reported?.sentAt ?? null,
    deliveredAt: message?.deliveredAt ?? null,
    readAt: message?.readAt ?? null,
    error: reported?.error ?? null,
  }
}

const countRows = (entry: CampaignEntry): RowCounts => {
  const counts: Record<RowStatus | "total", number> = { ...noRows }
  for (const one of getRows(entry)) {
    counts.total++
    counts[getStatus(entry, one)]++
  }
  return counts
}

const counted = (entry: CampaignEntry): CountedCampaign => ({
  campaign: entry.campaign,
  rows: countRows(entry),
})

const passes = ({ code, phone, statuses }: RowFilter, row: CampaignRow): boolean =>
  (statuses === null || statuses.includes(row.status)) &&
  (code === null || code === (row.error?.code ?? row.refusal?.code)) &&
  (phone === null || phone === row.phone)

const isPending = ({ row }: RowEntry): boolean => row.state === "pending"

const getPending = (entry: CampaignEntry): ReadonlyArray<RowEntry> =>
  hasCampaignEnded(entry.campaign) ? [] : getRows(entry).filter(isPending)

/** Writes a row that no longer waits. */
const settleRow = (one: RowEntry, to: Partial<NewCampaignRow>): void => {
  one.row = { ...one.row, ...to }
}

const newEntry = (row: NewCampaignRow): RowEntry => ({
  row,
  message: null,
  numberId: null,
  takenOnAt: null,
  lastStatus: null,
})

/** The rows of an interrupted upload, or of none. */
const dropUpload = (entry: CampaignEntry): void => {
  entry.upload = null
  entry.rows.length = entry.count
}

const append = (tables: Tables, input: RowsToAppend): RowsAppended => {
  const { after, idempotency, isLast, now, rows, until, upload } = input
  if (isLost(tables, idempotency)) return { _tag: "Conflict", guard: "idempotency" }
  const entry = findEntry(tables, input.id)
  if (entry?.campaign.state !== "draft" || entry.campaign.revision !== input.revision) {
    return { _tag: "Conflict", guard: "campaign" }
  }
  const isGoingOn = upload !== null && entry.upload?.name === upload
  if (!isGoingOn && entry.upload !== null && entry.upload.until > now) {
    return { _tag: "Conflict", guard: "upload" }
  }
  if (after !== (isGoingOn ? entry.rows.length : entry.count)) {
    return { _tag: "Conflict", guard: "campaign" }
  }
  if (!isGoingOn) dropUpload(entry)
  for (const row of rows) entry.rows.push(newEntry(row))
  entry.upload = upload === null || isLast ? null : { name: upload, until }
  if (!isLast) return { _tag: "Appended" }
  entry.count = entry.rows.length
  change(entry, {})
  finishClaim(tables, idempotency, input.madeIds, input.shown)
  return { _tag: "Appended" }
}

type CampaignStoreSteps = Steps<CampaignStore>

/** The records. */
const recordSteps = (
  tables: Tables,
): Pick<CampaignStoreSteps, "insert" | "get" | "created" | "list" | "update"> => ({
  insert: (input, max, idempotency) => {
    if (isLost(tables, idempotency)) return { _tag: "Conflict", guard: "idempotency" }
    const owner = tables.workspaces.get(input.workspaceId)
    if (owner === undefined) return Effect.die(new Error("a campaign needs a workspace"))
    const open = owner.campaigns.filter(
      (entry) => !entry.removed && isIn(input, entry) && !hasCampaignEnded(entry.campaign),
    )
    if (open.length >= max) return { _tag: "Full" }
    const { campaign } = tables.campaigns.insert((id) => {
      const created: Campaign = { ...input, id, revision: 1 }
      const entry: CampaignEntry = {
        campaign: created,
        original: created,
        owner,
        rows: [],
        count: 0,
        upload: null,
        waiting: new Set(),
        turn: ++tables.lastCampaignTurn,
        checkedAt: input.createdAt,
        wokenAt: null,
        next: nextCheckAt(null),
        takenOn: 0,
        removed: false,
        forgotten: false,
      }
      owner.campaigns.push(entry)
      return entry
    })
    finishClaim(tables, idempotency, [campaign.id])
    return { _tag: "Inserted", campaign }
  },

  get: (scope, id) => {
    const entry = findEntry(tables, id)
    return entry === undefined || !isIn(scope, entry) ? null : counted(entry)
  },

  created: (id) => {
    const entry = tables.campaigns.get(id)
    return entry === undefined || entry.forgotten ? null : entry.original
  },

  list: (scope, { states }, page) =>
    Effect.map(
      newestFirst(
        tables.workspaces.get(scope.workspaceId)?.campaigns ?? [],
        page,
        (entry) => ({ id: entry.campaign.id, entry }),
        (entry) =>
          !entry.removed &&
          isIn(scope, entry) &&
          (states === null || states.includes(entry.campaign.state)),
      ),
      ({ items, next }) => ({
        items: items.map(({ entry, id }) => ({ id, ...counted(entry) })),
        next,
      }),
    ),

  update: (id, revision, settings, lookAt) => {
    const entry = entryAt(tables, id, revision)
    if (entry === undefined) return false
    change(entry, { ...settings, lookAt })
    return true
  },
})

const rowSteps = (
  tables: Tables,
): Pick<
  CampaignStoreSteps,
  "appendRows" | "abandonUpload" | "firstRows" | "clearRows" | "rows"
> => ({
  appendRows: (input) => append(tables, input),

  abandonUpload: (id, upload) => {
    const entry = findEntry(tables, id)
    if (entry?.upload?.name === upload) dropUpload(entry)
  },

  firstRows: (id, upload, keys) => {
    const entry = findEntry(tables, id)
    if (entry === undefined) return new Map()
    const requests = new Set(keys)
    const first = new Map<string, number>()
    const isOwn = upload !== null && entry.upload?.name === upload
    for (const { row } of isOwn ? entry.rows : getRows(entry)) {
      const { recipientKey: key, state } = row
      if (state !== "taken" && key !== null && requests.has(key) && !first.has(key))
        first.set(key, row.row)
    }
    return first
  },

  clearRows: (id, revision) => {
    const entry = entryAt(tables, id, revision)
    if (entry?.campaign.state !== "draft") return null
    const { count } = entry
    entry.count = 0
    dropUpload(entry)
    change(entry, {})
    return count
  },

  rows: (id, filter, { after, limit }) => {
    const entry = findEntry(tables, id)
    if (entry === undefined) return []
    const found: Array<CampaignRow> = []
    for (const one of getRows(entry).slice(after ?? 0)) {
      if (found.length >= limit) break
      const row = readRow(entry, one)
      if (passes(filter, row)) found.push(row)
    }
    return found
  },
})

// Looks.

/** The numbers that it may use, by id. */
const getLanes = ({ campaign, owner }: CampaignEntry): ReadonlyArray<Lane> =>
  owner.lanes.filter(
    ({ number, removed }) =>
      !removed &&
      isVisibleTo(campaign.mode, number) &&
      (campaign.from === null || campaign.from.includes(number.id)),
  )

/** Its messages of that mode that wait and were due then, up to so many. */
const countDue = (lane: Lane, { mode }: Campaign, at: number, max: number): number => {
  let count = 0
  for (const { message } of mode === "live" ? lane.waiting : lane.waitingTest) {
    if (message.dueAt > at && mode === "live") break
    if (message.dueAt <= at && ++count === max) break
  }
  return count
}

const readNumber = (lane: Lane, campaign: Campaign, now: number): CampaignNumber => ({
  number: lane.number,
  pausedUntil: pausedUntil(lane.control.pauses.first, now),
  waiting: countDue(lane, campaign, now, fullQueue),
  restrictedSince: restrictedSince(
    { ...lane, status: lane.number.status, pauses: lane.control.pauses },
    now,
  ),
  pacing: lane.control.pacing ?? unpaced,
  givenBack: lane.givenBack,
})

const byTime = (one: RowEntry, other: RowEntry): number =>
  (one.row.sendAt ?? -Infinity) - (other.row.sendAt ?? -Infinity) || one.row.row - other.row.row

const isDue = (now: number, { row }: RowEntry): boolean => row.sendAt === null || row.sendAt <= now

const check = (entry: CampaignEntry, now: number, limit: number): CampaignCheck => {
  const { campaign, owner, waiting } = entry
  const pending = getPending(entry)
  const left: Record<RowNeeds, number> = { whatsapp: limit, telegram: limit, either: limit }
  const due = pending.filter((one) => isDue(now, one)).toSorted(byTime)
  return {
    campaign,
    pending: pending.length,
    workspace: owner.workspace,
    numbers: getLanes(entry).map((lane) => readNumber(lane, campaign, now)),
    rows: due
      .filter(({ row: { needs } }) => needs !== null && left[needs]-- > 0)
      .map((one) => readRow(entry, one)),
    nextRowAt: earliest(pending.map((one) => (isDue(now, one) ? null : one.row.sendAt))),
    nextExpiryAt: earliest(pending.map(({ row }) => row.expiresAt)),
    hasWaiting: waiting.size > 0,
  }
}

/** When it became due, or will; null: once something changes. */
const dueAt = (entry: CampaignEntry): number | null => {
  const { campaign, checkedAt, next, owner, removed, waiting } = entry
  if (removed) return null
  const isOver = () => waiting.size === 0 && getPending(entry).length === 0
  const hasRoom = () =>
    getLanes(entry).some(
      (lane) =>
        (next.awaits.includes(lane.number.id) &&
          countDue(lane, campaign, checkedAt, refillQueue) < refillQueue) ||
        next.awaitsRoom.some(
          ({ givenBack, numberId }) => numberId === lane.number.id && givenBack !== lane.givenBack,
        ),
    )
  const isCovered = () => next.awaitsAllowance && messagesRemaining(owner.workspace.plan) !== 0
  return campaign.state === "running" && (isOver() || hasRoom() || isCovered())
    ? Math.min(checkedAt, campaign.lookAt ?? checkedAt)
    : campaign.lookAt
}

const noteCheck = (tables: Tables, entry: CampaignEntry, next: NextCheck, now: number) => {
  entry.turn = ++tables.lastCampaignTurn
  entry.checkedAt = now
  entry.next = next
  const isWoken = entry.wokenAt !== null && entry.wokenAt >= now
  if (!isWoken) entry.campaign = { ...entry.campaign, lookAt: next.lookAt }
  entry.wokenAt = null
}

/** The earliest moment at which a campaign is due. */
export const nextCampaignDue = (tables: Tables): number | null =>
  earliest(tables.campaigns.rows.map(dueAt))

const take = (tables: Tables, input: CampaignTake): CampaignTaken => {
  const { acceptance, id, next, now, queueLimit, refused, revision, taken } = input
  const entry = entryAt(tables, id, revision)
  if (entry?.campaign.state !== "running") return { _tag: "Conflict", guard: "campaign" }
  const numbers = [...taken.map(({ row }) => row), ...refused.map(({ of }) => of)]
  const rows = numbers.map((row) => getRows(entry)[row - 1])
  if (!rows.every((one) => one !== undefined && isPending(one))) {
    return { _tag: "Conflict", guard: "rows" }
  }
  const lane = acceptance === null ? undefined : tables.lanes.get(acceptance.numberId)
  if (lane !== undefined) {
    const waiting = countDue(lane, entry.campaign, now, queueLimit)
    if (waiting + taken.length > queueLimit) return { _tag: "Conflict", guard: "queue" }
  }
  const outcome =
    acceptance === null ? { _tag: "Accepted" as const, ids: [] } : accept(tables, acceptance)
  if (outcome._tag === "Conflict") return outcome
  for (const [index, { phone }] of taken.entries()) {
    const one = rows[index]
    const message = tables.messages.get(outcome.ids[index] ?? (0 as MessageId))
    if (one === undefined || message === undefined) continue
    settleRow(one, { state: "taken", values: null, phone })
    one.message = message
    one.numberId = message.lane.number.id
    one.takenOnAt = now
    entry.takenOn++
  }
  for (const { of, ...refusal } of refused) {
    const one = getRows(entry)[of - 1]
    if (one !== undefined) settleRow(one, { state: "refused", refusal })
  }
  noteCheck(tables, entry, next, now)
  return { _tag: "Taken", ids: outcome.ids }
}

const move = (tables: Tables, input: CampaignMove): boolean => {
  const { id, isRemoved, messages, now, revision, skipBefore, to } = input
  const entry = entryAt(tables, id, revision)
  if (entry === undefined) return false
  change(entry, to)
  entry.next = nextCheckAt(null)
  entry.wokenAt = null
  entry.removed = isRemoved
  if (skipBefore !== null) {
    const refusal: RowRefusal = { code: "restored", field: null, row: null }
    for (const one of getRows(entry).slice(0, skipBefore - 1)) {
      if (isPending(one)) settleRow(one, { state: "skipped", refusal })
    }
  }
  if (messages === "hold") holdMessages(tables, entry.waiting, now)
  if (messages === "release") releaseMessages(tables, entry.waiting, now)
  if (isRemoved || to.state === "stopped") abandonMessages(tables, entry.waiting)
  return true
}

/** The worker's operations. */
const runSteps = (
  tables: Tables,
): Pick<
  CampaignStoreSteps,
  "move" | "due" | "check" | "take" | "putOff" | "expireRows" | "waiting" | "forget" | "figures"
> => ({
  move: (input) => move(tables, input),

  due: (now, limit) =>
    tables.campaigns.rows
      .filter((entry) => (dueAt(entry) ?? Infinity) <= now)
      .toSorted((a, b) => a.turn - b.turn)
      .slice(0, limit)
      .map(({ campaign }) => campaign.id),

  check: (ids, now, limit) =>
    [...new Set(ids)]
      .toSorted((a, b) => a - b)
      .flatMap((id) => {
        const entry = findEntry(tables, id)
        return entry === undefined ? [] : check(entry, now, limit)
      }),

  take: (input) => take(tables, input),

  putOff: (id, revision, next, now) => {
    const entry = entryAt(tables, id, revision)
    if (entry !== undefined) noteCheck(tables, entry, next, now)
  },

  expireRows: (id, now, limit) => {
    const entry = findEntry(tables, id)
    const passed = (entry === undefined ? [] : getPending(entry))
      .filter(({ row }) => (row.expiresAt ?? entry?.campaign.expiresAt ?? Infinity) <= now)
      .slice(0, limit)
    for (const one of passed) settleRow(one, { state: "expired" })
    return passed.length
  },

  waiting: (id, limit) =>
    [...(tables.campaigns.get(id)?.waiting ?? [])]
      .filter((row) => !isLeased(row))
      .toSorted((a, b) => a.message.id - b.message.id)
      .slice(0, limit)
      .map(toMessage),

  forget: (now) => {
    const erased = new Set<number>()
    for (const entry of tables.campaigns.rows) {
      if (entry.removed && !entry.forgotten) erased.add(-entry.campaign.id)
      if (entry.removed) eraseCampaign(entry)
      else if (entry.upload !== null && entry.upload.until < now) dropUpload(entry)
    }
    return erased.size === 0 ? undefined : forgetShown(tables, erased)
  },

  figures: (now): CampaignFigures => {
    const present = tables.campaigns.rows.filter(({ removed }) => !removed)
    const byState = Record.fromEntries(
      campaignStates.map((state) => [
        state,
        present.filter(({ campaign }) => campaign.state === state).length,
      ]),
    ) as Readonly<Record<CampaignState, number>>
    return {
      byState,
      pendingRows: present.reduce((sum, entry) => sum + getPending(entry).length, 0),
      dueSince: earliest(present.map(dueAt).map((at) => (at !== null && at <= now ? at : null))),
    }
  },
})

export const campaignStore = (tables: Tables): CampaignStoreSteps => ({
  ...recordSteps(tables),
  ...rowSteps(tables),
  ...runSteps(tables),
})

// What happens to a campaign with the records around it.

/** Leaves ids, times and counts, and is unknown. */
export const eraseCampaign = (entry: CampaignEntry): void => {
  entry.removed = true
  entry.forgotten = true
  entry.rows = []
  entry.count = 0
  entry.upload = null
  entry.campaign = { ...entry.campaign, name: "", text: "", media: null }
}

/** The message goes: its row keeps the status. */
export const noteErased = ({ campaign, message }: MessageRow): void => {
  const one = campaign?.rows[(message.campaign?.row ?? 0) - 1]
  if (one === undefined || one.message?.message.id !== message.id) return
  one.lastStatus = toRowStatus(statusAt(message, Infinity))
  one.message = null
  settleRow(one, { recipientKey: null, phone: null })
  one.row = { ...one.row, to: null }
}

/** Erases those that ended before. */
export const eraseEndedCampaigns = (owner: WorkspaceRow, before: number): void => {
  for (const entry of owner.campaigns) {
    const { endedAt } = entry.campaign
    if (endedAt !== null && endedAt < before) eraseCampaign(entry)
  }
}

/** Those of a deleted workspace. */
export const removeCampaigns = (owner: WorkspaceRow): void => {
  for (const entry of owner.campaigns) entry.removed = true
}

/** The store went back in time: which rows had left is unknown. */
export const pauseRestored = (tables: Tables, now: number): void => {
  for (const entry of tables.campaigns.rows) {
    const { state } = entry.campaign
    if (entry.removed || !["scheduled", "running", "paused"].includes(state)) continue
    entry.next = nextCheckAt(null)
    entry.wokenAt = null
    change(entry, {
      state: "paused",
      stateReason: "restored",
      asksFromRow: true,
      isHolding: true,
      runningSince: null,
      lookAt: now,
    })
  }
}

/** How many of them wait for the row to go on from. */
export const countRestored = (tables: Tables, workspaceId: WorkspaceId): number =>
  (tables.workspaces.get(workspaceId)?.campaigns ?? []).filter(
    ({ campaign, removed }) => !removed && campaign.state === "paused" && campaign.asksFromRow,
  ).length
