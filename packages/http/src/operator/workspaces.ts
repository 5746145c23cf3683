/** Workspaces, with their keys and contacts, for the operator (contract: Workspaces, Keys, Contacts). */
import {
  clientId,
  ContactBody,
  Contacts,
  described,
  KeyBody,
  Keys,
  PageInput,
  WorkspaceBody,
  WorkspacePatch,
  Workspaces,
} from "@messaging-service/core"
import type {
  ApiKey,
  ChangeWorkspace,
  CreateContact,
  CreateKey,
  CreateWorkspace,
  ListPage,
  Workspace,
} from "@messaging-service/core"
import { Effect, Schema } from "effect"
import {
  jsonBody,
  deleted,
  DeletedJson,
  json,
  listOf,
  pageBody,
  query,
  page,
  pageJson,
  IdJson,
  Time,
} from "../Entry.ts"
import { examples } from "../openapi/examples.ts"
import { keyFields, shownKey } from "../v2/me.ts"
import { operatorRoute, workspacePath, workspacesPath } from "./pipeline.ts"
import type { OperatorRoute } from "./pipeline.ts"

const PlanJson = Schema.Struct({
  name: Schema.String,
  messagesRemaining: described(
    Schema.NullOr(Schema.Int),
    "Messages that the plan still accepts; null for unlimited.",
  ),
  reminders: Schema.Boolean,
  qrCodeApi: Schema.Boolean,
  maxNumbers: described(Schema.NullOr(Schema.Int), "Maximum of numbers; null for unlimited."),
  mediaStorageBytes: Schema.Int,
}).annotate({ identifier: "Plan" })

const WorkspaceJson = Schema.Struct({
  id: IdJson,
  name: Schema.String,
  clientId: Schema.Int.annotate({ description: "What version 1 clients send as `client_id`." }),
  demo: Schema.Boolean,
  accountDisabled: Schema.Boolean,
  apiV2Enabled: Schema.Boolean,
  plan: described(Schema.NullOr(PlanJson), "Null: no active plan, so nothing that a plan allows."),
  retentionDays: described(
    Schema.NullOr(Schema.Int),
    "Days from the end of a message to its erasure; null for the service's own setting alone. The lower value applies.",
  ),
  createdAt: Time,
}).annotate({ identifier: "Workspace" })

const shownWorkspace = (workspace: Workspace) => ({ ...workspace, clientId: clientId(workspace) })

const route = operatorRoute("Workspaces")

export const workspaceRoutes: ReadonlyArray<OperatorRoute> = [
  route(`POST ${workspacesPath}`, {
    id: "createWorkspace",
    right: "operator",
    summary: "Create a workspace",
    request: json<CreateWorkspace>()(WorkspaceBody, { name: "Example" }),
    status: 201,
    success: "The workspace.",
    answer: jsonBody(WorkspaceJson, examples.workspace),
    refused: ["role_required"],
    handler: Effect.fnUntraced(function* createWorkspace({ request, role }) {
      const workspaces = yield* Workspaces
      return shownWorkspace(yield* workspaces.create(role, request))
    }),
  }),
  route(`GET ${workspacesPath}`, {
    id: "listWorkspaces",
    right: "operator",
    summary: "List workspaces",
    about: "Newest first.",
    request: query<ListPage>()(PageInput),
    success: "A page of workspaces.",
    answer: pageBody(WorkspaceJson, examples.workspace),
    handler: Effect.fnUntraced(function* listWorkspaces({ request }) {
      const workspaces = yield* Workspaces
      return pageJson(yield* workspaces.list(request), shownWorkspace)
    }),
  }),
  route(`GET ${workspacePath}`, {
    id: "getWorkspace",
    right: "read",
    summary: "Read a workspace",
    success: "The workspace.",
    answer: jsonBody(WorkspaceJson, examples.workspace),
    refused: ["workspace_not_found"],
    handler: Effect.fnUntraced(function* getWorkspace({ id }) {
      const workspaces = yield* Workspaces
      return shownWorkspace(yield* workspaces.get(id("id")))
    }),
  }),
  route(`PATCH ${workspacePath}`, {
    id: "updateWorkspace",
    right: "operator",
    summary: "Change a workspace",
    request: json<ChangeWorkspace>()(WorkspacePatch, { account_disabled: true }),
    success: "The workspace as it is now.",
    answer: jsonBody(WorkspaceJson, { ...examples.workspace, account_disabled: true }),
    refused: ["workspace_not_found", "role_required"],
    handler: Effect.fnUntraced(function* updateWorkspace({ id, request, role }) {
      const workspaces = yield* Workspaces
      return shownWorkspace(yield* workspaces.update(role, id("id"), request))
    }),
  }),
  route(`DELETE ${workspacePath}`, {
    id: "deleteWorkspace",
    right: "operator",
    summary: "Delete a workspace",
    about: "Stops its keys, cancels its waiting messages and removes its webhook endpoints.",
    success: "Deleted.",
    answer: jsonBody(DeletedJson, deleted(1)),
    refused: ["workspace_not_found", "role_required"],
    handler: Effect.fnUntraced(function* deleteWorkspace({ id, role }) {
      const workspaces = yield* Workspaces
      return deleted(yield* workspaces.delete(role, id("id")))
    }),
  }),
]

// Keys

