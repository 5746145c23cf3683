/**
 * What people wrote that is not stored yet. The library counts it as received in memory before it tells of it,
 * and stores that count (the state of the box) at the end of each turn. So updates are collected at once,
 * and go into the commit of the state: Telegram tells again what came after the stored state.
 */
import type { Incoming } from "@messaging-service/core"
import type { tl } from "@mtcute/node"
import { toIncoming } from "./incoming.ts"
import type { KnownPeers } from "./incoming.ts"

/** The latest messages that are known to be sent from here. */
const maxOwn = 1000

export interface Inbox {
  readonly addUpdate: (update: tl.TypeUpdate, peers: KnownPeers) => void
  /** Collects an answer of messages before the library uses it: a turn that fails may lose a part of it. */
  readonly addDifference: (difference: tl.updates.TypeDifference) => void
  /** This service sent the message, so that it did not come from another app. */
  readonly addOwn: (messageId: number) => void
  readonly isEmpty: () => boolean
  /** Removes and returns what was collected, in the order of arrival. */
  readonly take: () => ReadonlyArray<Incoming>
}

const toKnownPeers = ({
  chats,
  users,
}: {
  readonly users: ReadonlyArray<tl.TypeUser>
  readonly chats: ReadonlyArray<tl.TypeChat>
}): KnownPeers => ({
  users: new Map(users.map((user) => [user.id, user])),
  chats: new Map(chats.map((chat) => [chat.id, chat])),
})

/** `selfId`: the account. */
export const makeInbox = (selfId: number): Inbox => {
  /** By the message's id, which is unique in the box. */
  const collected = new Map<number, Incoming>()
  const own = new Set<number>()

  const addOwn = (messageId: number) => {
    own.add(messageId)
    collected.delete(messageId)
    const [oldest] = own
    if (own.size > maxOwn && oldest !== undefined) own.delete(oldest)
  }

  const addMessage = (message: tl.TypeMessage, peers: KnownPeers) => {
    if (own.has(message.id) || collected.has(message.id)) return
    const incoming = toIncoming(message, peers, selfId)
    if (incoming !== null) collected.set(message.id, incoming)
  }

  const addUpdate = (update: tl.TypeUpdate, peers: KnownPeers) => {
    if (update._ === "updateNewMessage") addMessage(update.message, peers)
    // Telegram tells it to the session that sent the message.
    if (update._ === "updateMessageID") addOwn(update.id)
  }

  return {
    addUpdate,
    addDifference: (difference) => {
      if (!("newMessages" in difference)) return
      const peers = toKnownPeers(difference)
      for (const message of difference.newMessages) addMessage(message, peers)
      for (const update of difference.otherUpdates) addUpdate(update, peers)
    },
    addOwn,
    isEmpty: () => collected.size === 0,
    take: () => {
      const received = [...collected.values()]
      collected.clear()
      return received
    },
  }
}
