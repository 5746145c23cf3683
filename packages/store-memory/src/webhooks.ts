/** `WebhookStore` in memory. */
import {
  canBeRedelivered,
  comesForward,
  deliveredSinceAfter,
  allotByShare,
  forwardAfterFailure,
  holdsAllEndpoints,
  inSharedOrder,
  isBesideReceived,
  isFarAhead,
  isLeased,
  isMessageEvent,
  isReportedTo,
  isRunning,
  isSilent,
  isSubscribedTo,
  namesReceived,
  roundRobin,
} from "@messaging-service/core"
import type {
  Callback,
  CallbackAttempt,
  CallbackSalts,
  CallbackType,
  ClaimedDelivery,
  DeliveryAttempt,
  DeliveryFilter,
  DeliveryQuery,
  DeliveryQueue,
  DeliveryResult,
  DisabledReason,
  EventId,
  ServiceEvent,
  NewWebhook,
  Queueing,
  WebhookEndpoint,
  TimelineDelivery,
  WebhookEventType,
  WebhookId,
  WebhookScope,
  WebhookStore,
  WorkspaceId,
} from "@messaging-service/core"
import { Effect, FiberSet } from "effect"
import { collectInSteps, newestFirst, Sorted, visitInSteps } from "./collections.ts"
import type { Steps } from "./collections.ts"
import { noteFigure } from "./figures.ts"
import { eventAt } from "./serviceStores.ts"
import {
  byDueDelivery,
  finishClaim,
  isLost,
  placeInAgenda,
  reportQueued,
  findWorkspace,
} from "./tables.ts"
import type {
  CallbackLane,
  DeliveryLane,
  DeliveryRow,
  EndpointRow,
  FrozenEvent,
  Lane,
  LoggedAttempt,
  MessageRow,
  StoredEvent,
  Tables,
  TargetLane,
  WorkspaceRow,
} from "./tables.ts"

// `DeliveryQueue` and `CallbackSalts` in memory. First the changes of deliveries for every port: those of a
// target, which is a webhook endpoint or an origin of callbacks, and those of an endpoint.

/** A lane without pending deliveries. */
const emptyLane = (workspaceId: WorkspaceId): TargetLane => ({
  workspaceId,
  pending: new Sorted(byDueDelivery),
  besideReceived: new Sorted(byDueDelivery),
  inFlight: new Map(),
  agendaAt: null,
})

/**
 * When it can next be claimed: its earliest delivery that is not in flight, or the end of a lease;
 * only the latter at the limit in flight.
 */
const reschedule = (tables: Tables, lane: DeliveryLane, full = false): void => {
  let at = Number.POSITIVE_INFINITY
  for (const { leaseUntil } of lane.inFlight.values()) at = Math.min(at, leaseUntil)
  if (!full) at = Math.min(at, waiting(lane).next().value?.dueAt ?? Number.POSITIVE_INFINITY)
  placeInAgenda(tables.deliveryQueue, lane, at === Number.POSITIVE_INFINITY ? null : at)
}

/** Deliveries that are not in flight, in the order in which they fall due. */
function* waiting(
  { inFlight, pending }: DeliveryLane,
  among: Sorted<DeliveryRow> = pending,
): Generator<DeliveryRow, undefined> {
  for (const delivery of among) if (!inFlight.has(delivery.id)) yield delivery
  return undefined
}

const addPending = (delivery: DeliveryRow): void => {
  delivery.lane.pending.add(delivery)
  if (delivery.isBesideReceived) delivery.lane.besideReceived.add(delivery)
}

/** Before its due time changes: it is found by that. */
const removePending = (delivery: DeliveryRow): void => {
  delivery.lane.pending.delete(delivery)
  delivery.lane.besideReceived.delete(delivery)
}

const queue = (tables: Tables, lane: DeliveryLane, event: FrozenEvent, dueAt: number): void => {
  addPending({
    id: ++tables.lastDeliveryId,
    lane,
    event,
    dueAt,
    attempts: 0,
    lastAttempt: null,
    isForward: null,
    isReplaced: false,
    isBesideReceived: lane.kind === "webhook" && isBesideReceived(lane.endpoint, event.type),
  })
  placeInAgenda(tables.deliveryQueue, lane, Math.min(lane.agendaAt ?? dueAt, dueAt))
}

