/** Making, changing and deleting workspaces (contract: Workspaces). */
import { Clock, Context, Effect, Layer, Schema } from "effect"
import { refuse } from "../error/Refusal.ts"
import type { Failure } from "../error/Refusal.ts"
import type { WorkspaceId } from "../Ids.ts"
import { makeStranded } from "../message/Stranded.ts"
import { WakeUp } from "../queue/WakeUp.ts"
import { makeCursors } from "../request/Page.ts"
import { described } from "../request/Described.ts"
import { inputDecoder, integerBetween, nameUpTo } from "../request/Input.ts"
import type { CursorPage } from "../request/Page.ts"
import { parsePageRequest } from "../request/PageInput.ts"
import type { ListPage } from "../request/PageInput.ts"
import { retentionDaysMost } from "./Erasure.ts"
import { admits, requireRole, unlimitedPlan } from "./Workspace.ts"
import type { Admits, Duty, Plan, Role, Workspace } from "./Workspace.ts"
import { WorkspaceStore } from "./WorkspaceStore.ts"
import type { NewWorkspace, WorkspaceChange } from "./WorkspaceStore.ts"

const Amount = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

/** A Plan in a request; every field is required. */
const PlanInput = Schema.Struct({
  name: described(nameUpTo(100), "Not blank."),
  messages_remaining: described(
    Schema.NullOr(Amount),
    "Messages that may still be accepted; null for unlimited.",
  ),
  reminders: described(Schema.Boolean, "Whether reminders are included."),
  qr_code_api: described(Schema.Boolean, "Whether numbers can be connected through the API."),
  max_numbers: described(Schema.NullOr(Amount), "Null for unlimited."),
  media_storage_bytes: Amount,
}).annotate({ identifier: "PlanInput" })

export const WorkspaceBody = Schema.Struct({
  name: described(nameUpTo(100), "Not blank."),
  demo: described(Schema.optionalKey(Schema.Boolean), "A demo workspace cannot use the API.", {
    default: false,
  }),
  api_v2_enabled: described(Schema.optionalKey(Schema.Boolean), "Whether version 2 keys work.", {
    default: true,
  }),
  plan: described(
    Schema.optionalKey(Schema.NullOr(PlanInput)),
    "Null for no active plan; left out it is the Unlimited plan.",
  ),
}).annotate({ identifier: "CreateWorkspace" })

export const WorkspacePatch = Schema.Struct({
  name: described(Schema.optionalKey(nameUpTo(100)), "Not blank."),
  demo: Schema.optionalKey(Schema.Boolean),
  account_disabled: Schema.optionalKey(Schema.Boolean),
  api_v2_enabled: Schema.optionalKey(Schema.Boolean),
  plan: Schema.optionalKey(Schema.NullOr(PlanInput)),
  retention_days: described(
    Schema.optionalKey(Schema.NullOr(integerBetween(1, retentionDaysMost))),
    "Days after their end that messages are erased; null for `RETENTION_DAYS` alone. The lower holds.",
  ),
}).annotate({ identifier: "ChangeWorkspace", description: "Only the fields to change." })

/** A workspace to make, and what to change of one: in the words of their bodies. */
export type CreateWorkspace = typeof WorkspaceBody.Encoded
export type ChangeWorkspace = typeof WorkspacePatch.Encoded

/** The workspace that a body asks for. */
export const newWorkspace = (
  input: typeof WorkspaceBody.Type,
  createdAt: number,
): { readonly workspace: NewWorkspace; readonly admits: Admits } => {
  const workspace = {
    name: input.name,
    demo: input.demo ?? false,
    accountDisabled: false,
    apiV2Enabled: input.api_v2_enabled ?? true,
    plan: input.plan === undefined ? unlimitedPlan : toPlan(input.plan),
    retentionDays: null,
    createdAt,
  }
  return { workspace, admits: admits({ ...workspace, deletedAt: null }) }
}

const decodeBody = inputDecoder(WorkspaceBody)
const decodePatch = inputDecoder(WorkspacePatch)

