/** `ChatStore` in memory. */
import {
  changedEvent,
  dayMillis,
  erasedAtOnce,
  erasedQuote,
  getPage,
  isFetchedOnArrival,
  isRecent,
  isRecovered,
  mergedPerson,
  mostReactions,
  hasLeft,
  newFileState,
  numberAsPerson,
  pausedUntil,
  personAddresses,
  receivedEvent,
  receivedMarks,
  unknownPerson,
  withoutQuote,
} from "@messaging-service/core"
import type {
  AcceptanceQuery,
  AnsweredChat,
  Addressed,
  Chat,
  ChatId,
  ChatStore,
  IncomingMessage,
  NewReceived,
  NumberId,
  Person,
  ChatContext,
  Reaction,
  Quote,
  QuotedMessage,
  ReceivedErasure,
  ReceivedMessage,
  ReceivedMessageId,
  ReceivedOutcome,
  ServiceEvent,
  ReplyTo,
  StoredReceivedFile,
  TransportId,
} from "@messaging-service/core"
import { Effect } from "effect"
import { earliest, newestFirst, turningPoint } from "./collections.ts"
import type { Steps } from "./collections.ts"
import {
  chatIn,
  current,
  findReceived,
  isIn,
  isOpen,
  isReadable,
  isReadableChat,
} from "./chatRows.ts"
import { releaseWriters, turnNewChats } from "./newChats.ts"
import { discardStored } from "./media.ts"
import { announce, changeEvents } from "./serviceStores.ts"
import { findLane, findWorkspace, transportKey } from "./tables.ts"
import type {
  ChatRow,
  Lane,
  PersonRow,
  ReactionRow,
  ReceivedRow,
  Tables,
  WorkspaceRow,
} from "./tables.ts"
import { changeBody, eraseEvent, fanOut } from "./webhooks.ts"

const withStored = (owner: WorkspaceRow) => {
  const settings = owner.conversations
  if (settings === null) return null
  const { received } = owner
  return {
    ...settings,
    stored: {
      messages: received.length,
      bytes: owner.usedBytes.received,
      oldestAt: received[0]?.message.receivedAt ?? null,
    },
  }
}

/** How messages come in. */
export type ReceivingSteps = Pick<Steps<ChatStore>, "receive" | "needsNoCopy" | "endCopyWaits">

/** How far chats are read. */
export type ReadMarkSteps = Pick<
  Steps<ChatStore>,
  "markRead" | "claimReadMarks" | "settleReadMark" | "postponeReadMark" | "settledReadMarks"
>

// People and chats

export const addressesMeet = (one: Person, other: Person): boolean =>
  personAddresses.some((name) => one[name] !== null && one[name] === other[name])

type UpTo = ReceivedMessageId | null

/** The later of two messages. */
const further = (a: UpTo, b: UpTo): UpTo => (Math.max(a ?? 0, b ?? 0) || null) as UpTo

/** Its messages of others behind that one, the latest first. */
export const messagesBehind = (row: ChatRow, upTo: UpTo): ReadonlyArray<ReceivedRow> =>
  row.lane.received
    .filter(({ chat, message }) => chat === row && !message.fromMe && message.id > (upTo ?? 0))
    .toReversed()

export const countUnread = (row: ChatRow): number => messagesBehind(row, row.chat.readUpTo).length

export const setMarkDue = (tables: Tables, row: ChatRow, at: number | null): void => {
  row.markDue = at
  if (at === null) tables.unmarked.delete(row)
  else tables.unmarked.add(row)
}

/** The remote hears again of what it may not know of either. */
const mergeMarks = (tables: Tables, from: ChatRow, into: ChatRow): void => {
  const upTo = (Math.min(from.marked.upTo ?? 0, into.marked.upTo ?? 0) || null) as UpTo
  into.marked = { ...into.marked, upTo }
  setMarkDue(tables, into, earliest([from.markDue, into.markDue]))
  setMarkDue(tables, from, null)
}

