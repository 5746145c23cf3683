-- What core decides and SQL must repeat, each rule once. docs/rules.md names core's side of each, and
-- rules.test.ts asks both the same questions by calling these functions.
--
-- Three kinds, and nothing else belongs here:
--   1. Predicates and moments: language sql, one expression without a subquery. The planner puts the
--      expression in place of the call, so partial indexes are found and the call costs nothing. Pass a
--      column or a parameter, not a subquery, for an argument that the body names twice.
--   2. Look-ups: returns table, one select, keys as arguments. Called in from, they are put in place too.
--      Never returns setof messages with m.*: a column that a later release adds would break it.
--   3. Rare ones, in plpgsql: called behind a condition.
-- inlined.test.ts reads the plans and fails when a function of the first two kinds is still called.

---------------------------------------------------------------------------- JSON

create function epoch_millis(moment timestamptz) returns bigint
language sql stable parallel safe
return (extract(epoch from moment) * 1000)::bigint;

---------------------------------------------------------------------------- messages

create function not_expired(m messages, at timestamptz) returns boolean
language sql immutable parallel safe
return m.expires_at is null or m.expires_at > at;

-- In the words of index messages_expiring.
create function has_expired(m messages, at timestamptz) returns boolean
language sql immutable parallel safe
return m.expires_at <= at;

-- For a message that is found by its id or its attachment. Not state = 'waiting': those are the words of
-- the partial index messages_waiting, and the planner reads all of that index while it is small.
create function is_waiting(m messages) returns boolean
language sql immutable parallel safe
return m.state between 'waiting' and 'waiting';

-- Held since the store went back in time: never due, so neither claims nor sweeps by due time read it.
create function is_held(m messages) returns boolean
language sql immutable parallel safe
return m.due_at = 'infinity';

-- Held until an operator releases it, since the store went back in time.
create function is_held_by_restore(m messages) returns boolean
language sql immutable parallel safe
return is_held(m) and m.campaign_id is null and m.awaits_new_chats is null;

-- When the message was planned to leave, held or not.
create function planned_time(
  due_at timestamptz, send_at timestamptz, created_at timestamptz
) returns timestamptz
language sql immutable parallel safe
return case when isfinite(due_at) then due_at else coalesce(send_at, created_at) end;

create function is_queued(send_at timestamptz, at timestamptz) returns boolean
language sql immutable parallel safe
return send_at is null or send_at <= at;

create function is_scheduled(send_at timestamptz, at timestamptz) returns boolean
language sql immutable parallel safe
return send_at > at;

create function counts_in_quota(m messages) returns boolean
language sql immutable parallel safe
return m.mode = 'live' and m.state not in ('cancelled', 'expired') and not m.refused;

-- When the messages were planned that count in a number's quota. What waits counts. Indexes messages_waiting,
-- messages_unsent and messages_sent.
create function counted_after(p_number bigint, p_after timestamptz)
returns table (due_at timestamptz)
language sql stable parallel safe
begin atomic
  select m.due_at
  from messages m
  where m.number_id = p_number
    and m.mode = 'live'
    and m.state = 'waiting'
    and m.due_at > p_after
  union all
  select m.due_at
  from messages m
  where m.number_id = p_number
    and m.state <> 'waiting'
    and m.sent_at is null
    and counts_in_quota(m)
    and m.due_at > p_after
  union all
  select m.due_at
  from messages m
  where m.number_id = p_number
    and m.state <> 'waiting'
    and m.sent_at is not null
    and counts_in_quota(m)
    and greatest(m.sent_at, m.due_at) > p_after
    and m.due_at > p_after;
end;

-- When a number sent messages, since then. Index messages_sent.
create function sent_after(p_number bigint, p_after timestamptz)
returns table (sent_at timestamptz)
language sql stable parallel safe
begin atomic
  select m.sent_at
  from messages m
  where m.number_id = p_number
    and m.state <> 'waiting'
    and m.sent_at is not null
    and counts_in_quota(m)
    and greatest(m.sent_at, m.due_at) > p_after
    and m.sent_at > p_after;
end;

create function recipient_name(m messages) returns text
language sql immutable parallel safe
return coalesce(m.to_phone, m.to_address, m.to_name);

-- The phone to show: the number's own while the message waits, then the one it left from.
create function shown_phone(
  state text, number_phone text, end_phone text, from_phone text
) returns text
language sql immutable parallel safe
return case
  when state = 'waiting' then number_phone
  else nullif(coalesce(end_phone, from_phone), '')
end;

-- A message as the store reads it, in every statement that returns messages. Its number comes with it: if
-- it were only the message, the look-up of the phone would make the planner carry whole rows.
--
-- Never null: id, workspace_id, mode, number_id, platform, to_kind, text, created_at, due_at, transport_id, state
create function shown_message(m messages, p_number bigint)
returns table (
  id bigint, workspace_id bigint, mode text, number_id bigint, platform text, from_phone text, to_kind text,
  to_phone text, to_name text, to_contact_id bigint, text text, media_id bigint, attachment_id bigint,
  media_url text, media_type text, media_file_name text, send_at timestamptz, expires_at timestamptz,
  created_at timestamptz, due_at timestamptz, transport_id text, callback_url text, reference text, state text,
  sent_at timestamptz, error_code text, error_message text, found_media_type text, phone text,
  campaign_id bigint, campaign_row integer, to_chat_id bigint, to_address text, reply_received_id bigint,
  reply_message_id bigint
)
language sql stable parallel safe rows 1
begin atomic
  select
    m.id, m.workspace_id, m.mode, m.number_id, m.platform, m.from_phone, m.to_kind, m.to_phone, m.to_name,
    m.to_contact_id, m.text, m.media_id, m.attachment_id, m.media_url, m.media_type, m.media_file_name,
    m.send_at, m.expires_at, m.created_at, planned_time(m.due_at, m.send_at, m.created_at), m.transport_id,
    m.callback_url, m.reference, m.state, m.sent_at, m.error_code, m.error_message, m.found_media_type,
    shown_phone(
      m.state, (select sender.phone from numbers sender where sender.id = p_number), m.end_phone, m.from_phone
    ),
    (select c.id from campaigns c where c.id = m.campaign_id and c.removed_at is null),
    m.campaign_row, m.to_chat_id, m.to_address, m.reply_received_id, m.reply_message_id;
end;

-- Whether a transport may have the first message of a lane.
create function may_have_left(l lanes) returns boolean
language sql immutable parallel safe
return l.lease_until is not null or l.interruptions > 0;

-- The message of a turn that is in flight: the first that still waits. Rare.
create function first_of_turn(p_turn bigint[]) returns bigint
language plpgsql stable
set search_path from current
as $$
begin
  for i in 1 .. cardinality(p_turn) loop
    if exists (select from messages m where m.id = p_turn[i] and is_waiting(m)) then
      return p_turn[i];
    end if;
  end loop;
  return null;
end
$$;

-- The message of the present or latest attempt. A turn of several moves on without a write of its lane.
create function head_of(l lanes) returns bigint
language sql stable
return case when l.turn is null then l.head_id else first_of_turn(l.turn) end;

-- Whether a worker holds the message, or held it without settling it.
create function is_in_flight(m messages, l lanes) returns boolean
language sql stable
return coalesce(
  case
    when l.turn is null then l.head_id = m.id and may_have_left(l)
    else m.id = any (l.turn) and m.id = first_of_turn(l.turn)
  end,
  false
);

