/**
 * What a claim of deliveries takes of each lane: in rounds, one of each target in every round. A
 * workspace's callbacks may have any number of targets, so of these no more are taken than its share
 * still allows, and of all workspaces together no more than asked for.
 */
import { sqlFunction } from "../database/Statement.ts"
import { isLeased } from "../queue/lane.ts"
import { heldOf, shareVariables, takeInShares } from "../queue/shares.ts"

/**
 * The core's `takeInRounds`, by sums instead of a sort of all that is due. Two parts of a `with`, after
 * the part `lane`: its `wanted` is how many may be taken of it; `ahead` and `dues` hold the ids and
 * times of these in order, and of those after them.
 */
export const inRounds = ({
  limit,
  most,
}: {
  /** How many are taken in all. */
  readonly limit: string
  /** How many of one lane at most. */
  readonly most: string
}): string => `-- How many rounds of one for each lane fit into the limit, and what they leave of it.
    share as materialized (
      select round.places, (${limit} - sum(least(wants.wanted, round.places) * wants.lanes)) as rest
      from (
        select lane.wanted, count(*) as lanes
        from lane
        where lane.wanted > 0
        group by lane.wanted
      ) wants
      cross join generate_series(0, least(${most}, ${limit})) round (places)
      group by round.places
      having sum(least(wants.wanted, round.places) * wants.lanes) <= ${limit}
      order by round.places desc
      limit 1
    ),
    -- Those that get one of the rest: the longest due of the next round.
    favoured as materialized (
      select lane.endpoint_id
      from lane
      join share on lane.wanted > share.places and share.rest > 0
      order by lane.dues[share.places + 1], lane.ahead[share.places + 1]
      limit (select share.rest from share)
    )`

/** How many are taken of a lane, beside the part `favoured`, of whose rows it has one or none. */
export const placesOfLane = `least(lane.wanted, (select share.places from share))::integer
            + case when favoured.endpoint_id is null then 0 else 1 end`

/**
 * Due lanes of callbacks beside `p_lanes`, locked, the longest due first. Each has a call for one place
 * at least: when a workspace has more lanes than places, others may have theirs instead.
 */
export const dueCallbackLanes = sqlFunction(
  "due_callback_lanes",
  `
    p_now timestamptz, p_limit integer, p_lanes bigint[], p_per_workspace integer,
    p_workspaces bigint[], p_held integer[]
  `,
  "bigint[]",
)`
  declare
    ${shareVariables}
  begin
    if p_limit <= 0 or p_per_workspace <= 0 then
      return v_lanes;
    end if;
    -- Index webhook_lanes_callbacks_due.
    ${takeInShares({
      table: "webhook_lanes",
      id: "endpoint_id",
      due: "callback_due",
      isTakeable: "l.endpoint_id <> all (p_lanes)",
    })}
    return v_lanes;
  end`

/**
 * How many may be taken from each of these lanes, in their order; null for that of an endpoint. The
 * lane whose first has waited longest has the first choice.
 */
export const callbackPlaces = sqlFunction(
  "callback_places",
  `
    p_now timestamptz, p_lanes bigint[], p_settled bigint[], p_per_target integer,
    p_callbacks integer, p_per_workspace integer, p_workspaces bigint[], p_held integer[]
  `,
  "integer[]",
)`
  begin
    return (with wants as (
      select
        l.endpoint_id, l.workspace_id, ahead.wanted, ahead.first_due,
        p_per_workspace - ${heldOf("l.workspace_id")} as room
      from webhook_lanes l
      cross join lateral (
        select coalesce(array_agg(held.id), '{}') as ids
        from unnest(l.held_ids, l.held_until) held (id, lease_until)
        where ${isLeased("held", "p_now")}
          and held.id <> all (p_settled)
      ) live
      cross join lateral (
        select count(*) as wanted, min(next.due_at) as first_due
        from (
          -- Index webhook_deliveries_due.
          select d.due_at
          from webhook_deliveries d
          where d.endpoint_id = l.endpoint_id
            and d.id <> all (live.ids)
            and d.due_at <= p_now
          order by d.due_at, d.id
          limit greatest(0, p_per_target - cardinality(live.ids))
        ) next
      ) ahead
      where l.endpoint_id = any (p_lanes)
        and l.endpoint_id < 0
    ),
    of_workspace as (
      select
        w.endpoint_id, w.first_due,
        greatest(0, least(w.wanted, w.room - coalesce(sum(w.wanted) over (
          partition by w.workspace_id
          order by w.first_due, w.endpoint_id
          rows between unbounded preceding and 1 preceding
        ), 0))) as wanted
      from wants w
    ),
    of_all as (
      select
        w.endpoint_id,
        greatest(0, least(w.wanted, p_callbacks - coalesce(sum(w.wanted) over (
          order by w.first_due, w.endpoint_id
          rows between unbounded preceding and 1 preceding
        ), 0)))::integer as places
      from of_workspace w
    )
    select array_agg(of_all.places order by lane.place)
    from unnest(p_lanes) with ordinality lane (id, place)
    left join of_all on of_all.endpoint_id = lane.id);
  end`
