/** `NumberStore` in memory. */
import {
  canBeLinked,
  changedPacing,
  hasEnded,
  hasPhone,
  ownsAllNumbers,
  holdsLease,
  isSaturated,
  isInWindow,
  isLeased,
  isOwned,
  isSameNumber,
  linksItself,
  phoneWithoutLink,
  phoneWithStatus,
  takeFairShares,
} from "@messaging-service/core"
import type {
  FailedLinkingGuard,
  ConnectionFacts,
  ConnectionReason,
  FirstAnswer,
  IdempotencyClaim,
  LinkingAttempt,
  LinkingId,
  LinkingOutcome,
  LinkingStore,
  NewAttempt,
  NumberEventIds,
  NumberStore,
  Owned,
  QuotaLimit,
  SaturatedTenants,
  SendingNumber,
  WorkspaceId,
} from "@messaging-service/core"
import { Effect } from "effect"
import { earliest, turningPoint } from "./collections.ts"
import type { Steps } from "./collections.ts"
import { controlLane, endOwnPauses } from "./laneQueue.ts"
import {
  closeLane,
  firstToLeave,
  isDisabled,
  findLimits,
  openLane,
  reportGap,
  reportStatus,
  setStatus,
  turnWithNumber,
  count,
} from "./lanes.ts"
import { finishClaim, findLane, findWorkspace, isLost, laneIn, wakeCampaigns } from "./tables.ts"
import type { Lane, LinkingRow, Tables } from "./tables.ts"
import { restrictionSteps } from "./restrictions.ts"
import { report } from "./webhooks.ts"

// `LinkingStore` in memory. It scans the few connecting numbers each time.

const conflict = (guard: FailedLinkingGuard): LinkingOutcome => ({ _tag: "Conflict", guard })

/** Starts the attempt; its number is already connecting. */
const begin = (
  tables: Tables,
  lane: Lane,
  { callbackUrl, pacing: _pacing, ...attempt }: NewAttempt,
  replaced: LinkingAttempt["replaced"],
  claim: IdempotencyClaim | null,
  firstAnswer: FirstAnswer | null,
): LinkingOutcome => {
  const { number } = lane
  lane.callbackUrl = callbackUrl
  tables.linkings.set(number.id, {
    attempt: { ...attempt, numberId: number.id, replaced },
    lease: 0,
    leaseUntil: null,
  })
  finishClaim(tables, claim, [number.id], firstAnswer)
  return { _tag: "Begun", number }
}

const findRow = (tables: Tables, id: LinkingId): LinkingRow | undefined =>
  [...tables.linkings.values()].find(({ attempt }) => attempt.id === id)

const heldRow = (tables: Tables, id: LinkingId, lease: number): LinkingRow | undefined => {
  const row = findRow(tables, id)
  return row !== undefined && holdsLease(row, lease) ? row : undefined
}

const byEnd = (a: LinkingRow, b: LinkingRow): number =>
  a.attempt.endsAt - b.attempt.endsAt || a.attempt.numberId - b.attempt.numberId

/** Attempts with the earliest end first. */
const rowsWhere = (
  tables: Tables,
  limit: number,
  isSelected: (row: LinkingRow) => boolean,
): ReadonlyArray<LinkingRow> =>
  [...tables.linkings.values()].filter(isSelected).toSorted(byEnd).slice(0, limit)

const findAttempt = (tables: Tables, { number }: Lane): LinkingAttempt | null =>
  tables.linkings.get(number.id)?.attempt ?? null

/** Whether another number of the workspace has that phone. */
export const isAnothers = (tables: Tables, { number, workspace }: Lane, phone: string): boolean =>
  workspace.lanes.some(
    (other) => !other.removed && hasPhone(other.number, findAttempt(tables, other), number, phone),
  )

/** The phone that the number keeps after a failed attempt. */
const storedPhone = (tables: Tables, lane: Lane): string | null =>
  phoneWithoutLink(lane.number, findAttempt(tables, lane))

/** Ends the attempt; its number keeps the state that the link left. */
const end = (
  tables: Tables,
  lane: Lane,
  change: Pick<SendingNumber, "phone" | "status">,
  now: number,
  reason: ConnectionReason | null,
  events: NumberEventIds | undefined,
) => {
  tables.linkings.delete(lane.number.id)
  const before = lane.number.status
  setStatus(lane, change, now, reason)
  turnWithNumber(tables, lane, now)
  reportStatus(tables, lane, before, now, events)
  return lane.number
}

