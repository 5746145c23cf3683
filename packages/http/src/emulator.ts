/**
 * The emulator controls over HTTP (contract: Emulator controls), for `@messaging-service/emulator`:
 * the value of `HttpOptions.emulator`.
 */
import {
  described,
  MediaLinks,
  messageStatuses,
  publicMedia,
  statusAt,
  storedFileId,
  restrictionsJson,
} from "@messaging-service/core"
import type { MediaLink, Message } from "@messaging-service/core"
import {
  AdvanceBody,
  AwayBody,
  RestrictBody,
  BehaviourBody,
  callSignatures,
  EditBody,
  Emulator,
  ReactBody,
  ReceiverAnswerBody,
  receiverName,
  receiverStatuses,
  RegisteredBody,
  ScanBody,
  SentQuery,
  TickBody,
  WriteBody,
} from "@messaging-service/emulator"
import type { ListSent, ReceivedCopy } from "@messaging-service/emulator"
import { Clock, Effect, Option, Schema } from "effect"
import { examples } from "./openapi/examples.ts"
import { missingNumber, operatorRoute } from "./operator/pipeline.ts"
import type { EmulatorControls } from "./operator/pipeline.ts"
import {
  LaterAnswer,
  jsonBody,
  IdJson,
  json,
  listOf,
  optionalJson,
  pageJson,
  pageBody,
  query,
  Time,
} from "./Entry.ts"
import type { JsonValue } from "./StrictJson.ts"
import { ReceivedMessageJson, receivedShown } from "./v2/chats.ts"
import { MessageJson, shownMessage } from "./v2/messages.ts"
import { NumberJson, shownNumber } from "./v2/numbers.ts"
import { RestrictionsJson } from "./v2/restrictions.ts"

const route = operatorRoute("Emulator")

/** A file of 1 MiB, in base64, and what comes with it. */
const maximumWriteBytes = 2 * 1024 ** 2

const simulatorPath = "/admin/v1/simulator"

const BehaviourJson = Schema.Struct({
  send: Schema.Literals(["succeed", "fail", "hang", "drop"]),
  errorMessage: Schema.NullOr(Schema.String),
  latencyMillis: Schema.Int,
  groups: Schema.Array(Schema.String),
}).annotate({ identifier: "Behaviour" })

/** A copy that a recipient really sees. */
const SentJson = Schema.Struct({
  id: IdJson,
  messageId: Schema.NullOr(IdJson),
  status: described(
    Schema.NullOr(Schema.Literals(messageStatuses)),
    "Of the message; null when that is gone.",
  ),
  numberId: IdJson,
  workspaceId: IdJson,
  to: described(Schema.String, "The phone with +, the group's name, or the username."),
  text: Schema.String,
  media: Schema.NullOr(
    Schema.Struct({
      fileName: Schema.String,
      mimeType: Schema.String,
      size: Schema.Int,
      sha256: Schema.String,
      url: described(Schema.NullOr(Schema.String), "The link of a stored file."),
    }),
  ),
  quote: described(
    Schema.optionalKey(Schema.String),
    "The text of the message that it quotes; absent without one.",
  ),
  at: Time,
}).annotate({ identifier: "Sent" })

/** Null for a customer's own link: what was fetched from there is not kept. */
const storedLink = (message: Message, now: number, link: MediaLink): string | null =>
  storedFileId(message.media) === null ? null : (publicMedia(message, now, link)?.url ?? null)

const shownCopy = ({ message, ...copy }: ReceivedCopy, now: number, link: MediaLink) => ({
  ...copy,
  status: message && statusAt(message, now),
  media: copy.media && { ...copy.media, url: message && storedLink(message, now, link) },
})

/** What has not been stored yet. */
const RemoteIdJson = Schema.Struct({
  remoteId: described(Schema.String, "The platform's id."),
}).annotate({ identifier: "RemoteId" })

const ClockJson = Schema.Struct({ now: Time }).annotate({ identifier: "Clock" })

/** The phones that exist; null for the rule. */
const RegisteredJson = Schema.Struct({
  phones: Schema.NullOr(Schema.Array(Schema.String)),
}).annotate({ identifier: "Registered" })

const ReadMarkJson = Schema.Struct({ chatId: IdJson, upTo: IdJson, at: Time }).annotate({
  identifier: "ReadMark",
})

const sent = {
  id: 1,
  message_id: 4711,
  status: "sent",
  number_id: 12,
  workspace_id: 3,
  to: "+15550001234",
  text: "Your table is ready.",
  media: null,
  at: "2030-01-31T07:00:02Z",
}

