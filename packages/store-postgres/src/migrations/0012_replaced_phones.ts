/**
 * The phone that a number had before an attempt with a pairing code gave it another one, so that it
 * has it again when the attempt comes to nothing. A server of the version before neither writes nor
 * reads it: of an attempt that it begins, the number keeps the new phone, as it did until now.
 */
import type { Migration } from "./migrate.ts"

export const replacedPhones: Migration = {
  id: 12,
  name: "replaced_phones",
  sql: `
-- Null where the number's phone stayed as it was, empty where it had none.
alter table linking_attempts add column phone_before text;
`,
}
