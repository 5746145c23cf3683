/**
 * Webhook endpoints, as customers' keys create, read and test them, and as operators see and resume
 * them (contract: Webhook endpoints, Webhook operations).
 */
import { Clock, Context, Effect, Layer, Schema } from "effect"
import {
  eventTypes,
  isConversationEvent,
  isMessageEvent,
  isReceivedEvent,
  webhookEventTypes,
} from "../model/Event.ts"
import { pingEvent } from "../model/MessageChange.ts"
import type { CallbackAttempt } from "../model/MessageChange.ts"
import { Egress, OutboundRule } from "../model/Egress.ts"
import { findOrRefuse, refuse } from "../model/Refusal.ts"
import type { Failure, StoreUnavailable } from "../model/Refusal.ts"
import { Ids, eventId } from "../model/Ids.ts"
import type { EventId, WebhookId, WorkspaceId } from "../model/Ids.ts"
import { authorize, toScope } from "../model/Auth.ts"
import type { AuthorizationCode, Caller, Authorized } from "../model/Auth.ts"
import { commitAndWake, WakeUp } from "../store/DueWork.ts"
import {
  makeCursors,
  namesInput,
  pageFields,
  parsePageRequest,
  queryDecoder,
  textFor,
} from "../model/Page.ts"
import type { CursorPage, ListPage } from "../model/Page.ts"
import {
  decoded,
  described,
  InstantInput,
  inputDecoder,
  instantParameter,
  refuseFuture,
  refusedFor,
} from "../model/Input.ts"
import type { CommandOf } from "../model/Input.ts"
import { boundMillis, ceilingMillis } from "../model/Time.ts"
import type { Moment } from "../model/Time.ts"
import type { IdempotencyCode, IdempotencyClaim, IdempotencyKey } from "../model/Idempotency.ts"
import { makeIdempotent } from "./makeIdempotent.ts"
import type { IdempotentResult } from "./makeIdempotent.ts"
import type { Role } from "../model/Workspace.ts"
import { makeConversationCheck } from "./Conversations.ts"
import { Workspaces } from "./Workspaces.ts"
import {
  endpointAsCreated,
  endpointChangeParser,
  endpointLimit,
  endpointRequestParser,
  namesMoreEvents,
  SigningSecrets,
  withoutConversationEvents,
} from "../model/WebhookEndpoint.ts"
import type {
  ChangeWebhook,
  CreateWebhook,
  DeliveryAttempt,
  EndpointRequest,
  WebhookEndpoint,
  WebhookEventType,
} from "../model/WebhookEndpoint.ts"
import { eventsRetentionMillis } from "../store/WebhookStore.ts"
import type {
  DeliveryFilter,
  LoggedDelivery,
  Queueing,
  WebhookScope,
  WebhookStore,
} from "../store/WebhookStore.ts"
import { Store } from "../store/Store.ts"
import type { WorkspaceCode } from "./Workspaces.ts"

/** The body of POST …/webhooks/{webhook_id}/redeliver. */
export const RedeliverBody = Schema.Struct({
  eventId: described(Schema.String, "Id of an event that was sent to this endpoint."),
}).annotate({ identifier: "RedeliverEvent" })

/** Which event. */
export type RedeliverEvent = CommandOf<typeof RedeliverBody.Encoded>

const decodeRedeliver = inputDecoder(RedeliverBody)

/** Events of one call of recovering. */
const recoveredAtOnce = 10_000

/** Events of one commit, which locks the endpoint's queue. */
const recoveredTogether = 500

/** The body of POST …/webhooks/{webhook_id}/recover. */
export const RecoverBody = Schema.Struct({
  since: InstantInput,
}).annotate({ identifier: "RecoverEvents" })

/** Since when. */
export type RecoverEvents = CommandOf<typeof RecoverBody.Encoded>

const decodeRecover = inputDecoder(RecoverBody, { codes: ["invalid_datetime"] })

/** What a recovery queued. */
export interface RecoveredEvents {
  readonly queued: number
  /** Whether others are left: ask again. */
  readonly more: boolean
}

