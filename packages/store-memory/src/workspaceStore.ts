/** `WorkspaceStore` in memory. */
import { isSameNumber } from "@messaging-service/core"
import type { Admits, NewWorkspace, WorkspaceStore } from "@messaging-service/core"
import { Effect } from "effect"
import { dropCallbacks, removeEndpoint } from "./deliveryQueue.ts"
import { closeLane, openLane, turnWithWorkspace } from "./Lane.ts"
import { newestFirst } from "./collections.ts"
import { workspaceOf } from "./tables.ts"
import type { Steps } from "./collections.ts"
import type { Tables } from "./tables.ts"

const insert = (tables: Tables, given: NewWorkspace, admits: Admits) =>
  tables.workspaces.insert((id) => ({
    workspace: { ...given, id, deletedAt: null },
    erased: false,
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
    takenBytes: { directory: 0, attachments: 0 },
    reminders: [],
  }))

export const workspaceStore = (tables: Tables): Steps<typeof WorkspaceStore.Service> => ({
  insert: (given, admits) => insert(tables, given, admits).workspace,

  ensure: (given, admits, numbers) => {
    const row =
      [...tables.workspaces.rows].find(
        ({ workspace }) => workspace.deletedAt === null && workspace.name === given.name,
      ) ?? insert(tables, given, admits)
    for (const { number, pacing } of numbers) {
      const isThere = row.lanes.some((lane) => !lane.removed && isSameNumber(lane.number, number))
      if (isThere) continue
      row.lanes.push(openLane(tables, row, { ...number, workspaceId: row.workspace.id }, pacing))
    }
    return row.workspace
  },

  get: (id) => workspaceOf(tables, id)?.workspace ?? null,

  list: (query) =>
    newestFirst(
      tables.workspaces.rows,
      query,
      ({ workspace }) => workspace,
      ({ workspace }) => workspace.deletedAt === null,
    ),

  update: (id, decide, now) => {
    const row = workspaceOf(tables, id)
    if (row === undefined) return null
    const { change, admits } = decide(row.workspace)
    const wasDisabled = row.workspace.accountDisabled
    row.workspace = { ...row.workspace, ...change }
    row.admits = admits
    if (row.workspace.accountDisabled !== wasDisabled) {
      for (const lane of row.lanes) if (!lane.removed) turnWithWorkspace(tables, lane, now)
    }
    return row.workspace
  },

  delete: (id, now) => {
    const row = workspaceOf(tables, id)
    if (row === undefined) return false
    row.workspace = { ...row.workspace, deletedAt: now }
    row.admits = { v1: false, v2: false }
    for (const lane of row.lanes) if (!lane.removed) closeLane(tables, lane, now)
    for (const endpoint of row.endpoints) removeEndpoint(tables, endpoint, now)
    dropCallbacks(tables, row)
    return true
  },

  isEmpty: Effect.sync(() => tables.workspaces.rows.length === 0),
})
