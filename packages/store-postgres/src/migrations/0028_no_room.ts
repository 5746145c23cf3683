/**
 * A number whose first message needs a file rests while the disk has no room, with pauses that grow. A
 * server of the version before tries such a message once a second.
 */
import type { Migration } from "./migrate.ts"

export const noRoom: Migration = {
  id: 28,
  name: "no_room",
  sql: `
alter table lanes
  -- The latest attempts, in a row, that found no room; above zero, \`limited_until\` is for that.
  add column no_room integer not null default 0;
`,
}
