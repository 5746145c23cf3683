/**
 * A workspace's reminders: keys create, read and change them (contract: Reminders); operators read
 * their runs (contract: Reminder log). The worker's `ReminderRunner` runs them.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { Egress, OutboundRule } from "../egress/Egress.ts"
import { findOrRefuse, refuse } from "../error/Refusal.ts"
import type { Failure } from "../error/Refusal.ts"
import type { ReminderId, WorkspaceId } from "../Ids.ts"
import { authorize, scopeOf } from "../key/Auth.ts"
import type { AuthorizationCode, Caller, Authorized } from "../key/Auth.ts"
import type { MessageStore } from "../message/MessageStore.ts"
import { WakeUp } from "../queue/DueWork.ts"
import { makeCursors, parsePageRequest } from "../request/Page.ts"
import type { CursorPage, ListPage } from "../request/Page.ts"
import type { IdempotencyCode, IdempotencyClaim, IdempotencyKey } from "../request/Idempotency.ts"
import { makeIdempotent } from "../request/makeIdempotent.ts"
import type { Repeatable } from "../request/makeIdempotent.ts"
import type { Role } from "../workspace/Workspace.ts"
import { Workspaces } from "../workspace/Workspaces.ts"
import {
  contentOf,
  factsWanted,
  firstRun,
  isPausing,
  nextRunOfChanged,
  parseListReminders,
  reminderRefusal,
  reminderRequestParser,
} from "./Reminder.ts"
import type {
  ReminderStore,
  ReminderCode,
  ChangeReminder,
  CreateReminder,
  ListReminders,
  LoggedRun,
  Reminder,
  ReminderContent,
  Wanted,
} from "./Reminder.ts"
import { Store } from "../store/Store.ts"
import type { WorkspaceCode } from "../workspace/Workspaces.ts"

/** Decisions to try while others change the reminder or run it. */
const attempts = 10

const notFound = "reminder_not_found"

/** What checks and stores reminders. */
interface ReminderWork {
  readonly store: ReminderStore
  readonly messages: MessageStore
  readonly egress: Egress["Service"]
  readonly wakeUp: WakeUp["Service"]
}

/** Loads the facts, and fails with the refusal. */
const check = Effect.fnUntraced(function* check(
  { egress, messages }: ReminderWork,
  caller: Authorized,
  wanted: Wanted,
  now: number,
) {
  const facts = yield* messages.loadAcceptance(factsWanted(caller, wanted, now))
  const url = wanted.given.media?.url ?? null
  const linkAllowed = url === null || (yield* egress.allows(url, caller.workspaceId))
  const refusal = reminderRefusal(wanted, facts, caller, linkAllowed)
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
  yield* check(work, caller, { current: null, given: content, content }, now)
  const { mode, workspaceId } = caller
  const nextRunAt = firstRun(content, now)
  const inserted = yield* store.insert(
    { ...content, workspaceId, mode, nextRunAt, createdAt: now },
    idempotency,
  )
  if (inserted._tag === "Broken") {
    return yield* refuse("idempotency_in_progress", { retryAfter: 1 })
  }
  yield* wakeUp.wake("reminders")
  return inserted.reminder
})

const again = ({ store }: ReminderWork, [id]: ReadonlyArray<number>) =>
  Effect.map(findOrRefuse(notFound, id as ReminderId | undefined, store.made), (made) => ({
    ...made,
    nextRunAt: firstRun(made, made.createdAt),
    revision: 1,
    lastRun: null,
  }))

const find = ({ store }: ReminderWork, caller: Authorized, id: ReminderId | undefined) =>
  findOrRefuse(notFound, id, (known) => store.get(scopeOf(caller), known))

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
      Repeatable<Reminder>,
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
  }
>()("core/Reminders") {
  static readonly layer = Layer.effect(
    Reminders,
    Effect.gen(function* make() {
      const store = (yield* Store).reminders
      const wakeUp = yield* WakeUp
      const work: ReminderWork = {
        store,
        messages: (yield* Store).messages,
        egress: yield* Egress,
        wakeUp,
      }
      const cursors = yield* makeCursors
      const idempotent = yield* makeIdempotent
      const workspaces = yield* Workspaces
      const parsers = reminderRequestParser(yield* OutboundRule)
      const parserFor = ({ numberIds }: Caller) =>
        parsers[numberIds === null ? "unlimited" : "limited"]

      return Reminders.of({
        create: Effect.fn("Reminders.create")(function* create(given, command, idempotency) {
          const caller = yield* authorize(given, "createReminder")
          const content = yield* Effect.fromResult(parserFor(caller).creation(command))
          return yield* idempotent.run(caller, idempotency, {
            work: (claim) => insert(work, caller, content, claim),
            again: (made) => again(work, made),
          })
        }),
        list: Effect.fn("Reminders.list")(function* list(given, query) {
          const scope = scopeOf(yield* authorize(given, "listReminders"))
          const { active = null, ...asked } = yield* Effect.fromResult(parseListReminders(query))
          const { mode, restriction, workspaceId } = scope
          const binding = ["reminders", workspaceId, mode, restriction, String(active)]
          return yield* cursors.page(asked, binding, (page) => store.list(scope, { active }, page))
        }),
        get: Effect.fn("Reminders.get")(function* get(given, id) {
          return yield* find(work, yield* authorize(given, "getReminder"), id)
        }),
        update: Effect.fn("Reminders.update")(function* update(whose, id, command) {
          const caller = yield* authorize(whose, "updateReminder")
          const given = yield* Effect.fromResult(parserFor(caller).change(command))
          for (let attempt = 0; attempt < attempts; attempt++) {
            const current = yield* find(work, caller, id)
            const content: ReminderContent = { ...contentOf(current), ...given }
            const now = yield* Clock.currentTimeMillis
            if (!isPausing(given)) yield* check(work, caller, { current, given, content }, now)
            const nextRunAt = nextRunOfChanged(current, content, now)
            if (yield* store.update(current.id, current.revision, content, nextRunAt)) {
              yield* wakeUp.wake("reminders")
              return { ...current, ...content, nextRunAt, revision: current.revision + 1 }
            }
          }
          return yield* refuse("internal_error")
        }),
        remove: Effect.fn("Reminders.remove")(function* remove(given, id) {
          const caller = yield* authorize(given, "deleteReminder")
          const now = yield* Clock.currentTimeMillis
          return id !== undefined && (yield* store.remove(scopeOf(caller), id, now))
            ? id
            : yield* refuse(notFound)
        }),
        runs: Effect.fn("Reminders.runs")(function* runs(role, workspaceId, id, query) {
          const asked = yield* Effect.fromResult(parsePageRequest(query))
          const workspace = yield* workspaces.within(role, workspaceId, "reminders")
          const scope = { workspaceId: workspace.id, mode: null, restriction: null }
          const reminder = yield* findOrRefuse(notFound, id, (known) => store.get(scope, known))
          return yield* cursors.page(asked, ["reminder_runs", reminder.id], (page) =>
            store.runs(reminder.id, page),
          )
        }),
      })
    }),
  )
}
