/** Conversations of a workspace: whether they are on, and how (contract: Turning them on). */
import {
  ConversationBody,
  Conversations,
  described,
  instantOrNull,
  receivedMediaModes,
} from "@messaging-service/core"
import type { SetConversations, StoredConversations } from "@messaging-service/core"
import { Effect, Schema } from "effect"
import { json, jsonBody, Time } from "../Entry.ts"
import { operatorRoute, workspacePath } from "./pipeline.ts"
import type { OperatorRoute } from "./pipeline.ts"

const SettingsJson = Schema.Struct({
  groups: Schema.Boolean,
  retentionDays: Schema.Int,
  media: Schema.Literals(receivedMediaModes),
  maxFileBytes: Schema.Int,
  maxStorageBytes: Schema.Int,
  holdNewChats: Schema.Boolean,
  since: described(Time, "When they were turned on."),
}).annotate({ identifier: "ConversationSettings" })

const ConversationsJson = Schema.Struct({
  ...SettingsJson.fields,
  stored: described(
    Schema.Struct({
      messages: Schema.Int,
      bytes: described(Schema.Int, "Of received files."),
      oldestAt: described(
        Schema.NullOr(Schema.String),
        "When the oldest was received; null when there are none.",
      ),
    }),
    "What is kept of what people wrote.",
  ),
}).annotate({ identifier: "Conversations" })

const shownConversations = ({ stored, ...settings }: StoredConversations) => ({
  ...settings,
  stored: { ...stored, oldestAt: instantOrNull(stored.oldestAt) },
})

const OffJson = Schema.Struct({ deleted: Schema.Literal(true) }).annotate({
  identifier: "ConversationsOff",
})

const settingsExample = {
  groups: false,
  retention_days: 30,
  media: "on_arrival",
  max_file_bytes: 16_777_216,
  max_storage_bytes: 5_368_709_120,
  hold_new_chats: false,
  since: "2030-01-31T07:00:00Z",
}
const example = { ...settingsExample, stored: { messages: 0, bytes: 0, oldest_at: null } }

const route = operatorRoute("Conversations")
const path = `${workspacePath}/conversations` as const

export const conversationRoutes: ReadonlyArray<OperatorRoute> = [
  route(`PUT ${path}`, {
    id: "setConversations",
    right: "operator",
    summary: "Turn conversations on",
    about:
      "Keys and webhook endpoints of the workspace may then name more scopes and event types. Replaces all settings.",
    request: json<SetConversations>()(ConversationBody, { groups: true }),
    success: "The settings.",
    answer: jsonBody(SettingsJson, settingsExample),
    handler: Effect.fnUntraced(function* setConversations({ id, request, role }) {
      const conversations = yield* Conversations
      return yield* conversations.put(role, id("id"), request)
    }),
  }),
  route(`GET ${path}`, {
    id: "getConversations",
    right: "administrate",
    summary: "Get the settings of conversations",
    success: "The settings, and what is stored.",
    answer: jsonBody(ConversationsJson, example),
    refused: ["conversations_not_enabled"],
    handler: Effect.fnUntraced(function* getConversations({ id, role }) {
      const conversations = yield* Conversations
      return shownConversations(yield* conversations.get(role, id("id")))
    }),
  }),
  route(`DELETE ${path}`, {
    id: "deleteConversations",
    right: "operator",
    summary: "Turn conversations off",
    about: "At once; what was received is erased.",
    success: "They are off.",
    answer: jsonBody(OffJson, { deleted: true }),
    refused: ["conversations_not_enabled"],
    handler: Effect.fnUntraced(function* deleteConversations({ id, role }) {
      const conversations = yield* Conversations
      yield* conversations.remove(role, id("id"))
      return { deleted: true } as const
    }),
  }),
]
