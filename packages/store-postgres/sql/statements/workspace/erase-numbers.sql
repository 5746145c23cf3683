-- A session that is still to be logged out is logged out through the number's proxy. Index
-- idempotency_records_of_numbers.
with gone as materialized (
  select n.id, exists (select from sessions s where s.number_id = n.id) as leaving
  from numbers n
  where n.removed_at is not null
    and n.erased_at is null
    and not exists (
    select
    from messages m
    where m.number_id = n.id
      and m.state = 'waiting'
  )
    and (
      n.phone is not null
      or n.label <> ''
      or n.callback_url is not null
      or not exists (select from sessions s where s.number_id = n.id)
    )
  order by n.id
  limit :limit
),
unshown as (
  update idempotency_records r
  set shown = null
  from gone
  where r.made_ids[1] = gone.id
    and r.shown is not null
)
update numbers n
set label = '',
  phone = null,
  callback_url = null,
  proxy_host = case when gone.leaving then n.proxy_host end,
  proxy_port = case when gone.leaving then n.proxy_port end,
  proxy_url = case when gone.leaving then n.proxy_url end,
  erased_at = case when not gone.leaving then :now end
from gone
where n.id = gone.id
returning n.id
