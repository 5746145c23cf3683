/** `MessageStore` in memory. */
import {
  connectedShown,
  coversMessages,
  hasExpired,
  isLimited,
  isVisibleTo,
  movedByTick,
  nextTestTick,
  statusAt,
  withMessages,
} from "@messaging-service/core"
import type {
  Acceptance,
  AcceptanceFacts,
  AcceptanceOutcome,
  AcceptanceQuery,
  FailedGuard,
  CallerScope,
  Contact,
  ContactId,
  FoundMessage,
  Message,
  MessageChange,
  MessageEventType,
  MessageFilter,
  NewMessage,
  MessageId,
  MessageStore,
  NumberFacts,
  OffsetPage,
  OffsetQuery,
  Phone,
  Platform,
  RefusedMessage,
  TimelineFacts,
  TimelineQuery,
  Version1ListStore,
} from "@messaging-service/core"
import { Effect } from "effect"
import { collectInSteps, earliest, newestFirst, searchNewest } from "./collections.ts"
import type { Steps } from "./collections.ts"
import { noteFigure } from "./figures.ts"
import {
  count,
  countAndRemember,
  enqueue,
  finish,
  hasOwnRoom,
  hasRoom,
  isLeased,
  quotaFacts,
  tell,
} from "./lanes.ts"
import { findNewChatsWait } from "./newChats.ts"
import { answeredChats, quotedMessage } from "./chats.ts"
import { storedFile } from "./media.ts"
import { announce, eventAt } from "./serviceStores.ts"
import {
  byDue,
  claim,
  findContact,
  finishClaim,
  isLost,
  laneIn,
  toMessage,
  newMessageRow,
  releaseClaim,
  transportKey,
} from "./tables.ts"
import type { Lane, MessageRow, Tables, WorkspaceRow } from "./tables.ts"
import { fanOut, toldAttempts } from "./webhooks.ts"

// The two steps of an acceptance: its facts, and its guarded commit.

const toFacts = (lane: Lane, query: AcceptanceQuery): NumberFacts => {
  const exactQuota = query.exactQuota
  const counted = () => {
    if (exactQuota === null) return null
    // Of all numbers the limit may be a campaign's own, which tells nothing of other messages' room.
    if (exactQuota.numberId === null) return count(lane, exactQuota.planned)
    return exactQuota.numberId === lane.number.id
      ? countAndRemember(lane, exactQuota.planned, query.now)
      : null
  }
  const exact = counted()
  return { number: lane.number, quota: quotaFacts(lane, query.now, exact) }
}

const connected = (
  owner: WorkspaceRow,
  { exactQuota, mode }: AcceptanceQuery,
): ReadonlyArray<Lane> => {
  const max =
    exactQuota !== null && exactQuota.numberId === null ? Number.POSITIVE_INFINITY : connectedShown
  const counts: Record<Platform, number> = { whatsapp: 0, telegram: 0 }
  return owner.lanes.filter(
    ({ number, removed }) =>
      !removed &&
      isVisibleTo(mode, number) &&
      number.status === "connected" &&
      ++counts[number.platform] <= max,
  )
}

/** Reads everything that the rules of acceptance need, and claims the `Idempotency-Key`. */
const loadAcceptance = (tables: Tables, query: AcceptanceQuery): AcceptanceFacts => {
  const owner = tables.workspaces.get(query.workspaceId)
  const chats = answeredChats(tables, query)
  const [ofChat] = query.from === null ? chats.values() : []
  const from = query.from ?? ofChat?.numberId ?? null
  const fromLane = from === null ? undefined : laneIn(tables, query.workspaceId, from)
  const named =
    fromLane !== undefined && isVisibleTo(query.mode, fromLane.number) ? fromLane : undefined

  const contactIdByPhone = new Map<Phone, ContactId>()
  for (const phone of query.phones) {
    const id = owner?.contactsByAddress.get(phone)
    if (id !== undefined) contactIdByPhone.set(phone, id)
  }
  const contacts = new Map<ContactId, Contact>()
  for (const id of query.contactIds) {
    const contact = owner === undefined ? undefined : findContact(owner, id)
    if (contact !== undefined) contacts.set(id, contact)
  }

  return {
    claim: query.idempotency === null ? null : claim(tables, query.idempotency, query.now),
    plan: owner?.workspace.plan ?? null,
    named: named === undefined ? null : toFacts(named, query),
    connected:
      from === null && owner !== undefined
        ? connected(owner, query).map((lane) => toFacts(lane, query))
        : [],
    contactIdByPhone,
    contacts,
    chats,
    quoted: quotedMessage(tables, query),
    media:
      query.mediaId === null
        ? null
        : storedFile(tables, query.workspaceId, query.mode, query.mediaId),
  }
}

