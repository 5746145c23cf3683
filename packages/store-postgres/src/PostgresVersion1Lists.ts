/** The lists of version 1: by offset, newest first, each with its total (`sql/statements/version1-lists.sql`). */
import type { OffsetPage, Version1ListStore } from "@messaging-service/core"
import { Effect } from "effect"
import type { DatabaseService } from "./database/Database.ts"
import { statement } from "./database/Sql.ts"
import { toFile } from "./media/media.ts"
import { toMessage } from "./message/toMessage.ts"
import { toResult } from "./numberCheck/numberChecks.ts"
import { toReminder } from "./reminder/reminders.ts"

const listMessages = statement("version1Lists.messages")
const listMedia = statement("version1Lists.media")
const listMediaOfType = statement("version1Lists.mediaOfType")
const listReminders = statement("version1Lists.reminders")
const listCheckResults = statement("version1Lists.checkResults")

interface Totalled {
  readonly id: bigint | null
  readonly total: bigint
}

/** Of a row without an item all columns but the total are null. */
type Empty<Item> = { readonly [Column in keyof Item]: Item[Column] | null }

const toPage =
  <Item, A>(toItem: (row: Item) => A) =>
  (rows: ReadonlyArray<Totalled & Empty<Item>>): OffsetPage<A> => ({
    total: Number(rows[0]?.total ?? 0),
    items: rows.filter(({ id }) => id !== null).map((row) => toItem(row as Item)),
  })

export const version1ListStore = (database: DatabaseService): Version1ListStore => ({
  messages({ mode, workspaceId }, period, query) {
    const rows = listMessages.list(database, workspaceId, {
      mode,
      workspaceId,
      ...period,
      ...query,
    })
    return Effect.map(rows, toPage(toMessage))
  },
  media({ mode, workspaceId }, type, query) {
    const rows =
      type === null
        ? listMedia.list(database, workspaceId, { mode, workspaceId, ...query })
        : listMediaOfType.list(database, workspaceId, { mode, workspaceId, type, ...query })
    return Effect.map(rows, toPage(toFile))
  },
  reminders({ mode, workspaceId }, query) {
    const rows = listReminders.list(database, workspaceId, { mode, workspaceId, ...query })
    return Effect.map(rows, toPage(toReminder))
  },
  checkResults(id, status, query) {
    const rows = listCheckResults.list(database, `check ${id}`, { ...query, id, status })
    return Effect.map(rows, toPage(toResult))
  },
})
