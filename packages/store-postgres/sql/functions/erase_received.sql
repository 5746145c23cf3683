-- Erases up to p_limit rows of what is to go of a workspace's conversations, or of all workspaces' (null); see the
-- port. Whether there may be more. Where nothing is to go it only reads, by indexes.
--
-- Locks: where something is to go, the workspace's rows in received_counters by number.
--
-- Never null: answer
create function erase_received(
  p_workspace_id bigint,
  p_now timestamptz,
  p_most bigint,
  p_most_chats bigint,
  p_marks_before timestamptz,
  p_limit integer
) returns boolean
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
declare
  v_workspace record;
  v_before timestamptz;
  v_excess bigint;
  v_ids bigint[];
  v_chats bigint[];
  v_people bigint[];
  v_reactions bigint[];
  v_left integer = p_limit;
  v_removed boolean = false;
  v_rows integer;
begin
  -- Index received_counters_by_workspace.
  for v_workspace in
    select
      c.workspace_id as id, sum(c.stored)::bigint as stored, bool_or(n.removed_at is not null) as has_removed
    from received_counters c
    join numbers n on n.id = c.number_id
    where p_workspace_id is null or c.workspace_id = p_workspace_id
    group by c.workspace_id
    order by c.workspace_id
  loop
    select greatest(s.since, p_now - s.retention_days * interval '24 hours')
    into v_before
    from conversation_settings s
    where s.workspace_id = v_workspace.id;
    if not found then
      v_before := 'infinity';
    end if;
    v_excess := least(greatest(0, v_workspace.stored - p_most), v_left);
    v_ids := array(
      -- Index received_messages_by_workspace: of the oldest, those that were received before.
      select oldest.id
      from unnest(array['live', 'test']) m (mode)
      cross join lateral (
        select r.id, r.received_at
        from received_messages r
        where r.workspace_id = v_workspace.id
          and r.mode = m.mode
        order by r.id
        limit v_left
      ) oldest
      where oldest.received_at < v_before
      union
      (
        select oldest.id
        from unnest(array['live', 'test']) m (mode)
        cross join lateral (
          select r.id
          from received_messages r
          where r.workspace_id = v_workspace.id
            and r.mode = m.mode
          order by r.id
          limit v_excess
        ) oldest
        order by oldest.id
        limit v_excess
      )
      union
      (
        -- Indexes chats_removed and received_messages_by_chat.
        select r.id
        from chats c
        join received_messages r on r.chat_id = c.id
        where c.workspace_id = v_workspace.id
          and c.removed_at is not null
        limit v_left
      )
      union
      (
        -- Index received_messages_by_number.
        select r.id
        from received_counters c
        join numbers n on n.id = c.number_id
          and n.removed_at is not null
        join received_messages r on r.number_id = c.number_id
        where c.workspace_id = v_workspace.id
        limit v_left
      )
      order by id
      limit v_left
    );
    if cardinality(v_ids) > 0 then
      perform lock_received(v_workspace.id);
      perform erase_received_messages(v_ids, p_now);
      v_left := v_left - cardinality(v_ids);
      if v_left <= 0 then
        return true;
      end if;
    end if;

    -- Index chats_by_activity.
    if p_most_chats < (
      select count(*)
      from chats c
      where c.workspace_id = v_workspace.id
        and is_open_chat(c)
    ) then
      perform lock_received(v_workspace.id);
      v_chats := array(
        select c.id
        from chats c
        where c.workspace_id = v_workspace.id
          and is_open_chat(c)
        order by c.activity desc
        offset p_most_chats
      );
      update chats c
      set removed_at = p_now
      where c.id = any (v_chats)
        or c.merged_into = any (v_chats);
      v_removed := true;
    end if;

    if exists (
      select
      from received_counters c
      join numbers n on n.id = c.number_id
      join copy_waits w on w.number_id = c.number_id
      where c.workspace_id = v_workspace.id
        and (n.removed_at is not null or w.told_at < v_before)
    ) then
      perform lock_received(v_workspace.id);
      delete from copy_waits w
      using received_counters c, numbers n
      where c.workspace_id = v_workspace.id
        and n.id = c.number_id
        and w.number_id = c.number_id
        and (n.removed_at is not null or w.told_at < v_before);
    end if;

    -- Of messages of the service: those to received ones go with them.
    v_reactions := array(
      (
        -- Index reactions_by_age.
        select x.id
        from received_counters c
        join numbers n on n.id = c.number_id
        join reactions x on x.number_id = c.number_id
          and x.message_id is not null
          and x.stored_at < case when n.removed_at is null then v_before else 'infinity' end
        where c.workspace_id = v_workspace.id
        limit v_left
      )
      union
      (
        -- Indexes chats_removed and reactions_by_person.
        select x.id
        from chats c
        join reactions x on x.person_id = c.person_id
          and x.message_id is not null
          and x.group_id is null
          and x.mode = c.mode
        where c.workspace_id = v_workspace.id
          and c.removed_at is not null
        limit v_left
      )
      union
      (
        -- Indexes chats_removed and reactions_by_group.
        select x.id
        from chats c
        join reactions x on x.number_id = c.number_id
          and x.group_id = c.group_id
          and x.message_id is not null
          and x.mode = c.mode
        where c.workspace_id = v_workspace.id
          and c.removed_at is not null
        limit v_left
      )
      limit v_left
    );
    if cardinality(v_reactions) > 0 then
      perform lock_received(v_workspace.id);
      perform erase_reactions(v_reactions);
      v_left := v_left - cardinality(v_reactions);
      if v_left <= 0 then
        return true;
      end if;
    end if;

    -- Index chats_emptied.
    if exists (
      select
      from chats c
      where c.workspace_id = v_workspace.id
        and c.messages = 0
        and c.merged_into is null
    ) then
      perform lock_received(v_workspace.id);
      v_chats := array(
        select c.id
        from chats c
        where c.workspace_id = v_workspace.id
          and c.messages = 0
          and c.merged_into is null
      );
      with gone as (
        delete from chats c
        where c.id = any (v_chats)
          or c.merged_into = any (v_chats)
        returning c.person_id
      )
      select array_agg(distinct gone.person_id)
      into v_people
      from gone;
      perform forget_people(v_people);
    end if;

    -- Index people_unused.
    delete from people p
    using received_counters c
    where c.workspace_id = v_workspace.id
      and p.number_id = c.number_id
      and not p.in_use;

    -- Index received_marks_erased.
    delete from received_marks m
    using (
      select old.number_id, old.mark
      from received_counters c
      join received_marks old on old.number_id = c.number_id
        and old.erased_at < p_marks_before
      where c.workspace_id = v_workspace.id
      limit v_left
    ) old
    where m.number_id = old.number_id
      and m.mark = old.mark;
    get diagnostics v_rows = row_count;
    v_left := v_left - v_rows;
    if v_left <= 0 then
      return true;
    end if;

    if v_workspace.has_removed then
      perform lock_received(v_workspace.id);
      delete from received_marks m
      using (
        select old.number_id, old.mark
        from received_counters c
        join numbers n on n.id = c.number_id
          and n.removed_at is not null
        join received_marks old on old.number_id = c.number_id
        where c.workspace_id = v_workspace.id
        limit v_left
      ) old
      where m.number_id = old.number_id
        and m.mark = old.mark;
      get diagnostics v_rows = row_count;
      v_left := v_left - v_rows;
      if v_left <= 0 then
        return true;
      end if;
      delete from received_counters c
      using numbers n
      where c.workspace_id = v_workspace.id
        and c.stored = 0
        and n.id = c.number_id
        and n.removed_at is not null;
    end if;
  end loop;
  return v_removed;
end
$$;
