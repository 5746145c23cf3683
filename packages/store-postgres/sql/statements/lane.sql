-- name: mayAwaitNewChats
-- The primary keys.
-- Never null: answer
select exists (
  select
  from lanes l
  where l.number_id = :number
    and waits_for_new_chats(l.new_chats_until, :now)
)
and not exists (
  select
  from message_attempts a
  where a.message_id = :message
    and a.unfinished = 'new_chats_closed'
) as answer

-- name: renew
-- Prolongs leases that are still the lane's, also ones that ran out and were not taken over.
--
-- Locks: the lanes by id. A lane that another worker has claimed meanwhile has another lease by the
-- time its row is locked, and drops out.
with held as materialized (
  select l.number_id
  from lanes l
  join unnest(:numbers::bigint[], :leases::bigint[]) asked (number_id, lease)
    on asked.number_id = l.number_id
  where holds_lease(l.lease, l.lease_until, asked.lease)
    -- One that another transaction holds for long must not keep the others from being prolonged.
    and (select set_config('lock_timeout', :lockTimeout, true)) is not null
  order by l.number_id
  for no key update of l
)
update lanes l
set lease_until = :leaseUntil,
  next_due = :leaseUntil
from held
where l.number_id = held.number_id
returning l.number_id
