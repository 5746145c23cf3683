/** What people write, and the chats that it is in (contract: Received messages and chats). */
import {
  Chats,
  ChatsQuery,
  described,
  MediaLinks,
  PageInput,
  platforms,
  ReadBody,
  receivedFileStates,
  receivedJson,
  receivedKinds,
  ReceivedQuery,
} from "@messaging-service/core"
import type {
  ListChats,
  ListPage,
  ListReceived,
  MarkRead,
  ReceivedMessage,
} from "@messaging-service/core"
import { Clock, Effect, Schema } from "effect"
import { examples } from "../openapi/examples.ts"
import {
  deleted,
  DeletedJson,
  IdJson,
  json,
  jsonBody,
  page,
  pageBody,
  pageJson,
  query,
  Time,
  TimeText,
} from "../Entry.ts"
import { MessageJson, shownMessage } from "./messages.ts"
import { routeV2 } from "./pipeline.ts"
import type { RouteV2 } from "./pipeline.ts"

const TextOrNull = Schema.NullOr(Schema.String)

const chatTypes = ["person", "group"] as const

const PersonJson = Schema.Struct({
  phone: described(TextOrNull, "`+` and digits."),
  lid: described(TextOrNull, "WhatsApp's other name of the account, in digits."),
  user_id: described(TextOrNull, "Telegram's id of the account, in digits."),
  username: TextOrNull,
  name: described(TextOrNull, "What the person calls itself; nothing is decided by it."),
}).annotate({ identifier: "Person", description: "Each address is null when unknown." })

const truncated = described(
  Schema.optionalKey(Schema.Literal(true)),
  "Only of a text longer than 65,536 code points, which was cut.",
)

const ContentJson = Schema.Union([
  Schema.Struct({
    latitude: Schema.Finite,
    longitude: Schema.Finite,
    name: TextOrNull,
    address: TextOrNull,
    truncated,
  }),
  Schema.Struct({
    contacts: Schema.Array(
      Schema.Struct({ name: Schema.String, phones: Schema.Array(Schema.String) }),
    ),
    truncated,
  }),
  Schema.Struct({ question: Schema.String, options: Schema.Array(Schema.String), truncated }),
  Schema.Struct({ type: Schema.String, truncated }),
  Schema.Struct({ truncated }),
])

const reactionFields = {
  from: described(PersonJson, "The number itself for its owner."),
  at: described(TimeText, "The author's time."),
}

/** A reaction as its event shows it. */
export const ReactionJson = Schema.Struct({
  ...reactionFields,
  emoji: described(TextOrNull, "Null: it was taken back."),
}).annotate({ identifier: "Reaction" })

/** A received message as the core's `receivedJson` shows it, in answers as in events. */
export const ReceivedMessageJson = Schema.Struct({
  id: IdJson,
  sequence: described(
    Schema.Int,
    "From 1, one more with each message stored for the number; never used again.",
  ),
  number: Schema.Struct({
    id: IdJson,
    phone: TextOrNull,
    platform: Schema.Literals(platforms),
  }),
  chat: Schema.Struct({ id: IdJson, type: Schema.Literals(chatTypes), name: TextOrNull }),
  from_me: described(
    Schema.Boolean,
    "The number's owner wrote it, on the phone or another device.",
  ),
  from: described(PersonJson, "The number itself when `from_me`."),
  kind: Schema.Literals(receivedKinds),
  text: described(Schema.String, "Text or caption; may be empty."),
  content: described(Schema.NullOr(ContentJson), "What the kind has in addition to its text."),
  media: described(
    Schema.NullOr(
      Schema.Struct({
        state: described(
          Schema.Literals(receivedFileStates),
          "`ready`: kept here. `remote`: fetched, or fetched once `url` is called. `full`: there was no room. `gone`: the platform has it no more. `refused`: it is not what the message says.",
        ),
        mime_type: TextOrNull,
        size: described(Schema.NullOr(Schema.Int), "Bytes."),
        file_name: TextOrNull,
        seconds: Schema.NullOr(Schema.Finite),
        sha256: TextOrNull,
        url: described(
          TextOrNull,
          "Of a `ready` or `remote` file, for 26 hours; a call waits up to 30 s while it is fetched.",
        ),
      }),
    ),
    "The file, as the message reports it until it is `ready`.",
  ),
  reply_to: described(
    Schema.NullOr(
      Schema.Struct({
        received_message_id: Schema.NullOr(IdJson),
        message_id: Schema.NullOr(IdJson),
        text: described(Schema.String, "At most 200 code points."),
      }),
    ),
    "The message that it quotes, by its id where it is known here.",
  ),
  reactions: described(
    Schema.Array(Schema.Struct({ ...reactionFields, emoji: Schema.String })),
    "One for each person, the latest last; at most 50.",
  ),
  sent_at: described(TimeText, "The sender's time."),
  received_at: described(TimeText, "When it was stored here."),
  edited_at: Schema.NullOr(TimeText),
  revoked_at: Schema.NullOr(TimeText),
}).annotate({ identifier: "ReceivedMessage" })

