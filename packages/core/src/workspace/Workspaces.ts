/** Making, changing and deleting workspaces (contract: Workspaces). */
import { Clock, Context, Effect, Layer, Schema } from "effect"
import { TimeJson } from "../answer/Json.ts"
import type { DeletedJson } from "../answer/Json.ts"
import { refuse } from "../error/Refusal.ts"
import type { Refusal } from "../error/Refusal.ts"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"
import type { WorkspaceId } from "../id/Ids.ts"
import { Stranded } from "../message/Stranded.ts"
import { Cursors } from "../request/Cursor.ts"
import { described } from "../request/Described.ts"
import { inputDecoder, textBetween } from "../request/Input.ts"
import type { JsonPage } from "../request/Page.ts"
import { parsePageRequest } from "../request/PageInput.ts"
import type { QueryEntries } from "../request/PageInput.ts"
import { formatInstant } from "../time/Instant.ts"
import { requireRole } from "./Role.ts"
import type { Role } from "./Role.ts"
import { admits, clientId, unlimitedPlan } from "./Workspace.ts"
import type { Plan, Workspace } from "./Workspace.ts"
import { WorkspaceStore } from "./WorkspaceStore.ts"
import type { WorkspaceChange } from "./WorkspaceStore.ts"

const Amount = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

/** A Plan in a request; every field is required. */
export const PlanInput = Schema.Struct({
  name: textBetween(1, 100),
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
  name: textBetween(1, 100),
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
  name: Schema.optionalKey(textBetween(1, 100)),
  demo: Schema.optionalKey(Schema.Boolean),
  account_disabled: Schema.optionalKey(Schema.Boolean),
  api_v2_enabled: Schema.optionalKey(Schema.Boolean),
  plan: Schema.optionalKey(Schema.NullOr(PlanInput)),
}).annotate({ identifier: "ChangeWorkspace", description: "Only the fields to change." })

const decodeBody = inputDecoder(WorkspaceBody, Object.keys(WorkspaceBody.fields))
const decodePatch = inputDecoder(WorkspacePatch, Object.keys(WorkspacePatch.fields))

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

/** The Plan object. */
export const PlanJson = Schema.Struct({
  name: Schema.String,
  messages_remaining: Schema.NullOr(Schema.Int).annotate({ description: "Null for unlimited." }),
  reminders: Schema.Boolean,
  qr_code_api: Schema.Boolean,
  max_numbers: Schema.NullOr(Schema.Int).annotate({ description: "Null for unlimited." }),
  media_storage_bytes: Schema.Int,
}).annotate({ identifier: "Plan" })

/** The Workspace object. */
export const WorkspaceJson = Schema.Struct({
  id: Schema.Int.pipe(Schema.brand("WorkspaceId")),
  name: Schema.String,
  client_id: Schema.Int.annotate({ description: "What version 1 clients send as `client_id`." }),
  demo: Schema.Boolean,
  account_disabled: Schema.Boolean,
  api_v2_enabled: Schema.Boolean,
  plan: described(Schema.NullOr(PlanJson), "Null: no active plan, nothing included."),
  created_at: TimeJson,
}).annotate({ identifier: "Workspace" })

export type WorkspaceJson = typeof WorkspaceJson.Type

const planJson = (plan: Plan | null): typeof PlanJson.Type | null =>
  plan === null
    ? null
    : {
        name: plan.name,
        messages_remaining: plan.messagesRemaining,
        reminders: plan.reminders,
        qr_code_api: plan.qrCodeApi,
        max_numbers: plan.maxNumbers,
        media_storage_bytes: plan.mediaStorageBytes,
      }

export const workspaceJson = (workspace: Workspace): WorkspaceJson => ({
  id: workspace.id,
  name: workspace.name,
  client_id: clientId(workspace),
  demo: workspace.demo,
  account_disabled: workspace.accountDisabled,
  api_v2_enabled: workspace.apiV2Enabled,
  plan: planJson(workspace.plan),
  created_at: formatInstant(workspace.createdAt),
})

type Failure = Refusal | StoreUnavailable

