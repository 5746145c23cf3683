/** Number checks and their results. */
import { erasedAtOnce } from "@messaging-service/core"
import type {
  FailedCheckGuard,
  CheckClaimQuery,
  ClaimedCheck,
  NumberCheck,
  NumberCheckId,
  NumberCheckResult,
  NumberCheckStore,
} from "@messaging-service/core"
import { Effect } from "effect"
import type { DatabaseService } from "../database/Database.ts"
import { millis, statement } from "../database/Sql.ts"
import type { Params, Row } from "../database/Sql.ts"
import { toOwnedParams, toShareParams } from "../queue/lanes.ts"
import { toClaimParams } from "../request/idempotency.ts"

// What workers do with number checks: claim the next phones of each, and settle the answers.

const claimChecks = statement("claim_number_checks")
const answerCheck = statement("answer_number_check")
const tryAgain = statement("numberCheck.again")

const toClaimParamsOf = (query: CheckClaimQuery): Params<"claim_number_checks"> => ({
  now: query.now,
  leaseUntil: query.leaseUntil,
  limit: query.limit,
  chunk: query.chunk,
  ...toOwnedParams(query.owned),
  ...toShareParams(query),
})

const toClaimed = (row: Row<"claim_number_checks">): ClaimedCheck => ({
  id: Number(row.id) as NumberCheckId,
  workspaceId: Number(row.workspace_id) as ClaimedCheck["workspaceId"],
  mode: row.mode as ClaimedCheck["mode"],
  numberId: Number(row.number_id) as ClaimedCheck["numberId"],
  removed: row.removed,
  lease: Number(row.lease),
  tries: row.tries,
  phones: row.phones as ClaimedCheck["phones"],
})

const toCheck = (row: Row<"numberCheck.get">): NumberCheck => ({
  id: Number(row.id) as NumberCheckId,
  workspaceId: Number(row.workspace_id) as NumberCheck["workspaceId"],
  mode: row.mode as NumberCheck["mode"],
  numberId: Number(row.number_id) as NumberCheck["numberId"],
  name: row.name,
  status: row.status as NumberCheck["status"],
  total: row.total,
  checked: row.checked,
  registered: row.registered,
  notRegistered: row.not_registered,
  createdAt: row.created_at.getTime(),
  completedAt: millis(row.completed_at),
})

export const toResult = (row: Row<"numberCheck.results">): NumberCheckResult => ({
  id: Number(row.id) as NumberCheckResult["id"],
  phone: row.phone as NumberCheckResult["phone"],
  status: row.status as NumberCheckResult["status"],
  checkedAt: millis(row.checked_at),
})

const insertCheck = statement("insert_number_check")
const getCheck = statement("numberCheck.get")
const listChecks = statement("numberCheck.list")
const listResults = statement("numberCheck.results")
const forgetResults = statement("numberCheck.forgetResults")
const forgetChecks = statement("numberCheck.forget")

export const numberCheckStore = (database: DatabaseService): NumberCheckStore => ({
  insert(check, idempotency) {
    const params = {
      workspace: check.workspaceId,
      mode: check.mode,
      number: check.numberId,
      name: check.name,
      phones: check.phones,
      now: check.createdAt,
      ...toClaimParams(idempotency),
    }
    return Effect.map(insertCheck.rows(database, params), ([row]) =>
      row === undefined || row.guard !== null
        ? { _tag: "Conflict", guard: (row?.guard as FailedCheckGuard | undefined) ?? "number" }
        : { _tag: "Made", id: Number(row.id) as NumberCheckId },
    )
  },
  get(scope, id) {
    return getCheck.first(database, { ...scope, id }, toCheck)
  },
  list(scope, page) {
    return listChecks.page(database, scope.workspaceId, { ...scope, ...page }, toCheck)
  },
  results(id, statuses, page) {
    return listResults.page(database, `check ${id}`, { ...page, id, statuses }, toResult)
  },
  claim(query) {
    return claimChecks.all(database, toClaimParamsOf(query), toClaimed)
  },
  // Answers, or another try.
  settle(settlement, now) {
    const { id, lease } = settlement
    return settlement._tag === "Answered"
      ? answerCheck.isTrue(database, {
          id,
          lease,
          phones: settlement.answers.map(({ phone }) => phone),
          statuses: settlement.answers.map(({ status }) => status),
          now,
        })
      : tryAgain.isTrue(database, {
          id,
          lease,
          due: settlement.notBefore ?? now,
          tries: settlement.tried ? 1 : 0,
        })
  },
  forget(before) {
    return Effect.andThen(
      forgetResults.untilDone(database, { before, limit: erasedAtOnce }),
      forgetChecks.untilDone(database, { before, limit: erasedAtOnce }),
    )
  },
})
