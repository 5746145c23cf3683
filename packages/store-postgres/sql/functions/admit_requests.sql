-- Counts p_count requests. Locks: the row of each key's windows, in the order of the keys' hashes.
create function admit_requests(
  p_hash text,
  p_version integer,
  p_now timestamptz,
  p_minute_start timestamptz,
  p_day_start timestamptz,
  p_address text,
  p_count integer,
  p_minute_limit integer
) returns table (
  minute_count integer,
  day_count integer,
  id bigint,
  workspace_id bigint,
  version smallint,
  name text,
  mode text,
  scopes text[],
  number_ids bigint[],
  expires_at timestamptz,
  last4 text,
  created_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz,
  last_used_ip text,
  w_id bigint,
  w_name text,
  w_demo boolean,
  w_account_disabled boolean,
  w_api_v2_enabled boolean,
  w_plan_name text,
  w_plan_messages_remaining bigint,
  w_plan_reminders boolean,
  w_plan_qr_code_api boolean,
  w_plan_max_numbers bigint,
  w_plan_media_storage_bytes bigint,
  w_retention_days integer,
  w_created_at timestamptz,
  w_deleted_at timestamptz
)
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
begin
  return query
  with found as materialized (
    select k as key, w as workspace
    from api_keys k
    join workspaces w on w.id = k.workspace_id
    where k.hash = p_hash
      and k.version = p_version
  ),
  counted as (
    insert into key_windows as windows (
      key_id, minute_start, minute_count, day_start, day_count, last_used_at, last_used_ip
    )
    select
      (found.key).id, p_minute_start, p_count, p_day_start,
      counted_in_day(p_count, p_count, p_minute_limit), p_now, p_address
    from found
    where is_counted((found.workspace).admits, found.key, p_now, null)
    on conflict (key_id) do update
    set minute_start = case
        when is_in_same_window(windows.minute_start, excluded.minute_start, interval '1 minute')
        then windows.minute_start
        else excluded.minute_start
      end,
      minute_count = excluded.minute_count + case
        when is_in_same_window(windows.minute_start, excluded.minute_start, interval '1 minute')
        then windows.minute_count
        else 0
      end,
      day_start = case
        when is_in_same_window(windows.day_start, excluded.day_start, interval '24 hours')
        then windows.day_start
        else excluded.day_start
      end,
      day_count = counted_in_day(
        excluded.minute_count + case
          when is_in_same_window(windows.minute_start, excluded.minute_start, interval '1 minute')
          then windows.minute_count
          else 0
        end,
        p_count, p_minute_limit
      ) + case
        when is_in_same_window(windows.day_start, excluded.day_start, interval '24 hours')
        then windows.day_count
        else 0
      end,
      last_used_at = excluded.last_used_at,
      last_used_ip = excluded.last_used_ip
    returning minute_count, day_count, last_used_at, last_used_ip
  )
  select
    counted.minute_count, counted.day_count, (found.key).id, (found.key).workspace_id,
    (found.key).version, (found.key).name, (found.key).mode, (found.key).scopes,
    (found.key).number_ids, (found.key).expires_at, (found.key).last4, (found.key).created_at,
    (found.key).revoked_at, latest.last_used_at, latest.last_used_ip,
    (found.workspace).id as w_id, (found.workspace).name as w_name,
    (found.workspace).demo as w_demo, (found.workspace).account_disabled as w_account_disabled,
    (found.workspace).api_v2_enabled as w_api_v2_enabled,
    (found.workspace).plan_name as w_plan_name,
    (found.workspace).plan_messages_remaining as w_plan_messages_remaining,
    (found.workspace).plan_reminders as w_plan_reminders,
    (found.workspace).plan_qr_code_api as w_plan_qr_code_api,
    (found.workspace).plan_max_numbers as w_plan_max_numbers,
    (found.workspace).plan_media_storage_bytes as w_plan_media_storage_bytes,
    (found.workspace).retention_days as w_retention_days,
    (found.workspace).created_at as w_created_at, (found.workspace).deleted_at as w_deleted_at
  from found
  left join counted on true
  left join lateral (
    select counted.last_used_at, counted.last_used_ip
    where counted.last_used_at is not null
    union all
    select w.last_used_at, w.last_used_ip
    from key_windows w
    where w.key_id = (found.key).id
      and counted.last_used_at is null
  ) latest on true;
end
$$;