export class Workspaces extends Context.Service<
  Workspaces,
  {
    /** POST /workspaces. Without a plan it gets the `Unlimited` one. */
    create(role: Role, body: unknown): Effect.Effect<WorkspaceJson, Failure>
    /** GET /workspaces: newest first. */
    list(query: QueryEntries): Effect.Effect<JsonPage<WorkspaceJson>, Failure>
    /** GET /workspaces/{id}. Fails with `workspace_not_found`. */
    get(id: WorkspaceId | undefined): Effect.Effect<WorkspaceJson, Failure>
    /** The workspace itself, for services that act inside it. Fails with `workspace_not_found`. */
    require(id: WorkspaceId | undefined): Effect.Effect<Workspace, Failure>
    /** PATCH /workspaces/{id}. */
    update(
      role: Role,
      id: WorkspaceId | undefined,
      body: unknown,
    ): Effect.Effect<WorkspaceJson, Failure>
    /** DELETE /workspaces/{id}: its keys stop, its waiting messages are cancelled. */
    delete(role: Role, id: WorkspaceId | undefined): Effect.Effect<DeletedJson, Failure>
  }
>()("core/Workspaces") {
  static readonly layer = Layer.effect(
    Workspaces,
    Effect.gen(function* () {
      const store = yield* WorkspaceStore
      const cursors = yield* Cursors
      const stranded = yield* Stranded

      const notFound = refuse("workspace_not_found")
      const require = Effect.fn("Workspaces.require")(function* (id: WorkspaceId | undefined) {
        const found = id === undefined ? null : yield* store.get(id)
        return found ?? (yield* notFound)
      })

      return Workspaces.of({
        require,
        create: Effect.fn("Workspaces.create")(function* (role, body) {
          yield* requireRole(role, "workspace")
          const input = yield* Effect.fromResult(decodeBody(body))
          const workspace = {
            name: input.name,
            demo: input.demo ?? false,
            accountDisabled: false,
            apiV2Enabled: input.api_v2_enabled ?? true,
            plan: input.plan === undefined ? unlimitedPlan : toPlan(input.plan),
            createdAt: yield* Clock.currentTimeMillis,
          }
          const inserted = yield* store.insert(workspace, admits({ ...workspace, deletedAt: null }))
          return workspaceJson(inserted)
        }),
        list: Effect.fn("Workspaces.list")(function* (query) {
          const request = yield* Effect.fromResult(parsePageRequest(query))
          const before = yield* cursors.read(request.cursor, ["workspaces"])
          const page = yield* store.list({ before, limit: request.limit })
          return {
            data: page.items.map(workspaceJson),
            next_cursor: cursors.make(page.next, ["workspaces"]),
          }
        }),
        get: (id) => Effect.map(require(id), workspaceJson),
        update: Effect.fn("Workspaces.update")(function* (role, id, body) {
          yield* requireRole(role, "workspace")
          const { id: found } = yield* require(id)
          const input = yield* Effect.fromResult(decodePatch(body))
          const change: WorkspaceChange = {
            ...(input.name === undefined ? {} : { name: input.name }),
            ...(input.demo === undefined ? {} : { demo: input.demo }),
            ...(input.account_disabled === undefined
              ? {}
              : { accountDisabled: input.account_disabled }),
            ...(input.api_v2_enabled === undefined ? {} : { apiV2Enabled: input.api_v2_enabled }),
            ...(input.plan === undefined ? {} : { plan: toPlan(input.plan) }),
          }
          const updated = yield* store.update(found, (current) => ({
            change,
            admits: admits({ ...current, ...change }),
          }))
          return workspaceJson(updated ?? (yield* notFound))
        }),
        delete: Effect.fn("Workspaces.delete")(function* (role, id) {
          yield* requireRole(role, "workspace")
          const { id: found } = yield* require(id)
          const now = yield* Clock.currentTimeMillis
          const deleted = yield* stranded.removing(store.delete(found, now))
          if (!deleted) return yield* notFound
          return { id: found, deleted: true as const }
        }),
      })
    }),
  )
}
