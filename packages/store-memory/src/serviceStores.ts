/** What is the whole service's: `ClockStore`, `ServiceSecrets`, and `Outbox` in memory. */
import type { ClockStore, Outbox, OutboxEvent, ServiceSecrets } from "@messaging-service/core/ports"
import { Effect } from "effect"
import type { World } from "./World.ts"

export const clockStore = (world: World): typeof ClockStore.Service => ({
  offset: Effect.sync(() => world.clockOffset),

  raiseOffset: (to) =>
    Effect.sync(() => {
      world.clockOffset = Math.max(world.clockOffset, to)
      return world.clockOffset
    }),

  ping: Effect.void,
})

export const serviceSecrets = (world: World): typeof ServiceSecrets.Service => ({
  getOrCreate: (name, candidate) =>
    Effect.sync(() => {
      const secret = world.secrets.get(name) ?? candidate
      world.secrets.set(name, secret)
      return secret
    }),

  get: (name) => Effect.sync(() => world.secrets.get(name) ?? null),

  exchange: (name, instead, value) =>
    Effect.sync(() => {
      world.secrets.delete(name)
      if (!world.secrets.has(instead)) world.secrets.set(instead, value)
    }),

  replace: (name, before, value) =>
    Effect.sync(() => {
      if (world.secrets.get(name) === before) world.secrets.set(name, value)
    }),
})

/** Writes an event behind all others. */
export const announce = (world: World, event: Omit<OutboxEvent, "id">): void => {
  world.outbox.push({ ...event, id: world.outboxDropped + world.outbox.length + 1 })
}

/** Positions count the events, dropped ones included, from 1. */
export const outbox = (world: World): typeof Outbox.Service => ({
  read: (after, limit) =>
    Effect.sync(() => {
      const start = Math.max(after - world.outboxDropped, 0)
      return world.outbox.slice(start, start + limit)
    }),

  forget: (before) =>
    Effect.sync(() => {
      const kept = world.outbox.findIndex((event) => event.createdAt >= before)
      const dropped = world.outbox.splice(0, kept === -1 ? world.outbox.length : kept)
      world.outboxDropped += dropped.length
    }),
})
