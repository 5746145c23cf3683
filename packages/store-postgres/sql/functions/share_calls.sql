create type calls_in_turn as (ids bigint[], dues timestamptz[]);

-- The calls that a claim takes from the lane of an endpoint that gets what people write, in their order, and the one
-- after them. p_ids: the longest due ones, one more than may be taken; null: none.
create function share_calls(
  p_endpoint bigint,
  p_live bigint[],
  p_ids bigint[],
  p_now timestamptz,
  p_limit integer
) returns calls_in_turn
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
declare
  v_in_flight constant bigint = (
    select count(*)
    from webhook_deliveries d
    where d.id = any (p_live)
      and is_received_event(d.type)
  );
begin
  return (
    with found as (
      select d.id, d.due_at, d.type
      from webhook_deliveries d
      where d.id = any (p_ids)
      union
      (
        -- Index webhook_deliveries_beside_received.
        select d.id, d.due_at, d.type
        from webhook_deliveries d
        where d.endpoint_id = p_endpoint
          and d.beside_received
          and d.due_at <= p_now
          and d.id <> all (p_live)
        order by d.due_at, d.id
        limit p_limit
      )
    ),
    placed as (
      select
        found.*, is_received_event(found.type) as is_received,
        row_number() over (
          partition by is_received_event(found.type)
          order by found.due_at, found.id
        ) as place
      from found
    ),
    turned as (
      select placed.id, placed.due_at, row_number() over (
        order by
          placed.due_at > p_now, placed.is_received and placed.place + v_in_flight > 3,
          placed.due_at, placed.id
      ) as turn
      from placed
    )
    select row(
      array_agg(turned.id order by turned.turn), array_agg(turned.due_at order by turned.turn)
    )::calls_in_turn
    from turned
    where turned.turn <= p_limit
  );
end
$$;
