/** A message as its rows have it. */
import type {
  CampaignId,
  ChatAddress,
  ChatId,
  ContactId,
  MediaId,
  Message,
  MessageId,
  NumberId,
  Phone,
  ReceivedMessageId,
  Recipient,
  WorkspaceId,
} from "@messaging-service/core"
import { idOrNull, millis } from "../database/Sql.ts"
import type { Row } from "../database/Sql.ts"

/** Its phone is the number's while the message waits, then what its end wrote down. */
export type MessageRow = Row<"message.byIds">

type MediaType = NonNullable<Message["media"]>["type"]

export const toMessage = (row: MessageRow): Message => ({
  id: Number(row.id) as MessageId,
  workspaceId: Number(row.workspace_id) as WorkspaceId,
  mode: row.mode as Message["mode"],
  state: row.state as Message["state"],
  from: {
    id: Number(row.number_id) as NumberId,
    phone: row.phone as Message["from"]["phone"],
    platform: row.platform as Message["from"]["platform"],
  },
  phoneAtAcceptance: row.from_phone as Message["phoneAtAcceptance"],
  to: toRecipient(row),
  text: row.text,
  media:
    row.media_id === null && row.media_url === null && row.attachment_id === null
      ? null
      : {
          mediaId: idOrNull<MediaId>(row.media_id),
          attachmentId: idOrNull<MediaId>(row.attachment_id),
          url: row.media_url,
          type: row.media_type as MediaType,
          fileName: row.media_file_name,
        },
  foundMediaType: row.found_media_type as Message["foundMediaType"],
  sendAt: millis(row.send_at),
  expiresAt: millis(row.expires_at),
  createdAt: row.created_at.getTime(),
  dueAt: row.due_at.getTime(),
  sentAt: millis(row.sent_at),
  error:
    row.error_code === null
      ? null
      : {
          code: row.error_code as NonNullable<Message["error"]>["code"],
          message: row.error_message ?? "",
        },
  transportId: row.transport_id as Message["transportId"],
  callbackUrl: row.callback_url,
  reference: row.reference,
  campaign:
    row.campaign_id === null || row.campaign_row === null
      ? null
      : { id: Number(row.campaign_id) as CampaignId, row: row.campaign_row },
  replyTo: toReplyTo(row),
})

const toReplyTo = (row: MessageRow): Message["replyTo"] => {
  const receivedMessageId = idOrNull<ReceivedMessageId>(row.reply_received_id)
  if (receivedMessageId !== null) return { receivedMessageId }
  const messageId = idOrNull<MessageId>(row.reply_message_id)
  return messageId === null ? null : { messageId }
}

/** What a row says of its recipient. */
export type RecipientColumns = Pick<
  MessageRow,
  "to_kind" | "to_phone" | "to_name" | "to_address" | "to_contact_id" | "to_chat_id"
>

/** The name is that of a group, or a username. */
const toChatRecipient = (row: RecipientColumns): Recipient => {
  const { to_address: address, to_name: name, to_phone: phone } = row
  return {
    kind: "chat",
    chatId: Number(row.to_chat_id) as ChatId,
    ...(address !== null && { address: address as ChatAddress }),
    ...(phone !== null && { phone: phone as Phone }),
    ...(name !== null && (address?.startsWith("group:") ? { group: name } : { username: name })),
  }
}

export const toRecipient = (row: RecipientColumns): Recipient => {
  const contactId = idOrNull<ContactId>(row.to_contact_id)
  const phone = (row.to_phone ?? "") as Phone
  const name = row.to_name ?? ""
  switch (row.to_kind as Recipient["kind"]) {
    case "phone":
      return { kind: "phone", phone, contactId }
    case "group":
      return { kind: "group", group: name }
    case "contact_phone":
      return { kind: "contact_phone", contactId: contactId ?? (0 as ContactId), phone }
    case "contact_username":
      return { kind: "contact_username", contactId: contactId ?? (0 as ContactId), username: name }
    case "username":
      return { kind: "username", username: name }
    case "chat":
      return toChatRecipient(row)
  }
}
