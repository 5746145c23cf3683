-- Everything that a new database holds. A database that exists gets the numbered files of migrations/
-- that it lacks instead; a test holds that both ways lead to the same tables.
-- Run it with search_path = <the schema>, pg_temp: names have no schema.
--
-- Tables with many updates leave room in their pages (fillfactor). What a crash may lose is unlogged.
-- Messages, events and deliveries have no foreign keys: the function that writes them holds the lane's
-- lock, and a check would cost every message.


-- Applied migrations; schema.sql counts as the first.
create table schema_migrations (
  id integer primary key,
  name text not null,
  applied_at timestamptz not null,
  -- The version of the service that applied it.
  version text not null,
  -- Versions with a latest migration earlier than this must not start; null while all may.
  oldest integer
);

-- Builds in use: each installs its functions in a schema of that name, and the last use decides when it goes.
create table builds (
  name text primary key,
  used_at timestamptz not null,
  -- The latest migration that it knows.
  migration integer not null
);

-- Secrets of the service itself, sealed, and what tells this store from others.
create table service_secrets (
  name text primary key,
  value text not null
);

-- How far the emulator's clock is ahead: one row.
create table clock (
  singleton boolean primary key default true check (singleton),
  offset_millis bigint not null
);

-- Each time that the store was restored; without a row it is in its first epoch.
create table store_epochs (
  epoch integer primary key,
  -- Messages of this epoch have greater ids.
  after_message bigint not null,
  began_at timestamptz not null
);


-- Customers, each with its plan inline.
create table workspaces (
  id bigint generated always as identity primary key,
  name text not null,
  demo boolean not null,
  account_disabled boolean not null,
  api_v2_enabled boolean not null,
  -- Whether requests with its keys count (the core decides).
  admits boolean not null,
  -- The plan; null without one. Null messages remaining: unlimited.
  plan_name text,
  plan_messages_remaining bigint,
  plan_reminders boolean not null,
  plan_qr_code_api boolean not null,
  plan_max_numbers bigint,
  plan_media_storage_bytes bigint not null,
  created_at timestamptz not null,
  deleted_at timestamptz,
  -- The secret that signs callbacks is derived from this; null until it is first rotated.
  callback_salt text,
  -- Whether its version 1 requests count (the core decides).
  admits_v1 boolean not null default true,
  -- Days after their end that messages are erased; null for as long as the service keeps them.
  retention_days integer,
  -- When only ids, times and counts of a deleted workspace were left.
  erased_at timestamptz
) with (fillfactor = 70);
-- Serves the sweep that deletes the files of deleted workspaces.
create index workspaces_deleted on workspaces (id) where deleted_at is not null;
-- Serves the operator's search by name.
create index workspaces_by_name on workspaces (name, id) where deleted_at is null;

-- API keys, by the hash of their secret.
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
  -- Its index serves admission: a request brings only its key.
  hash text not null unique,
  created_at timestamptz not null,
  revoked_at timestamptz,
  -- When its name and last address were erased.
  erased_at timestamptz
);
-- Serves the list of a workspace's keys, and the limit of their number.
create index api_keys_by_workspace on api_keys (workspace_id, id);
-- Serves the erasure of revoked keys; empty between its rounds.
create index api_keys_to_erase on api_keys (id)
  where revoked_at is not null and erased_at is null;

-- Links that sign a browser in once, by the hash of their code.
create table sign_in_links (
  id bigint generated always as identity primary key,
  -- Null: the operator's.
  workspace_id bigint references workspaces,
  role text not null,
  return_url text,
  -- Its index serves the exchange.
  code_hash text not null unique,
  -- The operator token that it replaces, as a signature.
  token_mark text,
  created_at timestamptz not null,
  code_expires_at timestamptz not null,
  -- How long its session lasts.
  session_millis bigint not null,
  used_at timestamptz,
  -- The end of its session; null until it was used.
  expires_at timestamptz,
  revoked_at timestamptz
);
-- Serves the list of a workspace's links.
create index sign_in_links_by_workspace on sign_in_links (workspace_id, id desc);
-- Serves the sweep of old ones.
create index sign_in_links_by_age on sign_in_links (code_expires_at);

-- Named subscriptions of programs to the outbox: how far each has come, and who has its lease.
create table subscriptions (
  name text primary key,
  -- The position of the last event that was handled.
  reached bigint not null,
  lease bigint not null,
  lease_until timestamptz not null
) with (fillfactor = 50);

-- Workspaces with conversations, and their settings.
create table conversation_settings (
  workspace_id bigint primary key references workspaces,
  groups boolean not null,
  retention_days integer not null,
  media text not null,
  max_file_bytes bigint not null,
  max_storage_bytes bigint not null,
  hold_new_chats boolean not null,
  since timestamptz not null
);

-- What WhatsApp lets numbers do with new chats, in workspaces with conversations.
create table number_restrictions (
  number_id bigint primary key,
  workspace_id bigint not null references conversation_settings on delete cascade,
  state text not null,
  until timestamptz,
  reason text,
  -- Null with chats_used: without a cap; chats_used null: nothing is known of one.
  chat_limit bigint,
  chats_used bigint,
  resets_at timestamptz,
  warning text,
  checked_at timestamptz,
  -- Until when messages to new recipients wait where the workspace holds them; infinite without a known end.
  waits_until timestamptz,
  -- Whether the latest event was number.restricted.
  is_reported boolean not null
) with (fillfactor = 50);
-- Serves turning conversations off.
create index number_restrictions_by_workspace on number_restrictions (workspace_id);

-- Signed-in browsers, by the hash of the id in their cookie.
create table browser_sessions (
  hash text primary key,
  -- Its order is that of their beginning.
  id bigint generated always as identity,
  -- Null: the operator's.
  workspace_id bigint references workspaces,
  link_id bigint,
  role text not null,
  return_url text,
  token_mark text,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  last_used_at timestamptz not null,
  -- Requests in the present clock minute.
  minute_start timestamptz not null,
  minute_count integer not null
) with (fillfactor = 70);
-- Serves the limit of their number, and the end of a workspace's.
create index browser_sessions_by_holder on browser_sessions (coalesce(workspace_id, 0), id);

-- Requests with a key in its present minute and day; lost in a crash.
create unlogged table key_windows (
  key_id bigint primary key,
  minute_start timestamptz not null,
  minute_count integer not null,
  day_start timestamptz not null,
  day_count integer not null,
  last_used_at timestamptz not null,
  last_used_ip text
) with (fillfactor = 50);

-- Version 1 requests of a workspace in the present clock minute; lost in a crash.
create unlogged table workspace_windows (
  workspace_id bigint primary key,
  minute_start timestamptz not null,
  minute_count integer not null
) with (fillfactor = 50);


