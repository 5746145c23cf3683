-- Stores a session. At most p_most of its holder are then valid: the oldest others end.
-- Locks: the holder's sessions in their order, so that concurrent calls keep to the limit.
create function insert_browser_session(
  p_workspace_id bigint,
  p_role text,
  p_return_url text,
  p_created_at timestamptz,
  p_expires_at timestamptz,
  p_hash text,
  p_token_mark text,
  p_link_id bigint,
  p_most integer
) returns void
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
begin
  perform
  from browser_sessions s
  where coalesce(s.workspace_id, 0) = coalesce(p_workspace_id, 0)
  order by s.id
  for update;

  delete from browser_sessions s
  where coalesce(s.workspace_id, 0) = coalesce(p_workspace_id, 0)
    and has_session_ended(s, p_created_at);

  delete from browser_sessions s
  where coalesce(s.workspace_id, 0) = coalesce(p_workspace_id, 0)
    and s.id not in (
      select latest.id
      from browser_sessions latest
      where coalesce(latest.workspace_id, 0) = coalesce(p_workspace_id, 0)
      order by latest.id desc
      limit p_most - 1
    );

  insert into browser_sessions (
    hash, workspace_id, link_id, role, return_url, token_mark, created_at, expires_at,
    last_used_at, minute_start, minute_count
  )
  values (
    p_hash, p_workspace_id, p_link_id, p_role, p_return_url, p_token_mark, p_created_at,
    p_expires_at, p_created_at, p_created_at - interval '1 day', 0
  );
end
$$;