/** Removes a delivery; if it failed before, its next attempt is cancelled too. */
const drop = (delivery: DeliveryRow): void => {
  const { lane, lastAttempt } = delivery
  removePending(delivery)
  lane.inFlight.delete(delivery.id)
  if (lastAttempt !== null) lastAttempt.attempt = { ...lastAttempt.attempt, nextAttemptAt: null }
}

/** Makes room for a redelivery: drops what waits; an attempt in flight ends, and is the last. */
const replace = (delivery: DeliveryRow): void => {
  if (delivery.lane.inFlight.has(delivery.id)) delivery.isReplaced = true
  else drop(delivery)
}

const dropAll = (tables: Tables, lane: DeliveryLane): void => {
  for (const delivery of Array.from(lane.pending)) drop(delivery)
  reschedule(tables, lane)
}

const changeLogged = (
  row: EndpointRow,
  id: EventId,
  change: (body: string) => string | null,
): void => {
  row.log = row.log.map((logged) => {
    const { event } = logged
    if (event.id !== id || event.body === null) return logged
    return { ...logged, event: { ...event, body: change(event.body) } }
  })
}

/** Ends pending deliveries of an event that is erased, and empties its body in the log. */
export const eraseEvent = (tables: Tables, owner: WorkspaceRow, id: EventId): void => {
  for (const row of owner.endpoints) {
    const ended = Array.from(row.pending).filter(({ event }) => event.id === id)
    for (const delivery of ended) drop(delivery)
    if (ended.length > 0) reschedule(tables, row)
    changeLogged(row, id, () => null)
  }
}

/** Changes the body of an event in its deliveries and in the log. */
export const changeBody = (
  { endpoints }: WorkspaceRow,
  id: EventId,
  change: (body: string) => string,
): void => {
  for (const row of endpoints) {
    for (const delivery of row.pending) {
      const { event } = delivery
      if (event.id === id) delivery.event = { ...event, body: change(event.body) }
    }
    changeLogged(row, id, change)
  }
}

const openEndpoint = (tables: Tables, owner: WorkspaceRow, input: NewWebhook): EndpointRow => {
  const row = tables.endpoints.insert((id: WebhookId): EndpointRow => ({
    ...emptyLane(input.workspaceId),
    kind: "webhook",
    id,
    endpoint: { ...input, id, firstSecretLast4: input.secretLast4, disabledReason: null },
    original: { url: input.url, events: input.events, description: input.description },
    removed: false,
    removedAt: null,
    deliveredSince: input.createdAt,
    log: [],
  }))
  owner.endpoints.push(row)
  return row
}

/** The endpoint as the port shows it. */
const toEndpoint = ({ endpoint, log }: EndpointRow): WebhookEndpoint => ({
  ...endpoint,
  lastAttempt: (log.at(-1)?.attempt ?? null) as WebhookEndpoint["lastAttempt"],
})

/** The endpoint, unless it is unknown, removed or invisible in that scope. */
const endpointIn = (
  tables: Tables,
  { workspaceId, mode }: WebhookScope,
  id: WebhookId,
): EndpointRow | undefined => {
  const row = tables.endpoints.get(id)
  if (row === undefined || row.removed || row.endpoint.workspaceId !== workspaceId) return undefined
  return mode === null || row.endpoint.mode === mode ? row : undefined
}

/** Queues an event for every subscribed endpoint. */
export const fanOut = (tables: Tables, owner: WorkspaceRow, event: ServiceEvent): void => {
  const { id, type, body, createdAt } = event
  for (const row of owner.endpoints) {
    if (row.removed || !isSubscribedTo(row.endpoint, event)) continue
    queue(tables, row, { id, type, body, url: null }, createdAt)
    reportQueued(tables)
  }
}

export const stop = (tables: Tables, row: EndpointRow, reason: DisabledReason): void => {
  if (!isRunning(row)) return
  row.endpoint = { ...row.endpoint, disabledReason: reason }
  dropAll(tables, row)
}

export const removeEndpoint = (tables: Tables, row: EndpointRow, now: number): void => {
  dropAll(tables, row)
  row.removed = true
  row.removedAt ??= now
  row.log = []
}