-- Numbers and accounts that messages are sent from.
create table numbers (
  id bigint generated always as identity primary key,
  workspace_id bigint not null references workspaces,
  phone text,
  label text not null,
  platform text not null,
  status text not null,
  login_method text not null,
  created_at timestamptz not null,
  removed_at timestamptz,
  mode text not null default 'live',
  -- Where the latest attempt to connect it, and its log-out, are reported.
  callback_url text,
  -- Since when it has its status, and why; null while it has its first one.
  status_since timestamptz,
  status_reason text,
  -- Its proxy; the URL is sealed.
  proxy_host text,
  proxy_port integer,
  proxy_url text,
  -- When what people had written of a removed number was erased.
  erased_at timestamptz,
  -- Since when it is not connected; null while it is, and before it was for the first time.
  away_since timestamptz
);
-- Serves the list of a workspace's numbers, and the choice of one to send from.
create index numbers_by_workspace on numbers (workspace_id, id) where removed_at is null;
-- Serves lists of messages and erasure, which include removed numbers.
create index numbers_ever_by_workspace on numbers (workspace_id);
-- Serves the erasure of removed numbers; empty between its rounds.
create index numbers_to_erase on numbers (id)
  where removed_at is not null and erased_at is null;

-- The queue of a number's messages, one row for each number. A change of waiting messages locks the
-- lane first and reads messages in a later statement: that keeps next_due true.
create table lanes (
  number_id bigint primary key references numbers,
  workspace_id bigint not null,
  connected boolean not null,
  -- The number was removed, or its workspace deleted.
  removed_at timestamptz,
  -- Of a removed lane: whether messages still wait that are not in flight.
  orphaned boolean not null default false,
  -- When there is something to claim; the end of the lease while in flight; null when nothing waits.
  next_due timestamptz,
  -- The message of the latest attempt; it stays the head of the lane until it ends. During a turn of
  -- several, the first of them.
  head_id bigint,
  -- Earlier attempts of the head that were begun and never settled.
  interruptions integer not null default 0,
  -- Grows with every claim.
  lease bigint not null default 0,
  -- Set while a transport sends the head.
  lease_until timestamptz,
  -- The lane rests until then, whatever is due.
  hold_until timestamptz,
  -- Upper bound of the messages that are planned after the window that ends now begins.
  quota_bound integer not null default 0,
  -- Until when an exact count found the number full.
  quota_full_until timestamptz,
  -- Upper bound of the messages that were sent in the window that ends now; a turn of several counts from
  -- its beginning.
  sent_bound integer not null default 0,
  -- Rest after a message and its greatest addition, both in milliseconds; messages in a minute and in
  -- an hour; new recipients in a day. Each may be null. Null as a whole: never set.
  pacing integer[],
  -- Rate-limited until this time, as of the last claim; with no_room above 0, resting for the disk.
  limited_until timestamptz,
  -- Infinite: paused until it is resumed.
  paused_until timestamptz,
  pause_reason text,
  -- Refusals since the last accepted message and the last pause, and pauses since that message.
  refusals integer not null default 0,
  pauses integer not null default 0,
  -- A second pause, which ends no later than the first.
  pause_behind_until timestamptz,
  pause_behind_reason text,
  -- The workspace is disabled: a claim passes the lane over without a look at the workspace.
  disabled boolean not null default false,
  -- The latest attempts in a row for which the disk had no room, or not the file.
  no_room integer not null default 0,
  -- The messages of the present turn, in their order; null unless it has several. In flight is the first
  -- that still waits: what was sent stays in the list, what is cancelled or expires leaves it.
  turn bigint[],
  -- When the last of them was due; null once something happened that ends the turn.
  turn_due timestamptz,
  -- No message waits that was due before: so a claim need not read what an old snapshot keeps of those that ended.
  front timestamptz not null default '-infinity',
  -- When it was last paused because the remote restricted or banned the number.
  restricted_at timestamptz,
  -- How many messages gave their place in its 24 hours back.
  given_back integer not null default 0,
  -- Whether the latest event of its pauses told of a begin; kept where conversations are on.
  pause_reported boolean not null default false,
  -- Whether the number ever had a chat: only then what leaves is looked up among its chats.
  has_chats boolean not null default false,
  -- Until when messages to new recipients wait; infinite while no end is known. Null where they do not.
  new_chats_until timestamptz
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000);
-- Serves claims and the next due moment. A disconnected lane rests, unless something is in flight or
-- the outcome of an attempt is unknown.
create index lanes_due on lanes (next_due)
  where next_due is not null
    and (connected or removed_at is not null or interruptions > 0 or lease_until is not null);
-- Serves settlements: while an old snapshot lives it holds one version of a lane for each lease.
create index lanes_leased on lanes (number_id, lease) where lease_until is not null;
-- Serves the report of pauses that end by themselves.
create index lanes_paused on lanes (coalesce(paused_until, timestamptz 'epoch'))
  where pause_reported;
-- Serves the release of messages to new recipients; lanes that hold none cost it nothing.
create index lanes_new_chats on lanes (new_chats_until) where new_chats_until is not null;
-- Serves the sweep that ends the messages of removed numbers.
create index lanes_orphaned on lanes (number_id) where orphaned;

-- Recipients of each number with limited new recipients.
create table lane_recipients (
  number_id bigint not null,
  recipient text not null,
  first_sent_at timestamptz not null,
  primary key (number_id, recipient)
);
-- Serves the limit of new recipients in a day, and erasure by age.
create index lane_recipients_by_time on lane_recipients (number_id, first_sent_at);

-- What a caller's open transaction accepted from a number. The commit deletes the row again.
create unlogged table lane_arrivals (
  number_id bigint primary key,
  -- Live messages, and when the first of them is due.
  live integer not null,
  due_at timestamptz,
  -- The schema of the accepting build: a function there ends the row.
  finish text not null
);

-- What a caller's open transaction took of a plan. The commit deletes the row again.
create unlogged table plan_arrivals (
  workspace_id bigint primary key,
  -- Messages of a limited allowance.
  messages bigint not null
);

