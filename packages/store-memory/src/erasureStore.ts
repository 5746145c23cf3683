/** `ErasureStore` in memory. */
import { isFileEnded } from "@messaging-service/core"
import type { DeletedWorkspace, EndedBefore, ErasureStore } from "@messaging-service/core"
import type { Steps } from "./collections.ts"
import { forgetShown } from "./idempotency.ts"
import { transportKey } from "./tables.ts"
import type { EndpointRow, KeyRow, Lane, MessageRow, Tables, WorkspaceRow } from "./tables.ts"

const modes = ["live", "test"] as const

/** Takes a message out of everything that knows it. */
const eraseMessage = (tables: Tables, row: MessageRow): void => {
  const { lane, message } = row
  tables.messages.erase(message.id)
  tables.messagesByTransportId.delete(transportKey(lane.number.id, message.transportId))
  lane.counting.delete(row)
  const attachmentId = message.media?.attachmentId ?? null
  if (attachmentId === null) return
  const left = (tables.messagesByAttachment.get(attachmentId) ?? []).filter((one) => one !== row)
  if (left.length > 0) tables.messagesByAttachment.set(attachmentId, left)
  else tables.messagesByAttachment.delete(attachmentId)
}

/** Erases the messages that `isErased`, and leaves the others in their order. */
const eraseMessages = (
  tables: Tables,
  owner: WorkspaceRow,
  isErased: (row: MessageRow) => boolean,
): void => {
  for (const mode of modes) {
    const kept: Array<MessageRow> = []
    for (const row of owner.messages[mode]) {
      if (isErased(row)) eraseMessage(tables, row)
      else kept.push(row)
    }
    owner.messages[mode] = kept
  }
}

/**
 * No row ends before it is made, and rows stand nearly in the order in which they were made: as far as
 * that order is off, in milliseconds, a walk from the oldest goes on behind its moment.
 */
const slackMillis = 120_000

/** From the oldest, those that may have ended before the moment. */
function* madeBefore(rows: Iterable<MessageRow>, before: number): Generator<MessageRow> {
  for (const row of rows) {
    const earliestAt = row.message.createdAt - slackMillis
    if (earliestAt >= before) return
    yield row
  }
}

const eraseEndedMessages = (tables: Tables, owner: WorkspaceRow, before: number): void => {
  const gone = new Set<MessageRow>()
  for (const mode of modes) {
    for (const row of madeBefore(owner.messages[mode], before)) {
      if (row.endedAt !== null && row.endedAt < before) gone.add(row)
    }
  }
  if (gone.size > 0) eraseMessages(tables, owner, (row) => gone.has(row))
}

/** Of several workspaces in one walk, since the outbox is that of all. */
const eraseEvents = (tables: Tables, moments: ReadonlyMap<number, number>): void => {
  const pending = new Set<string>()
  for (const { workspaceId, pending: deliveries } of tables.endpoints.rows) {
    if (moments.has(workspaceId)) for (const { event } of deliveries) pending.add(event.id)
  }
  for (const [index, event] of tables.outbox.entries()) {
    if (event === null || pending.has(event.eventId)) continue
    const before = moments.get(event.workspaceId) ?? -Infinity
    if (event.createdAt < before) tables.outbox[index] = null
  }
}

const eraseEnded = (tables: Tables, { endedBefore, workspaceId }: EndedBefore): void => {
  const owner = tables.workspaces.get(workspaceId)
  if (owner === undefined) return
  eraseEndedMessages(tables, owner, endedBefore)
  for (const { recipients } of owner.lanes) {
    for (const [name, firstAt] of recipients) if (firstAt < endedBefore) recipients.delete(name)
  }
  for (const row of owner.endpoints) {
    row.log = row.log.filter(({ attempt }) => attempt.attemptedAt >= endedBefore)
  }
  owner.callbackLog = owner.callbackLog.filter(({ attempt }) => attempt.attemptedAt >= endedBefore)
}

/** Nothing waits in it, and nothing is in a worker's hands. */
const isIdle = ({ inDoubt, inFlight, waiting, waitingTest }: Lane): boolean =>
  inDoubt === null && inFlight === null && waiting.size === 0 && waitingTest.size === 0