const toPlan = (plan: typeof PlanInput.Type | null): Plan | null =>
  plan === null
    ? null
    : {
        name: plan.name,
        messagesRemaining: plan.messages_remaining,
        reminders: plan.reminders,
        qrCodeApi: plan.qr_code_api,
        maxNumbers: plan.max_numbers,
        mediaStorageBytes: plan.media_storage_bytes,
      }

export class Workspaces extends Context.Service<
  Workspaces,
  {
    /** POST /workspaces. Without a plan it gets the `Unlimited` one. */
    create(role: Role, command: CreateWorkspace): Effect.Effect<Workspace, Failure>
    /** GET /workspaces: newest first. */
    list(query: ListPage): Effect.Effect<CursorPage<Workspace>, Failure>
    /** GET /workspaces/{id}. Fails with `workspace_not_found`. */
    get(id: WorkspaceId | undefined): Effect.Effect<Workspace, Failure>
    /**
     * The workspace, for what people of that role are to do inside it. Fails with
     * `workspace_not_found`, `role_required`.
     */
    within(role: Role, id: WorkspaceId | undefined, duty: Duty): Effect.Effect<Workspace, Failure>
    /** PATCH /workspaces/{id}. */
    update(
      role: Role,
      id: WorkspaceId | undefined,
      command: ChangeWorkspace,
    ): Effect.Effect<Workspace, Failure>
    /** DELETE /workspaces/{id}: its keys stop, its waiting messages are cancelled. */
    delete(role: Role, id: WorkspaceId | undefined): Effect.Effect<WorkspaceId, Failure>
  }
>()("core/Workspaces") {
  static readonly layer = Layer.effect(
    Workspaces,
    Effect.gen(function* () {
      const store = yield* WorkspaceStore
      const cursors = yield* makeCursors
      const stranded = yield* makeStranded
      const wakeUp = yield* WakeUp

      const notFound = refuse("workspace_not_found")
      const get = Effect.fn("Workspaces.get")(function* (id: WorkspaceId | undefined) {
        const found = id === undefined ? null : yield* store.get(id)
        return found ?? (yield* notFound)
      })

      return Workspaces.of({
        get,
        within: Effect.fnUntraced(function* (role, id, duty) {
          const found = yield* get(id)
          yield* requireRole(role, duty)
          return found
        }),
        create: Effect.fn("Workspaces.create")(function* (role, command) {
          yield* requireRole(role, "workspace")
          const input = yield* Effect.fromResult(decodeBody(command))
          const made = newWorkspace(input, yield* Clock.currentTimeMillis)
          return yield* store.insert(made.workspace, made.admits)
        }),
        list: Effect.fn("Workspaces.list")(function* (query) {
          const request = yield* Effect.fromResult(parsePageRequest(query))
          return yield* cursors.page(request, ["workspaces"], store.list)
        }),
        update: Effect.fn("Workspaces.update")(function* (role, id, command) {
          yield* requireRole(role, "workspace")
          const { id: found } = yield* get(id)
          const input = yield* Effect.fromResult(decodePatch(command))
          const now = yield* Clock.currentTimeMillis
          const decide = (current: Workspace) => {
            const change: WorkspaceChange = {
              name: input.name ?? current.name,
              demo: input.demo ?? current.demo,
              accountDisabled: input.account_disabled ?? current.accountDisabled,
              apiV2Enabled: input.api_v2_enabled ?? current.apiV2Enabled,
              ...(input.plan === undefined ? {} : { plan: toPlan(input.plan) }),
              ...(input.retention_days === undefined
                ? {}
                : { retentionDays: input.retention_days }),
            }
            return { change, admits: admits({ ...current, ...change }) }
          }
          const updated = yield* store.update(found, decide, now)
          if (updated === null) return yield* notFound
          // What waited while it was disabled may be due by now.
          if (input.account_disabled === false) {
            yield* wakeUp.wake("lanes")
            yield* wakeUp.wake("test_messages")
          }
          return updated
        }),
        delete: Effect.fn("Workspaces.delete")(function* (role, id) {
          yield* requireRole(role, "workspace")
          const { id: found } = yield* get(id)
          const now = yield* Clock.currentTimeMillis
          const deleted = yield* stranded.removing(store.delete(found, now))
          return deleted ? found : yield* notFound
        }),
      })
    }),
  )
}
