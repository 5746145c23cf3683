-- Begins the session of a link and uses the link up; without a row when it cannot be used.
-- Locks: the workspace against its end, as its deletion does first; then the link.
create function exchange_sign_in_link(
  p_code_hash text,
  p_hash text,
  p_now timestamptz,
  p_token_mark text,
  p_most integer
) returns table (
  workspace_id bigint,
  role text,
  return_url text,
  created_at timestamptz,
  expires_at timestamptz
)
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
declare
  v_link sign_in_links;
begin
  perform
  from sign_in_links l
  join workspaces w on w.id = l.workspace_id
  where l.code_hash = p_code_hash
  for share of w;

  update sign_in_links l
  set used_at = p_now,
    expires_at = p_now + l.session_millis * interval '1 millisecond'
  where l.code_hash = p_code_hash
    and link_works(l, p_now, p_token_mark)
    and (
      l.workspace_id is null
      or exists (
        select
        from workspaces w
        where w.id = l.workspace_id
          and w.deleted_at is null
          and not w.account_disabled
      )
    )
  returning l.* into v_link;
  if not found then
    return;
  end if;

  perform insert_browser_session(
    v_link.workspace_id, v_link.role, v_link.return_url, p_now, v_link.expires_at, p_hash,
    v_link.token_mark, v_link.id, p_most
  );
  return query
  select v_link.workspace_id, v_link.role, v_link.return_url, p_now, v_link.expires_at;
end
$$;
