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
  set qr_text = :qr_text,
    pairing_code = :pairing_code,
    pairing_code_expires_at = :pairing_code_expires_at,
    linking = :linking
  from before
  where a.number_id = before.number_id
  returning a.id, a.number_id
),
called as (
      insert into webhook_deliveries (endpoint_id, workspace_id, url, due_at, event_id, type, body)
      select
        callback_lane(:p_new_workspace, :p_new_target), :p_new_workspace, :p_new_url,
        :p_new_created_at, :p_new_event_id, :p_new_type, :p_new_body
      from before
      join numbers n on n.id = before.number_id
      where before.qr_text is distinct from :qr_text
        and is_reported_to(n, :p_new_url)
        and :p_new_event_id is not null
      returning endpoint_id, workspace_id
    ),
marked_callbacks as (
  insert into webhook_marks (lane_id, workspace_id)
      select distinct called.endpoint_id, called.workspace_id
      from called
)
select shown.id
from shown
