/** Settling attempts, many in one call of `settle_attempts`. */
import type { LaneQueue, MessageId, Settlement } from "@messaging-service/core"
import { Effect } from "effect"
import { lockMillis, togetherOrAlone } from "../database/Coalesced.ts"
import type { DatabaseService } from "../database/Database.ts"
import { bigint, boolean, instant, integer, text, within } from "../database/Fields.ts"
import { call, each, joined, part, sqlFunction, taking } from "../database/Statement.ts"
import { changeColumns, endedIds } from "../message/endMessages.ts"
import type { EndedRow } from "../message/endMessages.ts"
import type { DeliveriesQueued } from "../webhook/queueDeliveries.ts"

/** How the message ends; null when it goes on waiting. */
const changeOf = (one: Settlement) => (one._tag === "Ended" ? one.change : null)

const columns = {
  number_id: bigint((one: Settlement) => one.numberId),
  lease: bigint((one: Settlement) => one.lease),
  message_id: bigint((one: Settlement) =>
    one._tag === "Ended" ? one.change.message.id : one.messageId,
  ),
  again: boolean((one: Settlement) => one._tag === "Again"),
  not_before: instant((one: Settlement) => one.notBefore),
  refusals: integer((one: Settlement) => one.breaker?.strikes.refusals ?? null),
  pauses: integer((one: Settlement) => one.breaker?.strikes.pauses ?? null),
  pause_reason: text((one: Settlement) => one.breaker?.pause?.reason ?? null),
  // Null in a pause that only an operator ends.
  pause_until: instant((one: Settlement) => one.breaker?.pause?.until ?? null),
  no_room: integer((one: Settlement) => one.noRoom?.inARow ?? null),
  no_room_until: instant((one: Settlement) => one.noRoom?.until ?? null),
  interrupted: integer((one: Settlement) => (one._tag === "Again" && one.interrupted ? 1 : 0)),
  ...within(changeOf, changeColumns),
}

const settleStatement = call(
  "settle",
  sqlFunction(
    "settle_attempts",
    joined(taking({ now: instant, patience: text }), part("settlements", each(columns, "p_"))),
  ),
)

export const settle =
  (database: DatabaseService, { tell }: DeliveriesQueued): (typeof LaneQueue.Service)["settle"] =>
  (settlements, now) => {
    if (settlements.length === 0) {
      return Effect.succeed({ settled: new Set<MessageId>(), blockedByLock: [] })
    }
    const together = (some: ReadonlyArray<Settlement>) =>
      endedIds(
        settleStatement.rows<EndedRow>(database, {
          settlements: some,
          now,
          patience: `${lockMillis}ms`,
        }),
        tell,
      )
    return Effect.map(togetherOrAlone(settlements, together), ({ done, blockedByLock }) => ({
      settled: new Set(done.flatMap((ids) => [...ids])),
      blockedByLock,
    }))
  }
