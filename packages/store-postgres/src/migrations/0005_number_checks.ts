/** Number checks: each with its results, and what a worker needs to take it up where it was left. */
import type { Migration } from "./migrate.ts"

export const numberChecks: Migration = {
  id: 5,
  name: "number_checks",
  sql: `
create table number_checks (
  id bigint generated always as identity primary key,
  workspace_id bigint not null references workspaces,
  mode text not null,
  number_id bigint not null references numbers,
  name text,
  status text not null,
  -- Of the results, so that reading a check counts nothing.
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

create table number_check_results (
  id bigint generated always as identity primary key,
  check_id bigint not null references number_checks,
  phone text not null,
  status text not null,
  checked_at timestamptz
) with (fillfactor = 80);
-- Serves the list of a check's results, and the choice of its next phones.
create index number_check_results_by_check on number_check_results (check_id, id);
`,
}
