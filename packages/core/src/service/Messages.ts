/**
 * The messages service for callers: send, send a batch, read, list and cancel. Every change loads,
 * decides and commits; when a guard of the commit fails, it loads again.
 */
import { Clock, Context, Effect, Layer, Result, Schema } from "effect"
import type { Quote } from "../model/Answer.ts"
import type { CallbackUrl } from "./CallbackSettings.ts"
import { OutboundRule, Egress } from "../model/Egress.ts"
import { detailed, findOrRefuse, refuse } from "../model/Refusal.ts"
import type { Code, Failure, Refusal, StoreUnavailable } from "../model/Refusal.ts"
import { endMessage, refusedMessage } from "../model/MessageChange.ts"
import { eventId, Ids } from "../model/Ids.ts"
import type {
  ChatId,
  MessageId,
  NumberId,
  WorkspaceId,
  TransportId,
  ContactId,
} from "../model/Ids.ts"
import { toClaimant, authorize, toScope } from "../model/Auth.ts"
import type { AuthorizationCode, Caller, CallerScope, Authorized, Sender } from "../model/Auth.ts"
import { makeBulkhead, sharedLimits } from "../model/Bulkhead.ts"
import { markMissingFiles, MediaLinks } from "../model/Media.ts"
import type { MediaLink } from "../model/Media.ts"
import type { Attachment } from "./MediaDirectory.ts"
import { commitAndWake, sendingWork, WakeUp } from "../store/DueWork.ts"
import { parsePhone, phoneDescribed } from "../model/Recipient.ts"
import type { Phone } from "../model/Recipient.ts"
import { judgeClaim } from "../model/Idempotency.ts"
import type { IdempotencyCode, IdempotencyClaim, IdempotencyKey } from "../model/Idempotency.ts"
import { instantParameter, parsed, refuseFuture, textBetween } from "../model/Input.ts"
import {
  defaultLimit,
  makeCursors,
  namesInput,
  pageFields,
  queryDecoder,
  queryId,
} from "../model/Page.ts"
import type { CursorPage, ListPage, PageQuery } from "../model/Page.ts"
import { boundMillis, RealTime, sleep } from "../model/Time.ts"
import type { Moment } from "../model/Time.ts"
import { isKnownExpired, makeEndings } from "./makeEndings.ts"
import type { Endings } from "./makeEndings.ts"
import { WorkGate } from "./Readiness.ts"
import {
  asAccepted,
  messageErrorCodes,
  messageStatuses,
  statusAt,
  DailyQuota,
  needsCount,
} from "../model/Message.ts"
import type {
  Message,
  MessageError,
  MessageErrorCode,
  MessageStatus,
  QuotaLimit,
} from "../model/Message.ts"
import type { ChatStore } from "../store/ChatStore.ts"
import type {
  MessageStore,
  FoundMessage,
  MessageFilter,
  SearchedPage,
} from "../store/MessageStore.ts"
import type { Acceptance, AcceptanceFacts, AcceptanceQuery } from "../model/accept.ts"
import {
  asksForAnswers,
  ReferenceInput,
  referencedSendParser,
  sendRequestParser,
} from "../model/SendRequest.ts"
import type {
  ContentCode,
  ReferencedBatch,
  ReferencedSend,
  SendRequest,
} from "../model/SendRequest.ts"
import { resolveNumber, plannedQuota, decideAcceptance, decideRefused } from "../model/accept.ts"
import type { AcceptCode, AcceptContext } from "../model/accept.ts"
import { Store } from "../store/Store.ts"
import { sendRefusal } from "../model/Workspace.ts"

/** What decisions need besides the facts. */
interface Deciding {
  readonly ids: Ids["Service"]
  readonly egress: Egress["Service"]
  readonly dailyLimit: QuotaLimit
}

const toContext = (
  { egress, ids, dailyLimit }: Deciding,
  sender: Sender,
  { media }: SendRequest,
  now: number,
  idempotency: IdempotencyClaim | null,
) =>
  Effect.map(
    media?.url == null ? Effect.succeed(true) : egress.allows(media.url, sender.workspaceId),
    (linkAllowed): AcceptContext => ({
      sender,
      now,
      ids,
      idempotency,
      linkAllowed,
      dailyLimit,
    }),
  )

