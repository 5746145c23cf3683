/**
 * Callbacks become deliveries, with lanes and a log like those to webhook endpoints. The lane of a
 * callback has an id below zero, which is made from the workspace and the origin, so that those who
 * write callbacks look nothing up and wait for nothing.
 *
 * Servers of the version before may still be at work. They claim every lane that has a `next_due` and
 * every endpoint in `webhook_news`: callbacks have a column and a table of their own for that. They
 * also go on writing to `callbacks` and claiming there. What is in flight stays with them; what they
 * leave there is taken over when it is due or its lease is over (`takeOverCallbacks`). A later
 * version, which meets none of them, may drop the table and merge the others.
 */
import type { Migration } from "./migrate.ts"

export const callbackLanes: Migration = {
  id: 15,
  name: "callback_lanes",
  sql: `
alter table webhook_lanes
  drop constraint webhook_lanes_endpoint_id_fkey,
  -- Of a callback's lane: whose it is, and when there is something to claim.
  add column workspace_id bigint,
  add column callback_due timestamptz;
-- Serves claims and the next due moment,
create index webhook_lanes_callbacks_due on webhook_lanes (callback_due)
  where callback_due is not null;
-- and the deletion of a workspace.
create index webhook_lanes_of_callbacks on webhook_lanes (workspace_id)
  where workspace_id is not null;

alter table webhook_deliveries
  -- Of a callback, which brings its own body too.
  add column workspace_id bigint,
  add column url text;
-- Serves the deletion of a workspace.
create index webhook_deliveries_of_callbacks on webhook_deliveries (workspace_id)
  where workspace_id is not null;

alter table webhook_attempts
  add column workspace_id bigint,
  add column url text;
-- Serves the log of a workspace's callbacks, newest first.
create index webhook_attempts_of_callbacks on webhook_attempts (workspace_id, id desc)
  where workspace_id is not null;

-- Lanes that have got callbacks since the last claim looked.
create table callback_news (
  id bigint generated always as identity primary key,
  lane_id bigint not null,
  workspace_id bigint not null
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000);

-- Serves the look at what the version before left in its table.
create index callbacks_by_moment on callbacks (coalesce(lease_until, due_at));

with pending as (
  delete from callbacks c
  where c.lease_until is null
  returning c.*
),
moved as (
  insert into webhook_deliveries (
    endpoint_id, workspace_id, url, due_at, attempts, event_id, type, body
  )
  select
    -1 - ('x' || left(encode(sha256(convert_to(
      p.workspace_id || ' ' || p.target, 'UTF8'
    )), 'hex'), 13))::bit(52)::bigint,
    p.workspace_id, p.url, p.due_at, p.attempts, p.event_id,
    coalesce(
      'message.' || lower(substring(p.body from '&status=([A-Z]+)')),
      substring(p.body from '^event=([a-z-]+)'),
      ''
    ),
    p.body
  from pending p
  order by p.id
  returning endpoint_id, workspace_id
)
insert into callback_news (lane_id, workspace_id)
select distinct moved.endpoint_id, moved.workspace_id
from moved;
`,
}
