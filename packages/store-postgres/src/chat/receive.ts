/** What happened in a number's chats, stored within a transaction. */
import {
  changedEvent,
  changedMessage,
  changedReaction,
  copyWaitMillis,
  numberAsPerson,
  reactionEvent,
  receivedEvent,
  withoutCopy,
} from "@messaging-service/core"
import type {
  ChatId,
  ChatType,
  EventId,
  IncomingChange,
  IncomingGap,
  IncomingMessage,
  MessageId,
  NewReceived,
  NumberId,
  ChatContext,
  Platform,
  Reaction,
  ReceivedFileState,
  ReceivedMessage,
  ReceivedMessageId,
  ReceivedOutcome,
  ServiceEvent,
  UnreadableMessage,
  WorkspaceId,
} from "@messaging-service/core"
import { Effect } from "effect"
import type * as SqlError from "effect/sql/SqlError"
import type { RunStatement } from "../database/Database.ts"
import { idOrNull, millis, statement, toColumns } from "../database/Sql.ts"
import type { Element, Row } from "../database/Sql.ts"
import { toMessage } from "../message/toMessage.ts"
import { getReceived, toPerson, toReactions, toReceived } from "./rows.ts"

const receiveMessages = statement("receive_messages")
const endCopyWaits = statement("end_copy_waits")
const announceReceived = statement("announce_received")

type ReceivedRow = Row<"receive_messages">

const toPlace = ({ group, person }: ChatContext) => ({
  groupId: group?.remoteId ?? null,
  groupName: group?.name ?? null,
  hasPerson: person !== null,
  phone: person?.phone ?? null,
  lid: person?.lid ?? null,
  userId: person?.userId ?? null,
  username: person?.username ?? null,
  name: person?.name ?? null,
})

// Events

/** `position`: drawn before, where what it reports keeps it. */
interface Announced {
  readonly event: ServiceEvent
  readonly position?: number | bigint | null
}

const toEventElement = ({ event, position = null }: Announced): Element<"announce_received"> => ({
  workspaceIds: event.workspaceId,
  modes: event.mode,
  receivedIds: event.receivedMessageId ?? null,
  messageIds: event.messageId,
  positions: position,
  eventIds: event.id,
  eventTypes: event.type,
  eventBodies: event.body,
})

/** Whether deliveries were queued. */
const announce = Effect.fnUntraced(function* announce(
  run: RunStatement,
  events: ReadonlyArray<Announced>,
  now: number,
): Effect.fn.Return<boolean, SqlError.SqlError> {
  if (events.length === 0) return false
  const [announced] = yield* announceReceived.in(run, {
    // What a clock behind the conversations' beginning stores is of that time.
    now: Math.max(now, ...events.map(({ event }) => event.createdAt)),
    ...toColumns(events.map(toEventElement)),
  })
  return announced?.answer === true
})

/** `queued`: whether deliveries were. */
interface Received {
  readonly outcomes: ReadonlyArray<ReceivedOutcome>
  readonly queued: boolean
}

const toOutcome = ({ became, id }: Pick<ReceivedRow, "became" | "id">): ReceivedOutcome => ({
  id: idOrNull<ReceivedMessageId>(id),
  became: became as ReceivedOutcome["became"],
})

const dropped: Received = { outcomes: [{ id: null, became: "dropped" }], queued: false }

const toRepeat = (id: ReceivedMessageId | null): Received => ({
  outcomes: [{ id, became: "repeat" }],
  queued: false,
})

// Messages

type Written = IncomingMessage | UnreadableMessage

const toJson = (value: object | null): string | null =>
  value === null ? null : JSON.stringify(value)

const toElement = (incoming: Written): Element<"receive_messages"> => {
  const { fromMe, mode, remoteId, sentAt } = incoming
  const { groupId, groupName, hasPerson, lid, name, phone, userId, username } = toPlace(incoming)
  const message = incoming._tag === "Message" ? incoming : null
  return {
    remoteIds: remoteId,
    addresses: message?.address ?? null,
    modes: mode,
    fromMe,
    groupIds: groupId,
    groupNames: groupName,
    hasPerson: hasPerson,
    phones: phone,
    lids: lid,
    userIds: userId,
    usernames: username,
    names: name,
    kinds: message?.kind ?? null,
    texts: message?.text ?? null,
    contents: toJson(message?.content ?? null),
    files: toJson(message?.file ?? null),
    fileSources: message?.fileSource ?? null,
    quotedIds: message?.quote?.remoteId ?? null,
    quoteTexts: message?.quote?.text ?? null,
    sentAt,
    isUnreadable: message === null ? true : null,
  }
}

