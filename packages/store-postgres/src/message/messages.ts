/** Messages: accepting, reading, ending, and what the worker's sweeps look for. */
import { visibleModes, movedByTick } from "@messaging-service/core"
import type {
  AwaitedTick,
  Acceptance,
  AcceptanceFacts,
  AcceptanceOutcome,
  AcceptanceQuery,
  AnsweredChat,
  FailedGuard,
  ClaimOutcome,
  Contact,
  ContactId,
  EventId,
  ExactQuota,
  FoundMessage,
  MediaFile,
  Message,
  MessageChange,
  MessageEventType,
  MessageId,
  MessageStore,
  NewMessage,
  NumberFacts,
  NumberId,
  Phone,
  Plan,
  QuotedMessage,
  Recipient,
  SendingNumber,
  StoredAttempt,
  StoreUnavailable,
  TimelineQuery,
  TimelineDelivery,
  TransportId,
  WebhookId,
} from "@messaging-service/core"
import { Effect } from "effect"
import { batched, batching, batchOrSplit, sharedLockTimeout } from "../database/Batcher.ts"
import type { DatabaseService } from "../database/Database.ts"
import { idOrNull, millis, statement, toColumns } from "../database/Sql.ts"
import type { Element, Params, Row } from "../database/Sql.ts"
import { releaseClaim, toClaimParams } from "../request/idempotency.ts"
import type { DeliveriesQueued } from "../webhook/queueDeliveries.ts"
import { listMessages, searchMessages } from "./messageList.ts"
import { toMessage, toRecipient } from "./toMessage.ts"
import type { RecipientColumns } from "./toMessage.ts"

// A batch of acceptances as parameters of one call, and the outcome of each.

/** A message as acceptance writes it. All else its acceptance says. */
type MessageElement = Omit<Element<"accept_messages", "m">, "mAcceptance">

const toMessageElement = (message: NewMessage): MessageElement => ({
  mPlatform: message.from.platform,
  mFromPhone: message.phoneAtAcceptance,
  ...toRecipientElement(message.to),
  mText: message.text,
  mMediaId: message.media?.mediaId ?? null,
  mAttachmentId: message.media?.attachmentId ?? null,
  mMediaUrl: message.media?.url ?? null,
  mMediaType: message.media?.type ?? null,
  mMediaFileName: message.media?.fileName ?? null,
  mSendAt: message.sendAt,
  mExpiresAt: message.expiresAt,
  mCreatedAt: message.createdAt,
  mDueAt: message.dueAt,
  mTransportId: message.transportId,
  mCallbackUrl: message.callbackUrl,
  mReference: message.reference,
  mCampaignId: message.campaign?.id ?? null,
  mCampaignRow: message.campaign?.row ?? null,
  mReplyReceivedId:
    message.replyTo !== null && "receivedMessageId" in message.replyTo
      ? message.replyTo.receivedMessageId
      : null,
  mReplyMessageId:
    message.replyTo !== null && "messageId" in message.replyTo ? message.replyTo.messageId : null,
})

const toRecipientElement = (to: Recipient) => ({
  mToKind: to.kind,
  mToPhone: ("phone" in to ? to.phone : undefined) ?? null,
  mToName:
    ("group" in to ? to.group : undefined) ?? ("username" in to ? to.username : undefined) ?? null,
  mToContactId: "contactId" in to ? to.contactId : null,
  mToChatId: to.kind === "chat" ? to.chatId : null,
  mToAddress: (to.kind === "chat" ? to.address : undefined) ?? null,
})

type AcceptanceElement = Omit<Element<"accept_messages">, keyof Element<"accept_messages", "m">>

const toAcceptanceElement = (one: Acceptance): AcceptanceElement => ({
  now: one.now,
  workspace: one.workspaceId,
  number: one.numberId,
  live: one.mode === "live",
  count: one.messages.length,
  dueAt: one.messages[0]?.dueAt ?? null,
  allowance: one.allowance,
  quotaAt: one.quota?.plannedAt ?? null,
  quotaCount: one.quota?.count ?? null,
  quotaLimit: one.quota?.limit.messages ?? null,
  quotaWindowMillis: one.quota?.limit.windowMillis ?? null,
  ...toClaimParams(one.idempotency),
})

