/**
 * A workspace's reminders: keys create, read and change them (contract: Reminders); operators read
 * their runs, preview schedules and run a reminder at once (contract: Reminder log). The worker's `ReminderRunner` runs them.
 */
import { Clock, Context, Effect, Layer, Result } from "effect"
import { Egress, OutboundRule } from "../model/Egress.ts"
import { findOrRefuse, refuse } from "../model/Refusal.ts"
import type { Failure, StoreUnavailable } from "../model/Refusal.ts"
import type { ReminderId, WorkspaceId } from "../model/Ids.ts"
import { authorize, Caller, toScope } from "../model/Auth.ts"
import type { AuthorizationCode, Authorized } from "../model/Auth.ts"
import { makeAcceptor } from "./Messages.ts"
import type { FailedGuard } from "../model/accept.ts"
import type { MessageStore } from "../store/MessageStore.ts"
import { commitAndWake, WakeUp } from "../store/DueWork.ts"
import { makeCursors, parsePageRequest } from "../model/Page.ts"
import type { CursorPage, ListPage } from "../model/Page.ts"
import type { IdempotencyCode, IdempotencyClaim, IdempotencyKey } from "../model/Idempotency.ts"
import { makeIdempotent } from "./makeIdempotent.ts"
import type { IdempotentResult } from "./makeIdempotent.ts"
import type { Role, Workspace } from "../model/Workspace.ts"
import { Workspaces } from "./Workspaces.ts"
import { previewRuns } from "../model/Cron.ts"
import type { SchedulePreview } from "../model/Cron.ts"
import { decideRun } from "./decideRun.ts"
import {
  getContent,
  factsWanted,
  firstRun,
  isPausing,
  nextRunOfChanged,
  parseListReminders,
  parsePreview,
  reminderRefusal,
  reminderRequestParser,
  runAtOnce,
} from "../model/Reminder.ts"
import type {
  ReminderStore,
  ReminderCode,
  ChangeReminder,
  CreateReminder,
  ListReminders,
  LoggedRun,
  PreviewCode,
  PreviewReminder,
  Reminder,
  ReminderContent,
  ReminderScope,
  ReminderToRun,
  Wanted,
} from "../model/Reminder.ts"
import { Store } from "../store/Store.ts"
import type { WorkspaceCode } from "./Workspaces.ts"

/** Decisions to try while others change the reminder or run it. */
const attempts = 10

const notFound = "reminder_not_found"

/** What checks and stores reminders. */
interface ReminderWork {
  readonly store: ReminderStore
  readonly messages: MessageStore
  readonly egress: Egress["Service"]
  readonly wakeUp: WakeUp["Service"]
  readonly acceptor: Effect.Success<typeof makeAcceptor>
}

/** Loads the facts, and fails with the refusal. */
const check = Effect.fnUntraced(function* check(
  { egress, messages }: ReminderWork,
  caller: Authorized,
  requested: Wanted,
  now: number,
) {
  const facts = yield* messages.loadAcceptance(factsWanted(caller, requested, now))
  const url = requested.input.media?.url ?? null
  const linkAllowed = url === null || (yield* egress.allows(url, caller.workspaceId))
  const refusal = reminderRefusal(requested, facts, caller, linkAllowed)
  if (refusal !== undefined) return yield* refusal
})

const insert = Effect.fnUntraced(function* insert(
  work: ReminderWork,
  caller: Authorized,
  content: ReminderContent,
  idempotency: IdempotencyClaim | null,
) {
  const { store, wakeUp } = work
  const now = yield* Clock.currentTimeMillis
  yield* check(work, caller, { current: null, input: content, content }, now)
  const { mode, workspaceId } = caller
  const nextRunAt = firstRun(content, now)
  const inserted = yield* store.insert(
    { ...content, workspaceId, mode, nextRunAt, createdAt: now },
    idempotency,
  )
  if (inserted._tag === "Conflict") {
    return yield* claimLost
  }
  yield* wakeUp.wake("reminders")
  return inserted.reminder
})

const again = ({ store }: ReminderWork, [id]: ReadonlyArray<number>) =>
  Effect.map(findOrRefuse(notFound, id as ReminderId | undefined, store.created), (reminder) => ({
    ...reminder,
    nextRunAt: firstRun(reminder, reminder.createdAt),
    revision: 1,
    lastRun: null,
  }))

const find = ({ store }: ReminderWork, caller: Authorized, id: ReminderId | undefined) =>
  findOrRefuse(notFound, id, (known) => store.get(toScope(caller), known))

const change = Effect.fnUntraced(function* change(
  work: ReminderWork,
  caller: Authorized,
  id: ReminderId | undefined,
  input: Wanted["input"],
) {
  for (let attempt = 0; attempt < attempts; attempt++) {
    const current = yield* find(work, caller, id)
    const content: ReminderContent = { ...getContent(current), ...input }
    const now = yield* Clock.currentTimeMillis
    if (!isPausing(input)) yield* check(work, caller, { current, input, content }, now)
    const nextRunAt = nextRunOfChanged(current, content, now)
    const isChanged = yield* commitAndWake(
      work.store.update(current.id, current.revision, content, nextRunAt),
      work.wakeUp.wake("reminders"),
    )
    if (isChanged) {
      return { ...current, ...content, nextRunAt, revision: current.revision + 1 }
    }
  }
  return yield* refuse("internal_error")
})

