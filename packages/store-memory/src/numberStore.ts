/** `NumberStore` in memory. */
import type {
  NumberId,
  NumberStore,
  SendingNumber,
  WorkspaceId,
} from "@messaging-service/core/ports"
import { Effect } from "effect"
import { report } from "./deliveryQueue.ts"
import { closeLane, openLane, reschedule } from "./Lane.ts"
import { phoneWithoutLink } from "./linkingStore.ts"
import { laneIn, laneOf } from "./World.ts"
import type { World } from "./World.ts"

export const numberStore = (world: World): typeof NumberStore.Service => ({
  insert: (number) =>
    Effect.suspend(() => {
      const owner = world.workspaces.get(number.workspaceId)
      if (owner === undefined) return Effect.die(new Error("a number needs a workspace"))
      const lane = openLane(world, owner, number)
      owner.lanes.push(lane)
      return Effect.succeed(lane.number)
    }),

  get: (workspaceId, id) => Effect.sync(() => laneIn(world, workspaceId, id)?.number ?? null),

  find: (id) => Effect.sync(() => laneOf(world, id)?.number ?? null),

  callbackUrl: (id) => Effect.sync(() => laneOf(world, id)?.callbackUrl ?? null),

  list: (workspaceId) =>
    Effect.sync(() =>
      (world.workspaces.get(workspaceId)?.lanes ?? [])
        .filter((lane) => !lane.removed)
        .map((lane) => lane.number),
    ),

  relabel: (workspaceId, id, label) =>
    Effect.sync((): SendingNumber | null => {
      const lane = laneIn(world, workspaceId, id)
      if (lane === undefined) return null
      lane.number = { ...lane.number, label }
      return lane.number
    }),

  setStatus: (id, status, phone, _now, callback = null) =>
    Effect.sync((): SendingNumber | null => {
      const lane = laneOf(world, id)
      if (lane === undefined) return null
      const kept = status === "disconnected" ? phoneWithoutLink(world, lane) : lane.number.phone
      if (status !== "connecting") world.linkings.delete(id)
      if (lane.number.status !== status) report(world, lane, callback)
      lane.number = { ...lane.number, status, phone: phone ?? kept }
      reschedule(world, lane)
      return lane.number
    }),

  remove: (workspaceId: WorkspaceId, id: NumberId, now: number) =>
    Effect.sync(() => {
      const lane = laneIn(world, workspaceId, id)
      if (lane === undefined) return false
      closeLane(world, lane, now)
      return true
    }),
})
