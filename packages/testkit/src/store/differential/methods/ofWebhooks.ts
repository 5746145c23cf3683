/** Webhook endpoints, deliveries and callbacks, the outbox and who has read it. */
import { receivedEventTypes, webhookEventTypes } from "@messaging-service/core"
import type {
  ClaimedDelivery,
  DeliveryFilter,
  DeliveryQuery,
  DeliveryResult,
  EventId,
  KeyId,
  MessageChange,
  SendingNumber,
  WebhookEndpoint,
  WebhookId,
  WebhookScope,
} from "@messaging-service/core"
import { day, hour, minute } from "../../Records.ts"
import type { Chooser } from "../Chooser.ts"
import type { Methods } from "../Method.ts"

const someTypes = (c: Chooser) =>
  c.one([
    webhookEventTypes,
    webhookEventTypes,
    ["message.sent"],
    ["message.cancelled", "message.failed"],
    receivedEventTypes,
    [...webhookEventTypes, ...receivedEventTypes],
  ])

const ofEndpoint = (c: Chooser) => {
  const endpoint = c.record<WebhookEndpoint>("webhook")
  const scope: WebhookScope = {
    workspaceId: c.getWorkspaceId(endpoint),
    mode: c.once(3) ? null : c.getMode(endpoint),
  }
  return [scope, endpoint?.id ?? c.id<WebhookId>("webhook")] as const
}

const aQuery = (c: Chooser): DeliveryQuery => {
  const all = c.whole()
  return { ...all, perTarget: c.one([100, 1, 2]), callbacks: all }
}

const results = (c: Chooser): ReadonlyArray<DeliveryResult> => {
  const claimed = [0, ...c.some(3, () => 0)].flatMap(
    () => c.record<ClaimedDelivery>("claimedDelivery") ?? [],
  )
  // The log of a workspace's callbacks has no order among those that one call settles.
  const each = new Map(
    claimed.map((one) => [one.kind === "callback" ? "callback" : `${one.kind} ${one.id}`, one]),
  )
  return [...each.values()].map(({ id, kind, lease, targetId }) => {
    const isDelivered = c.below(2) === 0
    const nextAttemptAt = isDelivered || c.once(3) ? null : c.later()
    return {
      id,
      kind,
      lease,
      targetId,
      attemptedAt: c.now,
      durationMillis: 7,
      responseStatus: isDelivered ? 204 : c.one([500, null]),
      responseBody: kind === "webhook" ? c.one([null, "answer"]) : null,
      error: isDelivered ? null : c.one(["http_status", "timeout"]),
      nextAttemptAt,
      stopUnlessDeliveredSince:
        isDelivered || nextAttemptAt !== null || kind === "callback"
          ? null
          : c.now - c.one([minute, day]),
    }
  })
}

const learnDeliveries = (claimed: ReadonlyArray<ClaimedDelivery>, c: Chooser) => {
  const toSortKey = ({ eventId, secretSalt, url }: ClaimedDelivery) =>
    [eventId, url, secretSalt].join(" ")
  // Stores hand them out in orders of their own.
  for (const one of claimed.toSorted((a, b) => (toSortKey(a) < toSortKey(b) ? -1 : 1))) {
    c.side.learn("claimedDelivery", one)
    c.side.learn("event", { id: 0, eventId: one.eventId })
  }
}

/** Targets have no order among those due at the same moment, and leases only grow. */
const withoutOrder = (claimed: ReadonlyArray<ClaimedDelivery>) =>
  new Set(
    claimed.map(({ attempt, body, kind, secretSalt, url }) =>
      [kind, url, attempt, body, secretSalt].join(" "),
    ),
  )

const anEventId = (c: Chooser): EventId =>
  c.record<{ readonly eventId: EventId }>("event")?.eventId ??
  c.record<MessageChange>("change")?.event.id ??
  c.eventId()

const aFilter = (c: Chooser): DeliveryFilter => ({
  types: c.maybe(() => c.one([["message.sent", "ping"], ["message.cancelled"]])),
  failed: c.once(3),
  since: c.maybe(() => c.moment()),
  until: c.maybe(() => c.moment()),
})

const subscriptionName = (c: Chooser) => c.one(["first", "second", "third"])