const FailedText = textFor("Only attempts that delivered nothing.", {
  type: "boolean",
  enum: [true],
})

const FailedInput = decoded(FailedText, (text: string) =>
  text === "true" ? (true as const) : refusedFor("must be true"),
)

const deliveriesNaming = <const Types extends ReadonlyArray<WebhookEventType>>(types: Types) =>
  Schema.Struct({
    type: Schema.optionalKey(namesInput(types)),
    failed: Schema.optionalKey(FailedInput),
    since: Schema.optionalKey(instantParameter("Attempted then or later.")),
    until: Schema.optionalKey(instantParameter("Attempted before.")),
    ...pageFields,
  })

/** The query parameters of GET …/webhooks/{webhook_id}/deliveries. */
export const DeliveriesQuery = deliveriesNaming([...eventTypes, "ping"])

export interface ListDeliveries extends ListPage {
  readonly type?: WebhookEventType | ReadonlyArray<WebhookEventType> | undefined
  /** Only attempts that delivered nothing. */
  readonly failed?: true | undefined
  readonly since?: Moment | undefined
  readonly until?: Moment | undefined
}

const decodeDeliveries = queryDecoder(deliveriesNaming([...webhookEventTypes, "ping"]), [
  "invalid_datetime",
])
const decodeAllDeliveries = queryDecoder(DeliveriesQuery, ["invalid_datetime"])

/** A new endpoint with its secret, which only this answer shows. */
export type EndpointWithSecret = WebhookEndpoint & { readonly secret: string }

/** An event queued for an endpoint. */
export interface QueuedEvent {
  readonly id: EventId
  readonly type: WebhookEventType
}

const notFound = "webhook_not_found"

/** What the log shows of a workspace without conversations. */
const loggedWithout = [...webhookEventTypes, "ping"] as const

/** Whether it shows something of conversations. */
const mayHear = (endpoint: WebhookEndpoint): boolean =>
  namesMoreEvents(endpoint) || isConversationEvent(endpoint.lastAttempt?.type)

/** Makes what shows endpoints as their workspace sees them: without conversations, without the events of those. */
const makePresenter = (
  hasConversations: Effect.Success<typeof makeConversationCheck>,
  { attempts }: Pick<WebhookStore, "attempts">,
) => {
  const filter = { types: loggedWithout, failed: false, since: null, until: null }
  const without = Effect.fnUntraced(function* without(endpoint: WebhookEndpoint) {
    const known = withoutConversationEvents(endpoint)
    if (!isConversationEvent(endpoint.lastAttempt?.type)) return known
    const { items } = yield* attempts(endpoint.id, filter, { before: null, limit: 1 })
    return { ...known, lastAttempt: items[0] ?? null }
  })
  const all = Effect.fnUntraced(function* all(
    workspaceId: WorkspaceId,
    endpoints: ReadonlyArray<WebhookEndpoint>,
  ): Effect.fn.Return<ReadonlyArray<WebhookEndpoint>, StoreUnavailable> {
    const hears = yield* hasConversations(endpoints.some(mayHear), workspaceId)
    return hears ? endpoints : yield* Effect.forEach(endpoints, without)
  })
  const one = (endpoint: WebhookEndpoint): Effect.Effect<WebhookEndpoint, StoreUnavailable> =>
    Effect.map(all(endpoint.workspaceId, [endpoint]), ([first]) => first ?? endpoint)
  return { all, one }
}

/** What makes webhook endpoints. */
interface EndpointWork {
  readonly store: WebhookStore
  readonly egress: Egress["Service"]
  readonly secrets: SigningSecrets["Service"]["webhooks"]
}