/**
 * Acceptances, ordered by number. `timeout` is how long they may wait for a lock, in milliseconds; null in a
 * caller's transaction, which says so itself.
 */
export const toAcceptParams = (
  acceptances: ReadonlyArray<Acceptance>,
  timeout: number | null,
): Params<"accept_messages"> => {
  const messages: Array<Element<"accept_messages", "m">> = []
  for (const [index, acceptance] of acceptances.entries()) {
    for (const message of acceptance.messages) {
      messages.push({ mAcceptance: index + 1, ...toMessageElement(message) })
    }
  }
  return {
    ...toColumns(acceptances.map(toAcceptanceElement)),
    ...toColumns(messages),
    lockTimeout: timeout,
  }
}

export const toOutcome = <Guard = FailedGuard>({ guard, ids }: Row<"accept_messages">) =>
  guard === null
    ? ({ _tag: "Accepted", ids: (ids ?? []).map(toMessageId) } as const)
    : ({ _tag: "Conflict", guard: guard as FailedGuard | Guard } as const)

export const toMessageId = (id: bigint): MessageId => Number(id) as MessageId

// Accepting messages: one call of `accept_messages` writes whole acceptances, each on its own.

export const acceptStatement = statement("accept_messages", { joinable: true })

/** Writes acceptances in one round trip; one outcome for each, in their order. */
const acceptAll = (database: DatabaseService) =>
  Effect.fnUntraced(function* acceptBatch(acceptances: ReadonlyArray<Acceptance>) {
    const sorted = [...acceptances.entries()].toSorted(byNumber)
    const params = toAcceptParams(sorted.map(getSecond), yield* sharedLockTimeout)
    const rows = yield* acceptStatement.rows(database, params)
    const outcomes: Array<AcceptanceOutcome> = []
    for (const [position, row] of rows.entries()) {
      outcomes[sorted[position]?.[0] ?? position] = toOutcome(row)
    }
    return outcomes
  })

type Indexed<Value> = readonly [index: number, value: Value]

const byNumber = ([, one]: Indexed<Acceptance>, [, other]: Indexed<Acceptance>): number =>
  one.numberId - other.numberId

const getSecond = <Value>([, value]: Indexed<Value>): Value => value

const toNumberId = ({ numberId }: Acceptance): NumberId => numberId

// Ending messages. Each end also writes its event, the deliveries to webhook endpoints, its callback and
// the refund of the allowance. Settling an attempt writes the same in a function of its own.

type ChangeElement = Omit<Element<"end_messages">, "numberId" | "messageId">

/** How a message ends and how that is reported; all null for one that continues waiting. */
export const toChangeElement = (change: MessageChange | null): ChangeElement => ({
  state: change?.message.state ?? null,
  sentAt: change?.message.sentAt ?? null,
  errorCode: change?.message.error?.code ?? null,
  errorMessage: change?.message.error?.message ?? null,
  foundMediaType: change?.message.foundMediaType ?? null,
  endPhone: change === null ? null : endPhone(change.message),
  givesBack: change?.refunds ?? null,
  ...toReport(change),
})

/**
 * The phone that it left from: nothing where that is the one of its acceptance, which is nearly
 * always; an empty text where there is none.
 */
const endPhone = ({ from, phoneAtAcceptance }: Message): string | null =>
  from.phone === phoneAtAcceptance ? null : (from.phone ?? "")

/** The event and the callback of a change. All else of an event its message says. */
const toReport = (change: Pick<MessageChange, "callback" | "event"> | null) => ({
  eventId: change?.event.id ?? null,
  eventType: change?.event.type ?? null,
  eventAt: change?.event.createdAt ?? null,
  eventBody: change?.event.body ?? null,
  callbackTarget: change?.callback?.target ?? null,
  callbackUrl: change?.callback?.url ?? null,
  callbackBody: change?.callback?.body ?? null,
})

