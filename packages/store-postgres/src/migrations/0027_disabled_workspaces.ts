/**
 * Nothing leaves a disabled workspace: its lanes say so themselves, since a claim looks at no workspace.
 * What is due in them by now is passed over by the next claim. A server of the version before knows
 * nothing of it, and sends from them.
 */
import type { Migration } from "./migrate.ts"

export const disabledWorkspaces: Migration = {
  id: 27,
  name: "disabled_workspaces",
  sql: `
alter table lanes
  add column disabled boolean not null default false;

update lanes l
set disabled = true
from workspaces w
where w.id = l.workspace_id
  and w.account_disabled
  and l.removed_at is null;
`,
}
