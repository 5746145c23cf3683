/** `WorkspaceStore` in memory. */
import {
  contactAddress,
  countedInDay,
  countRequest,
  dayMillis,
  holdsAllKeys,
  idsSkipped,
  isCounted,
  isFileEnded,
  minuteMillis,
  missingNumbers,
} from "@messaging-service/core"
import type {
  AdmitQuery,
  Admits,
  AdmitV1Query,
  ContactStore,
  DeletedWorkspace,
  EndedBefore,
  ErasureStore,
  HeldFilter,
  HeldSelection,
  KeyStore,
  MessageId,
  NewWorkspace,
  RequestCount,
  RestoreStore,
  WorkspaceId,
  WorkspaceStore,
} from "@messaging-service/core"
import { Effect } from "effect"
import { endPortal, removePortal } from "./browserSessions.ts"
import {
  eraseCampaign,
  eraseEndedCampaigns,
  countRestored,
  noteErased,
  pauseRestored,
  removeCampaigns,
} from "./campaigns.ts"
import { newestFirst } from "./collections.ts"
import type { Steps } from "./collections.ts"
import { eraseFigures } from "./figures.ts"
import { forgetChecks } from "./numberChecks.ts"
import { toReminder } from "./reminders.ts"
import { closeLane, holdLane, openLane, resume, turnWithFirst, turnWithWorkspace } from "./lanes.ts"
import { isHeldByRestore } from "./newChats.ts"
import {
  findContact,
  forgetShown,
  checkCampaigns,
  toMessage,
  transportKey,
  findWorkspace,
} from "./tables.ts"
import type {
  EndpointRow,
  KeyRow,
  Lane,
  MessageRow,
  ReminderRow,
  Tables,
  WorkspaceRow,
} from "./tables.ts"
import { dropCallbacks, removeEndpoint, stop } from "./webhooks.ts"

const insert = (tables: Tables, input: NewWorkspace, admits: Admits) =>
  tables.workspaces.insert((id) => ({
    workspace: { ...input, id, deletedAt: null },
    erased: false,
    callbackSalt: null,
    admits,
    minuteV1: { start: Number.NaN, count: 0 },
    keys: [],
    lanes: [],
    contacts: [],
    contactsByAddress: new Map(),
    messages: { live: [], test: [] },
    endpoints: [],
    callbackLanes: new Map(),
    callbackLog: [],
    media: [],
    usedBytes: { directory: 0, attachments: 0, received: 0 },
    reminders: [],
    campaigns: [],
    conversations: null,
    received: [],
    chats: [],
  }))

export const workspaceStore = (tables: Tables): Steps<WorkspaceStore> => ({
  insert: (input, admits) => insert(tables, input, admits).workspace,

  ensure: (input, admits, numbers) => {
    const found = [...tables.workspaces.rows].find(
      ({ workspace }) => workspace.deletedAt === null && workspace.name === input.name,
    )
    const lanes = found?.lanes.filter(({ removed }) => !removed) ?? []
    const { plan } = found?.workspace ?? input
    const missing = missingNumbers(
      numbers,
      lanes.map(({ number }) => number),
      plan,
    )
    if (missing === null) return null
    const row = found ?? insert(tables, input, admits)
    for (const { number, pacing } of missing) {
      row.lanes.push(openLane(tables, row, { ...number, workspaceId: row.workspace.id }, pacing))
    }
    return row.workspace
  },

  get: (id) => findWorkspace(tables, id)?.workspace ?? null,

  list: (query) =>
    newestFirst(
      tables.workspaces.rows,
      query,
      ({ workspace }) => workspace,
      ({ workspace }) => workspace.deletedAt === null,
    ),

  update: (id, decide, now) => {
    const row = findWorkspace(tables, id)
    if (row === undefined) return null
    const { change, admits } = decide(row.workspace)
    const wasDisabled = row.workspace.accountDisabled
    row.workspace = { ...row.workspace, ...change }
    row.admits = admits
    checkCampaigns(row, now)
    if (row.workspace.accountDisabled !== wasDisabled) {
      for (const lane of row.lanes) if (!lane.removed) turnWithWorkspace(tables, lane, now)
      if (!wasDisabled) endPortal(tables, id, now)
    }
    return row.workspace
  },

  delete: (id, now) => {
    const row = findWorkspace(tables, id)
    if (row === undefined) return false
    row.workspace = { ...row.workspace, deletedAt: now }
    row.admits = { v1: false, v2: false }
    for (const lane of row.lanes) if (!lane.removed) closeLane(tables, lane, now)
    for (const endpoint of row.endpoints) removeEndpoint(tables, endpoint, now)
    row.conversations = null
    removeCampaigns(row)
    dropCallbacks(tables, row)
    removePortal(tables, id, now)
    return true
  },

  isEmpty: Effect.sync(() => tables.workspaces.rows.length === 0),
})

