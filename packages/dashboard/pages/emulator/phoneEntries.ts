/** What a phone shows: the copies that it received and what its person wrote, oldest first. */
import type { ReceivedMessage, SendingNumber, Sent } from "@messaging-service/client"
import { toName } from "../numbers/connection.ts"

/** One of the two is null. */
export interface PhoneEntry {
  readonly key: string
  readonly at: string
  /** The number at the other end, and its name. */
  readonly number: SendingNumber
  readonly copy: Sent | null
  readonly written: ReceivedMessage | null
}

export interface Chat {
  readonly to: string
  readonly entries: ReadonlyArray<PhoneEntry>
  readonly last: string
}

/** One chat for each phone, the latest first. */
export const getChats = (
  sent: ReadonlyArray<Sent>,
  received: ReadonlyArray<ReceivedMessage>,
  numbers: ReadonlyArray<SendingNumber>,
): ReadonlyArray<Chat> => {
  const byId = new Map(numbers.map((number) => [number.id, number]))
  const copies = sent.toReversed().map((copy) => ({ to: copy.to, copy, written: null }))
  const writings = received
    .filter(({ chat, from_me: isOwn }) => chat.type === "person" && !isOwn)
    .toReversed()
    .map((written) => ({ to: written.from.phone, copy: null, written }))
  const chats = new Map<string, Array<PhoneEntry>>()
  for (const { copy, to, written } of [...copies, ...writings]) {
    const number = byId.get(copy === null ? written.number.id : copy.number_id)
    if (number === undefined || to === null) continue
    const key = copy === null ? `written-${written.id}` : `copy-${copy.id}`
    const at = copy === null ? written.received_at : copy.at
    chats.set(to, [...(chats.get(to) ?? []), { key, at, number, copy, written }])
  }
  return [...chats]
    .map(([to, unordered]) => {
      const entries = unordered.toSorted((a, b) => Date.parse(a.at) - Date.parse(b.at))
      return { to, entries, last: entries.at(-1)?.at ?? "" }
    })
    .toSorted((a, b) => Date.parse(b.last) - Date.parse(a.last))
}

export const getNumberName = ({ number }: PhoneEntry): string => toName(number)