/** Checks and stores an endpoint, and returns its secret once. */
const insert = Effect.fnUntraced(function* insert(
  { egress, secrets, store }: EndpointWork,
  { key, mode, workspaceId }: Authorized,
  request: EndpointRequest,
  claim: IdempotencyClaim | null,
): Effect.fn.Return<
  EndpointWithSecret,
  Failure<IdempotencyCode | "invalid_webhook_url" | "webhook_limit_reached" | "api_key_revoked">
> {
  if (!(yield* egress.allows(request.url, workspaceId))) {
    return yield* refuse("invalid_webhook_url", { field: "url" })
  }
  const { salt, secret } = yield* secrets.make
  const inserted = yield* store.insert(
    {
      ...request,
      workspaceId,
      mode,
      keyId: key?.id ?? null,
      secretSalt: salt,
      secretLast4: secret.slice(-4),
      createdAt: yield* Clock.currentTimeMillis,
    },
    endpointLimit,
    claim,
  )
  if (inserted._tag === "Inserted") return { ...inserted.endpoint, secret }
  switch (inserted.guard) {
    case "limit":
      return yield* refuse("webhook_limit_reached")
    case "key":
      return yield* refuse("api_key_revoked")
    case "idempotency":
      return yield* refuse("idempotency_in_progress", { retryAfter: 1 })
  }
})

export class Webhooks extends Context.Service<
  Webhooks,
  {
    /**
     * POST /webhooks: the answer holds the secret, a replay's does not. Fails with
     * `validation_failed`, `invalid_webhook_url`, `webhook_limit_reached` and those of idempotency.
     */
    create(
      caller: Caller,
      command: CreateWebhook,
      idempotency: IdempotencyKey | null,
    ): Effect.Effect<
      IdempotentResult<WebhookEndpoint | EndpointWithSecret>,
      Failure<
        | "webhook_not_found"
        | "api_key_revoked"
        | AuthorizationCode
        | IdempotencyCode
        | "validation_failed"
        | "invalid_webhook_url"
        | "webhook_limit_reached"
      >
    >
    /** GET /webhooks: running ones, oldest first. */
    list(caller: Caller): Effect.Effect<ReadonlyArray<WebhookEndpoint>, Failure<AuthorizationCode>>
    /** GET /webhooks/{id}: stopped ones too. Fails with `webhook_not_found`. */
    get(
      caller: Caller,
      id: WebhookId | undefined,
    ): Effect.Effect<WebhookEndpoint, Failure<AuthorizationCode | "webhook_not_found">>
    /** DELETE /webhooks/{id}: deliveries to it end. Fails with `webhook_not_found`. */
    remove(
      caller: Caller,
      id: WebhookId | undefined,
    ): Effect.Effect<WebhookId, Failure<AuthorizationCode | "webhook_not_found">>
    /**
     * POST /webhooks/{id}/rotate-secret: the old secret stops working at once. Fails with
     * `webhook_not_found`.
     */
    rotateSecret(
      caller: Caller,
      id: WebhookId | undefined,
    ): Effect.Effect<EndpointWithSecret, Failure<AuthorizationCode | "webhook_not_found">>
    /**
     * POST /webhooks/{id}/test: queues a `ping` to that endpoint. Fails with `webhook_not_found`,
     * `webhook_stopped`.
     */
    test(
      caller: Caller,
      id: WebhookId | undefined,
    ): Effect.Effect<
      QueuedEvent,
      Failure<"event_not_found" | AuthorizationCode | "webhook_not_found" | "webhook_stopped">
    >
  }
