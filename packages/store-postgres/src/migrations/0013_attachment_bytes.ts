/** An index for what a workspace's attachments take together, which is bounded from now on. */
import type { Migration } from "./migrate.ts"

export const attachmentBytes: Migration = {
  id: 13,
  name: "attachment_bytes",
  sql: `
-- Serves the sum of the sizes, from the index alone.
create index media_files_attached_bytes on media_files (workspace_id) include (size)
  where state = 'attached';
`,
}
