/** Messages of version 2 (contract: Messages). */
import {
  BatchBody,
  ListQuery,
  MediaLinks,
  Messages,
  SendBody,
  described,
  mediaTypes,
  messageErrorCodes,
  messageStatuses,
  platforms,
  messageJson,
} from "@messaging-service/core"
import type { ListMessages, Message, SendBatch, SendMessage } from "@messaging-service/core"
import { Clock, Effect, Schema } from "effect"
import { examples } from "../openapi/examples.ts"
import type { Refused } from "../openapi/Operation.ts"
import { bodyOf, IdJson, json, listOf, pageOf, query, pageJson, TimeJson } from "../Entry.ts"
import { routeV2 } from "./pipeline.ts"
import type { RouteV2 } from "./pipeline.ts"

/** The recipient that a message keeps (contract: Recipients). */
const RecipientJson = Schema.Union([
  Schema.Struct({
    phone: Schema.String,
    contact_id: described(Schema.NullOr(IdJson), "The saved contact with that phone."),
  }),
  Schema.Struct({ group: Schema.String }),
  Schema.Struct({ contact_id: IdJson, username: Schema.String }),
  Schema.Struct({ username: Schema.String }),
]).annotate({ identifier: "MessageRecipient" })

/** Unknown fields are null. */
export const MediaJson = Schema.Struct({
  media_id: Schema.NullOr(IdJson),
  url: described(
    Schema.NullOr(Schema.String),
    "Of a stored file: works for 26 hours; null once the file is gone.",
  ),
  type: Schema.NullOr(Schema.Literals(mediaTypes)),
  file_name: Schema.NullOr(Schema.String),
}).annotate({ identifier: "Media" })

/** The schema of what the core's `messageJson` makes. */
export const MessageJson = Schema.Struct({
  id: IdJson,
  status: Schema.Literals(messageStatuses),
  from: Schema.Struct({
    id: IdJson,
    phone: described(
      Schema.NullOr(Schema.String),
      "Digits with country code, no +: of the number while the message waits, then the phone that it left from. Null while the number was never linked.",
    ),
    platform: Schema.Literals(platforms),
  }),
  to: RecipientJson,
  text: described(Schema.String, "The text, or the caption of the media."),
  media: Schema.NullOr(MediaJson),
  send_at: Schema.NullOr(TimeJson),
  expires_at: Schema.NullOr(TimeJson),
  created_at: TimeJson,
  sent_at: Schema.NullOr(TimeJson),
  error: described(
    Schema.NullOr(
      Schema.Struct({ code: Schema.Literals(messageErrorCodes), message: Schema.String }),
    ),
    "Why it failed, when `status` is `failed`.",
  ),
}).annotate({ identifier: "Message" })

/** Refusals about a recipient or its content. */
export const refusedContent: ReadonlyArray<Refused> = [
  "text_required",
  "text_too_long",
  "invalid_phone",
  "invalid_username",
  "username_needs_telegram",
  "contact_not_found",
  "media_not_found",
  "invalid_media_url",
  "number_not_allowed",
]

const refusedSend: ReadonlyArray<Refused> = [
  ...refusedContent,
  "number_not_found",
  "invalid_datetime",
  "time_in_past",
  "from_required",
  "no_credits",
  "message_rejected",
  "number_daily_cap_reached",
]

const aRecipient = { phone: "+15550001234" }

const route = routeV2("Messages")

const shownNow = Effect.fnUntraced(function* shownNow(message: Message) {
  const { link } = yield* MediaLinks
  return messageJson(message, yield* Clock.currentTimeMillis, link)
})

export const messageRoutes: ReadonlyArray<RouteV2> = [
  route("GET /api/v2/messages", {
    id: "listMessages",
    summary: "List messages",
    about: "Newest first. A key limited to some numbers sees only their messages.",
    request: query<ListMessages>()(ListQuery),
    success: "A page of messages.",
    answer: pageOf(MessageJson, examples.sent),
    refused: ["invalid_datetime", "invalid_phone"],
    handler: Effect.fnUntraced(function* listMessages({ caller, request }) {
      const messages = yield* Messages
      const { link } = yield* MediaLinks
      const page = yield* messages.list(caller, request)
      const now = yield* Clock.currentTimeMillis
      return pageJson(page, (message) => messageJson(message, now, link))
    }),
  }),
  route("POST /api/v2/messages", {
    idempotent: true,
    id: "sendMessage",
    summary: "Send a message",
    about:
      "Queues one message. The service sends it later: read its status, or receive it by webhook. A refused send stores nothing.",
    request: json<SendMessage>()(SendBody, { to: aRecipient, text: "Your table is ready." }),
    status: 202,
    success: "The message was accepted: `queued`, or `scheduled` for a later `send_at`.",
    answer: bodyOf(MessageJson, examples.message),
    refused: refusedSend,
    handler: Effect.fnUntraced(function* sendMessage({ caller, idempotency, request }) {
      const messages = yield* Messages
      const { link } = yield* MediaLinks
      const { messages: sent, replayed } = yield* messages.send(caller, request, idempotency)
      const [only] = sent
      if (only === undefined) {
        return yield* Effect.die(new Error("A single send created no message"))
      }
      return { answer: messageJson(only, only.createdAt, link), replayed }
    }),
  }),
  route("POST /api/v2/messages/batch", {
    idempotent: true,
    id: "sendBatch",
    summary: "Send to many recipients",
    about:
      "All or nothing: one invalid recipient queues nothing, and the error's `field` names it. A recipient that appears twice receives two messages.",
    request: json<SendBatch>()(BatchBody, {
      to: [aRecipient, { group: "Team" }],
      text: "We open at ten today.",
    }),
    status: 202,
    success: "One message for each recipient, in their order.",
    answer: listOf(MessageJson, examples.message),
    refused: [...refusedSend, "too_many_recipients"],
    handler: Effect.fnUntraced(function* sendBatch({ caller, idempotency, request }) {
      const messages = yield* Messages
      const { link } = yield* MediaLinks
      const sent = yield* messages.sendBatch(caller, request, idempotency)
      return {
        answer: {
          data: sent.messages.map((message) => messageJson(message, message.createdAt, link)),
        },
        replayed: sent.replayed,
      }
    }),
  }),
  route("GET /api/v2/messages/{id}", {
    id: "getMessage",
    summary: "Read a message",
    success: "The message as it is now.",
    answer: bodyOf(MessageJson, examples.sent),
    refused: ["message_not_found"],
    handler: Effect.fnUntraced(function* getMessage({ caller, id }) {
      const messages = yield* Messages
      return yield* shownNow(yield* messages.get(caller, id("id")))
    }),
  }),
  route("DELETE /api/v2/messages/{id}", {
    id: "cancelMessage",
    summary: "Cancel a waiting message",
    about:
      "Waits at most 5 seconds for a message that is being sent, and answers with its outcome.",
    success: "The cancelled message.",
    answer: bodyOf(MessageJson, examples.cancelled),
    refused: ["message_not_found", "not_cancellable"],
    handler: Effect.fnUntraced(function* cancelMessage({ caller, id }) {
      const messages = yield* Messages
      return yield* shownNow(yield* messages.cancel(caller, id("id")))
    }),
  }),
]