>()("core/Webhooks") {
  static readonly layer = Layer.effect(
    Webhooks,
    Effect.gen(function* make() {
      const store = (yield* Store).webhooks
      const ids = yield* Ids
      const secrets = (yield* SigningSecrets).webhooks
      const creating: EndpointWork = { store, egress: yield* Egress, secrets }
      const idempotent = yield* makeIdempotent
      const wakeUp = yield* WakeUp
      const parse = endpointRequestParser(yield* OutboundRule)
      const hasConversations = yield* makeConversationCheck
      const present = makePresenter(hasConversations, store)

      return Webhooks.of({
        create: Effect.fn("Webhooks.create")(function* create(input, command, idempotency) {
          const caller = yield* authorize(input, "createWebhook")
          const hears = yield* hasConversations(namesMoreEvents(command), caller.workspaceId)
          const request = yield* Effect.fromResult(parse(command, hears))
          if (request.events.some(isReceivedEvent)) yield* authorize(input, "getReceivedMessage")
          return yield* idempotent.run(caller, idempotency, {
            work: (claim) => insert(creating, caller, request, claim),
            again: ([id]) =>
              findOrRefuse(notFound, id as WebhookId | undefined, store.created).pipe(
                Effect.map(endpointAsCreated),
                Effect.flatMap(present.one),
              ),
          })
        }),
        list: Effect.fn("Webhooks.list")(function* list(input) {
          const caller = yield* authorize(input, "listWebhooks")
          return yield* present.all(caller.workspaceId, yield* store.list(toScope(caller), false))
        }),
        get: Effect.fn("Webhooks.get")(function* get(input, id) {
          const caller = yield* authorize(input, "getWebhook")
          return yield* Effect.flatMap(
            findOrRefuse(notFound, id, (known) => store.get(toScope(caller), known)),
            present.one,
          )
        }),
        remove: Effect.fn("Webhooks.remove")(function* remove(input, id) {
          const caller = yield* authorize(input, "deleteWebhook")
          const now = yield* Clock.currentTimeMillis
          return id !== undefined && (yield* store.remove(toScope(caller), id, now))
            ? id
            : yield* refuse(notFound)
        }),
        rotateSecret: Effect.fn("Webhooks.rotateSecret")(function* rotateSecret(input, id) {
          const caller = yield* authorize(input, "rotateWebhookSecret")
          const { salt, secret } = yield* secrets.make
          const secretFields = { secretSalt: salt, secretLast4: secret.slice(-4) }
          const rotated = yield* findOrRefuse(notFound, id, (known) =>
            store.rotate(toScope(caller), known, secretFields),
          )
          return { ...(yield* present.one(rotated)), secret }
        }),
        test: Effect.fn("Webhooks.test")(function* test(input, id) {
          const caller = yield* authorize(input, "testWebhook")
          const now = yield* Clock.currentTimeMillis
          const ping = eventId(ids, now)
          const queueing = yield* findOrRefuse(notFound, id, (known) =>
            commitAndWake(
              store.ping(toScope(caller), known, pingEvent(ping, known, now)),
              wakeUp.wake("deliveries"),
            ),
          )
          return yield* queuedOrRefused(ping, queueing)
        }),
      })
    }),
  )
}

/** What operators' requests work with. */
interface EndpointOperations {
  readonly store: WebhookStore
  readonly workspaces: typeof Workspaces.Service
  readonly cursors: Effect.Success<typeof makeCursors>
  readonly wakeUp: typeof WakeUp.Service
  readonly egress: typeof Egress.Service
  readonly parseChange: ReturnType<typeof endpointChangeParser>
  readonly hasConversations: Effect.Success<typeof makeConversationCheck>
  readonly present: ReturnType<typeof makePresenter>
}

interface FoundEndpoint {
  readonly endpoint: WebhookEndpoint
  readonly scope: WebhookScope
}

const scopeIn = (
  { workspaces }: EndpointOperations,
  role: Role,
  workspaceId: WorkspaceId | undefined,
  duty: "webhooks" | "reading" = "webhooks",
) =>
  Effect.map(workspaces.within(role, workspaceId, duty), ({ id }): WebhookScope => ({
    workspaceId: id,
    mode: null,
  }))

const endpointIn = Effect.fnUntraced(function* endpointIn(
  work: EndpointOperations,
  role: Role,
  workspaceId: WorkspaceId | undefined,
  id: WebhookId | undefined,
  duty: "webhooks" | "reading" = "webhooks",
) {
  const scope = yield* scopeIn(work, role, workspaceId, duty)
  const endpoint = yield* findOrRefuse(notFound, id, (known) => work.store.get(scope, known))
  return { endpoint, scope }
})

/** Types that need conversations are unknown without them. */
const parseDeliveries = Effect.fnUntraced(function* parseDeliveries(
  { hasConversations }: EndpointOperations,
  workspaceId: WorkspaceId | undefined,
  query: ListDeliveries,
) {
  const names = [query.type].flat().filter((type) => type !== undefined && type !== "ping")
  const matters = !names.every(isMessageEvent)
  const hears = workspaceId !== undefined && (yield* hasConversations(matters, workspaceId))
  return yield* Effect.fromResult((hears ? decodeAllDeliveries : decodeDeliveries)(query))
})

