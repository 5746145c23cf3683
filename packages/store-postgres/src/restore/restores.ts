/** A store that went back in time: its epochs, and what is held since the latest began. */
import { idsSkipped } from "@messaging-service/core"
import type {
  Epoch,
  Message,
  MessageId,
  RestoreStore,
  StorePosition,
  WorkspaceId,
} from "@messaging-service/core"
import { Effect } from "effect"
import type { DatabaseService } from "../database/Database.ts"
import { relations } from "../database/Schema.ts"
import { statement } from "../database/Sql.ts"
import type { Row } from "../database/Sql.ts"
import { toMessage } from "../message/toMessage.ts"
import { toReminder } from "../reminder/reminders.ts"

const readEpoch = statement("restore.epoch")
/** Everything that a store which went back in time must not do by itself any more, in one commit. */
const startEpoch = statement("begin_epoch")
const countHeld = statement("restore.counts")
const listHeld = statement("restore.list")
const findHeld = statement("restore.messages")
const heldByIds = statement("restore.byIds")
const heldReminders = statement("restore.reminders")
const isHeldMessage = statement("restore.isHeld")
const releaseHeld = statement("release_held")
const readPosition = statement("restore.position")

const toCounts = (row: Row<"restore.counts">) => ({
  workspaceId: Number(row.workspaceId) as WorkspaceId,
  messages: Number(row.messages),
  reminders: Number(row.reminders),
  campaigns: Number(row.campaigns),
})

const toHeldReminder = (row: Row<"restore.reminders">) => ({
  reminder: toReminder(row),
  dueAt: row.held_run_at.getTime(),
})

const toPosition = ({ position }: Row<"restore.position">) => position as StorePosition

export const restoreStore = (database: DatabaseService): RestoreStore => ({
  epoch: Effect.map(readEpoch.rows(database, {}), ([row]): Epoch => ({
    epoch: Number(row?.epoch ?? 1),
    hasAccepted: row?.hasAccepted === true,
  })),
  startEpoch(command) {
    const { schema } = database
    return startEpoch.value(database, { ...command, schema, tables: relations, step: idsSkipped })
  },
  heldCounts: countHeld.all(database, {}, toCounts),
  listHeld(workspaceId, page) {
    return listHeld.page(database, workspaceId, { workspaceId, ...page }, toMessage)
  },
  heldMessages(workspaceId, selection, limit) {
    return "ids" in selection
      ? heldByIds.all(database, { workspaceId, ids: selection.ids, limit }, toMessage)
      : findHeld.all(database, { workspaceId, ...selection.filter, limit }, toMessage)
  },
  heldReminders(workspaceId, filter, limit) {
    return heldReminders.all(database, { workspaceId, ...filter, limit }, toHeldReminder)
  },
  releaseHeld(messages: ReadonlyArray<Message>, now) {
    const params = {
      ids: messages.map(({ id }) => id),
      numbers: [...new Set(messages.map(({ from }) => from.id))],
      now,
    }
    return Effect.map(
      releaseHeld.rows(database, params),
      (rows) => new Set(rows.map((row) => Number(row.message_id) as MessageId)),
    )
  },
  position({ accepted, ended }) {
    const { schema } = database
    return database.joinable
      ? readPosition.one(database, { schema, accepted, ended }, toPosition)
      : Effect.succeed(null)
  },
  isHeld(id) {
    return isHeldMessage.isTrue(database, { id })
  },
})
