/** The request for a contact, from what a user typed or a file has. */
import type { CreateContact } from "@messaging-service/client"
import { parseRecipients } from "../messages/recipients.ts"

export const toBody = ({ address, name }: { name: string; address: string }): CreateContact => {
  const [one] = parseRecipients(address)
  return one?.phone === undefined
    ? { name, username: one?.username ?? address }
    : { name, phone: one.phone }
}
