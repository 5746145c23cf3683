/** What an account's connection is while it is open. */
import type { ClosedReason, LiveConnection, TransportId } from "@messaging-service/core/ports"
import type { TelegramClient, tl } from "@mtcute/node"
import type { Questions } from "./Client.ts"
import type { Remembering } from "./remembering.ts"
import { sentType } from "./storage.ts"
import type { Usernames } from "./usernames.ts"

/** Messages to each person that were sent and not read yet. */
export interface SentMessages {
  readonly add: (peerId: number, messageId: number, transportId: TransportId) => void
  /** Those up to a message, which are forgotten. */
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
  /** Takes note of the far side's word, which ends the account's session. */
  readonly ended: (reason: ClosedReason) => void
  readonly questions: Questions
}

/** So many unread messages of one person are remembered. */
const mostUnread = 200

type Unread = Array<readonly [messageId: number, transportId: TransportId]>

/** One change at a time, since each goes on from what the one before has left. */
export const makeSentMessages = ({ later, read }: Remembering): SentMessages => {
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
        const unread = await unreadOf(peerId)
        unread.push([messageId, transportId])
        if (unread.length > mostUnread) unread.shift()
        keep(peerId, unread)
      }).catch(() => undefined)
    },
    readUpTo: (peerId, messageId) =>
      inTurn(async () => {
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