/** The first broken guard, in the order of reporting. */
export const brokenGuard = (tables: Tables, acceptance: Acceptance): FailedGuard | null => {
  const { workspaceId, numberId, idempotency, allowance, quota, now } = acceptance
  if (isLost(tables, idempotency)) return "idempotency"
  const owner = tables.workspaces.get(workspaceId)
  const namesDeletedContact = ({ to }: NewMessage): boolean =>
    "contactId" in to &&
    to.contactId !== null &&
    owner !== undefined &&
    findContact(owner, to.contactId) === undefined
  if (acceptance.messages.some(namesDeletedContact)) return "contact"
  const lane = laneIn(tables, workspaceId, numberId)
  if (lane === undefined) return "number"
  if (!coversMessages(lane.workspace.workspace.plan, allowance)) return "allowance"
  if (quota === null) return null
  const isOfCampaign = acceptance.messages.some(({ campaign }) => campaign !== null)
  return (isOfCampaign ? hasOwnRoom : hasRoom)(lane, quota, now) ? null : "quota"
}

/** Takes from the allowance; false when the plan is unlimited and took nothing. */
const takeAllowance = (owner: WorkspaceRow, allowance: number): boolean => {
  const { plan } = owner.workspace
  owner.workspace = { ...owner.workspace, plan: withMessages(plan, -allowance) }
  return allowance > 0 && isLimited(plan)
}

const byMessageId = (one: MessageRow, other: MessageRow): number =>
  one.message.id - other.message.id

/** Adds a new message to all indexes. */
const enter = (tables: Tables, row: MessageRow): void => {
  const { lane, message } = row
  tables.messagesByTransportId.set(transportKey(lane.number.id, message.transportId), row)
  const all = lane.workspace.messages[message.mode]
  all.push(row)
  if ((all.at(-2)?.message.id ?? 0) > message.id) all.sort(byMessageId)
  const attachmentId = message.media?.attachmentId ?? null
  if (attachmentId === null) return
  const others = tables.messagesByAttachment.get(attachmentId)
  if (others === undefined) tables.messagesByAttachment.set(attachmentId, [row])
  else others.push(row)
}

/**
 * Writes the whole acceptance, or names the broken guard. `reserved` are ids that were given out
 * before, perhaps before those of other messages.
 */
export const accept = (
  tables: Tables,
  acceptance: Acceptance,
  reserved: ReadonlyArray<MessageId> = [],
): AcceptanceOutcome => {
  const guard = brokenGuard(tables, acceptance)
  const lane = laneIn(tables, acceptance.workspaceId, acceptance.numberId)
  if (guard !== null || lane === undefined) return { _tag: "Conflict", guard: guard ?? "number" }

  const tookAllowance = takeAllowance(lane.workspace, acceptance.allowance)
  const ids: Array<MessageId> = []
  for (const message of acceptance.messages) {
    const make = (id: MessageId): MessageRow => ({
      message: { ...message, id, state: "waiting", sentAt: null, error: null },
      lane,
      campaign: message.campaign && (tables.campaigns.get(message.campaign.id) ?? null),
      tookAllowance,
      ...newMessageRow(),
    })
    const row = tables.messages.insert(make, reserved[ids.length])
    row.campaign?.waiting.add(row)
    const { id } = row.message
    ids.push(id)
    noteFigure(tables, "messages", {
      workspaceId: message.workspaceId,
      mode: message.mode,
      at: message.createdAt,
      kind: "accepted",
      dueAt: null,
      errorCode: null,
    })
    enter(tables, row)
    enqueue(tables, row)
  }
  finishClaim(tables, acceptance.idempotency, ids)
  return { _tag: "Accepted", ids }
}

