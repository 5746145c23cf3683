-- Settles attempts: each message ends or returns to its lane, with its event, what it gives back and the
-- lane's next due moment, in one commit. Every array holds one element for each settlement, or none where all
-- are null; returns the settled messages.
--
-- While the turn of a lane continues, its row is locked and not written: what is in flight follows from the
-- messages. A settlement that comes once more, because its answer was lost, finds its message ended. It
-- changes nothing, also where the lane was stopped meanwhile: its worker may have the next message by now.
--
-- Locks: campaigns that may use a number which pauses, the lanes by id, what enter_chats locks, then the workspaces that get allowance back by id, none of them waited for longer
-- than p_lock_timeout. A settlement is passed over if its lane has a newer lease: another worker holds it.
--
-- Never null: message_id, queued, comes_again
create function settle_attempts(
  p_now timestamptz,
  p_lock_timeout text,
  p_number_id bigint[],
  p_lease bigint[],
  p_message_id bigint[],
  p_again boolean[],
  p_not_before timestamptz[],
  p_refusals integer[],
  p_pauses integer[],
  p_pause_reason text[],
  p_pause_until timestamptz[],
  p_no_room integer[],
  p_no_room_until timestamptz[],
  p_interrupted integer[],
  p_unfinished text[],
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
  p_callback_body text[],
  -- Whether the worker gives the lane back, although its turn may not be over.
  p_ends_turn boolean[],
  -- Of the report of a pause.
  p_pause_event_id text[]
) returns table (
  message_id bigint,
  queued boolean,
  -- What is in flight in its place, and until when; null where the lane was given back.
  next_id bigint,
  lease_until timestamptz,
  -- Whether a lane that was given back is due by itself.
  comes_again boolean
)
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
declare
  -- Whether deliveries were queued.
  v_queued boolean = false;
  -- The places of the settlements with a lease that still holds.
  v_held integer[];
  -- For each of them: what follows in its turn, whether the turn may go on, and the lease's end.
  v_follows bigint[];
  v_goes_on boolean[];
  v_until timestamptz[];
  -- The places of those with lanes to give back.
  v_over integer[];
  -- Messages that return to a lane and are held: by their campaign, or because new chats are closed.
  v_put_aside bigint[] = '{}';
  v_ended bigint[];
  v_comes_again boolean = false;
  -- Whether any of their lanes has its new recipients limited by now, and whether any of their numbers has chats.
  v_limits boolean;
  v_has_chats boolean;
  -- Whether new chats of any of them are closed.
  v_closed boolean;
  v_given_back bigint[];
  v_announcements announcement[];
