/** A store that went back in time, and a workspace's messages (contract: Restored stores). */
import {
  HeldBody,
  IdJson,
  MediaLinks,
  MessageJson,
  MessageOperations,
  PageInput,
  Restoration,
  RestoredBody,
  described,
  messageJson,
} from "@messaging-service/core"
import type {
  HeldCount,
  ListPage,
  Message,
  SelectHeld,
  StoreRestored,
} from "@messaging-service/core"
import { Clock, Effect, Schema } from "effect"
import { examples } from "../openapi/examples.ts"
import {
  asCommand,
  bodyOf,
  json,
  listOf,
  optionalJson,
  pageOf,
  query,
  shownPage,
} from "../Entry.ts"
import { operatorRoute, workspacePath } from "./pipeline.ts"

const route = operatorRoute("Restored stores")

const EpochJson = Schema.Struct({
  epoch: described(Schema.Int, "Grows with each restore; 1 before the first."),
  held: described(Schema.Int, "Messages and reminders."),
}).annotate({ identifier: "Epoch" })

const HeldJson = Schema.Struct({
  workspace_id: IdJson,
  messages: Schema.Int,
  reminders: Schema.Int,
}).annotate({ identifier: "Held" })

const heldJson = ({ messages, reminders, workspaceId }: HeldCount): typeof HeldJson.Type => ({
  workspace_id: workspaceId,
  messages,
  reminders,
})

const more = described(Schema.Boolean, "Whether there are more: at most 1,000 a call.")

const ReleasedJson = Schema.Struct({ released: Schema.Int, more }).annotate({
  identifier: "HeldReleased",
})

const CancelledJson = Schema.Struct({ cancelled: Schema.Int, more }).annotate({
  identifier: "HeldCancelled",
})

const selecting = json(HeldBody, { filter: {} }, asCommand<SelectHeld>)

export const restoreRoutes = Effect.gen(function* () {
  const restoration = yield* Restoration
  const operations = yield* MessageOperations
  const { link } = yield* MediaLinks

  return [
    route("POST /admin/v1/store/restored", {
      id: "storeRestored",
      summary: "Say that the store went back in time",
      about:
        "After a restore, or when a standby that lagged took over: ids given before are not given again, and what waits is held.",
      request: optionalJson(RestoredBody, { above: 21300 }, asCommand<StoreRestored>),
      success: "The epoch that began, and how much is held.",
      answer: bodyOf(EpochJson, { epoch: 2, held: 83 }),
      refused: ["role_required", "already_restored"],
      handler: ({ request, role }) => restoration.restored(role, request),
    }),
    route("GET /admin/v1/held", {
      id: "listHeldWorkspaces",
      summary: "See what is held",
      success: "Each workspace of which anything is held.",
      answer: listOf(HeldJson, { workspace_id: 3, messages: 82, reminders: 1 }),
      refused: ["role_required"],
      handler: ({ role }) =>
        Effect.map(restoration.counts(role), (all) => ({ data: all.map(heldJson) })),
    }),
    route(`GET ${workspacePath}/held`, {
      id: "listHeld",
      summary: "List a workspace's held messages",
      request: query(PageInput, asCommand<ListPage>),
      success: "A page of messages, newest first.",
      answer: pageOf(MessageJson, examples.message),
      handler: Effect.fnUntraced(function* ({ id, request, role }) {
        const page = yield* restoration.list(role, id("id"), request)
        const now = yield* Clock.currentTimeMillis
        return shownPage((message: Message) => messageJson(message, now, link))(page)
      }),
    }),
    route(`POST ${workspacePath}/held/release`, {
      id: "releaseHeld",
      summary: "Let held messages leave",
      about:
        "Messages leave in the order in which they fell due. A reminder that a filter finds goes on with its next run; those that it missed are not made up.",
      request: selecting,
      success: "How many messages and reminders go on.",
      answer: bodyOf(ReleasedJson, { released: 83, more: false }),
      refused: ["invalid_datetime"],
      handler: ({ id, request, role }) =>
        Effect.map(restoration.release(role, id("id"), request), ({ count, more: left }) => ({
          released: count,
          more: left,
        })),
    }),
    route(`POST ${workspacePath}/held/cancel`, {
      id: "cancelHeld",
      summary: "Cancel held messages",
      about:
        "Each with its event. A reminder that a filter finds is not deleted: it goes on with its next run.",
      request: selecting,
      success: "How many messages were cancelled, and reminders went on.",
      answer: bodyOf(CancelledJson, { cancelled: 83, more: false }),
      refused: ["invalid_datetime"],
      handler: ({ id, request, role }) =>
        Effect.map(restoration.cancel(role, id("id"), request), ({ count, more: left }) => ({
          cancelled: count,
          more: left,
        })),
    }),
    operatorRoute("Workspace messages")(`DELETE ${workspacePath}/messages/{message_id}`, {
      id: "cancelWorkspaceMessage",
      summary: "Cancel a waiting message",
      about: "As the workspace does with its key; of either mode.",
      success: "The cancelled message.",
      answer: bodyOf(MessageJson, examples.cancelled),
      refused: ["message_not_found", "not_cancellable"],
      handler: Effect.fnUntraced(function* ({ id, role }) {
        const message = yield* operations.cancel(role, id("id"), id("message_id"))
        return messageJson(message, yield* Clock.currentTimeMillis, link)
      }),
    }),
  ]
})
