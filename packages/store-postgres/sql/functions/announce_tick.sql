-- Applies a tick to a message of a workspace with conversations, with its event. Whether its state still allows it.
create function announce_tick(
  p_message bigint,
  p_state text,
  p_from text[],
  p_now timestamptz,
  p_event_id text,
  p_event_type text,
  p_event_body text
) returns boolean
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
declare
  v_message messages;
begin
  update messages m
  set state = p_state,
    early_tick = case when p_state <> 'read' then nullif(m.early_tick, p_state) end,
    delivered_at = case when p_state = 'delivered' then p_now else m.delivered_at end,
    read_at = case when p_state = 'read' then p_now else m.read_at end
  where m.id = p_message
    and m.state = any (p_from)
  returning m.*
  into v_message;
  if v_message.id is null then
    return false;
  end if;
  perform announce(array[
    (
      nextval('outbox_id_seq'), v_message.id, v_message.workspace_id, v_message.mode, p_event_id, p_event_type,
      p_now, p_event_body, null, null, null, null
    )::announcement
  ]);
  return true;
end
$$;
