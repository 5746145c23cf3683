-- Never null: used
create function attach_media_file(
  p_workspace_id bigint,
  p_mode text,
  p_file_name text,
  p_type text,
  p_mime_type text,
  p_size bigint,
  p_storage_key text,
  p_created_at timestamptz,
  p_limit_bytes bigint
) returns table (id bigint, used bigint)
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
declare
  v_used bigint;
  v_id bigint;
begin
  insert into media_usage (workspace_id, bytes)
  values (p_workspace_id, 0)
  on conflict (workspace_id) do nothing;

  select u.bytes
  into v_used
  from media_usage u
  where u.workspace_id = p_workspace_id
  for no key update;

  -- A later statement, now that it is locked.
  v_used := (select a.bytes from attached_bytes(p_workspace_id) a);

  if fits_room(v_used, p_size, p_limit_bytes) then

    insert into media_files (
      state, workspace_id, mode, file_name, type, mime_type, size, storage_key, created_at
    )
    values (
      'attached', p_workspace_id, p_mode, p_file_name, p_type, p_mime_type, p_size, p_storage_key,
      p_created_at
    )
    returning media_files.id into v_id;
  end if;
  return query select v_id, v_used;
end
$$;