const KeyJson = Schema.Struct({
  id: IdJson,
  version: Schema.Literals([1, 2]),
  ...keyFields,
  expiresAt: described(Schema.NullOr(Time), "Null for never."),
  last4: described(Schema.String, "Last four characters of the key."),
  createdAt: Time,
  lastUsedAt: Schema.NullOr(Time),
  lastUsedIp: Schema.NullOr(Schema.String),
  revokedAt: Schema.NullOr(Time),
}).annotate({ identifier: "Key" })

/** The answer to a key's creation. */
const NewKeyJson = Schema.Struct({
  ...KeyJson.fields,
  key: described(Schema.String, "The whole key, shown only here."),
}).annotate({ identifier: "NewKey" })

/** The answer to a key's revocation: version 1 keys are deleted. */
const RevokedKeyJson = Schema.Union([
  Schema.Struct({ id: IdJson, revoked: Schema.Literal(true) }),
  DeletedJson,
]).annotate({ identifier: "RevokedKey" })

const revokedJson = ({ id, version }: ApiKey): typeof RevokedKeyJson.Type =>
  version === 1 ? deleted(id) : { id, revoked: true }

const keyRoute = operatorRoute("Keys")

const example = {
  id: 9,
  version: 2,
  name: "Shop",
  mode: "live",
  scopes: ["messages:send", "messages:read"],
  limited_to_numbers: false,
  number_ids: [],
  expires_at: null,
  last4: "Qx7z",
  created_at: "2030-01-31T07:00:00Z",
  last_used_at: null,
  last_used_ip: null,
  revoked_at: null,
}

export const keyRoutes: ReadonlyArray<OperatorRoute> = [
  keyRoute(`POST ${workspacePath}/keys`, {
    id: "createKey",
    right: "administrate",
    summary: "Create a key",
    about: "At most 10 active keys of each version.",
    request: json<CreateKey>()(KeyBody, { version: 2, name: "Shop", scopes: "all" }),
    status: 201,
    success: "The whole key, shown only now.",
    answer: jsonBody(NewKeyJson, { ...example, key: `svc_live_${"x".repeat(34)}Qx7z` }),
    refused: ["key_limit_reached", "number_not_found"],
    handler: Effect.fnUntraced(function* createKey({ id, request, role }) {
      const keys = yield* Keys
      const { key, record } = yield* keys.create(role, id("id"), request)
      return { ...shownKey(record), key }
    }),
  }),
  keyRoute(`GET ${workspacePath}/keys`, {
    id: "listKeys",
    right: "administrate",
    summary: "List keys",
    about: "Oldest first, including revoked keys. Lists only keys that the acting role may see.",
    success: "The keys.",
    answer: listOf(KeyJson, example),
    handler: Effect.fnUntraced(function* listKeys({ id, role }) {
      const keys = yield* Keys
      const all = yield* keys.list(role, id("id"))
      return { data: all.map(shownKey) }
    }),
  }),
  keyRoute(`DELETE ${workspacePath}/keys/{key_id}`, {
    id: "revokeKey",
    right: "administrate",
    summary: "Revoke a key",
    about:
      "Revokes a version 2 key with the webhook endpoints that it created; deletes a version 1 key.",
    success: "The key no longer works.",
    answer: jsonBody(RevokedKeyJson, { id: 9, revoked: true }),
    refused: ["key_not_found"],
    handler: Effect.fnUntraced(function* revokeKey({ id, role }) {
      const keys = yield* Keys
      return revokedJson(yield* keys.revoke(role, id("id"), id("key_id")))
    }),
  }),
]

// Contacts

const ContactJson = Schema.Struct({
  id: IdJson,
  name: Schema.String,
  phone: described(
    Schema.NullOr(Schema.String),
    "E.164 with a leading +; null when there is a username.",
  ),
  username: described(Schema.NullOr(Schema.String), "As it was given; null when there is a phone."),
  createdAt: Time,
}).annotate({ identifier: "Contact" })

const contactRoute = operatorRoute("Contacts")

export const contactRoutes: ReadonlyArray<OperatorRoute> = [
  contactRoute(`POST ${workspacePath}/contacts`, {
    id: "createContact",
    right: "administrate",
    summary: "Save a contact",
    request: json<CreateContact>()(ContactBody, { name: "Ada", phone: "+15550001234" }),
    status: 201,
    success: "The contact.",
    answer: jsonBody(ContactJson, examples.contact),
    refused: ["invalid_phone", "invalid_username", "contact_exists"],
    handler: Effect.fnUntraced(function* createContact({ id, request, role }) {
      const contacts = yield* Contacts
      return yield* contacts.create(role, id("id"), request)
    }),
  }),
  contactRoute(`GET ${workspacePath}/contacts`, {
    id: "listContacts",
    right: "read",
    summary: "List contacts",
    about: "Newest first.",
    request: query<ListPage>()(PageInput),
    success: "A page of contacts.",
    answer: pageBody(ContactJson, examples.contact),
    handler: Effect.fnUntraced(function* listContacts({ id, request, role }) {
      const contacts = yield* Contacts
      return page(yield* contacts.list(role, id("id"), request))
    }),
  }),
  contactRoute(`DELETE ${workspacePath}/contacts/{contact_id}`, {
    id: "deleteContact",
    right: "administrate",
    summary: "Delete a contact",
    success: "Deleted.",
    answer: jsonBody(DeletedJson, deleted(6)),
    refused: [{ code: "contact_not_found", inPath: true }],
    handler: Effect.fnUntraced(function* deleteContact({ id, role }) {
      const contacts = yield* Contacts
      return deleted(yield* contacts.delete(role, id("id"), id("contact_id")))
    }),
  }),
]
