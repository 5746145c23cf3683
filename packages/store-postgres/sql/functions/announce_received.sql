-- Writes the events of what was received in this transaction, at positions that are drawn now where there is none,
-- and queues their deliveries. Whether any were queued.
--
-- Never null: answer
create function announce_received(
  p_now timestamptz,
  p_workspace_ids bigint[],
  p_modes text[],
  p_received_ids bigint[],
  p_message_ids bigint[],
  p_positions bigint[],
  p_event_ids text[],
  p_event_types text[],
  p_event_bodies text[]
) returns boolean
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
begin
  return announce(array(
    select
      (
        coalesce(told.position, nextval('outbox_id_seq')), told.message_id, told.workspace_id, told.mode,
        told.event_id, told.event_type, p_now, told.event_body, null, null, null, told.received_id
      )::announcement
    from (
      select *
      from unnest(
        p_workspace_ids, p_modes, p_received_ids, p_message_ids, p_positions, p_event_ids, p_event_types,
        p_event_bodies
      )
      limit cardinality(p_event_ids)
    ) told (
      workspace_id, mode, received_id, message_id, position, event_id, event_type, event_body
    )
  ));
end
$$;