---------------------------------------------------------------------------- leases

create function is_leased(lease_until timestamptz, at timestamptz) returns boolean
language sql immutable parallel safe
return lease_until > at;

create function is_free(lease_until timestamptz, at timestamptz) returns boolean
language sql immutable parallel safe
return lease_until is null or lease_until <= at;

-- The lease of a lane, an attempt at linking or a check, which may have run out but was not taken over.
create function holds_lease(held bigint, lease_until timestamptz, lease bigint) returns boolean
language sql immutable parallel safe
return held = lease and lease_until is not null;

-- The shard of a number when there are so many.
create function shard_of(number_id bigint, shards bigint) returns bigint
language sql immutable parallel safe
return number_id % shards;

-- Whether a worker has that number: one in its shards of `parts`. No parts: all numbers.
create function is_owned(number_id bigint, parts bigint, shards bigint[]) returns boolean
language sql immutable parallel safe
return parts is null or shard_of(number_id, parts) = any (shards);

---------------------------------------------------------------------------- lanes

-- In the words of index lanes_due.
create function is_claimable(l lanes) returns boolean
language sql immutable parallel safe
return l.connected or l.removed_at is not null or l.interruptions > 0 or l.lease_until is not null;

create function is_open(l lanes) returns boolean
language sql immutable parallel safe
return l.connected or l.removed_at is not null;

-- Whether the message of a head with an ended lease goes out once more.
create function may_be_handed_out(head messages, l lanes, at timestamptz) returns boolean
language sql immutable parallel safe
return l.interruptions > 0 or not_expired(head, at);

create function limits_recipients(l lanes) returns boolean
language sql immutable parallel safe
return l.pacing[5] is not null;

create function is_in_window(moment timestamptz, at timestamptz, width interval) returns boolean
language sql stable parallel safe
return moment > at - width and moment <= at;

-- The messages that leave next, in their order, of those that were due since then. For holders of the lane's
-- lock. Index messages_waiting.
create function next_waiting(
  p_number bigint, p_since timestamptz, p_at timestamptz, p_most integer
)
returns table (id bigint, due_at timestamptz)
language sql stable parallel safe
begin atomic
  select m.id, m.due_at
  from messages m
  where m.number_id = p_number
    and m.mode = 'live'
    and m.state = 'waiting'
    and m.due_at >= p_since
    and not_expired(m, p_at)
    and m.due_at < 'infinity'
  order by m.due_at, m.id
  limit p_most;
end;

-- The first of them.
create function first_waiting(p_number bigint, p_at timestamptz)
returns table (id bigint, due_at timestamptz)
language sql stable parallel safe rows 1
begin atomic
  select m.id, m.due_at
  from messages m
  where m.number_id = p_number
    and m.mode = 'live'
    and m.state = 'waiting'
    and not_expired(m, p_at)
    and m.due_at < 'infinity'
  order by m.due_at, m.id
  limit 1;
end;

-- The same when what may have left counts too, although it has expired: it waits to be concluded. One row,
-- of nulls when nothing waits.
create function first_to_leave(l lanes, p_at timestamptz)
returns table (id bigint, due_at timestamptz)
language sql stable parallel safe rows 1
begin atomic
  select
    coalesce(
      (
        select head.id
        from messages head
        where head.id = l.head_id
          and is_waiting(head)
          and l.interruptions > 0
      ),
      (select first.id from first_waiting(l.number_id, p_at) first)
    ),
    coalesce(
      (
        select head.due_at
        from messages head
        where head.id = l.head_id
          and is_waiting(head)
          and l.interruptions > 0
      ),
      (select first.due_at from first_waiting(l.number_id, p_at) first)
    );
end;

-- When the window that ends now has room again, with `p_fits` sends in it; null when it has.
create function sends_capped_until(
  p_number bigint, p_fits integer, p_width interval, p_now timestamptz
) returns table (until timestamptz)
language sql stable parallel safe rows 1
begin atomic
  select past.sent_at + p_width
  from sent_after(p_number, p_now - p_width) past
  where is_in_window(past.sent_at, p_now, p_width)
  order by past.sent_at desc
  offset p_fits - 1
  limit 1;
end;

-- The same for recipients to whom the lane wrote for the first time. Index lane_recipients_by_time.
create function recipients_capped_until(
  p_number bigint, p_fits integer, p_width interval, p_now timestamptz
) returns table (until timestamptz)
language sql stable parallel safe rows 1
begin atomic
  select past.first_sent_at + p_width
  from lane_recipients past
  where past.number_id = p_number
    and is_in_window(past.first_sent_at, p_now, p_width)
  order by past.first_sent_at desc
  offset p_fits - 1
  limit 1;
end;

-- The most messages of a turn when the limits let so many more leave.
create function turn_size(l lanes, most integer, room integer) returns integer
language sql immutable parallel safe
return case
  when l.pacing is not null or l.removed_at is not null or may_have_left(l) then 1
  else greatest(1, least(most, room))
end;

-- Whether a message accepted for that time comes before the last of the turn.
create function cuts_turn(l lanes, due_at timestamptz) returns boolean
language sql immutable parallel safe
return coalesce(due_at < l.turn_due, false);

---------------------------------------------------------------------------- pauses

-- Until when a pause lasts that ends at that moment; null when it is over.
create function paused_until(until timestamptz, now timestamptz) returns timestamptz
language sql immutable parallel safe
return nullif(greatest(until, now), now);

-- A disabled workspace stops its lanes for as long as it is disabled.
create function stopped_until(disabled boolean, paused_until timestamptz) returns timestamptz
language sql immutable parallel safe
return case when disabled then 'infinity' else paused_until end;

-- Whether the worker that settled a message of a turn may send the next one.
create function goes_on(l lanes, now timestamptz) returns boolean
language sql immutable parallel safe
return l.connected
  and l.removed_at is null
  and l.turn_due is not null
  and l.pacing is null
  and l.no_room = 0
  and coalesce(is_leased(l.lease_until, now), false)
  and coalesce(stopped_until(l.disabled, l.paused_until) <= now, true);

-- How long a head that may have left is held: no longer than it lasts. Rare.
create function head_holds_until(p_head bigint, p_until timestamptz) returns timestamptz
language plpgsql stable
set search_path from current
as $$
begin
  if p_until is null then
    return null;
  end if;
  return least(p_until, (select m.expires_at from messages m where m.id = p_head));
end
$$;

-- `stopped` is what stopped_until says of the lane, `opened` what is_open does.
create function holds_until(
  l lanes, stopped timestamptz, may_have_left boolean, opened boolean
) returns timestamptz
language sql stable
return case
  when may_have_left
  then head_holds_until(head_of(l), case when opened then stopped else 'infinity' end)
  else stopped
end;

