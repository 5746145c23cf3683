-- Whether they are on. The primary key.
create function has_conversations(p_workspace bigint) returns boolean
language plpgsql stable
set search_path from current
as $$
begin
  return exists (
    select
    from conversation_settings c
    where c.workspace_id = p_workspace
  );
end
$$;