-- Numbers that are being connected, one row until the attempt ends.
create table linking_attempts (
  number_id bigint primary key references numbers,
  -- The worker that runs the attempt knows it by this id alone.
  id text not null unique,
  mode text not null,
  method text not null,
  phone text,
  requested_at timestamptz not null,
  ends_at timestamptz not null,
  -- When a test number links itself.
  links_at timestamptz,
  qr_text text,
  qr_expires_at timestamptz,
  pairing_code text,
  pairing_code_expires_at timestamptz,
  linking boolean not null,
  -- Grows with every claim.
  lease bigint not null default 0,
  -- Null until a worker claims it.
  lease_until timestamptz,
  -- When there is something to do about it.
  due_at timestamptz not null generated always as (
    least(ends_at, links_at, case when mode = 'live' then coalesce(lease_until, requested_at) end)
  ) stored,
  -- The number's phone before; null where it did not change, empty where there was none.
  phone_before text
) with (fillfactor = 50);
-- Serves claims, the next due moment, and test numbers that link themselves.
create index linking_attempts_due on linking_attempts (due_at);
-- Serves the end of attempts.
create index linking_attempts_ending on linking_attempts (ends_at);

-- Credentials of linked live numbers, sealed.
create table sessions (
  number_id bigint primary key references numbers,
  credentials text not null,
  -- Since when it is to be logged out.
  leaving_at timestamptz
);

-- Keys of a session, sealed.
create table session_keys (
  number_id bigint not null references sessions on delete cascade,
  type text not null,
  id text not null,
  value text not null,
  written_at timestamptz not null,
  primary key (number_id, type, id)
) with (fillfactor = 70);

-- The connection of each live number, as its worker last reported it.
create table connection_reports (
  number_id bigint primary key references numbers,
  state text not null,
  reason text,
  since timestamptz not null,
  last_seen_at timestamptz,
  reconnects integer not null,
  reported_at timestamptz not null
) with (fillfactor = 50);

-- Workers that are alive.
create table workers (
  id bigint generated always as identity primary key,
  name text not null,
  most bigint not null,
  beat bigint not null
);

-- Which worker owns which shard of the live numbers.
create table number_shards (
  shard integer primary key,
  worker_id bigint references workers on delete set null,
  term bigint not null
);
-- Serves the shards of one worker.
create index number_shards_of_worker on number_shards (worker_id);
insert into number_shards (shard, term)
select shard, 0
from generate_series(0, 255) shard;


-- The address book of a workspace.
create table contacts (
  id bigint generated always as identity primary key,
  workspace_id bigint not null references workspaces,
  name text not null,
  phone text,
  username text,
  -- Core's contactAddress: the phone, or whom the username means.
  address text not null,
  created_at timestamptz not null
);
-- Serves the list, newest first.
create index contacts_by_workspace on contacts (workspace_id, id desc);
-- Serves acceptance, which looks phones up, and holds that a workspace has one contact of each.
create unique index contacts_by_address on contacts (workspace_id, address);

-- Files of the media directory, and attachments, which belong to one send alone.
create table media_files (
  id bigint generated always as identity primary key,
  workspace_id bigint not null references workspaces,
  mode text not null,
  file_name text not null,
  type text not null,
  mime_type text not null,
  size bigint not null,
  storage_key text not null,
  created_at timestamptz not null,
  -- reserved, kept, attached, received, deleted, or discarded: given up before it was in the directory.
  state text not null default 'kept',
  -- Whether there may be bytes.
  has_bytes boolean not null default true,
  -- Since when no message waits for it, as far as the sweep has seen.
  unused_since timestamptz
);
-- Serves the list, newest first.
create index media_files_kept on media_files (workspace_id, mode, id desc) where state = 'kept';
-- Serves the list of one type of files.
create index media_files_by_type on media_files (workspace_id, mode, type, id desc)
  where state = 'kept';
-- Serves the sweep of reservations that were given up.
create index media_files_reserved on media_files (created_at) where state = 'reserved';
-- Serves the sweep of files with bytes left over.
create index media_files_left_over on media_files (id)
  where state in ('deleted', 'discarded') and has_bytes;
-- Serves the sweep of records of deleted files.
create index media_files_remembered on media_files (created_at)
  where state in ('deleted', 'discarded') and not has_bytes;
-- Serves the sweep of attachments.
create index media_files_attached on media_files (id) where state = 'attached';
-- Serves the sum of a workspace's attachments, from the index alone.
create index media_files_attached_bytes on media_files (workspace_id) include (size)
  where state = 'attached';
-- The same of its received files.
create index media_files_received_bytes on media_files (workspace_id) include (size)
  where state = 'received';

-- Bytes of a workspace's files of both modes, reserved ones included, kept exactly.
create table media_usage (
  workspace_id bigint primary key references workspaces,
  bytes bigint not null
) with (fillfactor = 50);


-- Every message, from its acceptance on.
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
  -- Whether it took allowance of a limited plan, and so returns it.
  allowance_taken boolean not null,
  mode text not null,
  state text not null,
  platform text not null,
  -- The number's phone at acceptance.
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
  transport_id text not null,
  -- Where its end is reported, in addition to the webhook endpoints.
  callback_url text,
  -- What the program or the operator calls it; contract bodies do not show it.
  reference text,
  -- A file that belongs to this send alone, outside the media directory.
  attachment_id bigint,
  -- Stored although its number was full: it takes nothing of the quota.
  refused boolean not null default false,
  -- The number's phone at the end; null where it is from_phone, empty where there was none.
  end_phone text,
  -- The type that the file turned out to have; null where the request or the link told it (media_type).
  found_media_type text,
  -- When it ended.
  ended_at timestamptz,
  -- The position of its event in the outbox: an index by message there would cost every end eight times as much.
  event_position bigint,
  -- When a tick moved it there.
  delivered_at timestamptz,
  read_at timestamptz,
  -- The furthest tick that came while it waited.
  early_tick text,
  -- The campaign and the row that it was made of.
  campaign_id bigint,
  campaign_row integer,
  -- The chat that the request named, and how the platform knows it where no phone or username does (core's ChatAddress).
  to_chat_id bigint,
  to_address text,
  -- The message that it answers: a received one, or one that was sent.
  reply_received_id bigint,
  reply_message_id bigint,
  -- The chat that it left in; null where there was none.
  chat_id bigint,
  -- Set aside because its recipient is new and new chats are closed: due_at is infinite meanwhile. Null otherwise.
  awaits_new_chats boolean
) with (autovacuum_vacuum_insert_scale_factor = 0.05);
-- Serves claims (the head of a lane), the end of a removed lane's messages, and held messages.
create index messages_waiting on messages (number_id, mode, due_at, id) where state = 'waiting';
-- Serves the exact counts of a number: of what it sent, for its limits, and of what was planned, for its quota. A
-- message leaves no earlier than it was planned, unless someone says so: so the later of both finds it for either.
create index messages_sent on messages (number_id, (greatest(sent_at, due_at)))
  include (sent_at, due_at)
  where mode = 'live' and not refused and sent_at is not null
    and state not in ('waiting', 'cancelled', 'expired');
