/** Creates, changes, deletes and erases workspaces (contract: Workspaces). */
import { Clock, Context, Effect, Layer, Schema } from "effect"
import { refuse } from "../model/Refusal.ts"
import type { Failure, StoreUnavailable } from "../model/Refusal.ts"
import type { WorkspaceId } from "../model/Ids.ts"
import { claimantsWithoutKey, dayMillis } from "../model/Auth.ts"
import { commitAndWake, WakeUp } from "../store/DueWork.ts"
import { answerRetentionMillis } from "../model/Idempotency.ts"
import { described, inputDecoder, integerBetween, nameUpTo } from "../model/Input.ts"
import type { CommandOf } from "../model/Input.ts"
import { makeCursors, parsePageRequest } from "../model/Page.ts"
import type { CursorPage, ListPage } from "../model/Page.ts"
import { admits, requireRole, unlimitedPlan } from "../model/Workspace.ts"
import type { Admits, Duty, Role, Workspace } from "../model/Workspace.ts"
import type {
  RetainedWorkspace,
  EndedBefore,
  NewWorkspace,
  WorkspaceChange,
} from "../store/WorkspaceStore.ts"
import { Store } from "../store/Store.ts"
import { makeEndings } from "./makeEndings.ts"

// Messages that can no longer be sent: their number was removed or their workspace deleted. They
// are cancelled, each with its event (contract: Message status). The removal does it before it
// answers; the worker finishes what a killed process left.

/** Messages that one commit cancels at most, so that no lock is held for long. */
const batch = 500

/** Makes what cancels them. */
export const makeOrphaned = Effect.gen(function* makeOrphaned() {
  const store = (yield* Store).messages
  const endings = yield* makeEndings
  const wakeUp = yield* WakeUp
  /** Cancels one batch; returns how many it cancelled. */
  const cancelSome = Effect.gen(function* cancelSome() {
    const messages = yield* store.orphaned(batch)
    const now = yield* Clock.currentTimeMillis
    const changes = yield* endings(messages, now, () => ({ trigger: "cancel" }))
    return changes.length === 0 ? 0 : (yield* store.end(changes, { passesOver: true })).size
  })
  /**
   * Removes a number or workspace, and cancels all messages that it orphans. The worker completes
   * an interrupted removal.
   */
  const removing = <A>(removal: Effect.Effect<A, StoreUnavailable>) =>
    removal.pipe(
      Effect.tap(Effect.repeat(cancelSome, { while: (cancelled) => cancelled > 0 })),
      Effect.onError(() => wakeUp.wake("orphaned")),
      // Attempts with an unknown outcome can be concluded now, and so can number checks.
      Effect.ensuring(Effect.andThen(wakeUp.wake("lanes"), wakeUp.wake("number_checks"))),
    )
  return { cancelSome, removing }
})

// What is erased, and when: ended messages after their workspace's retention, and everything of a
// deleted workspace. Rules decide here; the port finds the rows and deletes them, at most 500 in a
// statement. Housekeeping runs it.

/** Days that a retention may last. */
export const maxRetentionDays = 3_650

/** `RETENTION_DAYS`: the retention of every workspace; null keeps messages until their workspace ends. */
export const RetentionDays = Context.Reference<number | null>("core/RetentionDays", {
  defaultValue: () => null,
})

/** Ended test messages of a workspace that are kept at most, whatever its retention. */
export const TestMessagesKept = Context.Reference<number>("core/TestMessagesKept", {
  defaultValue: () => 1_000_000,
})

/** The days that hold for a workspace: the lower of the service's and its own. Null: no limit. */
export const effectiveRetentionDays = (service: number | null, own: number | null): number | null =>
  service === null || own === null ? (service ?? own) : Math.min(service, own)

/** A live transport gives up by then: see `endingSessions`. */
const sessionsRetentionMillis = 31 * dayMillis

/**
 * What of a workspace has outlived its retention; null where nothing is to go. Of a deleted workspace
 * everything has, once it ended.
 */
export const outlived = (
  workspace: RetainedWorkspace,
  service: number | null,
  now: number,
): EndedBefore | null => {
  if (workspace.deletedAt !== null) return { workspaceId: workspace.id, endedBefore: Infinity }
  const days = effectiveRetentionDays(service, workspace.retentionDays)
  if (days === null) return null
  return { workspaceId: workspace.id, endedBefore: now - days * dayMillis }
}

