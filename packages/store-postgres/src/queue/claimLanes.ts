/**
 * Claiming lanes: free ones that are due, the longest waiting first, one message each, and of no
 * workspace more than its share of the worker.
 *
 * Locks: the first statement takes the rows of the lanes and passes over those that others hold, so
 * dispatchers never wait for one another. Only a later statement reads messages: it sees all that
 * was committed before the lane was locked, and nothing can change while it is.
 */
import type {
  ClaimedMessage,
  ClaimQuery,
  NumberId,
  StoreUnavailable,
} from "@messaging-service/core"
import { Effect } from "effect"
import type { DatabaseService } from "../database/Database.ts"
import {
  bigint,
  bigints,
  bigintsOrNull,
  instant,
  integer,
  integers,
} from "../database/parameters.ts"
import { placeholders, sqlFunction } from "../database/SqlFunction.ts"
import { messageColumns, messageResult, toMessage } from "../message/messageRow.ts"
import type { MessageRow } from "../message/messageRow.ts"
import { toNumber } from "../number/numberRow.ts"
import {
  cappedUntil,
  firstWaiting,
  fitsShare,
  isClaimable,
  mayBeHandedOut,
  nextDueAfter,
  sentInWindow,
  sharesParameters,
} from "./lane.ts"

/**
 * What becomes of each locked lane, in the order of the cases: an unsettled message whose lease ran
 * out is handed out again, whatever became of it; a lane that has sent its fill rests until the
 * oldest of those sends leaves the window; else its head goes out, and without one the lane is due
 * when its next message is. Sends are counted only when the lane's bound says there may be too many.
 */
export const claimLanes = sqlFunction(
  "claim_lanes",
  `(
    p_now timestamptz,
    p_lease_until timestamptz,
    p_limit integer,
    p_owned bigint[],
    p_cap integer,
    p_window_millis bigint,
    p_per_workspace integer,
    p_workspaces bigint[],
    p_held integer[]
  )
  returns table (
    lease bigint, interruptions integer, removed boolean,
    number_phone text, number_label text, number_status text, number_login_method text,
    number_created_at timestamptz,
    ${messageResult}
  )
  language plpgsql
  as $function$
  #variable_conflict use_column
  declare
    v_lanes bigint[] := '{}';
    v_found bigint[];
    -- Workspaces of which no more lanes may be taken, and those of them that were found to be.
    v_crowded bigint[];
    v_refused bigint[];
    v_window constant interval := p_window_millis * interval '1 millisecond';
  begin
    v_crowded := array(
      select workspace.id
      from unnest(p_workspaces, p_held) workspace (id, held)
      where workspace.held >= p_per_workspace
    );
    loop
      -- Index lanes_due.
      v_found := array(
        select l.number_id
        from lanes l
        where l.next_due <= p_now
          and ${isClaimable("l")}
          and (p_owned is null or l.number_id = any (p_owned))
          and l.workspace_id <> all (v_crowded)
          and l.number_id <> all (v_lanes)
        order by l.next_due
        limit p_limit - cardinality(v_lanes)
        for no key update skip locked
      );
      v_found := v_lanes || v_found;
      exit when v_found = v_lanes;
      -- Each workspace gets what it still may have; while one got less than it has, others may have
      -- more.
      select
        coalesce(array_agg(judged.number_id order by judged.place) filter (where judged.fits), '{}'),
        array_agg(distinct judged.workspace_id) filter (where not judged.fits)
      into v_lanes, v_refused
      from (
        select
          found.number_id, found.place, l.workspace_id,
          ${fitsShare("l.workspace_id", "found.place", sharesParameters)} as fits
        from unnest(v_found) with ordinality found (number_id, place)
        join lanes l on l.number_id = found.number_id
      ) judged;
      exit when v_refused is null;
      v_crowded := v_crowded || v_refused;
    end loop;
    if cardinality(v_lanes) = 0 then
      return;
    end if;

    return query
    with lane as materialized (
      select l.*, sent.count as sent_count, sent.oldest as oldest_sent
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
        lane.sent_bound, lane.sent_count, lane.oldest_sent,
        case
          when lane.lease_until is not null then lane.head_id
          else coalesce(
            (
              select m.id
              from messages m
              where m.id = lane.head_id
                and m.state = 'waiting'
                and ${mayBeHandedOut("m", "lane", "p_now")}
            ),
            ${firstWaiting("id", "lane", { now: "p_now", dueBy: "p_now" })}
          )
        end as head_id
      from lane
    ),
    picked as materialized (
      select
        c.number_id, c.next_due, c.interrupted, c.sent_count, rest.until,
        not c.interrupted and c.sent_bound >= p_cap as counted,
        case when rest.until is null then c.head_id end as head_id
      from candidate c
      cross join lateral (
        select case
          when not c.interrupted and c.head_id is not null
          then ${cappedUntil("c.sent_count", "c.oldest_sent", "p_cap", "v_window")}
        end as until
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
        hold_until = coalesce(picked.until, l.hold_until),
        next_due = ${nextDueAfter.claimed({
          handsOut: "picked.head_id is not null",
          leaseUntil: "p_lease_until",
          restsUntil: "picked.until",
          firstDueAt: firstWaiting("due_at", "l", { now: "p_now" }),
        })}
      from picked
      where l.number_id = picked.number_id
      returning
        l.number_id, l.head_id, l.lease, l.interruptions, l.lease_until,
        l.removed_at is not null as removed, picked.next_due as was_due
    )
    select
      moved.lease, moved.interruptions, moved.removed,
      n.phone, n.label, n.status, n.login_method, n.created_at,
      ${messageColumns("m", "n.phone")}
    from moved
    join messages m on m.id = moved.head_id
    join numbers n on n.id = moved.number_id
    where moved.lease_until is not null
    order by moved.was_due, moved.number_id;
  end
  $function$`,
)

interface ClaimedRow extends MessageRow {
  readonly lease: bigint
  readonly interruptions: number
  readonly removed: boolean
  readonly number_phone: string | null
  readonly number_label: string
  readonly number_status: string
  readonly number_login_method: string
  readonly number_created_at: Date
}

const statement = `select * from ${claimLanes.name}(${placeholders(9)})`

export const claim =
  (database: DatabaseService) =>
  (query: ClaimQuery): Effect.Effect<ReadonlyArray<ClaimedMessage>, StoreUnavailable> =>
    Effect.map(
      database.query<ClaimedRow>("claim", statement, [
        instant(query.now),
        instant(query.leaseUntil),
        integer(query.limit),
        bigintsOrNull(owned(query)),
        integer(query.sendCap.messages),
        bigint(query.sendCap.windowMillis),
        integer(query.perWorkspace),
        bigints([...query.held.keys()]),
        integers([...query.held.values()]),
      ]),
      (rows) => rows.map(toClaimed),
    )

const owned = (query: ClaimQuery): ReadonlyArray<NumberId> | null =>
  query.owned === "all" ? null : query.owned

const toClaimed = (row: ClaimedRow): ClaimedMessage => ({
  message: toMessage(row),
  number: toNumber({
    id: row.number_id,
    workspace_id: row.workspace_id,
    // What leaves is live, and so is the number that it leaves from.
    mode: "live",
    phone: row.number_phone,
    label: row.number_label,
    platform: row.platform,
    status: row.number_status,
    login_method: row.number_login_method,
    created_at: row.number_created_at,
  }),
  removed: row.removed,
  lease: Number(row.lease),
  interruptions: row.interruptions,
})
