/**
 * The service that callers use: send, send a batch, read, list and cancel messages. Each change is
 * load, decide, commit; when a guard of the commit no longer holds, the facts are loaded again.
 */
import { Clock, Context, Data, Effect, Layer, Result, Schema } from "effect"
import type { CallbackUrl } from "../callback/CallbackSettings.ts"
import { OutboundRule } from "../egress/Egress.ts"
import { detailed, findOrRefuse, refuse } from "../error/Refusal.ts"
import type { Failure, Refusal, StoreUnavailable } from "../error/Refusal.ts"
import { endMessage, refusedMessage } from "../event/MessageChange.ts"
import { eventId, Ids } from "../Ids.ts"
import type { MessageId, NumberId, WorkspaceId } from "../Ids.ts"
import { claimantOf, authorize, scopeOf } from "../key/Auth.ts"
import type { Caller, CallerScope, Authorized, Sender } from "../key/Auth.ts"
import { makeBulkhead, sharedLimits } from "../limit/Bulkhead.ts"
import { markMissingFiles, MediaLinks, MediaStore } from "../media/Media.ts"
import type { MediaLink } from "../media/Media.ts"
import type { Attachment } from "../media/MediaDirectory.ts"
import { connectionOf } from "../number/NumberStore.ts"
import type { ConnectionFacts } from "../number/NumberStore.ts"
import { pausedUntil } from "../number/SendingNumber.ts"
import type { ConnectionReason } from "../number/SendingNumber.ts"
import { WakeUp } from "../queue/DueWork.ts"
import { parsePhone, phoneDescribed } from "../recipient/Recipient.ts"
import { judgeClaim } from "../request/Idempotency.ts"
import type { IdempotencyClaim, IdempotencyKey } from "../request/Idempotency.ts"
import { instantParameter, parsed } from "../request/Input.ts"
import {
  defaultLimit,
  makeCursors,
  namesInput,
  pageFields,
  queryDecoder,
  queryId,
} from "../request/Page.ts"
import type { CursorPage, ListPage } from "../request/Page.ts"
import { RealTime, sleep } from "../time/Time.ts"
import type { Instant, Moment } from "../time/Time.ts"
import { WorkGate } from "../worker/Worker.ts"
import type { Role } from "../workspace/Workspace.ts"
import { Workspaces } from "../workspace/Workspaces.ts"
import { makeAcceptor } from "./accept.ts"
import { asAccepted, hasExpired, messageStatuses, statusAt } from "./Message.ts"
import type { Message, MessageError, MessageStatus } from "./Message.ts"
import { MessageStore } from "./MessageStore.ts"
import type { Acceptance, AcceptanceFacts, FoundMessage, MessageFilter } from "./MessageStore.ts"
import { sendRequestParser } from "./SendRequest.ts"
import type { SendBatch, SendMessage, SendRequest } from "./SendRequest.ts"

// The query of GET /messages (contract: Listing messages).

/** The query parameters of GET /messages. */
export const ListQuery = Schema.Struct({
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
})

const decode = queryDecoder(ListQuery)

/** Stored times are whole milliseconds: the first one that is not before the instant. */
const ceiling = (instant: Instant) => instant.millis + (instant.beyond === "" ? 0 : 1)

/** Which messages. */
export interface ListMessages extends ListPage {
  readonly status?: MessageStatus | ReadonlyArray<MessageStatus>
  /** The sending number. */
  readonly from?: number
  /** The recipient's phone. */
  readonly to?: string
  /** Created then or later. */
  readonly since?: Moment
  /** Created before. */
  readonly until?: Moment
}

/** From the values themselves, or from their text in a query. */
export const parseListRequest = (given: ListMessages) =>
  Result.map(decode(given), ({ cursor = null, limit = defaultLimit, ...query }) => {
    const filter: MessageFilter = {
      statuses: query.status ?? null,
      from: (query.from as NumberId | undefined) ?? null,
      phone: query.to ?? null,
      since: query.since === undefined ? null : ceiling(query.since),
      until: query.until === undefined ? null : ceiling(query.until),
    }
    return { filter, limit, cursor }
  })

