/** What was received, and the chats that it is in, for those who read and erase it (contract: Conversations). */
import { Clock, Context, Effect, Layer, Schema } from "effect"
import { authorize, dayMillis, toScope } from "../model/Auth.ts"
import type { Authorized, AuthorizationCode, Caller } from "../model/Auth.ts"
import type { ChatId, NumberId, ReceivedMessageId, WorkspaceId } from "../model/Ids.ts"
import type { IdempotencyClaim, IdempotencyCode, IdempotencyKey } from "../model/Idempotency.ts"
import {
  decoded,
  described,
  inputDecoder,
  instantParameter,
  parsed,
  refusedFor,
  refuseFuture,
} from "../model/Input.ts"
import type { CommandOf } from "../model/Input.ts"
import {
  defaultLimit,
  makeCursors,
  pageFields,
  parsePageRequest,
  queryBoolean,
  queryDecoder,
  queryId,
  textFor,
} from "../model/Page.ts"
import type { CursorPage, ListPage } from "../model/Page.ts"
import type { ChatEntry } from "../model/ChatEntry.ts"
import { receivedKinds } from "../model/Incoming.ts"
import type { ReceivedKind } from "../model/Incoming.ts"
import type { Chat, ReceivedMessage } from "../model/Received.ts"
import { parsePhone, phoneDescribed } from "../model/Recipient.ts"
import { findOrRefuse, refuse } from "../model/Refusal.ts"
import type { Failure } from "../model/Refusal.ts"
import { boundMillis } from "../model/Time.ts"
import type { Moment } from "../model/Time.ts"
import type { ChatFilter, ChatStore, ReceivedFilter } from "../store/ChatStore.ts"
import { commitAndWake, WakeUp } from "../store/DueWork.ts"
import { Store } from "../store/Store.ts"
import { makeIdempotent } from "./makeIdempotent.ts"
import type { IdempotentResult } from "./makeIdempotent.ts"

const SequenceInput = decoded(
  textFor("Messages of `number` with a higher `sequence`, lowest first; 0 for all.", {
    type: "integer",
    minimum: 0,
  }),
  (text: string) =>
    /^\d{1,15}$/.test(text) ? Number(text) : refusedFor("must be a `sequence`, or 0"),
)

/** The query of GET /received-messages. */
export const ReceivedQuery = Schema.Struct({
  number: Schema.optionalKey(queryId("Id of the number that received them.")),
  chatId: Schema.optionalKey(queryId("Id of the chat.")),
  kind: Schema.optionalKey(Schema.Literals(receivedKinds)),
  since: Schema.optionalKey(instantParameter("Received then or later.")),
  until: Schema.optionalKey(instantParameter("Received before.")),
  after: Schema.optionalKey(SequenceInput),
  ...pageFields,
}).check(
  Schema.makeFilter(({ after, chatId, cursor, number, since, until }) => {
    if (after === undefined) return undefined
    if (number === undefined) return { path: ["after"], issue: "must be given with number" }
    const others = { chatId, since, until, cursor }
    const other = Object.entries(others).find(([, value]) => value !== undefined)?.[0]
    return other === undefined
      ? undefined
      : { path: [other], issue: "must not be given with after" }
  }),
)

/** Which received messages. */
export interface ListReceived extends ListPage {
  readonly number?: number | undefined
  readonly chatId?: number | undefined
  readonly kind?: ReceivedKind | undefined
  /** Inclusive, by `receivedAt`. */
  readonly since?: Moment | undefined
  /** Exclusive, by `receivedAt`. */
  readonly until?: Moment | undefined
  /** A `sequence`, with `number`: what came behind it, oldest first. */
  readonly after?: number | undefined
}

