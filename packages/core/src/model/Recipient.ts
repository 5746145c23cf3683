/**
 * Who a message goes to: what a request names, what the message keeps once it is accepted, what a
 * transport has to reach, and the names of groups and of Telegram users. Without schemas, so that an
 * import of it costs no more than it says.
 */
import { Schema } from "effect"
import type { Brand, Effect, SchemaIssue } from "effect"
import type { StoreUnavailable } from "./Refusal.ts"
import type { ChatId, ContactId, WorkspaceId } from "./Ids.ts"
import { codePointLength, decoded, described, isBlank, refusedAs } from "./Input.ts"
import type { Described } from "./Input.ts"
import type { PageOf, PageQuery } from "./Page.ts"

// Phone numbers in E.164: `+`, country calling code, subscriber number. A number is held against the list of
// assigned calling codes and no further: national numbering plans change faster than any copy of them, and
// numbers reserved for tests belong to none.

/** `+` and 7 to 15 digits, the first of them an assigned country calling code. */
export type Phone = string & Brand.Brand<"Phone">

/**
 * The phone in a text, once its spaces and dashes are taken out; `undefined` for what is refused
 * as `invalid_phone` (contract: Recipients). No country code is ever guessed: a leading 0 is none.
 */
export const parsePhone = (text: string): Phone | undefined => {
  // First the spelling, so that of a long text no more than 17 runs are taken out.
  if (!spelling.test(text)) return undefined
  const compact = text.replaceAll(/[ -]+/g, "")
  return isPhone(compact) ? compact : undefined
}

const spelling = /^[ -]*\+[ -]*[1-9](?:[ -]*[0-9]){6,14}[ -]*$/

/** What the document says of a phone in a request. */
export const phoneDescribed: Described = {
  description: "E.164 with a leading +; spaces and dashes are taken out.",
  pattern: spelling.source,
  examples: ["+15550001234"],
}

/** The digits alone, country code included: the form that numbers show in `phone`. */
export const phoneDigits = (phone: Phone): string => phone.slice(1)

/** Of a text that is spelled like a phone. */
const isPhone = (text: string): text is Phone =>
  callingCodes.has(text.slice(1, 2)) ||
  callingCodes.has(text.slice(1, 3)) ||
  callingCodes.has(text.slice(1, 4))

/**
 * The assigned calling codes, of countries and of none (satellite, freephone, …). A copy, because the
 * metadata of `libphonenumber-js` weighs 80 KB and says much more; a test holds the copy against it.
 */
export const callingCodes: ReadonlySet<string> = new Set(
  `
1 20 211 212 213 216 218 220 221 222 223 224 225 226 227 228 229 230 231 232 233 234 235 236 237
238 239 240 241 242 243 244 245 246 247 248 249 250 251 252 253 254 255 256 257 258 260 261 262
263 264 265 266 267 268 269 27 290 291 297 298 299 30 31 32 33 34 350 351 352 353 354 355 356 357
358 359 36 370 371 372 373 374 375 376 377 378 380 381 382 383 385 386 387 389 39 40 41 420 421
423 43 44 45 46 47 48 49 500 501 502 503 504 505 506 507 508 509 51 52 53 54 55 56 57 58 590 591
592 593 594 595 596 597 598 599 60 61 62 63 64 65 66 670 672 673 674 675 676 677 678 679 680 681
682 683 685 686 687 688 689 690 691 692 7 800 808 81 82 84 850 852 853 855 856 86 870 878 880 881
882 883 886 888 90 91 92 93 94 95 960 961 962 963 964 965 966 967 968 970 971 972 973 974 975 976
977 979 98 992 993 994 995 996 998
`
    .trim()
    .split(/\s/),
)

/** What a request names: exactly one key of `to` (contract: Recipients). */
export type RequestedRecipient =
  | { readonly kind: "phone"; readonly phone: Phone }
  | { readonly kind: "group"; readonly group: string }
  | { readonly kind: "contact"; readonly contactId: ContactId }
  | { readonly kind: "username"; readonly username: Username }

