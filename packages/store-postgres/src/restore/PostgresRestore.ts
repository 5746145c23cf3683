/** A store that went back in time: its epochs, and what is held since the latest began. */
import { idsSkipped } from "@messaging-service/core"
import type {
  Epoch,
  HeldSelection,
  Message,
  MessageId,
  RestoreStore,
  StorePosition,
  WorkspaceId,
} from "@messaging-service/core"
import { Effect } from "effect"
import type { DatabaseService } from "../database/Database.ts"
import { bigint, bigints, instant, integer, newestFirst, paging, text } from "../database/Fields.ts"
import { relations } from "../database/Schema.ts"
import { call, given, sqlFunction, statement, taking } from "../database/Statement.ts"
import { messageColumns, toMessage } from "../message/messageRow.ts"
import { reminderColumns, toReminder } from "../reminder/reminderRow.ts"
import { beginEpoch } from "./beginEpoch.ts"

const readEpoch = statement("restore.epoch", given({}))`
select
  coalesce(latest.epoch, 1) as epoch,
  exists (
    select
    from messages m
    where m.id > latest.after_message
  ) as "hasAccepted"
from (select) one
left join (
  select *
  from store_epochs e
  order by e.epoch desc
  limit 1
) latest on true`

const begin = call("restore.begin", beginEpoch)

/** The held messages of a lane `l`, by descending id. Index messages_waiting. */
const heldIn = (lane: string, bounds: string): string => `
  select m.*
  from unnest('{live,test}'::text[]) modes (mode)
  cross join lateral (
    select *
    from messages held
    where held.number_id = ${lane}.number_id
      and held.mode = modes.mode
      and held.state = 'waiting'
      and :code.is_held(held)
      ${bounds}
  ) m`

const countHeld = statement("restore.counts", given({}))`
select
  coalesce(m.workspace_id, r.workspace_id) as "workspaceId",
  coalesce(m.count, 0) as messages,
  coalesce(r.count, 0) as reminders
from (
  select l.workspace_id, count(*) as count
  from lanes l
  cross join lateral (${heldIn("l", "")}) held
  where l.removed_at is null
  group by l.workspace_id
) m
full join (
  select r.workspace_id, count(*) as count
  from reminders r
  where r.held_run_at is not null
  group by r.workspace_id
) r on r.workspace_id = m.workspace_id
order by 1`

const listHeld = statement("restore.list", given({ workspaceId: bigint, ...paging }))`
select ${messageColumns("m")}
from lanes l
cross join lateral (${heldIn("l", `and ${newestFirst("held")}`)}) m
where l.workspace_id = $workspaceId
  and l.removed_at is null
  and ${newestFirst("m")}`

const filters = {
  workspaceId: bigint,
  from: bigint,
  since: instant,
  until: instant,
  limit: integer,
}

const passes = (row: string): string => `${row}.workspace_id = $workspaceId
  and ($from::bigint is null or ${row}.number_id = $from)
  and ($since::timestamptz is null or ${row}.created_at >= $since)
  and ($until::timestamptz is null or ${row}.created_at < $until)`

const findHeld = statement("restore.messages", given(filters))`
select ${messageColumns("m")}
from lanes l
cross join lateral (${heldIn("l", "")}) m
where l.workspace_id = $workspaceId
  and l.removed_at is null
  and ${passes("m")}
order by m.id
limit $limit`

const heldByIds = statement(
  "restore.byIds",
  given({ workspaceId: bigint, ids: bigints, limit: integer }),
)`
select ${messageColumns("m")}
from messages m
where m.id = any ($ids)
  and m.workspace_id = $workspaceId
  and :code.is_waiting(m)
  and :code.is_held(m)
order by m.id
limit $limit`

// Index reminders_held.
const heldReminders = statement("restore.reminders", given(filters))`
select ${reminderColumns("r")}, r.held_run_at
from reminders r
where r.held_run_at is not null
  and ${passes("r")}
order by r.id
limit $limit`

