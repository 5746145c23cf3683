/** Number checks and their results. */
import { erasedAtOnce } from "@messaging-service/core"
import type {
  BrokenCheckGuard,
  CheckClaimQuery,
  CheckSettlement,
  ClaimedCheck,
  NewNumberCheck,
  NumberCheck,
  NumberCheckId,
  NumberCheckResult,
  NumberCheckStore,
} from "@messaging-service/core"
import { Effect } from "effect"
import type { DatabaseService } from "../database/Database.ts"
import {
  bigint,
  bigints,
  boolean,
  columnsOf,
  decoded,
  instant,
  integer,
  newestFirst,
  paging,
  selected,
  text,
  texts,
} from "../database/Fields.ts"
import type { FieldsOf } from "../database/Fields.ts"
import {
  call,
  given,
  joined,
  part,
  single,
  sqlFunction,
  statement,
  taking,
} from "../database/Statement.ts"
import { claimParameters } from "../request/idempotency.ts"
import { ownedFields } from "../queue/lane.ts"
import { sharesFields } from "../queue/lanes.ts"
import { sqlFiles } from "../sql.generated.ts"

// What workers do with number checks: claim the next phones of each, and settle the answers.

const checkClaimParameters = single(
  columnsOf({
    now: { p_now: instant((query) => query.now) },
    leaseUntil: { p_lease_until: instant((query) => query.leaseUntil) },
    limit: { p_limit: integer((query) => query.limit) },
    chunk: { p_chunk: integer((query) => query.chunk) },
    ...ownedFields,
    ...sharesFields,
  } satisfies FieldsOf<CheckClaimQuery>),
)

const claimedFields = {
  id: { id: bigint((check) => check.id) },
  workspaceId: { workspace_id: bigint((check) => check.workspaceId) },
  mode: { mode: text((check) => check.mode) },
  numberId: { number_id: bigint((check) => check.numberId) },
  removed: { removed: boolean((check) => check.removed) },
  lease: { lease: bigint((check) => check.lease) },
  tries: { tries: integer((check) => check.tries) },
  phones: { phones: texts((check) => check.phones) },
} satisfies FieldsOf<ClaimedCheck>

const toClaimed = decoded<ClaimedCheck>(claimedFields)

const claimStatement = call(
  "numberCheck.claim",
  sqlFunction("claim_number_checks", checkClaimParameters),
)

const claim = (database: DatabaseService) => (query: CheckClaimQuery) =>
  claimStatement.all(database, query, toClaimed)

const answer = call(
  "numberCheck.answer",
  sqlFunction(
    "answer_number_check",
    taking({ id: bigint, lease: bigint, phones: texts, statuses: texts, now: instant }),
  ),
)

const again = statement(
  "numberCheck.again",
  given({ id: bigint, lease: bigint, due: instant, tries: integer }),
)(sqlFiles["statements/numberCheck/again.sql"])

/** Settles a claimed check, if its lease is still the check's: answers, or another try. */
const settle = (database: DatabaseService) => (settlement: CheckSettlement, now: number) => {
  const { id, lease } = settlement
  return settlement._tag === "Answered"
    ? answer.holds(database, {
        id,
        lease,
        phones: settlement.answers.map(({ phone }) => phone),
        statuses: settlement.answers.map(({ status }) => status),
        now,
      })
    : again.holds(database, {
        id,
        lease,
        due: settlement.notBefore ?? now,
        tries: settlement.tried ? 1 : 0,
      })
}

const checkFields = {
  id: { id: bigint((check) => check.id) },
  workspaceId: { workspace_id: bigint((check) => check.workspaceId) },
  mode: { mode: text((check) => check.mode) },
  numberId: { number_id: bigint((check) => check.numberId) },
  name: { name: text((check) => check.name) },
  status: { status: text((check) => check.status) },
  total: { total: integer((check) => check.total) },
  checked: { checked: integer((check) => check.checked) },
  registered: { registered: integer((check) => check.registered) },
  notRegistered: { not_registered: integer((check) => check.notRegistered) },
  createdAt: { created_at: instant((check) => check.createdAt) },
  completedAt: { completed_at: instant((check) => check.completedAt) },
} satisfies FieldsOf<NumberCheck>

