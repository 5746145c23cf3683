/** Number checks and their results. */
import { NumberCheckStore, pageOf } from "@messaging-service/core"
import type {
  BrokenCheckGuard,
  CheckResultStatus,
  Mode,
  NumberCheck,
  NumberCheckId,
  NumberCheckResult,
  NumberCheckScope,
  NumberCheckStatus,
  NumberId,
  Phone,
  WorkspaceId,
} from "@messaging-service/core"
import { Effect, Layer } from "effect"
import { Database } from "../database/Database.ts"
import {
  bigint,
  bigintsOrNull,
  idBefore,
  instant,
  integer,
  text,
  texts,
  textsOrNull,
} from "../database/parameters.ts"
import { claim } from "./claimChecks.ts"
import { insertCheck } from "./insertCheck.ts"
import { settle } from "./settleCheck.ts"

interface CheckRow {
  readonly id: bigint
  readonly workspace_id: bigint
  readonly mode: string
  readonly number_id: bigint
  readonly name: string | null
  readonly status: string
  readonly total: number
  readonly checked: number
  readonly registered: number
  readonly not_registered: number
  readonly created_at: Date
  readonly completed_at: Date | null
}

export interface ResultRow {
  readonly id: bigint
  readonly phone: string
  readonly status: string
  readonly checked_at: Date | null
}

const insertStatement = `
select i.guard, i.id
from ${insertCheck.name}($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) i`

/** The first parameters of both statements that read checks. */
const inScope = `c.workspace_id = $1
  and c.mode = $2
  and ($3::bigint[] is null or c.number_id = any ($3))`

const scopeParameters = ({ mode, restriction, workspaceId }: NumberCheckScope) => [
  bigint(workspaceId),
  text(mode),
  bigintsOrNull(restriction),
]

const getCheck = `
select c.*
from number_checks c
where ${inScope}
  and c.id = $4`

// Index number_checks_by_workspace.
const listChecks = `
select c.*
from number_checks c
where ${inScope}
  and c.id < $4
order by c.id desc
limit $5`

// Index number_check_results_by_check.
const listResults = `
select r.id, r.phone, r.status, r.checked_at
from number_check_results r
where r.check_id = $1
  and ($2::text[] is null or r.status = any ($2))
  and r.id < $3
order by r.id desc
limit $4`

export const layerNumberChecks = Layer.effect(
  NumberCheckStore,
  Effect.gen(function* () {
    const database = yield* Database
    return NumberCheckStore.of({
      insert: (check, idempotency) =>
        Effect.map(
          database.query<{ readonly guard: BrokenCheckGuard | null; readonly id: bigint | null }>(
            "numberCheck.insert",
            insertStatement,
            [
              bigint(check.workspaceId),
              text(check.mode),
              bigint(check.numberId),
              text(check.name),
              texts(check.phones),
              instant(check.createdAt),
              bigint(idempotency?.keyId ?? null),
              text(idempotency?.key ?? null),
              text(idempotency?.fingerprint ?? null),
              text(idempotency?.token ?? null),
            ],
          ),
          ([row]) =>
            row === undefined || row.guard !== null
              ? { _tag: "Broken", guard: row?.guard ?? "number" }
              : { _tag: "Made", id: Number(row.id) as NumberCheckId },
        ),
      get: (scope, id) =>
        Effect.map(
          database.query<CheckRow>("numberCheck.get", getCheck, [
            ...scopeParameters(scope),
            bigint(id),
          ]),
          ([row]) => (row === undefined ? null : toCheck(row)),
        ),
      list: (scope, { before, limit }) =>
        Effect.map(
          database.list<CheckRow>(scope.workspaceId, "numberCheck.list", listChecks, [
            ...scopeParameters(scope),
            idBefore(before),
            integer(limit + 1),
          ]),
          (rows) => pageOf(rows.map(toCheck), limit),
        ),
      results: (id, statuses, { before, limit }) =>
        Effect.map(
          database.list<ResultRow>(`check ${id}`, "numberCheck.results", listResults, [
            bigint(id),
            textsOrNull(statuses),
            idBefore(before),
            integer(limit + 1),
          ]),
          (rows) => pageOf(rows.map(toResult), limit),
        ),
      claim: claim(database),
      settle: settle(database),
    })
  }),
)

const toCheck = (row: CheckRow): NumberCheck => ({
  id: Number(row.id) as NumberCheckId,
  workspaceId: Number(row.workspace_id) as WorkspaceId,
  mode: row.mode as Mode,
  numberId: Number(row.number_id) as NumberId,
  name: row.name,
  status: row.status as NumberCheckStatus,
  total: row.total,
  checked: row.checked,
  registered: row.registered,
  notRegistered: row.not_registered,
  createdAt: row.created_at.getTime(),
  completedAt: row.completed_at === null ? null : row.completed_at.getTime(),
})

export const toResult = (row: ResultRow): NumberCheckResult => ({
  id: Number(row.id),
  phone: row.phone as Phone,
  status: row.status as CheckResultStatus,
  checkedAt: row.checked_at === null ? null : row.checked_at.getTime(),
})
