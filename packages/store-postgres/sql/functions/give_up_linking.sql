-- False when the attempt is over already.
create function give_up_linking(
  p_attempt text,
  p_at timestamptz,
  p_reason text,
  p_new_workspace bigint,
  p_new_target text,
  p_new_url text,
  p_new_created_at timestamptz,
  p_new_event_id text,
  p_new_type text,
  p_new_body text,
  p_status_event_id text
) returns boolean
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
declare
  v_number bigint;
  -- As the attempt keeps it.
  v_before text;
begin
  perform look_at_campaigns(n.workspace_id, p_at)
  from linking_attempts a
  join numbers n on n.id = a.number_id
  where a.id = p_attempt;
  select l.number_id
  into v_number
  from lanes l
  where l.number_id = (select a.number_id from linking_attempts a where a.id = p_attempt)
  for no key update;

  delete from linking_attempts a
  where a.id = p_attempt
  returning a.phone_before
  into v_before;
  if not found then
    return false;
  end if;

  update numbers n
  set status = 'disconnected',
    status_since = p_at,
    status_reason = p_reason,
    phone = phone_without_link(n.phone, v_before)
  where n.id = v_number;
  -- Its attempt was under way.
  perform report_status(v_number, 'connecting', p_status_event_id, p_at);
  perform report_connection(
    v_number, p_new_workspace, p_new_target, p_new_url, p_new_created_at, p_new_event_id,
    p_new_type, p_new_body
  );
  return true;
end
$$;
