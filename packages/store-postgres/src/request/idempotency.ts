/**
 * Claims on idempotency keys: made before the work, and finished in the commit of what was made with
 * them. Sends claim and finish theirs many at a time, in functions of their own.
 */
import { erasedAtOnce } from "@messaging-service/core"
import type { ClaimOutcome, IdempotencyClaim, IdempotencyStore } from "@messaging-service/core"
import { Effect } from "effect"
import type { DatabaseService } from "../database/Database.ts"
import { bigint, columnsOf, instant, integer, text, within } from "../database/Fields.ts"
import type { FieldsOf } from "../database/Fields.ts"
import {
  call,
  given,
  joinable,
  joined,
  single,
  sqlFunction,
  statement,
  taking,
} from "../database/Statement.ts"
import { sqlFiles } from "../sql.generated.ts"

/** A claim as functions take it. */
export const claimColumns = columnsOf({
  keyId: { p_claim_key_id: bigint((claim) => claim.keyId) },
  key: { p_claim_key: text((claim) => claim.key) },
  fingerprint: { p_claim_fingerprint: text((claim) => claim.fingerprint) },
  token: { p_claim_token: text((claim) => claim.token) },
} satisfies FieldsOf<IdempotencyClaim>)

/** The same of a change that may have one. */
export const claimParameters = single(
  within(({ claim }: { readonly claim: IdempotencyClaim | null }) => claim, claimColumns),
)

const claimStatement = call(
  "idempotency.claim",
  sqlFunction("claim_idempotency_key", joined(single(claimColumns), taking({ now: instant }))),
)

/** Frees a claim of a refused request, if it is still this one's. */
export const releaseClaim = joinable("releaseClaim", single(claimColumns), {})`
delete from idempotency_claims c
where c.key_id = $p_claim_key_id
  and c.key = $p_claim_key
  and c.token = $p_claim_token`

const forgetting = given({ now: instant, limit: integer })

const forgetRecords = statement(
  "idempotency.forgetRecords",
  forgetting,
)(sqlFiles["statements/idempotency/forget-records.sql"])

const forgetClaims = statement(
  "idempotency.forgetClaims",
  forgetting,
)(sqlFiles["statements/idempotency/forget-claims.sql"])

export const idempotencyStore = (database: DatabaseService): typeof IdempotencyStore.Service => ({
  claim: (claim, now) =>
    Effect.map(
      claimStatement.value<ClaimOutcome>(database, { ...claim, now }),
      (outcome) => outcome ?? { _tag: "Claimed" },
    ),
  release: (claim) => releaseClaim.run(database, claim),
  forgetVoid: (now) =>
    Effect.andThen(
      forgetRecords.untilDone(database, { now, limit: erasedAtOnce }),
      forgetClaims.untilDone(database, { now, limit: erasedAtOnce }),
    ),
})
