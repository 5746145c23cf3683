-- Sets a number's status and its lane's, and queues the callback that reports the connection. The lane
-- keeps its next due moment while it rests and nothing of it may have left, so connecting needs no count.
-- Returns the number afterwards; none when it is unknown or removed.
--
-- Locks: campaigns, then the lane, as before every change of a status; only a later statement looks at the
-- number, so that no change is reported twice.
create function set_number_status(
  p_number bigint,
  p_status text,
  p_phone text,
  p_now timestamptz,
  p_reason text,
  p_new_workspace bigint,
  p_new_target text,
  p_new_url text,
  p_new_created_at timestamptz,
  p_new_event_id text,
  p_new_type text,
  p_new_body text,
  p_event_id text
) returns setof numbers
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
declare
  -- As the attempt keeps it.
  v_before text;
  v_status text;
begin
  perform look_at_campaigns(n.workspace_id, p_now)
  from numbers n
  where n.id = p_number;
  update lanes l
  set connected = p_status = 'connected' and l.removed_at is null,
    turn_due = null,
    next_due = next_due_opened(
      l, p_status = 'connected',
      (select first.due_at from first_to_leave(l, p_now) first)
    )
  where l.number_id = p_number;

  if p_status <> 'connecting' then
    delete from linking_attempts a
    where a.number_id = p_number
    returning a.phone_before
    into v_before;
  end if;

  if p_new_event_id is not null and exists (
    select
    from numbers n
    where n.id = p_number
      and n.status <> p_status
  ) then
    perform report_connection(
      p_number, p_new_workspace, p_new_target, p_new_url, p_new_created_at, p_new_event_id,
      p_new_type, p_new_body
    );
  end if;

  select n.status
  into v_status
  from numbers n
  where n.id = p_number;
  return query
  update numbers n
  set status = p_status,
    status_since = status_since_after(n, p_status, p_reason, p_now),
    status_reason = status_reason_after(n, p_status, p_reason),
    away_since = away_since_after(n, p_status, p_now),
    phone = phone_with_status(n, v_before, p_status, p_phone)
  where n.id = p_number
    and n.removed_at is null
  returning n.*;
  perform report_status(p_number, v_status, p_event_id, p_now);
end
$$;
