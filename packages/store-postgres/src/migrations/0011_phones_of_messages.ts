/** The phone that a message left from, where its number had another one when it was accepted. */
import type { Migration } from "./migrate.ts"

export const phonesOfMessages: Migration = {
  id: 11,
  name: "phones_of_messages",
  sql: `
-- Of its end: null where it is that of its acceptance (from_phone), empty where there was none.
alter table messages add column end_phone text;
`,
}