// What a send of version 1 may ask for and one of version 2 cannot (contract: Version 1: sends).

export interface SendTerms {
  /**
   * Where the end of each message is reported (contract: Version 1: callbacks). `CallbackUrls` says
   * which address may be.
   */
  readonly callbackUrl: CallbackUrl | null
  /** Goes with every message of the request, in place of its `media`. */
  readonly attachment: Attachment | null
  /**
   * A single message that is refused because its number has no room left is stored as failed; the
   * refusal then tells its id as `message_id`. Refused batches are never stored.
   */
  readonly keepRefused: boolean
}

/** The request under its terms. */
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

const dailyLimitReached: MessageError = { code: "send_failed", message: "Daily limit reached" }

/** Whether a refusal of this request leaves a failed message behind. */
const leavesMessage = (refusal: Refusal, request: SendRequest, terms: SendTerms): boolean =>
  terms.keepRefused && !request.batch && refusal.code === "number_daily_cap_reached"

/**
 * Stores the message of a refused request, on the facts of the refusal, as a failed one: its event and
 * its callback tell of it, and it takes nothing. Returns the refusal with the message's id, or null
 * when the number is gone by now: then nothing was stored, and the facts are to be loaded again.
 */
const keepRefused =
  (
    decideRefused: Effect.Success<typeof makeAcceptor>["decideRefused"],
    store: typeof MessageStore.Service,
    ids: typeof Ids.Service,
    link: MediaLink,
  ) =>
  (
    refusal: Refusal,
    sender: Sender,
    request: SendRequest,
    facts: AcceptanceFacts,
    now: number,
  ): Effect.Effect<Refusal | null, Failure> =>
    Effect.gen(function* () {
      const { messages, numberId, workspaceId } = yield* decideRefused(sender, request, facts, now)
      const [only] = messages
      if (only === undefined) return refusal
      const event = eventId(ids, now)
      const stored = yield* store.insertRefused({
        workspaceId,
        numberId,
        ended: (id) => refusedMessage({ ...only, id }, dailyLimitReached, event, now, link),
      })
      return stored === null ? null : detailed(refusal, { message_id: stored.message.id })
    })

/** How often a commit is tried anew when others changed what it was decided on. */
const attempts = 5

/**
 * How long a cancel waits for an attempt in flight to settle, in real time (contract: Cancelling a
 * message).
 */
const cancelWaitMillis = 5000
const cancelPollMillis = 25

/** What a look-up finds, or null when it takes longer than that in real time. */
const within = <A, E>(look: Effect.Effect<A, E>, millis: number): Effect.Effect<A | null, E> =>
  Effect.raceFirst(look, Effect.as(sleep(millis), null))

/** Every message of that mode. */
const anyOf = (workspaceId: WorkspaceId, mode: CallerScope["mode"]): CallerScope => ({
  workspaceId,
  mode,
  restriction: null,
})

export interface Sent {
  /** In the order of `to`; as they were accepted, whatever became of them since. */
  readonly messages: ReadonlyArray<Message>
  /** The answer repeats the first one of the same `Idempotency-Key`; nothing was done again. */
  readonly replayed: boolean
}