-- The rest of what counts in the quota. What waits is in messages_waiting; here it would cost every acceptance.
create index messages_unsent on messages (number_id, due_at)
  where mode = 'live' and not refused and sent_at is null
    and state not in ('waiting', 'cancelled', 'expired');
-- Serves the ticks that came early, and holds only them.
create index messages_early_ticks on messages (id) where early_tick is not null;
-- Serves the list of a workspace, newest first, and erasure, from the oldest on.
create index messages_by_workspace on messages (workspace_id, mode, id desc);
-- Serves the lists of one phone, one scan for each state.
create index messages_by_phone on messages (workspace_id, mode, to_phone, state, id desc)
  where to_phone is not null;
-- Serves the lists of one reference, one scan for each state. A message without one is not in it.
create index messages_by_reference on messages (workspace_id, mode, reference, state, id desc)
  where reference is not null;
-- Serves the lists of some numbers or states. Waiting messages are in messages_waiting: in the order of
-- their ids they would cost every acceptance.
create index messages_by_number_and_state on messages (number_id, mode, state, id desc)
  where state <> 'waiting';
-- Serves the lists of one error; costs only what failed.
create index messages_by_error on messages (workspace_id, mode, error_code, id desc)
  where error_code is not null;
-- Serves the expiry sweep.
create index messages_expiring on messages (expires_at)
  where state = 'waiting' and expires_at is not null;
-- Serves the next due moment of test messages.
create index messages_test_due on messages (due_at, id) where state = 'waiting' and mode = 'test';
-- Serves the test sender, workspace by workspace. In other words than messages_test_due: a statement
-- that says one condition cannot be planned with the other index.
create index messages_test_due_of_workspace on messages (workspace_id, due_at, id)
  where state between 'waiting' and 'waiting' and mode = 'test';
-- Serves receipts, which know a message by this id alone. The ids are random: after a checkpoint each
-- insert logs a whole page, and a hash index has fewer pages.
create index messages_by_transport_id on messages using hash (transport_id);
-- Serves the sweep of attachments: who has one, and who still waits for it.
create index messages_with_attachment on messages (attachment_id, state)
  where attachment_id is not null;
-- Serves the counts and the lists of a campaign's rows, and its waiting messages; others cost it nothing.
create index messages_by_campaign on messages (campaign_id, state, campaign_row)
  where campaign_id is not null;
-- Serves the messages of a chat, newest first; what leaves in none costs it nothing.
create index messages_by_chat on messages (chat_id, sent_at desc, id desc)
  where chat_id is not null;
-- Serves the release of what waits for new chats; others cost it nothing.
create index messages_awaiting_new_chats on messages (number_id, to_phone) where awaits_new_chats;
-- Counts of distinct values: a sample of one busy workspace would mislead the planner.
alter table messages
  alter column workspace_id set (n_distinct = 1000),
  alter column number_id set (n_distinct = 1000),
  alter column mode set (n_distinct = 2),
  alter column state set (n_distinct = 7),
  alter column to_phone set (n_distinct = 100000),
  alter column reference set (n_distinct = 100000),
  alter column campaign_id set (n_distinct = 1000),
  alter column chat_id set (n_distinct = 100000);

-- Attempts that did not end their message. One that goes through at once writes none.
create table message_attempts (
  message_id bigint not null,
  id bigint generated always as identity,
  -- When it was settled, or found to be interrupted.
  attempted_at timestamptz not null,
  -- postponed, not_connected, no_room, no_file, new_chats_closed or interrupted.
  unfinished text not null,
  next_attempt_at timestamptz,
  -- Serves the timeline of a message, newest first, and erasure with the message.
  primary key (message_id, id)
) with (autovacuum_vacuum_insert_scale_factor = 0.05);

-- Events, written in the commit of what they tell.
create table outbox (
  id bigint generated by default as identity primary key,
  workspace_id bigint not null,
  -- Null for the event of a number or of a received message.
  message_id bigint,
  created_at timestamptz not null,
  event_id text not null,
  type text not null,
  mode text not null,
  body text not null,
  -- Of a received message: the event is erased with it.
  received_message_id bigint
) with (autovacuum_vacuum_insert_scale_factor = 0.05);
-- Serves redelivery. Event ids begin with their time, so the ranges of pages have ids of their own as long as
-- they are compared by bytes: other collations mix letters of both cases. An event costs this index nothing.
create index outbox_by_event_id on outbox using brin (event_id collate "C")
  with (pages_per_range = 16, autosummarize = on);
-- Serves the erasure of a workspace's events.
create index outbox_by_workspace on outbox (workspace_id, id);
-- Serves the erasure of a received message; other events cost it nothing.
create index outbox_by_received_message on outbox (received_message_id)
  where received_message_id is not null;
-- As of messages.
alter table outbox
  alter column workspace_id set (n_distinct = 1000);

-- What people write to the numbers of workspaces with conversations.

-- How far each number's received messages are counted, one row once it has received. What receives for a number or
-- erases of what it received locks the row first: so its sequences commit in their order.
create table received_counters (
  number_id bigint primary key,
  workspace_id bigint not null,
  -- That of the latest message.
  sequence bigint not null,
  -- Messages that are not erased.
  stored bigint not null
) with (fillfactor = 50);
-- Serves erasure, workspace by workspace, and what is stored of each.
create index received_counters_by_workspace on received_counters (workspace_id);

-- Whom numbers know, each number its own.
create table people (
  id bigint generated always as identity primary key,
  number_id bigint not null,
  phone text,
  lid text,
  user_id text,
  username text,
  name text,
  -- False: no chat, no message and no reaction is of this person.
  in_use boolean not null
) with (fillfactor = 70);
-- Serve the look-up by any address, and hold that a number knows one person of each.
create unique index people_by_phone on people (number_id, phone) where phone is not null;
-- The same of another address.
create unique index people_by_lid on people (number_id, lid) where lid is not null;
-- The same of another address.
create unique index people_by_user_id on people (number_id, user_id) where user_id is not null;
-- Serves the look-up of whom a message by username left to; several may have had the name.
create index people_by_username on people (number_id, lower(username)) where username is not null;
-- Serves erasure; empty between its rounds.
create index people_unused on people (number_id) where not in_use;