/** The chat continues in the other one. */
const mergeChat = (tables: Tables, from: ChatRow, into: ChatRow): void => {
  const owner = into.lane.workspace
  const [a, b] = [into.chat, from.chat]
  for (const row of owner.received) if (row.chat === from) row.chat = into
  mergeMarks(tables, from, into)
  for (const other of owner.chats) {
    if (other === from || other.chat.mergedInto === from.chat.id) {
      other.chat = { ...other.chat, mergedInto: into.chat.id, unread: 0 }
    }
  }
  into.chat = {
    ...a,
    activity: Math.max(a.activity, b.activity),
    lastReceivedAt: Math.max(a.lastReceivedAt ?? 0, b.lastReceivedAt ?? 0) || null,
    lastSentAt: Math.max(a.lastSentAt ?? 0, b.lastSentAt ?? 0) || null,
    readUpTo: further(a.readUpTo, b.readUpTo),
  }
  into.chat = { ...into.chat, unread: countUnread(into) }
}

/** Of two reactions to one message the later one stays. */
const mergeReactions = (lane: Lane, from: PersonRow, into: PersonRow): void => {
  for (const row of lane.reactions) {
    if (row.person !== from) continue
    row.person = into
    if (row.fromMe) continue
    const other = [...lane.reactions].find(
      (one) => one !== row && one.to === row.to && !one.fromMe && one.person === into,
    )
    if (other === undefined) continue
    const [earlier, later] = row.at > other.at ? [other, row] : [row, other]
    lane.reactions.delete(earlier)
    later.eventPositions.push(...earlier.eventPositions)
  }
}

/** Both are one person: of its chats the older one continues. */
const mergePerson = (tables: Tables, lane: Lane, from: PersonRow, into: PersonRow): void => {
  const owner = lane.workspace
  into.known = mergedPerson(from.known, into.known)
  lane.people.delete(from)
  for (const row of lane.received) if (row.author === from) row.author = into
  mergeReactions(lane, from, into)
  for (const chat of owner.chats) if (chat.person === from) chat.person = into
  for (const mode of ["live", "test"] as const) {
    const [first, ...others] = owner.chats.filter(
      (chat) => chat.person === into && chat.mode === mode && isOpen(chat),
    )
    if (first !== undefined) for (const other of others) mergeChat(tables, other, first)
  }
}

export const findPerson = (tables: Tables, lane: Lane, told: Person): PersonRow => {
  const matches = [...lane.people].filter(({ known }) => addressesMeet(known, told))
  const [first, ...others] = matches
  if (first === undefined) {
    const row = { known: told }
    lane.people.add(row)
    return row
  }
  for (const other of others) mergePerson(tables, lane, other, first)
  first.known = mergedPerson(first.known, told)
  return first
}

const findChat = (
  tables: Tables,
  lane: Lane,
  { group, mode }: ChatContext,
  person: PersonRow | null,
): ChatRow => {
  const owner = lane.workspace
  const found = owner.chats.find(
    (row) =>
      row.lane === lane &&
      row.mode === mode &&
      isOpen(row) &&
      row.group === (group?.remoteId ?? null) &&
      (group !== null || row.person === person),
  )
  if (found !== undefined) return found
  const row = tables.chats.insert((id): ChatRow => ({
    chat: {
      ...unknownPerson,
      id,
      numberId: lane.number.id,
      type: group === null ? "person" : "group",
      activity: 0,
      lastReceivedAt: null,
      lastSentAt: null,
      unread: 0,
      readUpTo: null,
      mergedInto: null,
    },
    lane,
    mode,
    person: group === null ? person : null,
    group: group?.remoteId ?? null,
    removed: false,
    marked: { upTo: null, at: null },
    markDue: null,
  }))
  owner.chats.push(row)
  return row
}

/** As read: with what is known of the person by now. */
const toChat = ({ chat, person }: ChatRow): Chat => ({ ...chat, ...person?.known })

/** As acceptance decides on it. */
const toAnswered = (row: ChatRow): AnsweredChat => {
  const { id, lid, mergedInto, name, numberId, phone, type, userId, username } = toChat(row)
  const person = { phone, lid, userId, username, name }
  return { ...person, id, current: mergedInto ?? id, numberId, type, groupId: row.group }
}

// Messages

/** `from`: the number itself if its owner reacted. */
export const toReaction = (
  { at, emoji, fromMe, person }: ReactionRow,
  { number }: Lane,
): Reaction => ({
  from: fromMe ? numberAsPerson(number) : (person?.known ?? unknownPerson),
  emoji,
  at,
})

