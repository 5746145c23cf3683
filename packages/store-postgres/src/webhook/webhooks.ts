/** Webhook endpoints and their delivery log. */
import { deliveredSinceAfter, erasedAtOnce } from "@messaging-service/core"
import type {
  CallbackAttempt,
  ClaimedDelivery,
  DeliveryAttempt,
  DeliveryQuery,
  DeliveryQueue,
  DeliveryResult,
  EndpointChange,
  EventId,
  IdempotencyClaim,
  NewWebhook,
  Outbox,
  OutboxEvent,
  Queueing,
  Recovery,
  WebhookEndpoint,
  WebhookEventType,
  WebhookId,
  WebhookInsertion,
  WebhookStore,
  WorkspaceId,
} from "@messaging-service/core"
import { Effect } from "effect"
import type { DatabaseService } from "../database/Database.ts"
import { positionReader } from "../database/positionReader.ts"
import { numberOrNull, statement, toColumns } from "../database/Sql.ts"
import type { Element, Params, Row } from "../database/Sql.ts"
import { toShareParams } from "../queue/lanes.ts"
import { toClaimParams } from "../request/idempotency.ts"
import type { DeliveriesQueued } from "./queueDeliveries.ts"

// What changes endpoints: making one, letting a stopped one run again, queueing one more delivery, and
// stopping and removing, which end what is pending in the same commit. An event that is being written
// meanwhile may still queue a delivery: the claim that takes its mark drops it.
// Locks: the claim, then the key, then the workspace, so that two of a workspace count one after the
// other and none is missed by a revocation or a deletion; then the lanes by endpoint; then the
// endpoints.

const insertEndpoint = statement("insert_webhook_endpoint")
const resumeEndpoint = statement("resume_webhook_endpoint")
const queuePing = statement("queue_webhook_ping")
const redeliverEvent = statement("redeliver_webhook_event")
const getEndpoint = statement("webhook.get")
const createdEndpoint = statement("webhook.made")
const listEndpoints = statement("webhook.list")
const rotateSecret = statement("webhook.rotate")
const removeEndpoint = statement("webhook.remove")
const updateEndpoint = statement("webhook.update")
const listAttempts = statement("webhook.attempts")
const listFailedAttempts = statement("webhook.failedAttempts")
const getAttempt = statement("webhook.attempt")
const findUndelivered = statement("webhook.undelivered")
const recoverEvents = statement("recover_webhook_events")
const listCallbackAttempts = statement("webhook.callbackAttempts")
const forgetAttempts = statement("webhook.forgetAttempts")

const toNewEndpoint = (
  endpoint: NewWebhook,
  limit: number,
  claim: IdempotencyClaim | null,
): Params<"insert_webhook_endpoint"> => ({
  workspaceId: endpoint.workspaceId,
  mode: endpoint.mode,
  keyId: endpoint.keyId,
  url: endpoint.url,
  description: endpoint.description,
  events: endpoint.events,
  secretSalt: endpoint.secretSalt,
  secretLast4: endpoint.secretLast4,
  createdAt: endpoint.createdAt,
  limit,
  ...toClaimParams(claim),
})

type FailedGuard = Extract<WebhookInsertion, { _tag: "Conflict" }>["guard"]

const toInsertion = (
  endpoint: NewWebhook,
  row: Row<"insert_webhook_endpoint"> | undefined,
): WebhookInsertion =>
  row === undefined || row.id === null
    ? { _tag: "Conflict", guard: (row?.guard as FailedGuard | undefined) ?? "limit" }
    : {
        _tag: "Inserted",
        endpoint: {
          ...endpoint,
          id: Number(row.id) as WebhookId,
          firstSecretLast4: endpoint.secretLast4,
          disabledReason: null,
          lastAttempt: null,
        },
      }

const toEndpoint = (row: Row<"webhook.get">): WebhookEndpoint => ({
  ...(row.endpoint as Omit<WebhookEndpoint, "lastAttempt">),
  lastAttempt: row.last_attempt as DeliveryAttempt | null,
})

const toMadeEndpoint = ({ endpoint, original }: Row<"webhook.made">): WebhookEndpoint => ({
  ...toEndpoint({ endpoint, last_attempt: null }),
  ...(original as EndpointChange | null),
})

const toRecovery = (row: Row<"recover_webhook_events"> | undefined): Recovery => {
  if (row?.state === "running") return { _tag: "Queued", count: row.queued }
  return { _tag: row?.state === "stopped" ? "Stopped" : "NoEndpoint" }
}

