/** The lanes, and what is left to do. */
import { sqlFiles } from "../sql.generated.ts"
import type {
  EarliestDue,
  LaneQueue,
  SharedWork,
  Work,
  Workload,
  DueWork,
} from "@messaging-service/core"
import { Effect, Record } from "effect"
import type { DatabaseService } from "../database/Database.ts"
import { bigints, instant, integers, millis, epochMillis } from "../database/Fields.ts"
import { given, joined, single, statement } from "../database/Statement.ts"
import type { DeliveriesQueued } from "../webhook/queueDeliveries.ts"
import { isAskedBy } from "../numberCheck/claimChecks.ts"
import { claim, renew } from "./claimLanes.ts"
import { pauseLane, resumeLane } from "./controlLane.ts"
import { isOwned, ownedColumns } from "./lane.ts"
import { settle } from "./settleAttempts.ts"

export const laneQueue = (
  database: DatabaseService,
  queued: DeliveriesQueued,
): typeof LaneQueue.Service => ({
  claim: claim(database),
  renew: renew(database),
  settle: settle(database, queued),
  pause: pauseLane(database),
  resume: resumeLane(database),
})

/**
 * The earliest moment of each kind of work: one look into the index that serves its sweep.
 * `crowded` holds lists of workspaces to pass over; a null list passes over all of them.
 */
const nextDueBeside = (
  crowded: Readonly<Record<SharedWork, string>>,
  owned: Parameters<typeof isOwned>[1],
): Readonly<Record<Work, string>> => ({
  // Index lanes_due.
  lanes: `
select l.next_due as due
from lanes l
where l.next_due is not null
  and :code.is_claimable(l)
  and ${isOwned("l.number_id", owned)}
  and (l.lease_until is not null or l.workspace_id <> all (${crowded.lanes}))
order by l.next_due
limit 1`,
  // Index messages_expiring. What is in flight is left to its lane.
  expiry: `
select m.expires_at as due
from messages m
where m.state = 'waiting'
  and m.expires_at is not null
  and not exists (
    select
    from lanes l
    where l.number_id = m.number_id
    and :code.is_in_flight(m, l)
  )
order by m.expires_at
limit 1`,
  // Index messages_test_due.
  test_messages: `
select m.due_at as due
from messages m
where m.state = 'waiting'
  and m.mode = 'test'
  and m.due_at < 'infinity'
  and not exists (
    select
    from lanes l
    where l.number_id = m.number_id
    and (l.removed_at is not null or l.disabled)
  )
order by m.due_at
limit 1`,
  // Index lanes_orphaned. Due before any time that a clock shows, so always due.
  orphaned: `
select timestamptz 'epoch' as due
from lanes l
where l.orphaned
limit 1`,
  // Index linking_attempts_due; index linking_attempts_ending for those that wait for a place.
  linking: `
select least(
  (
    select a.due_at
    from linking_attempts a
    join numbers n on n.id = a.number_id
    where a.mode = 'test'
      or (
        ${isOwned("a.number_id", owned)}
        and (a.lease_until is not null or n.workspace_id <> all (${crowded.linking}))
      )
    order by a.due_at
    limit 1
  ),
  (
    select a.ends_at
    from linking_attempts a
    order by a.ends_at
    limit 1
  )
) as due`,
  // Index reminders_due.
  reminders: `
select r.next_run_at as due
from reminders r
where r.next_run_at is not null
order by r.next_run_at
limit 1`,
  // Indexes webhook_lanes_due and webhook_lanes_callbacks_due; lanes that are marked are always due.
  deliveries: `
select least(
  (
    select timestamptz 'epoch'
    from webhook_marks mark
    order by mark.id
    limit 1
  ),
  (
    select l.next_due
    from webhook_lanes l
    where l.next_due is not null
    order by l.next_due
    limit 1
  ),
  (
    select l.callback_due
    from webhook_lanes l
    where l.callback_due is not null
      and l.workspace_id <> all (${crowded.deliveries})
    order by l.callback_due
    limit 1
  )
) as due`,
  // Index number_checks_due.
  number_checks: `
select c.next_due as due
from number_checks c
join lanes l on l.number_id = c.number_id
where c.next_due is not null
  and :code.can_be_asked(c, l)
  and ${isAskedBy("c", "l", owned)}
  and (c.lease_until is not null or c.workspace_id <> all (${crowded.number_checks}))
order by c.next_due
limit 1`,
})

/** In the order in which a workload is told how many places there are of each. */
const shared = [
  "lanes",
  "number_checks",
  "linking",
  "deliveries",
] as const satisfies ReadonlyArray<SharedWork>

/** So many places are never taken. */
const endless = 2_147_483_647

const nextDue = Record.map(
  nextDueBeside(
    {
      lanes: "$crowded",
      number_checks: "$crowded",
      linking: "$crowded",
      deliveries: "$crowded",
    },
    { of: "$p_of::bigint", shards: "$p_shards::bigint[]" },
  ),
  (text, work) =>
    statement(`nextDue.${work}`, joined(given({ crowded: bigints }), single(ownedColumns)))(text),
)

/** A list of no workspaces. */
const none = "'{}'::bigint[]"

/** What is owned where no worker asks. */
const allNumbers = { of: "null::bigint", shards: "null::bigint[]" }

const earliest = statement(
  "earliest",
  given({}),
)(`select json_build_object(
  ${Object.entries(
    nextDueBeside(
      { lanes: none, number_checks: none, linking: none, deliveries: none },
      allNumbers,
    ),
  )
    .map(([work, due]) => `'${work}', ${epochMillis(`(${due})`)}`)
    .join(",\n  ")}
) as earliest`)

/**
 * The core's `saturatedTenants`, of a row for each lease that a workspace holds; null, which is all, where no
 * place is left. The cast makes one list of it, where `all` would take a mere subquery for rows of lists.
 */
export const saturatedTenants = (
  holders: string,
  { most, whole }: Readonly<Record<"most" | "whole", string>>,
): string => `((
    select case
      when coalesce(sum(held.leases), 0) < ${whole}
        then coalesce(array_agg(held.workspace_id) filter (where held.leases >= ${most}), '{}')
    end
    from (
      select holder.workspace_id, count(*) as leases
      from (${holders}) holder
      group by holder.workspace_id
    ) held
  )::bigint[])`

const workload = statement(
  "workload",
  given({ now: instant, most: integers, whole: integers }),
)(sqlFiles["statements/queue/workload.sql"])

export const workStatus = (database: DatabaseService): typeof DueWork.Service => ({
  nextDue: (work, crowded = [], owned = "all") =>
    Effect.map(
      nextDue[work].value<Date>(database, { crowded: crowded === "all" ? null : crowded, owned }),
      millis,
    ),
  earliest: () => earliest.one<EarliestDue>(database, {}),
  workload: (now, places) =>
    workload.one<Workload>(database, {
      now,
      most: shared.map((work) => places?.[work].share.most ?? endless),
      whole: shared.map((work) => places?.[work].whole ?? endless),
    }),
})