/** The latest ones, the latest last. */
const reactionsTo = (row: ReceivedRow): ReceivedMessage["reactions"] =>
  [...row.lane.reactions]
    .filter(({ to }) => to === row)
    .toSorted((a, b) => a.at - b.at)
    .flatMap((reaction) => {
      const { emoji } = reaction
      return emoji === null ? [] : [{ ...toReaction(reaction, row.lane), emoji }]
    })
    .slice(-mostReactions)

/** As read: with what is known of its author by now. */
export const toReceived = (row: ReceivedRow): ReceivedMessage => {
  const { author, chat, lane, message } = row
  const { id, phone, platform } = lane.number
  const { name, type } = toChat(chat)
  const from = message.fromMe ? numberAsPerson(lane.number) : (author?.known ?? unknownPerson)
  return {
    ...message,
    number: { id, phone, platform },
    chat: { id: chat.chat.id, type, name },
    from,
    reactions: reactionsTo(row),
  }
}

/** What it quotes, where that is known here. */
const findReplyTo = (
  tables: Tables,
  lane: Lane,
  chat: ChatRow,
  quote: IncomingMessage["quote"],
): ReceivedMessage["replyTo"] => {
  if (quote === null) return null
  const { remoteId, text } = quote
  const quoted = lane.received.find((row) => row.chat === chat && row.remoteId === remoteId)
  const sent =
    remoteId === null
      ? undefined
      : tables.messagesByTransportId.get(transportKey(lane.number.id, remoteId as TransportId))
  return {
    receivedMessageId: quoted?.message.id ?? null,
    messageId: sent?.message.id ?? null,
    text,
  }
}

// Files

/** What of a message's file is stored, and when it is fetched, by its own; null for never. */
const toFile = (
  lane: Lane,
  chat: ChatRow,
  { file, fileSource = null }: IncomingMessage,
  now: number,
  own?: ReceivedRow,
) => {
  const { conversations } = lane.workspace
  if (file === null || conversations === null) return { file: null, nextDue: null }
  const state = newFileState(conversations, file.size, fileSource !== null)
  const recent = lane.received.filter(
    (row) => row !== own && row.chat === chat && isRecent(row.message.receivedAt, now),
  )
  const isDue = isFetchedOnArrival(state, conversations, recent.length)
  return { file: { ...file, state }, nextDue: isDue ? now : null }
}

const addFile = (
  tables: Tables,
  row: ReceivedRow,
  { fileSource = null }: IncomingMessage,
  nextDue: number | null,
): void => {
  if (row.message.file?.state !== "remote") return
  tables.receivedFiles.set(row.message.id, {
    row,
    source: fileSource,
    mediaId: null,
    nextDue,
    lease: 0,
    leaseUntil: null,
    wantedAt: nextDue,
  })
}

export const discardFile = (tables: Tables, { message: { id } }: ReceivedRow): void => {
  const file = tables.receivedFiles.get(id)
  if (file !== undefined) discardStored(tables, file, "deleted")
  tables.receivedFiles.delete(id)
}

// Messages that come

/** What a message that comes is, by what is known of its author; the first that it was is a repeat's. */
export const findMark = (
  lane: Lane,
  message: Addressed,
  person: Person | null,
): { readonly id: ReceivedMessageId; erasedAt: number | null } | undefined =>
  receivedMarks(message, person)
    .map((mark) => lane.receivedMarks.get(mark))
    .find((mark) => mark !== undefined)

/** Its event, erased with the message. */
export const announceReceived = (tables: Tables, row: ReceivedRow, event: ServiceEvent): void => {
  row.eventPositions.push(announce(tables, event))
  fanOut(tables, row.lane.workspace, event)
}

/** Clocks differ: what comes is never older than the conversations, or it would be erased as of earlier ones. */
export const timeOfReceipt = ({ workspace: { conversations } }: Lane, now: number): number =>
  Math.max(now, conversations?.since ?? now)

const ofFile = (file: StoredReceivedFile | null): Pick<ReceivedOutcome, "file"> =>
  file === null ? {} : { file: file.state }

type ToStore = Pick<NewReceived<IncomingMessage>, "eventId" | "incoming" | "link">