const claimLost = refuse("idempotency_in_progress", { retryAfter: 1 })

/** The run, or what kept it from being written. */
type RunAttempt = LoggedRun | FailedGuard | "reminder" | "heldUp"

/** Decides and commits a run at once. */
const tryRun = Effect.fnUntraced(function* tryRun(
  { acceptor, store }: ReminderWork,
  toRun: ReminderToRun,
  claim: IdempotencyClaim | null,
  recount: boolean,
): Effect.fn.Return<RunAttempt, StoreUnavailable> {
  const now = yield* Clock.currentTimeMillis
  const run = runAtOnce(toRun.reminder, now, claim)
  const line = { dueAt: run.dueAt, ranAt: run.ranAt }
  const decided = yield* decideRun(acceptor, toRun, now, recount)
  if (Result.isFailure(decided)) {
    const code = decided.failure
    const passed = yield* store.advanceWithoutMessage(run, { outcome: "refused", code })
    if (passed._tag === "Conflict") return passed.guard
    return { ...line, id: passed.runId ?? 0, outcome: "refused", messageId: null, code }
  }
  const outcome = yield* store
    .run(decided.success, run)
    // The commit may have succeeded although its answer was lost, so wake the loops.
    .pipe(Effect.tapError(() => acceptor.wake(decided.success)))
  if (outcome._tag === "HeldUp") return "heldUp"
  if (outcome._tag === "Conflict") return outcome.guard
  yield* acceptor.wake(decided.success)
  const messageId = outcome.ids[0] ?? null
  return { ...line, id: outcome.runId, outcome: "accepted", messageId, code: null }
})

/** Runs a reminder now. When others keep changing it, nothing is written. */
const runNow = Effect.fnUntraced(function* runNow(
  work: ReminderWork,
  workspace: Workspace,
  id: ReminderId | undefined,
  claim: IdempotencyClaim | null,
) {
  const scope = anyMode(workspace.id)
  let recount = false
  for (let attempt = 0; attempt < attempts; attempt++) {
    const found = yield* findOrRefuse(notFound, id, (known) => work.store.loadForRun(scope, known))
    const runAttempt: RunAttempt = yield* tryRun(work, { ...found, workspace }, claim, recount)
    if (typeof runAttempt !== "string") return runAttempt
    if (runAttempt === "idempotency") return yield* claimLost
    recount = runAttempt === "quota"
  }
  return yield* refuse("service_unavailable")
})

const anyMode = (workspaceId: WorkspaceId): ReminderScope => ({
  workspaceId,
  mode: null,
  restriction: null,
})

/** The line of the first request's run. */
const ranBefore = ({ store }: ReminderWork, id: ReminderId | undefined, runId = 0) =>
  findOrRefuse(notFound, id, (known) =>
    Effect.map(
      store.runs(known, { before: runId + 1, limit: 1 }),
      ({ items }) => items.find((run) => run.id === runId) ?? null,
    ),
  )

export class Reminders extends Context.Service<
  Reminders,
  {
    /**
     * POST /reminders. Fails with the codes of its section (contract: Making a reminder) and those of
     * idempotency.
     */
    create(
      caller: Caller,
      command: CreateReminder,
      idempotency: IdempotencyKey | null,
    ): Effect.Effect<
      IdempotentResult<Reminder>,
      Failure<"reminder_not_found" | AuthorizationCode | IdempotencyCode | ReminderCode>
    >
    /** GET /reminders: newest first. */
    list(
      caller: Caller,
      query: ListReminders,
    ): Effect.Effect<
      CursorPage<Reminder>,
      Failure<AuthorizationCode | "validation_failed" | "invalid_cursor">
    >
    /** GET /reminders/{id}. Fails with `reminder_not_found`. */
    get(
      caller: Caller,
      id: ReminderId | undefined,
    ): Effect.Effect<Reminder, Failure<AuthorizationCode | "reminder_not_found">>
    /**
     * PATCH /reminders/{id}: changes the given fields. Fails as `create` does, and with
     * `reminder_not_found`; pausing alone needs no plan.
     */
    update(
      caller: Caller,
      id: ReminderId | undefined,
      command: ChangeReminder,
    ): Effect.Effect<
      Reminder,
      Failure<"internal_error" | AuthorizationCode | ReminderCode | "reminder_not_found">
    >
    /** DELETE /reminders/{id}: ends its runs. Fails with `reminder_not_found`. */
    remove(
      caller: Caller,
      id: ReminderId | undefined,
    ): Effect.Effect<ReminderId, Failure<AuthorizationCode | "reminder_not_found">>
    /**
     * GET /workspaces/{id}/reminders/{reminder_id}/runs, for operators: the log, newest first, of a
     * reminder of either mode. Fails with `workspace_not_found`, `reminder_not_found`.
     */
    runs(
      role: Role,
      workspaceId: WorkspaceId | undefined,
      id: ReminderId | undefined,
      query: ListPage,
    ): Effect.Effect<
      CursorPage<LoggedRun>,
      Failure<WorkspaceCode | "validation_failed" | "invalid_cursor" | "reminder_not_found">
    >
    /**
     * POST /workspaces/{id}/reminders/preview: the next runs of a schedule, with what clock changes
     * do to them. Stores nothing. Fails with `workspace_not_found`, `invalid_cron`,
     * `invalid_timezone`.
     */
    preview(
      workspaceId: WorkspaceId | undefined,
      command: PreviewReminder,
    ): Effect.Effect<SchedulePreview, Failure<"workspace_not_found" | PreviewCode>>
    /**
     * POST /workspaces/{id}/reminders/{reminder_id}/run: one run at once, even of a paused reminder.
     * Its schedule continues as before. What a due run would be refused for is the outcome of this one
     * too. Fails with `workspace_not_found`, `reminder_not_found` and the codes of idempotency.
     */
    run(
      role: Role,
      workspaceId: WorkspaceId | undefined,
      id: ReminderId | undefined,
      idempotency: IdempotencyKey | null,
    ): Effect.Effect<
      IdempotentResult<LoggedRun>,
      Failure<WorkspaceCode | IdempotencyCode | "reminder_not_found" | "service_unavailable">
    >
  }
