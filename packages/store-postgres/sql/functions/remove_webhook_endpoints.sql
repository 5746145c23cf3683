-- Removes them; their log goes when it is old enough. Returns how many there were.
create function remove_webhook_endpoints(p_endpoints bigint[], p_now timestamptz)
returns integer
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
declare
  v_ended bigint[];
begin
  perform
  from webhook_lanes l
  where l.endpoint_id = any (p_endpoints)
  order by l.endpoint_id
  for no key update;

  with ended as (
    update webhook_endpoints e
    set removed_at = p_now
    where e.id = any (p_endpoints)
      and e.removed_at is null
    returning e.id
  )
  select array_agg(ended.id)
  into v_ended
  from ended;
  if v_ended is not null then
    perform end_webhook_deliveries(v_ended);
  end if;
  delete from webhook_lanes l
  where l.endpoint_id = any (v_ended);
  return coalesce(cardinality(v_ended), 0);
end
$$;