/** Writes a refused message as ended: no lane ever held it, and it took nothing. */
const insertRefused = (tables: Tables, refused: RefusedMessage): MessageChange | null => {
  const lane = laneIn(tables, refused.workspaceId, refused.numberId)
  if (lane === undefined) return null
  const change = refused.ended(tables.messages.nextId)
  const row = tables.messages.insert((): MessageRow => ({
    message: change.message,
    lane,
    campaign: null,
    tookAllowance: false,
    ...newMessageRow(),
  }))
  enter(tables, row)
  row.endedAt = change.event.createdAt
  row.eventPosition = tell(tables, lane.workspace, change)
  return change
}

export const isVisible = (
  { workspaceId, mode, restriction }: CallerScope,
  message: Message,
): boolean =>
  message.workspaceId === workspaceId &&
  message.mode === mode &&
  (restriction === null || restriction.includes(message.from.id))

const passes = (filter: MessageFilter, message: Message, now: number): boolean =>
  (filter.from === null || message.from.id === filter.from) &&
  (filter.phone === null || ("phone" in message.to && message.to.phone === filter.phone)) &&
  (filter.reference === null || message.reference === filter.reference) &&
  (filter.error === null || message.error?.code === filter.error) &&
  (filter.since === null || message.createdAt >= filter.since) &&
  (filter.until === null || message.createdAt < filter.until) &&
  (filter.statuses === null || filter.statuses.includes(statusAt(message, now)))

const foundRow = (row: MessageRow): FoundMessage => ({
  message: toMessage(row),
  inFlight: row.message.state === "waiting" && isLeased(row),
})

/** The due messages at the front of a collection. */
const getFirst = (
  rows: Iterable<MessageRow>,
  limit: number,
  go: (message: Message) => "take" | "skip" | "stop",
): ReadonlyArray<Message> => {
  const found: Array<Message> = []
  for (const row of rows) {
    if (found.length >= limit) break
    const step = go(row.message)
    if (step === "stop") break
    if (step === "take") found.push(toMessage(row))
  }
  return found
}

/** How many due messages of its number and mode leave before it. */
const countAhead = (row: MessageRow, { mostAhead, now }: TimelineQuery): number => {
  const { lane, message } = row
  if (message.state !== "waiting") return 0
  const others = message.mode === "live" ? lane.waiting : lane.waitingTest
  let ahead = 0
  for (const other of others) {
    const isBefore = lane.held.has(row) || byDue(other, row) < 0
    if (!isBefore || other.message.dueAt > now || hasExpired(other.message, now)) continue
    if (++ahead === mostAhead) break
  }
  return ahead
}

const timelineFacts = (
  tables: Tables,
  row: MessageRow,
  query: TimelineQuery,
): Effect.Effect<TimelineFacts> => {
  const { attempts, deliveredAt, eventPosition, readAt } = row
  const event = eventPosition === null ? null : eventAt(tables, eventPosition)
  const facts = {
    message: toMessage(row),
    deliveredAt,
    readAt,
    event: event && {
      id: event.eventId,
      type: event.type as MessageEventType,
      createdAt: event.createdAt,
    },
    ahead: countAhead(row, query),
    newChatsUntil: findNewChatsWait(row, query.now),
    attempts: attempts.slice(-query.limit).toReversed(),
  }
  return Effect.map(toldAttempts(tables, row, query.limit), (deliveries) => ({
    ...facts,
    deliveries,
  }))
}

