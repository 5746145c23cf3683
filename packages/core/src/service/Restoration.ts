/**
 * Stores that were restored to an earlier time (contract: Restored stores): operators begin the
 * next epoch, and release or cancel the held messages and reminders, or mark them as sent.
 */
import type { ReminderStore } from "../model/Reminder.ts"
import { Clock, Context, Effect, Layer, Result, Schema } from "effect"
import { refuse } from "../model/Refusal.ts"
import type { Failure, Refusal, StoreUnavailable } from "../model/Refusal.ts"
import type { Ending } from "../model/MessageChange.ts"
import type { MessageId, NumberId, WorkspaceId } from "../model/Ids.ts"
import type { Message } from "../model/Message.ts"
import { commitAndWake, WakeUp } from "../store/DueWork.ts"
import { firstRun } from "../model/Reminder.ts"
import {
  described,
  IdInput,
  idsOrFilter,
  idsUpTo,
  inputDecoder,
  InstantInput,
  integerBetween,
  refuseFuture,
} from "../model/Input.ts"
import type { CommandOf } from "../model/Input.ts"
import { makeCursors, parsePageRequest } from "../model/Page.ts"
import type { CursorPage, ListPage } from "../model/Page.ts"
import { boundMillis, ceilingMillis } from "../model/Time.ts"
import { requireRole } from "../model/Workspace.ts"
import type { Role } from "../model/Workspace.ts"
import { makeEndings } from "./makeEndings.ts"
import { Workspaces } from "./Workspaces.ts"
import { mayStartEpoch } from "../store/SystemStore.ts"
import type { RestoreStore, HeldSelection, HeldCount, HeldReminder } from "../store/SystemStore.ts"
import { Store } from "../store/Store.ts"
import type { WorkspaceCode } from "./Workspaces.ts"

/** What one call decides at most. */
const heldAtOnce = 1000

export const RestoredBody = Schema.Struct({
  above: described(
    Schema.optionalKey(integerBetween(0, 1e15)),
    "Highest id of any kind that is known outside.",
    { default: 0 },
  ),
  again: described(
    Schema.optionalKey(Schema.Boolean),
    "Begin another epoch although this one has accepted messages.",
    { default: false },
  ),
}).annotate({ identifier: "StoreRestored" })

/** That the store went back in time. */
export type StoreRestored = CommandOf<typeof RestoredBody.Encoded>

const heldFields = {
  ids: described(
    Schema.optionalKey(idsUpTo(heldAtOnce)),
    "Held messages; either these or `filter`.",
  ),
  filter: described(
    Schema.optionalKey(
      Schema.Struct({
        from: described(Schema.optionalKey(IdInput), "Id of the sending number."),
        since: described(Schema.optionalKey(InstantInput), "Created then or later."),
        until: described(Schema.optionalKey(InstantInput), "Created before."),
      }).annotate({ identifier: "HeldFilter" }),
    ),
    "Held messages and reminders; `{}` for all.",
  ),
}

export const HeldBody = Schema.Struct(heldFields)
  .check(idsOrFilter)
  .annotate({ identifier: "SelectHeld", description: "Exactly one of `ids` and `filter`." })

/** Which of what is held. */
export type SelectHeld = CommandOf<typeof HeldBody.Encoded>

export const MarkSentBody = Schema.Struct({
  ...heldFields,
  sentAt: described(
    Schema.optionalKey(InstantInput),
    "When they left, in the past. Default: each message's planned time.",
  ),
})
  .check(idsOrFilter)
  .annotate({ identifier: "MarkSent", description: "Exactly one of `ids` and `filter`." })

/** Which of what is held had left, and when. */
export type MarkSent = CommandOf<typeof MarkSentBody.Encoded>

const decodeRestored = inputDecoder(RestoredBody)
const decodeHeld = inputDecoder(HeldBody, { codes: ["invalid_datetime"] })
const decodeMarkSent = inputDecoder(MarkSentBody, { codes: ["invalid_datetime"] })

const toSelection = (
  { filter, ids }: typeof HeldBody.Type,
  dueUntil: number | null = null,
): HeldSelection =>
  ids === undefined
    ? {
        filter: {
          dueUntil,
          from: (filter?.from ?? null) as NumberId | null,
          since: boundMillis(filter?.since),
          until: boundMillis(filter?.until),
        },
      }
    : { ids: ids as ReadonlyArray<MessageId> }

