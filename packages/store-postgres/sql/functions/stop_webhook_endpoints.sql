-- Stops those of them that run.
create function stop_webhook_endpoints(p_endpoints bigint[], p_reason text)
returns void
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
    set disabled_reason = p_reason
    where e.id = any (p_endpoints)
      and is_running(e)
    returning e.id
  )
  select array_agg(ended.id)
  into v_ended
  from ended;
  if v_ended is not null then
    perform end_webhook_deliveries(v_ended);
  end if;
end
$$;
