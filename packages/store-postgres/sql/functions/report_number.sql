-- Writes the event of a number, where its workspace has conversations, and queues its deliveries.
create function report_number(
  p_number bigint,
  p_event_id text,
  p_type text,
  p_reason text,
  p_since timestamptz,
  p_now timestamptz
) returns void
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
declare
  v_number numbers;
begin
  select n.*
  into v_number
  from numbers n
  where n.id = p_number
    and n.removed_at is null
    and has_conversations(n.workspace_id);
  if v_number.id is null or p_event_id is null then
    return;
  end if;
  perform announce(array[
    (
      nextval('outbox_id_seq'), null, v_number.workspace_id, v_number.mode, p_event_id, p_type, p_now,
      number_event_body(p_event_id, p_type, v_number, p_reason, p_since, p_now), null, null, null, null
    )::announcement
  ]);
end
$$;
