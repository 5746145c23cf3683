-- The number that was linked, or that could not be; null when the attempt is over.
create function finish_linking(
  p_attempt text,
  p_phone text,
  p_now timestamptz,
  p_connected_workspace bigint,
  p_connected_target text,
  p_connected_url text,
  p_connected_created_at timestamptz,
  p_connected_event_id text,
  p_connected_type text,
  p_connected_body text,
  p_disconnected_workspace bigint,
  p_disconnected_target text,
  p_disconnected_url text,
  p_disconnected_created_at timestamptz,
  p_disconnected_event_id text,
  p_disconnected_type text,
  p_disconnected_body text,
  p_status_event_id text,
  p_pause_event_id text,
  p_gap_event_id text
) returns bigint
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
declare
  v_number bigint;
  -- As the attempt keeps it.
  v_before text;
  v_held boolean;
begin
  perform look_at_campaigns(n.workspace_id, p_now)
  from linking_attempts a
  join numbers n on n.id = a.number_id
  where a.id = p_attempt;
  select l.number_id
  into v_number
  from lanes l
  where l.number_id = (select a.number_id from linking_attempts a where a.id = p_attempt)
  for no key update;

  perform
  from workspaces w
  where w.id = (select n.workspace_id from numbers n where n.id = v_number)
  for no key update;

  delete from linking_attempts a
  where a.id = p_attempt
    and not has_ended(a, p_now)
  returning a.phone_before
  into v_before;
  if not found then
    return null;
  end if;

  -- Index numbers_by_workspace.
  v_held := exists (
    select
    from numbers n
    join numbers other on other.workspace_id = n.workspace_id
    left join linking_attempts a on a.number_id = other.id
    where n.id = v_number
      and other.removed_at is null
      and has_phone(other, a.phone_before, n, p_phone)
  );
  if not v_held then
    perform report_gap(v_number, p_gap_event_id, 'relinked', n.away_since, p_now)
    from numbers n
    where n.id = v_number;
  end if;
  update lanes l
  set connected = not v_held and l.removed_at is null,
    turn_due = null,
    next_due = next_due_opened(
      l, not v_held,
      (select first.due_at from first_to_leave(l, p_now) first)
    )
  where l.number_id = v_number;
  update numbers n
  set status = case when v_held then 'disconnected' else 'connected' end,
    status_since = p_now,
    status_reason = case when v_held then 'not_linked' end,
    away_since = case when v_held then n.away_since end,
    phone = case when v_held then nullif(
      phone_without_link(n.phone, v_before), p_phone
    ) else p_phone end
  where n.id = v_number;
  -- Its attempt was under way.
  perform report_status(v_number, 'connecting', p_status_event_id, p_now);
  if v_held then
    perform report_connection(
      v_number, p_disconnected_workspace, p_disconnected_target, p_disconnected_url,
      p_disconnected_created_at, p_disconnected_event_id, p_disconnected_type, p_disconnected_body
    );
  else
    perform control_lane(v_number, p_now, false, true, null, null, null, p_pause_event_id);
    perform report_connection(
      v_number, p_connected_workspace, p_connected_target, p_connected_url, p_connected_created_at,
      p_connected_event_id, p_connected_type, p_connected_body
    );
  end if;
  return v_number;
end
$$;