/** Makes the acceptor. Sends commit its decision as is; a reminder's run adds its own advance. */
export const makeAcceptor = Effect.gen(function* makeAcceptor() {
  const store = (yield* Store).messages
  const wakeUp = yield* WakeUp
  const dailyLimit = yield* DailyQuota
  const deciding: Deciding = { ids: yield* Ids, egress: yield* Egress, dailyLimit }

  return {
    /**
     * Claims the key, if any, and loads the facts. Counts the quota exactly when `recount` asks for
     * it or when the bound cannot decide. `now` in epoch milliseconds.
     */
    load: Effect.fnUntraced(function* load(
      sender: Sender,
      request: SendRequest,
      now: number,
      claim: IdempotencyClaim | null,
      recount: boolean,
    ) {
      const query = acceptanceQuery(sender, request, now, claim)
      const facts = yield* store.loadAcceptance(query)
      if (facts.claim !== null && facts.claim._tag !== "Claimed") return facts
      const number = resolveNumber(request, facts, sender)
      if (Result.isFailure(number)) return facts
      const planned = plannedQuota(request, now, dailyLimit)
      const { number: from, quota } = number.success
      if (!recount && !needsCount(quota, planned)) return facts
      const exactQuota = { numberId: from.id, planned }
      return yield* store.loadAcceptance({ ...query, idempotency: null, exactQuota })
    }),
    /** Loads the facts with all connected numbers, each quota counted exactly. */
    loadConnected: (
      sender: Sender,
      request: SendRequest,
      now: number,
      planned = plannedQuota(request, now, dailyLimit),
    ) =>
      store.loadAcceptance({
        ...acceptanceQuery(sender, request, now, null),
        exactQuota: { numberId: null, planned },
      }),
    dailyLimit,
    /** What decides besides the facts, with another limit. */
    contextWith: (limit: QuotaLimit, sender: Sender, request: SendRequest, now: number) =>
      toContext({ ...deciding, dailyLimit: limit }, sender, request, now, null),
    /** Checks where a media link leads, then decides. Fails with the refusals of POST /messages. */
    decide: Effect.fnUntraced(function* decide(
      sender: Sender,
      request: SendRequest,
      facts: AcceptanceFacts,
      now: number,
      idempotency: IdempotencyClaim | null,
    ) {
      const context = yield* toContext(deciding, sender, request, now, idempotency)
      return yield* Effect.fromResult(decideAcceptance(request, facts, context))
    }),
    /** As `decide`, for a request without quota: the acceptance it would have had, at no cost. */
    decideRefused: Effect.fnUntraced(function* refused(
      sender: Sender,
      request: SendRequest,
      facts: AcceptanceFacts,
      now: number,
    ) {
      const context = yield* toContext(deciding, sender, request, now, null)
      return yield* Effect.fromResult(decideRefused(request, facts, context))
    }),
    /** Wakes the loops that a committed acceptance concerns. */
    wake: Effect.fnUntraced(function* wake({ messages, mode }: Acceptance) {
      yield* wakeUp.wake(sendingWork(mode))
      if (messages.some(({ expiresAt }) => expiresAt !== null)) yield* wakeUp.wake("expiry")
    }),
  }
})

const acceptanceQuery = (
  { mode, workspaceId }: Sender,
  request: SendRequest,
  now: number,
  idempotency: IdempotencyClaim | null,
): AcceptanceQuery => {
  const phones = new Set<Phone>()
  const contactIds = new Set<ContactId>()
  const chatIds = new Set<ChatId>()
  for (const to of request.recipients) {
    if (to.kind === "phone") phones.add(to.phone)
    if (to.kind === "contact") contactIds.add(to.contactId)
    if (to.kind === "chat") chatIds.add(to.chatId)
  }
  return {
    workspaceId,
    mode,
    now,
    from: request.from,
    phones: [...phones],
    contactIds: [...contactIds],
    chatIds: [...chatIds],
    replyTo: request.replyTo,
    mediaId: request.media?.mediaId ?? null,
    exactQuota: null,
    idempotency,
  }
}

const listFields = {
  status: Schema.optionalKey(namesInput(messageStatuses)),
  from: Schema.optionalKey(queryId("Id of the sending number.")),
  to: Schema.optionalKey(
    parsed("invalid_phone", parsePhone, {
      ...phoneDescribed,
      description: "The recipient's phone, E.164 with a leading +; write + as %2B.",
    }),
  ),
  since: Schema.optionalKey(instantParameter("Created then or later.")),
  until: Schema.optionalKey(instantParameter("Created before.")),
  ...pageFields,
}