// `KeyStore` in memory.

const hashKey = (version: number, hash: string) => `${version} ${hash}`

/** Counts the request in both windows and records its time and address, if it counts. */
const count = (row: KeyRow, owner: WorkspaceRow, query: AdmitQuery): RequestCount | null => {
  const { key } = row
  if (!isCounted(owner.admits.v2, key, null, query.now)) return null
  row.minute = countRequest(row.minute, query.minuteStart, minuteMillis)
  const inDay = countedInDay(row.minute.count, 1)
  row.day = countRequest(row.day, query.dayStart, dayMillis, inDay)
  row.key = { ...key, lastUsedAt: query.now, lastUsedIp: query.clientAddress }
  return { minute: row.minute.count, day: row.day.count }
}

/** Like `count`, in the minute that the workspace's keys share. */
const countV1 = (row: KeyRow, owner: WorkspaceRow, query: AdmitV1Query): number | null => {
  if (!isCounted(owner.admits.v1, row.key, query.workspaceId, query.now)) return null
  owner.minuteV1 = countRequest(owner.minuteV1, query.minuteStart, minuteMillis)
  row.key = { ...row.key, lastUsedAt: query.now, lastUsedIp: query.clientAddress }
  return owner.minuteV1.count
}

const admitted = <Query extends AdmitV1Query | AdmitQuery, Count>(
  tables: Tables,
  version: number,
  query: Query,
  countIn: (row: KeyRow, owner: WorkspaceRow, query: Query) => Count,
) => {
  const row = tables.keysByHash.get(hashKey(version, query.hash))
  const owner = row === undefined ? undefined : tables.workspaces.get(row.key.workspaceId)
  if (row === undefined || owner === undefined) return null
  // Counting records the key's use, which the answer shows.
  const requests = countIn(row, owner, query)
  return { key: row.key, workspace: owner.workspace, count: requests }
}

export const keyStore = (tables: Tables): Steps<KeyStore> => ({
  admit: (query) => admitted(tables, query.version, query, count),

  admitV1: (query) => admitted(tables, 1, query, countV1),

  insertKey: ({ hash, ...args }, limit) => {
    const owner = tables.workspaces.get(args.workspaceId)
    if (owner === undefined) return null
    const keys = owner.keys.map(({ key }) => key)
    if (holdsAllKeys(keys, args.version, limit)) return null
    const isNamed = keys.some(({ name, version }) => version === 1 && name === args.name)
    if (args.version === 1 && isNamed) return null
    const row = tables.keys.insert((id): KeyRow => ({
      key: { ...args, id, lastUsedAt: null, lastUsedIp: null, revokedAt: null },
      hash,
      minute: { start: Number.NaN, count: 0 },
      day: { start: Number.NaN, count: 0 },
    }))
    owner.keys.push(row)
    tables.keysByHash.set(hashKey(args.version, hash), row)
    return row.key
  },

  listKeys: (workspaceId) => (tables.workspaces.get(workspaceId)?.keys ?? []).map((row) => row.key),

  revokeKey: (workspaceId, id, now) => {
    const row = tables.keys.get(id)
    if (row === undefined || row.key.workspaceId !== workspaceId) return null
    if (row.key.revokedAt === null) row.key = { ...row.key, revokedAt: now }
    for (const endpoint of tables.workspaces.get(workspaceId)?.endpoints ?? []) {
      if (endpoint.endpoint.keyId === id) stop(tables, endpoint, "key_revoked")
    }
    return row.key
  },
})

// `ContactStore` in memory.

export const contactStore = (tables: Tables): Steps<ContactStore> => ({
  insertContact: (input) => {
    const owner = tables.workspaces.get(input.workspaceId)
    if (owner === undefined) return Effect.die(new Error("a contact needs a workspace"))
    const address = contactAddress(input)
    const present = owner.contactsByAddress.get(address)
    if (present !== undefined) return { _tag: "Exists", id: present }
    const contact = tables.contacts.insert((id) => ({ ...input, id }))
    owner.contacts.push(contact)
    owner.contactsByAddress.set(address, contact.id)
    return { _tag: "Inserted", contact }
  },

  listContacts: (workspaceId, query) =>
    newestFirst(tables.workspaces.get(workspaceId)?.contacts ?? [], query, (contact) => contact),

  deleteContact: (workspaceId, id) => {
    const owner = tables.workspaces.get(workspaceId)
    const contact = owner === undefined ? undefined : findContact(owner, id)
    if (owner === undefined || contact === undefined) return false
    owner.contacts.splice(owner.contacts.indexOf(contact), 1)
    owner.contactsByAddress.delete(contactAddress(contact))
    return true
  },
})