/**
 * Begins the next epoch, and returns how many messages and reminders are held then. Fails with
 * `already_restored`.
 */
export const startEpoch = Effect.fnUntraced(function* startEpoch(
  command: StoreRestored,
): Effect.fn.Return<
  { readonly epoch: number; readonly held: number },
  Failure<"validation_failed" | "already_restored">,
  Store
> {
  const store = (yield* Store).system
  const { above = 0, again = false } = yield* Effect.fromResult(decodeRestored(command))
  while (true) {
    const before = yield* store.epoch
    if (!again && !mayStartEpoch(before)) return yield* refuse("already_restored")
    const now = yield* Clock.currentTimeMillis
    const epoch = yield* store.startEpoch({ epoch: before.epoch, above, now })
    if (epoch === null) continue
    const counts = yield* store.heldCounts
    return { epoch, held: counts.reduce((sum, one) => sum + one.messages + one.reminders, 0) }
  }
})

const decodeSentAt = (
  command: MarkSent,
  now: number,
): Result.Result<typeof MarkSentBody.Type, Refusal<"validation_failed" | "invalid_datetime">> =>
  Result.flatMap(decodeMarkSent(command), (body) =>
    body.sentAt !== undefined && ceilingMillis(body.sentAt) > now
      ? Result.fail(
          refuse("validation_failed", { field: "sentAt", message: "must be in the past" }),
        )
      : Result.succeed(body),
  )

/** What one call did. */
export interface DecidedHeld {
  /** Messages and reminders. */
  readonly count: number
  /** Whether the selection has more. */
  readonly more: boolean
}

/** What is held of a workspace that the operator names, before it is known that there is one. */
type HeldCommand<Command> = readonly [
  role: Role,
  workspaceId: WorkspaceId | undefined,
  command: Command,
]

/** What decides about held work. */
interface HeldWork {
  readonly store: RestoreStore
  readonly reminders: ReminderStore
  readonly workspaces: Workspaces["Service"]
  readonly wakeUp: WakeUp["Service"]
}

/**
 * Lets a reminder continue: runs that were due until now are missed. Skips one that was changed or
 * released meanwhile.
 */
const passOver = Effect.fnUntraced(function* passOver(
  { reminders }: HeldWork,
  { dueAt, reminder }: HeldReminder,
) {
  const now = yield* Clock.currentTimeMillis
  const { id, revision } = reminder
  // The clock may have been set back since: the missed run must not fall due again.
  const nextRunAt = firstRun(reminder, Math.max(now, dueAt))
  const run = { id, revision, dueAt, ranAt: now, nextRunAt, idempotency: null }
  const commit = yield* reminders.advanceWithoutMessage(run, { outcome: "missed", code: null })
  return commit._tag === "Advanced"
})

/** What a decision about what is held can be refused with. */
type HeldCode = WorkspaceCode | "validation_failed" | "invalid_datetime"

/** A selection, and what to do with its messages. */
interface HeldDecision {
  readonly selection: HeldSelection
  readonly decideMessages: (
    held: ReadonlyArray<Message>,
    now: number,
  ) => Effect.Effect<ReadonlySet<MessageId>, StoreUnavailable>
}

const decide = Effect.fnUntraced(function* decide(
  work: HeldWork,
  role: Role,
  workspaceId: WorkspaceId | undefined,
  decision: (now: number) => Result.Result<HeldDecision, Refusal<HeldCode>>,
): Effect.fn.Return<DecidedHeld, Failure<HeldCode>> {
  const { store, wakeUp, workspaces } = work
  const workspace = yield* workspaces.within(role, workspaceId, "workspace")
  const now = yield* Clock.currentTimeMillis
  const { decideMessages, selection } = yield* Effect.fromResult(decision(now))
  if ("filter" in selection) yield* refuseFuture(selection.filter.since, now, "filter.since")
  const held = yield* store.heldMessages(workspace.id, selection, heldAtOnce + 1)
  const room = heldAtOnce - Math.min(held.length, heldAtOnce)
  const heldReminders =
    "filter" in selection
      ? yield* store.heldReminders(workspace.id, selection.filter, room + 1)
      : []
  const decided = yield* commitAndWake(
    decideMessages(held.slice(0, heldAtOnce), now),
    Effect.forEach(["lanes", "test_messages"] as const, wakeUp.wake),
  )
  const passed = yield* Effect.ensuring(
    Effect.filter(heldReminders.slice(0, room), (reminder) => passOver(work, reminder)),
    wakeUp.wake("reminders"),
  )
  return {
    count: decided.size + passed.length,
    more: held.length > heldAtOnce || heldReminders.length > room,
  }
})

