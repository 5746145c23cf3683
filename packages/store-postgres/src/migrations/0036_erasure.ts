/**
 * Numbers, keys and webhook endpoints that are gone keep their ids and times, and nothing else. Those
 * that were there before are erased by the first round of housekeeping.
 */
import type { Migration } from "./migrate.ts"

export const erasure: Migration = {
  id: 36,
  name: "erasure",
  sql: `
-- When all that a person had written of it was gone.
alter table numbers add column erased_at timestamptz;
alter table api_keys add column erased_at timestamptz;

-- Serve housekeeping, and hold nothing between its rounds.
create index numbers_to_erase on numbers (id)
  where removed_at is not null and erased_at is null;
create index api_keys_to_erase on api_keys (id)
  where revoked_at is not null and erased_at is null;
create index webhook_endpoints_to_erase on webhook_endpoints (removed_at)
  where removed_at is not null and url <> '';
`,
}