/** What a send names: where conversations are on also a chat of its number (contract: Answers). */
export type SendRecipient = RequestedRecipient | { readonly kind: "chat"; readonly chatId: ChatId }

/** The recipient's key in a request, for the `field` of a refusal. */
export const recipientKey = ({ kind }: SendRecipient): string =>
  kind === "contact" || kind === "chat" ? `${kind}Id` : kind

/** How a platform knows a chat: by a LID, by Telegram's id of a user, or by its own id of a group. */
export type ChatAddress = `lid:${string}` | `tg:${string}` | `group:${string}`

/** What a message keeps: contacts and chats are resolved at acceptance. */
export type Recipient =
  | { readonly kind: "phone"; readonly phone: Phone; readonly contactId: ContactId | null }
  | { readonly kind: "group"; readonly group: string }
  | { readonly kind: "contact_phone"; readonly contactId: ContactId; readonly phone: Phone }
  | { readonly kind: "contact_username"; readonly contactId: ContactId; readonly username: string }
  | { readonly kind: "username"; readonly username: string }
  | {
      readonly kind: "chat"
      /** As the request named it. */
      readonly chatId: ChatId
      /** Goes before phone and username. */
      readonly address?: ChatAddress
      // What else is known of the person or the group.
      readonly phone?: Phone
      readonly group?: string
      readonly username?: string
    }

/** What the remote server is asked to reach. */
export type Target =
  | { readonly kind: "phone"; readonly phone: Phone }
  | { readonly kind: "group"; readonly group: string }
  | { readonly kind: "username"; readonly username: string }
  | { readonly kind: "user_id"; readonly userId: number }
  | { readonly kind: "lid"; readonly lid: string }
  | { readonly kind: "group_id"; readonly groupId: string }

const usernameTarget = (text: string): Target => {
  const target = parseUsername(text)?.target
  return target?.kind === "id"
    ? { kind: "user_id", userId: target.id }
    : { kind: "username", username: target?.name ?? text }
}

const chatTarget = ({
  address,
  phone,
  username = "",
}: Extract<Recipient, { readonly kind: "chat" }>): Target => {
  if (address === undefined) {
    return phone === undefined ? usernameTarget(username) : { kind: "phone", phone }
  }
  if (address.startsWith("lid:")) return { kind: "lid", lid: address.slice("lid:".length) }
  return address.startsWith("group:")
    ? { kind: "group_id", groupId: address.slice("group:".length) }
    : usernameTarget(address)
}

export const toTarget = (recipient: Recipient): Target => {
  switch (recipient.kind) {
    case "phone":
    case "contact_phone":
      return { kind: "phone", phone: recipient.phone }
    case "group":
      return { kind: "group", group: recipient.group }
    case "username":
    case "contact_username":
      return usernameTarget(recipient.username)
    case "chat":
      return chatTarget(recipient)
  }
}

/** What tells the recipients of one number apart: the phone, else the platform's address, else the name. */
export const recipientName = (recipient: Recipient): string => {
  if (recipient.kind === "chat") {
    return recipient.phone ?? recipient.address ?? recipient.username ?? ""
  }
  if ("phone" in recipient) return recipient.phone
  return recipient.kind === "group" ? recipient.group : recipient.username
}

/** Code points of the name that addresses a WhatsApp group. */
const maximumGroupNameLength = 100

/**
 * Whether a text may name a group: 1 to 100 code points, not white space alone; nothing is trimmed or
 * folded. Whether the sending number has a group of exactly that name shows when the message is sent.
 */
export const isGroupName = (text: string): boolean =>
  !isBlank(text) && codePointLength(text) <= maximumGroupNameLength

/**
 * A Telegram user in one of three spellings: `@name`, a `t.me/name` link, or `tg:` with a user id.
 * `text` is the text as it came and as the message shows it; `target` is whom it means.
 */
