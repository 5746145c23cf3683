/** Reminders, and the log of their runs. */
import { erasedAtOnce } from "@messaging-service/core"
import type {
  IdempotencyClaim,
  LastRun,
  LoggedRun,
  NewReminder,
  NumberId,
  AdvanceCommit,
  Reminder,
  ReminderContent,
  ReminderId,
  ReminderRun,
  ReminderStore,
  RunCommit,
} from "@messaging-service/core"
import { Effect } from "effect"
import { isBlockedByLock, lockTimeoutMillis } from "../database/Batcher.ts"
import type { DatabaseService } from "../database/Database.ts"
import { idOrNull, millis, statement } from "../database/Sql.ts"
import type { Params, Row } from "../database/Sql.ts"
import { toAcceptParams, toOutcome } from "../message/messages.ts"
import { toClaimParams } from "../request/idempotency.ts"
import { toWorkspace } from "../workspace/workspaces.ts"

// A reminder and a line of its log, as their tables keep them.

export type ReminderRow = Omit<Row<"reminder.made">, "original">

export const toReminder = (row: ReminderRow): Reminder => ({
  id: Number(row.id) as ReminderId,
  workspaceId: Number(row.workspace_id) as Reminder["workspaceId"],
  mode: row.mode as Reminder["mode"],
  nextRunAt: millis(row.next_run_at),
  createdAt: row.created_at.getTime(),
  name: row.name,
  active: row.active,
  to: row.recipient as Reminder["to"],
  from: idOrNull<NumberId>(row.number_id),
  text: row.text,
  media: row.media as Reminder["media"],
  cron: row.cron,
  timezone: row.timezone as Reminder["timezone"],
  revision: Number(row.revision),
  lastRun: row.lastRun as LastRun | null,
})

const toMadeReminder = (row: Row<"reminder.made">): Reminder => ({
  ...toReminder(row),
  ...(row.original as ReminderContent | null),
})

const toRun = (row: Row<"reminder.runs">): LoggedRun => ({
  id: Number(row.id),
  ranAt: row.ran_at.getTime(),
  dueAt: row.due_at.getTime(),
  outcome: row.outcome as LoggedRun["outcome"],
  messageId: idOrNull<NonNullable<LoggedRun["messageId"]>>(row.message_id),
  code: row.code as LoggedRun["code"],
})

/** What callers set. */
const toContent = (reminder: ReminderContent) => ({
  name: reminder.name,
  active: reminder.active,
  recipient: reminder.to,
  numberId: reminder.from,
  text: reminder.text,
  media: reminder.media,
  cron: reminder.cron,
  timezone: reminder.timezone,
})

const toNewReminder = (
  reminder: NewReminder,
  claim: IdempotencyClaim | null,
): Params<"insert_reminder"> => ({
  workspaceId: reminder.workspaceId,
  mode: reminder.mode,
  nextRunAt: reminder.nextRunAt,
  createdAt: reminder.createdAt,
  ...toContent(reminder),
  ...toClaimParams(claim),
})

/** A reminder's advance to its next due time. */
const toAdvance = (run: ReminderRun) => ({
  rId: run.id,
  rRevision: run.revision,
  rDueAt: run.dueAt,
  rRanAt: run.ranAt,
  rNextRunAt: run.nextRunAt,
  rClaimKeyId: run.idempotency?.keyId ?? null,
  rClaimKey: run.idempotency?.key ?? null,
  rClaimFingerprint: run.idempotency?.fingerprint ?? null,
  rClaimToken: run.idempotency?.token ?? null,
})

const insertReminder = statement("insert_reminder")
const getReminder = statement("reminder.get")
const reminderToRun = statement("reminder.toRun")
const createdReminder = statement("reminder.made")
const listOfAllModes = statement("reminder.listOfAllModes")
const listOfAllModesByActivity = statement("reminder.listOfAllModesByActivity")
const listOfMode = statement("reminder.list")
const listByActivity = statement("reminder.listByActivity")
const updateReminder = statement("reminder.update")
const removeReminder = statement("reminder.remove")
const dueReminders = statement("reminder.due")
const runReminder = statement("run_reminder")
const passReminder = statement("pass_reminder")
const listRuns = statement("reminder.runs")
const forgetRuns = statement("reminder.forgetRuns")
const forgetReminders = statement("reminder.forget")

