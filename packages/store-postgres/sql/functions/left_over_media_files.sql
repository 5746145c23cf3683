-- What the sweep of the media directory finds: files with bytes left over, after old
-- reservations were given up and the files of deleted workspaces were deleted.
--
-- Locks: the files by id, passing over those that others hold, then the usage of their workspaces by
-- id. An upload that is committed at this very moment is passed over too.
--
-- Never null: id, storage_key
create function left_over_media_files(p_reserved_before timestamptz, p_limit integer)
returns table (id bigint, storage_key text)
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
declare
  v_ended bigint[];
begin
  v_ended := array(
    select m.id
    from media_files m
    where m.id in (
      (
        select r.id
        from media_files r
        where is_given_up(r, p_reserved_before)
        limit p_limit
      )
      union all
      -- Indexes workspaces_deleted and media_files_kept.
      (
        select k.id
        from workspaces w
        join media_files k on k.workspace_id = w.id
        where w.deleted_at is not null
          and k.state = 'kept'
        limit p_limit
      )
    )
    and m.state in ('reserved', 'kept')
    order by m.id
    for no key update skip locked
  );

  -- A later statement, now that they are locked: a reservation may have been committed between the
  -- search and the lock, and is then no more to be given up.
  v_ended := array(
    select m.id
    from media_files m
    where m.id = any (v_ended)
      and swept_to(m, p_reserved_before, exists (select from deleted_workspace(m.workspace_id))) is not null
  );

  if cardinality(v_ended) > 0 then
    perform
    from media_usage u
    where u.workspace_id in (select m.workspace_id from media_files m where m.id = any (v_ended))
    order by u.workspace_id
    for no key update;

    with ended as (
      update media_files m
      set state = swept_to(m, p_reserved_before, exists (select from deleted_workspace(m.workspace_id)))
      where m.id = any (v_ended)
      returning m.workspace_id, m.size
    )
    update media_usage u
    set bytes = u.bytes - freed.bytes
    from (
      select ended.workspace_id, sum(ended.size)::bigint as bytes
      from ended
      group by ended.workspace_id
    ) freed
    where u.workspace_id = freed.workspace_id;
  end if;

  -- Index media_files_left_over.
  return query
  select m.id, m.storage_key
  from media_files m
  where is_file_ended(m)
    and m.has_bytes
  order by m.id
  limit p_limit;
end
$$;