/** Workspaces that are looked at together. */
const together = 500

/** One round. */
export const makeErasure = Effect.gen(function* makeErasure() {
  const store = (yield* Store).system
  const service = yield* RetentionDays
  const testMessagesKept = yield* TestMessagesKept
  return Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    yield* store.eraseRemoved({
      now,
      endpointsBefore: now - answerRetentionMillis,
      sessionsBefore: now - sessionsRetentionMillis,
    })
    let after = 0
    for (;;) {
      const workspaces = yield* store.retainedWorkspaces(after, together)
      const ended = workspaces.flatMap((workspace) => outlived(workspace, service, now) ?? [])
      if (ended.length > 0) yield* store.eraseEnded(ended)
      const remaining = workspaces.filter(({ deletedAt }) => deletedAt === null)
      yield* store.eraseTestMessages(
        remaining.map(({ id }) => id),
        testMessagesKept,
      )
      const deleted = workspaces.flatMap(({ deletedAt, id }) =>
        deletedAt === null ? [] : { id, claimants: claimantsWithoutKey(id) },
      )
      if (deleted.length > 0) yield* store.eraseDeleted(deleted, now)
      const last = workspaces.at(-1)
      if (last === undefined || workspaces.length < together) return
      after = last.id
    }
  })
})

const Amount = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

/** A Plan in a request; every field is required. */
const PlanInput = Schema.Struct({
  name: described(nameUpTo(100), "Not blank."),
  messagesRemaining: described(
    Schema.NullOr(Amount),
    "Messages that may still be accepted; null for unlimited.",
  ),
  reminders: described(Schema.Boolean, "Whether reminders are included."),
  qrCodeApi: described(Schema.Boolean, "Whether numbers can be connected through the API."),
  maxNumbers: described(Schema.NullOr(Amount), "Maximum of numbers; null for unlimited."),
  mediaStorageBytes: Amount,
}).annotate({ identifier: "PlanInput" })

export const WorkspaceBody = Schema.Struct({
  name: described(nameUpTo(100), "Not blank."),
  demo: described(
    Schema.optionalKey(Schema.Boolean),
    "A demo workspace cannot use the API with keys.",
    {
      default: false,
    },
  ),
  apiV2Enabled: described(Schema.optionalKey(Schema.Boolean), "Whether version 2 keys work.", {
    default: true,
  }),
  plan: described(
    Schema.optionalKey(Schema.NullOr(PlanInput)),
    "Default: unlimited. Null: no active plan.",
  ),
}).annotate({ identifier: "CreateWorkspace" })

export const WorkspacePatch = Schema.Struct({
  name: described(Schema.optionalKey(nameUpTo(100)), "Not blank."),
  demo: Schema.optionalKey(Schema.Boolean),
  accountDisabled: Schema.optionalKey(Schema.Boolean),
  apiV2Enabled: Schema.optionalKey(Schema.Boolean),
  plan: Schema.optionalKey(Schema.NullOr(PlanInput)),
  retentionDays: described(
    Schema.optionalKey(Schema.NullOr(integerBetween(1, maxRetentionDays))),
    "Days from the end of a message to its erasure; null for the service's own setting alone. The lower value applies.",
  ),
}).annotate({ identifier: "ChangeWorkspace", description: "Only the fields to change." })

/** A workspace to make, and what to change of one. */
export type CreateWorkspace = CommandOf<typeof WorkspaceBody.Encoded>
export type ChangeWorkspace = CommandOf<typeof WorkspacePatch.Encoded>

/** The workspace that a body asks for. */
export const newWorkspace = (
  input: typeof WorkspaceBody.Type,
  createdAt: number,
): { readonly workspace: NewWorkspace; readonly admits: Admits } => {
  const workspace = {
    name: input.name,
    demo: input.demo ?? false,
    accountDisabled: false,
    apiV2Enabled: input.apiV2Enabled ?? true,
    plan: input.plan === undefined ? unlimitedPlan : input.plan,
    retentionDays: null,
    createdAt,
  }
  return { workspace, admits: admits({ ...workspace, deletedAt: null }) }
}

const decodeBody = inputDecoder(WorkspaceBody)
const decodePatch = inputDecoder(WorkspacePatch)

/** What an operation in a workspace can be refused with, by who acts in which. */
export type WorkspaceCode = "workspace_not_found" | "role_required"