const laneTo = (tables: Tables, owner: WorkspaceRow, origin: string): CallbackLane => {
  const known = owner.callbackLanes.get(origin)
  if (known !== undefined) return known
  const callbackLane: CallbackLane = {
    ...emptyLane(owner.workspace.id),
    kind: "callback",
    id: --tables.lastCallbackLaneId,
    origin,
  }
  owner.callbackLanes.set(origin, callbackLane)
  tables.callbackLanes.set(callbackLane.id, callbackLane)
  return callbackLane
}

/** Queues a callback, unless its workspace is deleted. */
export const call = (tables: Tables, callback: Callback | null): void => {
  const owner = callback === null ? undefined : findWorkspace(tables, callback.workspaceId)
  if (callback === null || owner === undefined) return
  const { body, createdAt, eventId: id, target, type, url } = callback
  queue(tables, laneTo(tables, owner, target), { id, type, body, url }, createdAt)
  reportQueued(tables)
}

/** Queues the callback of a number's connection, if the number still reports there. */
export const report = (tables: Tables, lane: Lane, callback: Callback | null): void => {
  if (callback !== null && isReportedTo(lane, callback)) call(tables, callback)
}

/** Drops the lane once it has no pending delivery. */
const forgetEmpty = (tables: Tables, lane: CallbackLane): void => {
  if (lane.pending.size > 0) return
  tables.callbackLanes.delete(lane.id)
  tables.workspaces.get(lane.workspaceId)?.callbackLanes.delete(lane.origin)
}

/** Stops all deliveries of the workspace. */
export const dropCallbacks = (tables: Tables, owner: WorkspaceRow): void => {
  for (const lane of Array.from(owner.callbackLanes.values())) {
    dropAll(tables, lane)
    forgetEmpty(tables, lane)
  }
}

/** Drops expired leases: they hold no permit. */
const forgetLapsed = ({ inFlight }: DeliveryLane, now: number): void => {
  for (const [id, { leaseUntil }] of inFlight) if (!isLeased(leaseUntil, now)) inFlight.delete(id)
}

const longestDue = (
  deliveries: Iterable<DeliveryRow>,
  now: number,
  limit: number,
): Array<DeliveryRow> => {
  const found: Array<DeliveryRow> = []
  for (const delivery of deliveries) {
    if (delivery.dueAt > now || found.length >= limit) break
    found.push(delivery)
  }
  return found
}

const candidates = (
  lane: DeliveryLane,
  { now, perTarget }: DeliveryQuery,
): ReadonlyArray<DeliveryRow> => {
  const room = perTarget - lane.inFlight.size
  const found = longestDue(waiting(lane), now, room)
  if (lane.kind === "callback" || !namesReceived(lane.endpoint)) return found
  // Other events may wait behind any number of messages that people wrote.
  const others = longestDue(waiting(lane, lane.besideReceived), now, room)
  return inSharedOrder(
    Array.from(new Set([...found, ...others])).toSorted(byDueDelivery),
    Array.from(lane.inFlight.values(), ({ delivery }) => delivery),
    ({ event }) => event.type,
  ).slice(0, Math.max(0, room))
}

const claim = (tables: Tables, query: DeliveryQuery): ReadonlyArray<ClaimedDelivery> => {
  const lanes: Array<DeliveryLane> = []
  const found: Array<ReadonlyArray<DeliveryRow>> = []
  const give = allotByShare(query.callbacks, query.callbacks.limit)
  for (const { at, lane } of tables.deliveryQueue) {
    if (at > query.now || lanes.length >= query.limit) break
    forgetLapsed(lane, query.now)
    const due = candidates(lane, query)
    const room = lane.kind === "webhook" ? due.length : give(lane.workspaceId, due.length)
    if (room === 0 && due.length > 0) continue
    found.push(due.slice(0, room))
    lanes.push(lane)
  }
  const claimed = roundRobin(found, byDueDelivery, query.limit).map((delivery) =>
    hold(tables, delivery, query.leaseUntil),
  )
  for (const lane of lanes) reschedule(tables, lane, lane.inFlight.size >= query.perTarget)
  return claimed
}

