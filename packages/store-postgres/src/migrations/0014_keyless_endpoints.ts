/** Webhook endpoints of callers that have no key. */
import type { Migration } from "./migrate.ts"

export const keylessEndpoints: Migration = {
  id: 14,
  name: "keyless_endpoints",
  sql: `
-- Null: it was made by a caller without a key, so that no revocation stops it.
alter table webhook_endpoints
  alter column key_id drop not null;
`,
}