-- The two pauses of a lane once another one came: an operator's, and the longest other one.
create function pauses_after(l lanes, p_reason text, p_until timestamptz)
returns table (
  paused_until timestamptz,
  pause_reason text,
  pause_behind_until timestamptz,
  pause_behind_reason text
)
language sql stable rows 1
begin atomic
  select
    (array_agg(p.until order by p.until desc, p.reason = 'paused'))[1],
    (array_agg(p.reason order by p.until desc, p.reason = 'paused'))[1],
    (array_agg(p.until order by p.until desc, p.reason = 'paused'))[2],
    (array_agg(p.reason order by p.until desc, p.reason = 'paused'))[2]
  from (
    select distinct on (p.reason = 'paused') p.until, p.reason
    from (
      values
        (l.paused_until, l.pause_reason, false),
        (l.pause_behind_until, l.pause_behind_reason, false),
        (coalesce(p_until, 'infinity'), p_reason, true)
    ) p (until, reason, is_next)
    where p.is_next or p.until is not null
    order by p.reason = 'paused', (p.reason = 'paused' and p.is_next) desc, p.until desc
  ) p;
end;

-- The pause that stays once a number has a new session: the operator's. No row without one.
create function pauses_once_linked(l lanes)
returns table (
  paused_until timestamptz,
  pause_reason text,
  pause_behind_until timestamptz,
  pause_behind_reason text
)
language sql stable rows 1
begin atomic
  select p.until, p.reason, null::timestamptz, null::text
  from (
    values
      (l.paused_until, l.pause_reason),
      (l.pause_behind_until, l.pause_behind_reason)
  ) p (until, reason)
  where p.reason = 'paused';
end;

---------------------------------------------------------------------------- when a lane is next due

-- The moment, or null where it lies after an endless pause and never comes by itself.
create function if_ever(moment timestamptz) returns timestamptz
language sql immutable parallel safe
return nullif(moment, 'infinity');

create function next_due_accepted(l lanes, due_at timestamptz) returns timestamptz
language sql immutable parallel safe
return case
  when l.lease_until is null and l.interruptions = 0
  then if_ever(greatest(
    least(l.next_due, due_at), l.hold_until, l.limited_until,
    stopped_until(l.disabled, l.paused_until)
  ))
  else l.next_due
end;

create function next_due_claimed(
  hands_out boolean, lease_until timestamptz, until timestamptz, first_due timestamptz
) returns timestamptz
language sql immutable parallel safe
return case
  when hands_out then lease_until
  when until is not null then if_ever(until)
  else first_due
end;

create function next_due_ended(l lanes, first_due timestamptz) returns timestamptz
language sql stable
return case
  when l.lease_until is not null or l.removed_at is not null then l.next_due
  else if_ever(greatest(
    coalesce(first_due, 'infinity'),
    case when l.limited_until is null then l.next_due end,
    l.hold_until,
    holds_until(l, stopped_until(l.disabled, l.paused_until), may_have_left(l), is_open(l))
  ))
end;

create function next_due_settled(
  l lanes, now timestamptz, again boolean, left_maybe boolean, not_before timestamptz,
  no_room_until timestamptz, first_due timestamptz
) returns timestamptz
language sql stable
return case
  when l.removed_at is not null and not (again and left_maybe) then null
  else if_ever(greatest(
    case when not again then coalesce(first_due, 'infinity') end,
    case when again then no_room_until end,
    now,
    not_before,
    holds_until(l, stopped_until(l.disabled, l.paused_until), again and left_maybe, is_open(l))
  ))
end;

create function next_due_changed(
  l lanes, held_until timestamptz, first_due timestamptz
) returns timestamptz
language sql immutable parallel safe
return case
  when l.lease_until is not null or l.removed_at is not null then l.next_due
  else if_ever(greatest(coalesce(first_due, 'infinity'), l.hold_until, held_until))
end;

-- When the number connects or drops out: the moment stays while nothing may have left.
create function next_due_opened(l lanes, opened boolean, first_due timestamptz) returns timestamptz
language sql stable
return case
  when l.interruptions > 0
  then next_due_changed(
    l,
    holds_until(l, stopped_until(l.disabled, l.paused_until), may_have_left(l), opened),
    first_due
  )
  else l.next_due
end;

create function next_due_removed(l lanes, now timestamptz) returns timestamptz
language sql immutable parallel safe
return case
  when l.lease_until is not null then l.lease_until
  when l.head_id is not null and l.interruptions > 0 then greatest(now, l.hold_until)
end;

---------------------------------------------------------------------------- plans and quotas

-- No plan means none; no number means unlimited.
create function messages_remaining(w workspaces) returns bigint
language sql immutable parallel safe
return case when w.plan_name is null then 0 else w.plan_messages_remaining end;

create function is_limited(w workspaces) returns boolean
language sql immutable parallel safe
return w.plan_name is not null and w.plan_messages_remaining is not null;

-- The lane is known to be full then; without a count.
create function is_known_full(full_until timestamptz, at timestamptz) returns boolean
language sql immutable parallel safe
return at < full_until;

-- There is room for sure; without a count.
create function fits_by_bound(bound integer, count integer, most integer) returns boolean
language sql immutable parallel safe
return bound + count <= most;

create function fits_exactly(planned integer, count integer, most integer) returns boolean
language sql immutable parallel safe
return planned + count <= most;

-- Whether a message planned for then takes the room that the moment promised until which the lane is full.
create function takes_promised_room(
  full_until timestamptz, at timestamptz, width interval
) returns boolean
language sql stable parallel safe
return at < full_until + width;

-- When held messages were planned that count while they wait: those of campaigns, and those that wait for new
-- chats. Index messages_waiting.
create function held_in_quota(p_number bigint) returns table (planned_at timestamptz)
language sql stable parallel safe
begin atomic
  select planned_time(m.due_at, m.send_at, m.created_at)
  from messages m
  where m.number_id = p_number
    and m.mode = 'live'
    and m.state = 'waiting'
    and m.due_at = 'infinity'
    and (m.campaign_id is not null or m.awaits_new_chats);
end;

---------------------------------------------------------------------------- shares of workspaces

-- How many places of a worker that workspace holds.
create function held_of(workspace bigint, workspaces bigint[], held integer[]) returns integer
language sql immutable parallel safe
return coalesce(held[array_position(workspaces, workspace)], 0);

---------------------------------------------------------------------------- webhook endpoints and callbacks

-- In the words of index webhook_endpoints_running.
create function is_running(e webhook_endpoints) returns boolean
language sql immutable parallel safe
return e.disabled_reason is null and e.removed_at is null;

create function subscribes(e webhook_endpoints, event_type text) returns boolean
language sql immutable parallel safe
return event_type = any (e.events);

create function is_told_of(
  e webhook_endpoints, workspace bigint, event_mode text, event_type text
) returns boolean
language sql immutable parallel safe
return e.workspace_id = workspace
  and e.mode = event_mode
  and is_running(e)
  and subscribes(e, event_type);

-- For a workspace with a locked row. Index webhook_endpoints_running.
create function holds_all_endpoints(p_workspace bigint, p_most integer) returns boolean
language plpgsql stable
set search_path from current
as $$
begin
  return p_most <= (
    select count(*)
    from webhook_endpoints e
    where e.workspace_id = p_workspace
      and is_running(e)
  );
end
$$;

