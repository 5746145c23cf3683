-- Claims files of received messages that are due, the longest due first, of each workspace its share of the
-- worker at most.
--
-- Locks: the files, passing over those that others hold, so that workers never wait for one another.
--
-- Never null: id, workspace_id, mode, number_id, platform, remote_id, source, lease, wanted_at, max_file_bytes
create function claim_received_files(
  p_now timestamptz,
  p_lease_until timestamptz,
  p_limit integer,
  p_of bigint,
  p_shards bigint[],
  p_per_workspace integer,
  p_workspaces bigint[],
  p_held integer[]
) returns table (
  id bigint,
  workspace_id bigint,
  mode text,
  number_id bigint,
  platform text,
  remote_id text,
  file json,
  source text,
  lease bigint,
  wanted_at timestamptz,
  max_file_bytes bigint
)
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
declare
  v_files bigint[];
begin
  -- Index received_files_of_workspace, from one workspace to the next: of none more than its share is read.
  v_files := array(
    with recursive waiting as (
      (
        select f.workspace_id
        from received_files f
        where f.next_due is not null
        order by f.workspace_id
        limit 1
      )
      union all
      select (
        select f.workspace_id
        from received_files f
        where f.next_due is not null
          and f.workspace_id > waiting.workspace_id
        order by f.workspace_id
        limit 1
      )
      from waiting
      where waiting.workspace_id is not null
    )
    select due.received_message_id
    from waiting
    cross join lateral (
      select f.received_message_id, f.next_due
      from received_files f
      where f.workspace_id = waiting.workspace_id
        and f.next_due <= p_now
        and is_owned(f.number_id, p_of, p_shards)
      order by f.next_due, f.received_message_id
      limit greatest(0, p_per_workspace - held_of(waiting.workspace_id, p_workspaces, p_held))
    ) due
    order by due.next_due, due.received_message_id
    limit p_limit
  );
  -- Those that another worker has taken meanwhile are due no more.
  v_files := array(
    select f.received_message_id
    from received_files f
    where f.received_message_id = any (v_files)
      and f.next_due <= p_now
    order by f.next_due, f.received_message_id
    for no key update skip locked
  );

  return query
  with claimed as (
    update received_files f
    set lease = f.lease + 1,
      lease_until = p_lease_until,
      next_due = p_lease_until
    where f.received_message_id = any (v_files)
    returning f.*
  )
  select
    r.id, r.workspace_id, r.mode, r.number_id, n.platform, r.remote_id, r.file, claimed.source, claimed.lease,
    claimed.wanted_at, coalesce(s.max_file_bytes, 0)
  from claimed
  join received_messages r on r.id = claimed.received_message_id
  join numbers n on n.id = r.number_id
  left join conversation_settings s on s.workspace_id = r.workspace_id
  order by array_position(v_files, r.id);
end
$$;
