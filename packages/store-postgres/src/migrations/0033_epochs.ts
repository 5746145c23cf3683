/**
 * What a store knows of having gone back in time. Held messages need no column: their `due_at` is
 * infinite, so that no claim and no sweep by due time reads them, however many there are.
 */
import type { Migration } from "./migrate.ts"

export const epochs: Migration = {
  id: 33,
  name: "epochs",
  sql: `
-- Without a row it is the first epoch.
create table store_epochs (
  epoch integer primary key,
  -- Messages of this epoch have greater ids.
  after_message bigint not null,
  began_at timestamptz not null
);

-- The due time of a run that is held; next_run_at is null meanwhile.
alter table reminders add column held_run_at timestamptz;
create index reminders_held on reminders (workspace_id, id) where held_run_at is not null;
`,
}
