/** What operators do with a workspace's messages (contract: Workspace messages). */
import {
  CancelBody,
  MediaLinks,
  MessageOperations,
  connectionReasons,
  described,
  timelineTypes,
  waitReasons,
} from "@messaging-service/core"
import type { CancelMessages } from "@messaging-service/core"
import { Clock, Effect, Schema } from "effect"
import { examples } from "../openapi/examples.ts"
import { jsonBody, IdJson, json, Time } from "../Entry.ts"
import { WorkspaceMessageJson, shownMessage } from "../v2/messages.ts"
import { operatorRoute, workspacePath } from "./pipeline.ts"
import type { OperatorRoute } from "./pipeline.ts"

const route = operatorRoute("Workspace messages")

const messagePath = `${workspacePath}/messages/{message_id}` as const

const WaitingJson = Schema.Struct({
  for: described(
    Schema.Array(
      Schema.Struct({
        reason: Schema.Literals(waitReasons),
        until: described(Schema.NullOr(Time), "When it ends by itself; null when unknown."),
        because: described(
          Schema.NullOr(Schema.Literals(connectionReasons)),
          "Why the workspace or number sends nothing; else null.",
        ),
      }),
    ),
    "What has to end first. Empty: only messages before it, or a worker's next look.",
  ),
  ahead: described(
    Schema.Int,
    "Due messages of its number that leave before it, counted up to 1,000.",
  ),
}).annotate({ identifier: "MessageWaiting" })

const EntryJson = Schema.Struct({
  at: Time,
  type: Schema.Literals(timelineTypes),
  attempt: described(Schema.NullOr(Schema.Int), "Of a delivery, from 1; else null."),
  eventId: Schema.NullOr(Schema.String),
  webhookId: described(
    Schema.NullOr(IdJson),
    "The endpoint of a delivery; null for a callback, and for other entries.",
  ),
  url: described(
    Schema.NullOr(Schema.String),
    "The receiver of a delivery; members see it without its query.",
  ),
  responseStatus: Schema.NullOr(Schema.Int),
  durationMillis: Schema.NullOr(Schema.Int),
  nextAttemptAt: Schema.NullOr(Time),
  error: Schema.NullOr(
    Schema.Struct({ code: Schema.String, message: Schema.NullOr(Schema.String) }),
  ),
}).annotate({ identifier: "TimelineEntry" })

const TimelineJson = Schema.Struct({
  message: WorkspaceMessageJson,
  campaign: described(
    Schema.NullOr(Schema.Struct({ id: IdJson, row: Schema.Int })),
    "The campaign and its row that it was made of; else null.",
  ),
  waiting: described(
    Schema.NullOr(WaitingJson),
    "Null once it waits no more, and where its number was removed.",
  ),
  data: described(Schema.Array(EntryJson), "At most 200, oldest first."),
  truncated: described(Schema.Boolean, "True when older attempts and deliveries are left out."),
}).annotate({ identifier: "Timeline" })

const CancelledManyJson = Schema.Struct({
  cancelled: Schema.Int,
  notCancellable: described(
    Schema.Int,
    "Sent, ended or unknown by now, or still being sent after 5 seconds.",
  ),
  more: described(Schema.Boolean, "True when the filter leaves others: ask again."),
}).annotate({ identifier: "MessagesCancelled" })

const step = {
  at: "2030-01-31T07:00:00Z",
  type: "accepted",
  attempt: null,
  event_id: null,
  webhook_id: null,
  url: null,
  response_status: null,
  duration_ms: null,
  next_attempt_at: null,
  error: null,
}

export const messageRoutes: ReadonlyArray<OperatorRoute> = [
  route(`GET ${messagePath}/timeline`, {
    id: "getMessageTimeline",
    right: "read",
    summary: "See what happened to a message",
    about:
      "Why it waits, and every step: attempts that did not end it, its event, ticks, and each attempt to deliver the event. Live or test.",
    success: "The message and its timeline.",
    answer: jsonBody(TimelineJson, {
      message: { ...examples.message, ...examples.workspaceOnly },
      campaign: null,
      waiting: { for: [{ reason: "paused", until: null, because: "paused" }], ahead: 3 },
      data: [step],
      truncated: false,
    }),
    refused: ["message_not_found"],
    handler: Effect.fnUntraced(function* getMessageTimeline({ id, role }) {
      const operations = yield* MessageOperations
      const { link } = yield* MediaLinks
      const { entries, message, truncated, waiting } = yield* operations.timeline(
        role,
        id("id"),
        id("message_id"),
      )
      return {
        message: shownMessage(message, yield* Clock.currentTimeMillis, link),
        campaign: message.campaign,
        waiting,
        data: entries,
        truncated,
      }
    }),
  }),
  route(`POST ${workspacePath}/messages/cancel`, {
    id: "cancelWorkspaceMessages",
    right: "send",
    summary: "Cancel many waiting messages",
    about:
      "At most 1,000 in a call, the first by id, each with its event. Waits 5 seconds in all for those that are being sent. Repeating it is harmless.",
    request: json<CancelMessages>()(CancelBody, { filter: { status: "scheduled" } }),
    success: "How many were cancelled.",
    answer: jsonBody(CancelledManyJson, { cancelled: 998, not_cancellable: 2, more: true }),
    refused: ["invalid_datetime", "invalid_phone"],
    handler: Effect.fnUntraced(function* cancelWorkspaceMessages({ id, request, role }) {
      const operations = yield* MessageOperations
      return yield* operations.cancelMany(role, id("id"), request)
    }),
  }),
  route(`DELETE ${messagePath}`, {
    id: "cancelWorkspaceMessage",
    right: "send",
    summary: "Cancel a waiting message",
    about: "As with the workspace's own key; live or test.",
    success: "The cancelled message.",
    answer: jsonBody(WorkspaceMessageJson, { ...examples.cancelled, ...examples.workspaceOnly }),
    refused: ["message_not_found", "not_cancellable"],
    handler: Effect.fnUntraced(function* cancelWorkspaceMessage({ id, role }) {
      const operations = yield* MessageOperations
      const { link } = yield* MediaLinks
      const message = yield* operations.cancel(role, id("id"), id("message_id"))
      return shownMessage(message, yield* Clock.currentTimeMillis, link)
    }),
  }),
]
