/** What workers do with number checks: claim the next phones of each, and settle the answers. */
import { sqlFiles } from "../sql.generated.ts"
import type { CheckClaimQuery, CheckSettlement, ClaimedCheck } from "@messaging-service/core"
import type { DatabaseService } from "../database/Database.ts"
import {
  bigint,
  boolean,
  columnsOf,
  decoded,
  instant,
  integer,
  text,
  texts,
} from "../database/Fields.ts"
import type { FieldsOf } from "../database/Fields.ts"
import { call, given, single, sqlFunction, statement, taking } from "../database/Statement.ts"
import { ownedFields } from "../queue/lane.ts"
import { sharesFields } from "../queue/shares.ts"

const claimParameters = single(
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
  sqlFunction("claim_number_checks", claimParameters),
)

export const claim = (database: DatabaseService) => (query: CheckClaimQuery) =>
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
export const settle = (database: DatabaseService) => (settlement: CheckSettlement, now: number) => {
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
