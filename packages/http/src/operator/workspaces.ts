/** Workspaces (contract: Workspaces). */
import {
  DeletedJson,
  PageInput,
  WorkspaceBody,
  WorkspaceJson,
  WorkspacePatch,
  Workspaces,
  pageJson,
} from "@messaging-service/core"
import { Effect } from "effect"
import { examples, pageOf } from "../openapi/examples.ts"
import { asGiven, json, query } from "../route/Entry.ts"
import { operatorRoute, workspacePath, workspacesPath } from "./OperatorRoute.ts"

const tag = "Workspaces"

export const workspaceRoutes = Effect.gen(function* () {
  const workspaces = yield* Workspaces

  return [
    operatorRoute({
      method: "POST",
      path: workspacesPath,
      id: "createWorkspace",
      tag,
      summary: "Create a workspace",
      request: json(WorkspaceBody, { name: "Example" }, asGiven),
      status: 201,
      success: "The workspace.",
      answer: WorkspaceJson,
      example: examples.workspace,
      refused: ["role_required"],
      handler: ({ request, role }) => workspaces.create(role, request),
    }),
    operatorRoute({
      method: "GET",
      path: workspacesPath,
      id: "listWorkspaces",
      tag,
      summary: "List workspaces",
      about: "Newest first.",
      request: query(PageInput, asGiven),
      success: "A page of workspaces.",
      answer: pageJson(WorkspaceJson),
      example: pageOf(examples.workspace),
      handler: ({ request }) => workspaces.list(request),
    }),
    operatorRoute({
      method: "GET",
      path: workspacePath,
      id: "getWorkspace",
      tag,
      summary: "Read a workspace",
      success: "The workspace.",
      answer: WorkspaceJson,
      example: examples.workspace,
      refused: ["workspace_not_found"],
      handler: ({ id }) => workspaces.get(id("id")),
    }),
    operatorRoute({
      method: "PATCH",
      path: workspacePath,
      id: "updateWorkspace",
      tag,
      summary: "Change a workspace",
      request: json(WorkspacePatch, { account_disabled: true }, asGiven),
      success: "The workspace as it is now.",
      answer: WorkspaceJson,
      example: { ...examples.workspace, account_disabled: true },
      refused: ["workspace_not_found", "role_required"],
      handler: ({ id, request, role }) => workspaces.update(role, id("id"), request),
    }),
    operatorRoute({
      method: "DELETE",
      path: workspacePath,
      id: "deleteWorkspace",
      tag,
      summary: "Delete a workspace",
      about: "Its keys stop, its waiting messages are cancelled, its webhook endpoints go.",
      success: "It is gone.",
      answer: DeletedJson,
      example: { id: 1, deleted: true },
      refused: ["workspace_not_found", "role_required"],
      handler: ({ id, role }) => workspaces.delete(role, id("id")),
    }),
  ]
})
