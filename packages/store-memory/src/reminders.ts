/** `ReminderStore` in memory. */
import { getContent, isRunForgotten } from "@messaging-service/core"
import type {
  LoggedRun,
  Reminder,
  ReminderId,
  ReminderRun,
  ReminderScope,
  ReminderStore,
} from "@messaging-service/core"
import { Effect } from "effect"
import { newestFirst, visitInSteps } from "./collections.ts"
import type { Steps } from "./collections.ts"
import { accept } from "./messages.ts"
import { finishClaim, isLost } from "./tables.ts"
import type { ReminderRow, Tables } from "./tables.ts"

const isVisible = (scope: ReminderScope, { reminder, removedAt }: ReminderRow): boolean =>
  removedAt === null &&
  reminder.workspaceId === scope.workspaceId &&
  (scope.mode === null || reminder.mode === scope.mode) &&
  (scope.restriction === null ||
    (reminder.from !== null && scope.restriction.includes(reminder.from)))

const rowIn = (tables: Tables, scope: ReminderScope, id: ReminderId): ReminderRow | undefined => {
  const row = tables.reminders.get(id)
  return row !== undefined && isVisible(scope, row) ? row : undefined
}

const rowAt = (tables: Tables, id: ReminderId, revision: number): ReminderRow | undefined => {
  const row = tables.reminders.get(id)
  return row?.removedAt === null && row.reminder.revision === revision ? row : undefined
}

/** Replaces a reminder by its next revision and reschedules it. */
const revise = (tables: Tables, row: ReminderRow, change: Partial<Reminder>): void => {
  tables.dueReminders.delete(row)
  row.reminder = { ...row.reminder, ...change, revision: row.reminder.revision + 1 }
  if (row.reminder.nextRunAt !== null) tables.dueReminders.add(row)
}

const advance = (
  tables: Tables,
  row: ReminderRow,
  { dueAt, idempotency, nextRunAt, ranAt }: ReminderRun,
  logEntry: Pick<LoggedRun, "outcome" | "messageId" | "code"> | null,
): number | null => {
  revise(
    tables,
    row,
    logEntry === null ? { nextRunAt } : { nextRunAt, lastRun: { dueAt, ...logEntry } },
  )
  if (logEntry === null) return null
  const id = ++tables.lastRunId
  row.runs.push({ id, dueAt, ranAt, ...logEntry })
  finishClaim(tables, idempotency, [id])
  return id
}

/** An erased message's id is shown as null. */
const unlessErased = <Run extends Pick<LoggedRun, "messageId">>(tables: Tables, run: Run): Run =>
  run.messageId === null || tables.messages.get(run.messageId) !== undefined
    ? run
    : { ...run, messageId: null }

export const toReminder = (tables: Tables, { reminder }: ReminderRow): Reminder =>
  reminder.lastRun === null
    ? reminder
    : { ...reminder, lastRun: unlessErased(tables, reminder.lastRun) }

type ReminderStoreSteps = Steps<ReminderStore>

/** The callers' operations. */
const reminderSteps = (
  tables: Tables,
): Pick<
  ReminderStoreSteps,
  "insert" | "get" | "loadForRun" | "created" | "list" | "update" | "remove"