/** The messages of these rows; reports deliveries. */
const endedIds = (
  rows: Effect.Effect<ReadonlyArray<Row<"end_messages">>, StoreUnavailable>,
  notify: Effect.Effect<void>,
): Effect.Effect<ReadonlySet<MessageId>, StoreUnavailable> =>
  Effect.flatMap(rows, function tellAndMap(found) {
    const ids = new Set(found.map((row) => toMessageId(row.message_id)))
    return found[0]?.queued === true ? Effect.as(notify, ids) : Effect.succeed(ids)
  })

const endMessages = statement("end_messages", { joinable: true })

const toEndingElement = (change: MessageChange): Element<"end_messages"> => ({
  numberId: change.message.from.id,
  messageId: change.message.id,
  ...toChangeElement(change),
})

/**
 * Keeps the first of several changes to one message: else the server's plan would choose. `lockTimeout` as
 * in `toAcceptParams`.
 */
const toEndParams = (
  changes: ReadonlyArray<MessageChange>,
  lockTimeout: number | null,
): Params<"end_messages"> => {
  const now = changes.reduce((latest, { event }) => Math.max(latest, event.createdAt), -Infinity)
  const first = new Map(changes.toReversed().map((change) => [change.message.id, change]))
  const remaining = changes.filter((one) => first.get(one.message.id) === one)
  return { now, lockTimeout, ...toColumns(remaining.map(toEndingElement)) }
}

/** Changes of one number, which wait for its lane together. */
type LaneChanges = ReadonlyArray<MessageChange>

const findLane = ([first]: LaneChanges): NumberId | null => first?.message.from.id ?? null

const byLane = (changes: ReadonlyArray<MessageChange>): ReadonlyArray<LaneChanges> => [
  ...Map.groupBy(changes, ({ message }) => message.from.id).values(),
]

const toEnded = (all: ReadonlyArray<ReadonlySet<MessageId>>): ReadonlySet<MessageId> =>
  new Set(all.flatMap((ids) => [...ids]))

/** To each caller what it ended itself: of several that end one message together, the first did. */
const share = (
  lanes: ReadonlyArray<LaneChanges>,
  ended: ReadonlySet<MessageId>,
): ReadonlyArray<ReadonlySet<MessageId>> => {
  const left = new Set(ended)
  return lanes.map(
    (changes) =>
      new Set(changes.flatMap(({ message }) => (left.delete(message.id) ? [message.id] : []))),
  )
}

/** Ends the changes of several numbers in one statement. */
const endLanes = (database: DatabaseService, notify: Effect.Effect<void>) =>
  Effect.fnUntraced(function* endSome(lanes: ReadonlyArray<LaneChanges>) {
    const params = toEndParams(lanes.flat(), yield* sharedLockTimeout)
    return yield* endedIds(endMessages.rows(database, params), notify)
  })

const nextId = statement("message.nextId", { joinable: true })
const insertRefused = statement("insert_refused_message", { joinable: true })

const toRefusedParams = (change: MessageChange): Params<"insert_refused_message"> => {
  const { message } = change
  return {
    mId: message.id,
    mWorkspaceId: message.workspaceId,
    mMode: message.mode,
    mNumberId: message.from.id,
    ...toMessageElement(message),
    mState: message.state,
    mSentAt: message.sentAt,
    mErrorCode: message.error?.code ?? null,
    mErrorMessage: message.error?.message ?? null,
    mFoundMediaType: message.foundMediaType,
    mEndPhone: endPhone(message),
    ...toReport(change),
  }
}

// The facts that acceptance decides on, in one round trip, with the claim of the `Idempotency-Key`.
// The claim comes first, and only a later statement looks for a finished request: a finished one
// gave its claim up in the same commit, so that a claim that was won while a record exists is given
// back. A claim that is refused leaves the other facts unread.

