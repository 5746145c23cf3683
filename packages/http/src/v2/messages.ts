/** Messages of version 2 (contract: Messages). */
import {
  BatchBody,
  ListQuery,
  MessageJson,
  Messages,
  SendBody,
  listJson,
  pageJson,
} from "@messaging-service/core"
import type { Sent } from "@messaging-service/core"
import { Effect } from "effect"
import { examples, listOf, pageOf } from "../openapi/examples.ts"
import type { Refused } from "../openapi/errors.ts"
import { asGiven, json, query } from "../route/Entry.ts"
import { routeV2 } from "./RouteV2.ts"

/** What is wrong with a recipient or with what it is sent. */
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

const common = { tag: "Messages" } as const

/** The one message of a single send. */
const only = ({ messages: [answer], replayed }: Sent) =>
  answer === undefined
    ? Effect.die(new Error("A single send made no message"))
    : Effect.succeed({ answer, replayed })

export const messageRoutes = Effect.gen(function* () {
  const messages = yield* Messages

  return [
    routeV2({
      ...common,
      method: "GET",
      path: "/api/v2/messages",
      id: "listMessages",
      summary: "List messages",
      about: "Newest first. A key limited to some numbers sees only their messages.",
      request: query(ListQuery, asGiven),
      success: "A page of messages.",
      answer: pageJson(MessageJson),
      example: pageOf(examples.sent),
      refused: ["invalid_datetime", "invalid_phone"],
      handler: ({ caller, request }) => messages.list(caller, request),
    }),
    routeV2({
      ...common,
      method: "POST",
      path: "/api/v2/messages",
      idempotent: true,
      id: "sendMessage",
      summary: "Send a message",
      about:
        "Queues one message. It is sent later: read its status, or let a webhook tell. A refused send stores nothing.",
      request: json(SendBody, { to: aRecipient, text: "Your table is ready." }, asGiven),
      status: 202,
      success: "The message was accepted: `queued`, or `scheduled` for a later `send_at`.",
      answer: MessageJson,
      example: examples.message,
      refused: refusedSend,
      handler: ({ caller, idempotency, request }) =>
        Effect.flatMap(messages.send(caller, request, idempotency), only),
    }),
    routeV2({
      ...common,
      method: "POST",
      path: "/api/v2/messages/batch",
      idempotent: true,
      id: "sendBatch",
      summary: "Send to many recipients",
      about:
        "All or nothing: one bad recipient queues nothing, and `field` of the error names it. A recipient that appears twice receives two messages.",
      request: json(
        BatchBody,
        { to: [aRecipient, { group: "Team" }], text: "We open at ten today." },
        asGiven,
      ),
      status: 202,
      success: "One message for each recipient, in their order.",
      answer: listJson(MessageJson),
      example: listOf(examples.message),
      refused: [...refusedSend, "too_many_recipients"],
      handler: ({ caller, idempotency, request }) =>
        Effect.map(messages.sendBatch(caller, request, idempotency), (sent) => ({
          answer: { data: sent.messages },
          replayed: sent.replayed,
        })),
    }),
    routeV2({
      ...common,
      method: "GET",
      path: "/api/v2/messages/{id}",
      id: "getMessage",
      summary: "Read a message",
      success: "The message as it is now.",
      answer: MessageJson,
      example: examples.sent,
      refused: ["message_not_found"],
      handler: ({ caller, id }) => messages.get(caller, id("id")),
    }),
    routeV2({
      ...common,
      method: "DELETE",
      path: "/api/v2/messages/{id}",
      id: "cancelMessage",
      summary: "Cancel a waiting message",
      about:
        "A message that is being sent at this moment is waited for, at most 5 seconds, and answered by what became of it.",
      success: "The cancelled message.",
      answer: MessageJson,
      example: examples.cancelled,
      refused: ["message_not_found", "not_cancellable"],
      handler: ({ caller, id }) => messages.cancel(caller, id("id")),
    }),
  ]
})
