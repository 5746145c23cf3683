-- Ids grow with time: what is old is at the front. What is still to be delivered is kept.
with oldest as (
  select o.id, o.created_at
  from outbox o
  order by o.id
  limit :limit
)
delete from outbox o
using oldest
where o.id = oldest.id
  and oldest.created_at < :before
  and o.id < coalesce(
    (
      select min(d.outbox_id)
      from webhook_deliveries d
    ),
    9223372036854775807
  )
returning o.id
