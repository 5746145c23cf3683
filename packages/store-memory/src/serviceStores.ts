/** Values of the whole service: `ClockStore`, `ServiceSecrets`, and `Outbox` in memory. */
import type {
  ClockStore,
  Outbox,
  OutboxEvent,
  ServiceEvent,
  SubscriptionStore,
  ServiceSecrets,
} from "@messaging-service/core"
import { Effect } from "effect"
import type { Steps } from "./collections.ts"
import type { StoredEvent, Tables } from "./tables.ts"

export const clockStore = (tables: Tables): Steps<ClockStore> => ({
  clockOffset: Effect.sync(() => tables.clockOffset),

  raiseClockOffset: (to) => {
    tables.clockOffset = Math.max(tables.clockOffset, to)
    return tables.clockOffset
  },

  databaseTime: Effect.succeed(null),

  ping: Effect.void,
})

export const serviceSecrets = (tables: Tables): Steps<ServiceSecrets> => ({
  getOrCreateSecret: (name, candidate) => {
    const secret = tables.secrets.get(name) ?? candidate
    tables.secrets.set(name, secret)
    return secret
  },

  getSecret: (name) => tables.secrets.get(name) ?? null,

  replaceSecret: (name, before, value) => {
    if (tables.secrets.get(name) === before) tables.secrets.set(name, value)
  },
})

/** Appends an event; returns its position. */
export const announce = (tables: Tables, event: ServiceEvent): number => {
  const { body, createdAt, id: eventId, messageId, mode, type, workspaceId } = event
  const id = tables.outboxDropped + tables.outbox.length + 1
  tables.outbox.push({ id, eventId, type, workspaceId, mode, messageId, createdAt, body })
  return id
}

/** Null once it was dropped or erased. */
export const eventAt = (tables: Tables, position: number): StoredEvent | null =>
  tables.outbox[position - tables.outboxDropped - 1] ?? null

/** Changes the events at these positions that are there; null erases one. */
export const changeEvents = (
  tables: Tables,
  positions: ReadonlyArray<number>,
  change: (event: StoredEvent) => StoredEvent | null,
): void => {
  for (const position of positions) {
    const event = eventAt(tables, position)
    if (event !== null) tables.outbox[position - tables.outboxDropped - 1] = change(event)
  }
}

/** Positions count the events, dropped ones included, from 1. */
export const outbox = (tables: Tables): Steps<Outbox> => ({
  readEvents: (after, limit) => {
    const start = Math.max(after - tables.outboxDropped, 0)
    const found: Array<OutboxEvent> = []
    for (let index = start; index < tables.outbox.length; index++) {
      if (found.length >= limit) break
      const event = tables.outbox[index] ?? null
      if (event === null) continue
      const reference =
        (event.messageId && tables.messages.get(event.messageId)?.message.reference) ?? null
      found.push({ ...event, reference })
    }
    return found
  },

  latestEvent: Effect.sync(() => tables.outboxDropped + tables.outbox.length),

  forgetEvents: (before) => {
    const first = tables.outbox.findIndex((event) => event !== null && event.createdAt >= before)
    const dropped = tables.outbox.splice(0, first === -1 ? tables.outbox.length : first)
    tables.outboxDropped += dropped.length
  },
})

export const subscriptionStore = ({ subscriptions }: Tables): Steps<SubscriptionStore> => ({
  findSubscription: (name) => subscriptions.get(name) ?? null,

  insertSubscription: ({ most, name, now, reached }) => {
    if (subscriptions.has(name)) return "exists"
    if (subscriptions.size >= most) return "full"
    subscriptions.set(name, { reached, lease: 0, leaseUntil: now })
    return "inserted"
  },

  claimSubscription: ({ lease, name, until }) => {
    const known = subscriptions.get(name)
    if (known?.lease !== lease) return null
    const claimed = { ...known, lease: lease + 1, leaseUntil: until }
    subscriptions.set(name, claimed)
    return claimed
  },

  saveSubscription: ({ lease, name, reached, until }) => {
    const known = subscriptions.get(name)
    if (known?.lease !== lease) return false
    const furthest = Math.max(known.reached, reached)
    subscriptions.set(name, { reached: furthest, lease, leaseUntil: until })
    return true
  },

  forgetSubscriptions: (before) => {
    for (const [name, { leaseUntil: endedAt }] of subscriptions) {
      if (endedAt < before) subscriptions.delete(name)
    }
  },
})