/** The query parameters of GET /messages (contract: Listing messages). */
export const ListQuery = Schema.Struct(listFields)

/** In code points. */
const maximumSearchLength = 100

/** How many texts one page of a search looks at. */
const scannedTexts = 50_000

/** What the program itself and the operator may ask for. */
export const ReferencedListQuery = Schema.Struct({
  ...listFields,
  reference: Schema.optionalKey(
    ReferenceInput.annotate({ description: "Messages with exactly that reference." }),
  ),
  error: Schema.optionalKey(
    Schema.Literals(messageErrorCodes).annotate({ description: "Messages that failed with it." }),
  ),
  text: Schema.optionalKey(
    textBetween(1, maximumSearchLength).annotate({
      description: `Looked for in the texts of the newest ${scannedTexts.toLocaleString("en")} messages that the other filters leave, upper and lower case alike. Not with \`to\`.`,
    }),
  ),
}).check(
  Schema.makeFilter(({ text, to }) =>
    text === undefined || to === undefined
      ? undefined
      : { path: ["text"], issue: "must not be given with to" },
  ),
)

const listCodes = ["invalid_phone", "invalid_datetime"] as const
const decode = queryDecoder(ListQuery, listCodes)
const decodeReferenced = queryDecoder(ReferencedListQuery, listCodes)

export interface ListMessages extends ListPage {
  readonly status?: MessageStatus | ReadonlyArray<MessageStatus> | undefined
  /** Id of the sending number. */
  readonly from?: number | undefined
  readonly to?: string | undefined
  /** Inclusive, by creation. */
  readonly since?: Moment | undefined
  /** Exclusive, by creation. */
  readonly until?: Moment | undefined
}

/** For the program itself and the operator. */
export interface ReferencedList extends ListMessages {
  readonly reference?: string | undefined
  readonly error?: MessageErrorCode | undefined
  /** Looked for in texts; not with `to`. */
  readonly text?: string | undefined
}

/** A page of messages; of a search also how far back it looked. */
export interface MessagePage extends CursorPage<Message> {
  /** When the oldest message that was looked at was created; absent without a search. */
  readonly lookedUntil?: number | null
}

/** Of a letter, both of its cases; of all else, only itself. */
const inEitherCase = (character: string): string => {
  const cases = [...new Set([character, character.toLowerCase(), character.toUpperCase()])]
  const single = cases.filter((each) => [...each].length === 1)
  if (single.length > 1) return `[${single.join("")}]`
  return character.replace(/[\^$\\.*+?()[\]{}|/]/, String.raw`\$&`)
}

/**
 * A regular expression that finds the text, upper and lower case alike. PostgreSQL and JavaScript read
 * it alike, whatever the database's collation.
 */
export const textPattern = (text: string): string => [...text].map(inEitherCase).join("")

/** Accepts typed values, or their text from a query string. */
export const parseListRequest = (input: ReferencedList, knowsReferences: boolean) => {
  const decoded: Result.Result<typeof ReferencedListQuery.Type, Refusal<ListCode>> = knowsReferences
    ? decodeReferenced(input)
    : decode(input)
  return Result.map(decoded, ({ cursor = null, limit = defaultLimit, ...query }) => {
    const filter: MessageFilter = {
      statuses: query.status ?? null,
      from: (query.from as NumberId | undefined) ?? null,
      phone: query.to ?? null,
      since: boundMillis(query.since),
      until: boundMillis(query.until),
      reference: query.reference ?? null,
      error: query.error ?? null,
    }
    return { filter, limit, cursor, text: query.text ?? null }
  })
}

type ListCode = (typeof listCodes)[number] | "validation_failed"

// Options that only version 1 sends have (contract: Version 1: sends).

export interface SendTerms {
  /**
   * Receives the outcome of each message (contract: Version 1: callbacks). `CallbackUrls` decides
   * which addresses are allowed.
   */
  readonly callbackUrl: CallbackUrl | null
  /** Replaces the `media` of every message of the request. */
  readonly attachment: Attachment | null
  /**
   * Stores a single message as failed when its number is out of quota; the refusal then carries
   * `messageId`. Refused batches are never stored.
   */
  readonly keepRefused: boolean
}

export const underTerms = (request: SendRequest, terms: SendTerms): SendRequest => {
  const { attachment, callbackUrl } = terms
  if (attachment === null) return { ...request, callbackUrl }
  const { fileName, id, type } = attachment
  return {
    ...request,
    callbackUrl,
    media: { mediaId: null, attachmentId: id, url: null, type, fileName },
  }
}

