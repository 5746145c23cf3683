-- Writes the event of messages that may be missing of a number since p_from, where its workspace has conversations,
-- and queues its deliveries. Whether it did.
--
-- Never null: answer
create function report_gap(
  p_number bigint, p_event_id text, p_reason text, p_from timestamptz, p_now timestamptz
) returns boolean
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
  if v_number.id is null or p_event_id is null or p_from is null then
    return false;
  end if;
  perform announce(array[
    (
      nextval('outbox_id_seq'), null, v_number.workspace_id, v_number.mode, p_event_id, 'number.gap', p_now,
      gap_event_body(p_event_id, p_number, p_reason, p_from, p_now), null, null, null, null
    )::announcement
  ]);
  return true;
end
$$;