export const workspaceOfAttempt = (
  tables: Tables,
  { attempt }: LinkingRow,
): WorkspaceId | undefined => findLane(tables, attempt.numberId)?.number.workspaceId

/** When an attempt is due; in a saturated workspace only its end counts. */
const dueAt = (
  tables: Tables,
  saturated: SaturatedTenants,
  owned: Owned,
  row: LinkingRow,
): number => {
  const { attempt, leaseUntil } = row
  const { endsAt, linksAt, numberId, requestedAt } = attempt
  if (attempt.mode === "test") return Math.min(endsAt, linksAt ?? endsAt)
  if (!isOwned(numberId, owned)) return endsAt
  if (leaseUntil !== null) return Math.min(endsAt, leaseUntil)
  const workspaceId = workspaceOfAttempt(tables, row)
  return workspaceId !== undefined && isSaturated(saturated, workspaceId) ? endsAt : requestedAt
}

export const nextLinkingDue = (
  tables: Tables,
  saturated: SaturatedTenants,
  owned: Owned,
): number | null =>
  earliest(Array.from(tables.linkings.values(), (row) => dueAt(tables, saturated, owned, row)))

type LinkingStoreSteps = Steps<LinkingStore>

/** Starts attempts and leases them to workers. */
const attemptSteps = (
  tables: Tables,
): Pick<
  LinkingStoreSteps,
  "addLinking" | "reconnect" | "getLinking" | "claimLinkings" | "renewLinkings"
> => ({
  addLinking: (number, attempt, limit, claim) => {
    if (isLost(tables, claim)) return conflict("idempotency")
    wakeCampaigns(tables, number.workspaceId, number.createdAt)
    const owner = findWorkspace(tables, number.workspaceId)
    if (owner === undefined) return conflict("number")
    if (ownsAllNumbers(owner.lanes, limit)) return conflict("limit")
    const connecting = { ...number, status: "connecting" } as const
    const lane = openLane(tables, owner, connecting, attempt.pacing)
    owner.lanes.push(lane)
    return begin(tables, lane, attempt, null, claim, null)
  },

  reconnect: (workspaceId, numberId, attempt, claim) => {
    if (isLost(tables, claim)) return conflict("idempotency")
    wakeCampaigns(tables, workspaceId, attempt.requestedAt)
    const lane = laneIn(tables, workspaceId, numberId)
    if (lane?.number.status !== "disconnected") return conflict("number")
    const replaced = attempt.phone === null ? null : { phone: lane.number.phone }
    lane.number = { ...lane.number, loginMethod: attempt.method }
    const phone = attempt.phone ?? lane.number.phone
    setStatus(lane, { status: "connecting", phone }, attempt.requestedAt)
    const { control } = lane
    lane.control = { ...control, pacing: control.pacing ?? attempt.pacing }
    return begin(tables, lane, attempt, replaced, claim, { phone, label: lane.number.label })
  },

  getLinking: (numberId) => tables.linkings.get(numberId)?.attempt ?? null,

  claimLinkings: ({ leaseUntil, limit, now, owned, ...shares }) => {
    const free = rowsWhere(tables, Infinity, ({ attempt, leaseUntil: until }) =>
      canBeLinked(attempt, until, owned, now),
    ).flatMap((row) => {
      const workspaceId = workspaceOfAttempt(tables, row)
      return workspaceId === undefined ? [] : { row, workspaceId }
    })
    return takeFairShares(free, (one) => one.workspaceId, shares, limit).map(
      ({ row, workspaceId }) => {
        row.lease++
        row.leaseUntil = leaseUntil
        return { attempt: row.attempt, workspaceId, lease: row.lease }
      },
    )
  },

  renewLinkings: (leased, leaseUntil) => {
    const still = new Set<LinkingId>()
    for (const { id, lease } of leased) {
      const row = heldRow(tables, id, lease)
      if (row === undefined) continue
      row.leaseUntil = leaseUntil
      still.add(id)
    }
    return still
  },
})

/** The results of an attempt. */
const progressSteps = (
  tables: Tables,
): Pick<
  LinkingStoreSteps,
  | "showLinking"
  | "isLinkingClaimed"
  | "linked"
  | "abandonLinking"
  | "lapsedLinkings"
  | "dueTestLinkings"
