/**
 * What is erased, and when. `ended_at` costs a message's end eight bytes and no index: housekeeping
 * finds what has ended by walking a workspace's messages from the oldest, since none ends before it was
 * made. Servers of the version before leave it null; their messages count as ended when they were sent,
 * else when this migration ran.
 */
import type { Migration } from "./migrate.ts"

export const retention: Migration = {
  id: 35,
  name: "retention",
  sql: `
alter table messages add column ended_at timestamptz;

alter table workspaces
  -- Days after their end that messages are erased; null for as long as the service keeps them.
  add column retention_days integer,
  -- When nothing of a deleted workspace was left but ids, times and counts.
  add column erased_at timestamptz;

-- Serves the erasure of a workspace's events. Said as for messages: where nearly all events are of one
-- workspace, a sample holds no others, and the planner would read through all of them by their ids.
create index outbox_by_workspace on outbox (workspace_id, id);
alter table outbox
  alter column workspace_id set (n_distinct = 1000);
alter table webhook_attempts
  alter column workspace_id set (n_distinct = 1000),
  alter column endpoint_id set (n_distinct = 1000);
-- Serves the erasure of its delivery logs, those of removed endpoints among them.
create index webhook_endpoints_ever_by_workspace on webhook_endpoints (workspace_id);
`,
}
