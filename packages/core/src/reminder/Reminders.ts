/**
 * The reminders of a workspace, as the customer's keys make, read and change them (contract:
 * Reminders). Their runs are the worker's (`ReminderRunner`).
 */
import { Clock, Context, Effect, Layer } from "effect"
import { Egress, OutboundRule } from "../egress/Egress.ts"
import type { DeletedJson } from "../answer/Json.ts"
import { refuse } from "../error/Refusal.ts"
import type { Refusal } from "../error/Refusal.ts"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"
import type { ReminderId } from "../id/Ids.ts"
import { permit, scopeOf } from "../key/Caller.ts"
import type { Caller, Permitted } from "../key/Caller.ts"
import { MessageStore } from "../message/MessageStore.ts"
import { WakeUp } from "../queue/WakeUp.ts"
import { Cursors } from "../request/Cursor.ts"
import type { CursorBinding } from "../request/Cursor.ts"
import type { IdempotencyClaim, IdempotencyKey } from "../request/Idempotency.ts"
import { Idempotent } from "../request/Idempotent.ts"
import type { Repeatable } from "../request/Idempotent.ts"
import type { JsonPage } from "../request/Page.ts"
import type { QueryEntries } from "../request/PageInput.ts"
import { factsWanted, isPausing, nextRunOfChanged, reminderRefusal } from "./decide.ts"
import type { Wanted } from "./decide.ts"
import { firstRun, reminderJson } from "./Reminder.ts"
import type { ReminderContent, ReminderJson } from "./Reminder.ts"
import { parseReminderList, reminderRequestParser } from "./ReminderRequest.ts"
import { ReminderStore } from "./ReminderStore.ts"

/** How often a change is decided anew when others changed the reminder, or it ran, meanwhile. */
const attempts = 10

type Failure = Refusal | StoreUnavailable

export class Reminders extends Context.Service<
  Reminders,
  {
    /**
     * POST /reminders. Fails with the codes that the contract lists for it and those of idempotency.
     */
    create(
      caller: Caller,
      body: unknown,
      idempotency: IdempotencyKey | null,
    ): Effect.Effect<Repeatable<ReminderJson>, Failure>
    /** GET /reminders: newest first. */
    list(caller: Caller, query: QueryEntries): Effect.Effect<JsonPage<ReminderJson>, Failure>
    /** GET /reminders/{id}. Fails with `reminder_not_found`. */
    get(caller: Caller, id: ReminderId | undefined): Effect.Effect<ReminderJson, Failure>
    /**
     * PATCH /reminders/{id}: changes the fields that are given. Fails as `create` does, and with
     * `reminder_not_found`; pausing alone needs no plan.
     */
    update(
      caller: Caller,
      id: ReminderId | undefined,
      body: unknown,
    ): Effect.Effect<ReminderJson, Failure>
    /** DELETE /reminders/{id}: it runs no more. Fails with `reminder_not_found`. */
    remove(caller: Caller, id: ReminderId | undefined): Effect.Effect<DeletedJson, Failure>
  }
>()("core/Reminders") {
  static readonly layer = Layer.effect(
    Reminders,
    Effect.gen(function* () {
      const store = yield* ReminderStore
      const messages = yield* MessageStore
      const egress = yield* Egress
      const cursors = yield* Cursors
      const idempotent = yield* Idempotent
      const wakeUp = yield* WakeUp
      const parse = reminderRequestParser(yield* OutboundRule)
      const notFound = refuse("reminder_not_found")

      /** Loads what the decision needs, and fails with its refusal. */
      const check = (caller: Permitted, wanted: Wanted, now: number) =>
        Effect.gen(function* () {
          const facts = yield* messages.loadAcceptance(factsWanted(caller, wanted, now))
          const url = wanted.given.media?.url ?? null
          const linkAllowed = url === null || (yield* egress.allows(url, caller.workspaceId))
          const refusal = reminderRefusal(wanted, facts, caller, linkAllowed)
          if (refusal !== undefined) return yield* refusal
        })

      const insert = (
        caller: Permitted,
        content: ReminderContent,
        idempotency: IdempotencyClaim | null,
      ) =>
        Effect.gen(function* () {
          const now = yield* Clock.currentTimeMillis
          yield* check(caller, { current: null, given: content, content }, now)
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
          return reminderJson(inserted.reminder)
        })

      const again = ([id]: ReadonlyArray<number>) =>
        Effect.gen(function* () {
          const made = id === undefined ? null : yield* store.made(id as ReminderId)
          if (made === null) return yield* notFound
          return reminderJson({
            ...made,
            nextRunAt: firstRun(made, made.createdAt),
            lastRun: null,
          })
        })

      const find = (caller: Permitted, id: ReminderId | undefined) =>
        Effect.gen(function* () {
          const found = id === undefined ? null : yield* store.get(scopeOf(caller), id)
          return found ?? (yield* notFound)
        })

      return Reminders.of({
        create: Effect.fn("Reminders.create")(function* (given, body, idempotency) {
          const caller = yield* permit(given, "createReminder")
          const content = yield* Effect.fromResult(parse.creation(body, isLimited(caller)))
          return yield* idempotent.run<ReminderJson, Failure>(caller, idempotency, {
            work: (claim) => insert(caller, content, claim),
            again,
          })
        }),
        list: Effect.fn("Reminders.list")(function* (given, query) {
          const caller = yield* permit(given, "listReminders")
          const { active, cursor, limit } = yield* Effect.fromResult(parseReminderList(query))
          const scope = scopeOf(caller)
          const binding: CursorBinding = [
            "reminders",
            scope.workspaceId,
            scope.mode,
            scope.restriction,
            String(active),
          ]
          const before = yield* cursors.read(cursor, binding)
          const page = yield* store.list(scope, { active }, { before, limit })
          return {
            data: page.items.map(reminderJson),
            next_cursor: cursors.make(page.next, binding),
          }
        }),
        get: Effect.fn("Reminders.get")(function* (given, id) {
          return reminderJson(yield* find(yield* permit(given, "getReminder"), id))
        }),
        update: Effect.fn("Reminders.update")(function* (whose, id, body) {
          const caller = yield* permit(whose, "updateReminder")
          const given = yield* Effect.fromResult(parse.change(body, isLimited(caller)))
          for (let attempt = 0; attempt < attempts; attempt++) {
            const current = yield* find(caller, id)
            const content: ReminderContent = { ...contentOf(current), ...given }
            const now = yield* Clock.currentTimeMillis
            if (!isPausing(given)) yield* check(caller, { current, given, content }, now)
            const nextRunAt = nextRunOfChanged(current, content, now)
            if (yield* store.update(current.id, current.revision, content, nextRunAt)) {
              yield* wakeUp.wake("reminders")
              return reminderJson({ ...current, ...content, nextRunAt })
            }
          }
          return yield* refuse("internal_error")
        }),
        remove: Effect.fn("Reminders.remove")(function* (given, id) {
          const caller = yield* permit(given, "deleteReminder")
          const now = yield* Clock.currentTimeMillis
          const removed =
            id !== undefined && (yield* store.remove(scopeOf(caller), id, now))
              ? id
              : yield* notFound
          return { id: removed, deleted: true as const }
        }),
      })
    }),
  )
}

const isLimited = ({ numberIds }: Caller): boolean => numberIds !== null

const contentOf = (content: ReminderContent): ReminderContent => ({
  name: content.name,
  active: content.active,
  to: content.to,
  from: content.from,
  text: content.text,
  media: content.media,
  cron: content.cron,
  timezone: content.timezone,
})