// `ErasureStore` in memory.

const modes = ["live", "test"] as const

/** Removes a message from all indexes. */
const eraseMessage = (tables: Tables, row: MessageRow): void => {
  const { lane, message } = row
  tables.messages.erase(message.id)
  tables.earlyTicks.delete(row)
  tables.readByTestPhones.delete(row)
  noteErased(row)
  tables.messagesByTransportId.delete(transportKey(lane.number.id, message.transportId))
  lane.counting.delete(row)
  const attachmentId = message.media?.attachmentId ?? null
  if (attachmentId === null) return
  const left = (tables.messagesByAttachment.get(attachmentId) ?? []).filter((one) => one !== row)
  if (left.length > 0) tables.messagesByAttachment.set(attachmentId, left)
  else tables.messagesByAttachment.delete(attachmentId)
}

/** Erases the messages that `isErased`, and keeps the order of the others. */
const eraseMessages = (
  tables: Tables,
  owner: WorkspaceRow,
  isErased: (row: MessageRow) => boolean,
): void => {
  for (const mode of modes) {
    const remaining: Array<MessageRow> = []
    for (const row of owner.messages[mode]) {
      if (isErased(row)) eraseMessage(tables, row)
      else remaining.push(row)
    }
    owner.messages[mode] = remaining
  }
}

/**
 * No row ends before it is created, and rows are nearly in the order of creation. A walk from the
 * oldest continues beyond its moment by the maximum disorder, in milliseconds.
 */
const slackMillis = 120_000

/** From the oldest, those that may have ended before the moment. */
function* createdBefore(rows: Iterable<MessageRow>, before: number): Generator<MessageRow> {
  for (const row of rows) {
    const earliestAt = row.message.createdAt - slackMillis
    if (earliestAt >= before) return
    yield row
  }
}

const eraseEndedMessages = (tables: Tables, owner: WorkspaceRow, before: number): void => {
  const erased = new Set<MessageRow>()
  for (const mode of modes) {
    for (const row of createdBefore(owner.messages[mode], before)) {
      if (row.endedAt !== null && row.endedAt < before) erased.add(row)
    }
  }
  if (erased.size > 0) eraseMessages(tables, owner, (row) => erased.has(row))
}

