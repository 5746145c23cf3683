/** Records as examples show them. */

const message = {
  id: 4711,
  status: "queued",
  from: { id: 12, phone: "15550001000", platform: "whatsapp" },
  to: { phone: "+15550001234", contact_id: null },
  text: "Your table is ready.",
  media: null,
  send_at: null,
  expires_at: null,
  created_at: "2030-01-31T07:00:00Z",
  sent_at: null,
  error: null,
}

const number = {
  id: 12,
  phone: "15550001000",
  label: "Front desk",
  platform: "whatsapp",
  status: "connected",
  login_method: "qr",
  connect: null,
}

const webhook = {
  id: 3,
  url: "https://shop.example.com/events",
  description: "Order notices",
  events: ["message.sent", "message.failed"],
  secret_last4: "c0de",
  active: true,
  disabled_reason: null,
  created_at: "2030-01-31T07:00:00Z",
  last_delivery: null,
}

/** A received message. */
const received = {
  id: 71,
  sequence: 1,
  number: { id: 12, phone: "15550001000", platform: "whatsapp" },
  chat: { id: 9, type: "person", name: "Ada" },
  from_me: false,
  from: { phone: "+15550001234", lid: null, user_id: null, username: null, name: "Ada" },
  kind: "text",
  text: "Is my table ready?",
  content: null,
  media: null,
  reply_to: null,
  reactions: [],
  sent_at: "2030-01-31T07:00:01Z",
  received_at: "2030-01-31T07:00:02Z",
  edited_at: null,
  revoked_at: null,
}

const chat = {
  id: 9,
  number_id: 12,
  type: "person",
  ...received.from,
  last_received_at: "2030-01-31T07:00:02Z",
  last_sent_at: null,
  unread: 1,
  read_up_to: null,
  merged_into: null,
}

const restrictions = {
  number_id: 1,
  state: "new_chats_closed",
  until: "2030-01-31T19:00:00Z",
  reason: "DEFAULT",
  new_chats: { limit: 100, used: 42, resets_at: "2030-02-01T00:00:00Z", warning: "none" },
  checked_at: "2030-01-31T07:00:02Z",
}

const reaction = { from: received.from, emoji: "👍", at: "2030-01-31T07:00:30Z" }

export const examples = {
  message,
  received,
  reaction,
  edited: {
    ...received,
    text: "Is our table ready?",
    edited_at: "2030-01-31T07:01:00Z",
  },
  revoked: { ...received, text: "", revoked_at: "2030-01-31T07:02:00Z" },
  gap: {
    number_id: 12,
    from: "2030-01-30T18:00:00Z",
    until: "2030-01-31T07:00:02Z",
    reason: "relinked",
  },
  noRestrictions: { ...restrictions, state: "none", until: null, reason: null },
  restrictions,
  chat,
  /** What only operators see of a message. */
  workspaceOnly: { reference: null, transport_id: "0123456789ABCDEF0123" },
  sent: { ...message, status: "sent", sent_at: "2030-01-31T07:00:02Z" },
  cancelled: { ...message, status: "cancelled" },
  failed: {
    ...message,
    status: "failed",
    error: { code: "recipient_not_found", message: "The recipient is not on WhatsApp." },
  },
  expired: { ...message, status: "expired", expires_at: "2030-01-31T08:00:00Z" },
  number,
  connecting: {
    ...number,
    phone: null,
    status: "connecting",
    connect: {
      qr_code_url: "https://messages.example.com/qr/0a1b2c3d.png",
      pairing_code: null,
      pairing_code_expires_at: null,
      linking: false,
      requested_at: "2030-01-31T07:00:00Z",
    },
  },
  reminder: {
    id: 5,
    name: "Stand-up",
    active: true,
    to: { group: "Team" },
    from: 12,
    text: "Stand-up in ten minutes",
    media: null,
    schedule: { cron: "50 9 * * 1-5", timezone: "Europe/Berlin" },
    next_run_at: "2030-02-01T09:50:00+01:00",
    created_at: "2030-01-31T07:00:00Z",
    last_run: {
      due_at: "2030-01-31T08:50:00Z",
      outcome: "accepted",
      message_id: 41,
      error: null,
    },
  },
  mediaFile: {
    id: 8,
    file_name: "menu.pdf",
    type: "file",
    mime_type: "application/pdf",
    size: 48213,
    url: "https://messages.example.com/media/8-token/menu.pdf",
    created_at: "2030-01-31T07:00:00Z",
  },
  numberCheck: {
    id: 2,
    name: "January's guests",
    status: "processing",
    total: 3,
    checked: 1,
    registered: 1,
    not_registered: 0,
    created_at: "2030-01-31T07:00:00Z",
    completed_at: null,
  },
  checkResult: {
    id: 21,
    phone: "+15550001234",
    status: "registered",
    checked_at: "2030-01-31T07:00:05Z",
  },
  webhook,
  newWebhook: {
    ...webhook,
    secret: "5f2a9c0e7b41d6835f2a9c0e7b41d6835f2a9c0e7b41d6835f2a9c0e7b41c0de",
  },
  keyInfo: {
    workspace: { id: 1, name: "Example" },
    key: {
      id: 9,
      name: "Shop",
      mode: "live",
      scopes: ["messages:send", "messages:read"],
      limited_to_numbers: false,
      number_ids: [],
      expires_at: null,
    },
    plan: { name: "Unlimited" },
    limits: {
      requests_per_minute: 60,
      requests_per_day: 10_000,
      messages_per_number_per_day: 1000,
      messages_remaining: null,
    },
  },
  workspace: {
    id: 1,
    name: "Example",
    client_id: 1,
    demo: false,
    account_disabled: false,
    api_v2_enabled: true,
    plan: {
      name: "Unlimited",
      messages_remaining: null,
      reminders: true,
      qr_code_api: true,
      max_numbers: null,
      media_storage_bytes: 1_073_741_824,
    },
    retention_days: null,
    created_at: "2030-01-31T07:00:00Z",
  },
  contact: {
    id: 6,
    name: "Ada",
    phone: "+15550001234",
    username: null,
    created_at: "2030-01-31T07:00:00Z",
  },
}
