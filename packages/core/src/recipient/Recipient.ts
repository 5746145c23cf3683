/** Who a message goes to, once it is accepted; and what a transport has to reach. */
import { Schema } from "effect"
import { IdJson } from "../request/Answer.ts"
import type { ContactId } from "../id/Ids.ts"
import { described } from "../request/Described.ts"
import type { Phone } from "./Phone.ts"
import { parseUsername } from "./RecipientInput.ts"
import type { Username } from "./RecipientInput.ts"

/** What a request names: exactly one key of the contract's `to`. */
export type RequestedRecipient =
  | { readonly kind: "phone"; readonly phone: Phone }
  | { readonly kind: "group"; readonly group: string }
  | { readonly kind: "contact"; readonly contactId: ContactId }
  | { readonly kind: "username"; readonly username: Username }

/** What a message keeps: contacts are resolved at acceptance. */
export type Recipient =
  | { readonly kind: "phone"; readonly phone: Phone; readonly contactId: ContactId | null }
  | { readonly kind: "group"; readonly group: string }
  | { readonly kind: "contact_phone"; readonly contactId: ContactId; readonly phone: Phone }
  | { readonly kind: "contact_username"; readonly contactId: ContactId; readonly username: string }
  | { readonly kind: "username"; readonly username: string }

/** What the far side is asked to reach. */
export type Target =
  | { readonly kind: "phone"; readonly phone: Phone }
  | { readonly kind: "group"; readonly group: string }
  | { readonly kind: "username"; readonly username: string }
  | { readonly kind: "user_id"; readonly userId: number }

export const targetOf = (recipient: Recipient): Target => {
  switch (recipient.kind) {
    case "phone":
    case "contact_phone":
      return { kind: "phone", phone: recipient.phone }
    case "group":
      return { kind: "group", group: recipient.group }
    case "username":
    case "contact_username": {
      const target = parseUsername(recipient.username)?.target
      return target?.kind === "id"
        ? { kind: "user_id", userId: target.id }
        : { kind: "username", username: target?.name ?? recipient.username }
    }
  }
}

/** The recipient as an answer shows it (contract: Recipients). */
export const RecipientJson = Schema.Union([
  Schema.Struct({
    phone: Schema.String,
    contact_id: described(Schema.NullOr(IdJson), "The saved contact with that phone."),
  }),
  Schema.Struct({ group: Schema.String }),
  Schema.Struct({ contact_id: IdJson, username: Schema.String }),
  Schema.Struct({ username: Schema.String }),
]).annotate({ identifier: "MessageRecipient" })

export const recipientJson = (recipient: Recipient): typeof RecipientJson.Type => {
  switch (recipient.kind) {
    case "phone":
      return { phone: recipient.phone, contact_id: recipient.contactId }
    case "group":
      return { group: recipient.group }
    case "contact_phone":
      return { contact_id: recipient.contactId, phone: recipient.phone }
    case "contact_username":
      return { contact_id: recipient.contactId, username: recipient.username }
    case "username":
      return { username: recipient.username }
  }
}