/** The query of GET /chats. */
export const ChatsQuery = Schema.Struct({
  number: Schema.optionalKey(queryId("Id of the number.")),
  phone: Schema.optionalKey(
    parsed("invalid_phone", parsePhone, {
      ...phoneDescribed,
      description: "The person's phone, E.164 with a leading +; write + as %2B.",
    }),
  ),
  unread: Schema.optionalKey(
    queryBoolean("Whether it has messages of others that are not marked as read."),
  ),
  ...pageFields,
})

/** Which chats. */
export interface ListChats extends ListPage {
  readonly number?: number | undefined
  readonly phone?: string | undefined
  readonly unread?: boolean | undefined
}

/** The body of POST /chats/{id}/read. */
export const ReadBody = Schema.Struct({
  upTo: described(Schema.Int, "Id of a received message of the chat: the last one that was read."),
}).annotate({ identifier: "MarkRead" })

/** How far a chat was read. */
export type MarkRead = CommandOf<typeof ReadBody.Encoded>

const decodeRead = inputDecoder(ReadBody)

/** How far a chat is read by now: a mark never goes back. */
export interface ReadChat {
  readonly chatId: ChatId
  readonly upTo: ReceivedMessageId
}

const decodeReceived = queryDecoder(ReceivedQuery, ["invalid_datetime"])
const decodeChats = queryDecoder(ChatsQuery, ["invalid_phone"])

/** Received messages and chats that a workspace keeps. */
const mostReceived = 1_000_000
const mostChats = 100_000

/** How long the mark of an erased message drops its repeats: no platform gives one again later. */
const marksRetentionMillis = 30 * dayMillis

/** Makes what erases, in steps, what is to go of a workspace's conversations, or of all (null). */
export const makeReceivedErasure = Effect.map(Store, ({ chats }) =>
  Effect.fnUntraced(function* eraseReceived(workspaceId: WorkspaceId | null) {
    const now = yield* Clock.currentTimeMillis
    const marksBefore = now - marksRetentionMillis
    const erasure = { workspaceId, now, most: mostReceived, mostChats, marksBefore }
    while (yield* chats.eraseReceived(erasure)) yield* Effect.yieldNow
  }),
)

type ReceivedCode = AuthorizationCode | "received_message_not_found"
type ChatCode = AuthorizationCode | "chat_not_found"
type ListCode = AuthorizationCode | "validation_failed" | "invalid_cursor"

type MarkCode = ChatCode | IdempotencyCode | "validation_failed" | "received_message_not_found"

interface Reading {
  readonly chats: ChatStore
  readonly cursors: Effect.Success<typeof makeCursors>
}

const listReceived = Effect.fnUntraced(function* listReceived(
  { chats, cursors }: Reading,
  caller: Authorized,
  query: ListReceived,
) {
  const scope = toScope(caller)
  const { mode, restriction, workspaceId } = scope
  const request = yield* Effect.fromResult(decodeReceived(query))
  const numberId = (request.number as NumberId | undefined) ?? null
  const kind = request.kind ?? null
  const { after, limit = defaultLimit } = request
  if (after !== undefined && numberId !== null) {
    return {
      items: yield* chats.receivedAfter(scope, numberId, after, kind, limit),
      next: null,
    }
  }
  const filter: ReceivedFilter = {
    numberId,
    chatId: (request.chatId as ChatId | undefined) ?? null,
    kind,
    since: boundMillis(request.since),
    until: boundMillis(request.until),
  }
  const { chatId, since, until } = filter
  yield* refuseFuture(since, yield* Clock.currentTimeMillis, "since")
  const binding = ["received", workspaceId, mode, restriction, numberId, chatId, kind, since, until]
  return yield* cursors.page(request, binding, (page) => chats.listReceived(scope, filter, page))
})

const listChats = Effect.fnUntraced(function* listChats(
  { chats, cursors }: Reading,
  caller: Authorized,
  query: ListChats,
) {
  const scope = toScope(caller)
  const { mode, restriction, workspaceId } = scope
  const request = yield* Effect.fromResult(decodeChats(query))
  const filter: ChatFilter = {
    numberId: (request.number as NumberId | undefined) ?? null,
    phone: request.phone ?? null,
    unread: request.unread ?? null,
  }
  const { numberId, phone, unread } = filter
  const binding = [
    "chats",
    workspaceId,
    mode,
    restriction,
    numberId,
    phone,
    unread === null ? null : `${unread}`,
  ]
  return yield* cursors.page(request, binding, (page) => chats.listChats(scope, filter, page))
})

