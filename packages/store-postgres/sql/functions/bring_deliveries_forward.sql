-- What each delivered result brings forward in its lane, before what fails in the same commit is put off: of
-- an endpoint all that failed, of callbacks those to the same URL. Of very many only the latest due ones; a
-- later success takes the next. For lanes that are locked.
create function bring_deliveries_forward(
  p_delivery bigint[], p_attempted_at timestamptz[], p_error text[]
) returns void
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
begin
  with delivered as materialized (
    select d.endpoint_id, d.url, l.held_ids, max(r.attempted_at) as at
    from (
      select *
      from unnest(p_delivery, p_attempted_at, p_error)
      limit cardinality(p_delivery)
    ) r (delivery_id, attempted_at, error)
    join webhook_deliveries d on d.id = r.delivery_id
    join webhook_lanes l on l.endpoint_id = d.endpoint_id
    where r.error is null
      and l.has_put_off
    group by d.endpoint_id, d.url, l.held_ids
  ),
  forward as (
    update webhook_deliveries d
    set due_at = early.at,
      is_forward = true
    from (
      select waiting.id, delivered.at
      from delivered
      cross join lateral (
        -- Index webhook_deliveries_put_off.
        select d.id
        from webhook_deliveries d
        where d.endpoint_id = delivered.endpoint_id
          and comes_forward(d, delivered.at)
          and d.url is not distinct from delivered.url
          and d.id <> all (delivered.held_ids)
        order by d.due_at desc
        limit 1000
      ) waiting
    ) early
    where d.id = early.id
    returning d.last_attempt_id, d.due_at
  )
  update webhook_attempts a
  set next_attempt_at = forward.due_at
  from forward
  where a.id = forward.last_attempt_id;

  update webhook_lanes l
  set has_put_off = null
  where l.has_put_off
    and l.endpoint_id in (
      select d.endpoint_id
      from unnest(p_delivery) r (delivery_id)
      join webhook_deliveries d on d.id = r.delivery_id
    )
    and not exists (
      select
      from webhook_deliveries d
      where d.endpoint_id = l.endpoint_id
        and not d.is_forward
        and d.id <> all (p_delivery)
    );
end
$$;
