/** What an account's connection is while it is open, and what is known of it otherwise. */
import type { TransportId } from "@messaging-service/core/ports"
import type { TelegramClient } from "@mtcute/node"
import { Deferred, Effect } from "effect"
import type { ClosedReason } from "./closing.ts"
import { sentType } from "./storage.ts"
import type { KeyPlace } from "./storage.ts"

/** What is known of a number's connection. */
export interface AccountStatus {
  readonly state: "connected" | "connecting" | "waiting" | "disconnected"
  readonly reason: ClosedReason | null
  /** Since when. */
  readonly since: number
  /** The far side's last word. */
  readonly lastSeenAt: number | null
  readonly reconnects: number
}

/** Messages to each person that were sent and not read yet. */
export interface SentMessages {
  readonly add: (peerId: number, messageId: number, transportId: TransportId) => Promise<void>
  /** Those up to a message, which are forgotten. */
  readonly readUpTo: (peerId: number, messageId: number) => Promise<ReadonlyArray<TransportId>>
}

/** An open connection, with what sending over it needs. */
export interface OpenAccount {
  readonly client: TelegramClient
  readonly sent: SentMessages
  /** Done once the connection is lost; a new one is another value of this kind. */
  readonly over: Deferred.Deferred<void>
  /** Takes note of the far side's word, which ends the account's session. */
  readonly ended: (reason: ClosedReason) => void
  /** Attempts that wait for the far side's answer. */
  waiting: number
}

/** A number whose connection this process keeps. */
export interface Held {
  status: AccountStatus
  open: OpenAccount | null
  /** Done when it is next open, or given up. */
  turn: Deferred.Deferred<OpenAccount | ClosedReason>
  lastWordAt: number | null
  /** Its session is to be logged out. */
  leaves: boolean
  /** It was seen to be kept away by a pause. */
  isKeptAway: boolean
  /** The proxy that it was first seen with, as it is kept; undefined before that. */
  proxy: string | null | undefined
  /** Since when it has not been open; null while it is. */
  lostAt: number | null
  trimmedAt: number
  /** How many keys were written since. */
  wroteSince: number
}

export const statusOf = ({ lastWordAt, status }: Held): AccountStatus => ({
  ...status,
  lastSeenAt: lastWordAt,
})

/** The connection is not the number's open one any more. */
export const closeAccount = (state: Held): void => {
  const { open } = state
  if (open === null) return
  state.open = null
  state.turn = Deferred.makeUnsafe()
  // Those who wait for this go on at once, and must not find what is closed.
  Deferred.doneUnsafe(open.over, Effect.void)
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
