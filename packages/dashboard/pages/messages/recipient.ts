/** Whom a message is for, as people write it. */
import type { Message } from "@messaging-service/client"
import { panelWords } from "./words.ts"

export const recipientOf = (to: Message["to"]): string => {
  if ("phone" in to && to.phone !== undefined) return to.phone
  if ("group" in to && to.group !== undefined) return to.group
  return "username" in to && to.username !== undefined ? to.username : panelWords.someone
}
