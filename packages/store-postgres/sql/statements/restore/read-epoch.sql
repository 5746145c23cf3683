select
  coalesce(latest.epoch, 1) as epoch,
  exists (
    select
    from messages m
    where m.id > latest.after_message
  ) as "hasAccepted"
from (select) one
left join (
  select *
  from store_epochs e
  order by e.epoch desc
  limit 1
) latest on true