/** Of several workspaces in one walk, since they share the outbox. */
const eraseEvents = (tables: Tables, instants: ReadonlyMap<number, number>): void => {
  const pending = new Set<string>()
  for (const { workspaceId, pending: deliveries } of tables.endpoints.rows) {
    if (instants.has(workspaceId)) for (const { event } of deliveries) pending.add(event.id)
  }
  for (const [index, event] of tables.outbox.entries()) {
    if (event === null || pending.has(event.eventId)) continue
    const before = instants.get(event.workspaceId) ?? -Infinity
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
  forgetChecks(tables, endedBefore, workspaceId)
  eraseEndedCampaigns(owner, endedBefore)
  for (const row of owner.reminders) {
    if (row.removedAt === null || row.removedAt >= endedBefore) continue
    row.forgotten = true
    row.runs = []
  }
}

/** Nothing of it waits or is in flight. */
const isIdle = ({ inDoubt, inFlight, waiting, waitingTest }: Lane): boolean =>
  inDoubt === null && inFlight === null && waiting.size === 0 && waitingTest.size === 0

const eraseNumber = (tables: Tables, lane: Lane): void => {
  lane.number = { ...lane.number, label: "", phone: null }
  lane.callbackUrl = null
  lane.report = null
  lane.recipients.clear()
  // A session that is still to be logged out needs its proxy.
  if (!tables.sessions.has(lane.number.id)) lane.proxy = null
}

const eraseEndpoint = (row: EndpointRow): void => {
  const nothing = { url: "", description: "", secretSalt: "", secretLast4: "" }
  row.endpoint = { ...row.endpoint, ...nothing, firstSecretLast4: "" }
  row.original = null
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
  eraseFigures(tables, id)
  owner.contacts.length = 0
  owner.contactsByAddress.clear()
  for (const row of owner.reminders) {
    tables.dueReminders.delete(row)
    row.forgotten = true
  }
  owner.reminders.length = 0
  for (const entry of owner.campaigns) eraseCampaign(entry)
  forgetChecks(tables, Infinity, id)
  const checks = tables.checks.rows.filter(({ check }) => check.workspaceId === id)
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
    owner.lanes.every(({ receivedSequence }) => receivedSequence === 0) &&
    checks.every(({ forgotten }) => forgotten) &&
    files.every(({ forgotten }) => forgotten)
}

export const erasureStore = (tables: Tables): Steps<ErasureStore> => ({
  retainedWorkspaces: (after, limit) =>
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

  eraseTestMessages: (workspaces, max) => {
    for (const id of workspaces) {
      const owner = tables.workspaces.get(id)
      if ((owner?.messages.test.length ?? 0) <= max) continue
      const ended = (owner?.messages.test ?? []).filter(({ endedAt }) => endedAt !== null)
      const erased = new Set(ended.slice(0, Math.max(0, ended.length - max)))
      if (owner !== undefined && erased.size > 0)
        eraseMessages(tables, owner, (row) => erased.has(row))
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

// `RestoreStore` in memory: for simulations, since a store that ends with its process is never restored.

/** A workspace's records, by id. */
const listOnHold = (tables: Tables, workspaceId: WorkspaceId): ReadonlyArray<MessageRow> =>
  (tables.workspaces.get(workspaceId)?.lanes ?? [])
    .flatMap((lane) => [...lane.held])
    .filter(isHeldByRestore)
    .toSorted((a, b) => a.message.id - b.message.id)

const heldReminders = (tables: Tables, workspaceId: WorkspaceId): ReadonlyArray<ReminderRow> =>
  (tables.workspaces.get(workspaceId)?.reminders ?? []).filter(
    ({ blockedRunAt }) => blockedRunAt !== null,
  )

const passes = (
  { from, since, until }: HeldFilter,
  numberId: number | null,
  createdAt: number,
): boolean =>
  (from === null || from === numberId) &&
  (since === null || createdAt >= since) &&
  (until === null || createdAt < until)

const isSelected = (selection: HeldSelection, { message }: MessageRow): boolean => {
  if ("ids" in selection) return selection.ids.includes(message.id)
  const { dueUntil } = selection.filter
  return (
    passes(selection.filter, message.from.id, message.createdAt) &&
    (dueUntil === null || message.dueAt <= dueUntil)
  )
}

const holdReminders = (tables: Tables, now: number): void => {
  const dueFirst = [...tables.dueReminders]
  for (const row of dueFirst) {
    const { nextRunAt: dueAt, revision } = row.reminder
    if (dueAt === null || dueAt > now) return
    tables.dueReminders.delete(row)
    row.reminder = { ...row.reminder, nextRunAt: null, revision: revision + 1 }
    row.blockedRunAt = dueAt
  }
}

export const restoreStore = (tables: Tables): Steps<RestoreStore> => ({
  epoch: Effect.sync(() => ({
    epoch: tables.epoch,
    hasAccepted: tables.messages.nextId > tables.firstMessageOfEpoch,
  })),

  startEpoch: ({ above, epoch, now }) => {
    if (epoch !== tables.epoch) return null
    tables.moveIdsOn(idsSkipped, above)
    for (const lane of tables.lanes.rows) {
      lane.lease += idsSkipped
      if (!lane.removed) holdLane(tables, lane, now)
    }
    holdReminders(tables, now)
    pauseRestored(tables, now)
    tables.epoch++
    tables.firstMessageOfEpoch = tables.messages.nextId
    return tables.epoch
  },

  heldCounts: Effect.sync(() =>
    tables.workspaces.rows
      .map(({ workspace: { id } }) => ({
        workspaceId: id,
        messages: listOnHold(tables, id).length,
        reminders: heldReminders(tables, id).length,
        campaigns: countRestored(tables, id),
      }))
      .filter(({ campaigns, messages, reminders }) => messages + reminders + campaigns > 0),
  ),

  listHeld: (workspaceId, page) => newestFirst(listOnHold(tables, workspaceId), page, toMessage),

  heldMessages: (workspaceId, selection, limit) =>
    listOnHold(tables, workspaceId)
      .filter((row) => isSelected(selection, row))
      .slice(0, limit)
      .map(toMessage),

  heldReminders: (workspaceId, filter, limit) =>
    heldReminders(tables, workspaceId)
      .filter(({ reminder }) => passes(filter, reminder.from, reminder.createdAt))
      .slice(0, limit)
      .flatMap((row) =>
        row.blockedRunAt === null
          ? []
          : { reminder: toReminder(tables, row), dueAt: row.blockedRunAt },
      ),

  releaseHeld: (messages, now) => {
    const released = new Set<MessageId>()
    const lanes = new Set<Lane>()
    for (const { id } of messages) {
      const row = tables.messages.get(id)
      if (row === undefined || !isHeldByRestore(row)) continue
      resume(tables, row)
      released.add(id)
      lanes.add(row.lane)
    }
    for (const lane of lanes) turnWithFirst(tables, lane, now)
    return released
  },

  position: () => null,

  isHeld: (id) => {
    const row = tables.messages.get(id)
    return row !== undefined && isHeldByRestore(row)
  },
})
