/** What the first version of the service wrote. */

/** What a process of the first version left behind. */
export const firstData = [
  `insert into workspaces (
    name, demo, account_disabled, api_v2_enabled, admits, plan_name, plan_messages_remaining,
    plan_reminders, plan_qr_code_api, plan_max_numbers, plan_media_storage_bytes, created_at
  ) values (
    'Old', false, false, true, true, 'Small', 41, true, false, 3, 1000, '2026-03-02T12:00:00.250Z'
  )`,
  `insert into api_keys (workspace_id, version, name, mode, scopes, last4, hash, created_at)
  values (1, 2, 'Key', 'live', '{messages:send}', 'wxyz', repeat('a', 64), '2026-03-02T12:00:00Z')`,
  `insert into numbers (workspace_id, phone, label, platform, status, login_method, created_at)
  values (1, '15550001', '', 'whatsapp', 'connected', 'qr', '2026-03-02T12:00:00Z')`,
  `insert into lanes (number_id, workspace_id, connected, next_due, quota_bound)
  values (1, 1, true, '2026-03-02T12:00:00.250Z', 1)`,
  `insert into messages (
    workspace_id, number_id, created_at, due_at, allowance_taken, mode, state, platform, from_phone,
    to_kind, to_phone, text, transport_id
  ) values (
    1, 1, '2026-03-02T12:00:00.250Z', '2026-03-02T12:00:00.250Z', true, 'live', 'waiting',
    'whatsapp', '15550001', 'phone', '+15550002', 'Hello', 'ABCDEF0123'
  )`,
]
