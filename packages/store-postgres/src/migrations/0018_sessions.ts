/**
 * What live transports need to come back as the same device, sealed. Keys go with their number's
 * credentials; in a type that grows, the longest unwritten ones are dropped.
 */
import type { Migration } from "./migrate.ts"

export const sessions: Migration = {
  id: 18,
  name: "sessions",
  sql: `
create table sessions (
  number_id bigint primary key references numbers,
  credentials text not null
);

create table session_keys (
  number_id bigint not null references sessions on delete cascade,
  type text not null,
  id text not null,
  value text not null,
  written_at timestamptz not null,
  primary key (number_id, type, id)
) with (fillfactor = 70);
`,
}