const hold = (tables: Tables, delivery: DeliveryRow, leaseUntil: number): ClaimedDelivery => {
  const { attempts, event, id, lane } = delivery
  const lease = ++tables.lastDeliveryLease
  lane.inFlight.set(id, { delivery, lease, leaseUntil })
  const isCallback = lane.kind === "callback"
  return {
    id,
    kind: lane.kind,
    targetId: lane.id,
    workspaceId: lane.workspaceId,
    lease,
    eventId: event.id,
    body: event.body,
    attempt: attempts + 1,
    url: isCallback ? (event.url ?? "") : lane.endpoint.url,
    secretSalt: isCallback
      ? (tables.workspaces.get(lane.workspaceId)?.callbackSalt ?? null)
      : lane.endpoint.secretSalt,
  }
}

const findLane = (tables: Tables, { kind, targetId }: DeliveryResult): DeliveryLane | undefined =>
  kind === "webhook"
    ? tables.endpoints.get(targetId as WebhookId)
    : tables.callbackLanes.get(targetId)

const findLog = (tables: Tables, lane: DeliveryLane): Array<LoggedAttempt> | undefined =>
  lane.kind === "webhook" ? lane.log : tables.workspaces.get(lane.workspaceId)?.callbackLog

/** What a success brings forward: of an endpoint all that waits, of callbacks those to the same URL. */
const bringForward = (tables: Tables, result: DeliveryResult): void => {
  const lane = findLane(tables, result)
  const deliveryInFlight = lane?.inFlight.get(result.id)
  if (result.error !== null || lane === undefined || deliveryInFlight?.lease !== result.lease)
    return
  const { attemptedAt } = result
  const { url } = deliveryInFlight.delivery.event
  const early = [...lane.pending.from((delivery) => !isFarAhead(delivery, attemptedAt))].filter(
    (delivery) =>
      comesForward(delivery, attemptedAt) &&
      delivery.event.url === url &&
      !lane.inFlight.has(delivery.id),
  )
  for (const delivery of early) {
    removePending(delivery)
    delivery.dueAt = attemptedAt
    delivery.isForward = true
    addPending(delivery)
    const { lastAttempt } = delivery
    if (lastAttempt !== null) {
      lastAttempt.attempt = { ...lastAttempt.attempt, nextAttemptAt: attemptedAt }
    }
  }
}

const settle = (tables: Tables, result: DeliveryResult): void => {
  const lane = findLane(tables, result)
  const deliveryInFlight = lane?.inFlight.get(result.id)
  if (
    lane === undefined ||
    deliveryInFlight === undefined ||
    deliveryInFlight.lease !== result.lease
  )
    return
  const { delivery } = deliveryInFlight
  const nextAttemptAt = delivery.isReplaced ? null : result.nextAttemptAt
  const logged: LoggedAttempt = {
    event: delivery.event,
    responseBody: result.responseBody,
    attempt: {
      id: ++tables.lastAttemptId,
      eventId: delivery.event.id,
      type: delivery.event.type,
      attempt: delivery.attempts + 1,
      attemptedAt: result.attemptedAt,
      responseStatus: result.responseStatus,
      error: result.error,
      durationMillis: result.durationMillis,
      nextAttemptAt,
    },
  }
  removePending(delivery)
  lane.inFlight.delete(delivery.id)
  findLog(tables, lane)?.push(logged)
  if (lane.kind === "webhook") {
    noteFigure(tables, "attempts", {
      workspaceId: lane.workspaceId,
      mode: lane.endpoint.mode,
      at: result.attemptedAt,
      kind: result.error === null ? "delivered" : "not_delivered",
      dueAt: null,
      errorCode: null,
    })
  }
  if (nextAttemptAt !== null) {
    delivery.dueAt = nextAttemptAt
    delivery.attempts++
    delivery.isForward = forwardAfterFailure(delivery.isForward)
    delivery.lastAttempt = logged
    addPending(delivery)
  }
  if (lane.kind === "webhook") {
    lane.deliveredSince = deliveredSinceAfter(lane.deliveredSince, [result])
  }
  reschedule(tables, lane)
  if (lane.kind === "callback") forgetEmpty(tables, lane)
}

/** Judged when all results are recorded: a success in the same commit as a failure counts. */
const stopSilent = (tables: Tables, result: DeliveryResult): void => {
  const lane = findLane(tables, result)
  const since = result.stopUnlessDeliveredSince
  if (lane?.kind === "webhook" && since !== null && isSilent(lane.deliveredSince, since)) {
    stop(tables, lane, "delivery_failures")
  }
}