-- Chats of numbers, with people and with groups.
create table chats (
  id bigint generated always as identity primary key,
  workspace_id bigint not null,
  number_id bigint not null,
  mode text not null,
  type text not null,
  -- Null for a group.
  person_id bigint,
  -- The platform's id and name of a group; null for a person.
  group_id text,
  name text,
  -- Grows with each message: later activity has a higher one.
  activity bigint not null generated by default as identity,
  last_received_at timestamptz,
  last_sent_at timestamptz,
  -- Messages of others behind read_up_to.
  unread bigint not null,
  read_up_to bigint,
  -- How far the remote knows it as read, and since when.
  marked_up_to bigint,
  marked_at timestamptz,
  -- When the remote is to learn of read_up_to; null once it has.
  mark_due timestamptz,
  -- How many received messages it holds.
  messages bigint not null,
  -- The chat that continues in its place.
  merged_into bigint,
  removed_at timestamptz
) with (fillfactor = 50);
-- Serves the list of a workspace, the latest activity first, and the limit of their number.
create index chats_by_activity on chats (workspace_id, mode, activity desc)
  where merged_into is null and removed_at is null;
-- Serves the lists of some numbers.
create index chats_by_number on chats (number_id, mode, activity desc)
  where merged_into is null and removed_at is null;
-- Serves the look-up of a person's chat, the list of one phone, and merging.
create index chats_by_person on chats (person_id) where person_id is not null;
-- Serves the look-up of a group's chat.
create index chats_by_group on chats (number_id, group_id)
  where group_id is not null and removed_at is null;
-- Serves read marks on their way to the remote; other chats cost it nothing.
create index chats_mark_due on chats (mark_due) where mark_due is not null;
-- Serves merging and erasure: which chats continued in this one.
create index chats_merged on chats (merged_into) where merged_into is not null;
-- Serves the erasure of removed chats; empty between its rounds.
create index chats_removed on chats (workspace_id) where removed_at is not null;
-- Serves the erasure of chats that hold nothing; empty between its rounds.
create index chats_emptied on chats (workspace_id) where messages = 0 and merged_into is null;

-- What was received, until it is erased.
create table received_messages (
  id bigint generated by default as identity primary key,
  workspace_id bigint not null,
  number_id bigint not null,
  chat_id bigint not null,
  sequence bigint not null,
  -- Who wrote it in a group; null for the number's owner, and in a chat with one person.
  author_id bigint,
  sent_at timestamptz not null,
  received_at timestamptz not null,
  edited_at timestamptz,
  revoked_at timestamptz,
  -- What it quotes, where that was known.
  quoted_received_id bigint,
  quoted_message_id bigint,
  mode text not null,
  from_me boolean not null,
  kind text not null,
  remote_id text not null,
  -- The address under which the remote told of it; null where nothing needs it.
  address text,
  text text not null,
  content json,
  file json,
  -- Null when it quotes nothing.
  quote_text text
) with (autovacuum_vacuum_insert_scale_factor = 0.05);
-- Serves the list of a workspace, newest first, and erasure, from the oldest on.
create index received_messages_by_workspace on received_messages (workspace_id, mode, id desc);
-- Serves the lists of some numbers.
create index received_messages_by_number on received_messages (number_id, mode, id desc);
-- Serves the list of a chat, and merging.
create index received_messages_by_chat on received_messages (chat_id, id desc);
-- Serves the list of a chat in both directions.
create index received_messages_by_chat_and_time
  on received_messages (chat_id, received_at desc, id desc);
-- Serves those who read a number on, and holds that no sequence comes twice.
create unique index received_messages_by_sequence on received_messages (number_id, sequence);
-- Serves quotes, which name a message by the platform's id.
create index received_messages_by_remote_id on received_messages (number_id, remote_id);
-- Serves the erasure of what is quoted; messages without a quote cost it nothing.
create index received_messages_by_quoted on received_messages (quoted_received_id)
  where quoted_received_id is not null;
-- Serves merging, and the erasure of people. Messages outside groups cost it nothing.
create index received_messages_by_author on received_messages (author_id) where author_id is not null;
-- As of messages.
alter table received_messages
  alter column workspace_id set (n_distinct = 1000),
  alter column number_id set (n_distinct = 1000),
  alter column chat_id set (n_distinct = 100000),
  alter column mode set (n_distinct = 2);

-- Files of received messages that may still be fetched, and those that are kept.
create table received_files (
  received_message_id bigint primary key,
  workspace_id bigint not null,
  number_id bigint not null,
  -- The bytes.
  media_id bigint,
  -- What fetching them needs, sealed; null once they are kept.
  source text,
  -- While a worker has it, the end of its lease; null: once its link is called, or never.
  next_due timestamptz,
  lease_until timestamptz,
  lease bigint not null,
  -- Since when it is tried.
  wanted_at timestamptz
) with (fillfactor = 70);
-- Serves the look at what is due. Files that are kept cost it nothing.
create index received_files_due on received_files (next_due) where next_due is not null;
-- Serves claims, workspace by workspace.
create index received_files_of_workspace on received_files (workspace_id, next_due)
  where next_due is not null;

-- What tells a number's received messages apart, one row for each address of an author: it drops repeats, also of
-- what was erased.
create table received_marks (
  number_id bigint not null,
  -- SHA-256 of core's receivedMarks, hexadecimal.
  mark text not null,
  received_message_id bigint not null,
  -- When the message was; null while it is stored.
  erased_at timestamptz,
  primary key (number_id, mark)
);
-- Serves the erasure of a message.
create index received_marks_by_message on received_marks (received_message_id);
-- Serves the sweep of old ones.
create index received_marks_erased on received_marks (number_id, erased_at) where erased_at is not null;

-- Messages that could not be read, while their senders are asked for a copy.
create table copy_waits (
  id bigint generated always as identity primary key,
  number_id bigint not null,
  told_at timestamptz not null,
  waits_until timestamptz not null,
  sent_at timestamptz not null,
  mode text not null,
  from_me boolean not null,
  remote_id text not null,
  group_id text,
  group_name text,
  -- What is known of its author.
  has_person boolean not null,
  phone text,
  lid text,
  user_id text,
  username text,
  name text
);
-- Serves their end, the longest waiting first.
create index copy_waits_ending on copy_waits (waits_until, number_id, id);
-- Serves the copy, and erasure.
create index copy_waits_by_message on copy_waits (number_id, remote_id);

-- The latest reaction of each person, or of the number's owner, to a message.
create table reactions (
  id bigint generated always as identity primary key,
  number_id bigint not null,
  -- The message: a received one, or one of this service.
  received_message_id bigint,
  message_id bigint,
  mode text not null,
  from_me boolean not null,
  -- Who reacted, or the person of the chat if the owner did; null for the owner in a group.
  person_id bigint,
  group_id text,
  -- Null: it was taken back.
  emoji text,
  reacted_at timestamptz not null,
  stored_at timestamptz not null,
  -- Of its events in the outbox, where it is to a message of this service.
  event_positions bigint[] not null
) with (fillfactor = 70);
-- Serves what a message shows, and erasure with it.
create index reactions_by_received_message on reactions (received_message_id)
  where received_message_id is not null;
