/**
 * What a worker holds of each workspace, so that its claims can keep to the share of one. It is the
 * worker's own count: places are those of a process, and other processes have others.
 */
import type { WorkspaceId } from "../id/Ids.ts"

/** The part of a claim that keeps to the share of each workspace. */
export interface Shares {
  /** How many of one workspace this worker may hold at once. */
  readonly perWorkspace: number
  /** How many it holds already; none of a workspace that is not named. */
  readonly held: ReadonlyMap<WorkspaceId, number>
}

export const heldBy = (workspaces: Iterable<WorkspaceId>): ReadonlyMap<WorkspaceId, number> => {
  const held = new Map<WorkspaceId, number>()
  for (const workspaceId of workspaces) held.set(workspaceId, (held.get(workspaceId) ?? 0) + 1)
  return held
}

/** The workspaces of which no more may be taken. */
export const crowdedOf = ({ held, perWorkspace }: Shares): ReadonlyArray<WorkspaceId> =>
  [...held].flatMap(([workspaceId, count]) => (count >= perWorkspace ? workspaceId : []))
