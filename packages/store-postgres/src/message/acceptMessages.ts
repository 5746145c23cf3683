/** Accepting messages: one call of `accept_messages` writes whole acceptances, each on its own. */
import type { Acceptance, AcceptanceOutcome } from "@messaging-service/core"
import { Effect } from "effect"
import { lockPatience } from "../database/Coalesced.ts"
import type { DatabaseService } from "../database/Database.ts"
import { bigints, text } from "../database/Fields.ts"
import { joinableCall, kept, sqlFunction } from "../database/Statement.ts"
import { acceptParameters, batchOf, toOutcome } from "./acceptBatch.ts"
import type { OutcomeRow } from "./acceptBatch.ts"

export const acceptMessages = sqlFunction("accept_messages", acceptParameters)

export const acceptStatement = joinableCall(
  "accept",
  acceptMessages,
  kept({ guard: text, ids: bigints }),
)

/** Writes acceptances in one round trip; one outcome for each, in their order. */
export const accept = (database: DatabaseService) => (acceptances: ReadonlyArray<Acceptance>) => {
  const order = acceptances
    .map((_, index) => index)
    .toSorted((a, b) => numberAt(acceptances, a) - numberAt(acceptances, b))
  const sorted = order.flatMap((index) => acceptances[index] ?? [])
  const accepted = Effect.flatMap(lockPatience, (patience) =>
    acceptStatement.rows<OutcomeRow>(database, batchOf(sorted, patience)),
  )
  return Effect.map(accepted, (rows) => {
    const outcomes: Array<AcceptanceOutcome> = []
    for (const [position, row] of rows.entries()) {
      outcomes[order[position] ?? position] = toOutcome(row)
    }
    return outcomes
  })
}

const numberAt = (acceptances: ReadonlyArray<Acceptance>, index: number): number =>
  acceptances[index]?.numberId ?? 0
