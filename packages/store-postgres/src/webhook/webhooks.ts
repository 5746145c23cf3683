/** Webhook endpoints and their delivery log. */
import { deliveredSinceAfter, erasedAtOnce } from "@messaging-service/core"
import type {
  CallbackAttempt,
  ClaimedDelivery,
  DeliveryAttempt,
  DeliveryQuery,
  DeliveryQueue,
  DeliveryResult,
  EventId,
  NewWebhook,
  Outbox,
  OutboxEvent,
  Queueing,
  WebhookEndpoint,
  WebhookEventType,
  WebhookId,
  WebhookInsertion,
  WebhookStore,
  WorkspaceId,
} from "@messaging-service/core"
import { Effect } from "effect"
import type { DatabaseService } from "../database/Database.ts"
import {
  bigint,
  boolean,
  columnsOf,
  decoded,
  instant,
  integer,
  jsonOf,
  paging,
  selected,
  text,
  texts,
  within,
} from "../database/Fields.ts"
import type { FieldsOf } from "../database/Fields.ts"
import {
  call,
  each,
  given,
  joined,
  on,
  part,
  single,
  sqlFunction,
  statement,
  taking,
} from "../database/Statement.ts"
import { claimParameters } from "../request/idempotency.ts"
import { sharesColumns } from "../queue/lanes.ts"
import { sqlFiles } from "../sql.generated.ts"
import type { DeliveriesQueued } from "./queueDeliveries.ts"

// What changes endpoints: making one, letting a stopped one run again, queueing one more delivery, and
// stopping and removing, which end what is pending in the same commit. An event that is being written
// meanwhile may still queue a delivery: the claim that takes its mark drops it.
// Locks: the claim, then the key, then the workspace, so that two of a workspace count one after the
// other and none is missed by a revocation or a deletion; then the lanes by endpoint; then the
// endpoints.

/** What is written of a new endpoint. */
const newFields = {
  workspaceId: { workspace_id: bigint((endpoint) => endpoint.workspaceId) },
  mode: { mode: text((endpoint) => endpoint.mode) },
  keyId: { key_id: bigint((endpoint) => endpoint.keyId) },
  url: { url: text((endpoint) => endpoint.url) },
  description: { description: text((endpoint) => endpoint.description) },
  events: { events: texts((endpoint) => endpoint.events) },
  secretSalt: { secret_salt: text((endpoint) => endpoint.secretSalt) },
  secretLast4: { secret_last4: text((endpoint) => endpoint.secretLast4) },
  createdAt: { created_at: instant((endpoint) => endpoint.createdAt) },
} satisfies FieldsOf<NewWebhook>

const newColumns = columnsOf(newFields)

const insertEndpoint = sqlFunction(
  "insert_webhook_endpoint",
  joined(part("endpoint", single(newColumns, "p_")), taking({ limit: integer }), claimParameters),
)

const ofEndpoint = { workspaceId: bigint, mode: text, id: bigint }

const resumeEndpoint = sqlFunction(
  "resume_webhook_endpoint",
  taking({ ...ofEndpoint, limit: integer, now: instant }),
)

const queuePing = sqlFunction(
  "queue_webhook_ping",
  taking({ ...ofEndpoint, eventId: text, createdAt: instant, body: text }),
)

const redeliverEvent = sqlFunction(
  "redeliver_webhook_event",
  taking({ ...ofEndpoint, eventId: text, now: instant }),
)

const attemptFields = {
  id: { id: bigint((attempt) => attempt.id) },
  eventId: { event_id: text((attempt) => attempt.eventId) },
  type: { type: text((attempt) => attempt.type) },
  attempt: { attempt: integer((attempt) => attempt.attempt) },
  attemptedAt: { attempted_at: instant((attempt) => attempt.attemptedAt) },
  responseStatus: { response_status: integer((attempt) => attempt.responseStatus) },
  error: { error: text((attempt) => attempt.error) },
  durationMillis: { duration_millis: bigint((attempt) => attempt.durationMillis) },
  nextAttemptAt: { next_attempt_at: instant((attempt) => attempt.nextAttemptAt) },
} satisfies FieldsOf<DeliveryAttempt<string>>

const endpointFields = {
  id: { id: bigint((endpoint) => endpoint.id) },
  ...newFields,
  firstSecretLast4: { first_secret_last4: text((endpoint) => endpoint.firstSecretLast4) },
  disabledReason: { disabled_reason: text((endpoint) => endpoint.disabledReason) },
} satisfies FieldsOf<Omit<WebhookEndpoint, "lastAttempt">>

