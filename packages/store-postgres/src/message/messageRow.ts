/** A message as its table keeps it, and back. */
import type {
  ContactId,
  MediaId,
  Message,
  MessageId,
  NumberId,
  Phone,
  Recipient,
  WorkspaceId,
} from "@messaging-service/core"
import { bigint, columnsOf, idOrNull, instant, listed, millis, text } from "../database/Fields.ts"
import type { FieldsOf, RowOf } from "../database/Fields.ts"
import { plannedTime } from "../queue/lane.ts"

/** What the end of a message writes; all else is written at acceptance. */
type EndField = "state" | "sentAt" | "error" | "foundMediaType"

/** What acceptance writes. */
export const acceptedColumns = columnsOf({
  workspaceId: { workspace_id: bigint((message) => message.workspaceId) },
  mode: { mode: text((message) => message.mode) },
  // Its phone is the number's while the message waits.
  from: {
    number_id: bigint((message) => message.from.id),
    platform: text((message) => message.from.platform),
  },
  phoneAtAcceptance: { from_phone: text((message) => message.phoneAtAcceptance) },
  to: {
    to_kind: text(({ to }) => to.kind),
    to_phone: text(({ to }) => ("phone" in to ? to.phone : null)),
    to_name: text(({ to }) =>
      to.kind === "group" ? to.group : "username" in to ? to.username : null,
    ),
    to_contact_id: bigint(({ to }) => ("contactId" in to ? to.contactId : null)),
  },
  text: { text: text((message) => message.text) },
  media: {
    media_id: bigint(({ media }) => media?.mediaId ?? null),
    attachment_id: bigint(({ media }) => media?.attachmentId ?? null),
    media_url: text(({ media }) => media?.url ?? null),
    media_type: text(({ media }) => media?.type ?? null),
    media_file_name: text(({ media }) => media?.fileName ?? null),
  },
  sendAt: { send_at: instant((message) => message.sendAt) },
  expiresAt: { expires_at: instant((message) => message.expiresAt) },
  createdAt: { created_at: instant((message) => message.createdAt) },
  dueAt: { due_at: instant((message) => message.dueAt) },
  transportId: { transport_id: text((message) => message.transportId) },
  callbackUrl: { callback_url: text((message) => message.callbackUrl) },
} satisfies FieldsOf<Omit<Message, EndField | "id">>)

const stateColumns = columnsOf({
  state: { state: text((message) => message.state) },
  sentAt: { sent_at: instant((message) => message.sentAt) },
  error: {
    error_code: text(({ error }) => error?.code ?? null),
    error_message: text(({ error }) => error?.message ?? null),
  },
  foundMediaType: { found_media_type: text((message) => message.foundMediaType) },
} satisfies FieldsOf<Pick<Message, EndField>>)

export const endColumns = {
  ...stateColumns,
  /**
   * The phone that it left from: nothing where that is the one of its acceptance, which is nearly
   * always; an empty text where there is none.
   */
  end_phone: text(({ from, phoneAtAcceptance }: Message) =>
    from.phone === phoneAtAcceptance ? null : (from.phone ?? ""),
  ),
}

const columns = {
  id: bigint((message: Message) => message.id),
  ...acceptedColumns,
  ...stateColumns,
}

export type MessageRow = RowOf<typeof columns> & {
  /** The one that is shown. */
  readonly phone: string | null
}

const phoneOfNumber = (alias: string): string => `(
      select sender.phone
      from numbers sender
      where sender.id = ${alias}.number_id
    )`

/**
 * The columns to select from the table of that alias. The phone that is shown is the number's while
 * the message waits, then what its end wrote down; `numberPhone` where the number is at hand.
 */
export const messageColumns = (alias: string, numberPhone = phoneOfNumber(alias)): string =>
  `${listed(columns, (name) =>
    name === "due_at" ? `${plannedTime(alias)} as due_at` : `${alias}.${name}`,
  )}, :code.shown_phone(
    ${alias}.state, ${numberPhone}, ${alias}.end_phone, ${alias}.from_phone
  ) as phone`

/** What these columns are. */
export const messageAnswer = { ...columns, phone: text(() => null) }

/** The names of these columns, in their order. */
export const messageNames = [...Object.keys(columns), "phone"]

export const toMessage = (row: MessageRow): Message => ({
  id: Number(row.id) as MessageId,
  workspaceId: Number(row.workspace_id) as WorkspaceId,
  mode: row.mode,
  state: row.state,
  from: { id: Number(row.number_id) as NumberId, phone: row.phone, platform: row.platform },
  phoneAtAcceptance: row.from_phone,
  to: toRecipient(row),
  text: row.text,
  media:
    row.media_id === null && row.media_url === null && row.attachment_id === null
      ? null
      : {
          mediaId: idOrNull<MediaId>(row.media_id),
          attachmentId: idOrNull<MediaId>(row.attachment_id),
          url: row.media_url,
          type: row.media_type,
          fileName: row.media_file_name,
        },
  foundMediaType: row.found_media_type,
  sendAt: millis(row.send_at),
  expiresAt: millis(row.expires_at),
  createdAt: row.created_at.getTime(),
  dueAt: row.due_at.getTime(),
  sentAt: millis(row.sent_at),
  error:
    row.error_code === null ? null : { code: row.error_code, message: row.error_message ?? "" },
  transportId: row.transport_id,
  callbackUrl: row.callback_url,
})

const toRecipient = (row: MessageRow): Recipient => {
  const contactId = idOrNull<ContactId>(row.to_contact_id)
  const phone = row.to_phone ?? ("" as Phone)
  const name = row.to_name ?? ""
  switch (row.to_kind) {
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
  }
}
