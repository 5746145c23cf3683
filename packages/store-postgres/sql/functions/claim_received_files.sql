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
  -- Index received_files_due.
  v_files := array(
    select due.id
    from (
      select
        f.received_message_id as id, f.next_due,
        held_of(f.workspace_id, p_workspaces, p_held)
          + row_number() over (partition by f.workspace_id order by f.next_due, f.received_message_id)
          <= p_per_workspace as fits
      from (
        select soon.*
        from received_files soon
        where soon.next_due <= p_now
        order by soon.next_due
        limit 1000
      ) f
      where is_owned(f.number_id, p_of, p_shards)
    ) due
    where due.fits
    order by due.next_due, due.id
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
