-- Index linking_attempts_due. What is claimed at the same moment is passed over: the row is looked at
-- once more when it is locked.
with due as (
  select
    a.number_id, a.due_at,
    held_of(n.workspace_id, :p_workspaces, :p_held)
            + row_number() over (partition by n.workspace_id order by a.due_at, a.number_id)
            <= :p_per_workspace as fits
  from linking_attempts a
  join numbers n on n.id = a.number_id
  where a.due_at <= :now
    and can_be_linked(a, :now, :p_of::bigint, :p_shards::bigint[])
),
free as (
  select a.number_id
  from linking_attempts a
  where a.number_id = any (
      array(
        select due.number_id
        from due
        where due.fits
        order by due.due_at, due.number_id
        limit :limit
      )
    )
    and a.due_at <= :now
    and is_free(a.lease_until, :now)
  order by a.due_at, a.number_id
  for update skip locked
)
update linking_attempts a
set lease = a.lease + 1,
  lease_until = :leaseUntil
from free
join numbers n on n.id = free.number_id
where a.number_id = free.number_id
returning
  a.id, a.mode, a.method, a.phone, a.requested_at, a.ends_at, a.links_at, a.qr_text, a.pairing_code,
  a.pairing_code_expires_at, a.linking, a.number_id, a.phone_before, a.lease, n.workspace_id
