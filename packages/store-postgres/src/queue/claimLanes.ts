/**
 * Claiming lanes: free ones that are due, the longest waiting first, one message each, and of no
 * workspace more than its share of the worker.
 *
 * Locks: the first statement takes the rows of the lanes and passes over those that others hold, so
 * dispatchers never wait for one another. Only a later statement reads messages: it sees all that
 * was committed before the lane was locked, and nothing can change while it is.
 */
import type { ClaimedMessage, ClaimQuery, LaneQueue, NumberId } from "@messaging-service/core"
import { Effect } from "effect"
import { lockMillis, togetherOrAlone } from "../database/Coalesced.ts"
import { rowsOver } from "../database/Database.ts"
import type { DatabaseService } from "../database/Database.ts"
import {
  bigint,
  bigints,
  columnsOf,
  declared,
  instant,
  integer,
  selected,
  without,
  text,
} from "../database/Fields.ts"
import type { FieldsOf, RowOf } from "../database/Fields.ts"
import { call, given, single, sqlFunction, statement } from "../database/Statement.ts"
import { messageColumns, messageNames, messageResult, toMessage } from "../message/messageRow.ts"
import type { MessageRow } from "../message/messageRow.ts"
import { numberTable, toNumber } from "../number/numberRow.ts"
import {
  firstWaiting,
  holdsLease,
  holdsUntil,
  isClaimable,
  isOwned,
  limitedUntil,
  mayBeHandedOut,
  nextDueAfter,
  ownedFields,
  ownedParameters,
  pausedUntil,
  sendsCappedUntil,
  sentInWindow,
  stillWaits,
  stoppedUntil,
  toPacing,
} from "./lane.ts"
import { shareVariables, sharesFields, takeInShares } from "./shares.ts"

const parameters = single(
  columnsOf({
    now: { p_now: instant((query) => query.now) },
    leaseUntil: { p_lease_until: instant((query) => query.leaseUntil) },
    limit: { p_limit: integer((query) => query.limit) },
    sendCap: {
      p_cap: integer(({ sendCap }) => sendCap.messages),
      p_window_millis: bigint(({ sendCap }) => sendCap.windowMillis),
    },
    ...ownedFields,
    ...sharesFields,
  } satisfies FieldsOf<ClaimQuery>),
)

/** A number's columns beside those of its message, which names it, its workspace and its platform. */
const numberBeside = without(numberTable, "id", "workspace_id", "mode", "platform")

/**
 * The core's `limitedUntil`. A function of its own, since few lanes are at a limit or paced: what it
 * asks costs a claim nothing where it is not called.
 */
export const laneLimit = sqlFunction(
  "lane_limit",
  "p_number bigint, p_pacing integer[], p_head bigint, p_is_full boolean, p_cap integer, p_window interval, p_now timestamptz",
  "timestamptz",
)`
  begin
    return (
      select ${limitedUntil("c", "p_head", {
        capped: `case when p_is_full then ${sendsCappedUntil("c", {
          fits: "p_cap",
          window: "p_window",
          now: "p_now",
        })} end`,
        now: "p_now",
      })}
      from (values (p_number, p_pacing)) c (number_id, pacing)
    );
  end`

/**
 * What becomes of each locked lane, in the order of the cases: one that is stopped, or whose number is not
 * connected, is passed over unless its head may have left and has expired, and what was in flight in it
 * counts as interrupted;
 * an unsettled message whose lease ran out is handed out again, whatever became of it; a lane whose
 * limits are used up is passed over until there is room; else its head goes out, and without one the
 * lane is due when its next message is. Sends are counted only when the lane's bound says there may be
 * too many, and of lanes that are paced.
 */
