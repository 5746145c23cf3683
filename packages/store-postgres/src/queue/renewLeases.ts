/**
 * Prolonging leases that are still the lane's, also ones that ran out and were not taken over.
 *
 * Locks: the lanes by id. A lane that another worker has claimed meanwhile has another lease by the
 * time its row is locked, and drops out.
 */
import type { LaneQueue, NumberId } from "@messaging-service/core"
import { Effect } from "effect"
import type { DatabaseService } from "../database/Database.ts"
import { bigints, instant } from "../database/parameters.ts"

const renewLeases = `
with held as materialized (
  select l.number_id
  from lanes l
  join unnest($1::bigint[], $2::bigint[]) asked (number_id, lease)
    on asked.number_id = l.number_id
    and asked.lease = l.lease
  where l.lease_until is not null
  order by l.number_id
  for no key update of l
)
update lanes l
set lease_until = $3,
  next_due = $3
from held
where l.number_id = held.number_id
returning l.number_id`

export const renew =
  (database: DatabaseService): (typeof LaneQueue.Service)["renew"] =>
  (leases, leaseUntil) =>
    leases.length === 0
      ? Effect.succeed(new Set<NumberId>())
      : Effect.map(
          database.query<{ readonly number_id: bigint }>("renew", renewLeases, [
            bigints(leases.map((one) => one.numberId)),
            bigints(leases.map((one) => one.lease)),
            instant(leaseUntil),
          ]),
          (rows) => new Set(rows.map((row) => Number(row.number_id) as NumberId)),
        )
