/**
 * Which numbers are a workspace's is asked of the numbers, removed ones included: they hardly change,
 * while each message writes its lane twice, and every index of lanes with it.
 */
import type { Migration } from "./migrate.ts"

export const numbersOfWorkspace: Migration = {
  id: 17,
  name: "numbers_of_workspace",
  sql: `
drop index lanes_by_workspace;
create index numbers_ever_by_workspace on numbers (workspace_id);
`,
}