const toCheck = decoded<NumberCheck>(checkFields)
const checkColumns = selected(columnsOf(checkFields), "c")

const resultFields = {
  id: { id: bigint((result) => result.id) },
  phone: { phone: text((result) => result.phone) },
  status: { status: text((result) => result.status) },
  checkedAt: { checked_at: instant((result) => result.checkedAt) },
} satisfies FieldsOf<NumberCheckResult>

export const resultColumns = (alias: string): string => selected(columnsOf(resultFields), alias)
export const toResult = decoded<NumberCheckResult>(resultFields)

const newColumns = columnsOf({
  workspaceId: { p_workspace: bigint((check) => check.workspaceId) },
  mode: { p_mode: text((check) => check.mode) },
  numberId: { p_number: bigint((check) => check.numberId) },
  name: { p_name: text((check) => check.name) },
  phones: { p_phones: texts((check) => check.phones) },
  createdAt: { p_now: instant((check) => check.createdAt) },
} satisfies FieldsOf<NewNumberCheck>)

const insert = call(
  "numberCheck.insert",
  sqlFunction("insert_number_check", joined(part("check", single(newColumns)), claimParameters)),
)

const scope = { workspaceId: bigint, mode: text, restriction: bigints }

const inScope = `c.workspace_id = $workspaceId
  and c.mode = $mode
  and ($restriction::bigint[] is null or c.number_id = any ($restriction))`

const getCheck = statement("numberCheck.get", given({ ...scope, id: bigint }))`
select ${checkColumns}
from number_checks c
where ${inScope}
  and c.id = $id`

// Index number_checks_by_workspace.
const listChecks = statement("numberCheck.list", given({ ...scope, ...paging }))`
select ${checkColumns}
from number_checks c
where ${inScope}
  and ${newestFirst("c")}`

// Index number_check_results_by_check.
const listResults = statement(
  "numberCheck.results",
  given({ id: bigint, statuses: texts, ...paging }),
)`
select ${resultColumns("r")}
from number_check_results r
where r.check_id = $id
  and ($statuses::text[] is null or r.status = any ($statuses))
  and ${newestFirst("r")}`

const forgetting = given({ before: instant, limit: integer })

const forgetResults = statement(
  "numberCheck.forgetResults",
  forgetting,
)(sqlFiles["statements/numberCheck/forget-results.sql"])

const forgetChecks = statement(
  "numberCheck.forget",
  forgetting,
)(sqlFiles["statements/numberCheck/forget-checks.sql"])

export const numberCheckStore = (database: DatabaseService): typeof NumberCheckStore.Service => ({
  insert: (check, idempotency) =>
    Effect.map(
      insert.rows<{
        readonly guard: BrokenCheckGuard | null
        readonly id: bigint | null
      }>(database, { check, claim: idempotency }),
      ([row]) =>
        row === undefined || row.guard !== null
          ? { _tag: "Broken", guard: row?.guard ?? "number" }
          : { _tag: "Made", id: Number(row.id) as NumberCheckId },
    ),
  get: (seen, id) => getCheck.first(database, { ...seen, id }, toCheck),
  list: (seen, page) => listChecks.page(database, seen.workspaceId, { ...seen, ...page }, toCheck),
  results: (id, statuses, page) =>
    listResults.page(database, `check ${id}`, { ...page, id, statuses }, toResult),
  claim: claim(database),
  settle: settle(database),
  forget: (before) =>
    Effect.andThen(
      forgetResults.untilDone(database, { before, limit: erasedAtOnce }),
      forgetChecks.untilDone(database, { before, limit: erasedAtOnce }),
    ),
})
