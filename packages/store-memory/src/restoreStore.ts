/** `RestoreStore` in memory: for simulations, since what ends with its process is never restored. */
import { idsSkipped } from "@messaging-service/core"
import type {
  HeldFilter,
  HeldSelection,
  MessageId,
  RestoreStore,
  WorkspaceId,
} from "@messaging-service/core"
import { Effect } from "effect"
import { newestFirst } from "./collections.ts"
import type { Steps } from "./collections.ts"
import { holdLane, resume, turnWithFirst } from "./Lane.ts"
import { messageOf } from "./tables.ts"
import type { Lane, MessageRow, ReminderRow, Tables } from "./tables.ts"

/** What a workspace holds, by id. */
const heldOf = (tables: Tables, workspaceId: WorkspaceId): ReadonlyArray<MessageRow> =>
  (tables.workspaces.get(workspaceId)?.lanes ?? [])
    .flatMap((lane) => [...lane.held])
    .toSorted((a, b) => a.message.id - b.message.id)

const heldReminders = (tables: Tables, workspaceId: WorkspaceId): ReadonlyArray<ReminderRow> =>
  (tables.workspaces.get(workspaceId)?.reminders ?? []).filter(
    ({ heldRunAt }) => heldRunAt !== null,
  )

const passes = (
  { from, since, until }: HeldFilter,
  numberId: number | null,
  createdAt: number,
): boolean =>
  (from === null || from === numberId) &&
  (since === null || createdAt >= since) &&
  (until === null || createdAt < until)

const isSelected = (selection: HeldSelection, { message }: MessageRow): boolean =>
  "ids" in selection
    ? selection.ids.includes(message.id)
    : passes(selection.filter, message.from.id, message.createdAt)

const holdReminders = (tables: Tables, now: number): void => {
  const dueFirst = [...tables.dueReminders]
  for (const row of dueFirst) {
    const { nextRunAt: dueAt, revision } = row.reminder
    if (dueAt === null || dueAt > now) return
    tables.dueReminders.delete(row)
    row.reminder = { ...row.reminder, nextRunAt: null, revision: revision + 1 }
    row.heldRunAt = dueAt
  }
}

export const restoreStore = (tables: Tables): Steps<typeof RestoreStore.Service> => ({
  epoch: Effect.sync(() => ({
    epoch: tables.epoch,
    hasAccepted: tables.messages.nextId > tables.firstMessageOfEpoch,
  })),

  begin: ({ above, epoch, now }) => {
    if (epoch !== tables.epoch) return null
    tables.moveIdsOn(idsSkipped, above)
    for (const lane of tables.lanes.rows) {
      lane.lease += idsSkipped
      if (!lane.removed) holdLane(tables, lane, now)
    }
    holdReminders(tables, now)
    tables.epoch++
    tables.firstMessageOfEpoch = tables.messages.nextId
    return tables.epoch
  },

  counts: Effect.sync(() =>
    tables.workspaces.rows
      .map(({ workspace: { id } }) => ({
        workspaceId: id,
        messages: heldOf(tables, id).length,
        reminders: heldReminders(tables, id).length,
      }))
      .filter(({ messages, reminders }) => messages + reminders > 0),
  ),

  list: (workspaceId, page) => newestFirst(heldOf(tables, workspaceId), page, messageOf),

  messages: (workspaceId, selection, limit) =>
    heldOf(tables, workspaceId)
      .filter((row) => isSelected(selection, row))
      .slice(0, limit)
      .map(messageOf),

  reminders: (workspaceId, filter, limit) =>
    heldReminders(tables, workspaceId)
      .filter(({ reminder }) => passes(filter, reminder.from, reminder.createdAt))
      .slice(0, limit)
      .flatMap(({ heldRunAt, reminder }) =>
        heldRunAt === null ? [] : { reminder, dueAt: heldRunAt },
      ),

  release: (messages, now) => {
    const released = new Set<MessageId>()
    const lanes = new Set<Lane>()
    for (const { id } of messages) {
      const row = tables.messages.get(id)
      if (row === undefined || !row.lane.held.has(row)) continue
      resume(tables, row)
      released.add(id)
      lanes.add(row.lane)
    }
    for (const lane of lanes) turnWithFirst(tables, lane, now)
    return released
  },

  position: () => null,

  isHeld: (id) => {
    const row = tables.messages.get(id)
    return row !== undefined && row.lane.held.has(row)
  },
})
