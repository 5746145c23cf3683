-- name: admit
-- Requests that share a window, admitted in one call, are counted by one update.
-- Never null: place, id, workspace_id, version, name, mode, scopes, last4, created_at,
-- w_id, w_name, w_demo,
-- w_account_disabled, w_api_v2_enabled, w_plan_reminders, w_plan_qr_code_api,
-- w_plan_media_storage_bytes, w_created_at
select asked.place, admitted.*
from unnest(
  :hash::text[], :version::integer[], :now::timestamptz[], :minuteStart::timestamptz[],
  :dayStart::timestamptz[], :address::text[], :count::integer[]
) with ordinality asked (hash, version, now, minute_start, day_start, address, count, place)
cross join lateral admit_requests(
  asked.hash, asked.version, asked.now, asked.minute_start, asked.day_start, asked.address,
  asked.count, :minuteLimit::integer
) admitted

-- name: admitV1
-- All requests fall in one clock minute; the keys of a workspace share its counter. Locks: the rows of the workspaces'
-- windows in the order of their ids; then those of the keys, which keep the last use, in the order of
-- theirs.
-- Never null: place, counts, id, workspace_id, version, name, mode, scopes, last4, created_at,
-- w_id, w_name, w_demo,
-- w_account_disabled, w_api_v2_enabled, w_plan_reminders, w_plan_qr_code_api,
-- w_plan_media_storage_bytes, w_created_at
with asked as (
  select *
  from unnest(
    :hash::text[], :workspaceId::bigint[], :now::timestamptz[], :address::text[]
  ) with ordinality asked (hash, workspace_id, now, address, place)
),
found as materialized (
  select asked.place, asked.now, asked.address, k as key, w as workspace,
    is_counted(w.admits_v1, k, asked.now, asked.workspace_id) as counts
  from asked
  join api_keys k on k.hash = asked.hash and k.version = 1
  join workspaces w on w.id = k.workspace_id
),
counted as (
  insert into workspace_windows as windows (workspace_id, minute_start, minute_count)
  select (found.workspace).id, :minuteStart, count(*)::integer
  from found
  where found.counts
  group by (found.workspace).id
  order by (found.workspace).id
  on conflict (workspace_id) do update
  set minute_start = case
        when is_in_same_window(
          windows.minute_start, excluded.minute_start, interval '60000 milliseconds'
        ) then windows.minute_start
        else excluded.minute_start
      end,
      minute_count = excluded.minute_count + case
        when is_in_same_window(
          windows.minute_start, excluded.minute_start, interval '60000 milliseconds'
        ) then windows.minute_count
        else 0
      end
  returning workspace_id, minute_count
),
used as (
  insert into key_windows as windows (
    key_id, minute_start, minute_count, day_start, day_count, last_used_at, last_used_ip
  )
  select distinct on ((found.key).id)
    (found.key).id, found.now, 0, found.now, 0, found.now, found.address
  from found
  where found.counts
  order by (found.key).id, found.place desc
  on conflict (key_id) do update
  set last_used_at = excluded.last_used_at,
    last_used_ip = excluded.last_used_ip
)
select
  found.place, found.counts, counted.minute_count, (found.key).id, (found.key).workspace_id,
  (found.key).version, (found.key).name, (found.key).mode, (found.key).scopes,
  (found.key).number_ids, (found.key).expires_at, (found.key).last4, (found.key).created_at,
  (found.key).revoked_at, windows.last_used_at, windows.last_used_ip, (found.workspace).id as w_id,
  (found.workspace).name as w_name, (found.workspace).demo as w_demo,
  (found.workspace).account_disabled as w_account_disabled,
  (found.workspace).api_v2_enabled as w_api_v2_enabled, (found.workspace).plan_name as w_plan_name,
  (found.workspace).plan_messages_remaining as w_plan_messages_remaining,
  (found.workspace).plan_reminders as w_plan_reminders,
  (found.workspace).plan_qr_code_api as w_plan_qr_code_api,
  (found.workspace).plan_max_numbers as w_plan_max_numbers,
  (found.workspace).plan_media_storage_bytes as w_plan_media_storage_bytes,
  (found.workspace).retention_days as w_retention_days,
  (found.workspace).created_at as w_created_at, (found.workspace).deleted_at as w_deleted_at
from found
left join counted on counted.workspace_id = (found.workspace).id
left join key_windows windows on windows.key_id = (found.key).id

-- name: lockWorkspace
-- Locks the workspace's row, so that two inserts cannot both pass the limit of keys.
select
from workspaces w
where w.id = :workspaceId
for no key update

-- name: insert
insert into api_keys (
  workspace_id, version, name, mode, scopes, number_ids, expires_at, last4, created_at, hash
)
select
  :workspaceId, :version::smallint, :name, :mode, :scopes, :numberIds, :expiresAt, :last4,
  :createdAt, :hash
where not holds_all_keys(:workspaceId, :version, :limit)
  and not exists (
    select
    from api_keys k
    where :version = 1 and k.workspace_id = :workspaceId and k.version = 1 and k.name = :name
  )
returning *, null::timestamptz as last_used_at, null::text as last_used_ip

-- name: list
select
  k.id, k.workspace_id, k.version, k.name, k.mode, k.scopes, k.number_ids, k.expires_at, k.last4,
  k.created_at, k.revoked_at, windows.last_used_at, windows.last_used_ip
from api_keys k
left join key_windows windows on windows.key_id = k.id
where k.workspace_id = :workspaceId
order by k.id

-- name: revoke
-- Never null: id, workspace_id, version, name, mode, scopes, last4, created_at
select
  revoked.id, revoked.workspace_id, revoked.version, revoked.name, revoked.mode, revoked.scopes,
  revoked.number_ids, revoked.expires_at, revoked.last4, revoked.created_at, revoked.revoked_at,
  windows.last_used_at, windows.last_used_ip
from revoke_key(:workspaceId, :id, :now) revoked
left join key_windows windows on windows.key_id = revoked.id
where revoked.id is not null
