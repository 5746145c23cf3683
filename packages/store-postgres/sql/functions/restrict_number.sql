-- Stores what the platform lets a number do, and until when its messages to new recipients wait, with the event of
-- its change if there is one, and queues its deliveries.
--
-- Locks: the lane, the number and its workspace's settings, which the caller has locked.
create function restrict_number(
  p_number bigint,
  p_workspace_id bigint,
  p_mode text,
  p_state text,
  p_until timestamptz,
  p_reason text,
  p_chat_limit bigint,
  p_chats_used bigint,
  p_resets_at timestamptz,
  p_warning text,
  p_checked_at timestamptz,
  p_waits_until timestamptz,
  p_is_reported boolean,
  p_now timestamptz,
  p_event_id text,
  p_event_type text,
  p_event_body text
) returns void
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
begin
  insert into number_restrictions (
    number_id, workspace_id, state, until, reason, chat_limit, chats_used, resets_at, warning, checked_at,
    waits_until, is_reported
  )
  values (
    p_number, p_workspace_id, p_state, p_until, p_reason, p_chat_limit, p_chats_used, p_resets_at, p_warning,
    p_checked_at, p_waits_until, p_is_reported
  )
  on conflict (number_id) do update
  set state = excluded.state,
    until = excluded.until,
    reason = excluded.reason,
    chat_limit = excluded.chat_limit,
    chats_used = excluded.chats_used,
    resets_at = excluded.resets_at,
    warning = excluded.warning,
    checked_at = excluded.checked_at,
    waits_until = excluded.waits_until,
    is_reported = excluded.is_reported;
  perform turn_new_chats(array[p_number], p_now);
  if p_event_type is null then
    return;
  end if;
  perform announce(array[
    (
      nextval('outbox_id_seq'), null, p_workspace_id, p_mode, p_event_id, p_event_type, p_now, p_event_body, null,
      null, null, null
    )::announcement
  ]);
end
$$;