interface EndpointRow {
  readonly endpoint: Omit<WebhookEndpoint, "lastAttempt">
  readonly last_attempt: DeliveryAttempt | null
}

// Index webhook_attempts_by_endpoint.
const endpointColumns = (alias: string): string => `${jsonOf(endpointFields, alias)} as endpoint,
  (
    select ${jsonOf(attemptFields, "a")}
    from webhook_attempts a
    where a.endpoint_id = ${alias}.id
    order by a.id desc
    limit 1
  ) as last_attempt`

const toEndpoint = ({ endpoint, last_attempt: lastAttempt }: EndpointRow): WebhookEndpoint => ({
  ...endpoint,
  lastAttempt,
})

interface AttemptRow<Attempt> {
  readonly attempt: Attempt
}

const toAttempt = <Attempt>({ attempt }: AttemptRow<Attempt>): Attempt => attempt

interface InsertedRow {
  readonly guard: Extract<WebhookInsertion, { _tag: "Broken" }>["guard"] | null
  readonly id: bigint | null
}

const insert = call("webhook.insert", insertEndpoint)
const resume = call("webhook.resume", resumeEndpoint)
const ping = call("webhook.ping", queuePing)
const redeliver = call("webhook.redeliver", redeliverEvent)

const scope = { workspaceId: bigint, mode: text }
const named = { ...scope, id: bigint }

const getEndpoint = statement(
  "webhook.get",
  given(named),
)(sqlFiles["statements/webhook/get-endpoint.sql"])

const madeEndpoint = statement("webhook.made", given({ id: bigint }))`
select ${endpointColumns("e")}
from webhook_endpoints e
where e.id = $id`

const listEndpoints = statement(
  "webhook.list",
  given({ ...scope, stopped: boolean }),
)(sqlFiles["statements/webhook/list-endpoints.sql"])

const rotateSecret = statement(
  "webhook.rotate",
  given({ ...named, secretSalt: text, secretLast4: text }),
)(sqlFiles["statements/webhook/rotate-secret.sql"])

const removeEndpoint = statement(
  "webhook.remove",
  given({ ...named, now: instant }),
)(sqlFiles["statements/webhook/remove-endpoint.sql"])

const page = given({ id: bigint, ...paging })

const listAttempts = statement(
  "webhook.attempts",
  page,
)(sqlFiles["statements/webhook/list-attempts.sql"])

const listCallbackAttempts = statement(
  "webhook.callbackAttempts",
  page,
)(sqlFiles["statements/webhook/list-callback-attempts.sql"])

const forgetAttempts = statement(
  "webhook.forgetAttempts",
  given({ before: instant, limit: integer }),
)(sqlFiles["statements/webhook/forget-attempts.sql"])

