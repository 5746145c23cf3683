/**
 * From where things left: the phone of a message whose number had another one when it was accepted,
 * and the number of a reminder's latest message. A server of the version before writes neither: what
 * it ends shows the phone of its acceptance.
 */
import type { Migration } from "./migrate.ts"

export const departures: Migration = {
  id: 11,
  name: "departures",
  sql: `
-- Of its end: null where it is that of its acceptance (from_phone), empty where there was none.
alter table messages add column end_phone text;

-- Where a reminder without a number goes on when none is connected.
alter table reminders add column previous_number_id bigint;
update reminders r
set previous_number_id = (
  select m.number_id
  from reminder_runs l
  join messages m on m.id = l.message_id
  where l.reminder_id = r.id
  order by l.id desc
  limit 1
)
where r.number_id is null
  and r.removed_at is null;
`,
}
