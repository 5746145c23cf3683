/** Creates, changes and runs reminders for tests of a store. */
import { Store } from "@messaging-service/core"
import type {
  NewReminder,
  Reminder,
  ReminderContent,
  ReminderRun,
  ReminderScope,
  RunCommit,
  SendingNumber,
  TimeZone,
  WorkspaceId,
} from "@messaging-service/core"
import { Effect } from "effect"
import { present } from "./Expect.ts"
import { anAcceptance, aPhone, day, noon } from "./Records.ts"

const aContent = (overrides: Partial<ReminderContent> = {}): ReminderContent => ({
  name: "Rent",
  active: true,
  to: { kind: "phone", phone: aPhone() },
  from: null,
  text: "Please pay",
  media: null,
  cron: "0 9 * * *",
  timezone: "Europe/Berlin" as TimeZone,
  ...overrides,
})

const aNewReminder = (
  workspaceId: WorkspaceId,
  overrides: Partial<NewReminder> = {},
): NewReminder => ({
  ...aContent(),
  workspaceId,
  mode: "live",
  nextRunAt: noon + 1000 * day,
  createdAt: noon,
  ...overrides,
})

/**
 * A reminder that goes with the test: due reminders are read from the whole store, so no test may leave one.
 */
export const aReminder = (workspaceId: WorkspaceId, overrides: Partial<NewReminder> = {}) =>
  Effect.acquireRelease(
    Effect.gen(function* () {
      const store = (yield* Store).reminders
      const inserted = yield* store.insert(aNewReminder(workspaceId, overrides), null)
      return present(inserted._tag === "Inserted" ? inserted.reminder : null)
    }),
    (reminder) =>
      Store.use(({ reminders: store }) => store.remove(getScope(reminder), reminder.id, noon)).pipe(
        Effect.orDie,
      ),
  )

export const getScope = (
  owner: Pick<ReminderScope, "workspaceId" | "mode">,
  restriction: ReminderScope["restriction"] = null,
): ReminderScope => ({ workspaceId: owner.workspaceId, mode: owner.mode, restriction })

export const get = (reminder: Reminder, scope = getScope(reminder)) =>
  Store.use(({ reminders: store }) => store.get(scope, reminder.id))

export const list = (
  scope: ReminderScope,
  overrides: { active?: boolean; before?: number | null; limit?: number } = {},
) =>
  Store.use(({ reminders: store }) =>
    store.list(
      scope,
      { active: overrides.active ?? null },
      { before: overrides.before ?? null, limit: overrides.limit ?? 100 },
    ),
  )

export const update = (
  reminder: Reminder,
  content: Partial<ReminderContent>,
  nextRunAt = reminder.nextRunAt,
) =>
  Store.use(({ reminders: store }) =>
    store.update(reminder.id, reminder.revision, { ...reminder, ...content }, nextRunAt),
  )

/** What is due in the 50 days after `era`, without other tests' reminders. */
export const dueIn = (era: number, now: number) =>
  Effect.map(
    Store.use(({ reminders: store }) => store.due(now, 1000)),
    (due) => due.filter(({ dueAt }) => dueAt >= era && dueAt < era + 50 * day),
  )

export const aRun = (reminder: Reminder, overrides: Partial<ReminderRun> = {}): ReminderRun => ({
  id: reminder.id,
  revision: reminder.revision,
  dueAt: reminder.nextRunAt ?? noon,
  ranAt: (reminder.nextRunAt ?? noon) + 1,
  nextRunAt: (reminder.nextRunAt ?? noon) + day,
  idempotency: null,
  ...overrides,
})

export const run = (number: SendingNumber, advance: ReminderRun, mode: "live" | "test" = "live") =>
  Store.use(({ reminders: store }) =>
    store.run(anAcceptance(number, { now: advance.ranAt, mode }), advance),
  )

export const findGuard = (outcome: RunCommit) =>
  outcome._tag === "Conflict" ? outcome.guard : null

const listRuns = (reminder: Reminder, page: { before: number | null; limit: number }) =>
  Store.use(({ reminders: store }) => store.runs(reminder.id, page))

export const readRunLog = (reminder: Reminder) =>
  Effect.map(listRuns(reminder, { before: null, limit: 100 }), ({ items }) => items)
