/**
 * Operations of version 2, done in a workspace by the operator or its portal (contract: Operations of
 * version 2 in a workspace). Each is the entry of version 2 itself, called by a trusted caller; messages
 * have a reference besides.
 */
import { Caller, Chats, refuse, Workspaces } from "@messaging-service/core"
import type { OperationName } from "@messaging-service/core"
import { repeatedAnswer } from "../IncomingRequest.ts"
import { Effect } from "effect"
import { routeAt } from "../RouteTable.ts"
import type { MethodAndPath } from "../RouteTable.ts"
import { workspaceMessageRoutes } from "../v2/messages.ts"
import type { RouteV2 } from "../v2/pipeline.ts"
import { ModeParameter, parseMode, rolesWith, workspacePath } from "./pipeline.ts"
import type { OperatorRoute, Right } from "./pipeline.ts"

interface WorkspaceOperation {
  readonly of: OperationName
  readonly id: string
  readonly at: MethodAndPath
  readonly right: Right
  readonly tag: string
}

const operation = (
  of: OperationName,
  right: Right,
  tag: string,
  id: string,
  at: MethodAndPath,
): WorkspaceOperation => ({ of, right, tag, id, at })

const messages = "Workspace messages"
const reminders = "Workspace reminders"
const media = "Workspace media"
const checks = "Workspace number checks"
const webhooks = "Workspace webhooks"
const chats = "Workspace chats"

const reminderPath = `${workspacePath}/reminders` as const
const mediaPath = `${workspacePath}/media` as const
const checkPath = `${workspacePath}/number-checks` as const
const receivedPath = `${workspacePath}/received-messages` as const
const chatPath = `${workspacePath}/chats` as const
const webhookPath = `${workspacePath}/webhooks/{webhook_id}` as const

const operations: ReadonlyArray<WorkspaceOperation> = [
  operation(
    "listMessages",
    "read",
    messages,
    "listWorkspaceMessages",
    `GET ${workspacePath}/messages`,
  ),
  operation(
    "sendMessage",
    "send",
    messages,
    "sendWorkspaceMessage",
    `POST ${workspacePath}/messages`,
  ),
  operation(
    "sendBatch",
    "send",
    messages,
    "sendWorkspaceBatch",
    `POST ${workspacePath}/messages/batch`,
  ),
  operation(
    "getMessage",
    "read",
    messages,
    "getWorkspaceMessage",
    `GET ${workspacePath}/messages/{message_id}`,
  ),
  operation(
    "connectNumber",
    "administrate",
    "Workspace numbers",
    "linkNumber",
    `POST ${workspacePath}/numbers/link`,
  ),
  operation(
    "createReminder",
    "administrate",
    reminders,
    "createWorkspaceReminder",
    `POST ${reminderPath}`,
  ),
  operation("listReminders", "read", reminders, "listWorkspaceReminders", `GET ${reminderPath}`),
  operation(
    "getReminder",
    "read",
    reminders,
    "getWorkspaceReminder",
    `GET ${reminderPath}/{reminder_id}`,
  ),
  operation(
    "updateReminder",
    "administrate",
    reminders,
    "updateWorkspaceReminder",
    `PATCH ${reminderPath}/{reminder_id}`,
  ),
  operation(
    "deleteReminder",
    "administrate",
    reminders,
    "deleteWorkspaceReminder",
    `DELETE ${reminderPath}/{reminder_id}`,
  ),
  operation("uploadMedia", "send", media, "uploadWorkspaceMedia", `POST ${mediaPath}`),
  operation("listMedia", "read", media, "listWorkspaceMedia", `GET ${mediaPath}`),
  operation("getMedia", "read", media, "getWorkspaceMedia", `GET ${mediaPath}/{media_id}`),
  operation("deleteMedia", "send", media, "deleteWorkspaceMedia", `DELETE ${mediaPath}/{media_id}`),
  operation("createNumberCheck", "send", checks, "createWorkspaceNumberCheck", `POST ${checkPath}`),
  operation("listNumberChecks", "read", checks, "listWorkspaceNumberChecks", `GET ${checkPath}`),
  operation(
    "getNumberCheck",
    "read",
    checks,
    "getWorkspaceNumberCheck",
    `GET ${checkPath}/{check_id}`,
  ),
  operation(
    "listNumberCheckResults",
    "read",
    checks,
    "listWorkspaceNumberCheckResults",
    `GET ${checkPath}/{check_id}/results`,
  ),
  operation(
    "createWebhook",
    "administrate",
    webhooks,
    "createWorkspaceWebhook",
    `POST ${workspacePath}/webhooks`,
  ),
  operation(
    "deleteWebhook",
    "administrate",
    webhooks,
    "deleteWorkspaceWebhook",
    `DELETE ${webhookPath}`,
  ),
  operation(
    "rotateWebhookSecret",
    "administrate",
    webhooks,
    "rotateWorkspaceWebhookSecret",
    `POST ${webhookPath}/rotate-secret`,
  ),
  operation(
    "testWebhook",
    "administrate",
    webhooks,
    "testWorkspaceWebhook",
    `POST ${webhookPath}/test`,
  ),
  operation(
    "listReceivedMessages",
    "read",
    chats,
    "listWorkspaceReceivedMessages",
    `GET ${receivedPath}`,
  ),
  operation(
    "getReceivedMessage",
    "read",
    chats,
    "getWorkspaceReceivedMessage",
    `GET ${receivedPath}/{received_message_id}`,
  ),
  operation(
    "deleteReceivedMessage",
    "administrate",
    chats,
    "deleteWorkspaceReceivedMessage",
    `DELETE ${receivedPath}/{received_message_id}`,
  ),
  operation("listChats", "read", chats, "listWorkspaceChats", `GET ${chatPath}`),
  operation("getChat", "read", chats, "getWorkspaceChat", `GET ${chatPath}/{chat_id}`),
  operation(
    "deleteChat",
    "administrate",
    chats,
    "deleteWorkspaceChat",
    `DELETE ${chatPath}/{chat_id}`,
  ),
  operation(
    "listChatMessages",
    "read",
    chats,
    "listWorkspaceChatMessages",
    `GET ${chatPath}/{chat_id}/messages`,
  ),
  operation(
    "markChatRead",
    "send",
    chats,
    "markWorkspaceChatRead",
    `POST ${chatPath}/{chat_id}/read`,
  ),
  operation(
    "getNumberRestrictions",
    "read",
    "Workspace numbers",
    "getWorkspaceNumberRestrictions",
    `GET ${workspacePath}/numbers/{number_id}/restrictions`,
  ),
]

