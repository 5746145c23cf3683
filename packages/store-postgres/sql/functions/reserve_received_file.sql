-- Records the file before its bytes are kept, in place of an earlier one. No row once the lease is not
-- held, and without conversations; a null id when no room is left.
--
-- Locks: the file, its earlier record, the workspace's usage.
--
-- Never null: used
create function reserve_received_file(
  p_received_id bigint,
  p_lease bigint,
  p_workspace_id bigint,
  p_mode text,
  p_file_name text,
  p_type text,
  p_mime_type text,
  p_size bigint,
  p_storage_key text,
  p_created_at timestamptz
) returns table (id bigint, used bigint)
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
declare
  v_before bigint;
  v_limit bigint;
begin
  select f.media_id, s.max_storage_bytes
  into v_before, v_limit
  from received_files f
  join conversation_settings s on s.workspace_id = f.workspace_id
  where f.received_message_id = p_received_id
    and f.lease = p_lease
    and f.lease_until is not null
  for no key update of f;
  if not found then
    return;
  end if;
  if v_before is not null then
    update media_files m
    set state = 'discarded'
    where m.id = v_before
      and m.state = 'received';
  end if;

  insert into media_usage (workspace_id, bytes)
  values (p_workspace_id, 0)
  on conflict (workspace_id) do nothing;
  perform
  from media_usage u
  where u.workspace_id = p_workspace_id
  for no key update;

  -- A later statement, now that it is locked.
  used := (select r.bytes from received_bytes(p_workspace_id) r);
  if fits_room(used, p_size, v_limit) then
    insert into media_files (
      state, workspace_id, mode, file_name, type, mime_type, size, storage_key, created_at
    )
    values (
      'received', p_workspace_id, p_mode, p_file_name, p_type, p_mime_type, p_size, p_storage_key, p_created_at
    )
    returning media_files.id into id;
  end if;
  update received_files f
  set media_id = id
  where f.received_message_id = p_received_id;
  return next;
end
$$;
