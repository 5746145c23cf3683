-- Revokes a link and ends its session. False when the workspace has no such link.
-- Locks: the link, as its exchange does, then its session.
create function revoke_sign_in_link(p_workspace_id bigint, p_id bigint, p_now timestamptz)
returns boolean
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
begin
  update sign_in_links l
  set revoked_at = coalesce(l.revoked_at, p_now)
  where l.id = p_id
    and l.workspace_id = p_workspace_id;
  if not found then
    return false;
  end if;
  delete from browser_sessions s
  where coalesce(s.workspace_id, 0) = p_workspace_id
    and s.link_id = p_id;
  return true;
end
$$;
