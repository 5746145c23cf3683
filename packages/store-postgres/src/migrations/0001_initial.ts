/**
 * The first schema. Hot tables come with their reasons: `lanes` and `key_windows` are updated all
 * the time and leave room in their pages; what may be lost in a crash is unlogged. Messages and
 * events refer to numbers and workspaces without foreign keys: the function that writes them has
 * just locked the number's lane, and checking again would cost every message.
 */
import type { Migration } from "./migrate.ts"

export const initial: Migration = {
  id: 1,
  name: "initial",
  sql: `
create table workspaces (
  id bigint generated always as identity primary key,
  name text not null,
  demo boolean not null,
  account_disabled boolean not null,
  api_v2_enabled boolean not null,
  -- Whether requests with its keys count (the core decides).
  admits boolean not null,
  -- The plan; without a name there is none. No number of messages remaining means unlimited.
  plan_name text,
  plan_messages_remaining bigint,
  plan_reminders boolean not null,
  plan_qr_code_api boolean not null,
  plan_max_numbers bigint,
  plan_media_storage_bytes bigint not null,
  created_at timestamptz not null,
  deleted_at timestamptz
) with (fillfactor = 70);

create table api_keys (
  id bigint generated always as identity primary key,
  workspace_id bigint not null references workspaces,
  version smallint not null,
  name text not null,
  mode text not null,
  scopes text[] not null,
  number_ids bigint[],
  expires_at timestamptz,
  last4 text not null,
  -- Serves admission: a request brings nothing but its key.
  hash text not null unique,
  created_at timestamptz not null,
  revoked_at timestamptz
);
-- Serves the list of a workspace's keys and the limit of their number.
create index api_keys_by_workspace on api_keys (workspace_id, id);

-- Requests in the present windows. A crash forgives them.
create unlogged table key_windows (
  key_id bigint primary key,
  minute_start timestamptz not null,
  minute_count integer not null,
  day_start timestamptz not null,
  day_count integer not null,
  last_used_at timestamptz not null,
  last_used_ip text
) with (fillfactor = 50);

-- The key's order also serves the sweep of past minutes.
create unlogged table wrong_keys (
  minute_start timestamptz not null,
  surface text not null,
  address text not null,
  count integer not null,
  primary key (minute_start, surface, address)
) with (fillfactor = 50);

create table numbers (
  id bigint generated always as identity primary key,
  workspace_id bigint not null references workspaces,
  phone text,
  label text not null,
  platform text not null,
  status text not null,
  login_method text not null,
  created_at timestamptz not null,
  removed_at timestamptz
);
-- Serves the list of a workspace's numbers and the choice of one to send from.
create index numbers_by_workspace on numbers (workspace_id, id) where removed_at is null;

-- One for each number. Every change to a number's waiting messages locks its lane first and reads
-- messages in a later statement: that keeps next_due true.
create table lanes (
  number_id bigint primary key references numbers,
  workspace_id bigint not null,
  connected boolean not null,
  -- The number was removed, or its workspace deleted.
  removed_at timestamptz,
  -- Of a removed lane: whether it still has messages that wait and are not in flight.
  stranded boolean not null default false,
  -- When there is something to claim; the end of the lease while in flight; null when nothing waits.
  next_due timestamptz,
  -- The message of the present or latest attempt, until it ends: it stays the head of the lane.
  head_id bigint,
  -- Earlier attempts of the head that were begun and never settled.
  interruptions integer not null default 0,
  -- Grows with every claim.
  lease bigint not null default 0,
  -- Set while the head is in the hands of a transport.
  lease_until timestamptz,
  -- The lane rests until then, whatever is due.
  hold_until timestamptz,
  -- At least as many as are planned after the window that ends now begins.
  quota_bound integer not null default 0,
  -- Until when an exact count has found the number full.
  quota_full_until timestamptz,
  -- At least as many as were sent in the window that ends now.
  sent_bound integer not null default 0
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000);
-- Serves claims and the next due moment. A disconnected lane rests; a removed one has a next_due
-- only while its last message is in flight.
create index lanes_due on lanes (next_due)
  where next_due is not null and (connected or removed_at is not null);
-- Serves the sweep of removed numbers.
create index lanes_stranded on lanes (number_id) where stranded;

create table contacts (
  id bigint generated always as identity primary key,
  workspace_id bigint not null references workspaces,
  name text not null,
  phone text,
  username text,
  created_at timestamptz not null
);
-- Serves the list, newest first.
create index contacts_by_workspace on contacts (workspace_id, id desc);
-- Serves acceptance: the oldest contact with a phone.
create index contacts_by_phone on contacts (workspace_id, phone, id) where phone is not null;

create table media_files (
  id bigint generated always as identity primary key,
  workspace_id bigint not null references workspaces,
  mode text not null,
  file_name text not null,
  type text not null,
  mime_type text not null,
  size bigint not null,
  storage_key text not null,
  created_at timestamptz not null
);

create table messages (
  id bigint generated by default as identity primary key,
  workspace_id bigint not null,
  number_id bigint not null,
  created_at timestamptz not null,
  due_at timestamptz not null,
  send_at timestamptz,
  expires_at timestamptz,
  sent_at timestamptz,
  to_contact_id bigint,
  media_id bigint,
  -- Whether it took allowance of a limited plan, and so gives it back.
  allowance_taken boolean not null,
  mode text not null,
  state text not null,
  platform text not null,
  from_phone text,
  to_kind text not null,
  to_phone text,
  -- The group's name or the username.
  to_name text,
  text text not null,
  media_url text,
  media_type text,
  media_file_name text,
  error_code text,
  error_message text,
  transport_id text not null
) with (autovacuum_vacuum_insert_scale_factor = 0.05);
-- Serves the head of a lane, and what is stranded of a removed one.
create index messages_waiting on messages (number_id, mode, due_at, id) where state = 'waiting';
-- Serves the exact count of a number's quota.
create index messages_planned on messages (number_id, due_at) where mode = 'live';
-- Serves the exact count of what a number has sent.
create index messages_sent on messages (number_id, sent_at)
  where sent_at is not null and mode = 'live';
-- Serves the list, newest first,
create index messages_by_workspace on messages (workspace_id, mode, id desc);
-- and that of one number, or of a key that is limited to some.
create index messages_by_number on messages (number_id, mode, id desc);
-- Serves the expiry sweep.
create index messages_expiring on messages (expires_at)
  where state = 'waiting' and expires_at is not null;
-- Serves test mode.
create index messages_test_due on messages (due_at, id) where state = 'waiting' and mode = 'test';
-- Serves ticks, which know a message by this alone.
create index messages_by_transport_id on messages using hash (transport_id);

create table outbox (
  id bigint generated by default as identity primary key,
  workspace_id bigint not null,
  message_id bigint not null,
  created_at timestamptz not null,
  event_id text not null,
  type text not null,
  mode text not null,
  body text
) with (autovacuum_vacuum_insert_scale_factor = 0.05);

-- A claim that a crash loses would have died with its process anyway.
create unlogged table idempotency_claims (
  key_id bigint not null,
  key text not null,
  fingerprint text not null,
  token text not null,
  claimed_at timestamptz not null,
  primary key (key_id, key)
);

create table idempotency_records (
  key_id bigint not null,
  key text not null,
  fingerprint text not null,
  made_ids bigint[] not null,
  created_at timestamptz not null,
  primary key (key_id, key)
);

create table service_secrets (
  name text primary key,
  value text not null
);

create table clock (
  -- There is one.
  singleton boolean primary key default true check (singleton),
  offset_millis bigint not null
);

create table simulated_behaviours (
  number_id bigint primary key,
  send text not null,
  error_message text,
  latency_millis bigint not null,
  groups text[] not null
);

create table simulated_registered (
  singleton boolean primary key default true check (singleton),
  phones text[] not null
);

create table simulated_sent (
  id bigint generated always as identity primary key,
  number_id bigint not null,
  transport_id text not null,
  recipient text not null,
  text text not null,
  media jsonb,
  at timestamptz not null,
  -- The far side shows one copy for one transport id of a number.
  unique (number_id, transport_id)
);
-- Serves the list of one number's copies.
create index simulated_sent_by_number on simulated_sent (number_id, id desc);
`,
}