/** What accepts and cancels messages. */
interface Sending {
  readonly gate: WorkGate["Service"]
  readonly wakeUp: WakeUp["Service"]
  readonly store: MessageStore
  readonly ids: Ids["Service"]
  readonly acceptor: Effect.Success<typeof makeAcceptor>
  readonly link: MediaLink
  readonly markMissing: ReturnType<typeof markMissingFiles>
  readonly endings: Endings
  readonly testSends: ReturnType<typeof makeBulkhead<WorkspaceId>>
  readonly testBatches: ReturnType<typeof makeBulkhead<WorkspaceId>>
}

const dailyLimitReached: MessageError = { code: "send_failed", message: "Daily limit reached" }

/** Whether a refusal of this request stores a failed message. */
const leavesMessage = (refusal: Refusal, request: SendRequest, terms: SendTerms): boolean =>
  terms.keepRefused && !request.batch && refusal.code === "number_daily_cap_reached"

/**
 * Stores a refused request's message as failed, with event and callback, using no allowance.
 * Returns the refusal with the message's id. Null when the number was removed meanwhile: nothing
 * was stored, load again.
 */
const keepRefused = Effect.fnUntraced(function* keepRefused(
  { acceptor, ids, link, store }: Sending,
  refusal: Refusal<AcceptCode>,
  sender: Sender,
  request: SendRequest,
  facts: AcceptanceFacts,
  now: number,
): Effect.fn.Return<Refusal<AcceptCode> | null, Failure<AcceptCode>> {
  const acceptance = yield* acceptor.decideRefused(sender, request, facts, now)
  const { messages, numberId, workspaceId } = acceptance
  const [only] = messages
  if (only === undefined) return refusal
  const event = eventId(ids, now)
  const stored = yield* store.insertRefused({
    workspaceId,
    numberId,
    ended: (id) => refusedMessage({ ...only, id }, dailyLimitReached, event, now, link),
  })
  return stored === null ? null : detailed(refusal, { messageId: stored.message.id })
})

/** Commits to try while others keep changing the facts. */
const attempts = 5

/**
 * How long a cancel waits for an in-flight attempt, in real time (contract: Cancelling a message).
 */
const cancelWaitMillis = 5000
const cancelPollMillis = 25

/** Null when the lookup takes longer than `millis` of real time. */
const within = <A, E>(read: Effect.Effect<A, E>, millis: number): Effect.Effect<A | null, E> =>
  Effect.raceFirst(read, Effect.as(sleep(millis), null))

const anyOf = (workspaceId: WorkspaceId, mode: CallerScope["mode"]): CallerScope => ({
  workspaceId,
  mode,
  restriction: null,
})

export interface Sent {
  /** In the order of `to`, as they were accepted. */
  readonly messages: ReadonlyArray<Message>
  /** Whether this repeats the first answer of the same `Idempotency-Key`. */
  readonly replayed: boolean
}

/** What a send can be refused with. */
export type SendCode =
  | AuthorizationCode
  | "account_disabled"
  | "demo_account"
  | IdempotencyCode
  | ContentCode
  | AcceptCode
  | "message_rejected"
  | "service_unavailable"

/** Repeats claim, load, decide and commit until the commit's guards hold. */
const accept = Effect.fnUntraced(function* accept(
  sending: Sending,
  caller: Authorized,
  request: SendRequest,
  claim: IdempotencyClaim | null,
  terms: SendTerms | null,
) {
  const { acceptor, store } = sending
  /** Whether to count the quota exactly: the commit found the last facts wrong. */
  let recount = false
  /** The claim, until it is won. */
  let toClaim = claim
  for (let attempt = 0; attempt < attempts; attempt++) {
    const now = yield* Clock.currentTimeMillis
    const facts: AcceptanceFacts = yield* acceptor.load(caller, request, now, toClaim, recount)
    toClaim = null
    const record = yield* Effect.fromResult(judgeClaim(facts.claim, claim))
    if (record !== null) {
      const first = yield* store.byIds(record.madeIds as ReadonlyArray<MessageId>)
      return { messages: first.map(asAccepted), replayed: true }
    }
    const decided = yield* Effect.result(acceptor.decide(caller, request, facts, now, claim))
    if (Result.isFailure(decided)) {
      const { failure } = decided
      if (terms === null || !leavesMessage(failure, request, terms)) return yield* failure
      const refusal = yield* keepRefused(sending, failure, caller, request, facts, now)
      if (refusal !== null) return yield* refusal
      continue
    }
    const acceptance = decided.success
    const outcome = yield* store
      .accept(acceptance)
      // The commit may have succeeded although its answer was lost, so wake the loops.
      .pipe(Effect.tapError(() => acceptor.wake(acceptance)))
    if (outcome._tag === "Accepted") {
      yield* acceptor.wake(acceptance)
      return { messages: acceptedMessages(acceptance, outcome.ids), replayed: false }
    }
    recount = outcome.guard === "quota"
    // Another request took over a slow claim: win it again.
    if (outcome.guard === "idempotency") toClaim = claim
  }
  return yield* refuse("message_rejected", {
    message: "The message could not be queued: too many changes at once. Try again.",
  })
})

