-- A workspace is done once nothing of it is left that a worker or a sweep still has to end.
update workspaces w
set name = '',
  callback_salt = null,
  plan_name = null,
  retention_days = null,
  erased_at = case when not (
    exists (select from messages m where m.workspace_id = w.id)
    or exists (select from outbox o where o.workspace_id = w.id)
    or exists (select from number_checks c where c.workspace_id = w.id)
    or exists (select from numbers n where n.workspace_id = w.id and n.erased_at is null)
    or exists (
      select
      from media_files f
      where f.workspace_id = w.id
        and f.state = 'kept'
    )
    or exists (
      select
      from media_files f
      where f.workspace_id = w.id
        and f.state = 'attached'
    )
    or exists (
      select
      from media_files f
      where f.workspace_id = w.id
        and f.state = 'reserved'
    )
    or exists (
      select
      from media_files f
      where f.workspace_id = w.id
        and is_file_ended(f)
    )
  ) then :now::timestamptz end
where w.id = any (:ids)
  and w.deleted_at is not null
