/** A recipient as a request names it and as an answer shows it (contract: Recipients). */
import { Schema } from "effect"
import type { SchemaIssue } from "effect"
import type { ContactId } from "../Ids.ts"
import { IdJson } from "../request/Answer.ts"
import { described } from "../request/Described.ts"
import type { Described } from "../request/Described.ts"
import { decoded, refusedAs } from "../request/Input.ts"
import { parsePhone, phoneDescribed } from "./Phone.ts"
import { isGroupName, maximumGroupNameLength, parseUsername } from "./Recipient.ts"
import type { RequestedRecipient } from "./Recipient.ts"

/** What the document says of a username in a request. */
export const usernameDescribed: Described = {
  description: "A Telegram user: `@name`, a `t.me/name` link, or `tg:` followed by a user id.",
  examples: ["@example"],
}

const Fields = Schema.Struct({
  phone: Schema.optionalKey(Schema.String.annotate({ ...phoneDescribed })),
  group: described(
    Schema.optionalKey(
      Schema.String.check(
        Schema.makeFilter(
          (name) =>
            isGroupName(name)
              ? undefined
              : "must be a group name of 1 to 100 characters, not blank",
          { toJsonSchema: () => ({ minLength: 1, maxLength: maximumGroupNameLength }) },
        ),
      ),
    ),
    "Exact name of a WhatsApp group that the sending number belongs to; looked up when the message is sent.",
  ),
  contact_id: described(Schema.optionalKey(Schema.Int), "Id of a saved contact."),
  username: Schema.optionalKey(Schema.String.annotate({ ...usernameDescribed })),
})
  .check(
    Schema.makeFilter(
      (to) =>
        Object.keys(to).length === 1
          ? undefined
          : "must have exactly one of phone, group, contact_id and username",
      { toJsonSchema: () => ({ minProperties: 1, maxProperties: 1 }) },
    ),
  )
  .annotate({ identifier: "Recipient", description: "Exactly one of the keys." })

const requested = (to: typeof Fields.Type): RequestedRecipient | SchemaIssue.Issue => {
  if (to.phone !== undefined) {
    const phone = parsePhone(to.phone)
    return phone === undefined ? refusedAs("invalid_phone", ["phone"]) : { kind: "phone", phone }
  }
  if (to.username !== undefined) {
    const username = parseUsername(to.username)
    return username === undefined
      ? refusedAs("invalid_username", ["username"])
      : { kind: "username", username }
  }
  return to.group !== undefined
    ? { kind: "group", group: to.group }
    : { kind: "contact", contactId: to.contact_id as ContactId }
}

export const RecipientInput = decoded(Fields, requested)

/** What a request named, as an answer shows it: as it was referred to (contract: Reminders). */
export const RequestedRecipientJson = Schema.Union([
  Schema.Struct({ phone: Schema.String }),
  Schema.Struct({ group: Schema.String }),
  Schema.Struct({ contact_id: IdJson }),
  Schema.Struct({ username: Schema.String }),
]).annotate({ identifier: "ReminderRecipient" })

/** The recipient that a message keeps, as an answer shows it (contract: Recipients). */
export const RecipientJson = Schema.Union([
  Schema.Struct({
    phone: Schema.String,
    contact_id: described(Schema.NullOr(IdJson), "The saved contact with that phone."),
  }),
  Schema.Struct({ group: Schema.String }),
  Schema.Struct({ contact_id: IdJson, username: Schema.String }),
  Schema.Struct({ username: Schema.String }),
]).annotate({ identifier: "MessageRecipient" })
