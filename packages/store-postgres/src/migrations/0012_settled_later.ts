/**
 * What is settled later than it is first shown.
 *
 * The phone that a number had before an attempt with a pairing code gave it another one, so that it
 * has it again when the attempt comes to nothing. A server of the version before neither writes nor
 * reads it: of an attempt that it begins, the number keeps the new phone, as it did until now.
 *
 * What the media of a message turned out to be when it was sent. Of a message that a server of the
 * version before sends this stays unknown.
 */
import type { Migration } from "./migrate.ts"

export const settledLater: Migration = {
  id: 12,
  name: "settled_later",
  sql: `
-- Null where the number's phone stayed as it was, empty where it had none.
alter table linking_attempts add column phone_before text;

-- Null where the request or the link told it (media_type), and until it is known.
alter table messages add column found_media_type text;
`,
}
