/** Recipients as a user types them: phones and usernames, one per line or between commas. */
import type { Message, SendMessage } from "@messaging-service/client"
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

/** Whom a message is for, as people write it. */
export const getRecipient = (to: Message["to"]): string => {
  if ("phone" in to && to.phone !== undefined) return to.phone
  if ("group" in to && to.group !== undefined) return to.group
  return "username" in to && to.username !== undefined ? to.username : panelLabels.someone
}