/** Stores a message. */
export const storeMessage = (
  tables: Tables,
  lane: Lane,
  { eventId, incoming, link }: ToStore,
  now: number,
): ReceivedOutcome => {
  const owner = lane.workspace
  const { content, fromMe, group, kind, mode, quote, remoteId, sentAt, text } = incoming
  const person = incoming.person && findPerson(tables, lane, incoming.person)
  const before = findMark(lane, incoming, person?.known ?? null)
  const mark = before ?? { id: ++tables.lastReceivedId as ReceivedMessageId, erasedAt: null }
  for (const one of receivedMarks(incoming, person?.known ?? null)) {
    if (!lane.receivedMarks.has(one)) lane.receivedMarks.set(one, mark)
  }
  if (before !== undefined) return takeCopy(tables, before.id, { eventId, incoming, link }, now)
  const chat = findChat(tables, lane, incoming, person)
  const { file, nextDue } = toFile(lane, chat, incoming, now)
  const receivedAt = timeOfReceipt(lane, now)
  const message = {
    id: mark.id,
    workspaceId: owner.workspace.id,
    mode,
    sequence: ++lane.receivedSequence,
    fromMe,
    kind,
    text,
    content,
    file,
    replyTo: findReplyTo(tables, lane, chat, quote),
    sentAt,
    receivedAt,
    editedAt: null,
    revokedAt: null,
  }
  chat.chat = {
    ...chat.chat,
    name: group?.name ?? chat.chat.name,
    activity: ++tables.lastChatActivity,
    lastReceivedAt: receivedAt,
    unread: chat.chat.unread + (fromMe ? 0 : 1),
  }
  const author = fromMe ? null : person
  const address = incoming.address ?? null
  const row: ReceivedRow = { message, lane, chat, author, remoteId, address, eventPositions: [] }
  announceReceived(tables, row, receivedEvent({ eventId, link }, toReceived(row)))
  owner.received.push(row)
  lane.received.push(row)
  tables.received.set(mark.id, row)
  addFile(tables, row, incoming, nextDue)
  releaseWriters(tables, lane, now)
  return { id: mark.id, became: "stored", ...ofFile(file) }
}

/** A repeat, unless it is a copy of one that could not be read. */
const takeCopy = (
  tables: Tables,
  id: ReceivedMessageId,
  { eventId, incoming, link }: ToStore,
  now: number,
): ReceivedOutcome => {
  const row = tables.received.get(id)
  const isRepeat = incoming.kind === "unreadable" || row === undefined || !isReadable(row)
  if (isRepeat || !isRecovered(row.message)) return { id, became: "repeat" }
  const { content, kind, quote, text } = incoming
  const { file, nextDue } = toFile(row.lane, row.chat, incoming, now, row)
  const quoted = findReplyTo(tables, row.lane, row.chat, quote)
  row.message = { ...row.message, kind, text, content, file, replyTo: quoted }
  row.address = incoming.address ?? null
  const event = changedEvent({ eventId, link }, "message.recovered", toReceived(row), now)
  announceReceived(tables, row, event)
  addFile(tables, row, incoming, nextDue)
  return { id, became: "recovered", ...ofFile(file) }
}

// Reading

/** Those of the query, in its order. */
export const answeredChats = (
  tables: Tables,
  { chatIds, mode, workspaceId }: AcceptanceQuery,
): ReadonlyMap<ChatId, AnsweredChat> => {
  const scope = { workspaceId, mode, restriction: null }
  return new Map(
    chatIds.flatMap((id) => {
      const row = chatIn(tables, scope, id)
      return row === null ? [] : [[id, toAnswered(row)]]
    }),
  )
}

/** What the query quotes; null where that is not stored. */
export const quotedMessage = (
  tables: Tables,
  { mode, replyTo, workspaceId }: AcceptanceQuery,
): QuotedMessage | null => {
  if (replyTo === null) return null
  const scope = { workspaceId, mode, restriction: null }
  if ("receivedMessageId" in replyTo) {
    const row = findReceived(tables, scope, replyTo.receivedMessageId)
    return (
      row && {
        numberId: row.lane.number.id,
        isThere: row.message.revokedAt === null,
        chat: toAnswered(row.chat),
        to: null,
      }
    )
  }
  const row = tables.messages.get(replyTo.messageId)
  if (row === undefined || !isIn(scope, row.lane, row.message.mode)) return null
  const { from, to } = row.message
  const chat = to.kind === "chat" ? chatIn(tables, scope, to.chatId) : null
  return { numberId: from.id, isThere: hasLeft(row.message), chat: chat && toAnswered(chat), to }
}

