create function remove_number(p_workspace_id bigint, p_id bigint, p_now timestamptz)
returns boolean
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
begin
  perform look_at_campaigns(p_workspace_id, p_now);
  perform remove_lanes(array[n.id], p_now)
  from numbers n
  where n.id = p_id
    and n.workspace_id = p_workspace_id
    and n.removed_at is null;

  update numbers n
  set removed_at = p_now
  where n.id = p_id
    and n.workspace_id = p_workspace_id
    and n.removed_at is null;
  if not found then
    return false;
  end if;
  delete from number_restrictions r
  where r.number_id = p_id;
  return true;
end
$$;