const settleAll = (tables: Tables, results: ReadonlyArray<DeliveryResult>): void => {
  // What fails in the same commit fails after that.
  for (const result of results) bringForward(tables, result)
  for (const result of results) settle(tables, result)
  for (const result of results) stopSilent(tables, result)
}

export const deliveryQueue = (tables: Tables): Steps<DeliveryQueue> => ({
  claimDeliveries: (query) => claim(tables, query),

  settleDeliveries: (results) => settleAll(tables, results),

  settleAndClaimDeliveries: (results, query) => {
    settleAll(tables, results)
    return claim(tables, query)
  },

  whenQueued: (announce) =>
    Effect.gen(function* () {
      const run = yield* FiberSet.makeRuntime<never, void>()
      const listener = () => void run(announce)
      yield* Effect.acquireRelease(
        Effect.sync(() => tables.queuedListeners.add(listener)),
        () => Effect.sync(() => tables.queuedListeners.delete(listener)),
      )
    }),
})

export const callbackSalts = (tables: Tables): Steps<CallbackSalts> => ({
  callbackSalt: (workspaceId) => findWorkspace(tables, workspaceId)?.callbackSalt ?? null,

  putCallbackSalt: (workspaceId, salt) => {
    const row = findWorkspace(tables, workspaceId)
    if (row === undefined) return false
    row.callbackSalt = salt
    return true
  },
})

/** The latest event with that id, found in steps: the outbox has the events of 30 days. */
const findEvent = (tables: Tables, eventId: EventId): Effect.Effect<StoredEvent | null> =>
  Effect.suspend(() => {
    let found: StoredEvent | null = null
    // From a copy: events are dropped from the front meanwhile.
    const visits = visitInSteps(tables.outbox.slice(), (event) => {
      if (event?.eventId === eventId) found = event
    })
    return Effect.map(visits, () => found)
  })

/** Events of conversations are unknown while those are off. */
const isRedeliverable = (tables: Tables, { endpoint }: EndpointRow, event: StoredEvent): boolean =>
  canBeRedelivered(event, endpoint) &&
  (isMessageEvent(event.type) || findWorkspace(tables, event.workspaceId)?.conversations != null)

/** An event that can be redelivered to the endpoint; a ping if it was attempted there. */
const redeliverable = (
  tables: Tables,
  row: EndpointRow,
  eventId: EventId,
  event: StoredEvent | null,
): FrozenEvent | undefined => {
  if (event === null) {
    const ping = row.log.find(
      (logged) => logged.event.id === eventId && logged.event.type === "ping",
    )
    const body = ping?.event.body ?? null
    return ping === undefined || body === null ? undefined : { ...ping.event, body }
  }
  const { body, type } = event
  return isRedeliverable(tables, row, event) ? { id: eventId, type, body, url: null } : undefined
}

/** Attempts to tell the message's event, newest first. */
export const toldAttempts = (
  tables: Tables,
  { eventPosition, lane }: MessageRow,
  limit: number,
): Effect.Effect<ReadonlyArray<TimelineDelivery>> => {
  const event = eventPosition === null ? null : eventAt(tables, eventPosition)
  if (event === null) return Effect.succeed([])
  const { callbackLog, endpoints } = lane.workspace
  const logged = [
    ...endpoints.flatMap(({ endpoint, log }) =>
      log.map(({ attempt }) => ({ attempt, webhookId: endpoint.id, url: endpoint.url })),
    ),
    ...callbackLog.map(({ attempt, event: { url } }) => ({ attempt, webhookId: null, url })),
  ]
  const found = collectInSteps(logged, (one) =>
    one.attempt.eventId === event.eventId ? one : null,
  )
  return Effect.map(found, (attempts) =>
    attempts
      .toSorted((one, other) => other.attempt.id - one.attempt.id)
      .slice(0, limit)
      .map(({ attempt, url, webhookId }) => ({
        attemptedAt: attempt.attemptedAt,
        webhookId,
        url: url === "" ? null : url,
        attempt: attempt.attempt,
        responseStatus: attempt.responseStatus,
        error: attempt.error,
        durationMillis: attempt.durationMillis,
        nextAttemptAt: attempt.nextAttemptAt,
      })),
  )
}

