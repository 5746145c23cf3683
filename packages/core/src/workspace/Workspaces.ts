/** Making, changing and deleting workspaces (operator API). */
import { Clock, Context, Effect, Layer, Schema } from "effect"
import { refuse } from "../error/Refusal.ts"
import type { Refusal } from "../error/Refusal.ts"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"
import type { WorkspaceId } from "../id/Ids.ts"
import { Stranded } from "../message/Stranded.ts"
import { Cursors } from "../request/Cursor.ts"
import { inputDecoder, textBetween } from "../request/Input.ts"
import type { JsonPage } from "../request/Page.ts"
import { parsePageRequest } from "../request/PageInput.ts"
import type { QueryEntries } from "../request/PageInput.ts"
import { formatInstant } from "../time/Instant.ts"
import { requireRole } from "./Role.ts"
import type { Role } from "./Role.ts"
import { clientId, refusalV2, unlimitedPlan } from "./Workspace.ts"
import type { Plan, Workspace } from "./Workspace.ts"
import { WorkspaceStore } from "./WorkspaceStore.ts"
import type { WorkspaceChange } from "./WorkspaceStore.ts"

const Amount = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

/** A Plan in a request; every field is required. */
export const PlanInput = Schema.Struct({
  name: textBetween(1, 100),
  messages_remaining: Schema.NullOr(Amount),
  reminders: Schema.Boolean,
  qr_code_api: Schema.Boolean,
  max_numbers: Schema.NullOr(Amount),
  media_storage_bytes: Amount,
})

export const WorkspaceBody = Schema.Struct({
  name: textBetween(1, 100),
  demo: Schema.optionalKey(Schema.Boolean),
  api_v2_enabled: Schema.optionalKey(Schema.Boolean),
  plan: Schema.optionalKey(Schema.NullOr(PlanInput)),
})

export const WorkspacePatch = Schema.Struct({
  name: Schema.optionalKey(textBetween(1, 100)),
  demo: Schema.optionalKey(Schema.Boolean),
  account_disabled: Schema.optionalKey(Schema.Boolean),
  api_v2_enabled: Schema.optionalKey(Schema.Boolean),
  plan: Schema.optionalKey(Schema.NullOr(PlanInput)),
})

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

const planJson = (plan: Plan | null) =>
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

export const workspaceJson = (workspace: Workspace) => ({
  id: workspace.id,
  name: workspace.name,
  client_id: clientId(workspace),
  demo: workspace.demo,
  account_disabled: workspace.accountDisabled,
  api_v2_enabled: workspace.apiV2Enabled,
  plan: planJson(workspace.plan),
  created_at: formatInstant(workspace.createdAt),
})

export type WorkspaceJson = ReturnType<typeof workspaceJson>

type Failure = Refusal | StoreUnavailable

/** Whether a request with a key of this workspace counts against the key's limits. */
const admits = (workspace: Workspace): boolean => refusalV2(workspace) === undefined

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
    delete(
      role: Role,
      id: WorkspaceId | undefined,
    ): Effect.Effect<{ readonly id: number; readonly deleted: true }, Failure>
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
          const counts = refusalV2({ ...workspace, deletedAt: null }) === undefined
          return workspaceJson(yield* store.insert(workspace, counts))
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
