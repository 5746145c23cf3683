/** Frees a claim of a refused request, if it is still this one's. */
import type { IdempotencyClaim } from "@messaging-service/core"
import { Effect } from "effect"
import type { DatabaseService } from "../database/Database.ts"
import { bigint, text } from "../database/parameters.ts"

const statement = `
delete from idempotency_claims c
where c.key_id = $1
  and c.key = $2
  and c.token = $3`

export const releaseClaim = (database: DatabaseService) => (claim: IdempotencyClaim) =>
  Effect.asVoid(
    database.query("releaseClaim", statement, [
      bigint(claim.keyId),
      text(claim.key),
      text(claim.token),
    ]),
  )