const toAttempt = (row: Row<"webhook.attempts" | "webhook.failedAttempts">) =>
  row.attempt as DeliveryAttempt
const toCallbackAttempt = (row: Row<"webhook.callbackAttempts">) => row.attempt as CallbackAttempt

const toQueueing = (outcome: string | null): Queueing => {
  switch (outcome) {
    case "stopped":
      return { _tag: "Stopped" }
    case "no endpoint":
      return { _tag: "NoEndpoint" }
    case "no event":
      return { _tag: "NoEvent" }
    default:
      return { _tag: "Queued", type: outcome as WebhookEventType }
  }
}

export const webhookStore = (database: DatabaseService): WebhookStore => ({
  insert(endpoint, limit, claim) {
    const params = toNewEndpoint(endpoint, limit, claim)
    return Effect.map(insertEndpoint.rows(database, params), ([row]) => toInsertion(endpoint, row))
  },
  get(scope, id) {
    return getEndpoint.first(database, { ...scope, id }, toEndpoint)
  },
  created(id) {
    return createdEndpoint.first(database, { id }, toMadeEndpoint)
  },
  list(scope, stopped) {
    return listEndpoints.all(database, { ...scope, stopped }, toEndpoint)
  },
  rotate(scope, id, secret) {
    return rotateSecret.first(database, { ...scope, id, ...secret }, toEndpoint)
  },
  remove(scope, id, now) {
    return removeEndpoint.any(database, { ...scope, id, now })
  },
  resume: Effect.fnUntraced(function* resume(scope, id, limit, now) {
    const outcome = yield* resumeEndpoint.value(database, { ...scope, id, limit, now })
    if (outcome === "limit") return "limit"
    if (outcome !== "running") return null
    return yield* getEndpoint.first(database, { ...scope, id }, toEndpoint)
  }),
  ping(scope, id, { body, createdAt, id: eventId }) {
    const params = { ...scope, id, eventId, createdAt, body }
    return Effect.map(queuePing.value(database, params), toQueueing)
  },
  redeliver(scope, id, eventId, now) {
    const params = { ...scope, id, eventId, now }
    return Effect.map(redeliverEvent.value(database, params), toQueueing)
  },
  update(scope, id, { description = null, events = null, url = null }) {
    const params = { ...scope, id, url, events, description }
    return updateEndpoint.first(database, params, toEndpoint)
  },
  undelivered(scope, id, since, limit) {
    const params = { ...scope, id, since, limit }
    return findUndelivered.one(database, params, ({ positions, seen }) => ({
      positions: (positions ?? []).map(Number),
      seen: Number(seen),
    }))
  },
  recover(scope, id, { positions, seen }, now) {
    const params = { ...scope, id, positions, seen, now }
    return Effect.map(recoverEvents.rows(database, params), ([row]) => toRecovery(row))
  },
  attempts(id, { failed, since, types, until }, page) {
    const list = failed ? listFailedAttempts : listAttempts
    const params = { ...page, id, types, since, until }
    return list.page(database, `endpoint ${id}`, params, toAttempt)
  },
  attempt(id, attempt) {
    return getAttempt.first(database, { id, attempt }, (row) => ({
      attempt: row.attempt as DeliveryAttempt,
      requestBody: row.request_body,
      responseBody: row.response_body,
    }))
  },
  callbackAttempts(id, query) {
    const params = { ...query, id }
    return listCallbackAttempts.page(database, `workspace ${id}`, params, toCallbackAttempt)
  },
  forgetAttempts(before) {
    return forgetAttempts.untilDone(database, { before, limit: erasedAtOnce })
  },
})

// Attempts that ended are recorded, and free places are taken by what is due, in one commit. Settling
// alone takes nothing, claiming alone records nothing; so what a lane holds and when it is next due is
// computed in one place, once. A lane is that of a webhook endpoint, with the endpoint's id, or that of a
// callback's target, with an id below zero: the one knows the address, the secret and when it stops,
// for the other each delivery brings its own address, and the claim keeps to the workspace's share.
// A recorded attempt goes to the log, and its delivery ends or gets its next turn; endpoints to which
// nothing gets through stop. Then marked lanes are looked at, and the longest due of free lanes are taken, a few
// of each. The lane holds what is in flight, so that a claim changes no delivery.
// Locks: the lanes of callbacks that are new, by id; the lanes of the results and those that are marked by id,
// at once; then the endpoints that stop; then further lanes, without waiting for any.

/** The results of a lane; those that are settled together come lane by lane. */
interface LaneResults {
  readonly id: number
  readonly results: ReadonlyArray<DeliveryResult>
}

