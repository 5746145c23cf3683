/**
 * The service that callers use: send, send a batch, read, list and cancel messages. Each change is
 * load, decide, commit; when a guard of the commit no longer holds, the facts are loaded again.
 */
import { Clock, Context, Effect, Layer, Result } from "effect"
import { OutboundRule } from "../egress/Egress.ts"
import { findOrRefuse, refuse } from "../error/Refusal.ts"
import type { Failure, Refusal } from "../error/Refusal.ts"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"
import { Ids, eventId } from "../Ids.ts"
import type { MessageId, WorkspaceId } from "../Ids.ts"
import { claimantOf, permit, scopeOf } from "../key/Caller.ts"
import type { Caller, CallerScope, Permitted } from "../key/Caller.ts"
import { makePlaces } from "../limit/Places.ts"
import { sharedResources } from "../limit/sharedResources.ts"
import { MediaStore } from "../media/Media.ts"
import { MediaLinks } from "../media/MediaLinks.ts"
import { markMissingFiles } from "../media/missingFiles.ts"
import { WakeUp } from "../queue/WakeUp.ts"
import { makeCursors } from "../request/Page.ts"
import { judgeClaim } from "../request/Idempotency.ts"
import type { IdempotencyClaim, IdempotencyKey } from "../request/Idempotency.ts"
import type { CursorPage } from "../request/Page.ts"
import { RealTime, sleep } from "../time/RealTime.ts"
import { WorkGate } from "../worker/WorkGate.ts"
import { makeAcceptor } from "./Acceptor.ts"
import { parseListRequest } from "./ListRequest.ts"
import type { ListMessages } from "./ListRequest.ts"
import { asAccepted, hasExpired, statusAt } from "./Message.ts"
import type { Message } from "./Message.ts"
import { endMessage } from "./MessageChange.ts"
import { MessageStore } from "./MessageStore.ts"
import type { Acceptance, AcceptanceFacts, FoundMessage } from "./MessageStore.ts"
import { sendRequestParser } from "./SendRequest.ts"
import type { SendBatch, SendMessage, SendRequest } from "./SendRequest.ts"
import { plainTerms, underTerms, keepRefused, leavesMessage } from "./SendTerms.ts"
import type { SendTerms } from "./SendTerms.ts"

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
      terms?: SendTerms,
    ): Effect.Effect<Sent, Failure>
    /** POST /messages/batch: one message for each recipient, all or nothing. */
    sendBatch(
      caller: Caller,
      command: SendBatch,
      idempotency: IdempotencyKey | null,
      terms?: SendTerms,
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
      const parserUnder = ({ attachment }: SendTerms) =>
        attachment === null ? plainParser : attachedParser

      const storeRefused = keepRefused(acceptor.decideRefused, store, ids, link)

      /** Claims, loads, decides and commits until the commit holds. */
      const accept = (
        caller: Permitted,
        request: SendRequest,
        claim: IdempotencyClaim | null,
        terms: SendTerms,
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
              if (!leavesMessage(failure, request, terms)) return yield* failure
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

      const testSends = makePlaces<WorkspaceId>(sharedResources.testSends)
      const testBatches = makePlaces<WorkspaceId>(sharedResources.testBatches)

      /**
       * A send of a test key waits for its workspace's turn. One of the program's own does not: it may be
       * part of an open transaction, which others would then wait for while it waits for them.
       */
      const inTurn = (
        { key, mode, workspaceId }: Permitted,
        request: SendRequest,
        work: Effect.Effect<Sent, Failure>,
      ): Effect.Effect<Sent, Failure> => {
        if (mode === "live" || key === null) return work
        const places = request.batch ? testBatches : testSends
        return Effect.scoped(Effect.andThen(places.take(workspaceId), work))
      }

      const send = (
        caller: Permitted,
        parsedRequest: Result.Result<SendRequest, Refusal>,
        requested: IdempotencyKey | null,
        terms: SendTerms,
      ): Effect.Effect<Sent, Failure> =>
        Effect.flatMap(Effect.fromResult(parsedRequest), (parsed) => {
          const request = underTerms(parsed, terms)
          const work = commit(caller, request, requested, terms)
          // Behind a closed gate not even the quota is decided, and no key is claimed.
          return Effect.andThen(gate.pass, inTurn(caller, request, work))
        })

      const commit = (
        caller: Permitted,
        request: SendRequest,
        requested: IdempotencyKey | null,
        terms: SendTerms,
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

      const find = (caller: Permitted, id: MessageId | undefined) =>
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
        send: Effect.fn("Messages.send")(function* (
          given,
          command,
          idempotency,
          terms = plainTerms,
        ) {
          const caller = yield* permit(given, "sendMessage")
          return yield* send(caller, parserUnder(terms).single(command), idempotency, terms)
        }),
        sendBatch: Effect.fn("Messages.sendBatch")(function* (
          given,
          command,
          idempotency,
          terms = plainTerms,
        ) {
          const caller = yield* permit(given, "sendBatch")
          return yield* send(caller, parserUnder(terms).batch(command), idempotency, terms)
        }),
        get: Effect.fn("Messages.get")(function* (given, id) {
          const caller = yield* permit(given, "getMessage")
          const { message } = yield* find(caller, id)
          return yield* marked(message)
        }),
        list: Effect.fn("Messages.list")(function* (given, query) {
          const caller = yield* permit(given, "listMessages")
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
          const caller = yield* permit(given, "cancelMessage")
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