/**
 * Limits a workspace's concurrent test sends. The embedding program's own have no limit: one may be
 * part of an open transaction that others wait for, a deadlock.
 */
const withTestSendPermit = (
  { testBatches, testSends }: Sending,
  { key, mode, workspaceId }: Authorized,
  request: SendRequest,
  work: Effect.Effect<Sent, Failure<SendCode>>,
): Effect.Effect<Sent, Failure<SendCode>> => {
  if (mode === "live" || key === null) return work
  const permits = request.batch ? testBatches : testSends
  return Effect.scoped(Effect.andThen(permits.acquire(workspaceId), work))
}

const send = <C extends Code>(
  sending: Sending,
  caller: Authorized,
  parsedRequest: Result.Result<SendRequest, Refusal<C>>,
  requested: IdempotencyKey | null,
  terms: SendTerms | null,
): Effect.Effect<Sent, Failure<SendCode | C>> =>
  Effect.flatMap(Effect.fromResult(parsedRequest), (sendRequest) => {
    const request = terms === null ? sendRequest : underTerms(sendRequest, terms)
    const work = commit(sending, caller, request, requested, terms)
    // A closed gate decides nothing and claims no key.
    return Effect.andThen(sending.gate.pass, withTestSendPermit(sending, caller, request, work))
  })

const commit = (
  sending: Sending,
  caller: Authorized,
  request: SendRequest,
  requested: IdempotencyKey | null,
  terms: SendTerms | null,
): Effect.Effect<Sent, Failure<SendCode>> =>
  Effect.gen(function* acceptClaimed() {
    if (requested === null) return yield* accept(sending, caller, request, null, terms)
    const claim = { ...requested, keyId: toClaimant(caller), token: sending.ids.hex(16) }
    // A refused request frees its key for a corrected one.
    return yield* accept(sending, caller, request, claim, terms).pipe(
      Effect.onError(() => Effect.ignore(sending.store.releaseClaim(claim))),
    )
  }).pipe(
    // A client that hangs up must not leave a claim behind or lose an answer.
    Effect.uninterruptible,
  )

const authorizeSend = (caller: Caller, operation: "sendMessage" | "sendBatch") => {
  const code = sendRefusal(caller.workspace)
  return code === undefined ? authorize(caller, operation) : Effect.fail(refuse(code))
}

/** A key belongs to others: the program and the operator alone give references. */
const knowsReferences = ({ key }: Authorized): boolean => key === null

/** The parser of a caller's sends under their terms. Only what asks for it costs a look at conversations. */
const sendParsers = ({ conversations }: ChatStore, rule: OutboundRule) => {
  const plain = sendRequestParser(rule)
  const attached = sendRequestParser(rule, true)
  const answering = sendRequestParser(rule, false, true)
  const referenced = referencedSendParser(rule)
  const referencedAnswering = referencedSendParser(rule, true)
  const parserFor = (caller: Authorized, terms: SendTerms | null, answers: boolean) => {
    if (knowsReferences(caller)) return answers ? referencedAnswering : referenced
    if (terms !== null && terms.attachment !== null) return attached
    return answers ? answering : plain
  }
  return (caller: Authorized, terms: SendTerms | null, command: unknown) =>
    asksForAnswers(command)
      ? Effect.map(conversations(caller.workspaceId), (settings) =>
          parserFor(caller, terms, settings !== null),
        )
      : Effect.succeed(parserFor(caller, terms, false))
}

const find = ({ store }: Sending, caller: Authorized, id: MessageId | undefined) =>
  findOrRefuse("message_not_found", id, (known) => store.get(toScope(caller), known))

