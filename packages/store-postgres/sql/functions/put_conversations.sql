-- Turns conversations on, or replaces their settings; no row for an unknown or deleted workspace. What was paused
-- before is not reported; its end is. Messages to new recipients wait or are released by the new settings.
--
-- Locks: the lanes by number, as before changes of their pauses and restrictions, then the workspace.
create function put_conversations(
  p_workspace_id bigint,
  p_groups boolean,
  p_retention_days integer,
  p_media text,
  p_max_file_bytes bigint,
  p_max_storage_bytes bigint,
  p_hold_new_chats boolean,
  p_since timestamptz
) returns setof conversation_settings
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
declare
  v_numbers bigint[];
begin
  v_numbers := array(
    select l.number_id
    from lanes l
    where l.workspace_id = p_workspace_id
    order by l.number_id
    for no key update
  );
  perform
  from workspaces w
  where w.id = p_workspace_id
    and w.deleted_at is null
  for no key update;
  if not found then
    return;
  end if;
  if not has_conversations(p_workspace_id) then
    update lanes l
    set pause_reported = paused_until(l.paused_until, p_since) is not null
    where l.workspace_id = p_workspace_id;
  end if;
  return query
  insert into conversation_settings (
    workspace_id, groups, retention_days, media, max_file_bytes, max_storage_bytes, hold_new_chats, since
  )
  values (
    p_workspace_id, p_groups, p_retention_days, p_media, p_max_file_bytes, p_max_storage_bytes,
    p_hold_new_chats, p_since
  )
  on conflict (workspace_id) do update
  set groups = excluded.groups,
    retention_days = excluded.retention_days,
    media = excluded.media,
    max_file_bytes = excluded.max_file_bytes,
    max_storage_bytes = excluded.max_storage_bytes,
    hold_new_chats = excluded.hold_new_chats
  returning *;
  perform turn_new_chats(v_numbers, p_since);
end
$$;