> => ({
  insert: (input, idempotency) => {
    if (isLost(tables, idempotency)) return { _tag: "Conflict", guard: "idempotency" }
    const owner = tables.workspaces.get(input.workspaceId)
    if (owner === undefined) return Effect.die(new Error("a reminder needs a workspace"))
    const row = tables.reminders.insert((id): ReminderRow => ({
      reminder: { ...input, id, revision: 1, lastRun: null },
      previousNumberId: null,
      original: getContent(input),
      removedAt: null,
      blockedRunAt: null,
      forgotten: false,
      runs: [],
    }))
    owner.reminders.push(row)
    if (input.nextRunAt !== null) tables.dueReminders.add(row)
    finishClaim(tables, idempotency, [row.reminder.id])
    return { _tag: "Inserted", reminder: row.reminder }
  },

  get: (scope, id) => {
    const row = rowIn(tables, scope, id)
    return row === undefined ? null : toReminder(tables, row)
  },

  loadForRun: (scope, id) => {
    const row = rowIn(tables, scope, id)
    if (row === undefined) return null
    return { reminder: toReminder(tables, row), previousNumberId: row.previousNumberId }
  },

  created: (id) => {
    const row = tables.reminders.get(id)
    return row === undefined || row.forgotten
      ? null
      : { ...toReminder(tables, row), ...row.original }
  },

  list: (scope, { active }, page) =>
    newestFirst(
      tables.workspaces.get(scope.workspaceId)?.reminders ?? [],
      page,
      (row) => toReminder(tables, row),
      (row) => isVisible(scope, row) && (active === null || row.reminder.active === active),
    ),

  update: (id, revision, content, nextRunAt) => {
    const row = rowAt(tables, id, revision)
    if (row === undefined) return false
    revise(tables, row, { ...getContent(content), nextRunAt })
    // A reminder that was switched off or has a next run drops the run that a restore held.
    if (!content.active || nextRunAt !== null) row.blockedRunAt = null
    return true
  },

  remove: (scope, id, now) => {
    const row = rowIn(tables, scope, id)
    if (row === undefined) return false
    revise(tables, row, { nextRunAt: null })
    row.removedAt = now
    row.blockedRunAt = null
    return true
  },
})

/** Runs, and the worker's operations. */
const runSteps = (
  tables: Tables,
): Pick<ReminderStoreSteps, "due" | "run" | "advanceWithoutMessage" | "runs" | "forget"> => ({
  due: (now, limit) => {
    const due = []
    for (const row of tables.dueReminders) {
      const { previousNumberId } = row
      const reminder = toReminder(tables, row)
      const dueAt = reminder.nextRunAt
      if (due.length >= limit || dueAt === null || dueAt > now) break
      const owner = tables.workspaces.get(reminder.workspaceId)
      if (owner === undefined) continue
      due.push({ reminder, dueAt, previousNumberId, workspace: owner.workspace })
    }
    return due
  },

  run: (acceptance, run) => {
    if (isLost(tables, run.idempotency)) return { _tag: "Conflict", guard: "idempotency" }
    const row = rowAt(tables, run.id, run.revision)
    if (row === undefined) return { _tag: "Conflict", guard: "reminder" }
    const outcome = accept(tables, acceptance)
    if (outcome._tag === "Conflict") return outcome
    const messageId = outcome.ids[0] ?? null
    row.previousNumberId = acceptance.numberId
    const runId = advance(tables, row, run, { outcome: "accepted", messageId, code: null })
    return { ...outcome, runId: runId ?? 0 }
  },

  advanceWithoutMessage: (run, outcome) => {
    if (isLost(tables, run.idempotency)) return { _tag: "Conflict", guard: "idempotency" }
    const row = rowAt(tables, run.id, run.revision)
    if (row === undefined) return { _tag: "Conflict", guard: "reminder" }
    const logEntry = outcome === null ? null : { messageId: null, ...outcome }
    // Any outcome settles the run that a restore held, except a refusal of an operator's run.
    if (outcome?.outcome !== "refused") row.blockedRunAt = null
    return { _tag: "Advanced", runId: advance(tables, row, run, logEntry) }
  },

  runs: (id, page) =>
    newestFirst(tables.reminders.get(id)?.runs ?? [], page, (run) => unlessErased(tables, run)),

  forget: (before) =>
    visitInSteps(tables.reminders.rows, (row) => {
      const latest = row.runs.at(-1)
      const removed = row.removedAt !== null
      row.runs = row.runs.filter(
        (run) =>
          !isRunForgotten({ ranAt: run.ranAt, isLatest: run === latest }, { removed }, before),
      )
      if (row.removedAt !== null && row.removedAt < before) row.forgotten = true
    }),
})

export const reminderStore = (tables: Tables): ReminderStoreSteps => ({
  ...reminderSteps(tables),
  ...runSteps(tables),
})