/** What operators alone ask for. */
const operatorReads = (
  tables: Tables,
): Pick<Steps<MessageStore>, "found" | "search" | "timeline" | "waitingIds"> => ({
  search: (scope, filter, { most, pattern }, page, now) => {
    const matching = new RegExp(pattern, "u")
    const searched = searchNewest(
      tables.workspaces.get(scope.workspaceId)?.messages[scope.mode] ?? [],
      page,
      most,
      ({ message }) => message.id,
      ({ message }) => isVisible(scope, message) && passes(filter, message, now),
      ({ message }) => matching.test(message.text),
    )
    return Effect.map(searched, ({ found, isOver, last }) => ({
      items: found.map(toMessage),
      next: isOver ? null : (last?.message.id ?? null),
      lookedUntil: last?.message.createdAt ?? null,
    }))
  },

  waitingIds: (workspaceId, mode, filter, now, limit) =>
    Effect.map(
      collectInSteps(tables.workspaces.get(workspaceId)?.messages[mode] ?? [], ({ message }) =>
        message.state === "waiting" &&
        passes({ ...filter, reference: null, error: null }, message, now)
          ? message.id
          : null,
      ),
      (ids) => ids.slice(0, limit),
    ),

  found: (workspaceId, ids) =>
    [...new Set(ids)]
      .toSorted((a, b) => a - b)
      .flatMap((id) => {
        const row = tables.messages.get(id)
        return row === undefined || row.message.workspaceId !== workspaceId ? [] : foundRow(row)
      }),

  timeline: (query) => {
    const row = tables.messages.get(query.id)
    return row === undefined || row.message.workspaceId !== query.workspaceId
      ? null
      : timelineFacts(tables, row, query)
  },
})

/** The ticks that wait for their moment, of test messages where conversations are on. */
function* testTicks(tables: Tables) {
  for (const row of tables.readByTestPhones) {
    const next = nextTestTick(row.message, row.deliveredAt ?? row.message.sentAt ?? 0)
    if (next !== null && row.lane.workspace.conversations !== null) yield { row, ...next }
  }
}

/** When the first of them is due; null when none waits. */
export const nextTestTickDue = (tables: Tables): number | null =>
  earliest(Array.from(testTicks(tables), ({ at }) => at))

/** What the platforms report of messages that left. */
const ticking = (
  tables: Tables,
): Pick<Steps<MessageStore>, "tick" | "earlyTicks" | "dueTestTicks"> => ({
  tick: (numberId, transportId, state, now, toEvent) => {
    const row = tables.messagesByTransportId.get(transportKey(numberId, transportId))
    if (row === undefined) return null
    if (row.message.state === "waiting" && tables.earlyTicks.get(row) !== "read") {
      tables.earlyTicks.set(row, state)
    }
    if (movedByTick[state].includes(row.message.state)) {
      row.message = { ...row.message, state }
      if (state === "delivered") row.deliveredAt = now
      else {
        row.readAt = now
        tables.readByTestPhones.delete(row)
      }
      const { workspace } = row.lane
      if (toEvent !== undefined && workspace.conversations !== null) {
        const event = toEvent(toMessage(row))
        announce(tables, event)
        fanOut(tables, workspace, event)
      }
    }
    return toMessage(row)
  },

  earlyTicks: (limit) =>
    [...tables.earlyTicks]
      .flatMap(
        ([
          {
            message: { from, state, transportId },
          },
          tick,
        ]) => (movedByTick[tick].includes(state) ? [{ numberId: from.id, transportId, tick }] : []),
      )
      .slice(0, limit),

  dueTestTicks: (now, limit) =>
    [...testTicks(tables)]
      .filter(({ at }) => at <= now)
      .toSorted((a, b) => a.at - b.at || a.row.message.id - b.row.message.id)
      .slice(0, limit)
      .map(({ row: { message }, tick }) => ({
        numberId: message.from.id,
        transportId: message.transportId,
        tick,
      })),
})

