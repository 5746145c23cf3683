-- Records attempts that ended, and fills free places with what is due, in one commit. A p_now of -infinity
-- settles alone: no lease has run out and nothing is due. Without results it claims alone. So what a lane
-- holds and when it is next due is computed in one place.
--
-- A lane is that of a webhook endpoint, with the endpoint's id, or that of a callback's target, with an id below
-- zero. What is in flight is kept in the lane, so a claim changes no delivery. Of callbacks at most
-- p_callbacks are taken, and of each workspace what it has less than p_per_workspace.
--
-- Locks: the lanes of callbacks that are new by id; the lanes of the results and those that are marked, by
-- id, at once; then the endpoints that stop; then further lanes, without waiting for any.
--
-- Never null: id, lane_id, workspace_id, lease, event_id, body, attempt, url
create function settle_and_claim_deliveries(
  p_lane bigint[],
  p_results integer[],
  p_delivered_at timestamptz[],
  p_delivery bigint[],
  p_lease bigint[],
  p_attempted_at timestamptz[],
  p_duration_millis bigint[],
  p_response_status integer[],
  p_response_body text[],
  p_error text[],
  p_next_attempt_at timestamptz[],
  p_stop_since timestamptz[],
  p_now timestamptz,
  p_lease_until timestamptz,
  p_limit integer,
  p_per_target integer,
  p_callbacks integer,
  p_per_workspace integer,
  p_workspaces bigint[],
  p_held integer[]
) returns table (
  id bigint,
  lane_id bigint,
  workspace_id bigint,
  lease bigint,
  event_id text,
  body text,
  attempt integer,
  url text,
  secret_salt text
)
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
declare
  -- Lanes that got deliveries since the last claim.
  v_marked bigint[];
  -- Whether one of the lanes has deliveries that a success may bring forward.
  v_put_off boolean;
  -- Those of the results first, in their order, so that a lane finds its results by its place.
  v_lanes bigint[];
  -- Where the results of each lane end.
  v_ends integer[];
  -- The delivery of each result; 0 where its lease is the delivery's no more.
  v_settled bigint[] = '{}';
  v_ended bigint[];
  -- How many callbacks may be taken from each lane; null: no lane is one of callbacks.
  v_places integer[];