const clock = { now: "2030-01-31T07:00:00Z" }

// The receivers of webhooks and callbacks (contract: Emulator controls).

const receiversPath = `${simulatorPath}/workspaces/{id}/receivers` as const
const receiverPath = `${receiversPath}/{name}` as const

const pathTexts = {
  name: {
    description: "The label before `.receiver.test`, in lower case.",
    schema: { type: "string", pattern: receiverName.source },
  },
}

const ReceiverAnswerJson = Schema.Struct({
  status: Schema.Literals(receiverStatuses),
  body: Schema.String,
  hangs: described(Schema.Boolean, "It answers nothing."),
}).annotate({ identifier: "ReceiverAnswer" })

const ReceiverJson = Schema.Struct({
  name: Schema.String,
  url: described(Schema.String, "A webhook's or callback's URL may have any path below it."),
  calls: described(Schema.Int, "How many of its calls are kept, at most 100."),
  lastCallAt: Schema.NullOr(Time),
  answer: ReceiverAnswerJson,
}).annotate({ identifier: "Receiver" })

const ReceiverCallJson = Schema.Struct({
  id: IdJson,
  at: Time,
  method: Schema.Literal("POST"),
  path: described(Schema.String, "With its query."),
  headers: Schema.Array(Schema.Struct({ name: Schema.String, value: Schema.String })),
  body: Schema.String,
  eventId: Schema.NullOr(Schema.String),
  type: described(Schema.NullOr(Schema.String), "Of the event; null for a callback."),
  signature: described(
    Schema.Literals(callSignatures),
    "By the secrets of the receiver's endpoints, or of callbacks; `none`: without a signature.",
  ),
  answer: ReceiverAnswerJson,
}).annotate({ identifier: "ReceiverCall" })

const receiverAnswer = { status: 500 as const, body: "out of order", hangs: false }

const receiverExample = {
  name: "shop",
  url: "https://shop.receiver.test/",
  calls: 1,
  last_call_at: "2030-01-31T07:00:02Z",
  answer: receiverAnswer,
}

const callExample = {
  id: 1,
  at: "2030-01-31T07:00:02Z",
  method: "POST",
  path: "/hook",
  headers: [{ name: "content-type", value: "application/json" }],
  body: '{"id":"evt_3mPqN7cVt2LrXw9KfYb5ZdHs","type":"message.sent"}',
  event_id: "evt_3mPqN7cVt2LrXw9KfYb5ZdHs",
  type: "message.sent",
  signature: "valid",
  answer: receiverAnswer,
}

const receiverRoutes = [
  route(`GET ${receiversPath}`, {
    id: "listReceivers",
    right: "operator",
    summary: "List the receivers of a workspace",
    about:
      "Those that were called or set, and those that its webhooks name: `https://<name>.receiver.test/` for any label.",
    success: "The receivers, by name.",
    answer: listOf(ReceiverJson, receiverExample),
    refused: ["workspace_not_found"],
    handler: Effect.fnUntraced(function* listReceivers({ id }) {
      const { receivers } = yield* Emulator
      return { data: yield* receivers.list(id("id")) }
    }),
  }),
  route(`PUT ${receiverPath}`, {
    id: "setReceiverAnswer",
    right: "operator",
    summary: "Set what a receiver answers",
    about: "Replaces the whole answer; omitted fields get their defaults.",
    pathTexts,
    request: json<JsonValue>()(ReceiverAnswerBody, receiverAnswer),
    success: "The receiver.",
    answer: jsonBody(ReceiverJson, receiverExample),
    refused: ["workspace_not_found"],
    handler: Effect.fnUntraced(function* setReceiverAnswer({ id, request, text }) {
      const { receivers } = yield* Emulator
      return yield* receivers.setAnswer(id("id"), text("name"), request)
    }),
  }),
  route(`GET ${receiverPath}/calls`, {
    id: "listReceiverCalls",
    right: "operator",
    summary: "List the calls of a receiver",
    pathTexts,
    success: "The latest 100 calls, newest first.",
    answer: listOf(ReceiverCallJson, callExample),
    refused: ["workspace_not_found"],
    handler: Effect.fnUntraced(function* listReceiverCalls({ id, text }) {
      const { receivers } = yield* Emulator
      return { data: yield* receivers.calls(id("id"), text("name")) }
    }),
  }),
  route(`DELETE ${receiverPath}/calls`, {
    id: "clearReceiverCalls",
    right: "operator",
    summary: "Forget the calls of a receiver",
    about: "What it answers stays.",
    pathTexts,
    success: "The receiver, without calls.",
    answer: jsonBody(ReceiverJson, { ...receiverExample, calls: 0, last_call_at: null }),
    refused: ["workspace_not_found"],
    handler: Effect.fnUntraced(function* clearReceiverCalls({ id, text }) {
      const { receivers } = yield* Emulator
      return yield* receivers.clear(id("id"), text("name"))
    }),
  }),
]

