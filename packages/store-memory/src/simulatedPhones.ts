/** The remote server of simulated phones, in memory. */
import type {
  NumberId,
  Phone,
  PhoneBehaviour,
  SentCopy,
  SimulatedPhones,
  WorkspaceId,
} from "@messaging-service/core"
import { Effect } from "effect"
import { isReadable } from "./chatRows.ts"
import { newestFirst } from "./collections.ts"
import { transportKey } from "./tables.ts"
import type { Tables } from "./tables.ts"
import type { Steps } from "./collections.ts"

/** Of a number that was never made. */
const noWorkspace = 0 as WorkspaceId

/** Without the quote of a received message that was erased. */
const withKnownQuote = (tables: Tables, copy: SentCopy): SentCopy => {
  if (copy.quote === undefined || copy.messageId === null) return copy
  const replyTo = tables.messages.get(copy.messageId)?.message.replyTo ?? null
  if (replyTo === null || !("receivedMessageId" in replyTo)) return copy
  if (tables.received.has(replyTo.receivedMessageId)) return copy
  const { quote: _, ...rest } = copy
  return rest
}

/** The remote server; it names messages as the store does. */
export const simulatedPhones = (tables: Tables): Steps<SimulatedPhones> => {
  const behaviours = new Map<NumberId, PhoneBehaviour>()
  const copies: Array<SentCopy> = []
  const copiesByNumber = new Map<NumberId, Array<SentCopy>>()
  const received = new Set<string>()
  let registeredPhones: ReadonlyArray<Phone> | null = null

  return {
    behaviour: (numberId) => behaviours.get(numberId) ?? null,

    setBehaviour: (numberId, behaviour) => {
      behaviours.set(numberId, behaviour)
    },

    registered: Effect.sync(() => registeredPhones),

    setRegistered: (phones) => {
      registeredPhones = phones
    },

    receive: (copy, then) => {
      // A repeat reached the phone too, and changes its behaviour.
      if (then !== null) behaviours.set(copy.numberId, then)
      const identity = transportKey(copy.numberId, copy.transportId)
      if (received.has(identity)) return false
      received.add(identity)
      const message = tables.messagesByTransportId.get(identity)?.message
      const sentCopy: SentCopy = {
        ...copy,
        id: copies.length + 1,
        messageId: message?.id ?? null,
        workspaceId: tables.lanes.get(copy.numberId)?.number.workspaceId ?? noWorkspace,
      }
      copies.push(sentCopy)
      const ofNumber = copiesByNumber.get(copy.numberId) ?? []
      ofNumber.push(sentCopy)
      copiesByNumber.set(copy.numberId, ofNumber)
      return true
    },

    written: (id) => {
      const row = tables.received.get(id)
      if (row === undefined || !isReadable(row)) return null
      const { author, chat, lane, message, remoteId } = row
      const { fromMe, mode, text } = message
      const { group } = chat
      const person = author?.known ?? chat.person?.known ?? null
      return {
        id,
        numberId: lane.number.id,
        message: {
          mode,
          fromMe,
          group: group === null ? null : { remoteId: group, name: chat.chat.name },
          person,
          remoteId,
        },
        text,
      }
    },

    sent: ({ numberId, to, workspaceId }, page) =>
      newestFirst(
        (numberId === null ? copies : copiesByNumber.get(numberId)) ?? [],
        page,
        (copy) => withKnownQuote(tables, copy),
        (copy) =>
          // A copy goes with its message.
          (copy.messageId === null || tables.messages.get(copy.messageId) !== undefined) &&
          (workspaceId === null || copy.workspaceId === workspaceId) &&
          (to === null || copy.to === to),
      ),
  }
}