/** When the latest of them was delivered; null when none was. */
const deliveredAt = ({ results }: LaneResults): number | null => {
  const latest = deliveredSinceAfter(-Infinity, results)
  return latest === -Infinity ? null : latest
}

type DeliveriesElement = Element<"delivery.settle">
type LaneElement = Pick<DeliveriesElement, "deliveredAt" | "lane" | "results">

const toLaneElement = (lane: LaneResults): LaneElement => ({
  lane: lane.id,
  results: lane.results.length,
  deliveredAt: deliveredAt(lane),
})

const toResultElement = (result: DeliveryResult): Omit<DeliveriesElement, keyof LaneElement> => ({
  delivery: result.id,
  lease: result.lease,
  attemptedAt: result.attemptedAt,
  durationMillis: result.durationMillis,
  responseStatus: result.responseStatus,
  responseBody: result.responseBody,
  error: result.error,
  nextAttemptAt: result.nextAttemptAt,
  stopSince: result.stopUnlessDeliveredSince,
})

const toResultParams = (results: ReadonlyArray<DeliveryResult>): Params<"delivery.settle"> => {
  const lanes = getLanes(results)
  return {
    ...toColumns(lanes.map(toLaneElement)),
    ...toColumns(lanes.flatMap(getResults).map(toResultElement)),
  }
}

const getResults = ({ results }: LaneResults) => results

const settleAndClaimDeliveries = statement("settle_and_claim_deliveries")
const settleDeliveries = statement("delivery.settle")

const getLanes = (results: ReadonlyArray<DeliveryResult>): ReadonlyArray<LaneResults> =>
  Array.from(Map.groupBy(results, getTargetId), toLaneResults)

const getTargetId = ({ targetId }: DeliveryResult): number => targetId

const toLaneResults = ([id, results]: [number, ReadonlyArray<DeliveryResult>]): LaneResults => ({
  id,
  results,
})

const toClaimed = (row: Row<"settle_and_claim_deliveries">): ClaimedDelivery => {
  const targetId = Number(row.lane_id)
  return {
    id: Number(row.id),
    kind: targetId < 0 ? "callback" : "webhook",
    targetId,
    workspaceId: Number(row.workspace_id) as WorkspaceId,
    lease: Number(row.lease),
    eventId: row.event_id as EventId,
    body: row.body,
    attempt: row.attempt,
    url: row.url,
    secretSalt: row.secret_salt,
  }
}

export const deliveryQueue = (
  database: DatabaseService,
  { whenQueued }: DeliveriesQueued,
): DeliveryQueue => {
  const settleAndClaim = (results: ReadonlyArray<DeliveryResult>, query: DeliveryQuery) => {
    const params = {
      ...toResultParams(results),
      now: query.now,
      leaseUntil: query.leaseUntil,
      limit: query.limit,
      perTarget: query.perTarget,
      callbacks: query.callbacks.limit,
      ...toShareParams(query.callbacks),
    }
    return settleAndClaimDeliveries.all(database, params, toClaimed)
  }

  return {
    claimDeliveries(query) {
      return settleAndClaim([], query)
    },
    settleDeliveries(results) {
      return results.length === 0
        ? Effect.void
        : settleDeliveries.run(database, toResultParams(results))
    },
    settleAndClaimDeliveries: settleAndClaim,
    whenQueued,
  }
}

const readOutbox = statement("outbox.read")
const latestPosition = statement("outbox.latest")
const forgetEvents = statement("outbox.forget")

const toEvent = (row: Row<"outbox.read">): OutboxEvent => ({
  id: Number(row.id),
  eventId: row.event_id as EventId,
  type: row.type as OutboxEvent["type"],
  workspaceId: Number(row.workspace_id) as WorkspaceId,
  mode: row.mode as OutboxEvent["mode"],
  messageId: numberOrNull(row.message_id) as OutboxEvent["messageId"],
  createdAt: row.created_at.getTime(),
  body: row.body,
  reference: row.reference,
})

export const outbox = (database: DatabaseService): Outbox => {
  const read = positionReader(database, (after, limit) =>
    readOutbox.rows(database, { after, limit }),
  )
  return {
    readEvents(after, limit) {
      return Effect.map(read(after, limit), (rows) => rows.map(toEvent))
    },
    latestEvent: latestPosition.one(database, {}, ({ latest }) => Number(latest)),
    forgetEvents(before) {
      return forgetEvents.untilDone(database, { before, limit: erasedAtOnce })
    },
  }
}