const isHeldMessage = statement("restore.isHeld", given({ id: bigint }))`
select :code.is_waiting(m) and :code.is_held(m) as held
from messages m
where m.id = $id`

const releaseHeld = sqlFunction(
  "release_held",
  taking({ ids: bigints, numbers: bigints, now: instant }),
)

const release = call("restore.release", releaseHeld)

/** The ids of a table: the highest that may have been given out, and that is there. */
const idsOf = (table: string): string => `json_build_object(
    'given', greatest(
      coalesce(pg_sequence_last_value(pg_get_serial_sequence(format('%I.%I', $schema, '${table}'), 'id')::regclass), 0),
      (select coalesce(max(given.id), 0) from ${table} given)
    ),
    'highest', (select coalesce(max(highest.id), 0) from ${table} highest)
  )`

/** One statement, so one snapshot. */
const readPosition = statement(
  "restore.position",
  given({ schema: text, accepted: bigints, ended: bigints }),
)`
select json_build_object(
  'epoch', (select coalesce(max(e.epoch), 1) from store_epochs e),
  'messages', ${idsOf("messages")},
  'events', ${idsOf("outbox")},
  'server', pg_postmaster_start_time()::text,
  'risks', array_remove(
    array[
      case when current_setting('synchronous_commit') = 'off' then 'asynchronous_commit' end,
      case
        when exists (select from pg_stat_replication)
          and (
            current_setting('synchronous_standby_names') = ''
            or current_setting('synchronous_commit') = 'local'
          )
        then 'asynchronous_standby'
      end
    ],
    null
  ),
  'missing', (
    select min(asked.id)
    from unnest($accepted::bigint[]) asked (id)
    where not exists (
      select
      from messages m
      where m.id = asked.id
    )
  ),
  'waitsAgain', (
    select min(m.id)
    from messages m
    where m.id = any ($ended)
      and :code.is_waiting(m)
  )
) as position`

type ReminderRow = Parameters<typeof toReminder>[0] & { readonly held_run_at: Date }

export const restoreStore = (database: DatabaseService): typeof RestoreStore.Service => ({
  epoch: Effect.map(readEpoch.rows<Epoch>(database, {}), ([row]) => ({
    epoch: Number(row?.epoch ?? 1),
    hasAccepted: row?.hasAccepted === true,
  })),
  begin: (command) =>
    begin.value<number>(database, {
      ...command,
      schema: database.schema,
      tables: relations,
      step: idsSkipped,
    }),
  counts: countHeld.all(
    database,
    {},
    (row: Readonly<Record<"workspaceId" | "messages" | "reminders", bigint>>) => ({
      workspaceId: Number(row.workspaceId) as WorkspaceId,
      messages: Number(row.messages),
      reminders: Number(row.reminders),
    }),
  ),
  list: (workspaceId, page) =>
    listHeld.page(database, workspaceId, { workspaceId, ...page }, toMessage),
  messages: (workspaceId, selection: HeldSelection, limit) =>
    "ids" in selection
      ? heldByIds.all(database, { workspaceId, ids: selection.ids, limit }, toMessage)
      : findHeld.all(database, { workspaceId, ...selection.filter, limit }, toMessage),
  reminders: (workspaceId, filter, limit) =>
    heldReminders.all(database, { workspaceId, ...filter, limit }, (row: ReminderRow) => ({
      reminder: toReminder(row),
      dueAt: row.held_run_at.getTime(),
    })),
  release: (messages: ReadonlyArray<Message>, now) =>
    Effect.map(
      release.rows<{ readonly message_id: bigint }>(database, {
        ids: messages.map(({ id }) => id),
        numbers: [...new Set(messages.map(({ from }) => from.id))],
        now,
      }),
      (rows) => new Set(rows.map((row) => Number(row.message_id) as MessageId)),
    ),
  position: ({ accepted, ended }) =>
    database.joinable
      ? readPosition.one<StorePosition>(database, { schema: database.schema, accepted, ended })
      : Effect.succeed(null),
  isHeld: (id) => isHeldMessage.holds(database, { id }),
})
