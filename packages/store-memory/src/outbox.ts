/** `Outbox` in memory: positions count the events, dropped ones included, from 1. */
import type { Outbox, OutboxEvent } from "@messaging-service/core"
import { Effect } from "effect"
import type { World } from "./World.ts"

/** Writes an event behind all others. */
export const announce = (world: World, event: Omit<OutboxEvent, "id">): void => {
  world.outbox.push({ ...event, id: world.outboxDropped + world.outbox.length + 1 })
}

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