const findQuote = (tables: Tables, numberId: NumberId, replyTo: ReplyTo): Quote | null => {
  if ("receivedMessageId" in replyTo) {
    const row = tables.received.get(replyTo.receivedMessageId)
    if (row === undefined || row.lane.number.id !== numberId || !isReadable(row)) return null
    const { fromMe, revokedAt, sentAt, text } = row.message
    const author = fromMe ? null : (row.author?.known ?? unknownPerson)
    return revokedAt === null
      ? { remoteId: row.remoteId, isSent: false, author, text, sentAt }
      : null
  }
  const message = tables.messages.get(replyTo.messageId)?.message
  if (message === undefined || message.from.id !== numberId || !hasLeft(message)) return null
  const { sentAt, text, transportId } = message
  return { remoteId: transportId, isSent: true, author: null, text, sentAt: sentAt ?? 0 }
}

type ReadSteps = Pick<
  Steps<ChatStore>,
  "listReceived" | "receivedAfter" | "getReceived" | "listChats" | "getChat" | "quote"
>

const readSteps = (tables: Tables): ReadSteps => ({
  listReceived: (scope, { chatId, kind, numberId, since, until }, page) => {
    const named = chatId === null ? null : (tables.chats.get(chatId) ?? undefined)
    const chat = named && current(tables, named)
    const rows = findWorkspace(tables, scope.workspaceId)?.received ?? []
    const isListed = (row: ReceivedRow): boolean =>
      isReadable(row) &&
      isIn(scope, row.lane, row.message.mode) &&
      (numberId === null || row.lane.number.id === numberId) &&
      (chat === null || row.chat === chat) &&
      (kind === null || row.message.kind === kind) &&
      (since === null || row.message.receivedAt >= since) &&
      (until === null || row.message.receivedAt < until)
    return newestFirst(rows, page, (row) => ({ id: row.message.id, row }), isListed).pipe(
      Effect.map(({ items, next }) => ({ items: items.map(({ row }) => toReceived(row)), next })),
    )
  },

  receivedAfter: (scope, numberId, after, kind, limit) => {
    const rows = findLane(tables, numberId)?.received ?? []
    const start = turningPoint(rows, ({ message }) => message.sequence <= after)
    const found: Array<ReceivedMessage> = []
    for (let index = start; index < rows.length; index++) {
      if (found.length >= limit) break
      const row = rows[index]
      if (row === undefined || !isReadable(row) || !isIn(scope, row.lane, row.message.mode))
        continue
      if (kind === null || row.message.kind === kind) found.push(toReceived(row))
    }
    return found
  },

  getReceived: (scope, id) => {
    const row = findReceived(tables, scope, id)
    return row && toReceived(row)
  },

  listChats: (scope, { numberId, phone, unread }, { before, limit }) => {
    const rows = (findWorkspace(tables, scope.workspaceId)?.chats ?? [])
      .filter(
        (row) =>
          isReadableChat(row) &&
          isOpen(row) &&
          isIn(scope, row.lane, row.mode) &&
          (before === null || row.chat.activity < before) &&
          (numberId === null || row.lane.number.id === numberId) &&
          (phone === null || row.person?.known.phone === phone) &&
          (unread === null || row.chat.unread > 0 === unread),
      )
      .toSorted((a, b) => b.chat.activity - a.chat.activity)
      .slice(0, limit + 1)
      .map((row) => ({ id: row.chat.activity, row }))
    const { items, next } = getPage(rows, limit)
    return { items: items.map(({ row }) => toChat(row)), next }
  },

  quote: (numberId, replyTo) => findQuote(tables, numberId, replyTo),

  getChat: (scope, id) => {
    const row = chatIn(tables, scope, id)
    return row && toChat(row)
  },
})

// Erasing

const removeFrom = <Row>(rows: Array<Row>, at: number, row: Row): void => {
  if (rows[at] === row) rows.splice(at, 1)
}

