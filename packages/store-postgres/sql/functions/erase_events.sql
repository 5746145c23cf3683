-- Never null: next_list, next_after
create function erase_events(
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
      select r.id, r.created_at as made_at, r.created_at < p_before[p_list] as erasable
      from outbox r
      where r.workspace_id = p_owner[p_list]
        and r.id > p_after
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
  return query select p_list, p_after;
end
$$;