const queueingOf = (outcome: string | null): Queueing => {
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

export const webhookStore = (database: DatabaseService): typeof WebhookStore.Service => ({
  insert: (endpoint, limit, claim) =>
    Effect.map(
      insert.rows<InsertedRow>(database, { endpoint, limit, claim }),
      ([row]): WebhookInsertion =>
        row?.id == null
          ? { _tag: "Broken", guard: row?.guard ?? "limit" }
          : {
              _tag: "Inserted",
              endpoint: {
                ...endpoint,
                id: Number(row.id) as WebhookId,
                firstSecretLast4: endpoint.secretLast4,
                disabledReason: null,
                lastAttempt: null,
              },
            },
    ),
  get: (asked, id) => getEndpoint.first(database, { ...asked, id }, toEndpoint),
  made: (id) => madeEndpoint.first(database, { id }, toEndpoint),
  list: (asked, stopped) => listEndpoints.all(database, { ...asked, stopped }, toEndpoint),
  rotate: (asked, id, secret) =>
    rotateSecret.first(database, { ...asked, id, ...secret }, toEndpoint),
  remove: (asked, id, now) => removeEndpoint.any(database, { ...asked, id, now }),
  resume: (asked, id, limit, now) =>
    Effect.gen(function* () {
      const outcome = yield* resume.value<string>(database, { ...asked, id, limit, now })
      if (outcome === "limit") return "limit"
      if (outcome !== "running") return null
      return yield* getEndpoint.first(database, { ...asked, id }, toEndpoint)
    }),
  ping: (asked, id, { body, createdAt, id: eventId }) =>
    Effect.map(
      ping.value<string>(database, { ...asked, id, eventId, createdAt, body }),
      queueingOf,
    ),
  redeliver: (asked, id, eventId, now) =>
    Effect.map(redeliver.value<string>(database, { ...asked, id, eventId, now }), queueingOf),
  attempts: (id, asked) =>
    listAttempts.page(database, `endpoint ${id}`, { ...asked, id }, toAttempt<DeliveryAttempt>),
  callbackAttempts: (id, asked) =>
    listCallbackAttempts.page(
      database,
      `workspace ${id}`,
      { ...asked, id },
      toAttempt<CallbackAttempt>,
    ),
  forgetAttempts: (before) => forgetAttempts.untilDone(database, { before, limit: erasedAtOnce }),
})

// Attempts that ended are recorded, and free places are taken by what is due, in one commit. Settling
// alone takes nothing, claiming alone records nothing; so what a lane holds and when it is next due is
// computed in one place, once. A lane is that of a webhook endpoint, whose id it has, or that of a
// callback's target, with an id below zero: the one knows the address, the secret and when it stops,
// for the other each delivery brings its own address, and the claim keeps to the workspace's share.
// A recorded attempt goes to the log, and its delivery ends or gets its next turn; endpoints to which
// nothing gets through stop. Then marked lanes are looked at, and the longest due of free lanes are taken, a few
// of each. What is in flight stands in the lane, so that a claim changes no delivery.
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

const resultColumns = columnsOf({
  id: { p_delivery: bigint((result) => result.id) },
  lease: { p_lease: bigint((result) => result.lease) },
  attemptedAt: { p_attempted_at: instant((result) => result.attemptedAt) },
  durationMillis: { p_duration_millis: bigint((result) => result.durationMillis) },
  responseStatus: { p_response_status: integer((result) => result.responseStatus) },
  error: { p_error: text((result) => result.error) },
  nextAttemptAt: { p_next_attempt_at: instant((result) => result.nextAttemptAt) },
  stopUnlessDeliveredSince: { p_stop_since: instant((result) => result.stopUnlessDeliveredSince) },
} satisfies FieldsOf<Omit<DeliveryResult, "kind" | "targetId">>)

const resultParameters = joined(
  each({
    p_lane: bigint((lane: LaneResults) => lane.id),
    p_results: integer((lane: LaneResults) => lane.results.length),
    p_delivered_at: instant(deliveredAt),
  }),
  on(
    (lanes: ReadonlyArray<LaneResults>) => lanes.flatMap(({ results }) => results),
    each(resultColumns),
  ),
)

const queryColumns = columnsOf({
  now: { p_now: instant((query) => query.now) },
  leaseUntil: { p_lease_until: instant((query) => query.leaseUntil) },
  limit: { p_limit: integer((query) => query.limit) },
  perTarget: { p_per_target: integer((query) => query.perTarget) },
  callbacks: {
    p_callbacks: integer(({ callbacks }) => callbacks.limit),
    ...within((query: Pick<DeliveryQuery, "callbacks">) => query.callbacks, sharesColumns),
  },
} satisfies FieldsOf<DeliveryQuery>)

const settleAndClaimDeliveries = sqlFunction(
  "settle_and_claim_deliveries",
  joined(part("lanes", resultParameters), part("query", single(queryColumns))),
)

// What is to be delivered to webhook endpoints and to the receivers of callbacks.

interface ClaimedRow {
  readonly id: bigint
  readonly lane_id: bigint
  readonly workspace_id: bigint
  readonly lease: bigint
  readonly event_id: string
  readonly body: string
  readonly attempt: number
  readonly url: string
  readonly secret_salt: string | null
}

const settleAndClaim = call("delivery.turn", settleAndClaimDeliveries)

/** No moment is named: no lease has run out, nothing is due, and any number may be in flight. */
const settle = statement("delivery.settle", resultParameters)`
select from ${settleAndClaimDeliveries.name}(
  ${resultParameters.placeholders}, '-infinity', null, 0, 2147483647, 0, 0, '{}', '{}'
)`

const lanesOf = (results: ReadonlyArray<DeliveryResult>): ReadonlyArray<LaneResults> =>
  Array.from(
    Map.groupBy(results, ({ targetId }) => targetId),
    ([id, ofLane]) => ({
      id,
      results: ofLane,
    }),
  )

const toClaimed = (row: ClaimedRow): ClaimedDelivery => {
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
): typeof DeliveryQueue.Service => {
  const turn = (results: ReadonlyArray<DeliveryResult>, query: DeliveryQuery) =>
    settleAndClaim.all(database, { lanes: lanesOf(results), query }, toClaimed)

  return {
    claim: (query) => turn([], query),
    settle: (results) =>
      results.length === 0 ? Effect.void : settle.run(database, lanesOf(results)),
    settleAndClaim: turn,
    whenQueued,
  }
}

// Reading the outbox by position, without ever passing over an event.
// Positions come from a sequence: a transaction that took a smaller one may commit later, and a
// reader that has gone past it would never see it. So a reader stops before a gap until it is known
// that it will stay empty. A transaction has an id of its own before it takes a position; once all
// that were under way when the gap was first seen are over, what is still missing was rolled back.

const eventFields = {
  id: { id: bigint((event) => event.id) },
  eventId: { event_id: text((event) => event.eventId) },
  type: { type: text((event) => event.type) },
  workspaceId: { workspace_id: bigint((event) => event.workspaceId) },
  mode: { mode: text((event) => event.mode) },
  messageId: { message_id: bigint((event) => event.messageId) },
  createdAt: { created_at: instant((event) => event.createdAt) },
  body: { body: text((event) => event.body) },
} satisfies FieldsOf<OutboxEvent>

const toEvent = decoded<OutboxEvent>(eventFields)

interface OutboxRow {
  readonly id: bigint
}

interface TransactionRow {
  readonly id: bigint
}

const readOutbox = statement("outbox.read", given({ after: bigint, limit: integer }))`
select ${selected(columnsOf(eventFields), "o")}
from outbox o
where o.id > $after
order by o.id
limit $limit`

const latestPosition = statement("outbox.latest", given({}))`
select coalesce(max(o.id), 0)::bigint as latest
from outbox o`

/**
 * All transactions before this one are over. Asked before the events are read, so that the read
 * sees what those have written.
 */
const firstUnderWay = statement("outbox.underWay", given({}))`
select pg_snapshot_xmin(pg_current_snapshot())::text::bigint as id`

/**
 * A transaction that begins now: all that have taken a position began before it. The end of a
 * snapshot would not do: it stands behind the latest transaction that is over, and one with a
 * higher id may be under way.
 */
const beginsNow = statement("outbox.beginsNow", given({}))`
select pg_current_xact_id()::text::bigint as id`

const forgetEvents = statement(
  "outbox.forget",
  given({ before: instant, limit: integer }),
)(sqlFiles["statements/outbox/forget-events.sql"])

/** How many gaps are remembered; readers that stand at others look twice. */
const remembered = 64

export const outbox = (database: DatabaseService): typeof Outbox.Service => {
  /** The position before a gap, and the first transaction that cannot fill it. */
  const gaps = new Map<number, bigint>()

  /** Transactions before `first` may yet fill the gap after `before`. */
  const remember = (before: number, first: bigint) => {
    gaps.set(before, first)
    const oldest = gaps.keys().next().value
    if (gaps.size > remembered && oldest !== undefined) gaps.delete(oldest)
  }

  /** The events up to the first gap that may still be filled; `gap` if it is seen for the first time. */
  const settled = (after: number, events: ReadonlyArray<OutboxRow>, over: bigint) => {
    let before = after
    for (const [index, event] of events.entries()) {
      const id = Number(event.id)
      if (id !== before + 1) {
        const first = gaps.get(before)
        if (first === undefined) return { rows: events.slice(0, index), gap: before }
        if (over < first) return { rows: events.slice(0, index), gap: null }
      }
      gaps.delete(before)
      before = id
    }
    return { rows: events, gap: null }
  }

  const firstId = (rows: ReadonlyArray<TransactionRow>) => BigInt(rows[0]?.id ?? 0)
  const allOverBefore = Effect.map(firstUnderWay.rows<TransactionRow>(database, {}), firstId)
  const transactionNow = Effect.map(beginsNow.rows<TransactionRow>(database, {}), firstId)

  const read = Effect.fnUntraced(function* (after: number, limit: number) {
    const events: Array<OutboxEvent> = []
    let position = after
    let over = yield* allOverBefore
    for (;;) {
      const query = { after: position, limit: limit - events.length }
      const found = yield* readOutbox.rows<OutboxRow>(database, query)
      const { gap, rows } = settled(position, found, over)
      events.push(...rows.map(toEvent))
      const last = rows.at(-1)
      if (gap === null && (events.length > 0 || last === undefined)) return events
      if (gap !== null) remember(gap, yield* transactionNow)
      // Behind the gaps that are passed: their notes are gone, and each would be looked at anew.
      if (last !== undefined) position = Number(last.id)
      over = yield* allOverBefore
    }
  })

  return {
    read,
    latest: Effect.map(latestPosition.rows<{ readonly latest: bigint }>(database, {}), ([row]) =>
      Number(row?.latest ?? 0),
    ),
    forget: (before) => forgetEvents.untilDone(database, { before, limit: erasedAtOnce }),
  }
}
