/**
 * Who a message goes to: what a request names, what the message keeps once it is accepted, what a
 * transport has to reach, and the names of groups and of Telegram users. Without schemas, so that an
 * import of it costs no more than it says.
 */
import type { ContactId } from "../Ids.ts"
import { codePointLength, isBlank } from "../request/text.ts"
import type { Phone } from "./Phone.ts"

/** What a request names: exactly one key of `to` (contract: Recipients). */
export type RequestedRecipient =
  | { readonly kind: "phone"; readonly phone: Phone }
  | { readonly kind: "group"; readonly group: string }
  | { readonly kind: "contact"; readonly contactId: ContactId }
  | { readonly kind: "username"; readonly username: Username }

/** The recipient's key in a request, for the `field` of a refusal. */
export const recipientKey = (recipient: RequestedRecipient): string =>
  recipient.kind === "contact" ? "contact_id" : recipient.kind

/** What a request named, as an answer shows it: as it was referred to (contract: Reminders). */
export const requestedRecipientJson = (to: RequestedRecipient) => {
  switch (to.kind) {
    case "phone":
      return { phone: to.phone }
    case "group":
      return { group: to.group }
    case "contact":
      return { contact_id: to.contactId }
    case "username":
      return { username: to.username.given }
  }
}

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

/** What tells the recipients of one number apart: the phone, else the name as it was given. */
export const recipientName = (recipient: Recipient): string => {
  if ("phone" in recipient) return recipient.phone
  return recipient.kind === "group" ? recipient.group : recipient.username
}

/** Code points of the name that addresses a WhatsApp group. */
export const maximumGroupNameLength = 100

/**
 * Whether a text may name a group: 1 to 100 code points, not white space alone; nothing is trimmed or
 * folded. Whether the sending number has a group of exactly that name shows when the message is sent.
 */
export const isGroupName = (text: string): boolean =>
  !isBlank(text) && codePointLength(text) <= maximumGroupNameLength

/**
 * A Telegram user in one of three spellings: `@name`, a `t.me/name` link, or `tg:` with a user id.
 * `given` is the text as it came and as the message shows it; `target` is whom it means.
 */
export interface Username {
  readonly given: string
  readonly target:
    | { readonly kind: "name"; readonly name: string }
    | { readonly kind: "id"; readonly id: number }
}

/**
 * Reads a username; `undefined` for what is refused as `invalid_username`. A bare name is not accepted, nor
 * is an invite link, which leads to a chat and to no user. Host and scheme of a link compare without case.
 */
export const parseUsername = (text: string): Username | undefined => {
  const id = idForm.exec(text)?.[1]
  if (id !== undefined) {
    const value = Number(id)
    return Number.isSafeInteger(value)
      ? { given: text, target: { kind: "id", id: value } }
      : undefined
  }
  const name = atForm.exec(text)?.[1] ?? linkForm.exec(text)?.[1]
  return name === undefined ? undefined : { given: text, target: { kind: "name", name } }
}

const idForm = /^tg:([1-9][0-9]{0,15})$/
const atForm = /^@([A-Za-z][A-Za-z0-9_]{3,31})$/
// `t.me/joinchat/` is an invite link that lost its code, not a user of that name.
const linkForm = /^(?:https?:\/\/)?(?:www\.)?t\.me\/(?!joinchat\/?$)([a-z][a-z0-9_]{3,31})\/?$/i