export class Restoration extends Context.Service<
  Restoration,
  {
    /**
     * POST /store/restored, which also returns how many messages and reminders are held. Fails with
     * `already_restored`.
     */
    restored(
      role: Role,
      command: StoreRestored,
    ): Effect.Effect<
      { readonly epoch: number; readonly held: number },
      Failure<"validation_failed" | "role_required" | "already_restored">
    >
    /** GET /held. */
    counts(role: Role): Effect.Effect<ReadonlyArray<HeldCount>, Failure<"role_required">>
    /** GET /workspaces/{id}/held: newest first. */
    list(
      role: Role,
      workspaceId: WorkspaceId | undefined,
      query: ListPage,
    ): Effect.Effect<
      CursorPage<Message>,
      Failure<WorkspaceCode | "validation_failed" | "invalid_cursor">
    >
    /** POST …/held/release. */
    release(...command: HeldCommand<SelectHeld>): Effect.Effect<DecidedHeld, Failure<HeldCode>>
    /** POST …/held/cancel: cancels the messages. A reminder continues with its next run. */
    cancel(...command: HeldCommand<SelectHeld>): Effect.Effect<DecidedHeld, Failure<HeldCode>>
    /**
     * POST …/held/mark-sent: the messages had left, as others know. They become `sent` and are
     * announced. A reminder continues with its next run.
     */
    markSent(...command: HeldCommand<MarkSent>): Effect.Effect<DecidedHeld, Failure<HeldCode>>
  }
>()("core/Restoration") {
  static readonly layer = Layer.effect(
    Restoration,
    Effect.gen(function* make() {
      const all = yield* Store
      const { messages, system: store } = all
      const workspaces = yield* Workspaces
      const endings = yield* makeEndings
      const cursors = yield* makeCursors
      const work: HeldWork = {
        store,
        reminders: (yield* Store).reminders,
        workspaces,
        wakeUp: yield* WakeUp,
      }

      const endAs =
        (ending: (message: Message) => Ending): HeldDecision["decideMessages"] =>
        (held, now) =>
          Effect.flatMap(endings(held, now, ending), (changes) => messages.end(changes))

      return Restoration.of({
        restored: Effect.fn("Restoration.restored")(function* restored(role, command) {
          yield* requireRole(role, "workspace")
          const started = yield* startEpoch(command).pipe(Effect.provideService(Store, all))
          yield* Effect.logWarning(`restored: epoch ${started.epoch} began, ${started.held} held`)
          return started
        }),
        counts: Effect.fn("Restoration.counts")(function* counts(role) {
          yield* requireRole(role, "workspace")
          return yield* store.heldCounts
        }),
        list: Effect.fn("Restoration.list")(function* list(role, workspaceId, query) {
          const request = yield* Effect.fromResult(parsePageRequest(query))
          const { id } = yield* workspaces.within(role, workspaceId, "workspace")
          return yield* cursors.page(request, ["held", id], (page) => store.listHeld(id, page))
        }),
        release: Effect.fn("Restoration.release")((role, workspaceId, command) =>
          decide(work, role, workspaceId, () =>
            Result.map(decodeHeld(command), (body) => ({
              selection: toSelection(body),
              decideMessages: (held, now) =>
                held.length === 0
                  ? Effect.succeed(new Set<MessageId>())
                  : store.releaseHeld(held, now),
            })),
          ),
        ),
        cancel: Effect.fn("Restoration.cancel")((role, workspaceId, command) =>
          decide(work, role, workspaceId, () =>
            Result.map(decodeHeld(command), (body) => ({
              selection: toSelection(body),
              decideMessages: endAs(() => ({ trigger: "cancel" })),
            })),
          ),
        ),
        markSent: Effect.fn("Restoration.markSent")((role, workspaceId, command) =>
          decide(work, role, workspaceId, (now) =>
            Result.map(decodeSentAt(command, now), ({ sentAt, ...body }) => ({
              selection: toSelection(body, now),
              decideMessages: endAs(({ dueAt }) => ({
                trigger: "send_succeeded",
                sentAt: sentAt?.millis ?? Math.min(dueAt, now),
              })),
            })),
          ),
        ),
      })
    }),
  )
}