> => ({
  showLinking: (id, lease, view, callback = null) => {
    const row = heldRow(tables, id, lease)
    if (row === undefined) return false
    const lane = findLane(tables, row.attempt.numberId)
    if (lane !== undefined && row.attempt.qrText !== view.qrText) report(tables, lane, callback)
    row.attempt = { ...row.attempt, ...view }
    return true
  },

  isLinkingClaimed: (id, now) => {
    const row = findRow(tables, id)
    if (row === undefined || hasEnded(row.attempt, now)) return false
    row.attempt = { ...row.attempt, linking: true }
    return true
  },

  linked: (id, phone, now, reports = null, events) => {
    const row = findRow(tables, id)
    const lane = row === undefined ? undefined : findLane(tables, row.attempt.numberId)
    wakeCampaigns(tables, lane?.number.workspaceId, now)
    if (row === undefined || lane === undefined || hasEnded(row.attempt, now)) return null
    if (!isAnothers(tables, lane, phone)) {
      report(tables, lane, reports?.connected ?? null)
      reportGap(tables, lane, now, events)
      const linked = end(tables, lane, { status: "connected", phone }, now, null, events)
      endOwnPauses(tables, lane, now, events)
      return linked
    }
    report(tables, lane, reports?.disconnected ?? null)
    const before = storedPhone(tables, lane)
    const kept = before === phone ? null : before
    return end(tables, lane, { status: "disconnected", phone: kept }, now, "not_linked", events)
  },

  abandonLinking: (id, { at, reason }, callback = null, events) => {
    const row = findRow(tables, id)
    const lane = row === undefined ? undefined : findLane(tables, row.attempt.numberId)
    if (lane === undefined) return false
    report(tables, lane, callback)
    const phone = storedPhone(tables, lane)
    end(tables, lane, { status: "disconnected", phone }, at, reason, events)
    return true
  },

  lapsedLinkings: (now, limit) =>
    rowsWhere(tables, limit, ({ attempt }) => hasEnded(attempt, now)).map((row) => row.attempt),

  dueTestLinkings: (now, limit) =>
    rowsWhere(tables, limit, ({ attempt }) => linksItself(attempt, now)).map((row) => row.attempt),
})

export const linkingStore = (tables: Tables): LinkingStoreSteps => ({
  ...attemptSteps(tables),
  ...progressSteps(tables),
})

/** How many of ascending times are in the window that ends at `now`; skips those before it. */
const countInWindow = (times: ReadonlyArray<number>, now: number, windowMillis: number): number => {
  const start = turningPoint(times, (time) => !isInWindow(time, Math.max(time, now), windowMillis))
  return times.slice(start).filter((time) => isInWindow(time, now, windowMillis)).length
}

const hourMillis = 60 * 60 * 1000

const toFacts = (lane: Lane, now: number, dailyLimit: QuotaLimit): ConnectionFacts => {
  const first = firstToLeave(lane, now)
  const { changed, control, inFlight, number, report: reported, pacedUntil, sentTimes } = lane
  const isSending = inFlight !== null && isLeased(inFlight.leaseUntil, now)
  return {
    number,
    changed,
    report: reported,
    waiting:
      lane.waiting.size -
      (isSending ? 1 : 0) +
      [...lane.held].filter(({ message }) => message.mode === "live").length,
    sent: countInWindow(sentTimes, now, dailyLimit.windowMillis),
    lastSentAt: sentTimes.at(-1) ?? null,
    pause: control.pauses.first,
    isDisabled: isDisabled(lane),
    isSending,
    firstDueAt: first?.message.dueAt ?? null,
    pacedUntil,
    limitedUntil: first === null ? null : findLimits(lane, first, now, dailyLimit),
    noRoomUntil: lane.diskFailuresInARow > 0 ? lane.limitedUntil : null,
  }
}

type NumberStoreSteps = Steps<NumberStore>

/** Numbers and their settings. */
const numberSteps = (
  tables: Tables,
): Pick<
  NumberStoreSteps,
  "insert" | "insertNew" | "get" | "find" | "callbackUrl" | "list" | "settings" | "change"
