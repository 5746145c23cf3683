-- Stores a reaction, in the place of its author's latest one. The position of its event, where it is to a message of
-- the service and reports itself. For holders of the number's row in received_counters.
create function put_reaction(
  p_id bigint,
  p_number bigint,
  p_received bigint,
  p_message bigint,
  p_mode text,
  p_from_me boolean,
  p_person bigint,
  p_group_id text,
  p_emoji text,
  p_at timestamptz,
  p_now timestamptz,
  p_tells boolean
) returns bigint
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
declare
  v_positions bigint[] = '{}';
begin
  if p_tells and p_message is not null then
    v_positions := array[nextval('outbox_id_seq')];
  end if;
  if p_id is null then
    insert into reactions (
      number_id, received_message_id, message_id, mode, from_me, person_id, group_id, emoji, reacted_at, stored_at,
      event_positions
    )
    values (
      p_number, p_received, p_message, p_mode, p_from_me, p_person, p_group_id, p_emoji, p_at, p_now, v_positions
    );
  else
    update reactions x
    set emoji = p_emoji,
      reacted_at = p_at,
      stored_at = p_now,
      event_positions = x.event_positions || v_positions
    where x.id = p_id;
  end if;
  return v_positions[1];
end
$$;