const eraseNumber = (tables: Tables, lane: Lane): void => {
  lane.number = { ...lane.number, label: "", phone: null }
  lane.callbackUrl = null
  lane.report = null
  lane.recipients.clear()
  // A session that is still to be logged out is logged out through the proxy.
  if (!tables.sessions.has(lane.number.id)) lane.proxy = null
}

const eraseEndpoint = (row: EndpointRow): void => {
  const nothing = { url: "", description: "", secretSalt: "", secretLast4: "" }
  row.endpoint = { ...row.endpoint, ...nothing, firstSecretLast4: "" }
}

const eraseKey = (row: KeyRow): void => {
  row.key = { ...row.key, name: "", lastUsedIp: null }
}

const eraseClaims = (tables: Tables, claimants: ReadonlySet<string>): void => {
  for (const identity of tables.idempotency.keys()) {
    if (claimants.has(identity.slice(0, identity.indexOf(" ")))) tables.idempotency.delete(identity)
  }
}

const eraseDeleted = (tables: Tables, { claimants, id }: DeletedWorkspace): void => {
  const owner = tables.workspaces.get(id)
  if (owner === undefined) return
  eraseClaims(tables, new Set([...claimants, ...owner.keys.map(({ key }) => key.id)].map(String)))
  owner.contacts.length = 0
  owner.contactsByPhone.clear()
  for (const row of owner.reminders) {
    tables.dueReminders.delete(row)
    row.forgotten = true
  }
  owner.reminders.length = 0
  const checks = tables.checks.rows.filter(({ check }) => check.workspaceId === id)
  for (const row of checks) {
    if (row.check.completedAt === null) continue
    row.forgotten = true
    row.results = []
    row.check = { ...row.check, name: null }
  }
  const files = tables.media.rows.filter(({ file }) => file.workspaceId === id)
  for (const row of files) if (isFileEnded(row.state) && !row.hasBytes) row.forgotten = true
  for (const row of owner.endpoints) eraseEndpoint(row)
  for (const row of owner.keys) {
    eraseKey(row)
    row.key = { ...row.key, last4: "", scopes: [], numberIds: null }
  }
  owner.callbackSalt = null
  owner.workspace = { ...owner.workspace, name: "", plan: null, retentionDays: null }
  owner.erased =
    owner.messages.live.length === 0 &&
    owner.messages.test.length === 0 &&
    checks.every(({ forgotten }) => forgotten) &&
    files.every(({ forgotten }) => forgotten)
}

export const erasureStore = (tables: Tables): Steps<typeof ErasureStore.Service> => ({
  workspaces: (after, limit) =>
    tables.workspaces.rows
      .filter(({ erased, workspace }) => !erased && workspace.id > after)
      .slice(0, limit)
      .map(({ workspace: { deletedAt, id, retentionDays } }) => ({ deletedAt, id, retentionDays })),

  eraseEnded: (workspaces) => {
    for (const one of workspaces) eraseEnded(tables, one)
    eraseEvents(
      tables,
      new Map(workspaces.map((one) => [one.workspaceId, one.endedBefore] as const)),
    )
  },

  eraseTestMessages: (workspaces, most) => {
    for (const id of workspaces) {
      const owner = tables.workspaces.get(id)
      if ((owner?.messages.test.length ?? 0) <= most) continue
      const ended = (owner?.messages.test ?? []).filter(({ endedAt }) => endedAt !== null)
      const gone = new Set(ended.slice(0, Math.max(0, ended.length - most)))
      if (owner !== undefined && gone.size > 0) eraseMessages(tables, owner, (row) => gone.has(row))
    }
  },

  eraseRemoved: ({ endpointsBefore, sessionsBefore }) => {
    const erased = new Set<number>()
    for (const lane of tables.lanes.rows) {
      const { number, removedAt } = lane
      if (removedAt !== null && removedAt < sessionsBefore) tables.sessions.delete(number.id)
      if (!lane.removed || !isIdle(lane)) continue
      eraseNumber(tables, lane)
      erased.add(number.id)
    }
    for (const row of tables.keys.rows) if (row.key.revokedAt !== null) eraseKey(row)
    for (const row of tables.endpoints.rows) {
      if (row.removedAt !== null && row.removedAt < endpointsBefore) eraseEndpoint(row)
    }
    return erased.size === 0 ? undefined : forgetShown(tables, erased)
  },

  eraseDeleted: (workspaces) => {
    for (const one of workspaces) eraseDeleted(tables, one)
  },
})
