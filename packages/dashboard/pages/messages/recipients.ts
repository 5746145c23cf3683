/** Recipients as a user types them: phones and usernames, one per line or between commas. */
import type { Contact, Message, SendMessage } from "@messaging-service/client"
import { panelLabels } from "./words.ts"

type Recipient = SendMessage["to"]

const recipientFrom = (text: string): Recipient =>
  /^[+\d(]/.test(text) ? { phone: text.replaceAll(/[\s()-]/g, "") } : { username: text }

/** Each once, in the order of the text. The service decides whether one is valid. */
export const parseRecipients = (text: string): ReadonlyArray<Recipient> => {
  const parts = text.split(/[\n,;]+/).map((part) => part.trim())
  const recipients = parts.filter((part) => part !== "").map(recipientFrom)
  return [...new Map(recipients.map((one) => [one.phone ?? one.username, one])).values()]
}

/** What is being typed: the text behind the last line or comma. */
export const getLastPart = (text: string): string => /[^\n,;]*$/.exec(text)?.[0] ?? ""

export interface Suggestion {
  readonly address: string
  /** Of a contact; empty without one. */
  readonly name: string
}

/** The last recipients first, then the contacts; without those that the text has, and those that do not match its end. */
export const suggestRecipients = (
  text: string,
  messages: ReadonlyArray<Pick<Message, "to">>,
  contacts: ReadonlyArray<Pick<Contact, "name" | "phone" | "username">>,
): ReadonlyArray<Suggestion> => {
  const names = new Map(contacts.map(({ name, phone, username }) => [phone ?? username, name]))
  const last = messages.map(({ to }) =>
    "phone" in to ? to.phone : "username" in to ? to.username : null,
  )
  const chosen = new Set(parseRecipients(text).map(({ phone, username }) => phone ?? username))
  const part = getLastPart(text).trim().toLowerCase()
  return [...new Set([...last, ...names.keys()])]
    .filter((address) => address != null && !chosen.has(address))
    .map((address) => ({ address: address ?? "", name: names.get(address ?? "") ?? "" }))
    .filter(({ address, name }) => `${name}\n${address}`.toLowerCase().includes(part))
}

/** Whom a message is for, as people write it. */
export const getRecipient = (to: Message["to"]): string => {
  if ("phone" in to && to.phone !== undefined) return to.phone
  if ("group" in to && to.group !== undefined) return to.group
  return "username" in to && to.username !== undefined ? to.username : panelLabels.someone
}
