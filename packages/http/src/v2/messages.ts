/** Messages of version 2 (contract: Messages). */
import {
  BatchBody,
  ListQuery,
  MediaLinks,
  Messages,
  ReferencedBatchBody,
  ReferencedListQuery,
  ReferencedSendBody,
  SendBody,
  described,
  mediaTypes,
  messageErrorCodes,
  messageStatuses,
  platforms,
  publicMedia,
  statusAt,
} from "@messaging-service/core"
import type {
  ListMessages,
  MediaLink,
  Message,
  MessagePage,
  ReferencedBatch,
  ReferencedList,
  ReferencedSend,
  SendBatch,
  SendMessage,
} from "@messaging-service/core"
import { Clock, Effect, Schema } from "effect"
import { examples } from "../openapi/examples.ts"
import type { Refused } from "../openapi/Operation.ts"
import { jsonBody, IdJson, json, listOf, pageBody, query, pageJson, Time } from "../Entry.ts"
import type { OperationInput } from "../Entry.ts"
import { routeV2 } from "./pipeline.ts"
import type { RouteV2 } from "./pipeline.ts"

/** The recipient that a message keeps (contract: Recipients). */
const RecipientJson = Schema.Union([
  // First: with what is known of the chat it would pass for one of the others.
  Schema.Struct({
    chatId: described(IdJson, "The chat that the command named."),
    phone: Schema.optionalKey(Schema.String),
    group: Schema.optionalKey(Schema.String),
    username: Schema.optionalKey(Schema.String),
  }),
  Schema.Struct({
    phone: Schema.String,
    contactId: described(
      Schema.NullOr(IdJson),
      "The saved contact with that phone; null without one.",
    ),
  }),
  Schema.Struct({ group: Schema.String }),
  Schema.Struct({ contactId: IdJson, username: Schema.String }),
  Schema.Struct({ username: Schema.String }),
]).annotate({ identifier: "MessageRecipient" })

/** Unknown fields are null. */
export const MediaJson = Schema.Struct({
  mediaId: Schema.NullOr(IdJson),
  url: described(
    Schema.NullOr(Schema.String),
    "Of a stored file: works for 26 hours; null once the file is gone.",
  ),
  type: Schema.NullOr(Schema.Literals(mediaTypes)),
  fileName: Schema.NullOr(Schema.String),
}).annotate({ identifier: "Media" })

export const MessageJson = Schema.Struct({
  id: IdJson,
  status: Schema.Literals(messageStatuses),
  from: Schema.Struct({
    id: IdJson,
    phone: described(
      Schema.NullOr(Schema.String),
      "Digits with country code, no +. While the message waits, the number's phone; afterwards the phone that it left from. Null while the number was never linked.",
    ),
    platform: Schema.Literals(platforms),
  }),
  to: RecipientJson,
  text: described(Schema.String, "The text, or the caption of the media."),
  media: Schema.NullOr(MediaJson),
  sendAt: Schema.NullOr(Time),
  expiresAt: Schema.NullOr(Time),
  createdAt: Time,
  sentAt: Schema.NullOr(Time),
  error: described(
    Schema.NullOr(
      Schema.Struct({ code: Schema.Literals(messageErrorCodes), message: Schema.String }),
    ),
    "Why it failed, when `status` is `failed`.",
  ),
  replyTo: described(
    Schema.optionalKey(
      Schema.Union([
        Schema.Struct({ receivedMessageId: IdJson }),
        Schema.Struct({ messageId: IdJson }),
      ]),
    ),
    "The message that it quotes, as the command named it; absent without one.",
  ),
}).annotate({ identifier: "Message" })

/** The public message at `now`. A send is shown at its `createdAt`, so that a repeat gives the same answer. */
export const shownMessage = (
  message: Message,
  now: number,
  link: MediaLink,
): typeof WorkspaceMessageJson.Type => {
  const { replyTo, ...same } = message
  return {
    ...same,
    ...(replyTo !== null && { replyTo }),
    status: statusAt(message, now),
    media: publicMedia(message, now, link),
  }
}

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
  "account_disabled",
  "demo_account",
  ...refusedContent,
  "chat_not_found",
  "number_not_found",
  "invalid_datetime",
  "time_in_past",
  "from_required",
  "no_credits",
  "message_rejected",
  "number_daily_cap_reached",
]

const aRecipient = { phone: "+15550001234" }
const single = { to: aRecipient, text: "Your table is ready." }
const batch = { to: [aRecipient, { group: "Team" }], text: "We open at ten today." }

const route = routeV2("Messages")

/** One form of messages: what requests may hold, and what answers show. */
interface MessageForm {
  readonly list: OperationInput<ReferencedList>
  readonly single: OperationInput<ReferencedSend>
  readonly batch: OperationInput<ReferencedBatch>
  readonly shown: typeof MessageJson | typeof WorkspaceMessageJson
  /** What answers show besides the examples. */
  readonly example: object
}

/** What version 2 takes and shows (contract: Messages). */
const contractForm: MessageForm = {
  list: query<ListMessages>()(ListQuery),
  single: json<SendMessage>()(SendBody, single),
  batch: json<SendBatch>()(BatchBody, batch),
  shown: MessageJson,
  example: {},
}

export const WorkspaceMessageJson = Schema.Struct({
  ...MessageJson.fields,
  reference: described(
    Schema.NullOr(Schema.String),
    "What the sender calls it; null without one. Webhooks do not show it.",
  ),
  transportId: described(
    Schema.NullOr(Schema.String),
    "The id under which it leaves; null before it is drawn.",
  ),
}).annotate({ identifier: "WorkspaceMessage" })

