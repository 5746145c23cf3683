/**
 * What version 1 adds: callbacks of messages and numbers, files that belong to a send alone, messages
 * that are stored although they were refused, and a window of requests for each workspace. And an index
 * for the sweep of idempotency records.
 */
import type { Migration } from "./migrate.ts"

export const version1: Migration = {
  id: 7,
  name: "version_1",
  sql: `
alter table messages
  -- Where its end is reported, beside the webhook endpoints.
  add column callback_url text,
  -- A file that belongs to the send alone, and not to the media directory.
  add column attachment_id bigint,
  -- Stored although its number had no room left: it takes nothing of the quota.
  add column refused boolean not null default false;
-- The exact count of a number's quota passes over what was refused, however much it is.
drop index messages_planned;
create index messages_planned on messages (number_id, due_at) where mode = 'live' and not refused;
-- Tells who has an attachment, and who still waits for it.
create index messages_with_attachment on messages (attachment_id, state)
  where attachment_id is not null;

-- A file whose state is attached belongs to a send: it is not in the directory and takes no storage.
alter table media_files
  -- Since when no message waits for it, as far as the sweep has seen.
  add column unused_since timestamptz;
-- Serves the sweep of attachments.
create index media_files_attached on media_files (id) where state = 'attached';

-- Where the latest attempt to connect it, and its log-out, are reported.
alter table numbers add column callback_url text;

-- What callbacks are signed with is made from this; null until it was changed once.
alter table workspaces add column callback_salt text;

-- Callbacks that are to be made, in flight or not.
create table callbacks (
  id bigint generated always as identity primary key,
  workspace_id bigint not null,
  -- Those of one target are few at once, so that no target delays another.
  target text not null,
  url text not null,
  event_id text not null,
  body text not null,
  due_at timestamptz not null,
  -- The attempts that failed.
  attempts integer not null default 0,
  -- Grows with every claim.
  lease bigint not null default 0,
  lease_until timestamptz,
  -- Due, but there is no room at its target: the statement that makes room takes it out again.
  parked boolean not null default false
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000);
-- Serves claims and the next due moment,
create index callbacks_due on callbacks (coalesce(lease_until, due_at), id) where not parked;
-- the count of a target's callbacks in flight,
create index callbacks_in_flight on callbacks (workspace_id, target) where lease_until is not null;
-- and the return of what was put aside.
create index callbacks_parked on callbacks (workspace_id, target, due_at, id) where parked;

-- Serves the sweep of old records, at next to no cost for those who write them.
create index idempotency_records_by_age on idempotency_records
  using brin (created_at) with (pages_per_range = 32);

-- Whether its version 1 requests count (the core decides).
alter table workspaces add column admits_v1 boolean not null default true;
update workspaces
set admits_v1 = false
where demo or account_disabled or deleted_at is not null;
-- Version 1 requests of the workspace in the present clock minute. A crash forgives them.
create unlogged table workspace_windows (
  workspace_id bigint primary key,
  minute_start timestamptz not null,
  minute_count integer not null
) with (fillfactor = 50);
`,
}
