-- Stores a link; without a row when its workspace admits no portal or has p_most links that work.
-- Locks: the workspace, so that concurrent calls keep to the limit.
create function insert_sign_in_link(
  p_workspace_id bigint,
  p_role text,
  p_return_url text,
  p_code_hash text,
  p_token_mark text,
  p_created_at timestamptz,
  p_code_expires_at timestamptz,
  p_session_millis bigint,
  p_most integer
) returns bigint
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
declare
  v_id bigint;
begin
  if p_workspace_id is not null then
    perform
    from workspaces w
    where w.id = p_workspace_id
      and w.deleted_at is null
      and not w.account_disabled
    for no key update;
    if not found then
      return null;
    end if;
    if p_most <= (
      select count(*)
      from sign_in_links l
      where l.workspace_id = p_workspace_id
        and link_works(l, p_created_at, null)
    ) then
      return null;
    end if;
  end if;
  insert into sign_in_links (
    workspace_id, role, return_url, code_hash, token_mark, created_at, code_expires_at,
    session_millis
  )
  values (
    p_workspace_id, p_role, p_return_url, p_code_hash, p_token_mark, p_created_at,
    p_code_expires_at, p_session_millis
  )
  returning id into v_id;
  return v_id;
end
$$;