export class Workspaces extends Context.Service<
  Workspaces,
  {
    /** POST /workspaces. Without a plan it gets the `Unlimited` one. */
    create(
      role: Role,
      command: CreateWorkspace,
    ): Effect.Effect<Workspace, Failure<"validation_failed" | "role_required">>
    /** GET /workspaces: newest first. */
    list(
      query: ListPage,
    ): Effect.Effect<CursorPage<Workspace>, Failure<"validation_failed" | "invalid_cursor">>
    /** GET /workspaces/{id}. Fails with `workspace_not_found`. */
    get(id: WorkspaceId | undefined): Effect.Effect<Workspace, Failure<"workspace_not_found">>
    /**
     * The workspace, for what people of that role are to do inside it. Fails with
     * `workspace_not_found`, `role_required`.
     */
    within(
      role: Role,
      id: WorkspaceId | undefined,
      duty: Duty,
    ): Effect.Effect<Workspace, Failure<WorkspaceCode>>
    /** PATCH /workspaces/{id}. */
    update(
      role: Role,
      id: WorkspaceId | undefined,
      command: ChangeWorkspace,
    ): Effect.Effect<Workspace, Failure<"validation_failed" | WorkspaceCode>>
    /** DELETE /workspaces/{id}: its keys stop, its waiting messages are cancelled. */
    delete(
      role: Role,
      id: WorkspaceId | undefined,
    ): Effect.Effect<WorkspaceId, Failure<WorkspaceCode>>
  }
>()("core/Workspaces") {
  static readonly layer = Layer.effect(
    Workspaces,
    Effect.gen(function* make() {
      const store = (yield* Store).workspaces
      const cursors = yield* makeCursors
      const orphaned = yield* makeOrphaned
      const wakeUp = yield* WakeUp

      const notFound = refuse("workspace_not_found")
      const get = Effect.fn("Workspaces.get")(function* get(id: WorkspaceId | undefined) {
        const found = id === undefined ? null : yield* store.get(id)
        return found ?? (yield* notFound)
      })

      return Workspaces.of({
        get,
        within: Effect.fnUntraced(function* within(role, id, duty) {
          const found = yield* get(id)
          yield* requireRole(role, duty)
          return found
        }),
        create: Effect.fn("Workspaces.create")(function* create(role, command) {
          yield* requireRole(role, "workspace")
          const input = yield* Effect.fromResult(decodeBody(command))
          const created = newWorkspace(input, yield* Clock.currentTimeMillis)
          return yield* store.insert(created.workspace, created.admits)
        }),
        list: Effect.fn("Workspaces.list")(function* list(query) {
          const request = yield* Effect.fromResult(parsePageRequest(query))
          return yield* cursors.page(request, ["workspaces"], store.list)
        }),
        update: Effect.fn("Workspaces.update")(function* update(role, id, command) {
          yield* requireRole(role, "workspace")
          const { id: found } = yield* get(id)
          const input = yield* Effect.fromResult(decodePatch(command))
          const now = yield* Clock.currentTimeMillis
          const decide = (current: Workspace) => {
            const change: WorkspaceChange = {
              name: input.name ?? current.name,
              demo: input.demo ?? current.demo,
              accountDisabled: input.accountDisabled ?? current.accountDisabled,
              apiV2Enabled: input.apiV2Enabled ?? current.apiV2Enabled,
              ...(input.plan === undefined ? {} : { plan: input.plan }),
              ...(input.retentionDays === undefined ? {} : { retentionDays: input.retentionDays }),
            }
            return { change, admits: admits({ ...current, ...change }) }
          }
          // What waited while it was disabled may be due by now.
          const wake =
            input.accountDisabled === false
              ? Effect.andThen(wakeUp.wake("lanes"), wakeUp.wake("test_messages"))
              : Effect.void
          const updated = yield* commitAndWake(
            store.update(found, decide, now),
            Effect.andThen(wake, wakeUp.wake("campaigns")),
          )
          return updated ?? (yield* notFound)
        }),
        delete: Effect.fn("Workspaces.delete")(function* (role, id) {
          yield* requireRole(role, "workspace")
          const { id: found } = yield* get(id)
          const now = yield* Clock.currentTimeMillis
          const deleted = yield* orphaned.removing(store.delete(found, now))
          return deleted ? found : yield* notFound
        }),
      })
    }),
  )
}
