/** What happens to callbacks that are to be made, whichever port asks. */
import type { Callback } from "@messaging-service/core"
import { dropAll, emptyLane, queue } from "./DeliveryLane.ts"
import type { CallbackLane } from "./DeliveryLane.ts"
import { tellQueued, workspaceOf } from "./World.ts"
import type { Lane, WorkspaceRow, World } from "./World.ts"

const laneTo = (world: World, owner: WorkspaceRow, origin: string): CallbackLane => {
  const known = owner.callbackLanes.get(origin)
  if (known !== undefined) return known
  const made: CallbackLane = {
    ...emptyLane(owner.workspace.id),
    kind: "callback",
    id: --world.lastCallbackLaneId,
    origin,
  }
  owner.callbackLanes.set(origin, made)
  world.callbackLanes.set(made.id, made)
  return made
}

/** Queues a callback, unless its workspace is deleted. */
export const call = (world: World, callback: Callback | null): void => {
  const owner = callback === null ? undefined : workspaceOf(world, callback.workspaceId)
  if (callback === null || owner === undefined) return
  const { body, createdAt, eventId: id, target, type, url } = callback
  queue(world, laneTo(world, owner, target), { id, type, body, url }, createdAt)
  tellQueued(world)
}

/** Queues the callback of a number's connection, if the number still reports there. */
export const report = (world: World, lane: Lane, callback: Callback | null): void => {
  if (!lane.removed && callback?.url === lane.callbackUrl) call(world, callback)
}

/** The lane is forgotten, once nothing is to be delivered on it. */
export const forgetEmpty = (world: World, lane: CallbackLane): void => {
  if (lane.pending.size > 0) return
  world.callbackLanes.delete(lane.id)
  world.workspaces.get(lane.workspaceId)?.callbackLanes.delete(lane.origin)
}

/** Nothing more is sent for the workspace. */
export const dropCallbacks = (world: World, owner: WorkspaceRow): void => {
  for (const lane of Array.from(owner.callbackLanes.values())) {
    dropAll(world, lane)
    forgetEmpty(world, lane)
  }
}