/** Shows received messages with links of now. */
export const receivedShown = Effect.gen(function* () {
  const { receivedLink } = yield* MediaLinks
  const now = yield* Clock.currentTimeMillis
  return (message: ReceivedMessage) => receivedJson(message, now, receivedLink)
})

const { fields: person } = PersonJson

const ChatJson = Schema.Struct({
  id: IdJson,
  numberId: IdJson,
  type: Schema.Literals(chatTypes),
  phone: person.phone,
  lid: person.lid,
  userId: person.user_id,
  username: person.username,
  name: described(TextOrNull, "Of the person or the group."),
  lastReceivedAt: Schema.NullOr(Time),
  lastSentAt: Schema.NullOr(Time),
  unread: described(Schema.Int, "Messages of others that are not marked as read."),
  readUpTo: Schema.NullOr(IdJson),
  mergedInto: described(
    Schema.NullOr(IdJson),
    "The chat that continues in its place: both were with the same person.",
  ),
}).annotate({ identifier: "Chat" })

const ReadChatJson = Schema.Struct({ chatId: IdJson, upTo: IdJson }).annotate({
  identifier: "ReadChat",
})

const EntryJson = Schema.Struct({
  at: Time,
  receivedMessage: Schema.NullOr(ReceivedMessageJson),
  message: Schema.NullOr(MessageJson),
}).annotate({ identifier: "ChatEntry", description: "One of the two is null." })

const ofConversations = true

const route = routeV2("Chats")

