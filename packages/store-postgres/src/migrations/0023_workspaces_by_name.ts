/** A program that starts looks its workspace up by its name. */
import type { Migration } from "./migrate.ts"

export const workspacesByName: Migration = {
  id: 23,
  name: "workspaces_by_name",
  sql: `
create index workspaces_by_name on workspaces (name, id)
  where deleted_at is null;
`,
}