> => ({
  insert: (number, pacing = null) => {
    const owner = tables.workspaces.get(number.workspaceId)
    if (owner === undefined) return Effect.die(new Error("a number needs a workspace"))
    const lane = openLane(tables, owner, number, pacing)
    owner.lanes.push(lane)
    return lane.number
  },

  insertNew: (number, pacing, limit) => {
    const owner = tables.workspaces.get(number.workspaceId)
    if (owner === undefined) return Effect.die(new Error("a number needs a workspace"))
    const same = owner.lanes.find((lane) => !lane.removed && isSameNumber(lane.number, number))
    if (same !== undefined) return { _tag: "Exists", id: same.number.id }
    if (ownsAllNumbers(owner.lanes, limit)) return { _tag: "Full" }
    const lane = openLane(tables, owner, number, pacing)
    owner.lanes.push(lane)
    return { _tag: "Inserted", number: lane.number }
  },

  get: (workspaceId, id) => laneIn(tables, workspaceId, id)?.number ?? null,

  find: (id) => findLane(tables, id)?.number ?? null,

  callbackUrl: (id) => findLane(tables, id)?.callbackUrl ?? null,

  list: (workspaceId) =>
    (tables.workspaces.get(workspaceId)?.lanes ?? [])
      .filter((lane) => !lane.removed)
      .map((lane) => lane.number),

  settings: (ids) =>
    new Map(
      ids.flatMap((id) => {
        const lane = findLane(tables, id)
        if (lane === undefined) return []
        return [[id, { pacing: lane.control.pacing, proxy: lane.proxy }] as const]
      }),
    ),

  change: (workspaceId, id, { label, pacing, proxy }, now) => {
    const lane = laneIn(tables, workspaceId, id)
    if (lane === undefined) return null
    if (label !== undefined) lane.number = { ...lane.number, label }
    if (proxy !== undefined) lane.proxy = proxy
    if (pacing !== undefined) {
      controlLane(tables, id, now, (control) => ({
        pacing: changedPacing(control.pacing, pacing),
      }))
    }
    return lane.number
  },
})

/** Connections, and removing a number. */
const connectionSteps = (
  tables: Tables,
): Pick<
  NumberStoreSteps,
  "setStatus" | "connection" | "connections" | "reportConnections" | "remove"
> => ({
  setStatus: (id, status, phone, now, callback = null, reason = null, events) => {
    wakeCampaigns(tables, tables.lanes.get(id)?.number.workspaceId, now)
    const lane = findLane(tables, id)
    if (lane === undefined) return null
    const text = phoneWithStatus(lane.number, findAttempt(tables, lane), status, phone ?? null)
    if (status !== "connecting") tables.linkings.delete(id)
    if (lane.number.status !== status) report(tables, lane, callback)
    const before = lane.number.status
    setStatus(lane, { status, phone: text }, now, reason)
    turnWithNumber(tables, lane, now)
    reportStatus(tables, lane, before, now, events)
    return lane.number
  },

  connection: (workspaceId, id, now, dailyLimit) => {
    const lane = laneIn(tables, workspaceId, id)
    return lane === undefined ? null : toFacts(lane, now, dailyLimit)
  },

  connections: (workspaceId, now, dailyLimit, limit) => {
    const lanes = findWorkspace(tables, workspaceId)?.lanes ?? []
    return lanes
      .filter(({ removed }) => !removed)
      .slice(0, limit)
      .map((lane) => ({
        facts: toFacts(lane, now, dailyLimit),
        quota: count(lane, { plannedAt: now, count: 1, limit: dailyLimit }),
        hours: Array.from({ length: 24 }, (_, index) =>
          countInWindow(lane.sentTimes, now - (23 - index) * hourMillis, hourMillis),
        ),
      }))
  },

  reportConnections: (reports, now) => {
    for (const one of reports) {
      const lane = findLane(tables, one.numberId)
      if (lane !== undefined) lane.report = { ...one, reportedAt: now }
    }
  },

  remove: (workspaceId, id, now) => {
    wakeCampaigns(tables, workspaceId, now)
    const lane = laneIn(tables, workspaceId, id)
    if (lane === undefined) return false
    closeLane(tables, lane, now)
    return true
  },
})

export const numberStore = (tables: Tables): NumberStoreSteps => ({
  ...numberSteps(tables),
  ...connectionSteps(tables),
  ...restrictionSteps(tables),
})