export class Chats extends Context.Service<
  Chats,
  {
    /** Whether the workspace has conversations; without them it has none of these operations. */
    areOn(caller: Pick<Caller, "workspaceId">): Effect.Effect<boolean, Failure<never>>
    /** Whether any workspace of the service has them. */
    readonly areAnywhere: Effect.Effect<boolean, Failure<never>>
    /** GET /received-messages: newest first, or with `after` the lowest `sequence` first. */
    listReceived(
      caller: Caller,
      query: ListReceived,
    ): Effect.Effect<CursorPage<ReceivedMessage>, Failure<ListCode | "invalid_datetime">>
    /** GET /received-messages/{id}. Fails with `received_message_not_found`. */
    getReceived(
      caller: Caller,
      id: ReceivedMessageId | undefined,
    ): Effect.Effect<ReceivedMessage, Failure<ReceivedCode>>
    /** DELETE /received-messages/{id}: erased here, not on phones. Fails with `received_message_not_found`. */
    deleteReceived(
      caller: Caller,
      id: ReceivedMessageId | undefined,
    ): Effect.Effect<ReceivedMessageId, Failure<ReceivedCode>>
    /** GET /chats: the latest activity first. */
    list(
      caller: Caller,
      query: ListChats,
    ): Effect.Effect<CursorPage<Chat>, Failure<ListCode | "invalid_phone">>
    /** GET /chats/{id}. Fails with `chat_not_found`. */
    get(caller: Caller, id: ChatId | undefined): Effect.Effect<Chat, Failure<ChatCode>>
    /** DELETE /chats/{id}: erases all that was received in it. Fails with `chat_not_found`. */
    delete(caller: Caller, id: ChatId | undefined): Effect.Effect<ChatId, Failure<ChatCode>>
    /** GET /chats/{id}/messages: both directions, newest first. Fails with `chat_not_found`. */
    listEntries(
      caller: Caller,
      id: ChatId | undefined,
      query: ListPage,
    ): Effect.Effect<CursorPage<ChatEntry>, Failure<ChatCode | ListCode>>
    /**
     * POST /chats/{id}/read: the worker then marks it at the remote. Fails with `chat_not_found`, and with
     * `received_message_not_found` where `upTo` is none of the chat.
     */
    markRead(
      caller: Caller,
      id: ChatId | undefined,
      command: MarkRead,
      idempotency: IdempotencyKey | null,
    ): Effect.Effect<IdempotentResult<ReadChat>, Failure<MarkCode>>
  }
>()("core/Chats") {
  static readonly layer = Layer.effect(
    Chats,
    Effect.suspend(() => make),
  )
}

const noChat = refuse("chat_not_found", { inPath: true })

const listEntries = Effect.fnUntraced(function* listEntries(
  { chats, cursors }: Reading,
  caller: Authorized,
  id: ChatId | undefined,
  query: ListPage,
) {
  const scope = toScope(caller)
  const { mode, restriction, workspaceId } = scope
  const request = yield* Effect.fromResult(parsePageRequest(query))
  if (id === undefined) return yield* noChat
  const binding = ["entries", workspaceId, mode, restriction, id]
  return yield* cursors.pageByPosition(
    request,
    binding,
    Effect.fnUntraced(function* load(place, limit) {
      const [at = 0, isSent = 0, of = 0] = place ?? []
      const behind = place === null ? null : { at, isSent: isSent === 1, id: of }
      const page = yield* chats.listEntries(scope, id, behind, limit)
      if (page === null) return yield* noChat
      const { items, next } = page
      return { items, next: next && [next.at, Number(next.isSent), next.id] }
    }),
  )
})

