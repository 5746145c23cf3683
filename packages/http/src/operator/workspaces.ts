/** Workspaces (contract: Workspaces). */
import {
  IdJson,
  PageInput,
  TimeJson,
  WorkspaceBody,
  WorkspacePatch,
  Workspaces,
  clientId,
  described,
  formatInstant,
} from "@messaging-service/core"
import type { ChangeWorkspace, CreateWorkspace, ListPage, Workspace } from "@messaging-service/core"
import { Effect, Schema } from "effect"
import { examples } from "../openapi/examples.ts"
import {
  DeletedJson,
  asCommand,
  bodyOf,
  deleted,
  json,
  pageOf,
  query,
  shownPage,
} from "../route/Entry.ts"
import { operatorRoute, workspacePath, workspacesPath } from "./OperatorRoute.ts"

const PlanJson = Schema.Struct({
  name: Schema.String,
  messages_remaining: Schema.NullOr(Schema.Int).annotate({ description: "Null for unlimited." }),
  reminders: Schema.Boolean,
  qr_code_api: Schema.Boolean,
  max_numbers: Schema.NullOr(Schema.Int).annotate({ description: "Null for unlimited." }),
  media_storage_bytes: Schema.Int,
}).annotate({ identifier: "Plan" })

const WorkspaceJson = Schema.Struct({
  id: IdJson,
  name: Schema.String,
  client_id: Schema.Int.annotate({ description: "What version 1 clients send as `client_id`." }),
  demo: Schema.Boolean,
  account_disabled: Schema.Boolean,
  api_v2_enabled: Schema.Boolean,
  plan: described(Schema.NullOr(PlanJson), "Null: no active plan, nothing included."),
  retention_days: described(
    Schema.NullOr(Schema.Int),
    "Days after their end that messages are erased; null for `RETENTION_DAYS` alone. The lower holds.",
  ),
  created_at: TimeJson,
}).annotate({ identifier: "Workspace" })

const workspaceJson = (workspace: Workspace): typeof WorkspaceJson.Type => ({
  id: workspace.id,
  name: workspace.name,
  client_id: clientId(workspace),
  demo: workspace.demo,
  account_disabled: workspace.accountDisabled,
  api_v2_enabled: workspace.apiV2Enabled,
  plan: workspace.plan && {
    name: workspace.plan.name,
    messages_remaining: workspace.plan.messagesRemaining,
    reminders: workspace.plan.reminders,
    qr_code_api: workspace.plan.qrCodeApi,
    max_numbers: workspace.plan.maxNumbers,
    media_storage_bytes: workspace.plan.mediaStorageBytes,
  },
  retention_days: workspace.retentionDays,
  created_at: formatInstant(workspace.createdAt),
})

const route = operatorRoute("Workspaces")

export const workspaceRoutes = Effect.gen(function* () {
  const workspaces = yield* Workspaces

  return [
    route(`POST ${workspacesPath}`, {
      id: "createWorkspace",
      summary: "Create a workspace",
      request: json(WorkspaceBody, { name: "Example" }, asCommand<CreateWorkspace>),
      status: 201,
      success: "The workspace.",
      answer: bodyOf(WorkspaceJson, examples.workspace),
      refused: ["role_required"],
      handler: ({ request, role }) => Effect.map(workspaces.create(role, request), workspaceJson),
    }),
    route(`GET ${workspacesPath}`, {
      id: "listWorkspaces",
      summary: "List workspaces",
      about: "Newest first.",
      request: query(PageInput, asCommand<ListPage>),
      success: "A page of workspaces.",
      answer: pageOf(WorkspaceJson, examples.workspace),
      handler: ({ request }) => Effect.map(workspaces.list(request), shownPage(workspaceJson)),
    }),
    route(`GET ${workspacePath}`, {
      id: "getWorkspace",
      summary: "Read a workspace",
      success: "The workspace.",
      answer: bodyOf(WorkspaceJson, examples.workspace),
      refused: ["workspace_not_found"],
      handler: ({ id }) => Effect.map(workspaces.get(id("id")), workspaceJson),
    }),
    route(`PATCH ${workspacePath}`, {
      id: "updateWorkspace",
      summary: "Change a workspace",
      request: json(WorkspacePatch, { account_disabled: true }, asCommand<ChangeWorkspace>),
      success: "The workspace as it is now.",
      answer: bodyOf(WorkspaceJson, { ...examples.workspace, account_disabled: true }),
      refused: ["workspace_not_found", "role_required"],
      handler: ({ id, request, role }) =>
        Effect.map(workspaces.update(role, id("id"), request), workspaceJson),
    }),
    route(`DELETE ${workspacePath}`, {
      id: "deleteWorkspace",
      summary: "Delete a workspace",
      about: "Its keys stop, its waiting messages are cancelled, its webhook endpoints go.",
      success: "It is gone.",
      answer: bodyOf(DeletedJson, deleted(1)),
      refused: ["workspace_not_found", "role_required"],
      handler: ({ id, role }) => Effect.map(workspaces.delete(role, id("id")), deleted),
    }),
  ]
})
