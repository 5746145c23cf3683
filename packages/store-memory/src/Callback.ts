/** What happens to callbacks that are to be made, whichever port asks. */
import type { Callback, WorkspaceId } from "@messaging-service/core"
import { byDue, momentOf } from "./CallbackRow.ts"
import type { CallbackCrowd, CallbackRow, CallbackTarget } from "./CallbackRow.ts"
import { Sorted } from "./Sorted.ts"
import type { Lane, World } from "./World.ts"

export const nextCallbackDue = (world: World): number | null =>
  world.callbacksDue.first === undefined ? null : momentOf(world.callbacksDue.first)

/** The latest end of a lease; null when nothing is in flight. */
export const callingUntil = (world: World): number | null => {
  let latest: number | null = null
  for (const { inFlight } of world.callbackTargets.values()) {
    for (const { leaseUntil } of inFlight) {
      if (leaseUntil !== null) latest = Math.max(latest ?? leaseUntil, leaseUntil)
    }
  }
  return latest
}

const crowdOf = (world: World, workspaceId: WorkspaceId): CallbackCrowd => {
  const known = world.callbackCrowds.get(workspaceId)
  if (known !== undefined) return known
  const made: CallbackCrowd = { inFlight: new Set(), parked: new Sorted(byDue) }
  world.callbackCrowds.set(workspaceId, made)
  return made
}

const targetOf = (world: World, { target, workspaceId }: Callback): CallbackTarget => {
  const key = `${workspaceId} ${target}`
  const known = world.callbackTargets.get(key)
  if (known !== undefined) return known
  const made: CallbackTarget = {
    key,
    crowd: crowdOf(world, workspaceId),
    rows: new Set(),
    inFlight: new Set(),
    parked: new Sorted(byDue),
  }
  world.callbackTargets.set(key, made)
  return made
}

/** Queues a callback, unless its workspace is deleted. */
export const call = (world: World, callback: Callback | null): void => {
  if (callback === null) return
  if (world.workspaces.get(callback.workspaceId)?.workspace.deletedAt !== null) return
  const row: CallbackRow = {
    id: ++world.lastCallbackId,
    callback,
    target: targetOf(world, callback),
    dueAt: callback.createdAt,
    attempts: 0,
    lease: 0,
    leaseUntil: null,
  }
  row.target.rows.add(row)
  world.callbacks.set(row.id, row)
  world.callbacksDue.add(row)
  world.callbacksQueued.openUnsafe()
}

/** Queues the callback of a number's connection, if the number still reports there. */
export const report = (world: World, lane: Lane, callback: Callback | null): void => {
  if (!lane.removed && callback?.url === lane.callbackUrl) call(world, callback)
}

/** The callback is neither in flight, nor due, nor put aside. */
export const withdraw = (world: World, row: CallbackRow): void => {
  const { crowd, inFlight, parked } = row.target
  world.callbacksDue.delete(row)
  parked.delete(row)
  crowd.parked.delete(row)
  inFlight.delete(row)
  crowd.inFlight.delete(row)
}

export const drop = (world: World, row: CallbackRow): void => {
  const { target } = row
  world.callbacks.delete(row.id)
  withdraw(world, row)
  target.rows.delete(row)
  if (target.rows.size === 0) world.callbackTargets.delete(target.key)
}

/** Nothing more is sent for the workspace. */
export const dropCallbacks = (world: World, workspaceId: WorkspaceId): void => {
  world.callbackCrowds.delete(workspaceId)
  for (const row of world.callbacks.values()) {
    if (row.callback.workspaceId === workspaceId) drop(world, row)
  }
}