/** Makes what stores how far a chat is read, and wakes what marks it at the remote. */
const makeMark = Effect.gen(function* makeMark() {
  const { chats } = yield* Store
  const wakeUp = yield* WakeUp
  return Effect.fnUntraced(function* mark(
    caller: Authorized,
    id: ChatId | undefined,
    upTo: ReceivedMessageId,
    claim: IdempotencyClaim | null,
  ) {
    if (id === undefined) return yield* noChat
    const now = yield* Clock.currentTimeMillis
    const marked = yield* commitAndWake(
      chats.markRead(toScope(caller), id, upTo, now, claim),
      wakeUp.wake("read_marks"),
    )
    if (marked._tag === "Marked") return { chatId: id, upTo: marked.upTo }
    switch (marked.guard) {
      case "idempotency":
        return yield* refuse("idempotency_in_progress", { retryAfter: 1 })
      case "chat":
        return yield* noChat
      case "message":
        return yield* refuse("received_message_not_found", { field: "upTo" })
    }
  })
})

const make = Effect.gen(function* makeChats() {
  const { chats } = yield* Store
  const reading: Reading = { chats, cursors: yield* makeCursors }
  const erase = yield* makeReceivedErasure
  const idempotent = yield* makeIdempotent
  const mark = yield* makeMark
  const noMessage = refuse("received_message_not_found")
  return Chats.of({
    areOn: ({ workspaceId }) =>
      Effect.map(chats.conversations(workspaceId), (settings) => settings !== null),
    areAnywhere: chats.anyConversations,
    listReceived: Effect.fn("Chats.listReceived")(function* (input, query) {
      const caller = yield* authorize(input, "listReceivedMessages")
      return yield* listReceived(reading, caller, query)
    }),
    getReceived: Effect.fn("Chats.getReceived")(function* (input, id) {
      const scope = toScope(yield* authorize(input, "getReceivedMessage"))
      return yield* findOrRefuse("received_message_not_found", id, (known) =>
        chats.getReceived(scope, known),
      )
    }),
    deleteReceived: Effect.fn("Chats.deleteReceived")(function* (input, id) {
      const scope = toScope(yield* authorize(input, "deleteReceivedMessage"))
      const now = yield* Clock.currentTimeMillis
      if (id === undefined || !(yield* chats.deleteReceived(scope, id, now)))
        return yield* noMessage
      return id
    }),
    list: Effect.fn("Chats.list")(function* (input, query) {
      return yield* listChats(reading, yield* authorize(input, "listChats"), query)
    }),
    get: Effect.fn("Chats.get")(function* (input, id) {
      const scope = toScope(yield* authorize(input, "getChat"))
      const found = id === undefined ? null : yield* chats.getChat(scope, id)
      return found ?? (yield* noChat)
    }),
    delete: Effect.fn("Chats.delete")(function* (input, id) {
      const caller = yield* authorize(input, "deleteChat")
      const now = yield* Clock.currentTimeMillis
      if (id === undefined || !(yield* chats.deleteChat(toScope(caller), id, now))) {
        return yield* noChat
      }
      yield* erase(caller.workspaceId)
      return id
    }),
    listEntries: Effect.fn("Chats.listEntries")(function* (input, id, query) {
      return yield* listEntries(reading, yield* authorize(input, "listChatMessages"), id, query)
    }),
    markRead: Effect.fn("Chats.markRead")(function* (input, id, command, requested) {
      const caller = yield* authorize(input, "markChatRead")
      const { upTo } = yield* Effect.fromResult(decodeRead(command))
      return yield* idempotent.run(caller, requested, {
        work: (claim) => mark(caller, id, upTo as ReceivedMessageId, claim),
        again: ([chatId, furthest]) =>
          Effect.succeed({ chatId: chatId as ChatId, upTo: furthest as ReceivedMessageId }),
      })
    }),
  })
})