interface LoadedNumber {
  readonly number: SendingNumber
  readonly bound: number
  readonly fullUntil: number | null
  readonly exact: ExactQuota | null
}

interface Loaded {
  readonly claim?: ClaimOutcome
  readonly plan?: Plan | null
  readonly numbers?: ReadonlyArray<LoadedNumber> | null
  readonly contactIds?: Readonly<Record<Phone, ContactId>> | null
  readonly contacts?: ReadonlyArray<Contact> | null
  readonly chats?: ReadonlyArray<AnsweredChat> | null
  readonly quoted?: (Omit<QuotedMessage, "to"> & { readonly to: RecipientColumns | null }) | null
  readonly media?: MediaFile | null
  readonly exact?: ExactQuota | null
}

export const loadStatement = statement("message.loadAcceptance", { joinable: true })

const loadAll = (database: DatabaseService) =>
  Effect.fnUntraced(function* loadBatch(queries: ReadonlyArray<AcceptanceQuery>) {
    // Two batches that claim the same keys must take them in the same order, and no lane before.
    const sorted = [...queries.entries()].toSorted(byRank)
    const timeout = yield* sharedLockTimeout
    const toRequested = ([, query]: Indexed<AcceptanceQuery>) => toJson(query, timeout)
    const rows = yield* loadStatement.rows(database, { queries: sorted.map(toRequested) })
    const facts: Array<AcceptanceFacts> = []
    for (const [position, [index, query]] of sorted.entries()) {
      facts[index] = toFacts(query, (rows[position]?.facts ?? {}) as Loaded)
    }
    return facts
  })

const byRank = ([, one]: Indexed<AcceptanceQuery>, [, other]: Indexed<AcceptanceQuery>): number => {
  const [rank, otherRank] = [toRank(one), toRank(other)]
  return rank === otherRank ? 0 : rank < otherRank ? -1 : 1
}

/** Times as text: PostgreSQL would make inexact floating point numbers of milliseconds. */
const iso = (at: number): string => new Date(at).toISOString()

const toJson = (query: AcceptanceQuery, lockTimeout: number | null) => ({
  ...query,
  lockTimeout,
  seen: visibleModes(query.mode),
  now: iso(query.now),
  exactQuota: query.exactQuota && {
    ...query.exactQuota,
    planned: {
      ...query.exactQuota.planned,
      plannedAt: iso(query.exactQuota.planned.plannedAt),
    },
  },
})

const toRank = ({ exactQuota, idempotency }: AcceptanceQuery): string =>
  `${exactQuota === null ? 0 : 1} ${idempotency?.keyId ?? 0} ${idempotency?.key ?? ""}`

const toFacts = (query: AcceptanceQuery, loaded: Loaded): AcceptanceFacts => {
  const numbers = (loaded.numbers ?? []).map(
    ({ bound, exact, fullUntil, number }): NumberFacts => ({
      number,
      quota: {
        bound,
        fullUntil,
        exact: query.exactQuota?.numberId === number.id ? (loaded.exact ?? null) : exact,
      },
    }),
  )
  const contactIds = Object.entries(loaded.contactIds ?? {})
  const chats = loaded.chats ?? []
  const isNamed = query.from !== null || chats.length > 0
  return {
    claim: query.idempotency === null ? null : (loaded.claim ?? { _tag: "Claimed" }),
    plan: loaded.plan ?? null,
    named: isNamed ? (numbers[0] ?? null) : null,
    connected: isNamed ? [] : numbers,
    contactIdByPhone: new Map(contactIds.map(([phone, id]) => [phone as Phone, id])),
    contacts: new Map((loaded.contacts ?? []).map((contact) => [contact.id, contact])),
    chats: new Map(chats.map((chat) => [chat.id, chat])),
    quoted: loaded.quoted
      ? { ...loaded.quoted, to: loaded.quoted.to && toRecipient(loaded.quoted.to) }
      : null,
    media: loaded.media ?? null,
  }
}

