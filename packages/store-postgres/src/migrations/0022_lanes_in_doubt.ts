/**
 * What may have left a number that is not connected is concluded once it has expired, so its lane is
 * found too. Servers of the version before find what they look for in the index as before.
 */
import type { Migration } from "./migrate.ts"

export const lanesInDoubt: Migration = {
  id: 22,
  name: "lanes_in_doubt",
  sql: `
drop index lanes_due;

create index lanes_due on lanes (next_due)
  where next_due is not null
    and (
      connected or removed_at is not null
      or interruptions > 0 or lease_until is not null
    );
`,
}
