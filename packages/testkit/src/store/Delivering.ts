/** Tools for tests of deliveries: endpoints, events, and the operations of a delivery loop. */
import { assert } from "@effect/vitest"
import { countByWorkspace, webhookEventTypes, Store } from "@messaging-service/core"
import type {
  ApiKey,
  ClaimedDelivery,
  DeliveryFilter,
  DeliveryQuery,
  DeliveryResult,
  NewWebhook,
  SendingNumber,
  WebhookEndpoint,
  WebhookScope,
} from "@messaging-service/core"
import { Effect } from "effect"
import { only, present } from "./Expect.ts"
import { cancelled, end } from "./Sending.ts"
import { aKey, aMessage, aStage, fresh, hour, minute, noon } from "./Records.ts"

/** The default limit of endpoints. */
export const manyEndpoints = 1000

export const aNewWebhook = (key: ApiKey, overrides: Partial<NewWebhook> = {}): NewWebhook => ({
  workspaceId: key.workspaceId,
  mode: key.mode,
  keyId: key.id,
  url: `https://example.com/hook/${fresh()}`,
  description: "",
  events: webhookEventTypes,
  secretSalt: `salt ${fresh()}`,
  secretLast4: String(fresh() % 10_000).padStart(4, "0"),
  createdAt: noon,
  ...overrides,
})

/**
 * An endpoint that goes with the test. A claim sees the whole store, so no test may leave anything
 * to deliver.
 */
export const anEndpoint = (key: ApiKey, overrides: Partial<NewWebhook> = {}) =>
  Effect.acquireRelease(
    Effect.gen(function* () {
      const store = (yield* Store).webhooks
      const inserted = yield* store.insert(aNewWebhook(key, overrides), manyEndpoints, null)
      assert.strictEqual(inserted._tag, "Inserted")
      return present(inserted._tag === "Inserted" ? inserted.endpoint : null)
    }),
    (endpoint) =>
      Store.use(({ webhooks: store }) => store.remove(toScope(endpoint), endpoint.id, noon)).pipe(
        Effect.orDie,
      ),
  )

export const toScope = (owner: Pick<WebhookScope, "workspaceId" | "mode">): WebhookScope => ({
  workspaceId: owner.workspaceId,
  mode: owner.mode,
})

/** A workspace with a connected number and a live key. */
export const aStageWithKey = (createdAt = noon) =>
  Effect.gen(function* () {
    const stage = yield* aStage({ createdAt })
    const { key } = yield* aKey(stage.workspace.id, { createdAt })
    return { ...stage, key }
  })

/** An endpoint as the store has it now. */
export const lookUpEndpoint = (endpoint: WebhookEndpoint) =>
  Effect.map(
    Store.use(({ webhooks: store }) => store.get(toScope(endpoint), endpoint.id)),
    present,
  )

export const everyAttempt: DeliveryFilter = {
  types: null,
  failed: false,
  since: null,
  until: null,
}

/** The delivery log, newest first. */
export const readLog = (endpoint: Pick<WebhookEndpoint, "id">) =>
  Effect.map(
    Store.use(({ webhooks: store }) =>
      store.attempts(endpoint.id, everyAttempt, { before: null, limit: 100 }),
    ),
    (page) => page.items,
  )

/** Accepts and cancels a message; returns the event. */
export const anEvent = (
  number: SendingNumber,
  overrides: { readonly now?: number; readonly mode?: "live" | "test" } = {},
) =>
  Effect.gen(function* () {
    const now = overrides.now ?? noon
    const message = yield* aMessage(number, { now, mode: overrides.mode ?? "live" })
    const change = cancelled(message, now)
    yield* end(change)
    return change.event
  })

/** So many callbacks of each workspace, held ones included. */
export const sharing = (
  perWorkspace: number,
  claimedDeliveries: ReadonlyArray<ClaimedDelivery> = [],
): Pick<DeliveryQuery, "callbacks"> => ({
  callbacks: {
    limit: 1000,
    perWorkspace,
    held: countByWorkspace(claimedDeliveries.map(({ workspaceId }) => workspaceId)),
  },
})

const deliveryQuery = (overrides: Partial<DeliveryQuery>): DeliveryQuery => {
  const now = overrides.now ?? noon + hour
  const max = { limit: 1000, perTarget: 1000, ...sharing(1000) }
  return { now, leaseUntil: now + minute, ...max, ...overrides }
}

/** The claimed deliveries of that endpoint. */
export const getEvents = (
  claimed: ReadonlyArray<ClaimedDelivery>,
  endpoint: { readonly id: number },
) => claimed.filter(({ targetId }) => targetId === endpoint.id).map(({ eventId }) => eventId)

export const claimDue = (overrides: Partial<DeliveryQuery> = {}) =>
  Store.use(({ webhooks: queue }) => queue.claimDeliveries(deliveryQuery(overrides)))

export const claimTheOne = (overrides: Partial<DeliveryQuery> = {}) =>
  Effect.map(claimDue(overrides), only)

export const delivered = (
  claimed: ClaimedDelivery,
  overrides: Partial<DeliveryResult> = {},
): DeliveryResult => ({
  id: claimed.id,
  kind: claimed.kind,
  targetId: claimed.targetId,
  lease: claimed.lease,
  attemptedAt: noon,
  durationMillis: 7,
  responseStatus: 204,
  responseBody: null,
  error: null,
  nextAttemptAt: null,
  stopUnlessDeliveredSince: null,
  ...overrides,
})

export const refused = (
  claimed: ClaimedDelivery,
  nextAttemptAt: number | null,
  overrides: Partial<DeliveryResult> = {},
): DeliveryResult =>
  delivered(claimed, { responseStatus: 500, error: "http_status", nextAttemptAt, ...overrides })

export const settleDeliveries = (...results: ReadonlyArray<DeliveryResult>) =>
  Store.use(({ webhooks: queue }) => queue.settleDeliveries(results))

export const settleAndClaimDue = (
  results: ReadonlyArray<DeliveryResult>,
  overrides: Partial<DeliveryQuery> = {},
) =>
  Store.use(({ webhooks: queue }) =>
    queue.settleAndClaimDeliveries(results, deliveryQuery(overrides)),
  )