const findOfEitherMode = (
  { store }: Sending,
  workspaceId: WorkspaceId,
  id: MessageId | undefined,
) =>
  findOrRefuse("message_not_found", id, (known) =>
    Effect.flatMap(store.get(anyOf(workspaceId, "live"), known), (live) =>
      live === null ? store.get(anyOf(workspaceId, "test"), known) : Effect.succeed(live),
    ),
  )

const listPage = ({ markMissing, store }: Sending, ...query: Parameters<MessageStore["list"]>) =>
  Effect.flatMap(store.list(...query), ({ items, next }) =>
    Effect.map(markMissing(items), (shown) => ({ items: shown, next })),
  )

const searchPage = (
  { markMissing, store }: Sending,
  scope: CallerScope,
  filter: MessageFilter,
  text: string,
  page: PageQuery,
  now: number,
) =>
  Effect.flatMap(
    store.search(scope, filter, { pattern: textPattern(text), most: scannedTexts }, page, now),
    (searched) =>
      Effect.map(markMissing(searched.items), (items): SearchedPage => ({ ...searched, items })),
  )

const listOf = Effect.fnUntraced(function* listOf(
  sending: Sending,
  cursors: Effect.Success<typeof makeCursors>,
  caller: Authorized,
  query: ReferencedList,
) {
  const request = yield* Effect.fromResult(parseListRequest(query, knowsReferences(caller)))
  const scope = toScope(caller)
  const { mode, restriction, workspaceId } = scope
  const { filter, text } = request
  const binding = ["messages", workspaceId, mode, restriction, ...Object.values(filter), text]
  const now = yield* Clock.currentTimeMillis
  yield* refuseFuture(filter.since, now, "since")
  if (text === null) {
    return yield* cursors.page(request, binding, (page) =>
      listPage(sending, scope, filter, page, now),
    )
  }
  let lookedUntil: number | null = null
  const found = yield* cursors.page(request, binding, (page) =>
    Effect.map(searchPage(sending, scope, filter, text, page, now), (searched) => {
      lookedUntil = searched.lookedUntil
      return searched
    }),
  )
  const page: MessagePage = { ...found, lookedUntil }
  return page
})

/** Omits the link to a file that is gone. */
const marked = (
  { markMissing }: Sending,
  message: Message,
): Effect.Effect<Message, StoreUnavailable> =>
  Effect.map(markMissing([message]), ([shown = message]) => shown)

const notCancellable = (message: Message, now: number) =>
  refuse("not_cancellable", { details: { status: statusAt(message, now) } })

/** It reads as queued, but a transport has it and may still send it. */
const stillSending = (message: Message, now: number) =>
  refuse("not_cancellable", {
    message: "The message is being sent.",
    details: { status: statusAt(message, now), sending: true },
  })

/**
 * In the caller's transaction (`isJoined`) it waits for no attempt, and cancels also what has expired but was
 * not swept: that has not left, and a refusal could not end it, since the transaction undoes what it did.
 */
const cancelFound = Effect.fnUntraced(function* cancelFound<C extends Code>(
  sending: Sending,
  read: Effect.Effect<FoundMessage, Failure<C>>,
  isJoined = false,
): Effect.fn.Return<Message, Failure<C | "not_cancellable">> {
  const { gate, ids, link, store, wakeUp } = sending
  const elapsedMillis = yield* (yield* RealTime).stopwatch
  const leftMillis = () => Math.max(0, cancelWaitMillis - elapsedMillis())
  let found = yield* read
  while (true) {
    const { inFlight, message } = found
    const now = yield* Clock.currentTimeMillis
    if (inFlight && message.state === "waiting") {
      if (isJoined) return yield* stillSending(message, now)
      yield* sleep(Math.min(cancelPollMillis, leftMillis()))
      const isTimeUp = leftMillis() === 0
      // A slower lookup would exceed the time limit.
      const next = isTimeUp ? null : yield* within(read, leftMillis())
      if (next === null) return yield* stillSending(message, now)
      found = next
      continue
    }
    const over = !isJoined && isKnownExpired(gate, message, now)
    const trigger = over ? "expire" : "cancel"
    const change = endMessage(
      yield* marked(sending, message),
      { trigger },
      eventId(ids, now),
      now,
      link,
    )
    if (change === undefined) return yield* notCancellable(message, now)
    const ended = yield* commitAndWake(
      store.end([change]),
      // The number's limits may hold back this message but not the next one.
      isJoined || message.dueAt <= now ? wakeUp.wake("lanes") : Effect.void,
    )
    if (!ended.has(message.id)) {
      found = yield* read
      continue
    }
    return over ? yield* notCancellable(change.message, now) : change.message
  }
})

