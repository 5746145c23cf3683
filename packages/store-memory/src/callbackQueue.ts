/** `CallbackQueue` and `CallbackSalts` in memory. */
import type {
  CallbackQuery,
  CallbackQueue,
  CallbackResult,
  CallbackSalts,
  ClaimedCallback,
} from "@messaging-service/core"
import { Effect } from "effect"
import { drop, withdraw } from "./Callback.ts"
import { momentOf } from "./CallbackRow.ts"
import type { CallbackRow, CallbackTarget } from "./CallbackRow.ts"
import { workspaceOf } from "./World.ts"
import type { World } from "./World.ts"

/** Whether so many are in flight. Leases that ran out do not count. */
const isFull = (inFlight: ReadonlySet<CallbackRow>, most: number, now: number): boolean => {
  let live = 0
  for (const { leaseUntil } of inFlight) if (leaseUntil !== null && leaseUntil > now) live++
  return live >= most
}

const claim = (world: World, query: CallbackQuery): ReadonlyArray<ClaimedCallback> => {
  const { now, perTarget, perWorkspace } = query
  const taken: Array<CallbackRow> = []
  while (taken.length < query.limit) {
    const row = world.callbacksDue.first
    if (row === undefined || momentOf(row) > now) break
    world.callbacksDue.delete(row)
    const { crowd, inFlight, parked } = row.target
    if (isFull(inFlight, perTarget, now)) {
      parked.add(row)
      // Its place goes to the next one of its workspace.
      if (!isFull(crowd.inFlight, perWorkspace, now)) unpark(world, crowd)
      continue
    }
    if (isFull(crowd.inFlight, perWorkspace, now)) {
      crowd.parked.add(row)
      continue
    }
    row.lease++
    row.leaseUntil = query.leaseUntil
    inFlight.add(row)
    crowd.inFlight.add(row)
    taken.push(row)
  }
  for (const row of taken) world.callbacksDue.add(row)
  return taken.map(({ attempts, callback, id, lease }) => ({
    id,
    lease,
    eventId: callback.eventId,
    workspaceId: callback.workspaceId,
    url: callback.url,
    body: callback.body,
    attempt: attempts + 1,
    storedSalt: world.workspaces.get(callback.workspaceId)?.callbackSalt ?? null,
  }))
}

/** Settles one; its target, or undefined when the lease is no longer the callback's. */
const settle = (world: World, result: CallbackResult): CallbackTarget | undefined => {
  const row = world.callbacks.get(result.id)
  if (row === undefined || row.leaseUntil === null || row.lease !== result.lease) return undefined
  const { target } = row
  if (result.nextAttemptAt === null) {
    drop(world, row)
    return target
  }
  withdraw(world, row)
  row.leaseUntil = null
  row.dueAt = result.nextAttemptAt
  row.attempts++
  world.callbacksDue.add(row)
  return target
}

/** What has waited longest for room there gets it. */
const unpark = (world: World, { parked }: Pick<CallbackTarget, "parked">): void => {
  const longest = parked.first
  if (longest === undefined) return
  parked.delete(longest)
  world.callbacksDue.add(longest)
}

export const callbackQueue = (world: World): typeof CallbackQueue.Service => ({
  claim: (query) => Effect.sync(() => claim(world, query)),

  settle: (results) =>
    Effect.sync(() => {
      const freed = results.flatMap((result) => settle(world, result) ?? [])
      for (const target of freed) {
        unpark(world, target)
        unpark(world, target.crowd)
      }
    }),

  queued: Effect.andThen(
    world.callbacksQueued.await,
    Effect.sync(() => world.callbacksQueued.closeUnsafe()),
  ),
})

export const callbackSalts = (world: World): typeof CallbackSalts.Service => ({
  get: (workspaceId) => Effect.sync(() => workspaceOf(world, workspaceId)?.callbackSalt ?? null),

  put: (workspaceId, salt) =>
    Effect.sync(() => {
      const row = workspaceOf(world, workspaceId)
      if (row === undefined) return false
      row.callbackSalt = salt
      return true
    }),
})