/** What is stored of it, as it is at this moment. */
const toStored = (
  { content, file, fromMe, kind, mode, quote, sentAt, text }: IncomingMessage,
  row: ReceivedRow,
  numberId: NumberId,
  now: number,
): ReceivedMessage => {
  const number = {
    id: numberId,
    phone: row.number_phone,
    platform: row.platform as Platform,
  }
  return {
    id: Number(row.id) as ReceivedMessageId,
    workspaceId: Number(row.workspace_id) as WorkspaceId,
    mode,
    sequence: Number(row.sequence),
    number,
    chat: {
      id: Number(row.chat_id) as ChatId,
      type: row.chat_type as ChatType,
      name: row.chat_name,
    },
    fromMe,
    from: fromMe ? numberAsPerson(number) : toPerson(row),
    kind,
    text,
    content,
    file: file && {
      ...file,
      state: (row.file_state ?? "off") as NonNullable<ReceivedMessage["file"]>["state"],
    },
    replyTo: quote && {
      receivedMessageId: idOrNull<ReceivedMessageId>(row.quoted_received_id),
      messageId: idOrNull<MessageId>(row.quoted_message_id),
      text: quote.text,
    },
    reactions: toReactions(row.reactions, number),
    // Of one that takes the place of another they are the other one's.
    sentAt: millis(row.sent_at) ?? sentAt,
    receivedAt: millis(row.received_at) ?? now,
    editedAt: null,
    revokedAt: null,
  }
}

const receiveWritten = Effect.fnUntraced(function* receiveWritten(
  run: RunStatement,
  numberId: NumberId,
  received: ReadonlyArray<NewReceived<Written>>,
  now: number,
): Effect.fn.Return<Received, SqlError.SqlError> {
  const rows = yield* receiveMessages.in(run, {
    number: numberId,
    now,
    waitsUntil: now + copyWaitMillis,
    ...toColumns(received.map(({ incoming }) => toElement(incoming))),
  })
  const events = received.flatMap(({ incoming, ...one }, index): ReadonlyArray<Announced> => {
    const row = rows[index]
    if (row === undefined || incoming._tag !== "Message") return []
    if (row.became !== "stored" && row.became !== "recovered") return []
    const message = toStored(incoming, row, numberId, now)
    const event =
      row.became === "stored"
        ? receivedEvent(one, message)
        : changedEvent(one, "message.recovered", message, now)
    return [{ event }]
  })
  const outcomes = rows.map((row): ReceivedOutcome => {
    const outcome = toOutcome(row)
    const hasFile = row.became === "stored" || row.became === "recovered"
    return hasFile && row.file_state !== null
      ? { ...outcome, file: row.file_state as ReceivedFileState }
      : outcome
  })
  return { outcomes, queued: yield* announce(run, events, now) }
})

/** See `ChatStore.endCopyWaits`; `queued`: whether deliveries were. */
export const endCopyWaitsIn = Effect.fnUntraced(function* endCopyWaitsIn(
  run: RunStatement,
  eventIds: ReadonlyArray<EventId>,
  now: number,
): Effect.fn.Return<{ readonly count: number; readonly queued: boolean }, SqlError.SqlError> {
  const rows = yield* endCopyWaits.in(run, { now, limit: eventIds.length })
  const events = rows.flatMap((row, index): ReadonlyArray<Announced> => {
    const eventId = eventIds[index]
    if (row.became !== "stored" || eventId === undefined) return []
    const message = withoutCopy({
      _tag: "Unreadable",
      mode: row.mode as IncomingMessage["mode"],
      fromMe: row.from_me,
      // As the row has them.
      group: null,
      person: null,
      remoteId: "",
      sentAt: row.sent_at.getTime(),
    })
    const ofNew = {
      ...row,
      sent_at: null,
      received_at: null,
      reactions: null,
      quoted_received_id: null,
      quoted_message_id: null,
      file_state: null,
    }
    const numberId = Number(row.number_id) as NumberId
    return [{ event: receivedEvent({ eventId }, toStored(message, ofNew, numberId, now)) }]
  })
  return { count: rows.length, queued: yield* announce(run, events, now) }
})

// Changes of messages

const findChanged = statement("find_changed")
const changeReceived = statement("received.change")
const eraseFiles = statement("erase_received_files")
const putReaction = statement("put_reaction")
const messagesById = statement("message.byIds")

type ChangedRow = Row<"find_changed">

const lookUpReceived = Effect.fnUntraced(function* lookUpReceived(
  run: RunStatement,
  row: ChangedRow,
  mode: string,
): Effect.fn.Return<ReceivedMessage | undefined, SqlError.SqlError> {
  const [found] = yield* getReceived.in(run, {
    workspaceId: row.workspace_id,
    mode,
    numbers: null,
    id: row.received_id,
  })
  return found && toReceived(found)
})

const changeMessage = Effect.fnUntraced(function* changeMessage(
  run: RunStatement,
  row: ChangedRow,
  { eventId, incoming, link }: NewReceived<IncomingChange>,
  now: number,
): Effect.fn.Return<Received, SqlError.SqlError> {
  const message = yield* lookUpReceived(run, row, incoming.mode)
  if (message === undefined) return dropped
  const { id } = message
  const changed = changedMessage(message, incoming)
  if (changed === null) return toRepeat(id)
  const { content, editedAt, file, revokedAt, text } = changed
  const params = { id, text, content: toJson(content), file: toJson(file), editedAt, revokedAt }
  yield* changeReceived.in(run, params)
  if (message.file !== null && file === null) yield* eraseFiles.in(run, { ids: [id] })
  const type = incoming.change.type === "edit" ? "message.edited" : "message.revoked"
  const event = changedEvent({ eventId, link }, type, changed, now)
  const queued = yield* announce(run, [{ event }], now)
  return { outcomes: [{ id, became: "changed" }], queued }
})

