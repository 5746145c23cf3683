/** `Outbox` in memory: positions are the places of an array, counted from 1. */
import type { Outbox } from "@messaging-service/core"
import { Effect } from "effect"
import type { World } from "./World.ts"

export const outbox = (world: World): typeof Outbox.Service => ({
  read: (after, limit) =>
    Effect.sync(() => world.outbox.slice(Math.max(after, 0), Math.max(after, 0) + limit)),
})
