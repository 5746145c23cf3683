/**
 * Operators deliver an event again by its id alone, whether or not an endpoint was ever called with it.
 * The attempts' index stays: pings are found by it, and servers of the version before find all else there.
 */
import type { Migration } from "./migrate.ts"

export const eventsById: Migration = {
  id: 29,
  name: "events_by_id",
  sql: `
-- Serves redelivery, which knows an event by this alone.
create index outbox_by_event on outbox using hash (event_id);
`,
}
