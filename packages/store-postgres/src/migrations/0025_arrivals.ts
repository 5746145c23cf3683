/**
 * What callers' open transactions have accepted, until they commit (see `message/arrivals.ts`). A row is
 * deleted by the transaction that made it, so none outlives a crash. A commit ends with the function
 * that the accepting version named, as versions run side by side.
 */
import type { Migration } from "./migrate.ts"

export const arrivals: Migration = {
  id: 25,
  name: "arrivals",
  sql: `
create unlogged table lane_arrivals (
  number_id bigint primary key,
  -- Live messages, and when the first of them is due.
  live integer not null,
  due_at timestamptz,
  finish text not null
);

create unlogged table plan_arrivals (
  workspace_id bigint primary key,
  -- Of the allowance of a limited plan.
  messages bigint not null
);

create function finish_arrivals() returns trigger
language plpgsql
as $body$
begin
  execute format('select %I.%I()', tg_table_schema, new.finish);
  return null;
end
$body$;

create constraint trigger finish_arrivals
after insert on lane_arrivals
deferrable initially deferred
for each row
execute function finish_arrivals();

-- A session that plays a replica, whose triggers rest, may send too.
alter table lane_arrivals enable always trigger finish_arrivals;
`,
}