-- Serves the look-up of the author's latest one.
create index reactions_by_message on reactions (message_id) where message_id is not null;
-- Serves merging, and the erasure of people and of their chats.
create index reactions_by_person on reactions (person_id) where person_id is not null;
-- Serves erasure by age; those to received messages go with them.
create index reactions_by_age on reactions (number_id, stored_at) where message_id is not null;
-- Serves the erasure of groups.
create index reactions_by_group on reactions (number_id, group_id)
  where message_id is not null and group_id is not null;


-- Requests with an Idempotency-Key that are under way; a crash loses them with their process.
create unlogged table idempotency_claims (
  key_id bigint not null,
  key text not null,
  fingerprint text not null,
  token text not null,
  claimed_at timestamptz not null,
  primary key (key_id, key)
);

-- What requests with an Idempotency-Key made.
create table idempotency_records (
  key_id bigint not null,
  key text not null,
  fingerprint text not null,
  made_ids bigint[] not null,
  created_at timestamptz not null,
  -- Phone and label of a reconnected number, or refused rows of a campaign, as the first answer showed them.
  shown jsonb,
  primary key (key_id, key)
);
-- Serves the sweep of old records, at next to no cost for those who write them.
create index idempotency_records_by_age on idempotency_records
  using brin (created_at) with (pages_per_range = 32);
-- Serves the erasure of a number and of a campaign, with a negative id here; holds only records of these.
create index idempotency_records_of_numbers on idempotency_records ((made_ids[1]))
  where shown is not null;


-- Webhook endpoints of a workspace.
create table webhook_endpoints (
  id bigint generated always as identity primary key,
  workspace_id bigint not null references workspaces,
  -- Null where the operator made it.
  key_id bigint references api_keys,
  mode text not null,
  url text not null,
  description text not null,
  events text[] not null,
  -- The secret itself is not stored: it is derived from this.
  secret_salt text not null,
  secret_last4 text not null,
  first_secret_last4 text not null,
  -- URL, events and description that it was made with, once they have changed.
  original jsonb,
  -- Set while it is stopped.
  disabled_reason text,
  created_at timestamptz not null,
  removed_at timestamptz
);
-- Serves the lists, and the limit of running ones.
create index webhook_endpoints_by_workspace on webhook_endpoints (workspace_id, id)
  where removed_at is null;
-- Serves every event: which endpoints receive it?
create index webhook_endpoints_running on webhook_endpoints (workspace_id, mode)
  where disabled_reason is null and removed_at is null;
-- Serves the revocation of a key.
create index webhook_endpoints_by_key on webhook_endpoints (key_id)
  where disabled_reason is null and removed_at is null;
-- Serves the erasure of delivery logs, those of removed endpoints included.
create index webhook_endpoints_ever_by_workspace on webhook_endpoints (workspace_id);
-- Serves the erasure of removed endpoints; empty between its rounds.
create index webhook_endpoints_to_erase on webhook_endpoints (removed_at)
  where removed_at is not null and url <> '';

-- The queue of a webhook endpoint's deliveries, or of a workspace's callbacks to one origin. A change of
-- deliveries locks the lane first and reads deliveries in a later statement; only events are added
-- without a lock, so that senders of a workspace do not wait for one another.
create table webhook_lanes (
  -- The endpoint's id; below zero for callbacks.
  endpoint_id bigint primary key,
  -- Of an endpoint: when there is something to claim, marks aside; null when there is nothing.
  next_due timestamptz,
  -- When it was made, resumed, or something was last delivered: the latest of them.
  delivered_since timestamptz not null,
  -- Set while a success may bring deliveries forward, so that others need not look; else null.
  has_put_off boolean,
  -- Set while the endpoint names what people write, so that claims of others need not look; else null.
  gets_received boolean,
  -- Grows with every claim.
  lease bigint not null default 0,
  -- The deliveries in flight, each with its lease and the end of that.
  held_ids bigint[] not null default '{}',
  held_leases bigint[] not null default '{}',
  held_until timestamptz[] not null default '{}',
  -- Of callbacks: their workspace, and when there is something to claim.
  workspace_id bigint,
  callback_due timestamptz
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000);
-- Serves claims and the next due moment of endpoints.
create index webhook_lanes_due on webhook_lanes (next_due) where next_due is not null;
-- Serves claims and the next due moment of callbacks.
create index webhook_lanes_callbacks_due on webhook_lanes (callback_due)
  where callback_due is not null;
-- Serves the deletion of a workspace.
create index webhook_lanes_of_callbacks on webhook_lanes (workspace_id)
  where workspace_id is not null;

-- What is to be delivered, in flight or not.
create table webhook_deliveries (
  id bigint generated always as identity primary key,
  endpoint_id bigint not null,
  -- The event that has the body; a ping and a callback bring their own.
  outbox_id bigint,
  due_at timestamptz not null,
  -- The attempts that failed, and the latest of them.
  attempts integer not null default 0,
  last_attempt_id bigint,
  -- Whether a success brought its next attempt forward; null when none may.
  is_forward boolean,
  event_id text not null,
  type text not null,
  body text,
  -- Of a callback.
  workspace_id bigint,
  url text,
  -- When a redelivery took over while it was in flight: it is logged, and not retried.
  replaced_at timestamptz,
  -- Set for another event than what people write, to an endpoint that gets both; else null.
  beside_received boolean
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000);
-- Serves claims: the longest due of a lane.
create index webhook_deliveries_due on webhook_deliveries (endpoint_id, due_at, id);
-- Serves claims that find other events behind what people write; endpoints that get one kind cost it nothing.
create index webhook_deliveries_beside_received on webhook_deliveries (endpoint_id, due_at, id)
  where beside_received;
-- Serves a success that brings deliveries forward; those that never failed cost it nothing.
create index webhook_deliveries_put_off on webhook_deliveries (endpoint_id, due_at)
  where not is_forward;
-- Serves the deletion of a workspace.
create index webhook_deliveries_of_callbacks on webhook_deliveries (workspace_id)
  where workspace_id is not null;

-- Serves the end of those of an erased received message; others cost it nothing.
create index webhook_deliveries_of_received on webhook_deliveries (outbox_id)
  where type in (
    'message.received', 'message.echo', 'message.edited', 'message.revoked', 'message.reaction', 'message.recovered'
  );

-- Lanes that got deliveries since the last claim. An insert takes no lock on the lane.
create table webhook_marks (
  id bigint generated always as identity primary key,
  lane_id bigint not null,
  -- Of callbacks: the claim makes their lane.
  workspace_id bigint
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000);

