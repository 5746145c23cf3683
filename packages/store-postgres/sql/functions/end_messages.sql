-- Ends waiting messages outside of a lane's lease: cancels, expiries, test mode, held ones that had left.
-- Each change is independent: it skips a message that no longer waits or is in flight. Every array holds
-- one element for each change; returns the ended messages.
--
-- Locks: the lanes by id, none of them waited for longer than p_lock_timeout milliseconds; then the workspaces
-- that get allowance back, by id.
--
-- A caller's transaction says itself how long it waits, ends one message at a time and stays open. It makes
-- the notes of accept_messages first, the plan's before the number's: so a send and a cancel of two callers
-- never wait in a circle. What it gives back it notes too, and its commit writes that (finish_arrivals): no
-- other number of the workspace waits.
--
-- Never null: message_id, queued
create function end_messages(
  p_now timestamptz,
  p_lock_timeout integer,
  p_number_id bigint[],
  p_message_id bigint[],
  p_state text[],
  p_sent_at timestamptz[],
  p_error_code text[],
  p_error_message text[],
  p_found_media_type text[],
  p_end_phone text[],
  p_gives_back boolean[],
  p_event_id text[],
  p_event_type text[],
  p_event_at timestamptz[],
  p_event_body text[],
  p_callback_target text[],
  p_callback_url text[],
  p_callback_body text[]
) returns table (message_id bigint, queued boolean)
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
declare
  v_joined constant boolean := p_lock_timeout is null;
  v_own_timeout constant text := current_setting('lock_timeout');
  -- Whether deliveries were queued.
  v_queued boolean;
  v_ended bigint[];
  -- Those that left from numbers with chats.
  v_in_chats bigint[];
  v_given_back bigint[];
  -- Numbers of the messages that ended, and those among them with a changed quota: given back, or taken by
  -- one that was held.
  v_lanes bigint[];
  v_live_lanes bigint[];
  -- The number of each live message that gives its place in the 24 hours back.
  v_returned bigint[];
  v_announcements announcement[];
begin
  if v_joined then
    set constraints finish_arrivals deferred;
    insert into plan_arrivals as mine (workspace_id, messages)
    select w.id, 0
    from messages m
    join workspaces w on w.id = m.workspace_id
    where m.id = p_message_id[1]
      and m.mode = 'live'
      and (messages_remaining(w)) is not null
    on conflict (workspace_id) do update
    set messages = mine.messages;
    insert into lane_arrivals as mine (number_id, live, finish)
    values (p_number_id[1], 0, current_schema())
    on conflict (number_id) do update
    set live = mine.live;
    -- It holds up no other session, and shows every process which number is held (restore.position).
    perform pg_try_advisory_xact_lock_shared(
      'lanes'::regclass::oid::integer, (p_number_id[1] % 2147483648)::integer
    );
  else
    perform set_config('lock_timeout', p_lock_timeout || 'ms', true);
  end if;
  perform
  from lanes l
  where l.number_id = any (p_number_id)
  order by l.number_id
  for no key update;
  perform set_config('lock_timeout', v_own_timeout, true);

  with ended as (
    update messages m
    set state = s.state,
      sent_at = s.sent_at,
      due_at = planned_time(m.due_at, m.send_at, m.created_at),
      awaits_new_chats = null,
      error_code = s.error_code,
      error_message = s.error_message,
      found_media_type = s.found_media_type,
      end_phone = s.end_phone,
      ended_at = s.event_at,
      event_position = s.event_position
    from (
      select *, nextval('outbox_id_seq') as event_position
      from unnest(
        p_number_id, p_message_id, p_state, p_sent_at, p_error_code, p_error_message,
        p_found_media_type, p_end_phone, p_gives_back, p_event_id, p_event_type, p_event_at,
        p_event_body, p_callback_target, p_callback_url, p_callback_body
      ) with ordinality
      limit cardinality(p_message_id)
    )
      s (
        number_id, message_id, state, sent_at, error_code, error_message, found_media_type,
        end_phone, gives_back, event_id, event_type, event_at, event_body, callback_target,
        callback_url, callback_body, place, event_position
      )
    join lanes l on l.number_id = s.number_id
    where m.id = s.message_id
      and m.number_id = s.number_id
      and is_waiting(m)
      and not is_in_flight(m, l)
    returning
      s.place, m.id, m.workspace_id, m.number_id, m.mode, m.allowance_taken and s.gives_back as gives_back,
      s.gives_back as returned, l.has_chats and s.state = 'sent' as enters_chat,
      (
        s.event_position, m.id, m.workspace_id, m.mode, s.event_id, s.event_type, s.event_at,
        s.event_body, s.callback_target, s.callback_url, s.callback_body, null
      )::announcement as announcement
  )
  select
    array_agg(ended.id),
    array_agg(ended.workspace_id) filter (where ended.gives_back),
    array_agg(distinct ended.number_id),
    array_agg(distinct ended.number_id) filter (where ended.mode = 'live'),
    array_agg(ended.number_id) filter (where ended.mode = 'live' and ended.returned),
    array_agg(ended.announcement),
    array_agg(ended.id order by ended.place) filter (where ended.enters_chat)
  into v_ended, v_given_back, v_lanes, v_live_lanes, v_returned, v_announcements, v_in_chats
  from ended;
  if v_ended is null then
    return;
  end if;
  v_queued := announce(v_announcements);
  if v_in_chats is not null then
    perform enter_chats(v_in_chats);
  end if;

  -- A later statement: it sees the messages as they are now.
  update lanes l
  set head_id = case when l.head_id = any (v_ended) then null else l.head_id end,
    interruptions = case when l.head_id = any (v_ended) then 0 else l.interruptions end,
    -- The rest of the turn continues without them.
    turn = case when l.turn is not null then array(
      select one.id
      from unnest(l.turn) with ordinality one (id, place)
      where one.id <> all (v_ended)
      order by one.place
    ) end,
    quota_full_until = case
      when l.number_id = any (v_live_lanes) then null
      else l.quota_full_until
    end,
    given_back = l.given_back
      + coalesce(cardinality(array_positions(v_returned, l.number_id)), 0),
    limited_until = null,
    next_due = next_due_ended(
      l, (select first.due_at from first_to_leave(l, p_now) first)
    ),
    orphaned = l.removed_at is not null and exists (
      select
      from messages m
      where m.number_id = l.number_id
        and m.state = 'waiting'
        and not is_in_flight(m, l)
    )
  where l.number_id = any (v_lanes);

  if v_given_back is not null and v_joined then
    update plan_arrivals a
    set messages = a.messages - cardinality(v_given_back)
    where a.workspace_id = v_given_back[1];
  elsif v_given_back is not null then
    perform
    from workspaces w
    where w.id = any (v_given_back)
    order by w.id
    for no key update;
    update workspaces w
    set plan_messages_remaining = w.plan_messages_remaining + back.count
    from (
      select given.workspace_id, count(*) as count
      from unnest(v_given_back) given (workspace_id)
      group by given.workspace_id
    ) back
    where w.id = back.workspace_id
      and is_limited(w);
  end if;

  return query
  select ended.id, v_queued
  from unnest(v_ended) ended (id);
end
$$;