export const claimLanes = sqlFunction(
  "claim_lanes",
  parameters,
  `table (
    lease bigint, interruptions integer, removed boolean, pacing integer[], refusals integer,
    pauses integer, no_room integer, ${declared(numberBeside, "n_")},
    ${messageResult}
  )`,
)`
  declare
    ${shareVariables}
    v_window constant interval := p_window_millis * interval '1 millisecond';
  begin
    -- Index lanes_due.
    ${takeInShares({
      table: "lanes",
      id: "number_id",
      due: "next_due",
      isTakeable: `${isClaimable("l")}
          and ${isOwned("l.number_id", ownedParameters)}`,
    })}
    if cardinality(v_lanes) = 0 then
      return;
    end if;

    return query
    with lane as materialized (
      select l.*, sent.count as sent_count
      from lanes l
      cross join lateral (${sentInWindow("l", "p_now", "v_window")}
          and l.lease_until is null
          and l.sent_bound >= p_cap
      ) sent
      where l.number_id = any (v_lanes)
    ),
    candidate as materialized (
      select
        lane.number_id, lane.next_due, lane.lease_until is not null as interrupted,
        lane.sent_bound, lane.sent_count, lane.pacing,
        case when lane.removed_at is null then ${pausedUntil("held.until", "p_now")} end
          as paused_until,
        case
          when lane.lease_until is not null then lane.head_id
          else coalesce(
            (
              select m.id
              from messages m
              where m.id = lane.head_id
                and ${stillWaits("m")}
                and ${mayBeHandedOut("m", "lane", "p_now")}
            ),
            ${firstWaiting("id", "lane", { now: "p_now", dueBy: "p_now" })}
          )
        end as head_id
      from lane
      cross join lateral (
        select ${holdsUntil("lane", stoppedUntil("lane"))} as until
      ) held
    ),
    picked as materialized (
      select
        c.number_id, c.next_due, c.interrupted, c.sent_count, rest.limited_until,
        greatest(c.paused_until, rest.limited_until) as until,
        not c.interrupted and c.sent_bound >= p_cap as counted,
        case when greatest(c.paused_until, rest.limited_until) is null then c.head_id end as head_id
      from candidate c
      cross join lateral (
        select case
          when not c.interrupted and c.head_id is not null and c.paused_until is null
            and (c.sent_count >= p_cap or c.pacing is not null)
          then ${laneLimit.name}(
            c.number_id, c.pacing, c.head_id, c.sent_count >= p_cap, p_cap, v_window, p_now
          )
        end as limited_until
      ) rest
    ),
    moved as (
      update lanes l
      set head_id = coalesce(picked.head_id, l.head_id),
        interruptions = case
          when picked.interrupted then l.interruptions + 1
          when picked.head_id is null or picked.head_id = l.head_id then l.interruptions
          else 0
        end,
        lease = case when picked.head_id is null then l.lease else l.lease + 1 end,
        lease_until = case when picked.head_id is null then null else p_lease_until end,
        sent_bound = case when picked.counted then picked.sent_count else l.sent_bound end,
        limited_until = picked.limited_until,
        no_room = case when picked.limited_until is null then l.no_room else 0 end,
        next_due = ${nextDueAfter.claimed({
          handsOut: "picked.head_id is not null",
          leaseUntil: "p_lease_until",
          until: "picked.until",
          firstDueAt: firstWaiting("due_at", "l", { now: "p_now" }),
        })}
      from picked
      where l.number_id = picked.number_id
      returning
        l.number_id, l.head_id, l.lease, l.interruptions, l.lease_until,
        l.removed_at is not null as removed, l.pacing, l.refusals, l.pauses, l.no_room,
        picked.next_due as was_due
    )
    select
      moved.lease, moved.interruptions, moved.removed, moved.pacing, moved.refusals, moved.pauses,
      moved.no_room,
      ${selected(numberBeside, "n")},
      ${messageColumns("m", "n.phone")}
    from moved
    join messages m on m.id = moved.head_id
    join numbers n on n.id = moved.number_id
    where moved.lease_until is not null
    order by moved.was_due, moved.number_id;
  end`

type ClaimedRow = MessageRow &
  RowOf<typeof numberBeside, "n_"> & {
    readonly lease: bigint
    readonly interruptions: number
    readonly removed: boolean
    readonly pacing: ReadonlyArray<number | null> | null
    readonly refusals: number
    readonly pauses: number
    readonly no_room: number
  }

const toClaimed = (row: ClaimedRow): ClaimedMessage => ({
  message: toMessage(row),
  number: toNumber({
    id: row.number_id,
    workspace_id: row.workspace_id,
    // What leaves is live, and so is the number that it leaves from.
    mode: "live",
    platform: row.platform,
    phone: row.n_phone,
    label: row.n_label,
    status: row.n_status,
    login_method: row.n_login_method,
    created_at: row.n_created_at,
  }),
  removed: row.removed,
  lease: Number(row.lease),
  interruptions: row.interruptions,
  pacing: toPacing(row.pacing),
  noRoomInARow: row.no_room,
  strikes: { refusals: row.refusals, pauses: row.pauses },
})

const Claimed = rowsOver([
  "lease",
  "interruptions",
  "removed",
  "pacing",
  "refusals",
  "pauses",
  "no_room",
  ...Object.keys(numberBeside).map((name) => `n_${name}`),
  ...messageNames,
])

const claimStatement = call("claim", claimLanes, Claimed)

export const claim = (database: DatabaseService) => (query: ClaimQuery) =>
  claimStatement.all(database, query, toClaimed)

/**
 * Prolongs leases that are still the lane's, also ones that ran out and were not taken over.
 *
 * Locks: the lanes by id. A lane that another worker has claimed meanwhile has another lease by the
 * time its row is locked, and drops out.
 */
const renewLeases = statement(
  "renew",
  given({ numbers: bigints, leases: bigints, leaseUntil: instant, patience: text }),
)`
with held as materialized (
  select l.number_id
  from lanes l
  join unnest($numbers::bigint[], $leases::bigint[]) asked (number_id, lease)
    on asked.number_id = l.number_id
  where ${holdsLease("l", "asked.lease")}
    -- One that another transaction holds for long must not keep the others from being prolonged.
    and (select set_config('lock_timeout', $patience, true)) is not null
  order by l.number_id
  for no key update of l
)
update lanes l
set lease_until = $leaseUntil,
  next_due = $leaseUntil
from held
where l.number_id = held.number_id
returning l.number_id`

type Lease = Parameters<(typeof LaneQueue.Service)["renew"]>[0][number]

const prolonged = (database: DatabaseService, leases: ReadonlyArray<Lease>, leaseUntil: number) =>
  renewLeases.rows<{ readonly number_id: bigint }>(database, {
    numbers: leases.map((one) => one.numberId),
    leases: leases.map((one) => one.lease),
    leaseUntil,
    patience: `${lockMillis}ms`,
  })

/** A lane that is held up is left for the next time; it cannot be claimed meanwhile. */
export const renew =
  (database: DatabaseService): (typeof LaneQueue.Service)["renew"] =>
  (leases, leaseUntil) =>
    leases.length === 0
      ? Effect.succeed(new Set<NumberId>())
      : Effect.map(
          togetherOrAlone(leases, (some) => prolonged(database, some, leaseUntil)),
          ({ done }) => new Set(done.flat().map((row) => Number(row.number_id) as NumberId)),
        )