-- The delivery log.
create table webhook_attempts (
  id bigint generated by default as identity primary key,
  endpoint_id bigint not null,
  outbox_id bigint,
  attempted_at timestamptz not null,
  next_attempt_at timestamptz,
  duration_millis bigint not null,
  attempt integer not null,
  response_status integer,
  event_id text not null,
  type text not null,
  error text,
  body text,
  -- Of a callback.
  workspace_id bigint,
  url text,
  -- The beginning of an endpoint's answer.
  response_body text
) with (autovacuum_vacuum_insert_scale_factor = 0.05);
-- Serves the log of an endpoint, newest first.
create index webhook_attempts_by_endpoint on webhook_attempts (endpoint_id, id desc);
-- Serves the same of what failed; other attempts cost it nothing.
create index webhook_attempts_failed on webhook_attempts (endpoint_id, id desc)
  where error is not null;
-- Serves the redelivery of pings, which are in no outbox; other attempts cost it nothing.
create index webhook_attempts_of_pings on webhook_attempts (event_id collate "C")
  where type = 'ping';
-- Serves the timeline of a message: who received its event, newest first. A ping has no event here.
create index webhook_attempts_by_event on webhook_attempts (outbox_id, id)
  where outbox_id is not null;
-- Serves the log of a workspace's callbacks, newest first.
create index webhook_attempts_of_callbacks on webhook_attempts (workspace_id, id desc)
  where workspace_id is not null;
-- As of messages.
alter table webhook_attempts
  alter column workspace_id set (n_distinct = 1000),
  alter column endpoint_id set (n_distinct = 1000);


-- Messages that are sent on a schedule.
create table reminders (
  id bigint generated always as identity primary key,
  workspace_id bigint not null references workspaces,
  mode text not null,
  -- The number that sends; null: the next connected one.
  number_id bigint,
  name text not null,
  active boolean not null,
  recipient jsonb not null,
  text text not null,
  media jsonb,
  cron text not null,
  timezone text not null,
  -- Null when it is paused, held or deleted, or never runs again.
  next_run_at timestamptz,
  created_at timestamptz not null,
  removed_at timestamptz,
  -- Grows with each change and each run.
  revision bigint not null default 1,
  -- What it was made with, once that has changed.
  original jsonb,
  -- The number of the previous run: one without a number continues behind it.
  previous_number_id bigint,
  -- The due time of a run that is held.
  held_run_at timestamptz
) with (fillfactor = 70);
-- Serves the list, newest first.
create index reminders_by_workspace on reminders (workspace_id, mode, id desc)
  where removed_at is null;
-- Serves the list of active or paused ones.
create index reminders_by_activity on reminders (workspace_id, mode, active, id desc)
  where removed_at is null;
-- Serves the runs.
create index reminders_due on reminders (next_run_at, id) where next_run_at is not null;
-- Serves the list and the release of held runs.
create index reminders_held on reminders (workspace_id, id) where held_run_at is not null;
-- Serves the sweep of deleted ones.
create index reminders_removed on reminders (removed_at) where removed_at is not null;

-- The log of reminders; that of a line may be gone.
create table reminder_runs (
  id bigint generated always as identity primary key,
  reminder_id bigint not null,
  due_at timestamptz not null,
  ran_at timestamptz not null,
  message_id bigint,
  outcome text not null,
  code text
) with (autovacuum_vacuum_insert_scale_factor = 0.05);
-- Serves the log of one reminder, newest first.
create index reminder_runs_by_reminder on reminder_runs (reminder_id, id desc);
-- Serves the sweep of old lines.
create index reminder_runs_by_age on reminder_runs (ran_at);

-- Campaigns: a text, many rows and a time.
create table campaigns (
  id bigint generated always as identity primary key,
  workspace_id bigint not null references workspaces,
  mode text not null,
  state text not null,
  state_reason text,
  -- Grows with each change but rows taken on.
  revision bigint not null default 1,
  is_holding boolean not null,
  asks_from_row boolean not null,
  running_since timestamptz,
  -- When it is to be looked at next, whatever else happens; null: no time is known.
  look_at timestamptz,
  looked_at timestamptz not null,
  -- When something brought the next look forward; null once a look has ended since.
  woken_at timestamptz,
  -- Grows with each look: the least is the next one.
  turn bigint generated always as identity,
  -- Numbers with full queues that it has rows for.
  awaits bigint[] not null default '{}',
  -- Full numbers that it has rows for, and what the last look read of each as given_back.
  awaits_room bigint[] not null default '{}',
  awaits_given_back integer[] not null default '{}',
  -- The plan covered none of the rows that it had to take.
  awaits_allowance boolean not null default false,
  created_at timestamptz not null,
  started_at timestamptz,
  ended_at timestamptz,
  -- When it was removed, or retention had it erased: from then on it is unknown.
  removed_at timestamptz,
  -- When its rows and what people wrote were gone.
  erased_at timestamptz,
  name text not null,
  text text not null,
  media jsonb,
  -- Null: any number of the workspace.
  number_ids bigint[],
  reference text,
  timezone text,
  send_at timestamptz,
  hours jsonb,
  expires_at timestamptz,
  quota_reserve integer not null,
  default_country_code text,
  duplicates text not null,
  -- What it was made with; null once it was erased.
  original jsonb,
  -- Its rows are those up to this one; rows above belong to an upload.
  last_row integer not null default 0,
  -- How many of them have each state of their own. The messages report those that were taken on.
  pending integer not null default 0,
  refused integer not null default 0,
  skipped integer not null default 0,
  expired integer not null default 0,
  -- It was stopped or removed, and messages of it may wait.
  orphaned boolean not null default false,
  -- The upload that is under way or was interrupted, and until when it may go on.
  upload text,
  upload_until timestamptz
) with (fillfactor = 50);
-- Serves the list, newest first.
create index campaigns_by_workspace on campaigns (workspace_id, mode, id desc)
  where removed_at is null;
-- Serves the limit of those that have not ended, and the store's new epoch.
create index campaigns_open on campaigns (workspace_id, mode)
  where removed_at is null and state not in ('done', 'stopped');
-- Serves the looks by time.
create index campaigns_due on campaigns (look_at) where look_at is not null and removed_at is null;
-- Serves the looks by what happened, and what brings a look forward.
create index campaigns_running on campaigns (workspace_id)
  where state = 'running' and removed_at is null;
-- Serves the end of what stopped and removed ones left waiting; empty between its rounds.
create index campaigns_orphaned on campaigns (id) where orphaned;
-- Serves the erasure of removed ones; empty between its rounds.
create index campaigns_removed on campaigns (id) where removed_at is not null and erased_at is null;
-- Serves the erasure of ended ones by retention.
create index campaigns_ended on campaigns (workspace_id, ended_at)
  where ended_at is not null and removed_at is null;
