/** An index for the number checks that housekeeping drops, a month after their end. */
import type { Migration } from "./migrate.ts"

export const completedChecks: Migration = {
  id: 16,
  name: "completed_checks",
  sql: `
create index number_checks_completed on number_checks (completed_at)
  where completed_at is not null;
`,
}