/** How many of a choice of messages were cancelled. */
export interface CancelledMany {
  readonly cancelled: number
  /** Sent, ended or unknown by now, or still being sent. */
  readonly notCancellable: number
}

/** Ends of those that may end: all but those that have ended, and those in flight. */
const decideCancels = Effect.fnUntraced(function* decideCancels(
  sending: Sending,
  found: ReadonlyArray<FoundMessage>,
) {
  const { endings, gate } = sending
  const now = yield* Clock.currentTimeMillis
  const waiting = found.flatMap(({ inFlight, message }) =>
    message.state === "waiting" && !inFlight ? message : [],
  )
  return yield* endings(waiting, now, (message) => ({
    trigger: isKnownExpired(gate, message, now) ? "expire" : "cancel",
  }))
})

/** Each as `cancelFound`, with one limit for all that are in flight. */
const cancelAll = Effect.fnUntraced(function* cancelAll(
  sending: Sending,
  workspaceId: WorkspaceId,
  chosen: ReadonlyArray<MessageId>,
): Effect.fn.Return<CancelledMany, StoreUnavailable> {
  const { store, wakeUp } = sending
  const elapsedMillis = yield* (yield* RealTime).stopwatch
  const leftMillis = () => Math.max(0, cancelWaitMillis - elapsedMillis())
  const all = new Set(chosen)
  let cancelled = 0
  let pending: ReadonlyArray<MessageId> = [...all]
  let found = yield* store.found(workspaceId, pending)
  while (true) {
    const changes = yield* decideCancels(sending, found)
    const ended =
      changes.length === 0
        ? new Set<MessageId>()
        : yield* commitAndWake(store.end(changes), wakeUp.wake("lanes"))
    cancelled += changes.filter(
      ({ message }) => message.state === "cancelled" && ended.has(message.id),
    ).length
    // In flight, or changed since they were read.
    pending = found.flatMap(({ message }) =>
      message.state === "waiting" && !ended.has(message.id) ? message.id : [],
    )
    if (pending.length === 0 || leftMillis() === 0) break
    yield* sleep(Math.min(cancelPollMillis, leftMillis()))
    const next = yield* within(store.found(workspaceId, pending), leftMillis())
    if (next === null) break
    found = next
  }
  return { cancelled, notCancellable: all.size - cancelled }
})

export class Messages extends Context.Service<
  Messages,
  {
    /**
     * Accepts one message. Fails with the codes of its section (contract: Sending a message) and
     * those of idempotency. A refused send stores nothing, unless its terms say so.
     */
    send(
      caller: Caller,
      command: ReferencedSend,
      idempotency: IdempotencyKey | null,
      terms?: SendTerms | null,
    ): Effect.Effect<Sent, Failure<SendCode>>
    /** POST /messages/batch: one message per recipient, all or nothing. */
    sendBatch(
      caller: Caller,
      command: ReferencedBatch,
      idempotency: IdempotencyKey | null,
      terms?: SendTerms | null,
    ): Effect.Effect<Sent, Failure<SendCode | "too_many_recipients">>
    /** GET /messages/{id}. Fails with `message_not_found`. */
    get(
      caller: Caller,
      id: MessageId | undefined,
    ): Effect.Effect<Message, Failure<AuthorizationCode | "message_not_found">>
    /** GET /messages: newest first. Fails with `validation_failed`, `invalid_cursor` and others. */
    list(
      caller: Caller,
      query: ReferencedList,
    ): Effect.Effect<
      MessagePage,
      Failure<
        | AuthorizationCode
        | "validation_failed"
        | "invalid_cursor"
        | "invalid_phone"
        | "invalid_datetime"
      >
    >
    /**
     * DELETE /messages/{id}: cancels a waiting message. Waits up to 5 s for one in flight, then
     * answers that it is `sending`. Fails with `message_not_found`, `not_cancellable`. With
     * `isJoined`, in the caller's transaction, it answers that at once.
     */
    cancel(
      caller: Caller,
      id: MessageId | undefined,
      isJoined?: boolean,
    ): Effect.Effect<Message, Failure<AuthorizationCode | "message_not_found" | "not_cancellable">>
    /** As `cancel`, for a message of either mode. */
    cancelIn(
      workspaceId: WorkspaceId,
      id: MessageId | undefined,
    ): Effect.Effect<Message, Failure<"message_not_found" | "not_cancellable">>
    /** As `cancelIn`, of many: waits up to 5 s in total for those in flight. */
    cancelAllIn(
      workspaceId: WorkspaceId,
      ids: ReadonlyArray<MessageId>,
    ): Effect.Effect<CancelledMany, StoreUnavailable>
  }