/** Events that attempts with larger ids have delivered. */
const deliveredEvents = ({ log }: EndpointRow, seen: number): ReadonlySet<EventId> =>
  new Set(
    log.flatMap(({ attempt }) =>
      attempt.id > seen && attempt.error === null ? attempt.eventId : [],
    ),
  )

/** Whether a delivery has failed and waits for its next attempt. */
const isRetried = ({ inFlight }: EndpointRow, { attempts, id }: DeliveryRow): boolean =>
  attempts > 0 && !inFlight.has(id)

const passesFilter = (
  { failed, types, ...filter }: DeliveryFilter,
  { attemptedAt, error, type }: DeliveryAttempt,
): boolean =>
  (types === null || types.includes(type)) &&
  (!failed || error !== null) &&
  (filter.since === null || attemptedAt >= filter.since) &&
  (filter.until === null || attemptedAt < filter.until)

const shownIfThere = (row: EndpointRow | undefined) => (row === undefined ? null : toEndpoint(row))

type WebhookStoreSteps = Steps<WebhookStore>

const endpointSteps = (
  tables: Tables,
): Pick<
  WebhookStoreSteps,
  "insert" | "get" | "created" | "list" | "update" | "rotate" | "remove" | "resume"
> => ({
  insert: (input, limit, idempotency) => {
    if (isLost(tables, idempotency)) return { _tag: "Conflict", guard: "idempotency" }
    if (input.keyId !== null && tables.keys.get(input.keyId)?.key.revokedAt !== null) {
      return { _tag: "Conflict", guard: "key" }
    }
    const owner = findWorkspace(tables, input.workspaceId)
    if (owner === undefined || holdsAllEndpoints(owner.endpoints, limit)) {
      return { _tag: "Conflict", guard: "limit" }
    }
    const row = openEndpoint(tables, owner, input)
    finishClaim(tables, idempotency, [row.endpoint.id])
    return { _tag: "Inserted", endpoint: toEndpoint(row) }
  },

  get: (scope, id) => shownIfThere(endpointIn(tables, scope, id)),

  created: (id) => {
    const row = tables.endpoints.get(id)
    return row === undefined ? null : { ...toEndpoint(row), lastAttempt: null, ...row.original }
  },

  list: (scope, stopped) =>
    (findWorkspace(tables, scope.workspaceId)?.endpoints ?? [])
      .filter(
        (row) =>
          !row.removed &&
          (stopped || isRunning(row)) &&
          (scope.mode === null || row.endpoint.mode === scope.mode),
      )
      .map(toEndpoint),

  update: (scope, id, change) => {
    const row = endpointIn(tables, scope, id)
    if (row === undefined) return null
    row.endpoint = { ...row.endpoint, ...change }
    return toEndpoint(row)
  },

  rotate: (scope, id, secret) => {
    const row = endpointIn(tables, scope, id)
    if (row === undefined) return null
    row.endpoint = { ...row.endpoint, ...secret }
    return toEndpoint(row)
  },

  remove: (scope, id, now) => {
    const row = endpointIn(tables, scope, id)
    if (row === undefined) return false
    removeEndpoint(tables, row, now)
    return true
  },

  resume: (scope, id, limit, now) => {
    const row = endpointIn(tables, scope, id)
    const owner = findWorkspace(tables, scope.workspaceId)
    if (row === undefined || owner === undefined) return null
    if (isRunning(row)) return toEndpoint(row)
    if (holdsAllEndpoints(owner.endpoints, limit)) return "limit"
    row.endpoint = { ...row.endpoint, disabledReason: null }
    row.deliveredSince = now
    return toEndpoint(row)
  },
})

