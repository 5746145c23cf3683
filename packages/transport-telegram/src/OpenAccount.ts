/** What an account's connection is while it is open. */
import type { ClosedReason, LiveConnection, TransportId } from "@messaging-service/core/ports"
import type { TelegramClient } from "@mtcute/node"
import { sentType } from "./storage.ts"
import type { KeyPlace } from "./storage.ts"

/** Messages to each person that were sent and not read yet. */
export interface SentMessages {
  readonly add: (peerId: number, messageId: number, transportId: TransportId) => Promise<void>
  /** Those up to a message, which are forgotten. */
  readonly readUpTo: (peerId: number, messageId: number) => Promise<ReadonlyArray<TransportId>>
}

/** An open connection, with what sending over it needs. */
export interface OpenAccount extends LiveConnection {
  readonly client: TelegramClient
  readonly sent: SentMessages
  /** Takes note of the far side's word, which ends the account's session. */
  readonly ended: (reason: ClosedReason) => void
  /** Attempts that wait for the far side's answer. */
  waiting: number
}

/** So many unread messages of one person are remembered. */
const mostUnread = 200

type Unread = ReadonlyArray<readonly [messageId: number, transportId: TransportId]>

/** One change at a time, since each reads what the one before has written. */
export const makeSentMessages = ({ read, write }: KeyPlace): SentMessages => {
  let last: Promise<unknown> = Promise.resolve()
  const inTurn = <A>(change: () => Promise<A>): Promise<A> => {
    const done = last.then(change)
    last = done.catch(() => undefined)
    return done
  }
  const unreadOf = async (peerId: number): Promise<Unread> => {
    const text = await read(sentType, String(peerId))
    return text === null ? [] : (JSON.parse(text) as Unread)
  }
  const keep = (peerId: number, unread: Unread) =>
    write([
      {
        type: sentType,
        id: String(peerId),
        value: unread.length === 0 ? null : JSON.stringify(unread),
      },
    ])
  return {
    add: (peerId, messageId, transportId) =>
      inTurn(async () => {
        const unread = await unreadOf(peerId)
        await keep(peerId, [...unread, [messageId, transportId] as const].slice(-mostUnread))
      }),
    readUpTo: (peerId, messageId) =>
      inTurn(async () => {
        const unread = await unreadOf(peerId)
        const found = unread.filter(([id]) => id <= messageId)
        if (found.length === 0) return []
        await keep(
          peerId,
          unread.filter(([id]) => id > messageId),
        )
        return found.map(([, transportId]) => transportId)
      }),
  }
}
