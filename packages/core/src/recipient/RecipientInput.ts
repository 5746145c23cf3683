/** `to` in a request: exactly one recipient key (contract: Recipient object). */
import { Schema } from "effect"
import type { ContactId } from "../id/Ids.ts"
import { decoded, refusedAs } from "../request/Input.ts"
import { isGroupName } from "./GroupName.ts"
import { parsePhone } from "./Phone.ts"
import type { RequestedRecipient } from "./Recipient.ts"
import { parseUsername } from "./Username.ts"
import type { SchemaIssue } from "effect"

const Fields = Schema.Struct({
  phone: Schema.optionalKey(Schema.String),
  group: Schema.optionalKey(
    Schema.String.check(
      Schema.makeFilter((name) =>
        isGroupName(name) ? undefined : "must be a group name of 1 to 100 characters",
      ),
    ),
  ),
  contact_id: Schema.optionalKey(Schema.Int),
  username: Schema.optionalKey(Schema.String),
}).check(
  Schema.makeFilter((to) =>
    Object.keys(to).length === 1
      ? undefined
      : "must have exactly one of phone, group, contact_id and username",
  ),
)

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
