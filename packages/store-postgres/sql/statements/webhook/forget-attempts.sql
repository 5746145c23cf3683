-- Ids grow with time: what is old is at the front.
with oldest as (
  select a.id, a.attempted_at
  from webhook_attempts a
  order by a.id
  limit :limit
)
delete from webhook_attempts a
using oldest
where a.id = oldest.id
  and oldest.attempted_at < :before
returning a.id
