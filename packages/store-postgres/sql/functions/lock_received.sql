-- Locks what a workspace's numbers received: nothing is received meanwhile.
create function lock_received(p_workspace bigint) returns void
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
begin
  perform
  from received_counters c
  where c.workspace_id = p_workspace
  order by c.number_id
  for no key update;
end
$$;
