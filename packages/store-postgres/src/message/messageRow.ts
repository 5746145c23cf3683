/** A message as its table keeps it, and back. */
import type {
  ContactId,
  MediaId,
  MediaType,
  Message,
  MessageError,
  MessageId,
  MessageState,
  Mode,
  NumberId,
  Phone,
  Platform,
  Recipient,
  TransportId,
  WorkspaceId,
} from "@messaging-service/core"

export interface MessageRow {
  readonly id: bigint
  readonly workspace_id: bigint
  readonly number_id: bigint
  readonly created_at: Date
  readonly due_at: Date
  readonly send_at: Date | null
  readonly expires_at: Date | null
  readonly sent_at: Date | null
  readonly to_contact_id: bigint | null
  readonly media_id: bigint | null
  readonly mode: string
  readonly state: string
  readonly platform: string
  readonly from_phone: string | null
  readonly accepted_phone: string | null
  readonly to_kind: string
  readonly to_phone: string | null
  readonly to_name: string | null
  readonly text: string
  readonly media_url: string | null
  readonly media_type: string | null
  readonly media_file_name: string | null
  readonly found_media_type: string | null
  readonly error_code: string | null
  readonly error_message: string | null
  readonly transport_id: string
  readonly attachment_id: bigint | null
  readonly callback_url: string | null
}

/** The columns of a `MessageRow`, with their types as functions return them. */
const columns = {
  id: "bigint",
  workspace_id: "bigint",
  number_id: "bigint",
  created_at: "timestamptz",
  due_at: "timestamptz",
  send_at: "timestamptz",
  expires_at: "timestamptz",
  sent_at: "timestamptz",
  to_contact_id: "bigint",
  media_id: "bigint",
  mode: "text",
  state: "text",
  platform: "text",
  from_phone: "text",
  accepted_phone: "text",
  to_kind: "text",
  to_phone: "text",
  to_name: "text",
  text: "text",
  media_url: "text",
  media_type: "text",
  media_file_name: "text",
  found_media_type: "text",
  error_code: "text",
  error_message: "text",
  transport_id: "text",
  attachment_id: "bigint",
  callback_url: "text",
} as const satisfies Record<keyof MessageRow, string>

/** The phone that is shown: of the number while the message waits, then what its end wrote down. */
const shownPhone = (alias: string, numberPhone: string): string => `case
    when ${alias}.state = 'waiting' then ${numberPhone}
    else nullif(coalesce(${alias}.end_phone, ${alias}.from_phone), '')
  end as from_phone`

const phoneOfNumber = (alias: string): string => `(
      select sender.phone
      from numbers sender
      where sender.id = ${alias}.number_id
    )`

/** The columns to select from the table of that alias; `numberPhone` where the number is at hand. */
export const messageColumns = (alias: string, numberPhone = phoneOfNumber(alias)): string =>
  Object.keys(columns)
    .map((name) => {
      if (name === "from_phone") return shownPhone(alias, numberPhone)
      return name === "accepted_phone"
        ? `${alias}.from_phone as accepted_phone`
        : `${alias}.${name}`
    })
    .join(", ")

/**
 * What a message's end writes down of the phone that it left from: nothing where that is the one of
 * its acceptance, which is nearly always; an empty text where there is none.
 */
export const endPhone = ({ from, phoneAtAcceptance }: Message): string | null =>
  from.phone === phoneAtAcceptance ? null : (from.phone ?? "")

/** The same as the result of a function. */
export const messageResult: string = Object.entries(columns)
  .map(([name, type]) => `${name} ${type}`)
  .join(", ")

const millis = (date: Date | null): number | null => (date === null ? null : date.getTime())

const idOrNull = <Id extends number>(id: bigint | null): Id | null =>
  id === null ? null : (Number(id) as Id)

export const toMessage = (row: MessageRow): Message => ({
  id: Number(row.id) as MessageId,
  workspaceId: Number(row.workspace_id) as WorkspaceId,
  mode: row.mode as Mode,
  state: row.state as MessageState,
  from: {
    id: Number(row.number_id) as NumberId,
    phone: row.from_phone,
    platform: row.platform as Platform,
  },
  phoneAtAcceptance: row.accepted_phone,
  to: toRecipient(row),
  text: row.text,
  media:
    row.media_id === null && row.media_url === null && row.attachment_id === null
      ? null
      : {
          mediaId: idOrNull<MediaId>(row.media_id),
          attachmentId: idOrNull<MediaId>(row.attachment_id),
          url: row.media_url,
          type: row.media_type as MediaType | null,
          fileName: row.media_file_name,
        },
  foundMediaType: row.found_media_type as MediaType | null,
  sendAt: millis(row.send_at),
  expiresAt: millis(row.expires_at),
  createdAt: row.created_at.getTime(),
  dueAt: row.due_at.getTime(),
  sentAt: millis(row.sent_at),
  error:
    row.error_code === null
      ? null
      : { code: row.error_code as MessageError["code"], message: row.error_message ?? "" },
  transportId: row.transport_id as TransportId,
  callbackUrl: row.callback_url,
})

const toRecipient = (row: MessageRow): Recipient => {
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
  }
}

/** A recipient's columns. */
export const recipientColumns = (to: Recipient) => ({
  kind: to.kind,
  phone: "phone" in to ? to.phone : null,
  name: to.kind === "group" ? to.group : "username" in to ? to.username : null,
  contactId: "contactId" in to ? to.contactId : null,
})