-- Serves the end of interrupted uploads.
create index campaigns_uploading on campaigns (upload_until) where upload is not null;

-- Recipients of campaigns, each with its values, until a message was made of it. What a take changes comes last: it
-- is all that the log then holds. A change of a row holds the campaign's lock, unless the row was taken on.
create table campaign_rows (
  campaign_id bigint not null,
  row integer not null,
  -- Of the file; null unless from one.
  line integer,
  send_at timestamptz,
  expires_at timestamptz,
  needs text,
  -- As the row named it; null once its message was erased.
  recipient jsonb,
  -- Tells recipients apart.
  recipient_key text,
  -- Of the recipient, or of the contact once it was taken on.
  phone text,
  -- Why it was refused or skipped, which field is to blame, and the first row with the recipient.
  code text,
  field text,
  first_row integer,
  state text not null,
  row_values jsonb,
  message_id bigint,
  number_id bigint,
  taken_on_at timestamptz,
  -- The status of its message once that was erased.
  last_status text,
  primary key (campaign_id, row)
) with (fillfactor = 80);
-- Serves the looks: due rows, by their time, for each platform that can carry them.
create index campaign_rows_pending
  on campaign_rows (campaign_id, needs, coalesce(send_at, '-infinity'), row)
  where state = 'pending';
-- Serves the expiry of rows.
create index campaign_rows_expiring on campaign_rows (campaign_id, expires_at)
  where state = 'pending';
-- Serves the lists of rows that no message was made of.
create index campaign_rows_ended on campaign_rows (campaign_id, state, row)
  where state in ('refused', 'skipped', 'expired');
-- Serves the counts and lists of rows with an erased message.
create index campaign_rows_erased on campaign_rows (campaign_id, last_status, row)
  where last_status is not null;
-- Serves the search for recipients that come twice, while nothing was taken on.
create index campaign_rows_by_key on campaign_rows (campaign_id, recipient_key, row)
  where recipient_key is not null and state <> 'taken';
-- Serves the list of one phone's rows. Those that were taken on are in messages_by_phone.
create index campaign_rows_by_phone on campaign_rows (campaign_id, phone, row)
  where phone is not null and state <> 'taken';
-- As of messages.
alter table campaign_rows
  alter column campaign_id set (n_distinct = 1000),
  alter column state set (n_distinct = 5);


-- Lists of phones to look up.
create table number_checks (
  id bigint generated always as identity primary key,
  workspace_id bigint not null references workspaces,
  mode text not null,
  number_id bigint not null references numbers,
  name text,
  status text not null,
  -- Counts of its results, so that reading a check counts nothing.
  total integer not null,
  checked integer not null,
  registered integer not null,
  not_registered integer not null,
  created_at timestamptz not null,
  completed_at timestamptz,
  -- When there is something to ask for; the end of the lease while claimed; null when completed.
  next_due timestamptz,
  -- Grows with every claim.
  lease bigint not null,
  -- Set while a worker asks.
  lease_until timestamptz,
  -- Tries of the present chunk that found nothing out.
  tries integer not null
) with (fillfactor = 70);
-- Serves the list, newest first.
create index number_checks_by_workspace on number_checks (workspace_id, mode, id desc);
-- Serves claims and the next due moment.
create index number_checks_due on number_checks (next_due) where next_due is not null;
-- Serves the sweep of old checks.
create index number_checks_completed on number_checks (completed_at) where completed_at is not null;

-- The phones of a check, each with its answer.
create table number_check_results (
  id bigint generated always as identity primary key,
  check_id bigint not null references number_checks,
  phone text not null,
  status text not null,
  checked_at timestamptz
) with (fillfactor = 80);
-- Serves the list of a check's results, and the choice of its next phones.
create index number_check_results_by_check on number_check_results (check_id, id);


-- What happened in a workspace, by hour.
create table hourly_figures (
  workspace_id bigint not null,
  mode text not null,
  -- Where the hour begins.
  hour timestamptz not null,
  accepted bigint not null,
  sent bigint not null,
  failed bigint not null,
  expired bigint not null,
  cancelled bigint not null,
  deliveries bigint not null,
  deliveries_failed bigint not null,
  -- Failed messages by error code.
  failures jsonb not null,
  -- Sent messages by the step of their wait; empty where none was sent.
  waits bigint[] not null,
  -- Serves every read: a span of a workspace's hours.
  primary key (workspace_id, mode, hour)
) with (fillfactor = 70);
-- Serves the sweep of old ones.
create index hourly_figures_by_age on hourly_figures (hour);

-- How far each kind of row is counted: three rows.
create table figure_places (
  stream text primary key,
  -- The id of the last row that is counted.
  position bigint not null
) with (fillfactor = 50);
insert into figure_places (stream, position)
values ('messages', 0), ('events', 0), ('attempts', 0);

-- Processes that work on this store, as each last reported itself.
create table processes (
  name text primary key,
  kind text not null,
  -- Whether it runs the worker.
  works boolean not null,
  seen_at timestamptz not null,
  -- Null where numbers are not shared out.
  numbers_held integer,
  shards_held integer
) with (fillfactor = 50);


-- The emulator's phones: how each answers.
create table simulated_behaviours (
  number_id bigint primary key,
  send text not null,
  error_message text,
  latency_millis bigint not null,
  groups text[] not null
);

-- The emulator's phones: which of those that are looked up exist, in one row.
create table simulated_registered (
  singleton boolean primary key default true check (singleton),
  phones text[] not null
);

-- The emulator's phones: what each received.
create table simulated_sent (
  id bigint generated always as identity primary key,
  number_id bigint not null,
  transport_id text not null,
  recipient text not null,
  text text not null,
  media jsonb,
  at timestamptz not null,
  -- The text of what it quotes.
  quote text,
  -- A recipient shows one copy for one transport id.
  unique (number_id, transport_id)
);
-- Serves the list of one number's messages.
create index simulated_sent_by_number on simulated_sent (number_id, id desc);


-- At the commit of a caller's transaction the function of the build that accepted carries what was
-- accepted over to the lane and the plan.
create function finish_arrivals() returns trigger
language plpgsql
as $$
begin
  execute format('select %I.finish_arrivals()', new.finish);
  return null;
end
$$;

create constraint trigger finish_arrivals
after insert on lane_arrivals
deferrable initially deferred
for each row
execute function finish_arrivals();

-- Also in a session that plays a replica: triggers rest there otherwise.
alter table lane_arrivals enable always trigger finish_arrivals;
