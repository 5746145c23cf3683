/** Storing what was written to a number, within a transaction. */
import { numberAsPerson, receivedEvent } from "@messaging-service/core"
import type {
  ChatId,
  ChatType,
  MessageId,
  NewReceived,
  NumberId,
  Person,
  Platform,
  ReceivedMessage,
  ReceivedMessageId,
  ReceivedOutcome,
  ServiceEvent,
  WorkspaceId,
} from "@messaging-service/core"
import { Effect } from "effect"
import type * as SqlError from "effect/sql/SqlError"
import type { RunStatement } from "../database/Database.ts"
import { idOrNull, statement, toColumns } from "../database/Sql.ts"
import type { Element, Row } from "../database/Sql.ts"

const receiveMessages = statement("receive_messages")
const announceReceived = statement("announce_received")

type ReceivedRow = Row<"receive_messages">

type KnownPerson = Pick<ReceivedRow, "phone" | "lid" | "user_id" | "username" | "name">

export const toPerson = (row: KnownPerson): Person => ({
  phone: row.phone,
  lid: row.lid,
  userId: row.user_id,
  username: row.username,
  name: row.name,
})

const toJson = (value: object | null): string | null =>
  value === null ? null : JSON.stringify(value)

const toElement = ({ incoming }: NewReceived): Element<"receive_messages"> => {
  const { content, file, fromMe, group, kind, mode, person, quote, remoteId, sentAt, text } =
    incoming
  return {
    remoteIds: remoteId,
    addresses: incoming.address ?? null,
    modes: mode,
    fromMe,
    groupIds: group?.remoteId ?? null,
    groupNames: group?.name ?? null,
    hasPerson: person !== null,
    phones: person?.phone ?? null,
    lids: person?.lid ?? null,
    userIds: person?.userId ?? null,
    usernames: person?.username ?? null,
    names: person?.name ?? null,
    kinds: kind,
    texts: text,
    contents: toJson(content),
    files: toJson(file),
    fileSources: incoming.fileSource ?? null,
    quotedIds: quote?.remoteId ?? null,
    quoteTexts: quote?.text ?? null,
    sentAt,
  }
}

/** What was stored of it, as it is at this moment. */
const toStored = (
  { incoming: { content, file, fromMe, kind, mode, quote, sentAt, text } }: NewReceived,
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
    sentAt,
    receivedAt: now,
    editedAt: null,
    revokedAt: null,
  }
}

const toEventElement = (event: ServiceEvent): Element<"announce_received"> => ({
  ids: event.receivedMessageId ?? null,
  modes: event.mode,
  eventIds: event.id,
  eventTypes: event.type,
  eventBodies: event.body,
})

/** See `ChatStore.receive`; `queued`: whether deliveries were. */
export const receiveIn = Effect.fnUntraced(function* receiveIn(
  run: RunStatement,
  numberId: NumberId,
  received: ReadonlyArray<NewReceived>,
  now: number,
): Effect.fn.Return<
  { readonly outcomes: ReadonlyArray<ReceivedOutcome>; readonly queued: boolean },
  SqlError.SqlError
> {
  const columns = toColumns(received.map(toElement))
  const rows = yield* receiveMessages.in(run, { number: numberId, now, ...columns })
  const outcomes = rows.map(({ id, is_new: isNew }) => ({
    id: idOrNull<ReceivedMessageId>(id),
    isNew,
  }))
  const events = received.flatMap((one, index) => {
    const row = rows[index]
    return row?.is_new === true
      ? [receivedEvent(one.eventId, toStored(one, row, numberId, now), one.link)]
      : []
  })
  const [first] = events
  if (first === undefined) return { outcomes, queued: false }
  const [announced] = yield* announceReceived.in(run, {
    workspaceId: first.workspaceId,
    now,
    ...toColumns(events.map(toEventElement)),
  })
  return { outcomes, queued: announced?.answer === true }
})
