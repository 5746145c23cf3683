-- Writes the events of messages that receive_messages has stored in this transaction, and queues their deliveries.
-- Whether any were queued.
--
-- Never null: answer
create function announce_received(
  p_workspace_id bigint,
  p_now timestamptz,
  p_ids bigint[],
  p_modes text[],
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
        nextval('outbox_id_seq'), null, p_workspace_id, received.mode, received.event_id, received.event_type,
        p_now, received.event_body, null, null, null, received.id
      )::announcement
    from (
      select *
      from unnest(p_ids, p_modes, p_event_ids, p_event_types, p_event_bodies)
      limit cardinality(p_ids)
    ) received (id, mode, event_id, event_type, event_body)
  ));
end
$$;