/** Deliveries at callers' request. */
const requestedSteps = (
  tables: Tables,
): Pick<WebhookStoreSteps, "ping" | "redeliver" | "undelivered" | "recover"> => ({
  ping: (scope, id, { id: eventId, body, createdAt }) =>
    queueing(tables, scope, id, (row) => {
      queue(tables, row, { id: eventId, type: "ping", body, url: null }, createdAt)
      return "ping"
    }),

  redeliver: (scope, id, eventId, now) =>
    Effect.map(findEvent(tables, eventId), (found) =>
      queueing(tables, scope, id, (row) => {
        const event = redeliverable(tables, row, eventId, found)
        if (event === undefined) return null
        for (const delivery of Array.from(row.pending)) {
          if (delivery.event.id === eventId) replace(delivery)
        }
        reschedule(tables, row)
        queue(tables, row, event, now)
        return event.type
      }),
    ),

  undelivered: (scope, id, since, limit) => {
    const row = endpointIn(tables, scope, id)
    if (row === undefined) return { positions: [], seen: 0 }
    const positions: Array<number> = []
    const delivered = deliveredEvents(row, 0)
    // In steps: the outbox has the events of 30 days.
    const visits = visitInSteps(tables.outbox.slice(), (event) => {
      if (event === null || positions.length >= limit || event.createdAt < since) return
      if (isRedeliverable(tables, row, event) && !delivered.has(event.eventId)) {
        positions.push(event.id)
      }
    })
    return Effect.map(visits, () => ({ positions, seen: row.log.at(-1)?.attempt.id ?? 0 }))
  },

  recover: (scope, id, { positions, seen }, now) => {
    const row = endpointIn(tables, scope, id)
    if (row === undefined) return { _tag: "NoEndpoint" }
    if (!isRunning(row)) return { _tag: "Stopped" }
    const delivered = deliveredEvents(row, seen)
    const pendingOf = new Map(
      Array.from(row.pending)
        .filter(({ isReplaced }) => !isReplaced)
        .map((delivery) => [delivery.event.id, delivery]),
    )
    let count = 0
    for (const position of positions) {
      const event = eventAt(tables, position)
      if (event === null || !isRedeliverable(tables, row, event)) continue
      const pending = pendingOf.get(event.eventId)
      if (delivered.has(event.eventId) || (pending !== undefined && !isRetried(row, pending))) {
        continue
      }
      if (pending !== undefined) drop(pending)
      const { body, eventId, type } = event
      queue(tables, row, { id: eventId, type, body, url: null }, now)
      count++
    }
    reschedule(tables, row)
    return { _tag: "Queued", count }
  },
})

const logSteps = (
  tables: Tables,
): Pick<WebhookStoreSteps, "attempts" | "attempt" | "callbackAttempts" | "forgetAttempts"> => ({
  attempts: (id, filter, page) =>
    newestFirst(
      tables.endpoints.get(id)?.log ?? [],
      page,
      (logged) => logged.attempt as DeliveryAttempt,
      ({ attempt }) => passesFilter(filter, attempt as DeliveryAttempt),
    ),

  attempt: (id, attempt) => {
    const logged = tables.endpoints.get(id)?.log.find((line) => line.attempt.id === attempt)
    if (logged === undefined) return null
    const { event, responseBody } = logged
    return { attempt: logged.attempt as DeliveryAttempt, requestBody: event.body, responseBody }
  },

  callbackAttempts: (workspaceId, page) =>
    newestFirst(
      findWorkspace(tables, workspaceId)?.callbackLog ?? [],
      page,
      ({ attempt, event }): CallbackAttempt => ({
        ...attempt,
        type: attempt.type as CallbackType,
        url: event.url ?? "",
      }),
    ),

  forgetAttempts: (before) => {
    const isRetained = ({ attempt }: LoggedAttempt) => attempt.attemptedAt >= before
    for (const row of tables.endpoints.rows) row.log = row.log.filter(isRetained)
    for (const row of tables.workspaces.rows) row.callbackLog = row.callbackLog.filter(isRetained)
  },
})

export const webhookStore = (tables: Tables): WebhookStoreSteps => ({
  ...endpointSteps(tables),
  ...requestedSteps(tables),
  ...logSteps(tables),
})

/** Queues an event for a running endpoint; returns its type, null when there is none. */
const queueing = (
  tables: Tables,
  scope: WebhookScope,
  id: WebhookEndpoint["id"],
  make: (row: EndpointRow) => FrozenEvent["type"] | null,
): Queueing => {
  const row = endpointIn(tables, scope, id)
  if (row === undefined) return { _tag: "NoEndpoint" }
  if (!isRunning(row)) return { _tag: "Stopped" }
  const type = make(row)
  return type === null ? { _tag: "NoEvent" } : { _tag: "Queued", type: type as WebhookEventType }
}