/** The core's `isRunForgotten`. Index reminder_runs_by_reminder. */
export const isRunForgotten = (line: string, before: string): string => `${line}.ran_at < ${before}
    and (
      exists (
        select
        from reminder_runs n
        where n.reminder_id = ${line}.reminder_id
          and n.id > ${line}.id
      )
      or not exists (
        select
        from reminders r
        where r.id = ${line}.reminder_id
          and r.removed_at is null
      )
    )`

const toDue = (now: number) => (row: Row<"reminder.due">) => ({
  reminder: toReminder(row),
  dueAt: row.next_run_at?.getTime() ?? now,
  previousNumberId: idOrNull<NumberId>(row.previous_number_id),
  workspace: toWorkspace(row),
})

const toCommit = (row: Row<"run_reminder"> | undefined): RunCommit => {
  if (row === undefined) return { _tag: "Conflict", guard: "reminder" }
  const outcome = toOutcome<"reminder">(row)
  return outcome._tag === "Conflict" ? outcome : { ...outcome, runId: Number(row.run_id) }
}

const toPass = (row: Row<"pass_reminder"> | undefined): AdvanceCommit =>
  row === undefined || row.guard !== null
    ? { _tag: "Conflict", guard: row?.guard === "idempotency" ? "idempotency" : "reminder" }
    : { _tag: "Advanced", runId: idOrNull<number>(row.run_id) }

export const reminderStore = (database: DatabaseService): ReminderStore => ({
  insert(reminder, claim) {
    const params = toNewReminder(reminder, claim)
    return Effect.map(insertReminder.value(database, params), (id) =>
      id === null
        ? { _tag: "Conflict", guard: "idempotency" }
        : {
            _tag: "Inserted",
            reminder: { ...reminder, id: Number(id) as ReminderId, revision: 1, lastRun: null },
          },
    )
  },
  get(seenBy, id) {
    return getReminder.first(database, { ...seenBy, id }, toReminder)
  },
  loadForRun(seenBy, id) {
    return reminderToRun.first(database, { ...seenBy, id }, (row) => ({
      reminder: toReminder(row),
      previousNumberId: idOrNull<NumberId>(row.previous_number_id),
    }))
  },
  created(id) {
    return createdReminder.first(database, { id }, toMadeReminder)
  },
  list({ mode, restriction, workspaceId }, { active }, page) {
    const params = { workspaceId, mode, restriction, active, ...page }
    if (mode === null) {
      const list = active === null ? listOfAllModes : listOfAllModesByActivity
      return list.page(database, workspaceId, params, toReminder)
    }
    const list = active === null ? listOfMode : listByActivity
    return list.page(database, workspaceId, params, toReminder)
  },
  update(id, revision, content, nextRunAt) {
    return updateReminder.any(database, { ...toContent(content), id, revision, nextRunAt })
  },
  remove(seenBy, id, now) {
    return removeReminder.any(database, { ...seenBy, id, now })
  },
  due(now, limit) {
    return dueReminders.all(database, { now, limit }, toDue(now))
  },
  run(acceptance, advance) {
    const params = { ...toAdvance(advance), ...toAcceptParams([acceptance], lockTimeoutMillis) }
    return runReminder.rows(database, params).pipe(
      Effect.map(([row]) => toCommit(row)),
      Effect.catchIf(isBlockedByLock, () => Effect.succeed<RunCommit>({ _tag: "HeldUp" })),
    )
  },
  advanceWithoutMessage(advance, outcome) {
    const params = {
      ...toAdvance(advance),
      outcome: outcome?.outcome ?? null,
      code: outcome?.code ?? null,
    }
    return Effect.map(passReminder.rows(database, params), ([row]) => toPass(row))
  },
  runs(id, page) {
    return listRuns.page(database, `reminder ${id}`, { ...page, id }, toRun)
  },
  forget(before) {
    return Effect.andThen(
      forgetRuns.untilDone(database, { before, limit: erasedAtOnce }),
      forgetReminders.untilDone(database, { before, limit: erasedAtOnce }),
    )
  },
})
