-- How far each named event-feed subscription has read, and its lease.

-- name: find
select s.reached, s.lease, s.lease_until
from subscriptions s
where s.name = :name

-- name: claim
update subscriptions s
set lease = s.lease + 1,
  lease_until = :until
where s.name = :name
  and s.lease = :lease
returning s.reached, s.lease, s.lease_until

-- name: save
-- A renewal may arrive after a later write of the same holder: the position never goes back.
update subscriptions s
set reached = greatest(s.reached, :reached),
  lease_until = :until
where s.name = :name
  and s.lease = :lease
returning s.name

-- name: forget
delete from subscriptions s
where s.lease_until < :before
