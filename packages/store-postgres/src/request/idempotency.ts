/**
 * Claims on idempotency keys: made before the work, and finished in the commit of what was made with
 * them. Sends claim and finish theirs many at a time, in functions of their own.
 */
import { erasedAtOnce } from "@messaging-service/core"
import type { ClaimOutcome, IdempotencyClaim, IdempotencyStore } from "@messaging-service/core"
import { Effect } from "effect"
import type { DatabaseService } from "../database/Database.ts"
import { statement } from "../database/Sql.ts"
import type { Params, Row } from "../database/Sql.ts"

/** A claim as functions take it; all null of a change that has none. */
export const toClaimParams = (
  claim: IdempotencyClaim | null,
): Omit<Params<"claim_idempotency_key">, "now"> => ({
  claimKeyId: claim?.keyId ?? null,
  claimKey: claim?.key ?? null,
  claimFingerprint: claim?.fingerprint ?? null,
  claimToken: claim?.token ?? null,
})

const claimKey = statement("claim_idempotency_key")
const release = statement("idempotency.release", { joinable: true })
const forgetRecords = statement("idempotency.forgetRecords")
const forgetClaims = statement("idempotency.forgetClaims")

const toOutcome = ({ answer }: Row<"claim_idempotency_key">): ClaimOutcome =>
  (answer as ClaimOutcome | null) ?? { _tag: "Claimed" }

/** Frees a claim of a refused request, if it is still this one's. */
export const releaseClaim = (database: DatabaseService, claim: IdempotencyClaim) =>
  release.run(database, toClaimParams(claim))

export const idempotencyStore = (database: DatabaseService): IdempotencyStore => ({
  claimKey: (claim, now) =>
    Effect.map(
      claimKey.first(database, { ...toClaimParams(claim), now }, toOutcome),
      (outcome) => outcome ?? { _tag: "Claimed" },
    ),
  releaseClaim: (claim) => releaseClaim(database, claim),
  forgetVoidClaims: (now) =>
    Effect.andThen(
      forgetRecords.untilDone(database, { now, limit: erasedAtOnce }),
      forgetClaims.untilDone(database, { now, limit: erasedAtOnce }),
    ),
})
