-- name: number
-- A later statement than the one that wrote it: a function's effects are not seen by its caller.
select
  n.id, n.workspace_id, n.mode, n.phone, n.label, n.platform, n.status, n.login_method, n.created_at
from numbers n
where n.id = :id

-- name: get
select
  a.id, a.mode, a.method, a.phone, a.requested_at, a.ends_at, a.links_at, a.qr_text,
  a.qr_expires_at, a.pairing_code, a.pairing_code_expires_at, a.linking, a.number_id, a.phone_before
from linking_attempts a
where a.number_id = :numberId

-- name: claim
-- Index linking_attempts_due. What is claimed at the same moment is passed over: the row is looked at
-- once more when it is locked.
with due as (
  select
    a.number_id, a.due_at,
    held_of(n.workspace_id, :workspaces, :held)
            + row_number() over (partition by n.workspace_id order by a.due_at, a.number_id)
            <= :perWorkspace::integer as fits
  from linking_attempts a
  join numbers n on n.id = a.number_id
  where a.due_at <= :now
    and can_be_linked(a, :now, :of::bigint, :shards::bigint[])
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
  a.id, a.mode, a.method, a.phone, a.requested_at, a.ends_at, a.links_at, a.qr_text,
  a.qr_expires_at, a.pairing_code, a.pairing_code_expires_at, a.linking, a.number_id, a.phone_before, a.lease, n.workspace_id

-- name: renew
update linking_attempts a
set lease_until = :leaseUntil
from unnest(:ids::text[], :leases::bigint[]) held (id, lease)
where a.id = held.id
  and holds_lease(a.lease, a.lease_until, held.lease)
returning a.id

-- name: show
-- A QR code that is there already is not reported again: the answer of the store may get lost.
with before as (
  select a.number_id, a.qr_text
  from linking_attempts a
  where a.id = :id
    and holds_lease(a.lease, a.lease_until, :lease)
  for no key update
),
shown as (
  update linking_attempts a
  set qr_text = :qrText,
    qr_expires_at = :qrExpiresAt,
    pairing_code = :pairingCode,
    pairing_code_expires_at = :pairingCodeExpiresAt,
    linking = :linking
  from before
  where a.number_id = before.number_id
  returning a.id, a.number_id
),
called as (
      insert into webhook_deliveries (endpoint_id, workspace_id, url, due_at, event_id, type, body)
      select
        callback_lane(:newWorkspace, :newTarget), :newWorkspace, :newUrl,
        :newCreatedAt, :newEventId::text, :newType, :newBody
      from before
      join numbers n on n.id = before.number_id
      where before.qr_text is distinct from :qrText
        and is_reported_to(n, :newUrl)
        and :newEventId is not null
      returning endpoint_id, workspace_id
    ),
marked_callbacks as (
  insert into webhook_marks (lane_id, workspace_id)
      select distinct called.endpoint_id, called.workspace_id
      from called
)
select shown.id
from shown

-- name: taken
update linking_attempts a
set linking = true
where a.id = :id
  and not has_ended(a, :now)
returning a.id

-- name: lapsed
-- Index linking_attempts_ending.
select
  a.id, a.mode, a.method, a.phone, a.requested_at, a.ends_at, a.links_at, a.qr_text,
  a.qr_expires_at, a.pairing_code, a.pairing_code_expires_at, a.linking, a.number_id, a.phone_before
from linking_attempts a
where has_ended(a, :now)
order by a.ends_at, a.number_id
limit :limit

-- name: dueTest
-- Index linking_attempts_due.
select
  a.id, a.mode, a.method, a.phone, a.requested_at, a.ends_at, a.links_at, a.qr_text,
  a.qr_expires_at, a.pairing_code, a.pairing_code_expires_at, a.linking, a.number_id, a.phone_before
from linking_attempts a
where a.due_at <= :now
  and links_itself(a, :now)
order by a.due_at, a.number_id
limit :limit