export const ofWebhooks: Methods<"webhooks"> = {
  insert: {
    weight: 4,
    kind: "webhook",
    input: (c) => {
      const key = c.record("key")
      const workspaceId = c.once(3)
        ? c.owner()
        : (c.message() ?? c.needed<SendingNumber>("number")).workspaceId
      return [
        {
          workspaceId,
          mode: c.mode(),
          keyId: key?.["workspaceId"] === workspaceId ? (key.id as KeyId) : null,
          url: c.url(),
          description: c.text(),
          events: someTypes(c),
          secretSalt: `salt ${c.fresh()}`,
          secretLast4: "abcd",
          createdAt: c.now,
        },
        c.one([5, 5, 1]),
        c.claim(),
      ]
    },
    learn: (webhookInsertion, _, c) => {
      if (webhookInsertion._tag === "Inserted") c.side.learn("webhook", webhookInsertion.endpoint)
    },
  },
  get: { kind: "webhook", input: (c) => [...ofEndpoint(c)] },
  created: { weight: 1, kind: "webhook", input: (c) => [c.id("webhook")] },
  list: { kind: "webhook", input: (c) => [ofEndpoint(c)[0], c.once(2)] },
  rotate: {
    kind: "webhook",
    input: (c) => [...ofEndpoint(c), { secretSalt: `salt ${c.fresh()}`, secretLast4: "wxyz" }],
  },
  remove: { weight: 1, input: (c) => [...ofEndpoint(c), c.now] },
  resume: { kind: "webhook", input: (c) => [...ofEndpoint(c), c.one([5, 1]), c.now] },
  ping: {
    input: (c) => {
      const id = c.eventId()
      return [...ofEndpoint(c), { id, createdAt: c.now, body: `event ${id}` }]
    },
  },
  redeliver: { weight: 3, input: (c) => [...ofEndpoint(c), anEventId(c), c.now] },
  attempts: {
    kind: "attempt",
    input: (c) => [ofEndpoint(c)[1], aFilter(c), c.page("attempt")],
    learn: ({ items }, _, c) => {
      for (const one of items) c.side.learn("attempt", one)
    },
  },
  attempt: { kind: "attempt", input: (c) => [ofEndpoint(c)[1], c.id("attempt")] },
  update: {
    kind: "webhook",
    input: (c) => [
      ...ofEndpoint(c),
      c.one([{ url: c.url() }, { events: someTypes(c) }, { description: "changed" }, {}]),
    ],
  },
  undelivered: {
    weight: 3,
    input: (c) => [...ofEndpoint(c), c.now - c.one([day, hour, minute]), c.limit()],
    learn: (undelivered, _, c) => c.side.learn("undelivered", undelivered),
    // `seen` is an attempt's id, and nothing but `recover` reads it.
    compared: ({ positions }) => ({ positions }),
  },
  recover: {
    input: (c) => [
      ...ofEndpoint(c),
      (c.record("undelivered") as never) ?? { positions: [], seen: 0 },
      c.now,
    ],
  },
  callbackAttempts: {
    kind: "callbackAttempt",
    input: (c) => [c.getWorkspaceId(c.number()), c.page("callbackAttempt")],
  },
  forgetAttempts: "The latest may stay, as each store likes.",
  claimDeliveries: {
    weight: 6,
    kind: "delivery",
    input: (c) => [aQuery(c)],
    learn: (claimed, _, c) => learnDeliveries(claimed, c),
    compared: withoutOrder,
  },
  settleDeliveries: { weight: 6, kind: "delivery", input: (c) => [results(c)] },
  settleAndClaimDeliveries: {
    weight: 3,
    kind: "delivery",
    input: (c) => [results(c), aQuery(c)],
    learn: (claimed, _, c) => learnDeliveries(claimed, c),
    compared: withoutOrder,
  },
  whenQueued: "It runs a program of the caller; races of deliveries hold it.",
  readEvents: {
    kind: "place",
    input: (c) => [c.record("place")?.id ?? 0, c.limit()],
    learn: (events, _, c) => {
      for (const { eventId, id } of events) {
        c.side.learn("place", { id })
        c.side.learn("event", { id: 0, eventId })
      }
    },
  },
  latestEvent: {
    weight: 1,
    kind: "place",
    input: () => [],
    learn: (id, _, c) => c.side.learn("place", { id }),
  },
  forgetEvents: "The latest may stay, as each store likes.",
  findSubscription: { input: (c) => [subscriptionName(c)] },
  insertSubscription: {
    input: (c) => [
      { name: subscriptionName(c), reached: c.below(5), now: c.now, most: c.one([3, 1]) },
    ],
  },
  claimSubscription: {
    input: (c) => [{ name: subscriptionName(c), lease: c.below(4), until: c.later() }],
  },
  saveSubscription: {
    input: (c) => [
      { name: subscriptionName(c), lease: c.below(4), reached: c.below(9), until: c.later() },
    ],
  },
  forgetSubscriptions: { weight: 1, input: (c) => [c.now] },
}

export const everyAttempt: DeliveryFilter = { types: null, failed: false, since: null, until: null }