const eraseRow = (tables: Tables, row: ReceivedRow, now: number): void => {
  const { chat, lane, message } = row
  const owner = lane.workspace
  const { id, sequence } = message
  removeFrom(
    owner.received,
    turningPoint(owner.received, (one) => one.message.id < id),
    row,
  )
  const isLower = (one: ReceivedRow): boolean => one.message.sequence < sequence
  removeFrom(lane.received, turningPoint(lane.received, isLower), row)
  tables.received.delete(id)
  discardFile(tables, row)
  if (!message.fromMe && id > (chat.chat.readUpTo ?? 0)) {
    chat.chat = { ...chat.chat, unread: Math.max(0, chat.chat.unread - 1) }
  }
  for (const mark of lane.receivedMarks.values()) if (mark.id === id) mark.erasedAt = now
  for (const reaction of lane.reactions) if (reaction.to === row) lane.reactions.delete(reaction)
  eraseEvents(tables, owner, row.eventPositions)
}

/** What quotes one of them quotes it no longer, nor do its events. */
const eraseQuotes = (
  tables: Tables,
  lane: Lane,
  erased: ReadonlySet<ReceivedMessageId | null>,
): void => {
  for (const row of lane.received) {
    const { replyTo } = row.message
    if (replyTo === null || replyTo.receivedMessageId === null) continue
    if (!erased.has(replyTo.receivedMessageId)) continue
    row.message = { ...row.message, replyTo: erasedQuote }
    changeEvents(tables, row.eventPositions, (event) => {
      changeBody(lane.workspace, event.eventId, withoutQuote)
      return { ...event, body: withoutQuote(event.body) }
    })
  }
}

const eraseEvents = (
  tables: Tables,
  owner: WorkspaceRow,
  positions: ReadonlyArray<number>,
): void => {
  changeEvents(tables, positions, ({ eventId }) => {
    eraseEvent(tables, owner, eventId)
    return null
  })
}

/** What is older is to go. */
const keptSince = ({ conversations, workspace }: WorkspaceRow, now: number): number =>
  workspace.deletedAt !== null || conversations === null
    ? Infinity
    : Math.max(conversations.since, now - conversations.retentionDays * dayMillis)

/** Of messages of this service, and of waits for a copy; those of received messages go with them. */
const eraseReactions = (tables: Tables, owner: WorkspaceRow, now: number): void => {
  const before = keptSince(owner, now)
  for (const lane of owner.lanes) {
    for (const wait of lane.copyWaits) {
      if (lane.removed || wait.toldAt < before) lane.copyWaits.delete(wait)
    }
    for (const row of lane.reactions) {
      if ("remoteId" in row.to) continue
      const { mode } = row.to.message
      const isChatRemoved = owner.chats.some(
        (chat) =>
          chat.removed &&
          chat.lane === lane &&
          chat.mode === mode &&
          chat.group === row.group &&
          (row.group !== null || chat.person === row.person),
      )
      if (!lane.removed && row.storedAt >= before && !isChatRemoved) continue
      lane.reactions.delete(row)
      eraseEvents(tables, owner, row.eventPositions)
    }
  }
}

/** The first rows of a workspace that are to go. */
const doomed = (
  owner: WorkspaceRow,
  { most, now }: ReceivedErasure,
): ReadonlyArray<ReceivedRow> => {
  const { received } = owner
  const before = keptSince(owner, now)
  if (before === Infinity) return received
  const tooMany = Math.max(0, received.length - most)
  return received.filter(
    (row, index) => index < tooMany || row.message.receivedAt < before || !isReadable(row),
  )
}

/** With those that were merged into it. */
const removeChat = (tables: Tables, { chat, lane }: ChatRow): void => {
  for (const row of lane.workspace.chats) {
    if (current(tables, row).chat.id === chat.id) row.removed = true
  }
}

/** Removes those without activity for longest. Whether there were too many. */
const removeExcess = (
  tables: Tables,
  owner: WorkspaceRow,
  { mostChats }: ReceivedErasure,
): boolean => {
  const open = owner.chats.filter(isOpen).toSorted((a, b) => a.chat.activity - b.chat.activity)
  const excess = open.slice(0, Math.max(0, open.length - mostChats))
  for (const row of excess) removeChat(tables, row)
  return excess.length > 0
}

