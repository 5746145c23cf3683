-- Whether a message needs no copy: receive_messages would take it for a repeat, or its group is
-- not kept.
--
-- Never null: answer
create function needs_no_copy(
  p_number bigint,
  p_mode text,
  p_from_me boolean,
  p_group_id text,
  p_remote_id text,
  p_phone text,
  p_lid text,
  p_user_id text
) returns boolean
language plpgsql stable
set search_path from current
as $$
#variable_conflict use_column
begin
  return exists (
    select
    from numbers n
    left join conversation_settings s on s.workspace_id = n.workspace_id
    where n.id = p_number
      and n.removed_at is null
      and (
        not is_kept(p_group_id, s.groups)
        or exists (
          select
          from find_received(p_number, p_mode, p_from_me, p_group_id, p_remote_id, p_phone, p_lid, p_user_id)
        )
      )
  );
end
$$;
