-- Claims lanes: free ones that are due, the longest waiting first, a turn each, and no more of a
-- workspace than its share of the worker. Returns the messages of each turn, in their order.
--
-- What happens to each locked lane, in the order of the cases: one that is stopped, or has no connected
-- number, is passed over unless its head may have left and has expired, and what was in flight in it
-- counts as interrupted; an unsettled message is handed out again once its lease ran out, whatever became of
-- it; a lane with used-up limits is passed over until there is room; else its head goes out, with what
-- is due behind it as far as its turn goes, and without a head the lane is due when its next message is.
-- Where new chats are closed, what is due to new recipients is set aside before; other lanes have no part in that.
-- Sends are counted only when the lane's bound says there may be too many, and of lanes that are paced.
--
-- Locks: the loop takes the rows of the lanes and passes over those that others hold, so dispatchers never
-- wait for one another. Only the later statement reads messages: it sees all that was committed before
-- the lane was locked, and nothing can change while it is.
--
-- Never null: lease, interruptions, removed, refusals, pauses, no_room, n_label, n_status,
-- n_login_method, n_created_at, id, workspace_id, mode, number_id, platform, to_kind, text, created_at, due_at,
-- transport_id, state, place, was_due
create function claim_lanes(
  p_now timestamptz,
  p_lease_until timestamptz,
  p_limit integer,
  p_cap integer,
  p_window_millis bigint,
  p_of bigint,
  p_shards bigint[],
  p_per_workspace integer,
  p_workspaces bigint[],
  p_held integer[],
  -- The most messages of one turn.
  p_turn integer,
  -- Lanes that were due before are passed over, with the versions of lanes that an old snapshot keeps; null: none.
  p_due_since timestamptz
) returns table (
  lease bigint,
  interruptions integer,
  removed boolean,
  pacing integer[],
  refusals integer,
  pauses integer,
  no_room integer,
  n_phone text,
  n_label text,
  n_status text,
  n_login_method text,
  n_created_at timestamptz,
  id bigint,
  workspace_id bigint,
  mode text,
  number_id bigint,
  platform text,
  from_phone text,
  to_kind text,
  to_phone text,
  to_name text,
  to_contact_id bigint,
  text text,
  media_id bigint,
  attachment_id bigint,
  media_url text,
  media_type text,
  media_file_name text,
  send_at timestamptz,
  expires_at timestamptz,
  created_at timestamptz,
  due_at timestamptz,
  transport_id text,
  callback_url text,
  reference text,
  state text,
  sent_at timestamptz,
  error_code text,
  error_message text,
  found_media_type text,
  phone text,
  campaign_id bigint,
  campaign_row integer,
  to_chat_id bigint,
  to_address text,
  reply_received_id bigint,
  reply_message_id bigint,
  -- Of its turn, from 1 on.
  place integer,
  -- Since when the lane was due.
  was_due timestamptz
)
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
declare
  v_lanes bigint[] := '{}';
  v_found bigint[];
  -- Where their rows are. They are locked, so they stay there; a look-up by number would read old versions too.
  v_tuples tid[] := '{}';
  v_found_tuples tid[];
  -- Those where new chats are closed.
  v_closed bigint[] := '{}';
  -- Workspaces at their share, and those that this search found to be.
  v_saturated bigint[] := '{}';
  v_refused bigint[];
  v_window constant interval := p_window_millis * interval '1 millisecond';
  v_since constant timestamptz := coalesce(p_due_since, '-infinity');
