-- Never null: next_list, next_after
create function erase_messages(
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
  v_row record;
begin
  <<lists>>
  while p_list <= cardinality(p_owner) loop
    for v_row in
      select
        r.id, r.created_at as made_at,
        r.state <> 'waiting' and r.ended_at < p_before[p_list] as erasable
      from messages r
      where r.workspace_id = p_owner[p_list]
        and r.mode = p_mode[p_list]
        and r.id > p_after
        and r.id <= coalesce(p_last_id[p_list], 9223372036854775807)
      order by r.id
    loop
      exit when v_row.made_at >= p_before[p_list] + interval '2 minutes';
      p_after := v_row.id;
      v_looked_at := v_looked_at + 1;
      if v_row.erasable then
        v_ids := v_ids || v_row.id;
      end if;
      exit lists when cardinality(v_ids) = p_most or v_looked_at = 10 * p_most;
    end loop;
    p_list := p_list + 1;
    p_after := 0;
  end loop;
  delete from simulated_sent s
  using messages m
  where m.id = any (v_ids)
    and s.number_id = m.number_id
    and s.transport_id = m.transport_id;
  delete from message_attempts a
  where a.message_id = any (v_ids);
  delete from messages m
  where m.id = any (v_ids);
  return query select p_list, p_after;
end
$$;
