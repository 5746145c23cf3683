/**
 * What a worker holds of each workspace, so that its claims can keep to the share of one. It is the
 * worker's own count: places are those of a process, and other processes have others.
 */
import type { WorkspaceId } from "../Ids.ts"

/** What every claim under a lease asks for. */
export interface LeaseClaim {
  readonly now: number
  /** When the leases run out, unless they are settled before. */
  readonly leaseUntil: number
  /** How much to claim at most. */
  readonly limit: number
}

/** The part of a claim that keeps to the share of each workspace. */
export interface Shares {
  /** How many of one workspace this worker may hold at once. */
  readonly perWorkspace: number
  /** How many it holds already of each workspace; one that is not in it holds none. */
  readonly held: ReadonlyMap<WorkspaceId, number>
}

/**
 * What a claim takes of candidates that come the longest waiting first: of each workspace as many as
 * it still may have, and no more than `limit` in all.
 */
export const takeShares = <A>(
  candidates: Iterable<A>,
  workspaceOf: (candidate: A) => WorkspaceId,
  { held, perWorkspace }: Shares,
  limit: number,
): ReadonlyArray<A> => {
  const taken: Array<A> = []
  const counts = new Map(held)
  for (const candidate of candidates) {
    if (taken.length >= limit) break
    const workspaceId = workspaceOf(candidate)
    const count = counts.get(workspaceId) ?? 0
    if (count >= perWorkspace) continue
    counts.set(workspaceId, count + 1)
    taken.push(candidate)
  }
  return taken
}

/**
 * The part of `held` that a claim of at most `limit` has to know: workspaces so near their share that it
 * could go beyond that. Of all others it may take whatever it finds.
 */
export const heldNearShare = (
  { held, perWorkspace }: Shares,
  limit: number,
): ReadonlyMap<WorkspaceId, number> =>
  limit > perWorkspace
    ? held
    : new Map(Array.from(held).filter(([, count]) => count + limit > perWorkspace))

/**
 * Gives places out to lanes, one after the other: to each what it wants, as far as its workspace may
 * still have it and `limit` in all is not reached.
 */
export const givePlaces = ({ held, perWorkspace }: Shares, limit: number) => {
  const counts = new Map(held)
  let left = limit
  return (workspaceId: WorkspaceId, wanted: number): number => {
    const count = counts.get(workspaceId) ?? 0
    const places = Math.max(0, Math.min(wanted, left, perWorkspace - count))
    counts.set(workspaceId, count + places)
    left -= places
    return places
  }
}

/**
 * What a claim takes of lanes, each with what may be taken of it in its order: the first of every lane,
 * then the second of every one that has more, and so on, until `limit` is reached; the longest due
 * first in each round. So no lane is served twice while another waits.
 */
export const takeInRounds = <A>(
  lanes: ReadonlyArray<ReadonlyArray<A>>,
  byDue: (a: A, b: A) => number,
  limit: number,
): ReadonlyArray<A> =>
  lanes
    .flatMap((lane) => lane.map((one, round) => ({ one, round })))
    .toSorted((a, b) => a.round - b.round || byDue(a.one, b.one))
    .slice(0, limit)
    .map(({ one }) => one)

export const heldBy = (workspaces: Iterable<WorkspaceId>): ReadonlyMap<WorkspaceId, number> => {
  const held = new Map<WorkspaceId, number>()
  for (const workspaceId of workspaces) held.set(workspaceId, (held.get(workspaceId) ?? 0) + 1)
  return held
}

/** How many places there are in all, and how many of them one workspace may have. */
export interface Capacity {
  readonly whole: number
  readonly share: { readonly most: number }
}

/** The workspaces of which no more may be taken: all of them once no place is left. */
export type Crowded = ReadonlyArray<WorkspaceId> | "all"

/** Those of which no more may be taken, of what is held of each. */
export const crowdedOf = (
  held: ReadonlyMap<WorkspaceId, number>,
  { share, whole }: Capacity,
): Crowded => {
  let sum = 0
  for (const count of held.values()) sum += count
  if (sum >= whole) return "all"
  return [...held].flatMap(([workspaceId, count]) => (count >= share.most ? workspaceId : []))
}

export const isCrowded = (crowded: Crowded, workspaceId: WorkspaceId): boolean =>
  crowded === "all" || crowded.includes(workspaceId)
