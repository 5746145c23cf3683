/** `IdempotencyStore` on PostgreSQL: claims for operations that are not sends. */
import { IdempotencyStore, answerKeptMillis, claimKeptMillis } from "@messaging-service/core"
import type { ClaimOutcome } from "@messaging-service/core"
import { Effect, Layer } from "effect"
import { Database } from "../database/Database.ts"
import { bigint, instant, text } from "../database/parameters.ts"
import { claimKey } from "../message/loadAcceptance.ts"
import { releaseClaim } from "./releaseClaim.ts"

const claimStatement = `
select ${claimKey.name}(
  $1, $2, $3, $4, $5, $6 * interval '1 millisecond', $7 * interval '1 millisecond'
) as outcome`

// Index idempotency_records_by_age.
const forgetRecords = `
delete from idempotency_records
where created_at <= $1`

const forgetClaims = `
delete from idempotency_claims
where claimed_at <= $1`

export const layerIdempotency = Layer.effect(
  IdempotencyStore,
  Effect.gen(function* () {
    const database = yield* Database
    return IdempotencyStore.of({
      claim: (claim, now) =>
        Effect.map(
          database.query<{ readonly outcome: ClaimOutcome | null }>(
            "idempotency.claim",
            claimStatement,
            [
              bigint(claim.keyId),
              text(claim.key),
              text(claim.fingerprint),
              text(claim.token),
              instant(now),
              bigint(claimKeptMillis),
              bigint(answerKeptMillis),
            ],
          ),
          ([row]) => row?.outcome ?? { _tag: "Claimed" },
        ),
      release: releaseClaim(database),
      forgetVoid: (now) =>
        Effect.andThen(
          database.query("idempotency.forgetRecords", forgetRecords, [
            instant(now - answerKeptMillis),
          ]),
          Effect.asVoid(
            database.query("idempotency.forgetClaims", forgetClaims, [
              instant(now - claimKeptMillis),
            ]),
          ),
        ),
    })
  }),
)
