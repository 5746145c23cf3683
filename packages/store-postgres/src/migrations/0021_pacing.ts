/**
 * How fast numbers may send, their pauses, their proxies, and how their connections stand. A server of
 * the version before knows nothing of it: it sends from its numbers unpaced, and also while they are
 * paused.
 */
import type { Migration } from "./migrate.ts"

export const pacing: Migration = {
  id: 21,
  name: "pacing",
  sql: `
alter table lanes
  -- The rest after a message and how much longer it may be, both in milliseconds; what may leave in a
  -- minute and in an hour; new recipients in a day. Each may be null; null as a whole: never set.
  add column pacing integer[],
  -- Until when a claim has found the first message to be held back by the limits.
  add column limited_until timestamptz,
  -- Infinite until it is resumed.
  add column paused_until timestamptz,
  add column pause_reason text,
  -- Refusals since the last accepted message and the last pause, and pauses since that message.
  add column refusals integer not null default 0,
  add column pauses integer not null default 0;

-- What live WhatsApp numbers begin with.
update lanes l
set pacing = '{1000,2000,20,300,null}'
from sessions s
where l.number_id = s.number_id;

-- Whom a number has written to, of numbers whose new recipients are limited.
create table lane_recipients (
  number_id bigint not null,
  recipient text not null,
  first_sent_at timestamptz not null,
  primary key (number_id, recipient)
);
-- Serves the limit of new recipients.
create index lane_recipients_by_time on lane_recipients (number_id, first_sent_at);

alter table numbers
  -- Since when it has its status, and why; null when it never had another one.
  add column status_since timestamptz,
  add column status_reason text,
  -- Its proxy; the URL is sealed.
  add column proxy_host text,
  add column proxy_port integer,
  add column proxy_url text;

create table connection_reports (
  number_id bigint primary key references numbers,
  state text not null,
  reason text,
  since timestamptz not null,
  last_seen_at timestamptz,
  reconnects integer not null,
  reported_at timestamptz not null
) with (fillfactor = 50);
`,
}