const roleRequired = refuse("role_required")
const conversationsOff = refuse("conversations_not_enabled")

/** The name of the path's last id, which version 2 calls `id`. */
const ownIdName = (path: string): string =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name).at(-1) ?? ""

const inWorkspace = (entry: RouteV2, { at, id: name, right, tag }: WorkspaceOperation) => {
  const { about, answer, refused, request, status, success, summary } = entry
  const route: OperatorRoute = {
    ...routeAt(at),
    id: name,
    tag,
    right,
    summary,
    ...(about === undefined ? {} : { about }),
    ...(request === undefined ? {} : { request }),
    ...(status === undefined ? {} : { status }),
    ...(entry.ofConversations === true
      ? { refused: ["conversations_not_enabled", ...(refused ?? [])] }
      : refused === undefined
        ? {}
        : { refused }),
    ...(entry.idempotent === true ? { idempotent: true } : {}),
    success,
    answer,
    parameters: ModeParameter,
    handler: Effect.fnUntraced(function* handleInWorkspace(input) {
      const { idempotency, incoming, request: value, role } = input
      // The path is one of the table: its names are known only there.
      const id = input.id as <Id extends number>(name: string) => Id | undefined
      const workspaces = yield* Workspaces
      const workspace = yield* workspaces.get(id("id"))
      if (!rolesWith[right].includes(role)) return yield* roleRequired
      const caller = Caller.trusted(workspace, {
        mode: yield* Effect.fromResult(parseMode(incoming)),
      })
      if (entry.ofConversations === true && !(yield* Chats.use((all) => all.areOn(caller)))) {
        return yield* conversationsOff
      }
      const ownId = <Id extends number>() => id<Id>(ownIdName(at))
      const asked = { caller, id: ownId, request: value, idempotency }
      if (entry.idempotent !== true) return yield* entry.handler(asked)
      return repeatedAnswer(incoming, yield* entry.handler(asked))
    }),
  }
  return route
}

/** Those of the operations that the table of version 2 has. */
export const workspaceOperations = (routes: ReadonlyArray<RouteV2>): ReadonlyArray<OperatorRoute> =>
  operations.flatMap((one) => {
    const isServed = routes.some(({ id }) => id === one.of)
    const entry = isServed
      ? [...workspaceMessageRoutes, ...routes].find(({ id }) => id === one.of)
      : undefined
    return entry === undefined ? [] : inWorkspace(entry, one)
  })
