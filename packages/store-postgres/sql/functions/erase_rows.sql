-- Erases rows of one kind that have outlived their retention: of messages, events, attempts to deliver to
-- endpoints, or attempts to call callbacks. Walks lists, each the rows of one owner, from the place that an
-- earlier call reached, and stops after p_most rows to erase or ten times as many looked at. Returns where the
-- next call starts.
--
-- Locks: the events by id, so that no delivery refers to one that goes.
--
-- Never null: next_list, next_after
create function erase_rows(
  p_kind text,
  p_owner bigint[],
  p_mode text[],
  p_before timestamptz[],
  p_last_id bigint[],
  p_list integer,
  p_after bigint,
  p_most integer
) returns table (next_list integer, next_after bigint)
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
declare
  v_ids bigint[] = '{}';
  v_looked_at integer = 0;
  v_rows refcursor;
  v_row record;
begin
  <<lists>>
  while p_list <= cardinality(p_owner) loop
    case p_kind
      when 'messages' then
        -- Index messages_by_workspace.
        open v_rows for
          select
            r.id, r.created_at as made_at,
            r.state <> 'waiting' and r.ended_at < p_before[p_list] as erasable
          from messages r
          where r.workspace_id = p_owner[p_list]
            and r.mode = p_mode[p_list]
            and r.id > p_after
            and r.id <= coalesce(p_last_id[p_list], 9223372036854775807)
          order by r.id;
      when 'events' then
        open v_rows for
          select r.id, r.created_at as made_at, r.created_at < p_before[p_list] as erasable
          from outbox r
          where r.workspace_id = p_owner[p_list]
            and r.id > p_after
          order by r.id;
      when 'attempts' then
        open v_rows for
          select r.id, r.attempted_at as made_at, r.attempted_at < p_before[p_list] as erasable
          from webhook_attempts r
          where r.endpoint_id = p_owner[p_list]
            and r.id > p_after
          order by r.id;
      when 'callback_attempts' then
        open v_rows for
          select r.id, r.attempted_at as made_at, r.attempted_at < p_before[p_list] as erasable
          from webhook_attempts r
          where r.workspace_id = p_owner[p_list]
            and r.id > p_after
          order by r.id;
    end case;
    loop
      fetch v_rows into v_row;
      exit when not found or v_row.made_at >= p_before[p_list] + interval '2 minutes';
      p_after := v_row.id;
      v_looked_at := v_looked_at + 1;
      if v_row.erasable then
        v_ids := v_ids || v_row.id;
      end if;
      exit lists when cardinality(v_ids) = p_most or v_looked_at = 10 * p_most;
    end loop;
    close v_rows;
    p_list := p_list + 1;
    p_after := 0;
  end loop;

  case p_kind
    when 'messages' then
      delete from simulated_sent s
      using messages m
      where m.id = any (v_ids)
        and s.number_id = m.number_id
        and s.transport_id = m.transport_id;
      delete from message_attempts a
      where a.message_id = any (v_ids);
      update campaign_rows r
      set last_status = row_status(r.state, null, m.state, ''),
        message_id = null,
        recipient = null,
        recipient_key = null,
        phone = null
      from messages m
      where m.id = any (v_ids)
        and r.campaign_id = m.campaign_id
        and r.row = m.campaign_row;
      delete from messages m
      where m.id = any (v_ids);
    when 'events' then
      if cardinality(v_ids) > 0 then
        perform
        from outbox o
        where o.id = any (v_ids)
        order by o.id
        for update;
        delete from outbox o
        where o.id = any (v_ids)
          and o.id <> all (array(
            select d.outbox_id
            from webhook_deliveries d
            where d.outbox_id = any (v_ids)
          ));
      end if;
    else
      delete from webhook_attempts a
      where a.id = any (v_ids);
  end case;
  return query select p_list, p_after;
end
$$;
