update number_checks c
set lease_until = null,
  next_due = :due,
  tries = c.tries + :tries
where c.id = :id
  and holds_lease(c.lease, c.lease_until, :lease)
returning true
