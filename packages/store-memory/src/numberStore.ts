/** `NumberStore` in memory. */
import type { NumberId, NumberStore, WorkspaceId } from "@messaging-service/core/ports"
import { Effect } from "effect"
import { report } from "./deliveryQueue.ts"
import { closeLane, openLane, reschedule } from "./Lane.ts"
import { phoneWithoutLink } from "./linkingStore.ts"
import { laneIn, laneOf } from "./tables.ts"
import type { Steps, Tables } from "./tables.ts"

export const numberStore = (tables: Tables): Steps<typeof NumberStore.Service> => ({
  insert: (number) => {
    const owner = tables.workspaces.get(number.workspaceId)
    if (owner === undefined) return Effect.die(new Error("a number needs a workspace"))
    const lane = openLane(tables, owner, number)
    owner.lanes.push(lane)
    return lane.number
  },

  get: (workspaceId, id) => laneIn(tables, workspaceId, id)?.number ?? null,

  find: (id) => laneOf(tables, id)?.number ?? null,

  callbackUrl: (id) => laneOf(tables, id)?.callbackUrl ?? null,

  list: (workspaceId) =>
    (tables.workspaces.get(workspaceId)?.lanes ?? [])
      .filter((lane) => !lane.removed)
      .map((lane) => lane.number),

  relabel: (workspaceId, id, label) => {
    const lane = laneIn(tables, workspaceId, id)
    if (lane === undefined) return null
    lane.number = { ...lane.number, label }
    return lane.number
  },

  setStatus: (id, status, phone, _now, callback = null) => {
    const lane = laneOf(tables, id)
    if (lane === undefined) return null
    const kept = status === "disconnected" ? phoneWithoutLink(tables, lane) : lane.number.phone
    if (status !== "connecting") tables.linkings.delete(id)
    if (lane.number.status !== status) report(tables, lane, callback)
    lane.number = { ...lane.number, status, phone: phone ?? kept }
    reschedule(tables, lane)
    return lane.number
  },

  remove: (workspaceId: WorkspaceId, id: NumberId, now: number) => {
    const lane = laneIn(tables, workspaceId, id)
    if (lane === undefined) return false
    closeLane(tables, lane, now)
    return true
  },
})
