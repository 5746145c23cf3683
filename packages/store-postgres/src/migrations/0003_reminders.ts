/** Reminders, and the log of their runs. */
import type { Migration } from "./migrate.ts"

export const reminders: Migration = {
  id: 3,
  name: "reminders",
  sql: `
create table reminders (
  id bigint generated always as identity primary key,
  workspace_id bigint not null references workspaces,
  mode text not null,
  -- The number it sends from; without one it takes what is connected.
  number_id bigint,
  name text not null,
  active boolean not null,
  recipient jsonb not null,
  text text not null,
  media jsonb,
  cron text not null,
  timezone text not null,
  -- Null when it is paused or deleted, or never runs again.
  next_run_at timestamptz,
  created_at timestamptz not null,
  removed_at timestamptz,
  -- Grows with each change and each run.
  revision bigint not null default 1,
  -- What it was made with, once that is no longer what it says.
  original jsonb
) with (fillfactor = 70);
-- Serves the list, newest first.
create index reminders_by_workspace on reminders (workspace_id, mode, id desc)
  where removed_at is null;
-- Serves the runs.
create index reminders_due on reminders (next_run_at, id) where next_run_at is not null;
-- Serves housekeeping.
create index reminders_removed on reminders (removed_at) where removed_at is not null;

-- The log; the reminder of a line may be gone.
create table reminder_runs (
  id bigint generated always as identity primary key,
  reminder_id bigint not null,
  due_at timestamptz not null,
  ran_at timestamptz not null,
  message_id bigint,
  outcome text not null,
  code text
) with (autovacuum_vacuum_insert_scale_factor = 0.05);
-- Serves the log of a reminder, newest first,
create index reminder_runs_by_reminder on reminder_runs (reminder_id, id desc);
-- and housekeeping.
create index reminder_runs_by_age on reminder_runs (ran_at);
`,
}