export interface Username {
  readonly text: string
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
    return Number.isSafeInteger(value) ? { text, target: { kind: "id", id: value } } : undefined
  }
  const name = atForm.exec(text)?.[1] ?? linkForm.exec(text)?.[1]
  return name === undefined ? undefined : { text, target: { kind: "name", name } }
}

const idForm = /^tg:([1-9][0-9]{0,15})$/
const atForm = /^@([A-Za-z][A-Za-z0-9_]{3,31})$/
// `t.me/joinchat/` is an invite link that lost its code, not a user of that name.
const linkForm = /^(?:https?:\/\/)?(?:www\.)?t\.me\/(?!joinchat\/?$)([a-z][a-z0-9_]{3,31})\/?$/i

// A recipient as a command names it (contract: Recipients).

/** What the document says of a username in a request. */
export const usernameDescribed: Described = {
  description: "A Telegram user: `@name`, a `t.me/name` link, or `tg:` and a user id.",
  examples: ["@example"],
}

const namesExactlyOne = (all: string) =>
  Schema.makeFilter(
    (to: object) => (Object.keys(to).length === 1 ? undefined : `must name exactly one of ${all}`),
    { toJsonSchema: () => ({ minProperties: 1, maxProperties: 1 }) },
  )

/** Of the keys of a recipient. */
export const namesOne = namesExactlyOne("a phone, a group, a contact and a username")

const fields = {
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
    "Exact name of a WhatsApp group of the sending number; looked up when the message is sent.",
  ),
  contactId: described(Schema.optionalKey(Schema.Int), "Id of a saved contact."),
  username: Schema.optionalKey(Schema.String.annotate({ ...usernameDescribed })),
}

const Fields = Schema.Struct(fields)
  .check(namesOne)
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
    : { kind: "contact", contactId: to.contactId as ContactId }
}

export const RecipientInput = decoded(Fields, requested)

const SendFields = Schema.Struct({
  ...fields,
  chatId: described(
    Schema.optionalKey(Schema.Int),
    "Id of a chat of the sending number. Unknown while conversations are off.",
  ),
})
  .check(namesExactlyOne("a phone, a group, a contact, a username and a chat"))
  .annotate({ identifier: "SendRecipient", description: "Exactly one of the keys." })

/** The recipient of a send where conversations are on. */
export const SendRecipientInput = decoded(
  SendFields,
  ({ chatId, ...to }): SendRecipient | SchemaIssue.Issue =>
    chatId === undefined ? requested(to) : { kind: "chat", chatId: chatId as ChatId },
)

// A saved contact, and the port that keeps them (contract: Contacts).

/** A name with exactly one of a phone and a Telegram username. */
export interface Contact {
  readonly id: ContactId
  readonly workspaceId: WorkspaceId
  readonly name: string
  readonly phone: Phone | null
  /** As given, in one of the forms of a Telegram username. */
  readonly username: string | null
  readonly createdAt: number
}

/** Whom a contact reaches. A workspace has at most one contact for each. */
export const contactAddress = ({
  phone,
  username,
}: Pick<Contact, "phone" | "username">): string => {
  if (phone !== null) return phone
  const target = username === null ? undefined : parseUsername(username)?.target
  return target?.kind === "id" ? `tg:${target.id}` : `@${target?.name.toLowerCase()}`
}

/** The contact that was saved, or the one that has its address already. */
export type InsertedContact =
  | { readonly _tag: "Inserted"; readonly contact: Contact }
  | { readonly _tag: "Exists"; readonly id: ContactId }

/** The port that keeps contacts. */
export interface ContactStore {
  /** Guard: no contact of the workspace has its `contactAddress`. */
  insertContact(contact: Omit<Contact, "id">): Effect.Effect<InsertedContact, StoreUnavailable>
  /** Newest first. */
  listContacts(
    workspaceId: WorkspaceId,
    query: PageQuery,
  ): Effect.Effect<PageOf<Contact>, StoreUnavailable>
  /** False when unknown. */
  deleteContact(workspaceId: WorkspaceId, id: ContactId): Effect.Effect<boolean, StoreUnavailable>
}
