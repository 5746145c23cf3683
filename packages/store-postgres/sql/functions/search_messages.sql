-- Looks for texts that match a pattern, newest first, and stops once a page is full or so many texts were looked
-- at. next_id is where the next page starts, null at the end of the list; oldest_at is when the oldest message
-- that was looked at was created.
--
-- Messages of a whole workspace are walked by index messages_by_workspace. A filter that few of them pass ends the
-- walk after ten times as many. Those of some numbers are found as lists find them, by numbers_ever_by_workspace,
-- messages_by_number_and_state and messages_waiting: a condition on the messages' workspace would offer
-- messages_by_workspace, and that a walk through those of all other numbers.
--
-- Never null: ids
create function search_messages(
  p_workspace bigint,
  p_mode text,
  p_pattern text,
  p_before bigint,
  p_since timestamptz,
  p_until timestamptz,
  p_numbers bigint[],
  p_ended text[],
  p_queued boolean,
  p_scheduled boolean,
  p_error text,
  p_reference text,
  p_now timestamptz,
  p_most integer,
  p_limit integer
) returns table (ids bigint[], next_id bigint, oldest_at timestamptz)
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
declare
  v_ids bigint[] = '{}';
  v_looked_at integer = 0;
  v_walked integer = 0;
  v_from constant bigint = message_id_at(p_workspace, p_mode, p_since - interval '2 minutes');
  v_end constant bigint = least(
    p_before, message_id_at(p_workspace, p_mode, p_until + interval '2 minutes')
  );
  v_row record;
  v_oldest_at timestamptz;
  v_next bigint;
begin
  if p_numbers is null then
    for v_row in
      select walked.*, walked.is_asked and walked.text ~ p_pattern as is_found
      from (
        select
          m.id, m.created_at, m.text,
          m.created_at >= p_since and m.created_at < p_until
            and (
              m.state = any (p_ended)
              or (p_queued and is_waiting(m) and is_queued(m.send_at, p_now))
              or (p_scheduled and is_waiting(m) and is_scheduled(m.send_at, p_now))
            )
            and (p_error is null or m.error_code = p_error)
            and (p_reference is null or m.reference = p_reference) as is_asked
        from messages m
        where m.workspace_id = p_workspace
          and m.mode = p_mode
          and m.id < v_end
          and m.id >= v_from
        order by m.id desc
        limit 10 * p_most
      ) walked
    loop
      v_walked := v_walked + 1;
      v_next := case when v_walked = 10 * p_most then v_row.id end;
      continue when v_row.is_asked is not true;
      v_looked_at := v_looked_at + 1;
      v_oldest_at := v_row.created_at;
      if v_row.is_found then
        v_ids := v_ids || v_row.id;
      end if;
      if cardinality(v_ids) = p_limit or v_looked_at = p_most then
        v_next := v_row.id;
        exit;
      end if;
    end loop;
    return query select v_ids, v_next, v_oldest_at;
    return;
  end if;

  for v_row in
    select either.*
    from (
      (
        select m.id, m.created_at, m.text
        from numbers n
        cross join unnest(p_ended) s (state)
        cross join lateral (
          select m.id, m.created_at, m.text
          from messages m
          where m.number_id = n.id
            and m.state = s.state
            and m.state <> 'waiting'
            and m.mode = p_mode
            and m.id < v_end
            and m.id >= v_from
            and m.created_at >= p_since
            and m.created_at < p_until
            and (p_error is null or m.error_code = p_error)
            and (p_reference is null or m.reference = p_reference)
          order by m.id desc
          limit p_most
        ) m
        where n.workspace_id = p_workspace
          and n.id = any (p_numbers)
      )
      union all
      (
        select m.id, m.created_at, m.text
        from numbers n
        join messages m on m.number_id = n.id
        where n.workspace_id = p_workspace
          and n.id = any (p_numbers)
          and m.state = 'waiting'
          and (
            (p_queued and is_queued(m.send_at, p_now))
            or (p_scheduled and is_scheduled(m.send_at, p_now))
          )
          and m.mode = p_mode
          and m.id < v_end
          and m.id >= v_from
          and m.created_at >= p_since
          and m.created_at < p_until
          and p_error is null
          and (p_reference is null or m.reference = p_reference)
      )
    ) either
    order by either.id desc
    limit p_most
  loop
    v_looked_at := v_looked_at + 1;
    v_oldest_at := v_row.created_at;
    if v_row.text ~ p_pattern then
      v_ids := v_ids || v_row.id;
    end if;
    if cardinality(v_ids) = p_limit or v_looked_at = p_most then
      v_next := v_row.id;
      exit;
    end if;
  end loop;
  return query select v_ids, v_next, v_oldest_at;
end
$$;
