/** What an account's connection is while it is open. */
import type { ClosedReason, LiveConnection, TransportId } from "@messaging-service/core"
import type { TelegramClient, tl } from "@mtcute/node"
import type { Questions } from "./Client.ts"
import type { Remembering } from "./remembering.ts"
import { sentType } from "./storage.ts"
import type { Usernames } from "./usernames.ts"

/** Messages to each person that were sent and not read yet. */
export interface SentMessages {
  /** The read receipt may have come already: then it is reported at once. */
  readonly add: (peerId: number, messageId: number, transportId: TransportId) => void
  /** The person has read up to a message: those that were sent by then, which are forgotten. */
  readonly readUpTo: (peerId: number, messageId: number) => Promise<ReadonlyArray<TransportId>>
}

/** How an account's own messages change its box, as the library counts it. */
export interface OwnChanges {
  /** The far side's answer to a message. */
  readonly add: (answer: tl.TypeUpdates) => void
  /** The library hears of all that waits, as it must before it hears of what came later. */
  readonly handOver: () => void
}

/** An open connection, with what sending over it needs. */
export interface OpenAccount extends LiveConnection {
  readonly client: TelegramClient
  readonly sent: SentMessages
  readonly usernames: Usernames
  readonly ownChanges: OwnChanges
  /** The person has read up to that message. */
  readonly hasRead: (peerId: number, upTo: number) => void
  /** Takes note of the far side's word, which ends the account's session. */
  readonly ended: (reason: ClosedReason) => void
  readonly questions: Questions
}

/** So many unread messages of one person are remembered. */
const mostUnread = 200

/** Of so many people is known how far they have read, in case the answer to a message comes behind that. */
const mostReaders = 1000

type Unread = Array<readonly [messageId: number, transportId: TransportId]>

/** One change at a time, since each goes on from what the one before has left. */
export const makeSentMessages = (
  { later, read }: Pick<Remembering, "later" | "read">,
  isRead: (transportId: TransportId) => void,
): SentMessages => {
  const readers = new Map<number, number>()
  const hasReadUpTo = (peerId: number, messageId: number) => {
    const before = readers.get(peerId) ?? 0
    readers.delete(peerId)
    readers.set(peerId, Math.max(before, messageId))
    const [oldest] = readers.keys()
    if (readers.size > mostReaders && oldest !== undefined) readers.delete(oldest)
  }
  /** What waits to be written, by person. */
  const changed = new Map<number, Unread>()
  let last: Promise<unknown> = Promise.resolve()
  const inTurn = <A>(change: () => Promise<A>): Promise<A> => {
    const done = last.then(change)
    last = done.catch(() => undefined)
    return done
  }
  const unreadOf = async (peerId: number): Promise<Unread> => {
    const unread = changed.get(peerId)
    if (unread !== undefined) return unread
    const text = await read(sentType, String(peerId))
    return text === null ? [] : (JSON.parse(text) as Unread)
  }
  const keep = (peerId: number, unread: Unread) => {
    changed.set(peerId, unread)
    later(sentType, String(peerId), () => {
      changed.delete(peerId)
      return unread.length === 0 ? null : JSON.stringify(unread)
    })
  }
  return {
    add: (peerId, messageId, transportId) => {
      inTurn(async () => {
        if (messageId <= (readers.get(peerId) ?? 0)) return isRead(transportId)
        const unread = await unreadOf(peerId)
        unread.push([messageId, transportId])
        if (unread.length > mostUnread) unread.shift()
        keep(peerId, unread)
      }).catch(() => undefined)
    },
    readUpTo: (peerId, messageId) =>
      inTurn(async () => {
        hasReadUpTo(peerId, messageId)
        const unread = await unreadOf(peerId)
        const found = unread.filter(([id]) => id <= messageId)
        if (found.length === 0) return []
        keep(
          peerId,
          unread.filter(([id]) => id > messageId),
        )
        return found.map(([, transportId]) => transportId)
      }),
  }
}

/** The library hears of the account's own messages so late at the latest, in real milliseconds. */
const ownMillis = 1000

/** One after the other they are one step for the library, which takes as long for it as for any other. */
export const makeOwnChanges = (
  client: Pick<TelegramClient, "handleClientUpdate">,
  laterMillis = ownMillis,
): OwnChanges => {
  let waiting: { pts: number; ptsCount: number; date: number } | null = null
  let timer: NodeJS.Timeout | undefined
  const handOver = () => {
    clearTimeout(timer)
    timer = undefined
    if (waiting === null) return
    const { date, pts, ptsCount } = waiting
    waiting = null
    client.handleClientUpdate({
      _: "updates",
      updates: [{ _: "mtcute.dummyUpdate", channelId: 0, pts, ptsCount }],
      users: [],
      chats: [],
      date,
      seq: 0,
    })
  }
  return {
    add: (answer) => {
      if (answer._ !== "updateShortSentMessage") {
        handOver()
        return client.handleClientUpdate(answer)
      }
      const { date, pts, ptsCount } = answer
      if (waiting !== null && pts - ptsCount === waiting.pts) {
        waiting = { pts, ptsCount: waiting.ptsCount + ptsCount, date }
      } else {
        handOver()
        waiting = { pts, ptsCount, date }
      }
      timer ??= setTimeout(handOver, laterMillis)
    },
    handOver,
  }
}