/** Chats without messages go, and people without both. */
const eraseEmptied = (tables: Tables, owner: WorkspaceRow): void => {
  const used = new Set(owner.received.map(({ chat }) => chat))
  const remaining = owner.chats.filter((row) => used.has(current(tables, row)))
  for (const row of owner.chats) {
    if (remaining.includes(row)) continue
    tables.chats.erase(row.chat.id)
    tables.unmarked.delete(row)
  }
  owner.chats.splice(0, owner.chats.length, ...remaining)
  const known = new Set<PersonRow | null>(owner.chats.map(({ person }) => person))
  for (const { author } of owner.received) known.add(author)
  for (const { reactions } of owner.lanes) for (const { person } of reactions) known.add(person)
  for (const { people } of owner.lanes) {
    for (const person of people) if (!known.has(person)) people.delete(person)
  }
}

const eraseMarks = (owner: WorkspaceRow, { marksBefore }: ReceivedErasure): void => {
  for (const lane of owner.lanes) {
    for (const [text, { erasedAt }] of lane.receivedMarks) {
      if (erasedAt !== null && erasedAt < marksBefore) lane.receivedMarks.delete(text)
    }
    if (!lane.removed) continue
    lane.receivedMarks.clear()
    lane.receivedSequence = 0
  }
}

const eraseSome = (tables: Tables, erasure: ReceivedErasure): boolean => {
  let left = erasedAtOnce
  let isMoreToGo = false
  for (const owner of tables.workspaces.rows) {
    if (erasure.workspaceId !== null && owner.workspace.id !== erasure.workspaceId) continue
    const erased = doomed(owner, erasure).slice(0, left)
    for (const row of erased) eraseRow(tables, row, erasure.now)
    left -= erased.length
    const ids = new Set(erased.map(({ message }) => message.id))
    for (const lane of new Set(erased.map((row) => row.lane))) eraseQuotes(tables, lane, ids)
    if (left === 0) return true
    if (removeExcess(tables, owner, erasure)) isMoreToGo = true
    eraseReactions(tables, owner, erasure.now)
    eraseEmptied(tables, owner)
    eraseMarks(owner, erasure)
  }
  return isMoreToGo
}

/** Without the methods that other modules have. */
export const chatStore = (
  tables: Tables,
): Omit<Steps<ChatStore>, keyof ReceivingSteps | keyof ReadMarkSteps | "listEntries"> => ({
  ...readSteps(tables),

  conversations: (workspaceId) => {
    const owner = findWorkspace(tables, workspaceId)
    return owner === undefined ? null : withStored(owner)
  },

  anyConversations: Effect.sync(() =>
    tables.workspaces.rows.some(
      ({ conversations, workspace }) => conversations !== null && workspace.deletedAt === null,
    ),
  ),

  putConversations: (workspaceId, settings) => {
    const owner = findWorkspace(tables, workspaceId)
    if (owner === undefined) return null
    if (owner.conversations === null) {
      // A pause from before is not reported; its end is.
      for (const lane of owner.lanes) {
        lane.isPauseReported = pausedUntil(lane.control.pauses.first, settings.since) !== null
      }
    }
    owner.conversations = { ...settings, since: owner.conversations?.since ?? settings.since }
    for (const lane of owner.lanes) turnNewChats(tables, lane, settings.since)
    return withStored(owner)
  },

  deleteConversations: (workspaceId, now) => {
    const owner = findWorkspace(tables, workspaceId)
    if (owner === undefined || owner.conversations === null) return false
    owner.conversations = null
    for (const lane of owner.lanes) {
      lane.restrictions = null
      turnNewChats(tables, lane, now)
    }
    return true
  },

  deleteReceived: (scope, id, now) => {
    const row = findReceived(tables, scope, id)
    if (row === null) return false
    eraseRow(tables, row, now)
    eraseQuotes(tables, row.lane, new Set([id]))
    return true
  },

  deleteChat: (scope, id) => {
    const row = chatIn(tables, scope, id)
    if (row !== null) removeChat(tables, current(tables, row))
    return row !== null
  },

  eraseReceived: (erasure) => eraseSome(tables, erasure),
})