const emulatorRoutes = [
  route(`GET ${simulatorPath}/numbers/{number_id}/behaviour`, {
    id: "getBehaviour",
    right: "operator",
    summary: "Read how a phone behaves",
    success: "The behaviour, as set or its defaults.",
    answer: jsonBody(BehaviourJson, {
      send: "succeed",
      error_message: null,
      latency_ms: 0,
      groups: ["Team"],
    }),
    refused: [missingNumber],
    handler: Effect.fnUntraced(function* getBehaviour({ id }) {
      const emulator = yield* Emulator
      return yield* emulator.behaviour(id("number_id"))
    }),
  }),
  route(`GET ${simulatorPath}/registered`, {
    id: "getRegistered",
    right: "operator",
    summary: "Read which phones exist",
    success: "The phones; null for the rule.",
    answer: jsonBody(RegisteredJson, { phones: null }),
    handler: Effect.fnUntraced(function* getRegistered() {
      const emulator = yield* Emulator
      return { phones: yield* emulator.registered }
    }),
  }),
  route(`PUT ${simulatorPath}/numbers/{number_id}/behaviour`, {
    id: "setBehaviour",
    right: "operator",
    summary: "Set how a phone behaves",
    about: "Replaces the phone's whole behaviour; omitted fields get their defaults.",
    request: json<JsonValue>()(BehaviourBody, {
      send: "fail",
      error_message: "The recipient has gone.",
    }),
    success: "The behaviour.",
    answer: jsonBody(BehaviourJson, {
      send: "succeed",
      error_message: null,
      latency_ms: 0,
      groups: ["Team"],
    }),
    refused: [missingNumber],
    handler: Effect.fnUntraced(function* setBehaviour({ id, request }) {
      const emulator = yield* Emulator
      return yield* emulator.setBehaviour(id("number_id"), request)
    }),
  }),
  route(`POST ${simulatorPath}/numbers/{number_id}/scan`, {
    id: "scanCode",
    right: "operator",
    summary: "Scan the QR code or type the pairing code",
    about:
      "The number is connected before the answer. Of a Telegram account: the QR code of its login.",
    request: optionalJson<JsonValue>()(ScanBody, { phone: "+15550001000" }),
    success: "The number, connected.",
    answer: jsonBody(NumberJson, examples.number),
    refused: [missingNumber, "not_connecting", "invalid_phone"],
    handler: Effect.fnUntraced(function* scanCode({ id, request }) {
      const emulator = yield* Emulator
      return shownNumber(yield* emulator.scan(id("number_id"), request))
    }),
  }),
  route(`POST ${simulatorPath}/numbers/{number_id}/logout`, {
    id: "logOut",
    right: "operator",
    summary: "Log a phone out",
    success: "The number, disconnected.",
    answer: jsonBody(NumberJson, { ...examples.number, status: "disconnected" }),
    refused: [missingNumber],
    handler: Effect.fnUntraced(function* logOut({ id }) {
      const emulator = yield* Emulator
      return shownNumber(yield* emulator.logout(id("number_id")))
    }),
  }),
  route(`PUT ${simulatorPath}/registered`, {
    id: "setRegistered",
    right: "operator",
    summary: "Set which phones exist",
    about: "For number checks and sends: others fail with `recipient_not_found`.",
    request: json<JsonValue>()(RegisteredBody, { phones: ["+15550001234"] }),
    success: "The phones.",
    answer: jsonBody(RegisteredJson, { phones: ["+15550001234"] }),
    refused: ["invalid_phone"],
    handler: Effect.fnUntraced(function* setRegistered({ request }) {
      const emulator = yield* Emulator
      return { phones: yield* emulator.setRegistered(request) }
    }),
  }),
  route(`POST ${simulatorPath}/messages/{message_id}/ticks`, {
    id: "tick",
    right: "operator",
    summary: "Let a tick arrive",
    request: json<JsonValue>()(TickBody, { status: "delivered" }),
    success: "The message as it is now.",
    answer: jsonBody(MessageJson, { ...examples.sent, status: "delivered" }),
    refused: ["message_not_found"],
    handler: Effect.fnUntraced(function* tick({ id, request }) {
      const emulator = yield* Emulator
      const { link } = yield* MediaLinks
      const message = yield* emulator.tick(id("message_id"), request)
      return shownMessage(message, yield* Clock.currentTimeMillis, link)
    }),
  }),
  route(`POST ${simulatorPath}/numbers/{number_id}/received-messages`, {
    ofConversations: true,
    id: "writeMessage",
    right: "operator",
    summary: "Let a person write",
    about: "To the number, or in a group of it; or let its owner write on the phone.",
    request: json<JsonValue>()(
      WriteBody,
      { from: { phone: "+15550001234", name: "Ada" }, text: "Is my table ready?" },
      { maximumBytes: maximumWriteBytes },
    ),
    status: 201,
    success: "The message, stored.",
    successAgain: "A message with that `remote_id` was stored already: that one.",
    later: {
      success:
        "It waits: for the number, which is away, or for a copy that can be read, with that `remote_id`.",
      answer: jsonBody(RemoteIdJson, { remote_id: "3EB0C767D097B7C2F3A1" }),
    },
    answer: jsonBody(ReceivedMessageJson, examples.received),
    refused: [
      missingNumber,
      "conversations_not_enabled",
      "received_message_not_found",
      "invalid_phone",
      "invalid_datetime",
    ],
    handler: Effect.fnUntraced(function* writeMessage({ id, incoming, request }) {
      const emulator = yield* Emulator
      const { isNew, message, remoteId } = yield* emulator.write(id("number_id"), request)
      if (message === null) return new LaterAnswer({ remoteId })
      incoming.isDoneAlready = !isNew
      const show = yield* receivedShown
      return show(message)
    }),
  }),
  route(`GET ${simulatorPath}/numbers/{number_id}/read-marks`, {
    ofConversations: true,
    id: "listReadMarks",
    right: "operator",
    summary: "List what was marked as read on a phone",
    about: "How far each chat was, the latest mark first.",
    success: "The marks.",
    answer: listOf(ReadMarkJson, { chat_id: 9, up_to: 71, at: "2030-01-31T07:00:02Z" }),
    refused: [missingNumber],
    handler: Effect.fnUntraced(function* listReadMarks({ id }) {
      const emulator = yield* Emulator
      return { data: yield* emulator.readMarks(id("number_id")) }
    }),
  }),
  route(`POST ${simulatorPath}/received-messages/{id}/edit`, {
    ofConversations: true,
    id: "editMessage",
    right: "operator",
    summary: "Let the author edit a message",
    about: "One that was revoked, or could not be read, stays as it is.",
    request: json<JsonValue>()(EditBody, { text: "Is our table ready?" }),
    success: "The message as it is now.",
    answer: jsonBody(ReceivedMessageJson, examples.edited),
    refused: ["received_message_not_found"],
    handler: Effect.fnUntraced(function* editMessage({ id, request }) {
      const emulator = yield* Emulator
      const show = yield* receivedShown
      return show(yield* emulator.edit(id("id"), request))
    }),
  }),
  route(`POST ${simulatorPath}/received-messages/{id}/revoke`, {
    ofConversations: true,
    id: "revokeMessage",
    right: "operator",
    summary: "Let the author take a message back",
    success: "The message as it is now.",
    answer: jsonBody(ReceivedMessageJson, examples.revoked),
    refused: ["received_message_not_found"],
    handler: Effect.fnUntraced(function* revokeMessage({ id }) {
      const emulator = yield* Emulator
      const show = yield* receivedShown
      return show(yield* emulator.revoke(id("id")))
    }),
  }),
  route(`POST ${simulatorPath}/messages/{message_id}/react`, {
    ofConversations: true,
    id: "react",
    right: "operator",
    summary: "Let a person react to a message",
    about: "To one that was sent. A message that has not left hears nothing.",
    request: json<JsonValue>()(ReactBody, {
      from: { phone: "+15550001234", name: "Ada" },
      emoji: "👍",
    }),
    success: "The message.",
    answer: jsonBody(MessageJson, examples.sent),
    refused: ["message_not_found", "conversations_not_enabled", "invalid_phone"],
    handler: Effect.fnUntraced(function* react({ id, request }) {
      const emulator = yield* Emulator
      const { link } = yield* MediaLinks
      const message = yield* emulator.react(id("message_id"), request)
      return shownMessage(message, yield* Clock.currentTimeMillis, link)
    }),
  }),
  route(`PUT ${simulatorPath}/numbers/{number_id}/away`, {
    ofConversations: true,
    id: "setAway",
    right: "operator",
    summary: "Lose a number's connection, or bring it back",
    about: "What is written meanwhile comes once it is back, in order.",
    request: json<JsonValue>()(AwayBody, { away: true }),
    success: "Whether the number is away.",
    answer: jsonBody(AwayBody, { away: true }),
    refused: [missingNumber],
    handler: Effect.fnUntraced(function* setAway({ id, request }) {
      const emulator = yield* Emulator
      return { away: yield* emulator.setAway(id("number_id"), request) }
    }),
  }),
  route(`POST ${simulatorPath}/numbers/{number_id}/gap`, {
    ofConversations: true,
    id: "skipMessages",
    right: "operator",
    summary: "Let the platform skip messages",
    about: "The number tells of it with `number.gap`.",
    success: "The platform has skipped.",
    answer: jsonBody(Schema.Struct({}).annotate({ identifier: "Skipped" }), {}),
    refused: [missingNumber, "conversations_not_enabled"],
    handler: Effect.fnUntraced(function* skipMessages({ id }) {
      const emulator = yield* Emulator
      yield* emulator.skip(id("number_id"))
      return {}
    }),
  }),
  route(`PUT ${simulatorPath}/numbers/{number_id}/restrictions`, {
    ofConversations: true,
    id: "restrictNumber",
    right: "operator",
    summary: "Let WhatsApp close new chats to a number, or cap them",
    about:
      "Messages to people who never wrote to the number and never got one are then refused with 463. Restrictions follow.",
    request: json<JsonValue>()(RestrictBody, {
      new_chats_closed_until: "2030-01-31T19:00:00Z",
      limit: 100,
      used: 42,
    }),
    success: "The restrictions.",
    answer: jsonBody(RestrictionsJson, examples.restrictions),
    refused: [missingNumber, "conversations_not_enabled", "invalid_datetime"],
    handler: Effect.fnUntraced(function* restrictNumber({ id, request }) {
      const emulator = yield* Emulator
      const { numberId, ...known } = yield* emulator.restrict(id("number_id"), request)
      return restrictionsJson(numberId, known)
    }),
  }),
  route(`GET ${simulatorPath}/sent`, {
    id: "listSent",
    right: "operator",
    summary: "List sent copies",
    about: "Newest first: one entry for each copy that a recipient would see.",
    request: query<ListSent>()(SentQuery),
    success: "A page of copies.",
    answer: pageBody(SentJson, sent),
    handler: Effect.fnUntraced(function* listSent({ request }) {
      const emulator = yield* Emulator
      const { link } = yield* MediaLinks
      const page = yield* emulator.sent(request)
      const now = yield* Clock.currentTimeMillis
      return pageJson(page, (copy) => shownCopy(copy, now, link))
    }),
  }),
  route(`GET ${simulatorPath}/clock`, {
    id: "getClock",
    right: "operator",
    summary: "Read the clock",
    success: "The service's time.",
    answer: jsonBody(ClockJson, clock),
    handler: Effect.fnUntraced(function* getClock() {
      return { now: yield* Clock.currentTimeMillis }
    }),
  }),
  route(`POST ${simulatorPath}/clock/advance`, {
    id: "advanceClock",
    right: "operator",
    summary: "Advance the clock",
    about: "From due time to due time, doing the due work at each. Needs `CLOCK=adjustable`.",
    request: json<JsonValue>()(AdvanceBody, { seconds: 3600 }),
    success: "The service's time.",
    answer: jsonBody(ClockJson, clock),
    refused: ["clock_not_adjustable"],
    handler: Effect.fnUntraced(function* advanceClock({ request }) {
      const emulator = yield* Emulator
      return { now: yield* emulator.advance(request) }
    }),
  }),
  route(`POST ${simulatorPath}/settle`, {
    id: "settle",
    right: "operator",
    summary: "Wait until the service is idle",
    success: "Nothing is due or in flight.",
    answer: jsonBody(Schema.Struct({}).annotate({ identifier: "Settled" }), {}),
    handler: Effect.fnUntraced(function* settle() {
      const emulator = yield* Emulator
      yield* emulator.settle
      return {}
    }),
  }),
  ...receiverRoutes,
]

/** The controls of the `Emulator`, which must be among the services. */
export const emulatorControls: EmulatorControls = Effect.gen(function* emulatorControls() {
  const emulator = yield* Effect.serviceOption(Emulator)
  if (Option.isNone(emulator)) {
    return yield* Effect.die(
      new Error("HttpOptions.emulator needs the Emulator among the services"),
    )
  }
  return emulatorRoutes.map((each) => ({
    ...each,
    handler: (input) => Effect.provideService(each.handler(input), Emulator, emulator.value),
  }))
})
