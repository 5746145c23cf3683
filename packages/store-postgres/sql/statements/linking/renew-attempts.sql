update linking_attempts a
set lease_until = :leaseUntil
from unnest(:ids::text[], :leases::bigint[]) held (id, lease)
where a.id = held.id
  and holds_lease(a.lease, a.lease_until, held.lease)
returning a.id
