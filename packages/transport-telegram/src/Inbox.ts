/**
 * What people wrote, changed and did that is not stored yet. The library counts it as received in memory before
 * it reports it, and stores that count (the state of the box) at the end of each turn. So updates are collected
 * at once, and go into the commit of the state: Telegram tells again what came after the stored state.
 */
import type { Incoming, IncomingChange, IncomingGap } from "@messaging-service/core"
import type { tl } from "@mtcute/node"
import { hash } from "node:crypto"
import { toDeletions, toEdit, toReactions } from "./changes.ts"
import { toIncoming, toRemoteId } from "./incoming.ts"
import type { KnownPeers } from "./incoming.ts"

/** The latest messages that are known to be sent from here. */
const maxOwn = 1000

/** The latest changes that were collected, and messages with reactions. */
const maxChanges = 1000

/** Something collected. Whether a channel's gap counts is known by its group. */
export type Collected =
  | Exclude<Incoming, IncomingGap>
  | (IncomingGap & { readonly channelId: number | null })

export interface Inbox {
  readonly addUpdate: (update: tl.TypeUpdate, peers: KnownPeers) => void
  /** Telegram names to a session what it sent, before these updates are collected one by one. */
  readonly addOwnIn: (updates: ReadonlyArray<tl.TypeUpdate>) => void
  /** Collects an answer of messages before the library uses it: a turn that fails may lose a part of it. */
  readonly addDifference: (
    difference: tl.updates.TypeDifference | tl.updates.TypeChannelDifference,
  ) => void
  /** Telegram skipped what came after that time, in seconds: in a channel, or else in the account's box. */
  readonly addGap: (date: number, channelId?: number) => void
  /** This service sent the message, so that it did not come from another app. */
  readonly addOwn: (remoteId: string) => void
  readonly isEmpty: () => boolean
  /** Removes and returns what was collected, in the order of arrival. */
  readonly take: () => ReadonlyArray<Collected>
  readonly channels: ChannelReads
}

