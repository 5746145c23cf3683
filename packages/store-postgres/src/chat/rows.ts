/** Received messages as their rows have them. */
import { numberAsPerson } from "@messaging-service/core"
import type {
  ChatId,
  ChatType,
  MessageId,
  NumberId,
  Person,
  Platform,
  ReceivedKind,
  ReceivedMessage,
  ReceivedMessageId,
  SendingNumber,
  WorkspaceId,
} from "@messaging-service/core"
import { idOrNull, millis, statement } from "../database/Sql.ts"
import type { Row } from "../database/Sql.ts"

export const getReceived = statement("received.get")

type KnownPerson = Pick<Row<"receive_messages">, "phone" | "lid" | "user_id" | "username" | "name">

export const toPerson = (row: KnownPerson): Person => ({
  phone: row.phone,
  lid: row.lid,
  userId: row.user_id,
  username: row.username,
  name: row.name,
})

interface ReactionRow extends KnownPerson {
  readonly fromMe: boolean
  readonly emoji: string
  readonly at: number
}

/** Null: there are none. */
export const toReactions = (
  rows: unknown,
  number: Pick<SendingNumber, "phone">,
): ReceivedMessage["reactions"] =>
  ((rows ?? []) as ReadonlyArray<ReactionRow>).map(({ at, emoji, fromMe, ...person }) => ({
    from: fromMe ? numberAsPerson(number) : toPerson(person),
    emoji,
    at,
  }))

export const toReceived = (row: Row<"received.get">): ReceivedMessage => {
  const number = {
    id: Number(row.number_id) as NumberId,
    phone: row.number_phone,
    platform: row.platform as Platform,
  }
  return {
    id: Number(row.id) as ReceivedMessageId,
    workspaceId: Number(row.workspace_id) as WorkspaceId,
    mode: row.mode as ReceivedMessage["mode"],
    sequence: Number(row.sequence),
    number,
    chat: {
      id: Number(row.chat_id) as ChatId,
      type: row.chat_type as ChatType,
      name: row.chat_name,
    },
    fromMe: row.from_me,
    from: row.from_me ? numberAsPerson(number) : toPerson(row),
    kind: row.kind as ReceivedKind,
    text: row.text,
    content: row.content as ReceivedMessage["content"],
    file: row.file as ReceivedMessage["file"],
    replyTo:
      row.quote_text === null
        ? null
        : {
            receivedMessageId: idOrNull<ReceivedMessageId>(row.quoted_received_id),
            messageId: idOrNull<MessageId>(row.quoted_message_id),
            text: row.quote_text,
          },
    reactions: toReactions(row.reactions, number),
    sentAt: row.sent_at.getTime(),
    receivedAt: row.received_at.getTime(),
    editedAt: millis(row.edited_at),
    revokedAt: millis(row.revoked_at),
  }
}
