/** `NumberCheckStore` in memory. */
import {
  canBeAsked,
  checkAfter,
  holdsLease,
  isServedBy,
  takeFairShares,
} from "@messaging-service/core"
import type {
  CallerScope,
  CheckClaimQuery,
  CheckResultStatus,
  CheckSettlement,
  ClaimedCheck,
  NumberCheckStore,
  Phone,
  WorkspaceId,
} from "@messaging-service/core"
import { newestFirst } from "./collections.ts"
import type { Steps } from "./collections.ts"
import { standing } from "./lanes.ts"
import { finishClaim, isLost, laneIn } from "./tables.ts"
import type { CheckRow, Tables } from "./tables.ts"

const isVisible = (
  { mode, restriction, workspaceId }: CallerScope,
  { check, forgotten }: CheckRow,
) =>
  !forgotten &&
  check.workspaceId === workspaceId &&
  check.mode === mode &&
  (restriction === null || restriction.includes(check.numberId))

/** When the check can be claimed: at the end of its lease, or when it is due; null for never. */
export const claimableAt = (row: CheckRow): number | null => {
  const { check, lane } = row
  return canBeAsked(check, standing(lane)) ? (row.leaseUntil ?? row.nextDue) : null
}

const nextPhones = (row: CheckRow, chunk: number): ReadonlyArray<Phone> => {
  const phones = new Set<Phone>()
  for (const { phone, status } of row.results) {
    if (phones.size === chunk) break
    if (status === "pending") phones.add(phone)
  }
  return [...phones]
}

const claim = (tables: Tables, query: CheckClaimQuery): ReadonlyArray<ClaimedCheck> => {
  const { chunk, leaseUntil, limit, now } = query
  const due = [...tables.openChecks]
    .filter(({ check, lane }) => isServedBy(check, standing(lane), query.owned))
    .flatMap((row) => {
      const at = claimableAt(row)
      return at !== null && at <= now ? { at, row } : []
    })
    .toSorted((a, b) => a.at - b.at || a.row.check.id - b.row.check.id)
  return takeFairShares(due, ({ row }) => row.check.workspaceId, query, limit).map(({ row }) => {
    row.lease++
    row.leaseUntil = leaseUntil
    row.check = { ...row.check, status: "processing" }
    const { id, mode, numberId, workspaceId } = row.check
    return {
      id,
      workspaceId,
      mode,
      numberId,
      removed: row.lane.removed,
      lease: row.lease,
      tries: row.tries,
      phones: nextPhones(row, chunk),
    }
  })
}

const answer = (
  tables: Tables,
  row: CheckRow,
  { answers }: Extract<CheckSettlement, { readonly _tag: "Answered" }>,
  now: number,
) => {
  const statusByPhone = new Map(answers.map(({ phone, status }) => [phone, status]))
  const answered: Array<CheckResultStatus> = []
  row.results = row.results.map((result) => {
    const status = result.status === "pending" ? statusByPhone.get(result.phone) : undefined
    if (status === undefined) return result
    answered.push(status)
    return { ...result, status, checkedAt: now }
  })
  row.check = { ...row.check, ...checkAfter(row.check, answered, now) }
  row.nextDue = now
  row.tries = 0
  if (row.check.status === "completed") tables.openChecks.delete(row)
}

type NumberCheckStoreSteps = Steps<NumberCheckStore>

const checkSteps = (
  tables: Tables,
): Pick<NumberCheckStoreSteps, "insert" | "get" | "list" | "results"> => ({
  insert: ({ phones, ...check }, idempotency) => {
    if (isLost(tables, idempotency)) return { _tag: "Conflict", guard: "idempotency" }
    const lane = laneIn(tables, check.workspaceId, check.numberId)
    if (lane === undefined) return { _tag: "Conflict", guard: "number" }
    const row = tables.checks.insert((id): CheckRow => ({
      check: {
        ...check,
        id,
        status: "pending",
        total: phones.length,
        checked: 0,
        registered: 0,
        notRegistered: 0,
        completedAt: null,
      },
      lane,
      results: phones.map((phone) => ({
        id: ++tables.lastCheckResultId,
        phone,
        status: "pending",
        checkedAt: null,
      })),
      nextDue: check.createdAt,
      lease: 0,
      leaseUntil: null,
      tries: 0,
      forgotten: false,
    }))
    tables.openChecks.add(row)
    const { id } = row.check
    finishClaim(tables, idempotency, [id])
    return { _tag: "Made", id }
  },

  get: (scope, id) => {
    const row = tables.checks.get(id)
    return row !== undefined && isVisible(scope, row) ? row.check : null
  },

  list: (scope, page) =>
    newestFirst(
      tables.checks.rows,
      page,
      ({ check }) => check,
      (row) => isVisible(scope, row),
    ),

  results: (id, statuses, page) =>
    newestFirst(
      tables.checks.get(id)?.results ?? [],
      page,
      (result) => result,
      ({ status }) => statuses === null || statuses.includes(status),
    ),
})

/** Forgets checks that were complete before; of one workspace, or of all. */
export const forgetChecks = (tables: Tables, before: number, workspaceId?: WorkspaceId) => {
  for (const row of tables.checks.rows) {
    const { completedAt, workspaceId: owner } = row.check
    if (completedAt === null || completedAt >= before) continue
    if (workspaceId !== undefined && owner !== workspaceId) continue
    row.forgotten = true
    row.results = []
    row.check = { ...row.check, name: null }
  }
}

/** The worker's operations. */
const checkWorkSteps = (
  tables: Tables,
): Pick<NumberCheckStoreSteps, "claim" | "settle" | "forget"> => ({
  claim: (query) => claim(tables, query),

  settle: (settlement, now) => {
    const row = tables.checks.get(settlement.id)
    if (row === undefined || !holdsLease(row, settlement.lease)) return false
    row.leaseUntil = null
    if (settlement._tag === "Answered") {
      answer(tables, row, settlement, now)
    } else {
      row.nextDue = settlement.notBefore ?? now
      if (settlement.tried) row.tries++
    }
    return true
  },

  forget: (completedBefore) => forgetChecks(tables, completedBefore),
})

export const numberCheckStore = (tables: Tables): NumberCheckStoreSteps => ({
  ...checkSteps(tables),
  ...checkWorkSteps(tables),
})