/** How far channels are read. Dates are in seconds. */
export interface ChannelReads {
  /** Those with a difference that could not be read yet. */
  readonly unread: Set<number>
  /** The date of the stored state. */
  readonly stateDate: () => number
  /** The state gets that date; false while it would pass an unread channel. */
  readonly passDate: (date: number) => boolean
  /** What is older than that date is history. */
  readonly readSince: (channelId: number, date: number) => void
  readonly isHistory: (message: tl.TypeMessage) => boolean
  /** Whether history came, or a gap is known: nothing else is missing after the date. */
  readonly hasReached: (channelId: number) => boolean
  readonly reached: (channelId: number) => void
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

const toNewMessage = (update: tl.TypeUpdate): ReadonlyArray<tl.TypeMessage> =>
  update._ === "updateNewMessage" || update._ === "updateNewChannelMessage" ? [update.message] : []

/**
 * The remote ids of what this service sent. `updateMessageID` names no chat: the message that comes with it
 * does.
 */
const findOwn = (
  updates: ReadonlyArray<tl.TypeUpdate>,
  messages: ReadonlyArray<tl.TypeMessage>,
): ReadonlyArray<string> => {
  const sent = new Set(updates.flatMap((each) => (each._ === "updateMessageID" ? [each.id] : [])))
  return messages.flatMap((each) =>
    each._ === "message" && each.out === true && sent.has(each.id)
      ? [toRemoteId(each.peerId, each.id)]
      : [],
  )
}

/** The latest so many values by name. */
const makeLatest = <A>(most: number) => {
  const latest = new Map<string, A>()
  return {
    get: (name: string) => latest.get(name),
    has: (name: string) => latest.has(name),
    set: (name: string, value: A) => {
      latest.delete(name)
      latest.set(name, value)
      const [oldest] = latest.keys()
      if (latest.size > most && oldest !== undefined) latest.delete(oldest)
    },
  }
}

/**
 * Leaves out what is known, and puts a reaction that changed again within a second after the former: Telegram's
 * times are whole seconds. Edits with one time keep it, and count in their order.
 */
const makeChangeOrder = () => {
  const latest = makeLatest<{ readonly digest: string; readonly at: number }>(maxChanges)
  return (incoming: IncomingChange, author: number | null): IncomingChange | null => {
    const { change, target } = incoming
    const name = JSON.stringify([change.type, target.remoteId, author])
    const content = change.type === "edit" ? [incoming.at, change.text] : change
    const digest = hash("sha256", JSON.stringify(content), "base64")
    const known = latest.get(name)
    if (known?.digest === digest) return null
    const earliest = change.type === "reaction" && known !== undefined ? known.at + 1 : 0
    const at = Math.max(incoming.at, earliest)
    latest.set(name, { digest, at })
    return { ...incoming, at }
  }
}

interface Collecting {
  /** The account. */
  readonly selfId: number
  readonly now: () => number
}

type ReactionState = Pick<tl.RawUpdateMessageReactions, "peer" | "msgId" | "reactions">

/** What happens to messages. */
const collectChanges = ({ now, selfId }: Collecting, collect: (change: IncomingChange) => void) => {
  /** Who had reacted to a message. */
  const reactors = makeLatest<ReadonlySet<number>>(maxChanges)
  const inOrder = makeChangeOrder()

  const addChange = (incoming: IncomingChange, author: number | null = null) => {
    const change = inOrder(incoming, author)
    if (change !== null) collect(change)
  }

  const addReactions = (state: ReactionState, peers: KnownPeers) => {
    const remoteId = toRemoteId(state.peer, state.msgId)
    const before = reactors.get(remoteId) ?? new Set<number>()
    const changes = toReactions(state, peers, { before, now: now(), selfId })
    const reacted = new Set(before)
    for (const [userId, incoming] of changes) {
      addChange(incoming, userId)
      const { change } = incoming
      if (change.type === "reaction" && change.emoji !== null) reacted.add(userId)
      else reacted.delete(userId)
    }
    if (before.size + reacted.size > 0) reactors.set(remoteId, reacted)
  }

  const addEdit = (message: tl.TypeMessage, peers: KnownPeers) => {
    const edit = toEdit(message, peers, selfId)
    if (edit !== null) addChange(edit)
  }

  return {
    addEdit,
    addReactions,
    /** A message as it is now: its text, or its reactions alone. */
    addState: (message: tl.TypeMessage, peers: KnownPeers) => {
      if (message._ !== "message") return
      if (!message.editHide) return addEdit(message, peers)
      const { id: msgId, peerId: peer } = message
      const { reactions = { _: "messageReactions", results: [] } } = message
      addReactions({ peer, msgId, reactions }, peers)
    },
    addDeletions: (update: Parameters<typeof toDeletions>[0], peers: KnownPeers) => {
      for (const change of toDeletions(update, peers, now())) addChange(change)
    },
  }
}

const makeChannelReads = (): ChannelReads => {
  const unread = new Set<number>()
  const firstReads = new Map<number, { readonly since: number; hasReached: boolean }>()
  let stateDate = 0
  const reached = (channelId: number) => {
    const read = firstReads.get(channelId)
    if (read !== undefined) read.hasReached = true
  }
  return {
    unread,
    stateDate: () => stateDate,
    passDate: (date) => {
      const mayPass = unread.size === 0
      if (mayPass) stateDate = date
      return mayPass
    },
    readSince: (channelId, since) => void firstReads.set(channelId, { since, hasReached: false }),
    isHistory: (message) => {
      if (message._ === "messageEmpty" || message.peerId._ !== "peerChannel") return false
      const { channelId } = message.peerId
      const isOld = message.date < (firstReads.get(channelId)?.since ?? 0)
      if (isOld) reached(channelId)
      return isOld
    },
    hasReached: (channelId) => firstReads.get(channelId)?.hasReached === true,
    reached,
  }
}

export const makeInbox = (collecting: Collecting): Inbox => {
  let collected: Array<Collected> = []
  /** Messages among them, by their remote ids. */
  const messages = new Set<string>()
  const own = makeLatest<true>(maxOwn)
  const channels = makeChannelReads()
  const changes = collectChanges(collecting, (change) => void collected.push(change))

  const addOwn = (remoteId: string) => {
    own.set(remoteId, true)
    if (!messages.delete(remoteId)) return
    collected = collected.filter((each) => each._tag !== "Message" || each.remoteId !== remoteId)
  }

  const addMessage = (message: tl.TypeMessage, peers: KnownPeers) => {
    if (channels.isHistory(message)) return
    const incoming = toIncoming(message, peers, collecting.selfId)
    if (incoming === null || own.has(incoming.remoteId)) return
    if (!messages.has(incoming.remoteId)) {
      messages.add(incoming.remoteId)
      collected.push(incoming)
    }
    // A repeat of a message that was stored before it was edited.
    changes.addEdit(message, peers)
  }

  const addUpdate = (update: tl.TypeUpdate, peers: KnownPeers) => {
    switch (update._) {
      case "updateNewMessage":
      case "updateNewChannelMessage":
        return addMessage(update.message, peers)
      case "updateEditMessage":
      case "updateEditChannelMessage":
        return changes.addState(update.message, peers)
      case "updateDeleteMessages":
      case "updateDeleteChannelMessages":
        return changes.addDeletions(update, peers)
      case "updateMessageReactions":
        return changes.addReactions(update, peers)
    }
  }

  return {
    addUpdate,
    addOwnIn: (updates) => findOwn(updates, updates.flatMap(toNewMessage)).forEach(addOwn),
    addDifference: (difference) => {
      if (!("newMessages" in difference)) return
      const { newMessages, otherUpdates } = difference
      const peers = toKnownPeers(difference)
      findOwn(otherUpdates, newMessages).forEach(addOwn)
      for (const message of newMessages) addMessage(message, peers)
      for (const update of otherUpdates) addUpdate(update, peers)
    },
    addGap: (date, channelId) => {
      const gap = { _tag: "Gap", mode: "live", reason: "skipped", from: date * 1000 } as const
      collected.push({ ...gap, channelId: channelId ?? null })
      if (channelId !== undefined) channels.reached(channelId)
    },
    addOwn,
    isEmpty: () => collected.length === 0,
    take: () => {
      const received = collected
      collected = []
      messages.clear()
      return received
    },
    channels,
  }
}