const getMessage = statement("message.get", { joinable: true })
const messagesByIds = statement("message.byIds", { joinable: true })
const expiredMessages = statement("message.expired")
const dueTestMessages = statement("message.dueTest")
const orphanedMessages = statement("message.orphaned")
const getByTransportId = statement("message.byTransportId")
const tickMessage = statement("message.tick")
const announceTick = statement("announce_tick")
const earlyTicks = statement("message.earlyTicks")
const dueTestTicks = statement("message.dueTestTicks")
const waitingIds = statement("message.waitingIds")
const foundMessages = statement("message.found")
const messageTimeline = statement("message.timeline")
const attemptsOf = statement("message.attempts")
const deliveriesOf = statement("message.deliveries")

const toStoredAttempt = (row: Row<"message.attempts">): StoredAttempt => ({
  at: row.attempted_at.getTime(),
  unfinished: row.unfinished as StoredAttempt["unfinished"],
  nextAttemptAt: millis(row.next_attempt_at),
})

const toToldAttempt = (row: Row<"message.deliveries">): TimelineDelivery => ({
  attemptedAt: row.attempted_at.getTime(),
  webhookId: idOrNull<WebhookId>(row.webhook_id),
  // Empty once its endpoint was erased.
  url: row.url === "" ? null : row.url,
  attempt: row.attempt,
  responseStatus: row.response_status,
  error: row.error as TimelineDelivery["error"],
  durationMillis: Number(row.duration_millis),
  nextAttemptAt: millis(row.next_attempt_at),
})

const toTimelineFacts = (row: Row<"message.timeline">) => ({
  message: toMessage(row),
  deliveredAt: millis(row.delivered_at),
  readAt: millis(row.read_at),
  event:
    row.event_id === null || row.event_type === null || row.event_at === null
      ? null
      : {
          id: row.event_id as EventId,
          type: row.event_type as MessageEventType,
          createdAt: row.event_at.getTime(),
        },
  ahead: Number(row.ahead),
  newChatsUntil:
    row.new_chats === null
      ? null
      : ((row.new_chats as { readonly until: number | null }).until ?? Infinity),
})

const timelineFacts = (database: DatabaseService) =>
  Effect.fnUntraced(function* readTimeline({
    id,
    limit,
    mostAhead,
    now,
    workspaceId,
  }: TimelineQuery) {
    const params = { id, workspaceId, now, mostAhead }
    const facts = yield* messageTimeline.first(database, params, toTimelineFacts)
    if (facts === null) return null
    return {
      ...facts,
      attempts: yield* attemptsOf.all(database, { id, limit }, toStoredAttempt),
      deliveries: yield* deliveriesOf.all(database, { id, limit }, toToldAttempt),
    }
  })

const toShownMessage = (row: Row<"message.get">) => ({
  message: toMessage(row),
  inFlight: row.in_flight,
})

/** What a request that looks for its claim needs alone. */
const findClaim = ({ idempotency }: AcceptanceQuery): string | null =>
  idempotency === null ? null : `${idempotency.keyId} ${idempotency.key}`

/** What operators alone ask for. */
const operatorReads = (
  database: DatabaseService,
): Pick<MessageStore, "found" | "search" | "timeline" | "waitingIds"> => ({
  search: Effect.fnUntraced(function* search(...params) {
    const { ids, lookedUntil, next } = yield* searchMessages(database, ...params)
    const items = ids.length === 0 ? [] : yield* messagesByIds.all(database, { ids }, toMessage)
    return { items, next, lookedUntil }
  }),
  waitingIds(workspaceId, mode, { from, phone, since, statuses, until }, now, limit) {
    const params = {
      workspaceId,
      mode,
      from,
      phone,
      queued: statuses.includes("queued"),
      scheduled: statuses.includes("scheduled"),
      since: since ?? -Infinity,
      until: until ?? Infinity,
      now,
      limit,
    }
    return waitingIds.all(database, params, (row) => toMessageId(row.id))
  },
  found(workspaceId, ids) {
    return ids.length === 0
      ? Effect.succeed<ReadonlyArray<FoundMessage>>([])
      : foundMessages.all(database, { workspaceId, ids }, toShownMessage)
  },
  timeline: timelineFacts(database),
})

