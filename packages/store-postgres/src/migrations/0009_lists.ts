/**
 * Indexes for the lists with filters. Each index is written with every change of a message's state, and
 * most at acceptance too: that writes as many as before, because what waits is not in the one that takes
 * the place of messages_by_number. `listMessages` says how the lists make do with them. Servers of the version before go on finding a number's messages, only more
 * slowly.
 */
import type { Migration } from "./migrate.ts"

export const lists: Migration = {
  id: 9,
  name: "lists",
  sql: `
-- How many values a column has is said here, for the planner finds out by samples. Where nearly all
-- messages are of one workspace, or sent, a sample holds no others, and the planner would take it for
-- cheapest to read through all messages for those of another workspace, or for those that failed.
alter table messages
  alter column workspace_id set (n_distinct = 1000),
  alter column number_id set (n_distinct = 1000),
  alter column mode set (n_distinct = 2),
  alter column state set (n_distinct = 7),
  alter column to_phone set (n_distinct = 100000);

-- Serves the lists of what went to a phone,
create index messages_by_phone on messages (workspace_id, mode, to_phone, state, id desc)
  where to_phone is not null;
-- and those of some numbers, or of some states,
create index messages_by_number_and_state on messages (number_id, mode, state, id desc)
  where state <> 'waiting';
-- in place of
drop index messages_by_number;
-- Serves lists over the numbers of a workspace, removed ones included.
create index lanes_by_workspace on lanes (workspace_id);

-- Serve the list of files of a type, and the list of reminders that are active or not.
create index media_files_by_type on media_files (workspace_id, mode, type, id desc)
  where state = 'kept';
create index reminders_by_activity on reminders (workspace_id, mode, active, id desc)
  where removed_at is null;
`,
}