-- The body of an event about a received message, once what that message quotes was erased. JSON keeps its text, and a
-- text within it escapes its quotation marks.
create function without_quote(body text) returns text
language sql immutable parallel safe
return replace(
  body,
  '"reply_to":' || (body::json #> '{data,received_message,reply_to}')::text,
  '"reply_to":{"received_message_id":null,"message_id":null,"text":""}'
);

-- In the words of index webhook_deliveries_of_received.
create function is_received_event(event_type text) returns boolean
language sql immutable parallel safe
return event_type in (
  'message.received', 'message.echo', 'message.edited', 'message.revoked', 'message.reaction', 'message.recovered'
);

-- Of those that a workspace without conversations has.
create function is_message_event(event_type text) returns boolean
language sql immutable parallel safe
return event_type in ('message.sent', 'message.failed', 'message.cancelled', 'message.expired');

-- Null: no.
create function names_received(events text[]) returns boolean
language sql immutable parallel safe
return nullif(
  events && '{message.received,message.echo,message.edited,message.revoked,message.reaction,message.recovered}',
  false
);

-- Null: no.
create function is_beside_received(e webhook_endpoints, event_type text) returns boolean
language sql immutable parallel safe
return case when not is_received_event(event_type) then names_received(e.events) end;

create function can_be_redelivered(o outbox, e webhook_endpoints) returns boolean
language sql immutable parallel safe
return o.workspace_id = e.workspace_id
  and o.mode = e.mode
  and subscribes(e, o.type)
  and o.created_at >= e.created_at;

-- Since when nothing was delivered, once something was delivered at that moment.
create function delivered_since_after(
  delivered_since timestamptz, delivered_at timestamptz
) returns timestamptz
language sql immutable parallel safe
return greatest(delivered_since, delivered_at);

create function is_silent(
  delivered_since timestamptz, stop_unless_delivered_since timestamptz
) returns boolean
language sql immutable parallel safe
return delivered_since <= stop_unless_delivered_since;

-- In the words of index webhook_deliveries_put_off.
create function comes_forward(d webhook_deliveries, delivered_at timestamptz) returns boolean
language sql stable parallel safe
return not d.is_forward and d.due_at > delivered_at + interval '60 seconds';

create function forward_after_failure(is_forward boolean) returns boolean
language sql immutable parallel safe
return case when is_forward then null else false end;

create function is_reported_to(n numbers, url text) returns boolean
language sql immutable parallel safe
return n.callback_url = url and n.removed_at is null;

-- The lane of a workspace's callbacks to a target: 52 bits of a hash, below zero. Two targets that meet in
-- one share its five calls, and nothing worse.
create function callback_lane(workspace bigint, target text) returns bigint
language sql stable parallel safe
return -1 - ('x' || left(encode(
  sha256(convert_to(workspace || ' ' || target, 'UTF8')), 'hex'
), 13))::bit(52)::bigint;

---------------------------------------------------------------------------- keys and their requests

create function is_usable(k api_keys, now timestamptz) returns boolean
language sql immutable parallel safe
return k.revoked_at is null and (k.expires_at is null or k.expires_at > now);

-- For a workspace with a locked row. Index api_keys_by_workspace.
create function holds_all_keys(p_workspace bigint, p_version integer, p_most integer) returns boolean
language plpgsql stable
set search_path from current
as $$
begin
  return p_most <= (
    select count(*)
    from api_keys k
    where k.workspace_id = p_workspace
      and k.version = p_version
      and k.revoked_at is null
  );
end
$$;

-- Whether a request counts against the limits of its key. `named`: the workspace that it names, or null.
create function is_counted(
  admits boolean, k api_keys, now timestamptz, named bigint
) returns boolean
language sql immutable parallel safe
return admits and is_usable(k, now) and coalesce(named = k.workspace_id, true);

-- Whether a request counts in the window that began then, and not in one of its own.
create function is_in_same_window(
  begun timestamptz, start timestamptz, width interval
) returns boolean
language sql immutable parallel safe
return begun - start between interval '0' and width;

create function is_process_silent(seen_at timestamptz, now timestamptz) returns boolean
language sql stable parallel safe
return seen_at <= now - interval '35 seconds';

-- How many of the last requests count in the day: those that the minute's limit refuses do not.
create function counted_in_day(
  in_minute integer, requests integer, minute_limit integer
) returns integer
language sql immutable parallel safe
return least(in_minute, minute_limit) - least(in_minute - requests, minute_limit);

create function is_claim_void(claimed_at timestamptz, now timestamptz) returns boolean
language sql stable parallel safe
return claimed_at <= now - interval '30 seconds';

create function is_record_void(created_at timestamptz, now timestamptz) returns boolean
language sql stable parallel safe
return created_at <= now - interval '24 hours';

create function has_session_ended(s browser_sessions, now timestamptz) returns boolean
language sql stable parallel safe
return s.expires_at <= now
  or (s.workspace_id is null and s.last_used_at <= now - interval '2 hours');

create function is_session_valid(s browser_sessions, now timestamptz, mark text)
returns boolean
language sql stable parallel safe
return not has_session_ended(s, now)
  and (s.workspace_id is not null or coalesce(s.token_mark = mark, false));

-- As far as the link tells by itself.
create function link_works(l sign_in_links, now timestamptz, mark text) returns boolean
language sql immutable parallel safe
return l.used_at is null
  and l.revoked_at is null
  and l.code_expires_at > now
  and (l.workspace_id is not null or coalesce(l.token_mark = mark, false));

---------------------------------------------------------------------------- numbers and linking

-- Null without a limit. Index numbers_by_workspace.
create function holds_all_numbers(p_workspace bigint, p_most bigint) returns boolean
language plpgsql stable
set search_path from current
as $$
begin
  return p_most <= (
    select count(*)
    from numbers n
    where n.workspace_id = p_workspace
      and n.removed_at is null
  );
end
$$;

-- `before` as the number's attempt keeps it: null without an attempt, empty when the number had no phone.
create function phone_without_link(phone text, before text) returns text
language sql immutable parallel safe
return case when before is null then phone else nullif(before, '') end;

create function phone_with_status(
  n numbers, before text, status text, phone text
) returns text
language sql immutable parallel safe
return case
  when phone is not null then phone
  when status = 'disconnected' then phone_without_link(n.phone, before)
  else n.phone
end;

-- Null where the other number has no phone.
create function has_phone(
  other numbers, before text, linked numbers, phone text
) returns boolean
language sql immutable parallel safe
return other.id <> linked.id
  and other.platform = linked.platform
  and other.mode = linked.mode
  and phone = phone_without_link(other.phone, before);

-- In the words of index linking_attempts_ending.
create function has_ended(a linking_attempts, now timestamptz) returns boolean
language sql immutable parallel safe
return a.ends_at <= now;

-- Null where it never does.
create function links_itself(a linking_attempts, now timestamptz) returns boolean
language sql immutable parallel safe
return a.links_at <= now and not has_ended(a, now);

create function can_be_linked(
  a linking_attempts, now timestamptz, parts bigint, shards bigint[]
) returns boolean
language sql immutable parallel safe
return a.mode = 'live'
  and not has_ended(a, now)
  and is_free(a.lease_until, now)
  and is_owned(a.number_id, parts, shards);

create function status_since_after(
  n numbers, status text, reason text, now timestamptz
) returns timestamptz
language sql immutable parallel safe
return case
  when n.status <> status or n.status_since is null and reason is not null then now
  else n.status_since
end;

create function status_reason_after(n numbers, status text, reason text) returns text
language sql immutable parallel safe
return case when n.status <> status then reason else coalesce(reason, n.status_reason) end;

---------------------------------------------------------------------------- conversations

create function tells_of_status(before text, status text) returns boolean
language sql immutable parallel safe
return status <> before and status <> 'connecting';

create function tells_of_pause(l lanes, now timestamptz) returns boolean
language sql immutable parallel safe
return l.pause_reported <> (paused_until(l.paused_until, now) is not null);

-- Of a pause with a reported begin.
create function pause_end(l lanes) returns timestamptz
language sql immutable parallel safe
return coalesce(l.paused_until, timestamptz 'epoch');

create function reading_test_phones() returns text[]
language sql immutable parallel safe
return array['+15005550002', '+15005550003'];

create function test_tick(m messages) returns text
language sql immutable parallel safe
return case
  when m.mode = 'test' and m.to_phone = any (reading_test_phones())
  then case m.state when 'sent' then 'delivered' when 'delivered' then 'read' end
end;

create function test_tick_at(m messages) returns timestamptz
language sql stable parallel safe
return coalesce(m.delivered_at, m.sent_at) + interval '1 second';

-- Whole seconds.
create function instant_text(at timestamptz) returns text
language sql stable parallel safe
return to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"');

-- No value needs an escape: ids, digits, and words of the service.
create function number_event_body(
  event_id text, event_type text, n numbers, reason text, since timestamptz, now timestamptz
) returns text
language sql stable parallel safe
return '{"id":"' || event_id || '","type":"' || event_type || '","created_at":"' || instant_text(now)
  || '","data":{"number":{"id":' || n.id || ',"phone":' || coalesce('"' || n.phone || '"', 'null')
  || ',"platform":"' || n.platform || '","status":"' || n.status || '"},"reason":'
  || coalesce('"' || reason || '"', 'null') || ',"since":"' || instant_text(since) || '"}}';

-- No value needs an escape, as above.
create function gap_event_body(
  event_id text, number_id bigint, reason text, since timestamptz, now timestamptz
) returns text
language sql stable parallel safe
return '{"id":"' || event_id || '","type":"number.gap","created_at":"' || instant_text(now)
  || '","data":{"gap":{"number_id":' || number_id || ',"from":"' || instant_text(least(since, now))
  || '","until":"' || instant_text(now) || '","reason":"' || reason || '"}}}';

create function away_since_after(n numbers, status text, now timestamptz) returns timestamptz
language sql immutable parallel safe
return case
  when status = 'connected' then null
  when n.status = 'connected' then now
  else n.away_since
end;

---------------------------------------------------------------------------- received messages

create function is_kept(group_id text, groups boolean) returns boolean
language sql immutable parallel safe
return group_id is null or groups;

-- A text of core's receivedMarks, which are JSON.
create function received_mark(
  mode text, from_me boolean, group_id text, address_name text, address text, remote_id text
) returns text
language sql stable parallel safe
return encode(
  sha256(convert_to(
    '["' || mode || '",' || from_me::text || coalesce(',' || to_json(group_id)::text, '')
    || coalesce(',"' || address_name || '",' || to_json(address)::text, '')
    || ',' || to_json(remote_id)::text || ']',
    'UTF8'
  )),
  'hex'
);

-- What tells a message apart: one mark for each address of its author, in their order.
create function marks_of_received(
  mode text, from_me boolean, group_id text, remote_id text, phone text, lid text, user_id text
) returns text[]
language sql stable parallel safe
return case
  when (from_me and group_id is not null) or coalesce(phone, lid, user_id) is null
  then array[received_mark(mode, from_me, group_id, null, null, remote_id)]
  else array_remove(
    array[
      case when phone is not null then received_mark(mode, from_me, group_id, 'phone', phone, remote_id) end,
      case when lid is not null then received_mark(mode, from_me, group_id, 'lid', lid, remote_id) end,
      case when user_id is not null then received_mark(mode, from_me, group_id, 'userId', user_id, remote_id) end
    ],
    null
  )
end;

-- People of a number under any of these addresses. Indexes people_by_phone, people_by_lid and people_by_user_id.
create function people_at(p_number bigint, p_phone text, p_lid text, p_user_id text)
returns table (id bigint, phone text, lid text, user_id text)
language sql stable parallel safe
begin atomic
  select p.id, p.phone, p.lid, p.user_id
  from people p
  where p.number_id = p_number
    and (p.phone = p_phone or p.lid = p_lid or p.user_id = p_user_id);
end;

-- The message that such a one would repeat, erased ones included, under any address of its author.
create function find_received(
  p_number bigint, p_mode text, p_from_me boolean, p_group_id text, p_remote_id text, p_phone text, p_lid text,
  p_user_id text
) returns table (id bigint)
language sql stable parallel safe
begin atomic
  select m.received_message_id
  from (
    select 0::bigint, p_phone, p_lid, p_user_id
    union all
    select known.id, known.phone, known.lid, known.user_id
    from people_at(p_number, p_phone, p_lid, p_user_id) known
  ) person (id, phone, lid, user_id)
  cross join lateral unnest(marks_of_received(
    p_mode, p_from_me, p_group_id, p_remote_id, person.phone, person.lid, person.user_id
  )) with ordinality one (mark, place)
  join received_marks m on m.number_id = p_number
    and m.mark = one.mark
  order by person.id, one.place
  limit 1;
end;

-- What a message quotes in a chat, a received one or one of this service, where it is known. Indexes
-- received_messages_by_remote_id and messages_by_transport_id.
create function find_quoted(p_number bigint, p_chat bigint, p_remote_id text)
returns table (received_id bigint, message_id bigint)
language sql stable parallel safe rows 1
begin atomic
  select
    (
      select min(r.id)
      from received_messages r
      where r.number_id = p_number
        and r.remote_id = p_remote_id
        and r.chat_id = p_chat
    ),
    (
      select min(m.id)
      from messages m
      where m.transport_id = p_remote_id
        and m.number_id = p_number
    );
end;

-- Waits for a copy of a message, under any address of its author. Index copy_waits_by_message.
create function copy_waits_for(
  p_number bigint, p_mode text, p_from_me boolean, p_group_id text, p_remote_id text, p_has_person boolean,
  p_phone text, p_lid text, p_user_id text
) returns table (id bigint)
language sql stable parallel safe
begin atomic
  select w.id
  from copy_waits w
  where w.number_id = p_number
    and w.remote_id = p_remote_id
    and w.mode = p_mode
    and w.from_me = p_from_me
    and w.group_id is not distinct from p_group_id
    and w.has_person = p_has_person
    and (
      not p_has_person
      or w.phone = p_phone
      or w.lid = p_lid
      or w.user_id = p_user_id
      or exists (
        select
        from people_at(p_number, w.phone, w.lid, w.user_id) one
        join people_at(p_number, p_phone, p_lid, p_user_id) other on other.id = one.id
      )
    );
end;

-- Whether a copy can be taken for one that could not be read.
create function is_recovered(r received_messages) returns boolean
language sql immutable parallel safe
return r.kind = 'unreadable' and r.revoked_at is null;

-- In the words of the partial indexes of chats.
create function is_open_chat(c chats) returns boolean
language sql immutable parallel safe
return c.merged_into is null and c.removed_at is null;

-- Whether someone with that phone has a chat of the number: the person wrote to it, or its owner to the person. Rare.
create function has_chat_with(p_number bigint, p_phone text) returns boolean
language plpgsql stable
set search_path from current
as $$
begin
  -- Indexes people_by_phone and chats_by_person.
  return exists (
    select
    from people p
    join chats c on c.person_id = p.id
    where p.number_id = p_number
      and p.phone = p_phone
      and c.mode = 'live'
      and is_open_chat(c)
  );
end
$$;

create function waits_for_new_chats(until timestamptz, at timestamptz) returns boolean
language sql immutable parallel safe
return coalesce(until > at, false);

create function can_be_new(m messages) returns boolean
language sql immutable parallel safe
return m.to_kind in ('phone', 'contact_phone');

-- Whether the message goes to a group, to a chat, or to someone whom its number has received from or sent to. Rare.
create function is_known_recipient(m messages) returns boolean
language plpgsql stable
set search_path from current
as $$
begin
  return not can_be_new(m)
    or has_chat_with(m.number_id, m.to_phone)
    -- Index messages_by_phone.
    or exists (
      select
      from messages s
      where s.workspace_id = m.workspace_id
        and s.mode = 'live'
        and s.to_phone = m.to_phone
        and s.state in ('sent', 'delivered', 'read')
        and s.number_id = m.number_id
    );
end
$$;

-- A received message as it is read, with what is known of its author by now; no row for one that is to be erased.
--
-- Never null: id, workspace_id, mode, sequence, number_id, platform, chat_id, chat_type, from_me, kind, text, sent_at, received_at
create function shown_received(r received_messages)
returns table (
  id bigint, workspace_id bigint, mode text, sequence bigint, number_id bigint, number_phone text, platform text,
  chat_id bigint, chat_type text, chat_name text, from_me boolean, phone text, lid text, user_id text,
  username text, name text, kind text, text text, content json, file json, quoted_received_id bigint,
  quoted_message_id bigint, quote_text text, sent_at timestamptz, received_at timestamptz,
  edited_at timestamptz, revoked_at timestamptz, reactions json
)
language sql stable parallel safe rows 1
begin atomic
  select
    r.id, r.workspace_id, r.mode, r.sequence, r.number_id, n.phone, n.platform, c.id, c.type,
    case c.type when 'person' then p.name else c.name end, r.from_me, p.phone, p.lid, p.user_id, p.username,
    p.name, r.kind, r.text, r.content, r.file, r.quoted_received_id, r.quoted_message_id, r.quote_text,
    r.sent_at, r.received_at, r.edited_at, r.revoked_at,
    (
      -- Index reactions_by_received_message: the latest ones, the latest last.
      select json_agg(
        json_build_object(
          'fromMe', latest.from_me, 'phone', who.phone, 'lid', who.lid, 'user_id', who.user_id,
          'username', who.username, 'name', who.name, 'emoji', latest.emoji,
          'at', epoch_millis(latest.reacted_at)
        )
        order by latest.reacted_at, latest.id
      )
      from (
        select one.*
        from reactions one
        where one.received_message_id = r.id
          and one.emoji is not null
        order by one.reacted_at desc, one.id desc
        limit 50
      ) latest
      left join people who on who.id = latest.person_id
    )
  from chats c
  join numbers n on n.id = r.number_id
    and n.removed_at is null
  join conversation_settings s on s.workspace_id = r.workspace_id
    and s.since <= r.received_at
  left join people p on p.id = coalesce(c.person_id, r.author_id)
  where c.id = r.chat_id
    and c.removed_at is null;
end;

-- A chat as it is read; no row for one that is to be erased.
--
-- Never null: id, number_id, type, activity, unread
create function shown_chat(c chats)
returns table (
  id bigint, number_id bigint, type text, phone text, lid text, user_id text, username text, name text,
  activity bigint, last_received_at timestamptz, last_sent_at timestamptz, unread bigint, read_up_to bigint,
  merged_into bigint
)
language sql stable parallel safe rows 1
begin atomic
  select
    c.id, c.number_id, c.type, p.phone, p.lid, p.user_id, p.username,
    case c.type when 'person' then p.name else c.name end, c.activity, c.last_received_at, c.last_sent_at,
    c.unread, c.read_up_to, c.merged_into
  from numbers n
  join conversation_settings s on s.workspace_id = c.workspace_id
    and s.since <= c.last_received_at
  left join people p on p.id = c.person_id
  where n.id = c.number_id
    and n.removed_at is null
    and c.removed_at is null;
end;

-- Whether it reached the remote.
create function has_left(m messages) returns boolean
language sql immutable parallel safe
return m.state in ('sent', 'delivered', 'read');

-- A chat as acceptance decides on it (core's AnsweredChat); no row for one that is to be erased.
create function answered_chat(c chats)
returns table (number_id bigint, chat json)
language sql stable parallel safe rows 1
begin atomic
  select shown.number_id, json_build_object(
    'id', shown.id, 'current', coalesce(shown.merged_into, shown.id), 'numberId', shown.number_id, 'type', shown.type,
    'phone', shown.phone, 'lid', shown.lid, 'userId', shown.user_id, 'username', shown.username, 'name', shown.name,
    'groupId', c.group_id
  )
  from shown_chat(c) shown;
end;

---------------------------------------------------------------------------- campaigns

-- Of a row: its own state, or its message's status, which it keeps once that was erased. A stopped campaign has
-- skipped what was pending.
create function row_status(
  state text, last_status text, message_state text, campaign_state text
) returns text
language sql immutable parallel safe
return case
  when message_state is not null or last_status is not null
  then case when message_state = 'waiting' then 'queued' else coalesce(message_state, last_status) end
  when state = 'taken' then 'queued'
  when state = 'pending' and campaign_state = 'stopped' then 'skipped'
  else state
end;

create function row_code(state text, code text, campaign_state text) returns text
language sql immutable parallel safe
return case when state = 'pending' and campaign_state = 'stopped' then 'stopped' else code end;

-- Whether a pause is for the remote's verdict on what the number sent.
create function restricts(reason text) returns boolean
language sql immutable parallel safe
return coalesce(reason in ('restricted', 'banned'), false);

-- When the number became restricted or banned; null unless it is.
create function restricted_since(l lanes, n numbers, now timestamptz) returns timestamptz
language sql immutable parallel safe
return case
  when (restricts(l.pause_reason) and l.paused_until > now)
    or (restricts(l.pause_behind_reason) and l.pause_behind_until > now)
  then l.restricted_at
  when n.status <> 'connected' and restricts(n.status_reason)
  then n.status_since
end;

-- When to look again after a look at that moment: what has woken the campaign since then is still to be looked at.
create function look_after(c campaigns, look_at timestamptz, looked_at timestamptz)
returns timestamptz
language sql immutable parallel safe
return case when c.woken_at >= looked_at then c.look_at else look_at end;

-- Whether a campaign is in a state that no action leaves.
create function has_campaign_ended(c campaigns) returns boolean
language sql immutable parallel safe
return c.state in ('done', 'stopped');

-- Pending rows that count: an ended campaign takes none on.
create function pending_rows(c campaigns) returns integer
language sql immutable parallel safe
return case when has_campaign_ended(c) then 0 else c.pending end;

-- A campaign as the store reads it.
--
-- Never null: id, workspace_id, mode, state, revision, is_holding, asks_from_row, created_at, name, text,
-- quota_reserve, duplicates
create function shown_campaign(c campaigns)
returns table (
  id bigint, workspace_id bigint, mode text, state text, state_reason text, revision bigint, is_holding boolean,
  asks_from_row boolean, running_since timestamptz, look_at timestamptz, created_at timestamptz,
  started_at timestamptz, ended_at timestamptz, name text, text text, media jsonb, number_ids bigint[],
  reference text, timezone text, send_at timestamptz, hours jsonb, expires_at timestamptz,
  quota_reserve integer, default_country_code text, duplicates text
)
language sql stable parallel safe rows 1
begin atomic
  select
    c.id, c.workspace_id, c.mode, c.state, c.state_reason, c.revision, c.is_holding, c.asks_from_row,
    c.running_since, c.look_at, c.created_at, c.started_at, c.ended_at, c.name, c.text, c.media, c.number_ids,
    c.reference, c.timezone, c.send_at, c.hours, c.expires_at, c.quota_reserve, c.default_country_code,
    c.duplicates;
end;

-- Its rows by their outcome; `taken` by the states of messages. Its id comes with it, as a number does
-- with a shown message. Indexes messages_by_campaign and campaign_rows_erased.
--
-- Never null: last_row, pending, refused, skipped, expired
create function counted_rows(c campaigns, p_campaign bigint)
returns table (
  last_row integer, pending integer, refused integer, skipped integer, expired integer, taken json
)
language sql stable parallel safe rows 1
begin atomic
  select
    c.last_row, pending_rows(c), c.refused, c.skipped + c.pending - pending_rows(c), c.expired,
    (
      select json_agg(json_build_array(counted.status, counted.count))
      from (
        select m.state as status, count(*) as count
        from messages m
        where m.campaign_id = p_campaign
        group by m.state
        union all
        select r.last_status, count(*)
        from campaign_rows r
        where r.campaign_id = p_campaign
          and r.last_status is not null
        group by r.last_status
      ) counted
    );
end;

---------------------------------------------------------------------------- number checks

create function can_be_asked(c number_checks, l lanes) returns boolean
language sql immutable parallel safe
return c.mode = 'test' or is_open(l);

create function is_asked_by(
  c number_checks, l lanes, parts bigint, shards bigint[]
) returns boolean
language sql immutable parallel safe
return c.mode = 'test'
  or l.removed_at is not null
  or is_owned(c.number_id, parts, shards);

-- `answered`: how many of the check's results were answered now.
create function check_status_after(c number_checks, answered bigint) returns text
language sql immutable parallel safe
return case when c.checked + answered = c.total then 'completed' else c.status end;

create function check_completed_at(
  c number_checks, answered bigint, now timestamptz
) returns timestamptz
language sql immutable parallel safe
return case when c.checked + answered = c.total then now end;

---------------------------------------------------------------------------- media files

create function fits_room(used bigint, size bigint, most bigint) returns boolean
language sql immutable parallel safe
return used + size <= most;

-- The room that the attachments of a workspace take. Index media_files_attached_bytes.
create function attached_bytes(p_workspace bigint) returns table (bytes bigint)
language sql stable parallel safe rows 1
begin atomic
  select coalesce(sum(m.size), 0)::bigint
  from media_files m
  where m.workspace_id = p_workspace
    and m.state = 'attached';
end;

-- The room that the received files of a workspace take. Index media_files_received_bytes.
create function received_bytes(p_workspace bigint) returns table (bytes bigint)
language sql stable parallel safe rows 1
begin atomic
  select coalesce(sum(m.size), 0)::bigint
  from media_files m
  where m.workspace_id = p_workspace
    and m.state = 'received';
end;

-- The state of a new message's file.
create function new_file_state(media text, max_file_bytes bigint, size bigint, has_source boolean) returns text
language sql immutable parallel safe
return case
  when media = 'off' then 'off'
  when not has_source then 'gone'
  when size > max_file_bytes then 'too_large'
  else 'remote'
end;

-- Whether a file is fetched before its link is called. `recent`: messages of the chat in the last minute.
create function is_fetched_on_arrival(state text, media text, recent bigint) returns boolean
language sql immutable parallel safe
return state = 'remote' and media = 'on_arrival' and recent < 600;

-- Whether a message counts among those of the last minute.
create function is_recent(received_at timestamptz, now timestamptz) returns boolean
language sql stable parallel safe
return received_at > now - interval '1 minute';

create function is_file_there(m media_files) returns boolean
language sql immutable parallel safe
return m.state in ('kept', 'attached');

-- In the words of indexes media_files_left_over and media_files_remembered.
create function is_file_ended(m media_files) returns boolean
language sql immutable parallel safe
return m.state in ('deleted', 'discarded');

-- In the words of index media_files_reserved.
create function is_given_up(m media_files, reserved_before timestamptz) returns boolean
language sql immutable parallel safe
return m.state = 'reserved' and m.created_at < reserved_before;

-- What the sweep ends the file as; null while it stays as it is. `gone`: its workspace was deleted.
create function swept_to(
  m media_files, reserved_before timestamptz, gone boolean
) returns text
language sql immutable parallel safe
return case
  when is_given_up(m, reserved_before) then 'discarded'
  when m.state = 'kept' and gone then 'deleted'
end;

-- The workspace, if it was deleted.
create function deleted_workspace(p_id bigint) returns table (id bigint)
language sql stable parallel safe rows 1
begin atomic
  select w.id
  from workspaces w
  where w.id = p_id
    and w.deleted_at is not null;
end;

-- The messages that wait for an attachment. Index messages_with_attachment.
create function waiting_for_attachment(p_id bigint) returns table (id bigint)
language sql stable parallel safe
begin atomic
  select m.id
  from messages m
  where m.attachment_id = p_id
    and is_waiting(m);
end;

-- `used`: a message waits for the attachment. `gone`: its workspace was deleted.
create function unused_since_after(
  m media_files, used boolean, now timestamptz
) returns timestamptz
language sql immutable parallel safe
return case when used then null else coalesce(m.unused_since, now) end;

create function is_unneeded(
  m media_files, used boolean, gone boolean, unused_by timestamptz
) returns boolean
language sql immutable parallel safe
return gone or (not used and coalesce(m.unused_since <= unused_by, false));

-- Whether a sweep changes what is known of an attachment; nothing is written of the others.
create function is_swept(
  m media_files, used boolean, gone boolean, unused_by timestamptz
) returns boolean
language sql immutable parallel safe
return gone or case
  when used then m.unused_since is not null
  else m.unused_since is null or m.unused_since <= unused_by
end;

---------------------------------------------------------------------------- when there is work

-- The earliest moment of each kind of work: one look into the index that serves its sweep. `p_saturated`: the
-- workspaces to pass over; null for all. `p_parts` and `p_shards` as is_owned takes them.

-- Index lanes_due.
create function next_lanes(p_saturated bigint[], p_parts bigint, p_shards bigint[])
returns table (due timestamptz)
language sql stable parallel safe rows 1
begin atomic
  select l.next_due
  from lanes l
  where l.next_due is not null
    and is_claimable(l)
    and is_owned(l.number_id, p_parts, p_shards)
    and (l.lease_until is not null or l.workspace_id <> all (p_saturated))
  order by l.next_due
  limit 1;
end;

-- Index messages_expiring. What is in flight is left to its lane.
create function next_expiry() returns table (due timestamptz)
language sql stable parallel safe rows 1
begin atomic
  select m.expires_at
  from messages m
  where m.state = 'waiting'
    and m.expires_at is not null
    and not exists (
      select
      from lanes l
      where l.number_id = m.number_id
        and is_in_flight(m, l)
    )
  order by m.expires_at
  limit 1;
end;

-- Index messages_by_phone.
-- Never null: id, number_id, transport_id, tick, at
create function test_ticks()
returns table (id bigint, number_id bigint, transport_id text, tick text, at timestamptz)
language sql stable parallel safe
begin atomic
  select m.id, m.number_id, m.transport_id, test_tick(m), test_tick_at(m)
  from conversation_settings c
  join messages m on m.workspace_id = c.workspace_id
  where m.mode = 'test'
    and m.to_phone = any (reading_test_phones())
    and m.state in ('sent', 'delivered');
end;

-- Index messages_test_due.
create function next_test_messages() returns table (due timestamptz)
language sql stable parallel safe rows 1
begin atomic
  select least(
    (
      select m.due_at
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
      limit 1
    ),
    (select min(t.at) from test_ticks() t)
  );
end;

-- Indexes lanes_orphaned and campaigns_orphaned. Before any time that a clock shows, so always due.
create function next_orphaned() returns table (due timestamptz)
language sql stable parallel safe rows 1
begin atomic
  select timestamptz 'epoch'
  from lanes l
  where l.orphaned
  union all
  select timestamptz 'epoch'
  from campaigns c
  join messages m on m.campaign_id = c.id
  join lanes l on l.number_id = m.number_id
  where c.orphaned
    and m.state = 'waiting'
    and not is_in_flight(m, l)
  limit 1;
end;

-- Index linking_attempts_due; index linking_attempts_ending for those that wait for a place.
create function next_linking(p_saturated bigint[], p_parts bigint, p_shards bigint[])
returns table (due timestamptz)
language sql stable parallel safe rows 1
begin atomic
  select least(
    (
      select a.due_at
      from linking_attempts a
      join numbers n on n.id = a.number_id
      where a.mode = 'test'
        or (
          is_owned(a.number_id, p_parts, p_shards)
          and (a.lease_until is not null or n.workspace_id <> all (p_saturated))
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
  );
end;

-- Index reminders_due.
create function next_reminders() returns table (due timestamptz)
language sql stable parallel safe rows 1
begin atomic
  select r.next_run_at
  from reminders r
  where r.next_run_at is not null
  order by r.next_run_at
  limit 1;
end;

-- Campaigns to look at, and since when. A number that one awaits has room again once fewer than ten of the
-- messages wait that were due at the last look, and a full one may have once a place was given back. Indexes campaigns_due, campaigns_running, messages_by_campaign
-- and messages_waiting.
create function campaign_looks() returns table (id bigint, turn bigint, due timestamptz)
language sql stable parallel safe
begin atomic
  select c.id, c.turn, c.look_at
  from campaigns c
  where c.look_at is not null
    and c.removed_at is null
  union all
  select c.id, c.turn, c.looked_at
  from campaigns c
  where c.state = 'running'
    and c.removed_at is null
    and (
      (
        c.pending = 0
        and not exists (
          select
          from messages m
          where m.campaign_id = c.id
            and m.state = 'waiting'
        )
      )
      or exists (
        select
        from unnest(c.awaits) awaited (number_id)
        join lanes l on l.number_id = awaited.number_id
        where l.removed_at is null
          and coalesce(l.number_id = any (c.number_ids), true)
          and 10 > (
            select count(*)
            from (
              select
              from messages m
              where m.number_id = l.number_id
                and m.mode = c.mode
                and m.state = 'waiting'
                and m.due_at <= c.looked_at
              limit 10
            ) queue
          )
      )
      or exists (
        select
        from unnest(c.awaits_room, c.awaits_given_back) awaited (number_id, given_back)
        join lanes l on l.number_id = awaited.number_id
        where l.removed_at is null
          and coalesce(l.number_id = any (c.number_ids), true)
          and l.given_back <> awaited.given_back
      )
      or (
        c.awaits_allowance
        and exists (
          select
          from workspaces w
          where w.id = c.workspace_id
            and messages_remaining(w) is distinct from 0
        )
      )
    );
end;

create function next_campaigns() returns table (due timestamptz)
language sql stable parallel safe rows 1
begin atomic
  select min(look.due)
  from campaign_looks() look;
end;

-- Indexes lanes_paused and lanes_new_chats. A pause without an end is the last.
create function next_pauses() returns table (due timestamptz)
language sql stable parallel safe rows 1
begin atomic
  select least(
    (
      select pause_end(l)
      from lanes l
      join conversation_settings c on c.workspace_id = l.workspace_id
      where l.pause_reported
        and pause_end(l) < 'infinity'
        and l.removed_at is null
      order by pause_end(l)
      limit 1
    ),
    (
      select l.new_chats_until
      from lanes l
      where l.new_chats_until < 'infinity'
      order by l.new_chats_until
      limit 1
    )
  );
end;

-- Index copy_waits_ending.
create function next_copies() returns table (due timestamptz)
language sql stable parallel safe rows 1
begin atomic
  select min(w.waits_until)
  from copy_waits w;
end;

-- Index chats_mark_due.
create function next_read_marks(p_parts bigint, p_shards bigint[]) returns table (due timestamptz)
language sql stable parallel safe rows 1
begin atomic
  select c.mark_due
  from chats c
  join lanes l on l.number_id = c.number_id
  join conversation_settings s on s.workspace_id = c.workspace_id
  where c.mark_due is not null
    and is_open_chat(c)
    and l.connected
    and l.removed_at is null
    and is_owned(c.number_id, p_parts, p_shards)
  order by c.mark_due
  limit 1;
end;

-- Indexes webhook_lanes_due and webhook_lanes_callbacks_due; lanes that are marked are always due.
create function next_deliveries(p_saturated bigint[]) returns table (due timestamptz)
language sql stable parallel safe rows 1
begin atomic
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
        and l.workspace_id <> all (p_saturated)
      order by l.callback_due
      limit 1
    )
  );
end;

-- Index number_checks_due.
create function next_number_checks(p_saturated bigint[], p_parts bigint, p_shards bigint[])
returns table (due timestamptz)
language sql stable parallel safe rows 1
begin atomic
  select c.next_due
  from number_checks c
  join lanes l on l.number_id = c.number_id
  where c.next_due is not null
    and can_be_asked(c, l)
    and is_asked_by(c, l, p_parts, p_shards)
    and (c.lease_until is not null or c.workspace_id <> all (p_saturated))
  order by c.next_due
  limit 1;
end;

-- Index received_files_due.
create function next_files(p_saturated bigint[], p_parts bigint, p_shards bigint[])
returns table (due timestamptz)
language sql stable parallel safe rows 1
begin atomic
  select f.next_due
  from received_files f
  where f.next_due is not null
    and is_owned(f.number_id, p_parts, p_shards)
    and (f.lease_until is not null or f.workspace_id <> all (p_saturated))
  order by f.next_due
  limit 1;
end;

-- Workspaces at their concurrency limit; null, for all, when nothing is left. `p_holders` names a workspace
-- once for each lease that it holds.
create function saturated_tenants(p_holders bigint[], p_most bigint, p_whole bigint) returns bigint[]
language plpgsql stable
as $$
begin
  if cardinality(p_holders) >= p_whole then
    return null;
  end if;
  return array(
    select h.id
    from unnest(p_holders) h (id)
    group by h.id
    having count(*) >= p_most
  );
end
$$;
