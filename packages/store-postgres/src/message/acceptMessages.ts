/**
 * Accepting messages: one call writes whole acceptances, each on its own, or says which of an
 * acceptance's preconditions no longer held.
 *
 * Locks: the lanes first, by id, then the workspaces with a limited plan, by id; everything that
 * locks both keeps that order, so calls wait for one another but never in a circle. A workspace
 * with an unlimited plan is only read: its senders do not wait for one another. Claims are locked
 * before both; a request that waits for a claim holds no lane. A caller's transaction, which stays open,
 * takes no more than a key share of each, and notes of them before, the plan's first (see `arrivals.ts`).
 */
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
