/** Callbacks that wait because their workspace has its share of calls under way. */
import type { Migration } from "./migrate.ts"

export const shares: Migration = {
  id: 8,
  name: "shares",
  sql: `
alter table callbacks
  -- Put aside although there is room at its target: its workspace has its share of calls under way.
  add column crowded boolean not null default false;
-- Serves the return of those that were put aside for that.
create index callbacks_crowded on callbacks (workspace_id, due_at, id) where parked and crowded;
-- Serves the return of the others; callbacks_parked is left to the version before.
create index callbacks_parked_at_target on callbacks (workspace_id, target, due_at, id)
  where parked and not crowded;
`,
}