export const chatRoutes: ReadonlyArray<RouteV2> = [
  route("GET /api/v2/received-messages", {
    ofConversations,
    id: "listReceivedMessages",
    summary: "List received messages",
    about:
      "Newest first. With `number` and `after`, a `sequence`: what that number received behind it, lowest first; then only `kind` and `limit` may be given besides.",
    request: query<ListReceived>()(ReceivedQuery),
    success: "A page of received messages.",
    answer: pageBody(ReceivedMessageJson, examples.received),
    refused: ["invalid_datetime"],
    handler: Effect.fnUntraced(function* listReceivedMessages({ caller, request }) {
      const chats = yield* Chats
      return pageJson(yield* chats.listReceived(caller, request), yield* receivedShown)
    }),
  }),
  route("GET /api/v2/received-messages/{id}", {
    ofConversations,
    id: "getReceivedMessage",
    summary: "Read a received message",
    success: "The message.",
    answer: jsonBody(ReceivedMessageJson, examples.received),
    refused: ["received_message_not_found"],
    handler: Effect.fnUntraced(function* getReceivedMessage({ caller, id }) {
      const chats = yield* Chats
      const show = yield* receivedShown
      return show(yield* chats.getReceived(caller, id("id")))
    }),
  }),
  route("DELETE /api/v2/received-messages/{id}", {
    ofConversations,
    id: "deleteReceivedMessage",
    summary: "Erase a received message",
    about: "Here, not on phones; the bodies of its events too.",
    success: "It is erased.",
    answer: jsonBody(DeletedJson, { id: 71, deleted: true }),
    refused: ["received_message_not_found"],
    handler: Effect.fnUntraced(function* deleteReceivedMessage({ caller, id }) {
      const chats = yield* Chats
      return deleted(yield* chats.deleteReceived(caller, id("id")))
    }),
  }),
  route("GET /api/v2/chats", {
    ofConversations,
    id: "listChats",
    summary: "List chats",
    about: "The latest activity first.",
    request: query<ListChats>()(ChatsQuery),
    success: "A page of chats.",
    answer: pageBody(ChatJson, examples.chat),
    refused: ["invalid_phone"],
    handler: Effect.fnUntraced(function* listChats({ caller, request }) {
      const chats = yield* Chats
      return page(yield* chats.list(caller, request))
    }),
  }),
  route("GET /api/v2/chats/{id}", {
    ofConversations,
    id: "getChat",
    summary: "Read a chat",
    success: "The chat.",
    answer: jsonBody(ChatJson, examples.chat),
    refused: [{ code: "chat_not_found", inPath: true }],
    handler: Effect.fnUntraced(function* getChat({ caller, id }) {
      const chats = yield* Chats
      return yield* chats.get(caller, id("id"))
    }),
  }),
  route("DELETE /api/v2/chats/{id}", {
    ofConversations,
    id: "deleteChat",
    summary: "Erase a chat",
    about: "All that was received in it, here, not on phones.",
    success: "It is erased.",
    answer: jsonBody(DeletedJson, { id: 9, deleted: true }),
    refused: [{ code: "chat_not_found", inPath: true }],
    handler: Effect.fnUntraced(function* deleteChat({ caller, id }) {
      const chats = yield* Chats
      return deleted(yield* chats.delete(caller, id("id")))
    }),
  }),
  route("GET /api/v2/chats/{id}/messages", {
    ofConversations,
    id: "listChatMessages",
    summary: "List what is in a chat",
    about:
      "Both directions, newest first: received messages by `received_at`, messages that left in it by `sent_at`.",
    request: query<ListPage>()(PageInput),
    success: "A page of entries.",
    answer: pageBody(EntryJson, {
      at: "2030-01-31T07:00:02Z",
      received_message: examples.received,
      message: null,
    }),
    refused: [{ code: "chat_not_found", inPath: true }],
    handler: Effect.fnUntraced(function* listChatMessages({ caller, id, request }) {
      const chats = yield* Chats
      const { link } = yield* MediaLinks
      const now = yield* Clock.currentTimeMillis
      const entries = yield* chats.listEntries(caller, id("id"), request)
      const toReceived = yield* receivedShown
      return pageJson(entries, ({ at, message, receivedMessage }) => ({
        at,
        receivedMessage: receivedMessage && toReceived(receivedMessage),
        message: message && shownMessage(message, now, link),
      }))
    }),
  }),
  route("POST /api/v2/chats/{id}/read", {
    ofConversations,
    idempotent: true,
    id: "markChatRead",
    summary: "Mark a chat as read",
    about:
      "Up to that message, and never back. The number's phone marks it too once it is connected; its privacy settings decide whether people see it.",
    request: json<MarkRead>()(ReadBody, { up_to: 71 }),
    status: 202,
    success: "The mark is stored: how far the chat is read by now.",
    answer: jsonBody(ReadChatJson, { chat_id: 9, up_to: 71 }),
    refused: [{ code: "chat_not_found", inPath: true }, "received_message_not_found"],
    handler: Effect.fnUntraced(function* markChatRead({ caller, id, idempotency, request }) {
      const chats = yield* Chats
      return yield* chats.markRead(caller, id("id"), request, idempotency)
    }),
  }),
]
