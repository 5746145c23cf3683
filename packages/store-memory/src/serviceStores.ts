/** `ClockStore` and `ServiceSecrets` in memory. */
import type { ClockStore, ServiceSecrets } from "@messaging-service/core"
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