const reference = "order 4711"

/** The operator's form. */
const workspaceForm: MessageForm = {
  list: query<ReferencedList>()(ReferencedListQuery),
  single: json<ReferencedSend>()(ReferencedSendBody, { ...single, reference }),
  batch: json<ReferencedBatch>()(ReferencedBatchBody, { ...batch, reference }),
  shown: WorkspaceMessageJson,
  example: { ...examples.workspaceOnly, reference },
}

const shownNow = Effect.fnUntraced(function* shownNow(message: Message) {
  const { link } = yield* MediaLinks
  return shownMessage(message, yield* Clock.currentTimeMillis, link)
})

const sendRoutes = (form: MessageForm): ReadonlyArray<RouteV2> => [
  route("POST /api/v2/messages", {
    idempotent: true,
    id: "sendMessage",
    summary: "Send a message",
    about:
      "Queues one message. The service sends it later: read its status, or receive it by webhook. A refused send stores nothing.",
    request: form.single,
    status: 202,
    success: "The message was accepted: `queued`, or `scheduled` for a later `send_at`.",
    answer: jsonBody(form.shown, { ...examples.message, ...form.example }),
    refused: [...refusedSend, "reply_not_possible"],
    handler: Effect.fnUntraced(function* sendMessage({ caller, idempotency, request }) {
      const messages = yield* Messages
      const { link } = yield* MediaLinks
      const { messages: sent, replayed } = yield* messages.send(caller, request, idempotency)
      const [only] = sent
      if (only === undefined) {
        return yield* Effect.die(new Error("A single send created no message"))
      }
      return { answer: shownMessage(only, only.createdAt, link), replayed }
    }),
  }),
  route("POST /api/v2/messages/batch", {
    idempotent: true,
    id: "sendBatch",
    summary: "Send to many recipients",
    about:
      "All or nothing: one invalid recipient queues nothing, and the error's `field` names it. A recipient that appears twice receives two messages.",
    request: form.batch,
    status: 202,
    success: "One message for each recipient, in their order.",
    answer: listOf(form.shown, { ...examples.message, ...form.example }),
    refused: [...refusedSend, "too_many_recipients"],
    handler: Effect.fnUntraced(function* sendBatch({ caller, idempotency, request }) {
      const messages = yield* Messages
      const { link } = yield* MediaLinks
      const sent = yield* messages.sendBatch(caller, request, idempotency)
      return {
        answer: {
          data: sent.messages.map((message) => shownMessage(message, message.createdAt, link)),
        },
        replayed: sent.replayed,
      }
    }),
  }),
]

/** What the list has in both forms. */
const listing = {
  id: "listMessages",
  summary: "List messages",
  success: "A page of messages.",
  refused: ["invalid_datetime", "invalid_phone"],
} as const

const shownPage = Effect.fnUntraced(function* shownPage(page: MessagePage) {
  const { link } = yield* MediaLinks
  const now = yield* Clock.currentTimeMillis
  return pageJson(page, (message) => shownMessage(message, now, link))
})

const contractList = route("GET /api/v2/messages", {
  ...listing,
  about: "Newest first. A key limited to some numbers sees only their messages.",
  request: contractForm.list,
  answer: pageBody(contractForm.shown, examples.sent),
  handler: Effect.fnUntraced(function* listMessages({ caller, request }) {
    const messages = yield* Messages
    return yield* shownPage(yield* messages.list(caller, request))
  }),
})

const workspacePage = pageBody(workspaceForm.shown, { ...examples.sent, ...workspaceForm.example })

const workspaceList = route("GET /api/v2/messages", {
  ...listing,
  about:
    "Newest first. A page of a search by `text` may have fewer messages than `limit` and still have a `next_cursor`.",
  request: workspaceForm.list,
  answer: jsonBody(
    Schema.Struct({
      ...workspacePage.schema.fields,
      lookedUntil: described(
        Schema.optionalKey(Schema.NullOr(Time)),
        "With `text`: when the oldest message that was looked at was created; null for none.",
      ),
    }),
    workspacePage.example,
  ),
  handler: Effect.fnUntraced(function* listMessages({ caller, request }) {
    const messages = yield* Messages
    const page = yield* messages.list(caller, request)
    const { lookedUntil } = page
    const body = yield* shownPage(page)
    return lookedUntil === undefined ? body : { ...body, lookedUntil }
  }),
})

const readRoutes = (form: MessageForm): ReadonlyArray<RouteV2> => [
  route("GET /api/v2/messages/{id}", {
    id: "getMessage",
    summary: "Read a message",
    success: "The message as it is now.",
    answer: jsonBody(form.shown, { ...examples.sent, ...form.example }),
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
    answer: jsonBody(form.shown, { ...examples.cancelled, ...form.example }),
    refused: ["message_not_found", "not_cancellable"],
    handler: Effect.fnUntraced(function* cancelMessage({ caller, id }) {
      const messages = yield* Messages
      return yield* shownNow(yield* messages.cancel(caller, id("id")))
    }),
  }),
]

export const messageRoutes: ReadonlyArray<RouteV2> = [
  contractList,
  ...readRoutes(contractForm),
  ...sendRoutes(contractForm),
]

/** The same operations, in the operator's form. */
export const workspaceMessageRoutes: ReadonlyArray<RouteV2> = [
  workspaceList,
  ...readRoutes(workspaceForm),
  ...sendRoutes(workspaceForm),
]
