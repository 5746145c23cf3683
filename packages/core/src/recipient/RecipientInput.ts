/** `to` in a request: exactly one recipient key (contract: Recipients). */
import { Schema } from "effect"
import type { ContactId } from "../id/Ids.ts"
import { described } from "../request/Described.ts"
import { decoded, refusedAs } from "../request/Input.ts"
import { isGroupName, maximumGroupNameLength } from "./GroupName.ts"
import { parsePhone, phoneDescribed } from "./Phone.ts"
import type { RequestedRecipient } from "./Recipient.ts"
import { parseUsername, usernameDescribed } from "./Username.ts"
import type { SchemaIssue } from "effect"

const Fields = Schema.Struct({
  phone: Schema.optionalKey(Schema.String.annotate({ ...phoneDescribed })),
  group: described(
    Schema.optionalKey(
      Schema.String.check(
        Schema.makeFilter(
          (name) => (isGroupName(name) ? undefined : "must be a group name of 1 to 100 characters"),
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

/** The recipient's key in a request, for the `field` of a refusal. */
export const recipientKey = (recipient: RequestedRecipient): string =>
  recipient.kind === "contact" ? "contact_id" : recipient.kind