begin
  -- An assignment runs no statement.
  p_lock_timeout := set_config('lock_timeout', p_lock_timeout, true);
  if cardinality(p_pause_reason) > 0 then
    perform look_at_campaigns(paused.workspace_id, p_now)
    from (
      select distinct l.workspace_id
      from unnest(p_number_id, p_pause_reason) s (number_id, pause_reason)
      join lanes l on l.number_id = s.number_id
      where s.pause_reason is not null
      order by l.workspace_id
    ) paused;
  end if;
  perform
  from (
    select s.number_id, s.lease
    from unnest(p_number_id, p_lease) s (number_id, lease)
    order by s.number_id
  ) s
  -- Index lanes_leased. One look-up for each: a join may read all of it.
  cross join lateral (
    select
    from lanes l
    where l.number_id = s.number_id
      and l.lease = s.lease
      and l.lease_until is not null
    for no key update
  ) l;

  select
    array_agg(held.place), array_agg(held.follows), array_agg(held.goes_on),
    array_agg(held.lease_until), bool_or(held.limits), bool_or(held.has_chats),
    bool_or(held.closed)
  into v_held, v_follows, v_goes_on, v_until, v_limits, v_has_chats, v_closed
  from (
    select distinct on (s.number_id)
      s.place, (held.lane).lease_until, limits_recipients(held.lane) as limits, (held.lane).has_chats,
      (held.lane).new_chats_until is not null as closed,
      (held.lane).turn[array_position((held.lane).turn, s.message_id) + 1] as follows,
      goes_on(held.lane, p_now)
        and not s.again
        and s.not_before is null
        and s.refusals is null
        and s.no_room_until is null
        and not coalesce(s.gives_back, false)
        and not coalesce(s.ends_turn, false) as goes_on
    from unnest(
      p_number_id, p_lease, p_message_id, p_again, p_not_before, p_refusals, p_no_room_until,
      p_gives_back, p_ends_turn
    ) with ordinality s (
      number_id, lease, message_id, again, not_before, refusals, no_room_until, gives_back,
      ends_turn, place
    )
    cross join lateral (
      select l as lane
      from lanes l
      where l.number_id = s.number_id
        and holds_lease(l.lease, l.lease_until, s.lease)
      limit 1
    ) held
    where case
      when (held.lane).turn is null then (held.lane).head_id = s.message_id
      else s.message_id = any ((held.lane).turn)
        and (not s.again or s.message_id = head_of(held.lane))
    end
    order by s.number_id, s.place
  ) held;
  if v_held is null then
    return;
  end if;

  with ended as (
    update messages m
    set state = s.state,
      sent_at = s.sent_at,
      error_code = s.error_code,
      error_message = s.error_message,
      found_media_type = s.found_media_type,
      end_phone = s.end_phone,
      ended_at = s.event_at,
      event_position = s.event_position
    from (
      select *, nextval('outbox_id_seq') as event_position
      from unnest(
        p_number_id, p_lease, p_message_id, p_again, p_not_before, p_refusals, p_pauses,
        p_pause_reason, p_pause_until, p_no_room, p_no_room_until, p_interrupted, p_state,
        p_sent_at, p_error_code, p_error_message, p_found_media_type, p_end_phone, p_gives_back,
        p_event_id, p_event_type, p_event_at, p_event_body, p_callback_target, p_callback_url,
        p_callback_body
      ) with ordinality
      limit cardinality(p_message_id)
    )
      s (
        number_id, lease, message_id, again, not_before, refusals, pauses, pause_reason,
        pause_until, no_room, no_room_until, interrupted, state, sent_at, error_code, error_message,
        found_media_type, end_phone, gives_back, event_id, event_type, event_at, event_body,
        callback_target, callback_url, callback_body, place, event_position
      )
    where s.place = any (v_held)
      and not s.again
      and m.id = s.message_id
      and is_waiting(m)
    returning
      m.id, m.workspace_id, m.allowance_taken and s.gives_back as gives_back,
      (
        s.event_position, m.id, m.workspace_id, m.mode, s.event_id, s.event_type, s.event_at,
        s.event_body, s.callback_target, s.callback_url, s.callback_body, null
      )::announcement as announcement
  )
  select
    array_agg(ended.workspace_id) filter (where ended.gives_back),
    array_agg(ended.announcement), array_agg(ended.id)
  into v_given_back, v_announcements, v_ended
  from ended;
  if v_announcements is not null then
    v_queued := announce(v_announcements);
  end if;
  if v_has_chats and v_ended is not null then
    perform enter_chats(
      array(
        select s.id
        from unnest(p_message_id) with ordinality s (id, place)
        where s.id = any (v_ended)
        order by s.place
      )
    );
  end if;

  if cardinality(p_unfinished) > 0 then
    insert into message_attempts (message_id, attempted_at, unfinished, next_attempt_at)
    select s.message_id, p_now, s.unfinished, greatest(s.not_before, s.no_room_until)
    from unnest(p_message_id, p_unfinished, p_not_before, p_no_room_until) with ordinality
      s (message_id, unfinished, not_before, no_room_until, place)
    where s.place = any (v_held)
      and s.unfinished is not null;
  end if;

  if v_limits then
    insert into lane_recipients (number_id, recipient, first_sent_at)
    select m.number_id, recipient_name(m), m.sent_at
    from unnest(p_message_id) with ordinality s (message_id, place)
    join messages m on m.id = s.message_id
    join lanes l on l.number_id = m.number_id
    where s.place = any (v_held)
      and m.sent_at is not null
      and limits_recipients(l)
    on conflict (number_id, recipient) do nothing;
  end if;

  if v_closed and v_ended is not null then
    -- Whom a message was sent to is known.
    perform release_new_chats(array[m.number_id], array[m.to_phone], p_now)
    from messages m
    join lanes l on l.number_id = m.number_id
    where m.id = any (v_ended)
      and m.state = 'sent'
      and m.to_phone is not null
      and l.new_chats_until is not null;
  end if;

  -- What was ended before leaves its lane as it is, unless nothing follows.
  for i in 1 .. cardinality(v_held) loop
    if p_again[v_held[i]] then
      v_follows[i] := null;
    elsif v_follows[i] is not null and not p_message_id[v_held[i]] = any (coalesce(v_ended, '{}')) then
      v_follows[i] := (
        select head_of(l) from lanes l where l.number_id = p_number_id[v_held[i]]
      );
    elsif not v_goes_on[i] then
      v_follows[i] := null;
    end if;
    if v_follows[i] is null then
      v_over := v_over || v_held[i];
    end if;
  end loop;

  if cardinality(p_pause_reason) > 0 then
    update lanes l
    set (
      paused_until, pause_reason, pause_behind_until, pause_behind_reason
    ) = (select p.* from pauses_after(l, s.pause_reason, s.pause_until) p),
      restricted_at = case when restricts(s.pause_reason) then p_now else l.restricted_at end
    from unnest(p_number_id, p_pause_reason, p_pause_until) with ordinality
      s (number_id, pause_reason, pause_until, place)
    where s.place = any (v_over)
      and s.pause_reason is not null
      and l.number_id = s.number_id;
    perform report_pause(s.number_id, s.event_id, p_now)
    from unnest(p_number_id, p_pause_reason, p_pause_event_id) with ordinality
      s (number_id, pause_reason, event_id, place)
    where s.place = any (v_over)
      and s.pause_reason is not null;
  end if;

  if true = any (p_again) then
    -- A campaign that another transaction has locked is about to hold them itself, or to release.
    with holding as materialized (
      select c.id
      from campaigns c
      where c.id = any (array(
          select m.campaign_id
          from messages m
          where m.id = any (p_message_id)
        ))
        and c.is_holding
        and c.removed_at is null
      for share skip locked
    ),
    put_aside as (
      update messages m
      set due_at = 'infinity'
      from unnest(p_message_id, p_again, p_interrupted) with ordinality
        s (message_id, again, interrupted, place)
      join lanes l on l.number_id = p_number_id[s.place]
      where s.place = any (v_over)
        and s.again
        and l.interruptions + s.interrupted = 0
        and l.removed_at is null
        and m.id = s.message_id
        and is_waiting(m)
        and m.campaign_id in (select holding.id from holding)
      returning m.id
    )
    select coalesce(array_agg(put_aside.id), '{}')
    into v_put_aside
    from put_aside;
  end if;
  if 'new_chats_closed' = any (p_unfinished) then
    with put_aside as (
      update messages m
      set due_at = 'infinity',
        awaits_new_chats = true
      from unnest(p_message_id, p_unfinished, p_interrupted) with ordinality
        s (message_id, unfinished, interrupted, place)
      join lanes l on l.number_id = p_number_id[s.place]
      where s.place = any (v_over)
        and s.unfinished = 'new_chats_closed'
        and l.interruptions + s.interrupted = 0
        and l.removed_at is null
        and waits_for_new_chats(l.new_chats_until, p_now)
        and m.id = s.message_id
        and is_waiting(m)
      returning m.id
    )
    select v_put_aside || coalesce(array_agg(put_aside.id), '{}')
    into v_put_aside
    from put_aside;
  end if;

  if v_over is not null then
    -- A later statement: it sees the messages as they are now.
    with over as (
      update lanes l
      set lease_until = null,
        turn = null,
        turn_due = null,
        head_id = case when s.again and s.message_id <> all (v_put_aside) then s.message_id end,
        interruptions = case when s.again then l.interruptions + s.interrupted else 0 end,
        hold_until = s.not_before,
        limited_until = s.no_room_until,
        no_room = coalesce(s.no_room, 0),
        refusals = coalesce(s.refusals, l.refusals),
        pauses = coalesce(s.pauses, l.pauses),
        -- What of a turn was not sent does not count; what was cancelled is left in the bound.
        sent_bound = l.sent_bound + case when s.state = 'sent' then 1 else 0 end
          - case
            when l.turn is null then 0
            else cardinality(l.turn) - array_position(l.turn, s.message_id) + 1
          end,
        quota_full_until = case when s.gives_back then null else l.quota_full_until end,
        given_back = l.given_back + case when s.gives_back then 1 else 0 end,
        next_due = next_due_settled(
          l, p_now, s.again and s.message_id <> all (v_put_aside), l.interruptions + s.interrupted > 0, s.not_before,
          s.no_room_until,
          found.first_due
        ),
        front = coalesce(found.first_due, p_now),
        orphaned = l.removed_at is not null and exists (
          select
          from messages m
          where m.number_id = l.number_id
            and m.state = 'waiting'
            and not (s.again and l.interruptions + s.interrupted > 0 and m.id = s.message_id)
        )
      from unnest(
        p_number_id, p_lease, p_message_id, p_again, p_not_before, p_interrupted, p_gives_back,
        p_state, p_refusals, p_pauses, p_no_room, p_no_room_until
      ) with ordinality s (
        number_id, lease, message_id, again, not_before, interrupted, gives_back, state, refusals,
        pauses, no_room, no_room_until, place
      )
      cross join lateral (
        select
          held.ctid as tuple,
          (select next.due_at from next_waiting(held.number_id, held.front, p_now, 1) next) as first_due
        from lanes held
        where held.number_id = s.number_id
          and holds_lease(held.lease, held.lease_until, s.lease)
        limit 1
      ) found
      where s.place = any (v_over)
        and l.ctid = found.tuple
      returning l.next_due
    )
    select coalesce(bool_or(over.next_due is not null), false)
    into v_comes_again
    from over;
  end if;

  if v_given_back is not null then
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
  select
    p_message_id[held.place], v_queued, held.follows,
    case when held.follows is not null then held.until end, v_comes_again
  from unnest(v_held, v_follows, v_until) held (place, follows, until);
end
$$;