>()("core/Messages") {
  static readonly layer = Layer.effect(
    Messages,
    Effect.gen(function* make() {
      const cursors = yield* makeCursors
      const rule = yield* OutboundRule
      const parserFor = sendParsers((yield* Store).chats, rule)
      const sending: Sending = {
        gate: yield* WorkGate,
        wakeUp: yield* WakeUp,
        store: (yield* Store).messages,
        ids: yield* Ids,
        acceptor: yield* makeAcceptor,
        link: (yield* MediaLinks).link,
        markMissing: markMissingFiles((yield* Store).media),
        endings: yield* makeEndings,
        testSends: makeBulkhead(sharedLimits.testSends),
        testBatches: makeBulkhead(sharedLimits.testBatches),
      }

      return Messages.of({
        send: Effect.fn("Messages.send")(function* sendOne(
          input,
          command,
          idempotency,
          terms = null,
        ) {
          const caller = yield* authorizeSend(input, "sendMessage")
          const request = (yield* parserFor(caller, terms, command)).single(command)
          return yield* send(sending, caller, request, idempotency, terms)
        }),
        sendBatch: Effect.fn("Messages.sendBatch")(function* sendBatch(
          input,
          command,
          idempotency,
          terms = null,
        ) {
          const caller = yield* authorizeSend(input, "sendBatch")
          const request = (yield* parserFor(caller, terms, command)).batch(command)
          return yield* send(sending, caller, request, idempotency, terms)
        }),
        get: Effect.fn("Messages.get")(function* get(input, id) {
          const caller = yield* authorize(input, "getMessage")
          const { message } = yield* find(sending, caller, id)
          return yield* marked(sending, message)
        }),
        list: Effect.fn("Messages.list")(function* list(input, query) {
          const caller = yield* authorize(input, "listMessages")
          return yield* listOf(sending, cursors, caller, query)
        }),
        cancel: Effect.fn("Messages.cancel")(function* cancelOwn(input, id, isJoined = false) {
          const caller = yield* authorize(input, "cancelMessage")
          const read = find(sending, caller, id)
          return yield* cancelFound(sending, read, isJoined)
        }),
        cancelIn: Effect.fn("Messages.cancelIn")(function* cancelIn(workspaceId, id) {
          return yield* cancelFound(sending, findOfEitherMode(sending, workspaceId, id))
        }),
        cancelAllIn: Effect.fn("Messages.cancelAllIn")(function* cancelAllIn(workspaceId, ids) {
          return yield* cancelAll(sending, workspaceId, ids)
        }),
      })
    }),
  )
}

/** The store returns one id per message, in order. */
const acceptedMessages = (
  { messages }: Acceptance,
  ids: ReadonlyArray<MessageId>,
): ReadonlyArray<Message> =>
  messages.map((message, index) => ({
    ...message,
    id: ids[index] ?? (0 as MessageId),
    state: "waiting",
    sentAt: null,
    error: null,
  }))

// Texts of sent messages, for live transports: a recipient that could not decrypt a message asks
// again, perhaps much later and in another process. Transports keep the media themselves.

export interface SentText {
  /** Null with media. */
  readonly text: string | null
  /** What it quotes, if that is still stored. */
  readonly quote: Quote | null
}

export class SentTexts extends Context.Service<
  SentTexts,
  {
    /** Null if the number has no such message. */
    of(
      numberId: NumberId,
      transportId: TransportId,
    ): Effect.Effect<SentText | null, StoreUnavailable>
  }
>()("core/SentTexts") {
  static readonly layer = Layer.effect(
    SentTexts,
    Effect.map(Store, ({ chats, messages }) =>
      SentTexts.of({
        of: Effect.fnUntraced(function* sentText(numberId, transportId) {
          const message = yield* messages.byTransportId(numberId, transportId)
          if (message === null) return null
          const { media, replyTo, text } = message
          const quote = replyTo === null ? null : yield* chats.quote(numberId, replyTo)
          return { text: media === null ? text : null, quote }
        }),
      }),
    ),
  )
}