begin
  -- Index lanes_due.
  if cardinality(p_workspaces) > 0 then
    v_saturated := array(
      select workspace.id
      from unnest(p_workspaces, p_held) workspace (id, held)
      where workspace.held >= p_per_workspace
    );
  end if;
  loop
    select
      v_lanes || coalesce(array_agg(due.number_id order by due.next_due), '{}'),
      v_tuples || coalesce(array_agg(due.tuple order by due.next_due), '{}'),
      v_closed || coalesce(array_agg(due.number_id) filter (where due.new_chats_until is not null), '{}')
    into v_found, v_found_tuples, v_closed
    from (
      select l.number_id, l.ctid as tuple, l.next_due, l.new_chats_until
      from lanes l
      where l.next_due between v_since and p_now
        and is_claimable(l)
        and is_owned(l.number_id, p_of, p_shards)
        and l.workspace_id <> all (v_saturated)
        and l.number_id <> all (v_lanes)
      order by l.next_due
      limit p_limit - cardinality(v_lanes)
      for no key update skip locked
    ) due;
    exit when v_found = v_lanes;
    if cardinality(p_workspaces) = 0 and p_limit <= p_per_workspace then
      -- No workspace can get more than its share.
      v_lanes := v_found;
      v_tuples := v_found_tuples;
      exit;
    end if;
    -- Each workspace gets what it still may have; while one got less than it has, others may have
    -- more.
    select
      coalesce(array_agg(judged.id order by judged.place) filter (where judged.fits), '{}'),
      coalesce(array_agg(judged.tuple order by judged.place) filter (where judged.fits), '{}'),
      array_agg(distinct judged.workspace_id) filter (where not judged.fits)
    into v_lanes, v_tuples, v_refused
    from (
      select
        found.id, found.tuple, found.place, l.workspace_id,
        held_of(l.workspace_id, p_workspaces, p_held)
          + row_number() over (partition by l.workspace_id order by found.place)
          <= p_per_workspace as fits
      from unnest(v_found, v_found_tuples) with ordinality found (id, tuple, place)
      join lanes l on l.ctid = found.tuple
    ) judged;
    exit when v_refused is null;
    v_saturated := v_saturated || v_refused;
  end loop;
  if cardinality(v_closed) > 0 then
    -- Their rows may move.
    v_tuples := array(
      select found.tuple
      from unnest(v_lanes, v_tuples) found (id, tuple)
      where found.id <> all (v_closed)
    );
    v_closed := array(
      select found.id
      from unnest(v_lanes) found (id)
      where found.id = any (v_closed)
    );
    v_closed := set_new_chats_aside(v_closed, p_turn, p_now);
    v_tuples := v_tuples || array(
      select l.ctid
      from lanes l
      where l.number_id = any (v_closed)
    );
  end if;
  if cardinality(v_tuples) = 0 then
    return;
  end if;

  return query
  with candidate as materialized (
    select
      l as lane, l.ctid as tuple, l.number_id, broken.id as broken_id, ahead.ids, ahead.dues, ahead.due,
      case
        when l.removed_at is null
        then paused_until(
          holds_until(
            l, stopped_until(l.disabled, l.paused_until), may_have_left(l), is_open(l)
          ),
          p_now
        )
      end as paused_until,
      case
        when broken.id is not null then broken.id
        else coalesce(
          (
            select head.id
            from messages head
            where head.id = l.head_id
              and is_waiting(head)
              and may_be_handed_out(head, l, p_now)
          ),
          case when ahead.due > 0 then ahead.ids[1] end
        )
      end as head_id,
      broken.id is null and l.sent_bound + greatest(1, ahead.due) > p_cap as counted,
      case
        when broken.id is null and l.sent_bound + greatest(1, ahead.due) > p_cap
        then (
          select count(*)::integer
          from sent_after(l.number_id, p_now - v_window) sent
          where is_in_window(sent.sent_at, p_now, v_window)
        )
        else 0
      end as sent_count
    from lanes l
    -- What was in flight when the lease ran out.
    cross join lateral (
      select case when l.lease_until is not null then head_of(l) end as id
    ) broken
    cross join lateral (
      select
        array_agg(next.id order by next.due_at, next.id) as ids,
        array_agg(next.due_at order by next.due_at, next.id) as dues,
        (count(*) filter (where next.due_at <= p_now))::integer as due
      from next_waiting(l.number_id, l.front, p_now, turn_size(l, p_turn, p_turn)) next
    ) ahead
    where l.ctid = any (v_tuples)
  ),
  limited as materialized (
    select
      c.*,
      case
        when c.broken_id is null and c.head_id is not null and c.paused_until is null
          and (c.sent_count >= p_cap or (c.lane).pacing is not null)
        then lane_limit(
          c.number_id, (c.lane).pacing, c.head_id, c.sent_count >= p_cap, p_cap, v_window, p_now
        )
      end as limited_until,
      case
        when c.broken_id is null and c.head_id = c.ids[1]
        then turn_size(c.lane, c.due, case when c.counted then p_cap - c.sent_count else c.due end)
        else 1
      end as size
    from candidate c
  ),
  picked as materialized (
    select
      c.tuple, c.number_id, (c.lane).next_due, c.broken_id, c.counted, c.sent_count, c.limited_until,
      c.dues[1] as first_due,
      case when c.size > 1 then c.ids[1 : c.size] end as turn,
      case when c.size > 1 then c.dues[c.size] end as turn_due,
      greatest(c.paused_until, c.limited_until) as until,
      case when c.paused_until is null and c.limited_until is null then c.head_id end as head_id
    from limited c
  ),
  -- The worker of an attempt that was interrupted writes nothing about it.
  broken_off as (
    insert into message_attempts (message_id, attempted_at, unfinished)
    select c.broken_id, p_now, 'interrupted'
    from candidate c
    where c.broken_id is not null
  ),
  moved as (
    update lanes l
    set head_id = coalesce(picked.head_id, picked.broken_id, l.head_id),
      turn = case when picked.head_id is not null then picked.turn end,
      turn_due = case when picked.head_id is not null then picked.turn_due end,
      interruptions = case
        when picked.broken_id is not null then l.interruptions + 1
        when picked.head_id is null or picked.head_id = l.head_id then l.interruptions
        else 0
      end,
      lease = case when picked.head_id is null then l.lease else l.lease + 1 end,
      lease_until = case when picked.head_id is null then null else p_lease_until end,
      sent_bound = case when picked.counted then picked.sent_count else l.sent_bound end
        + case when picked.head_id is null then 0 else coalesce(cardinality(picked.turn), 0) end,
      front = coalesce(picked.first_due, l.front),
      limited_until = picked.limited_until,
      no_room = case when picked.limited_until is null then l.no_room else 0 end,
      next_due = next_due_claimed(
        picked.head_id is not null, p_lease_until, picked.until,
        picked.first_due
      )
    from picked
    where l.ctid = picked.tuple
    returning
      l.number_id, coalesce(l.turn, array[l.head_id]) as messages, l.lease, l.interruptions, l.lease_until,
      l.removed_at is not null as removed, l.pacing, l.refusals, l.pauses, l.no_room,
      picked.next_due as was_due
  )
  select
    moved.lease, moved.interruptions, moved.removed, moved.pacing, moved.refusals, moved.pauses,
    moved.no_room,
    n.phone, n.label, n.status, n.login_method, n.created_at,
    m.id, m.workspace_id, m.mode, m.number_id, m.platform, m.from_phone, m.to_kind, m.to_phone,
    m.to_name, m.to_contact_id, m.text, m.media_id, m.attachment_id, m.media_url, m.media_type,
    m.media_file_name, m.send_at, m.expires_at, m.created_at,
    planned_time(m.due_at, m.send_at, m.created_at), m.transport_id, m.callback_url, m.reference,
    m.state, m.sent_at, m.error_code, m.error_message, m.found_media_type,
    shown_phone(m.state, n.phone, m.end_phone, m.from_phone), m.campaign_id, m.campaign_row,
    m.to_chat_id, m.to_address, m.reply_received_id, m.reply_message_id, of_turn.place::integer, moved.was_due
  from moved
  cross join lateral (
    select *
    from unnest(moved.messages) with ordinality
    limit cardinality(moved.messages)
  ) of_turn (id, place)
  join messages m on m.id = of_turn.id
  join numbers n on n.id = moved.number_id
  where moved.lease_until is not null
  order by moved.was_due, moved.number_id, of_turn.place;
end
$$;