>()("core/Reminders") {
  static readonly layer = Layer.effect(
    Reminders,
    Effect.gen(function* make() {
      const store = (yield* Store).reminders
      const work: ReminderWork = {
        store,
        messages: (yield* Store).messages,
        egress: yield* Egress,
        wakeUp: yield* WakeUp,
        acceptor: yield* makeAcceptor,
      }
      const cursors = yield* makeCursors
      const idempotent = yield* makeIdempotent
      const workspaces = yield* Workspaces
      const parsers = reminderRequestParser(yield* OutboundRule)
      const parserFor = ({ numberIds }: Caller) =>
        parsers[numberIds === null ? "unlimited" : "limited"]

      return Reminders.of({
        create: Effect.fn("Reminders.create")(function* create(input, command, idempotency) {
          const caller = yield* authorize(input, "createReminder")
          const content = yield* Effect.fromResult(parserFor(caller).creation(command))
          return yield* idempotent.run(caller, idempotency, {
            work: (claim) => insert(work, caller, content, claim),
            again: (created) => again(work, created),
          })
        }),
        list: Effect.fn("Reminders.list")(function* list(input, query) {
          const scope = toScope(yield* authorize(input, "listReminders"))
          const { active = null, ...asked } = yield* Effect.fromResult(parseListReminders(query))
          const { mode, restriction, workspaceId } = scope
          const binding = ["reminders", workspaceId, mode, restriction, String(active)]
          return yield* cursors.page(asked, binding, (page) => store.list(scope, { active }, page))
        }),
        get: Effect.fn("Reminders.get")(function* get(input, id) {
          return yield* find(work, yield* authorize(input, "getReminder"), id)
        }),
        update: Effect.fn("Reminders.update")(function* update(whose, id, command) {
          const caller = yield* authorize(whose, "updateReminder")
          const overrides = yield* Effect.fromResult(parserFor(caller).change(command))
          return yield* change(work, caller, id, overrides)
        }),
        remove: Effect.fn("Reminders.remove")(function* remove(input, id) {
          const caller = yield* authorize(input, "deleteReminder")
          const now = yield* Clock.currentTimeMillis
          return id !== undefined && (yield* store.remove(toScope(caller), id, now))
            ? id
            : yield* refuse(notFound)
        }),
        runs: Effect.fn("Reminders.runs")(function* runs(role, workspaceId, id, query) {
          const asked = yield* Effect.fromResult(parsePageRequest(query))
          const workspace = yield* workspaces.within(role, workspaceId, "reading")
          const scope = anyMode(workspace.id)
          const reminder = yield* findOrRefuse(notFound, id, (known) => store.get(scope, known))
          return yield* cursors.page(asked, ["reminder_runs", reminder.id], (page) =>
            store.runs(reminder.id, page),
          )
        }),
        preview: Effect.fn("Reminders.preview")(function* preview(workspaceId, command) {
          yield* workspaces.get(workspaceId)
          const { count, schedule } = yield* Effect.fromResult(parsePreview(command))
          return previewRuns(schedule, yield* Clock.currentTimeMillis, count)
        }),
        run: Effect.fn("Reminders.run")(function* run(role, workspaceId, id, idempotency) {
          const workspace = yield* workspaces.within(role, workspaceId, "reminders")
          return yield* idempotent.run(Caller.trusted(workspace), idempotency, {
            work: (claim) => runNow(work, workspace, id, claim),
            again: ([runId]) => ranBefore(work, id, runId),
          })
        }),
      })
    }),
  )
}