export class Messages extends Context.Service<
  Messages,
  {
    /**
     * Accepts one message. Every rule of the command is checked here. Fails with the codes of its
     * section (contract: Sending a message) and those of idempotency; a refused send stores nothing,
     * unless its terms say so.
     */
    send(
      caller: Caller,
      command: SendMessage,
      idempotency: IdempotencyKey | null,
      terms?: SendTerms | null,
    ): Effect.Effect<Sent, Failure>
    /** POST /messages/batch: one message for each recipient, all or nothing. */
    sendBatch(
      caller: Caller,
      command: SendBatch,
      idempotency: IdempotencyKey | null,
      terms?: SendTerms | null,
    ): Effect.Effect<Sent, Failure>
    /** GET /messages/{id}. Fails with `message_not_found`. */
    get(caller: Caller, id: MessageId | undefined): Effect.Effect<Message, Failure>
    /** GET /messages: newest first. Fails with `validation_failed`, `invalid_cursor` and others. */
    list(caller: Caller, query: ListMessages): Effect.Effect<CursorPage<Message>, Failure>
    /**
     * DELETE /messages/{id}: cancels a waiting message. One that is in the hands of a transport is
     * waited for, at most 5 s, and is `sending` after that. Fails with `message_not_found`,
     * `not_cancellable`.
     */
    cancel(caller: Caller, id: MessageId | undefined): Effect.Effect<Message, Failure>
    /** The same of a workspace's message of either mode. */
    cancelIn(workspaceId: WorkspaceId, id: MessageId | undefined): Effect.Effect<Message, Failure>
  }
