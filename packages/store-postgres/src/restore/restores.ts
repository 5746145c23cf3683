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
import { bigint, bigints, instant, integer, paging, text, texts } from "../database/Fields.ts"
import { relations } from "../database/Schema.ts"
import { call, given, sqlFunction, statement, taking } from "../database/Statement.ts"
import { toMessage } from "../message/messages.ts"
import { toReminder } from "../reminder/reminders.ts"
import { sqlFiles } from "../sql.generated.ts"

// The function that begins an epoch: everything that a store which went back in time must not do by itself
// any more, in one commit.

const beginEpoch = sqlFunction(
  "begin_epoch",
  taking({
    schema: text,
    tables: texts,
    epoch: integer,
    step: bigint,
    above: bigint,
    now: instant,
  }),
)

const readEpoch = statement(
  "restore.epoch",
  given({}),
)(sqlFiles["statements/restore/read-epoch.sql"])

const begin = call("restore.begin", beginEpoch)

const countHeld = statement(
  "restore.counts",
  given({}),
)(sqlFiles["statements/restore/count-held.sql"])

const listHeld = statement(
  "restore.list",
  given({ workspaceId: bigint, ...paging }),
)(sqlFiles["statements/restore/list-held.sql"])

const filters = {
  workspaceId: bigint,
  from: bigint,
  since: instant,
  until: instant,
  limit: integer,
}

const findHeld = statement(
  "restore.messages",
  given(filters),
)(sqlFiles["statements/restore/find-held.sql"])

const heldByIds = statement(
  "restore.byIds",
  given({ workspaceId: bigint, ids: bigints, limit: integer }),
)(sqlFiles["statements/restore/held-by-ids.sql"])

const heldReminders = statement(
  "restore.reminders",
  given(filters),
)(sqlFiles["statements/restore/held-reminders.sql"])

const isHeldMessage = statement("restore.isHeld", given({ id: bigint }))`
select :code.is_waiting(m) and :code.is_held(m) as held
from messages m
where m.id = $id`

const releaseHeld = sqlFunction(
  "release_held",
  taking({ ids: bigints, numbers: bigints, now: instant }),
)

const release = call("restore.release", releaseHeld)

const readPosition = statement(
  "restore.position",
  given({ schema: text, accepted: bigints, ended: bigints }),
)(sqlFiles["statements/restore/read-position.sql"])

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