const toAwaitedTick = (row: Row<"message.earlyTicks">): AwaitedTick => ({
  numberId: Number(row.number_id) as NumberId,
  transportId: row.transport_id as TransportId,
  tick: row.tick as AwaitedTick["tick"],
})

const applyTick = (database: DatabaseService, notify: Effect.Effect<void>): MessageStore["tick"] =>
  Effect.fnUntraced(function* tick(numberId, transportId, state, now, toEvent) {
    const from = movedByTick[state]
    const params = { numberId, transportId, from, state, now, announces: toEvent !== undefined }
    for (;;) {
      const found = yield* tickMessage.first(database, params, (row) => ({
        message: toMessage(row),
        takesEvent: row.announced,
      }))
      if (found?.takesEvent !== true || toEvent === undefined) return found?.message ?? null
      const moved = { ...found.message, state }
      const { body, id, type } = toEvent(moved)
      const event = { eventId: id, eventType: type, eventBody: body }
      const change = { message: moved.id, state, from, now, ...event }
      const isMoved = yield* announceTick.isTrue(database, change)
      yield* notify
      // Else another tick came first, and what it left is looked at.
      if (isMoved) return moved
    }
  })

export const messageStore = Effect.fnUntraced(function* (
  database: DatabaseService,
  { notify }: DeliveriesQueued,
) {
  const endSome = endLanes(database, notify)
  const endEach = (lanes: ReadonlyArray<LaneChanges>) =>
    Effect.map(endSome(lanes), (ids) => share(lanes, ids))
  const endLane = yield* batched(endEach, batching(database), findLane)
  const store: MessageStore = {
    loadAcceptance: yield* batched(loadAll(database), batching(database), findClaim),
    accept: yield* batched(acceptAll(database), batching(database), toNumberId),
    insertRefused: Effect.fnUntraced(function* insertRefusedMessage(refused) {
      const id = yield* nextId.one(database, {}, (row) => toMessageId(row.id))
      const change = refused.ended(id)
      const queued = yield* insertRefused.value(database, toRefusedParams(change))
      if (queued === null) return null
      if (queued) yield* notify
      return change
    }),
    releaseClaim(claim) {
      return releaseClaim(database, claim)
    },
    get(scope, id) {
      return getMessage.first(database, { ...scope, id }, toShownMessage)
    },
    byIds(ids) {
      return ids.length === 0
        ? Effect.succeed<ReadonlyArray<Message>>([])
        : messagesByIds.all(database, { ids }, toMessage)
    },
    list(scope, filter, page, now) {
      return listMessages(database, scope, filter, page, now)
    },
    ...operatorReads(database),
    end(changes, { passesOver = false } = {}) {
      const lanes = byLane(changes)
      if (lanes.length === 0) return Effect.succeed(new Set<MessageId>())
      return passesOver
        ? Effect.map(batchOrSplit(lanes, endSome), ({ done }) => toEnded(done))
        : Effect.map(Effect.forEach(lanes, endLane, { concurrency: "unbounded" }), toEnded)
    },
    expired(now, limit) {
      return expiredMessages.all(database, { now, limit }, toMessage)
    },
    dueTest(now, limit, perWorkspace) {
      return dueTestMessages.all(database, { now, limit, perWorkspace }, toMessage)
    },
    orphaned(limit) {
      return orphanedMessages.all(database, { limit }, toMessage)
    },
    byTransportId(numberId, transportId) {
      return getByTransportId.first(database, { numberId, transportId }, toMessage)
    },
    tick: applyTick(database, notify),
    earlyTicks(limit) {
      return earlyTicks.all(database, { limit }, toAwaitedTick)
    },
    dueTestTicks(now, limit) {
      return dueTestTicks.all(database, { now, limit }, toAwaitedTick)
    },
  }
  return store
})
