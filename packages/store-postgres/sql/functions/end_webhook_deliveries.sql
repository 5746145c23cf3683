-- Ends everything that is to be delivered to these endpoints; their lanes are locked.
create function end_webhook_deliveries(p_endpoints bigint[])
returns void
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
begin
  with ended as (
    delete from webhook_deliveries d
    where d.endpoint_id = any (p_endpoints)
    returning d.last_attempt_id
  )
  update webhook_attempts a
  set next_attempt_at = null
  from ended
  where a.id = ended.last_attempt_id;

  update webhook_lanes l
  set next_due = null,
    held_ids = '{}',
    held_leases = '{}',
    held_until = '{}'
  where l.endpoint_id = any (p_endpoints);
end
$$;