const listDeliveries = Effect.fnUntraced(function* listDeliveries(
  { cursors, hasConversations, store }: EndpointOperations,
  { id, workspaceId }: WebhookEndpoint,
  { failed, since, type, until, ...request }: typeof DeliveriesQuery.Type,
) {
  const filter: DeliveryFilter = {
    types: type ?? null,
    failed: failed === true,
    since: boundMillis(since),
    until: boundMillis(until),
  }
  yield* refuseFuture(filter.since, yield* Clock.currentTimeMillis, "since")
  const binding = ["deliveries", id, ...Object.values(filter).map(String)]
  // Attempts at events of conversations remain in the log once those are off.
  const hears = yield* hasConversations(filter.types === null, workspaceId)
  const types = filter.types === null && !hears ? loggedWithout : filter.types
  return yield* cursors.page(request, binding, (page) =>
    store.attempts(id, { ...filter, types }, page),
  )
})

const findDelivery = Effect.fnUntraced(function* findDelivery(
  { hasConversations, store }: EndpointOperations,
  { id, workspaceId }: WebhookEndpoint,
  attempt: number | undefined,
) {
  const found = yield* findOrRefuse("delivery_not_found", attempt, (known) =>
    store.attempt(id, known),
  )
  const matters = isConversationEvent(found.attempt.type)
  const hears = yield* hasConversations(matters, workspaceId)
  return matters && !hears ? yield* refuse("delivery_not_found") : found
})

const changeEndpoint = Effect.fnUntraced(function* changeEndpoint(
  { egress, hasConversations, parseChange, present, store }: EndpointOperations,
  { endpoint, scope }: FoundEndpoint,
  command: ChangeWebhook,
) {
  const hears = yield* hasConversations(namesMoreEvents(command), scope.workspaceId)
  const change = yield* Effect.fromResult(parseChange(command, hears))
  const { url } = change
  if (url !== undefined && !(yield* egress.allows(url, scope.workspaceId))) {
    return yield* refuse("invalid_webhook_url", { field: "url" })
  }
  return yield* Effect.flatMap(
    findOrRefuse(notFound, endpoint.id, (known) => store.update(scope, known, change)),
    present.one,
  )
})

const resumeEndpoint = Effect.fnUntraced(function* resumeEndpoint(
  { present, store }: EndpointOperations,
  scope: WebhookScope,
  id: WebhookId | undefined,
) {
  const now = yield* Clock.currentTimeMillis
  const resumed = yield* findOrRefuse(notFound, id, (known) =>
    store.resume(scope, known, endpointLimit, now),
  )
  return resumed === "limit" ? yield* refuse("webhook_limit_reached") : yield* present.one(resumed)
})

const redeliverEvent = Effect.fnUntraced(function* redeliverEvent(
  { store, wakeUp }: EndpointOperations,
  { endpoint, scope }: FoundEndpoint,
  command: RedeliverEvent,
) {
  const input = yield* Effect.fromResult(decodeRedeliver(command))
  const event = input.eventId as EventId
  const now = yield* Clock.currentTimeMillis
  const queueing = yield* commitAndWake(
    store.redeliver(scope, endpoint.id, event, now),
    wakeUp.wake("deliveries"),
  )
  return yield* queuedOrRefused(event, queueing)
})

