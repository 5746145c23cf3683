/** `WorkspaceStore` in memory. */
import type { Workspace, WorkspaceStore } from "@messaging-service/core/ports"
import { Effect } from "effect"
import { dropCallbacks, removeEndpoint } from "./deliveryQueue.ts"
import { closeLane } from "./Lane.ts"
import { newestFirst } from "./collections.ts"
import { workspaceOf } from "./World.ts"
import type { World } from "./World.ts"

export const workspaceStore = (world: World): typeof WorkspaceStore.Service => ({
  insert: (given, admits) =>
    Effect.sync(() => {
      const row = world.workspaces.insert((id) => ({
        workspace: { ...given, id, deletedAt: null },
        callbackSalt: null,
        admits,
        minuteV1: { start: Number.NaN, count: 0 },
        keys: [],
        lanes: [],
        contacts: [],
        contactsByPhone: new Map(),
        messages: { live: [], test: [] },
        endpoints: [],
        callbackLanes: new Map(),
        callbackLog: [],
        media: [],
        mediaBytes: 0,
        attachedBytes: 0,
        reminders: [],
      }))
      return row.workspace
    }),

  get: (id) => Effect.sync(() => workspaceOf(world, id)?.workspace ?? null),

  list: (query) =>
    Effect.sync(() =>
      newestFirst(
        world.workspaces.rows,
        query,
        (row) => row.workspace.id,
        ({ workspace }) => (workspace.deletedAt === null ? workspace : null),
      ),
    ),

  update: (id, decide) =>
    Effect.sync((): Workspace | null => {
      const row = workspaceOf(world, id)
      if (row === undefined) return null
      const { change, admits } = decide(row.workspace)
      row.workspace = { ...row.workspace, ...change }
      row.admits = admits
      return row.workspace
    }),

  delete: (id, now) =>
    Effect.sync(() => {
      const row = workspaceOf(world, id)
      if (row === undefined) return false
      row.workspace = { ...row.workspace, deletedAt: now }
      row.admits = { v1: false, v2: false }
      for (const lane of row.lanes) if (!lane.removed) closeLane(world, lane, now)
      for (const endpoint of row.endpoints) removeEndpoint(world, endpoint)
      dropCallbacks(world, row)
      return true
    }),

  isEmpty: Effect.sync(() => world.workspaces.rows.length === 0),
})