>()("core/Messages") {
  static readonly layer = Layer.effect(
    Messages,
    Effect.gen(function* () {
      const gate = yield* WorkGate
      const wakeUp = yield* WakeUp
      const store = yield* MessageStore
      const ids = yield* Ids
      const acceptor = yield* makeAcceptor
      const cursors = yield* makeCursors
      const { link } = yield* MediaLinks
      const markMissing = markMissingFiles(yield* MediaStore)
      const rule = yield* OutboundRule
      const plainParser = sendRequestParser(rule)
      const attachedParser = sendRequestParser(rule, true)
      const parserUnder = (terms: SendTerms | null) =>
        terms === null || terms.attachment === null ? plainParser : attachedParser

      const storeRefused = keepRefused(acceptor.decideRefused, store, ids, link)

      /** Claims, loads, decides and commits until the commit holds. */
      const accept = (
        caller: Authorized,
        request: SendRequest,
        claim: IdempotencyClaim | null,
        terms: SendTerms | null,
      ) =>
        Effect.gen(function* () {
          /** Whether the quota is to be counted exactly: the commit found that the last facts were off. */
          let recount = false
          /** The claim, as long as it is still to be won. */
          let toClaim = claim
          for (let attempt = 0; attempt < attempts; attempt++) {
            const now = yield* Clock.currentTimeMillis
            const facts: AcceptanceFacts = yield* acceptor.load(
              caller,
              request,
              now,
              toClaim,
              recount,
            )
            toClaim = null
            const record = yield* Effect.fromResult(judgeClaim(facts.claim, claim))
            if (record !== null) {
              const first = yield* store.byIds(record.madeIds as ReadonlyArray<MessageId>)
              return { messages: first.map(asAccepted), replayed: true }
            }
            const decided = yield* Effect.result(
              acceptor.decide(caller, request, facts, now, claim),
            )
            if (Result.isFailure(decided)) {
              const { failure } = decided
              if (terms === null || !leavesMessage(failure, request, terms)) return yield* failure
              const refusal = yield* storeRefused(failure, caller, request, facts, now)
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
            // Taken over by another request after this one took too long: it must be won again.
            if (outcome.guard === "idempotency") toClaim = claim
          }
          return yield* refuse("message_rejected", {
            message: "The message could not be queued: too many changes at once. Try again.",
          })
        })

      const testSends = makeBulkhead<WorkspaceId>(sharedLimits.testSends)
      const testBatches = makeBulkhead<WorkspaceId>(sharedLimits.testBatches)

      /**
       * A send of a test key waits for its workspace's turn. One of the program's own does not: it may be
       * part of an open transaction, which others would then wait for while it waits for them.
       */
      const inTurn = (
        { key, mode, workspaceId }: Authorized,
        request: SendRequest,
        work: Effect.Effect<Sent, Failure>,
      ): Effect.Effect<Sent, Failure> => {
        if (mode === "live" || key === null) return work
        const places = request.batch ? testBatches : testSends
        return Effect.scoped(Effect.andThen(places.acquire(workspaceId), work))
      }

      const send = (
        caller: Authorized,
        parsedRequest: Result.Result<SendRequest, Refusal>,
        requested: IdempotencyKey | null,
        terms: SendTerms | null,
      ): Effect.Effect<Sent, Failure> =>
        Effect.flatMap(Effect.fromResult(parsedRequest), (sendRequest) => {
          const request = terms === null ? sendRequest : underTerms(sendRequest, terms)
          const work = commit(caller, request, requested, terms)
          // Behind a closed gate not even the quota is decided, and no key is claimed.
          return Effect.andThen(gate.pass, inTurn(caller, request, work))
        })

      const commit = (
        caller: Authorized,
        request: SendRequest,
        requested: IdempotencyKey | null,
        terms: SendTerms | null,
      ): Effect.Effect<Sent, Failure> =>
        Effect.gen(function* () {
          if (requested === null) return yield* accept(caller, request, null, terms)
          const claim = { ...requested, keyId: claimantOf(caller), token: ids.hex(16) }
          // A refused request leaves its key free for a corrected one.
          return yield* accept(caller, request, claim, terms).pipe(
            Effect.onError(() => Effect.ignore(store.releaseClaim(claim))),
          )
        }).pipe(
          // A client that hangs up must not leave a claim behind or lose an answer half way.
          Effect.uninterruptible,
        )

      const find = (caller: Authorized, id: MessageId | undefined) =>
        findOrRefuse("message_not_found", id, (known) => store.get(scopeOf(caller), known))

      /** Without a link to a file that is gone. */
      const marked = (message: Message): Effect.Effect<Message, StoreUnavailable> =>
        Effect.map(markMissing([message]), ([shown = message]) => shown)

      const notCancellable = (message: Message, now: number) =>
        refuse("not_cancellable", { details: { status: statusAt(message, now) } })

      /** It reads as queued and is not waiting: a transport has it, and may send it yet. */
      const stillSending = (message: Message, now: number) =>
        refuse("not_cancellable", {
          message: "The message is being sent.",
          details: { status: statusAt(message, now), sending: true },
        })

      const cancel = Effect.fnUntraced(function* (
        look: Effect.Effect<FoundMessage, Failure>,
      ): Effect.fn.Return<Message, Failure> {
        const elapsedMillis = yield* (yield* RealTime).stopwatch
        const leftMillis = () => Math.max(0, cancelWaitMillis - elapsedMillis())
        let found = yield* look
        while (true) {
          const { inFlight, message } = found
          const now = yield* Clock.currentTimeMillis
          if (inFlight && message.state === "waiting") {
            yield* sleep(Math.min(cancelPollMillis, leftMillis()))
            const isTimeUp = leftMillis() === 0
            // A look-up that takes longer says nothing in time.
            const next = isTimeUp ? null : yield* within(look, leftMillis())
            if (next === null) return yield* stillSending(message, now)
            found = next
            continue
          }
          // What is past its `expires_at` has expired, whether or not the sweep came by yet.
          // A clock that is wrong does not tell that.
          const over = hasExpired(message, now) && !gate.causes().has("clock")
          const trigger = over ? "expire" : "cancel"
          const change = endMessage(
            yield* marked(message),
            { trigger },
            eventId(ids, now),
            now,
            link,
          )
          if (change === undefined) return yield* notCancellable(message, now)
          const ended = yield* store.end([change])
          if (!ended.has(message.id)) {
            found = yield* look
            continue
          }
          // Its number's limits may have held back this message, and not the one behind it.
          if (message.dueAt <= now) yield* wakeUp.wake("lanes")
          return over ? yield* notCancellable(change.message, now) : change.message
        }
      })

      return Messages.of({
        send: Effect.fn("Messages.send")(function* (given, command, idempotency, terms = null) {
          const caller = yield* authorize(given, "sendMessage")
          return yield* send(caller, parserUnder(terms).single(command), idempotency, terms)
        }),
        sendBatch: Effect.fn("Messages.sendBatch")(function* (
          given,
          command,
          idempotency,
          terms = null,
        ) {
          const caller = yield* authorize(given, "sendBatch")
          return yield* send(caller, parserUnder(terms).batch(command), idempotency, terms)
        }),
        get: Effect.fn("Messages.get")(function* (given, id) {
          const caller = yield* authorize(given, "getMessage")
          const { message } = yield* find(caller, id)
          return yield* marked(message)
        }),
        list: Effect.fn("Messages.list")(function* (given, query) {
          const caller = yield* authorize(given, "listMessages")
          const request = yield* Effect.fromResult(parseListRequest(query))
          const scope = scopeOf(caller)
          const { mode, restriction, workspaceId } = scope
          const filters = Object.values(request.filter)
          const binding = ["messages", workspaceId, mode, restriction, ...filters]
          const now = yield* Clock.currentTimeMillis
          return yield* cursors.page(request, binding, (page) =>
            Effect.flatMap(store.list(scope, request.filter, page, now), ({ items, next }) =>
              Effect.map(markMissing(items), (shown) => ({ items: shown, next })),
            ),
          )
        }),
        cancel: Effect.fn("Messages.cancel")(function* (given, id) {
          const caller = yield* authorize(given, "cancelMessage")
          return yield* cancel(find(caller, id))
        }),
        cancelIn: Effect.fn("Messages.cancelIn")(function* (workspaceId, id) {
          return yield* cancel(
            findOrRefuse("message_not_found", id, (known) =>
              Effect.flatMap(store.get(anyOf(workspaceId, "live"), known), (live) =>
                live === null ? store.get(anyOf(workspaceId, "test"), known) : Effect.succeed(live),
              ),
            ),
          )
        }),
      })
    }),
  )
}

/** The store answers with one id for each message, in their order. */
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

// What an operator does with a message of a workspace (contract: Workspace messages).

export class MessageOperations extends Context.Service<
  MessageOperations,
  {
    /**
     * DELETE /workspaces/{id}/messages/{message_id}: as `Messages.cancel`. Fails with
     * `message_not_found`, `not_cancellable`.
     */
    cancel(
      role: Role,
      workspaceId: WorkspaceId | undefined,
      id: MessageId | undefined,
    ): Effect.Effect<Message, Failure>
  }
>()("core/MessageOperations") {
  static readonly layer = Layer.effect(
    MessageOperations,
    Effect.gen(function* () {
      const messages = yield* Messages
      const workspaces = yield* Workspaces
      return MessageOperations.of({
        cancel: Effect.fn("MessageOperations.cancel")(function* (role, workspaceId, id) {
          const workspace = yield* workspaces.within(role, workspaceId, "workspace")
          return yield* messages.cancelIn(workspace.id, id)
        }),
      })
    }),
  )
}

// Sending inside a transaction of the caller's own: the message is there if, and only if, what the
// caller writes beside it is.

/**
 * A transaction that the caller has opened and will commit or roll back, on the database that the
 * service uses. A client of `pg` is one; for others one function does, which runs a statement with
 * values for `$1`, `$2` …: `{ query: async (text, values) => ({ rows: await sql.unsafe(text, values) }) }`.
 */
export interface TransactionClient {
  query(
    text: string,
    values: Array<string | null>,
  ): Promise<{ readonly rows: ReadonlyArray<unknown> }>
}

/** The transaction that was handed over cannot be joined; the message says why. */
export class CannotJoin extends Data.TaggedError("CannotJoin")<{ readonly message: string }> {}

export class CallersTransactions extends Context.Service<
  CallersTransactions,
  {
    /**
     * Joins `Messages.send` or `Messages.sendBatch` to the transaction; nothing else can be. It is
     * sent once the caller has committed. A refusal leaves the transaction usable. Until it ends, the
     * number that sends and a workspace whose plan counts messages are locked: others who send from them
     * wait, and so does what became of their messages; other numbers go on. A transaction that is left
     * idle for 5 seconds is ended by the server. One transaction takes one send at a time; further ones
     * wait.
     *
     * Fails with `CannotJoin` when the transaction is none that can be joined, and with `StoreUnavailable`
     * when a statement fails, having undone what was joined alone. A store that has no such transactions
     * dies with an error that says so.
     */
    join<A, E, R>(
      client: TransactionClient,
      effect: Effect.Effect<A, E, R>,
    ): Effect.Effect<A, E | StoreUnavailable | CannotJoin, R>
  }
>()("core/CallersTransactions") {
  /** For a store that only this process can write to. */
  static readonly none = CallersTransactions.of({
    join: () =>
      Effect.die(new Error("only a store on PostgreSQL can send inside a caller's transaction")),
  })
}

// Why a message waits: everything that has to end before it leaves, as far as facts tell. For people who
// look, and for tests; nothing is decided by it.

/** In the order in which `waitsFor` names them. */
export type WaitReason =
  /** Its workspace is disabled. */
  | "disabled"
  /** The store went back in time, and an operator has not released it yet. */
  | "held"
  /** Its number is paused, by an operator or by refusals. */
  | "paused"
  /** Its number is not connected. */
  | "not_connected"
  /** Its time to be sent has not come. */
  | "scheduled"
  /** Its number's limits are used up: its pacing, or the quota of 24 hours. */
  | "limited"
  /** The disk has no room for the file that it needs, or that one before it needs. */
  | "no_room"
  /** Its number rests after a message, or because the far side asked for it. */
  | "resting"
  /** A message of its number is in the hands of the far side: this one, or one before it. */
  | "sending"

/** One thing that has to end first. */
export interface WaitsFor {
  readonly reason: WaitReason
  /** Epoch milliseconds at which it ends by itself; null where that is not known. */
  readonly until: number | null
  /** Why the workspace or the number sends nothing; null for the other reasons, and where it is not known. */
  readonly because: ConnectionReason | null
}

/**
 * What a message waits for at `now`, given how its number's lane and connection stand, in the order of
 * `WaitReason` (contract: How messages leave). Null when it does not wait any more, as behind its
 * `expiresAt`; empty when nothing holds it up but those before it. A message in test mode reaches no
 * phone, so nothing of its number holds it up.
 */
export const waitsFor = (
  message: Pick<Message, "state" | "mode" | "dueAt" | "expiresAt">,
  facts: ConnectionFacts,
  now: number,
  keepsConnections: boolean,
  isHeld: boolean,
): ReadonlyArray<WaitsFor> | null => {
  if (message.state !== "waiting") return null
  if (message.expiresAt !== null && message.expiresAt <= now) return null
  const connection = { ...facts, pause: null, isDisabled: false }
  const { reason: because, state } = connectionOf(connection, now, keepsConnections)
  const paused = pausedUntil(facts.pause, now)
  const reasons: Array<WaitsFor> = []
  const add = (reason: WaitReason, until: number | null, why: ConnectionReason | null = null) =>
    reasons.push({ reason, until, because: why })
  const addUntil = (reason: WaitReason, until: number | null) => {
    if (until !== null && until > now) add(reason, until)
  }
  const isLive = message.mode === "live"
  if (facts.isDisabled) add("disabled", null, "account_disabled")
  if (isHeld) add("held", null)
  if (isLive && paused !== null) {
    add("paused", Number.isFinite(paused) ? paused : null, facts.pause?.reason ?? null)
  }
  if (isLive && state !== "connected") add("not_connected", null, because)
  addUntil("scheduled", message.dueAt)
  if (!isLive) return reasons
  addUntil("limited", facts.limitedUntil)
  addUntil("no_room", facts.noRoomUntil)
  addUntil("resting", facts.restsUntil)
  if (facts.isSending) add("sending", null)
  return reasons
}
