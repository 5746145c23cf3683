-- Index linking_attempts_due.
select
  a.id, a.mode, a.method, a.phone, a.requested_at, a.ends_at, a.links_at, a.qr_text, a.pairing_code,
  a.pairing_code_expires_at, a.linking, a.number_id, a.phone_before
from linking_attempts a
where a.due_at <= :now
  and links_itself(a, :now)
order by a.due_at, a.number_id
limit :limit
