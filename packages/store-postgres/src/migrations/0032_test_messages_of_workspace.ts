/**
 * The worker takes of each workspace's due test messages no more than its share, so it looks for them by
 * workspace. The index is in other words than `messages_test_due`, which stays for the earliest of all: a
 * statement that says one condition cannot be planned with the other index.
 */
import type { Migration } from "./migrate.ts"

export const testMessagesOfWorkspace: Migration = {
  id: 32,
  name: "test_messages_of_workspace",
  sql: `
-- Serves test mode.
create index messages_test_due_of_workspace on messages (workspace_id, due_at, id)
  where state between 'waiting' and 'waiting' and mode = 'test';
`,
}