const toLatest = ({ emoji, reacted_at: reactedAt }: ChangedRow) =>
  reactedAt === null ? null : { emoji, at: reactedAt.getTime() }

const react = Effect.fnUntraced(function* react(
  run: RunStatement,
  numberId: NumberId,
  row: ChangedRow,
  { incoming, ...one }: NewReceived<IncomingChange>,
  reaction: Pick<Reaction, "emoji" | "at">,
  now: number,
): Effect.fn.Return<Received, SqlError.SqlError> {
  const { fromMe, group, mode } = incoming
  const id = idOrNull<ReceivedMessageId>(row.received_id)
  const { isStored, isTold } = changedReaction(toLatest(row), reaction)
  if (!isStored) return toRepeat(id)
  const [stored] = yield* putReaction.in(run, {
    id: row.reaction_id,
    number: numberId,
    received: row.received_id,
    message: row.message_id,
    mode,
    fromMe,
    person: row.person_id,
    groupId: group?.remoteId ?? null,
    ...reaction,
    now,
    tells: isTold,
  })
  if (!isTold) return toRepeat(id)
  const to =
    row.message_id === null
      ? yield* lookUpReceived(run, row, mode)
      : (yield* messagesById.in(run, { ids: [row.message_id] })).map(toMessage)[0]
  if (to === undefined) return dropped
  const from = fromMe ? numberAsPerson({ phone: row.number_phone }) : toPerson(row)
  const event = reactionEvent(
    one,
    { from, ...reaction },
    "sequence" in to ? { received: to } : { message: to },
    now,
  )
  const position = stored?.answer ?? null
  const queued = yield* announce(run, [{ event, position }], now)
  return { outcomes: [{ id, became: "changed" }], queued }
})

const change = Effect.fnUntraced(function* change(
  run: RunStatement,
  numberId: NumberId,
  one: NewReceived<IncomingChange>,
  now: number,
): Effect.fn.Return<Received, SqlError.SqlError> {
  const { at, change: changed, fromMe, isVerified, mode, target } = one.incoming
  const { groupName: _, ...place } = toPlace(one.incoming)
  const [row] = yield* findChanged.in(run, {
    number: numberId,
    isReaction: changed.type === "reaction",
    remoteId: target.remoteId,
    targetFromMe: target.fromMe,
    isVerified,
    mode,
    fromMe,
    ...place,
    changeId: one.incoming.changeId ?? null,
    now,
  })
  if (row === undefined) return dropped
  return changed.type === "reaction"
    ? yield* react(run, numberId, row, one, { emoji: changed.emoji, at }, now)
    : yield* changeMessage(run, row, one, now)
})

// Gaps

const reportGap = statement("report_gap")

const tellGap = Effect.fnUntraced(function* tellGap(
  run: RunStatement,
  numberId: NumberId,
  { eventId, incoming: { from, reason } }: NewReceived<IncomingGap>,
  now: number,
): Effect.fn.Return<Received, SqlError.SqlError> {
  const [told] = yield* reportGap.in(run, { number: numberId, eventId, reason, from, now })
  return told?.answer === true
    ? { outcomes: [{ id: null, became: "told" }], queued: true }
    : dropped
})

// All of it

type Step =
  | { readonly _tag: "Written"; readonly all: Array<NewReceived<Written>> }
  | { readonly _tag: "Change"; readonly one: NewReceived<IncomingChange> }
  | { readonly _tag: "Gap"; readonly one: NewReceived<IncomingGap> }

/** In their order; messages that follow one another are one step. */
const toSteps = (received: ReadonlyArray<NewReceived>): ReadonlyArray<Step> => {
  const steps: Array<Step> = []
  for (const one of received) {
    const { incoming } = one
    const last = steps.at(-1)
    if (incoming._tag === "Gap") steps.push({ _tag: "Gap", one: { ...one, incoming } })
    else if (incoming._tag === "Change") steps.push({ _tag: "Change", one: { ...one, incoming } })
    else if (last?._tag === "Written") last.all.push({ ...one, incoming })
    else steps.push({ _tag: "Written", all: [{ ...one, incoming }] })
  }
  return steps
}

/** See `ChatStore.receive`. */
export const receiveIn = Effect.fnUntraced(function* receiveIn(
  run: RunStatement,
  numberId: NumberId,
  received: ReadonlyArray<NewReceived>,
  now: number,
): Effect.fn.Return<Received, SqlError.SqlError> {
  const done = yield* Effect.forEach(toSteps(received), (step) => {
    switch (step._tag) {
      case "Written":
        return receiveWritten(run, numberId, step.all, now)
      case "Change":
        return change(run, numberId, step.one, now)
      case "Gap":
        return tellGap(run, numberId, step.one, now)
    }
  })
  return {
    outcomes: done.flatMap(({ outcomes }) => outcomes),
    queued: done.some(({ queued }) => queued),
  }
})