begin
  if p_now > '-infinity' then
    -- The oldest marks, but for those that another claim is taking.
    with taken as (
      delete from webhook_marks mark
      where mark.id in (
        select oldest.id
        from webhook_marks oldest
        order by oldest.id
        limit 1000
        for update skip locked
      )
      returning mark.lane_id, mark.workspace_id
    ),
    made as (
      insert into webhook_lanes (endpoint_id, workspace_id, delivered_since)
      select distinct on (taken.lane_id) taken.lane_id, taken.workspace_id, p_now
      from taken
      join workspaces w on w.id = taken.workspace_id
        and w.deleted_at is null
      where taken.workspace_id is not null
      order by taken.lane_id
      on conflict (endpoint_id) do nothing
    )
    select array_agg(distinct taken.lane_id)
    into v_marked
    from taken;
  end if;
  v_lanes := p_lane;
  if v_marked is not null then
    v_lanes := v_lanes || array(
      select marked.id
      from unnest(v_marked) marked (id)
      where marked.id <> all (p_lane)
    );
  end if;

  if cardinality(v_lanes) > 0 then
    select bool_or(locked.has_put_off)
    into v_put_off
    from (
      select l.has_put_off
      from webhook_lanes l
      where l.endpoint_id = any (v_lanes)
      order by l.endpoint_id
      for no key update
    ) locked;
  end if;

  if cardinality(p_lane) > 0 then
    v_ends := array(
      select sum(lane.results) over (order by lane.place)
      from unnest(p_results) with ordinality lane (results, place)
      order by lane.place
    );
    v_settled := array(
      select
        case
          when l.held_leases[array_position(l.held_ids, r.delivery_id)] = r.lease
          then r.delivery_id
          else 0
        end
      from unnest(p_lane, p_results, v_ends) with ordinality lane (id, results, ends, place)
      left join webhook_lanes l on l.endpoint_id = lane.id
      cross join lateral unnest(
        p_delivery[lane.ends - lane.results + 1:lane.ends],
        p_lease[lane.ends - lane.results + 1:lane.ends]
      ) with ordinality r (delivery_id, lease, place)
      order by lane.place, r.place
    );

    if v_put_off and array_remove(p_delivered_at, null) <> '{}' then
      perform bring_deliveries_forward(v_settled, p_attempted_at, p_error);
    end if;

    with ended as (
      delete from webhook_deliveries d
      using unnest(
        v_settled, p_attempted_at, p_duration_millis, p_response_status, p_response_body, p_error,
        p_next_attempt_at
      ) r (
        delivery_id, attempted_at, duration_millis, response_status, response_body, error,
        next_attempt_at
      )
      where d.id = r.delivery_id
        and (r.next_attempt_at is null or d.replaced_at is not null)
      returning
        d.attempts + 1 as attempt, d.endpoint_id, d.outbox_id, d.event_id, d.type, d.workspace_id,
        d.url, case when d.workspace_id is null then d.body end, r.attempted_at, r.duration_millis,
        r.response_status, r.response_body, r.error
    )
    insert into webhook_attempts (
      attempt, endpoint_id, outbox_id, event_id, type, workspace_id, url, body, attempted_at,
      duration_millis, response_status, response_body, error
    )
    select ended.*
    from ended;

    if array_remove(p_next_attempt_at, null) <> '{}' then
      with put_off as (
        update webhook_deliveries d
        set attempts = d.attempts + 1,
          due_at = r.next_attempt_at,
          is_forward = forward_after_failure(d.is_forward),
          last_attempt_id = nextval('webhook_attempts_id_seq')
        from unnest(
          v_settled, p_attempted_at, p_duration_millis, p_response_status, p_response_body,
          p_error, p_next_attempt_at
        ) r (
          delivery_id, attempted_at, duration_millis, response_status, response_body, error,
          next_attempt_at
        )
        where d.id = r.delivery_id
          and r.next_attempt_at is not null
          and d.replaced_at is null
        returning
          d.last_attempt_id, r.next_attempt_at, d.attempts, d.endpoint_id, d.outbox_id, d.event_id,
          d.type, d.workspace_id, d.url, case when d.workspace_id is null then d.body end,
          r.attempted_at, r.duration_millis, r.response_status, r.response_body, r.error
      ),
      marked as (
        update webhook_lanes l
        set has_put_off = true
        where l.endpoint_id in (select put_off.endpoint_id from put_off)
          and l.has_put_off is null
      )
      insert into webhook_attempts (
        id, next_attempt_at, attempt, endpoint_id, outbox_id, event_id, type, workspace_id, url,
        body, attempted_at, duration_millis, response_status, response_body, error
      )
      select put_off.*
      from put_off;
    end if;

    -- What was delivered at a lease that does not hold is not known to be delivered.
    if 0 = any (v_settled) then
      p_delivered_at := array(
        select max(r.attempted_at) filter (where r.delivery_id > 0 and r.error is null)
        from unnest(p_results, v_ends) with ordinality lane (results, ends, place)
        cross join lateral unnest(
          v_settled[lane.ends - lane.results + 1:lane.ends],
          p_attempted_at[lane.ends - lane.results + 1:lane.ends],
          p_error[lane.ends - lane.results + 1:lane.ends]
        ) r (delivery_id, attempted_at, error)
        group by lane.place
        order by lane.place
      );
    end if;

    -- Judged when all results are known: what was delivered together with a failure counts.
    if array_remove(p_stop_since, null) <> '{}' then
      v_ended := array(
        select distinct l.endpoint_id
        from unnest(p_lane, p_results, v_ends, p_delivered_at)
          lane (id, results, ends, delivered_at)
        join webhook_lanes l on l.endpoint_id = lane.id
        cross join lateral unnest(
          v_settled[lane.ends - lane.results + 1:lane.ends],
          p_stop_since[lane.ends - lane.results + 1:lane.ends]
        ) r (delivery_id, since)
        where r.delivery_id > 0
          and is_silent(delivered_since_after(l.delivered_since, lane.delivered_at), r.since)
      );
      if cardinality(v_ended) > 0 then
        perform stop_webhook_endpoints(v_ended, 'delivery_failures');
      end if;
    end if;
  end if;

  if 0 < any (v_marked) then
    -- Written by a transaction that did not see the endpoint end.
    v_ended := array(
      select e.id
      from webhook_endpoints e
      where e.id = any (v_marked)
        and not is_running(e)
    );
    if cardinality(v_ended) > 0 then
      delete from webhook_deliveries d
      where d.endpoint_id = any (v_ended);
    end if;
  end if;

  if p_now > '-infinity' then
    -- Index webhook_lanes_due.
    v_lanes := v_lanes || array(
      select l.endpoint_id
      from webhook_lanes l
      where l.next_due <= p_now
        and l.endpoint_id <> all (v_lanes)
      order by l.next_due
      limit p_limit
      for no key update skip locked
    );
    -- Index webhook_lanes_callbacks_due.
    if exists (select from webhook_lanes l where l.callback_due <= p_now) then
      v_lanes := v_lanes || due_callback_lanes(
        p_now, least(p_limit, p_callbacks), v_lanes, p_per_workspace, p_workspaces, p_held
      );
    end if;
  end if;
  if cardinality(v_lanes) = 0 then
    return;
  end if;
  if p_limit > 0 and 0 > any (v_lanes) then
    v_places := callback_places(
      p_now, v_lanes, v_settled, p_per_target, p_callbacks, p_per_workspace, p_workspaces, p_held
    );
  end if;

  -- A later statement than what changed deliveries: it sees them as they are now.
  return query
  with lane as materialized (
    select
      l.endpoint_id, turned.delivered_at, live.ids, live.leases, live.until, live.first_until,
      coalesce((shared.calls).ids, ahead.ids) as ahead, coalesce((shared.calls).dues, ahead.dues) as dues,
      least(ahead.due, free.places, turned.places) as wanted
    from (
      select *
      from unnest(v_lanes, p_results, v_ends, p_delivered_at, v_places) with ordinality
      limit cardinality(v_lanes)
    )
      turned (id, results, ends, delivered_at, places, place)
    join webhook_lanes l on l.endpoint_id = turned.id
    cross join lateral (
      select
        coalesce(array_agg(held.id), '{}') as ids,
        coalesce(array_agg(held.lease), '{}') as leases,
        coalesce(array_agg(held.lease_until), '{}') as until,
        min(held.lease_until) as first_until
      from unnest(l.held_ids, l.held_leases, l.held_until) held (id, lease, lease_until)
      where is_leased(held.lease_until, p_now)
        and (
          turned.ends is null
          or held.id <> all (v_settled[turned.ends - turned.results + 1:turned.ends])
        )
    ) live
    cross join lateral (
      select greatest(0, p_per_target - cardinality(live.ids)) as places
    ) free
    -- What may be taken, and the one after it, which the lane is due for next.
    cross join lateral (
      select
        array_agg(next.id) as ids, array_agg(next.due_at) as dues,
        count(*) filter (where next.due_at <= p_now) as due
      from (
        select d.id, d.due_at
        from webhook_deliveries d
        where d.endpoint_id = l.endpoint_id
          and d.id <> all (live.ids)
        order by d.due_at, d.id
        limit least(free.places, p_limit) + 1
      ) next
    ) ahead
    -- The same in the order in which events share the endpoint.
    cross join lateral (
      select case
        when l.gets_received and ahead.due > 0
        then share_calls(
          l.endpoint_id, live.ids, ahead.ids, p_now, (least(free.places, p_limit) + 1)::integer
        )
      end as calls
      offset 0
    ) shared
  ),
  -- How many rounds of one for each lane fit into the limit, and what they leave of it.
  share as materialized (
    select round.places, (p_limit - sum(least(wants.wanted, round.places) * wants.lanes)) as rest
    from (
      select lane.wanted, count(*) as lanes
      from lane
      where lane.wanted > 0
      group by lane.wanted
    ) wants
    cross join generate_series(0, least(p_per_target, p_limit)) round (places)
    group by round.places
    having sum(least(wants.wanted, round.places) * wants.lanes) <= p_limit
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
  ),
  moved as (
    update webhook_lanes l
    set lease = l.lease + 1,
      delivered_since = delivered_since_after(l.delivered_since, lane.delivered_at),
      held_ids = lane.ids || lane.ahead[:lane.places],
      held_leases = lane.leases || array_fill(l.lease + 1, array[lane.places]),
      held_until = lane.until || array_fill(p_lease_until, array[lane.places]),
      next_due = case when l.endpoint_id > 0 then least(
        case when lane.places > 0 then p_lease_until end,
        lane.first_until,
        case
          when cardinality(lane.ids) + lane.places < p_per_target
          then lane.dues[lane.places + 1]
        end
      ) end,
      callback_due = case when l.endpoint_id < 0 then least(
        case when lane.places > 0 then p_lease_until end,
        lane.first_until,
        case
          when cardinality(lane.ids) + lane.places < p_per_target
          then lane.dues[lane.places + 1]
        end
      ) end
    from (
      select
        lane.*,
        least(lane.wanted, (select share.places from share))::integer
          + case when favoured.endpoint_id is null then 0 else 1 end as places
      from lane
      left join favoured on favoured.endpoint_id = lane.endpoint_id
      offset 0
    ) lane
    where l.endpoint_id = lane.endpoint_id
    returning l.endpoint_id, l.lease, lane.ahead[:lane.places] as taken
  )
  -- Those of a lane together: what starts together tends to end together, and then turns its
  -- lane once.
  select
    d.id, d.endpoint_id, coalesce(e.workspace_id, d.workspace_id), moved.lease, d.event_id,
    coalesce(d.body, o.body), d.attempts + 1, coalesce(e.url, d.url),
    coalesce(
      e.secret_salt,
      (
        select w.callback_salt
        from workspaces w
        where w.id = d.workspace_id
      )
    )
  from moved
  left join webhook_endpoints e on e.id = moved.endpoint_id
  cross join lateral (
    select *
    from unnest(moved.taken) with ordinality
    limit cardinality(moved.taken)
  ) taken (id, place)
  join webhook_deliveries d on d.id = taken.id
  left join outbox o on o.id = d.outbox_id
  where coalesce(d.body, o.body) is not null
  order by d.endpoint_id, taken.place;
end
$$;
