/** A device that is to be logged out is kept until the far side was there to hear of it. */
import type { Migration } from "./migrate.ts"

export const leavingDevices: Migration = {
  id: 19,
  name: "leaving_devices",
  sql: `
alter table sessions add column leaving_at timestamptz;
`,
}
