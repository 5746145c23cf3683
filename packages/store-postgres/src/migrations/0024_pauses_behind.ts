/**
 * An operator's pause and the service's own stand side by side: the one that counts stands where it
 * stood, the other beside it. A server of the version before knows the one that counts alone.
 */
import type { Migration } from "./migrate.ts"

export const pausesBehind: Migration = {
  id: 24,
  name: "pauses_behind",
  sql: `
alter table lanes
  -- Ends no later than the one that counts.
  add column pause_behind_until timestamptz,
  add column pause_behind_reason text;
`,
}