export class WebhookOperations extends Context.Service<
  WebhookOperations,
  {
    /** GET /workspaces/{id}/webhooks: of both modes, stopped ones included, oldest first. */
    list(
      role: Role,
      workspaceId: WorkspaceId | undefined,
    ): Effect.Effect<ReadonlyArray<WebhookEndpoint>, Failure<WorkspaceCode>>
    /** GET …/webhooks/{webhook_id}/deliveries: the attempts, newest first. */
    deliveries(
      role: Role,
      workspaceId: WorkspaceId | undefined,
      id: WebhookId | undefined,
      query: ListDeliveries,
    ): Effect.Effect<
      CursorPage<DeliveryAttempt>,
      Failure<
        | WorkspaceCode
        | "webhook_not_found"
        | "validation_failed"
        | "invalid_datetime"
        | "invalid_cursor"
      >
    >
    /**
     * GET …/webhooks/{webhook_id}/deliveries/{delivery_id}: one attempt, with what was sent and
     * answered. Fails with `webhook_not_found`, `delivery_not_found`.
     */
    delivery(
      role: Role,
      workspaceId: WorkspaceId | undefined,
      id: WebhookId | undefined,
      delivery: number | undefined,
    ): Effect.Effect<
      LoggedDelivery,
      Failure<WorkspaceCode | "webhook_not_found" | "delivery_not_found">
    >
    /**
     * PATCH …/webhooks/{webhook_id}: changes the given fields; its secret stays. Fails with
     * `webhook_not_found`, `invalid_webhook_url`.
     */
    update(
      role: Role,
      workspaceId: WorkspaceId | undefined,
      id: WebhookId | undefined,
      command: ChangeWebhook,
    ): Effect.Effect<
      WebhookEndpoint,
      Failure<WorkspaceCode | "webhook_not_found" | "validation_failed" | "invalid_webhook_url">
    >
    /**
     * POST …/webhooks/{webhook_id}/recover: queues the events since a time that no attempt has
     * delivered, oldest first, at most 10,000. Fails with `webhook_not_found`, `webhook_stopped`,
     * `invalid_datetime`, and with `validation_failed` for a time more than 30 days ago.
     */
    recover(
      role: Role,
      workspaceId: WorkspaceId | undefined,
      id: WebhookId | undefined,
      command: RecoverEvents,
    ): Effect.Effect<
      RecoveredEvents,
      Failure<
        | WorkspaceCode
        | "webhook_not_found"
        | "webhook_stopped"
        | "validation_failed"
        | "invalid_datetime"
      >
    >
    /** GET /workspaces/{id}/callbacks/deliveries: the attempts, newest first. */
    callbackDeliveries(
      role: Role,
      workspaceId: WorkspaceId | undefined,
      query: ListPage,
    ): Effect.Effect<
      CursorPage<CallbackAttempt>,
      Failure<WorkspaceCode | "validation_failed" | "invalid_cursor">
    >
    /**
     * POST …/webhooks/{webhook_id}/resume: a stopped endpoint runs again. Fails with
     * `webhook_limit_reached` when the workspace already runs as many as allowed.
     */
    resume(
      role: Role,
      workspaceId: WorkspaceId | undefined,
      id: WebhookId | undefined,
    ): Effect.Effect<
      WebhookEndpoint,
      Failure<WorkspaceCode | "webhook_not_found" | "webhook_limit_reached">
    >
    /**
     * POST …/webhooks/{webhook_id}/redeliver: queues that event again, on a new schedule. Fails
     * with `event_not_found`, `webhook_stopped`.
     */
    redeliver(
      role: Role,
      workspaceId: WorkspaceId | undefined,
      id: WebhookId | undefined,
      command: RedeliverEvent,
    ): Effect.Effect<
      QueuedEvent,
      Failure<
        | WorkspaceCode
        | "validation_failed"
        | "webhook_not_found"
        | "webhook_stopped"
        | "event_not_found"
      >
    >
  }
