-- Ends the sessions of a workspace's portal, and revokes its links. For holders of the workspace's lock.
create function end_portal(p_workspace_id bigint, p_now timestamptz) returns void
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
begin
  update sign_in_links l
  set revoked_at = p_now
  where l.workspace_id = p_workspace_id
    and l.revoked_at is null
    and (
      l.used_at is null
      or l.id in (
        select s.link_id
        from browser_sessions s
        where coalesce(s.workspace_id, 0) = p_workspace_id
      )
    );
  delete from browser_sessions s
  where coalesce(s.workspace_id, 0) = p_workspace_id;
end
$$;