export const messageStore = (tables: Tables): Steps<MessageStore> => ({
  ...ticking(tables),
  ...operatorReads(tables),

  loadAcceptance: (query) => loadAcceptance(tables, query),

  accept: (acceptance) => accept(tables, acceptance),

  insertRefused: (refused) => insertRefused(tables, refused),

  releaseClaim: (idempotencyClaim) => releaseClaim(tables, idempotencyClaim),

  get: (scope, id) => {
    const row = tables.messages.get(id)
    return row === undefined || !isVisible(scope, row.message) ? null : foundRow(row)
  },

  byIds: (ids) =>
    ids.flatMap((id) => {
      const row = tables.messages.get(id)
      return row === undefined ? [] : toMessage(row)
    }),

  list: (scope, filter, page, now) =>
    newestFirst(
      tables.workspaces.get(scope.workspaceId)?.messages[scope.mode] ?? [],
      page,
      toMessage,
      ({ message }) => isVisible(scope, message) && passes(filter, message, now),
    ),

  end: (changes) => {
    const ended = new Set<MessageId>()
    for (const change of changes) {
      const row = tables.messages.get(change.message.id)
      if (row === undefined || row.message.state !== "waiting" || isLeased(row)) continue
      finish(tables, row, change)
      ended.add(row.message.id)
    }
    return ended
  },

  expired: (now, limit) =>
    getFirst(tables.expiring, limit, (message) => (hasExpired(message, now) ? "take" : "stop")),

  dueTest: (now, limit, perWorkspace) =>
    [...tables.dueTestByWorkspace.values()]
      .flatMap((own) =>
        getFirst(own, Math.min(limit, perWorkspace), (message) => {
          if (message.dueAt > now) return "stop"
          return hasExpired(message, now) ? "skip" : "take"
        }),
      )
      .toSorted((a, b) => a.dueAt - b.dueAt || a.id - b.id)
      .slice(0, limit),

  orphaned: (limit) => getFirst(tables.orphaned, limit, () => "take"),

  byTransportId: (numberId, transportId) => {
    const row = tables.messagesByTransportId.get(transportKey(numberId, transportId))
    return row === undefined ? null : toMessage(row)
  },
})

// `Version1ListStore` in memory.

/** Maps records, sorted oldest first, to a list newest first; null leaves one out. */
const page = <Row, A>(
  oldestFirst: ReadonlyArray<Row>,
  make: (row: Row) => A | null,
  { limit, offset }: OffsetQuery,
): Effect.Effect<OffsetPage<A>> =>
  Effect.map(collectInSteps(oldestFirst, make), (found) => {
    const end = Math.max(0, found.length - offset)
    return {
      total: found.length,
      items: found.slice(Math.max(0, end - limit), end).toReversed(),
    }
  })

export const version1ListStore = (tables: Tables): Steps<Version1ListStore> => ({
  messages: ({ mode, workspaceId }, { since, until }, query) =>
    page(
      tables.workspaces.get(workspaceId)?.messages[mode] ?? [],
      (row) =>
        row.message.createdAt >= since && row.message.createdAt < until ? toMessage(row) : null,
      query,
    ),

  media: ({ mode, workspaceId }, type, query) =>
    page(
      tables.workspaces.get(workspaceId)?.media ?? [],
      ({ file, state }) =>
        state === "kept" && file.mode === mode && (type === null || file.type === type)
          ? file
          : null,
      query,
    ),

  reminders: ({ mode, workspaceId }, query) =>
    page(
      tables.workspaces.get(workspaceId)?.reminders ?? [],
      ({ reminder, removedAt }) => (removedAt === null && reminder.mode === mode ? reminder : null),
      query,
    ),

  checkResults: (id, status, query) =>
    page(
      tables.checks.get(id)?.results ?? [],
      (result) => (status === null || result.status === status ? result : null),
      query,
    ),
})