>()("core/WebhookOperations") {
  static readonly layer = Layer.effect(
    WebhookOperations,
    Effect.gen(function* make() {
      const store = (yield* Store).webhooks
      const cursors = yield* makeCursors
      const hasConversations = yield* makeConversationCheck
      const work: EndpointOperations = {
        store,
        workspaces: yield* Workspaces,
        cursors,
        wakeUp: yield* WakeUp,
        egress: yield* Egress,
        parseChange: endpointChangeParser(yield* OutboundRule),
        hasConversations,
        present: makePresenter(hasConversations, store),
      }

      return WebhookOperations.of({
        list: Effect.fn("WebhookOperations.list")(function* list(role, workspaceId) {
          const scope = yield* scopeIn(work, role, workspaceId, "reading")
          return yield* work.present.all(scope.workspaceId, yield* store.list(scope, true))
        }),
        deliveries: Effect.fn("WebhookOperations.deliveries")(
          function* deliveries(role, workspaceId, id, query) {
            const request = yield* parseDeliveries(work, workspaceId, query)
            const { endpoint } = yield* endpointIn(work, role, workspaceId, id, "reading")
            return yield* listDeliveries(work, endpoint, request)
          },
        ),
        delivery: Effect.fn("WebhookOperations.delivery")(
          function* delivery(role, workspaceId, id, attempt) {
            const { endpoint } = yield* endpointIn(work, role, workspaceId, id)
            return yield* findDelivery(work, endpoint, attempt)
          },
        ),
        update: Effect.fn("WebhookOperations.update")(
          function* update(role, workspaceId, id, command) {
            const found = yield* endpointIn(work, role, workspaceId, id)
            return yield* changeEndpoint(work, found, command)
          },
        ),
        recover: Effect.fn("WebhookOperations.recover")(
          function* recover(role, workspaceId, id, command) {
            const found = yield* endpointIn(work, role, workspaceId, id)
            const { since } = yield* Effect.fromResult(decodeRecover(command))
            return yield* recoverSince(work, found, ceilingMillis(since))
          },
        ),
        callbackDeliveries: Effect.fn("WebhookOperations.callbackDeliveries")(
          function* callbackDeliveries(role, workspaceId, query) {
            const request = yield* Effect.fromResult(parsePageRequest(query))
            const scope = yield* scopeIn(work, role, workspaceId, "reading")
            const binding = ["callback deliveries", scope.workspaceId]
            return yield* cursors.page(request, binding, (page) =>
              store.callbackAttempts(scope.workspaceId, page),
            )
          },
        ),
        resume: Effect.fn("WebhookOperations.resume")(function* resume(role, workspaceId, id) {
          const scope = yield* scopeIn(work, role, workspaceId)
          return yield* resumeEndpoint(work, scope, id)
        }),
        redeliver: Effect.fn("WebhookOperations.redeliver")(
          function* redeliver(role, workspaceId, id, command) {
            const found = yield* endpointIn(work, role, workspaceId, id)
            return yield* redeliverEvent(work, found, command)
          },
        ),
      })
    }),
  )
}

const tooLongAgo = refuse("validation_failed", {
  field: "since",
  message: "must not be more than 30 days ago",
})

/** Queues what an endpoint has missed, a few events in each commit. */
const recoverSince = Effect.fnUntraced(function* recoverSince(
  { store, wakeUp }: EndpointOperations,
  { endpoint, scope }: FoundEndpoint,
  since: number,
): Effect.fn.Return<
  RecoveredEvents,
  Failure<"validation_failed" | "webhook_stopped" | "webhook_not_found">
> {
  const now = yield* Clock.currentTimeMillis
  if (since < now - eventsRetentionMillis) return yield* tooLongAgo
  yield* refuseFuture(since, now, "since")
  if (endpoint.disabledReason !== null) return yield* refuse("webhook_stopped")
  const found = yield* store.undelivered(scope, endpoint.id, since, recoveredAtOnce + 1)
  const positions = found.positions.slice(0, recoveredAtOnce)
  let queued = 0
  for (let from = 0; from < positions.length; from += recoveredTogether) {
    const some = { ...found, positions: positions.slice(from, from + recoveredTogether) }
    const recovery = yield* commitAndWake(
      store.recover(scope, endpoint.id, some, now),
      wakeUp.wake("deliveries"),
    )
    if (recovery._tag === "Stopped") return yield* refuse("webhook_stopped")
    if (recovery._tag === "NoEndpoint") return yield* refuse(notFound)
    queued += recovery.count
  }
  return { queued, more: found.positions.length > recoveredAtOnce }
})

const queuedOrRefused = Effect.fnUntraced(function* queuedOrRefused(
  id: EventId,
  queueing: Queueing,
) {
  switch (queueing._tag) {
    case "Queued":
      return { id, type: queueing.type }
    case "Stopped":
      return yield* refuse("webhook_stopped")
    case "NoEvent":
      return yield* refuse("event_not_found")
    case "NoEndpoint":
      return yield* refuse(notFound)
  }
})
