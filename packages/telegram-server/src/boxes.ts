/**
 * Message boxes: what people write, change and read goes into them as events, and to their clients. A client
 * that missed events asks for the difference.
 */
import type { tl } from "@mtcute/node"
import { chatFor, isGroup, secondsNow, toPeer, userFor } from "./ServerState.ts"
import type {
  Box,
  BoxEvent,
  Change,
  Channel,
  Chat,
  Message,
  Person,
  ServerState,
} from "./ServerState.ts"
import { referenceNow } from "./files.ts"

/** Reaches the clients of a person. */
export interface Delivery {
  readonly state: ServerState
  readonly push: (person: Person, updates: tl.TypeUpdates) => void
}

/**
 * How clients that are there learn of a change: by an update; by the short form of a text, which names its
 * people only by their ids; or not at all, until they ask.
 */
export type Arrival = "full" | "short" | "lost"

/** A box that has a chat's messages, and the people who see it. */
interface Copy {
  readonly box: Box
  readonly viewers: ReadonlyArray<Person>
}

const getCopies = (by: Person, to: Chat): ReadonlyArray<Copy> => {
  if (!isGroup(to)) {
    return [...new Set([by, to])].map((person) => ({ box: person.box, viewers: [person] }))
  }
  const members = [...to.members]
  return to.kind === "small"
    ? members.map((member) => ({ box: member.box, viewers: [member] }))
    : [{ box: to.box, viewers: members }]
}

/** The box in which a person finds a chat's messages. */
export const getBox = (viewer: Person, chat: Chat): Box =>
  isGroup(chat) && chat.kind !== "small" ? chat.box : viewer.box

/** The chat in which a person sees the message. */
export const getChat = ({ by, to }: Message, viewer: Person): Chat =>
  isGroup(to) || viewer === by ? to : by

const toReactions = ({ reactions }: Message, viewer: Person): tl.RawMessageReactions => {
  const counts = new Map<string, number>()
  for (const { emoji } of reactions.values()) counts.set(emoji, (counts.get(emoji) ?? 0) + 1)
  return {
    _: "messageReactions",
    canSeeList: true,
    results: [...counts].map(([emoticon, count]) => ({
      _: "reactionCount",
      reaction: { _: "reactionEmoji", emoticon },
      count,
    })),
    recentReactions: [...reactions].map(([person, { date, emoji }]) => ({
      _: "messagePeerReaction",
      peerId: toPeer(person),
      date,
      reaction: { _: "reactionEmoji", emoticon: emoji },
      ...(person === viewer ? { my: true } : {}),
    })),
  }
}

const toReplyHeader = (
  { quote, replyTo }: Message,
  box: Box,
): { readonly replyTo?: tl.RawMessageReplyHeader } => {
  const replyToMsgId = replyTo?.ids.get(box)
  if (replyToMsgId === undefined) return {}
  const quoted = quote === null ? {} : { quote: true, quoteText: quote }
  return { replyTo: { _: "messageReplyHeader", replyToMsgId, ...quoted } }
}

/** The message as the viewer's clients receive it. */
export const toMessage = (
  state: ServerState,
  box: Box,
  message: Message,
  viewer: Person,
): tl.RawMessage => {
  const { by, date, editDate, entities, media, reactions, text, to } = message
  const isPost = isGroup(to) && to.kind === "channel"
  return {
    _: "message",
    id: message.ids.get(box) ?? 0,
    peerId: toPeer(getChat(message, viewer)),
    ...(isPost ? { post: true } : { fromId: toPeer(by) }),
    out: by === viewer,
    date,
    message: text,
    entities: [...entities],
    ...toReplyHeader(message, box),
    ...(media === null ? {} : { media: media.toMedia(referenceNow(state, media.fileId)) }),
    ...(editDate === null ? {} : { editDate }),
    ...(reactions.size === 0 ? {} : { reactions: toReactions(message, viewer) }),
  }
}

const toUpdate = (
  state: ServerState,
  box: Box,
  { change, pts, ptsCount }: BoxEvent,
  viewer: Person,
): tl.TypeUpdate => {
  const { channelId } = box
  const counts = { pts, ptsCount }
  const isChannels = channelId !== null
  switch (change._tag) {
    case "Written": {
      const message = toMessage(state, box, change.message, viewer)
      return { _: isChannels ? "updateNewChannelMessage" : "updateNewMessage", message, ...counts }
    }
    case "Edited": {
      const message = toMessage(state, box, change.message, viewer)
      return {
        _: isChannels ? "updateEditChannelMessage" : "updateEditMessage",
        message,
        ...counts,
      }
    }
    case "Removed": {
      const messages = [...change.ids]
      return isChannels
        ? { _: "updateDeleteChannelMessages", channelId, messages, ...counts }
        : { _: "updateDeleteMessages", messages, ...counts }
    }
    case "ReadOutbox": {
      const { chat, maxId } = change
      return { _: "updateReadHistoryOutbox", peer: toPeer(chat), maxId, ...counts }
    }
    case "ReadInbox": {
      const { chat, maxId } = change
      const peer = toPeer(chat)
      return { _: "updateReadHistoryInbox", peer, maxId, stillUnreadCount: 0, ...counts }
    }
  }
}

/** The people and groups that a change names. */
const getChats = (change: Change): ReadonlyArray<Chat> => {
  if (change._tag === "Removed") return []
  if (!("message" in change)) return [change.chat]
  const { by, reactions, to } = change.message
  return [by, to, ...reactions.keys()]
}

/** Their data for one viewer, who is always among them. */
export const toPeers = (viewer: Person, chats: Iterable<Chat>) => {
  const all = [...new Set<Chat>([viewer, ...chats])]
  return {
    users: all.flatMap((chat) => (isGroup(chat) ? [] : [userFor(viewer, chat)])),
    chats: all.flatMap((chat) => (isGroup(chat) ? [chatFor(viewer, chat)] : [])),
  }
}

export const toUpdates = (
  viewer: Person,
  chats: Iterable<Chat>,
  updates: ReadonlyArray<tl.TypeUpdate>,
  seq = 0,
): tl.RawUpdates => ({
  _: "updates",
  updates: [...updates],
  ...toPeers(viewer, chats),
  date: secondsNow(),
  seq,
})

/** A text in a private chat or a small group without its people's data. */
const toShort = (update: tl.TypeUpdate, { by, to }: Message, viewer: Person): tl.TypeUpdates => {
  if (update._ !== "updateNewMessage" || update.message._ !== "message") {
    throw new Error("only a text of a private chat or a small group has a short form")
  }
  const { message, pts, ptsCount } = update
  const { date, entities = [], id, message: text, out = false, replyTo } = message
  const quoted = replyTo === undefined ? {} : { replyTo }
  const common = { out, id, message: text, entities, date, pts, ptsCount, ...quoted }
  return isGroup(to)
    ? { _: "updateShortChatMessage", fromId: by.id, chatId: to.id, ...common }
    : { _: "updateShortMessage", userId: viewer === by ? to.id : by.id, ...common }
}

interface Announcing {
  readonly arrival: Arrival
  /** The person's own clients learn of it from an answer. */
  readonly except?: Person
}

const announce = (
  { push, state }: Delivery,
  { box, viewers }: Copy,
  change: Change,
  { arrival, except }: Announcing,
): BoxEvent => {
  const ptsCount = change._tag === "Removed" ? change.ids.length : 1
  const event: BoxEvent = { pts: box.pts + ptsCount, ptsCount, date: secondsNow(), change }
  box.pts = event.pts
  box.events.push(event)
  if (arrival === "lost") return event
  for (const viewer of viewers) {
    if (viewer === except) continue
    const update = toUpdate(state, box, event, viewer)
    const isShort = arrival === "short" && change._tag === "Written"
    const updates = isShort
      ? toShort(update, change.message, viewer)
      : toUpdates(viewer, getChats(change), [update])
    push(viewer, updates)
  }
  return event
}

/** A chat's messages as a person has them, the latest first. */
export const getHistory = (viewer: Person, chat: Chat): ReadonlyArray<Message> =>
  [...getBox(viewer, chat).messages.values()]
    .filter((message) => getChat(message, viewer) === chat)
    .toReversed()

/** The chat as an entry of a person's list of chats. */
export const toDialog = (viewer: Person, chat: Chat): tl.RawDialog => {
  const box = getBox(viewer, chat)
  return {
    _: "dialog",
    peer: toPeer(chat),
    topMessage: getHistory(viewer, chat)[0]?.ids.get(box) ?? 0,
    readInboxMaxId: viewer.readInbox.get(chat) ?? 0,
    readOutboxMaxId: viewer.readOutbox.get(chat) ?? 0,
    unreadCount: 0,
    unreadMentionsCount: 0,
    unreadReactionsCount: 0,
    unreadPollVotesCount: 0,
    notifySettings: { _: "peerNotifySettings" },
    ...(box.channelId === null ? {} : { pts: box.pts }),
  }
}

/** Puts a message into each box of its chat. */
export const writeMessage = (
  delivery: Delivery,
  draft: Omit<Message, "editDate" | "isRemoved" | "reactions" | "ids">,
  announcing: Announcing,
): Message => {
  const message: Message = {
    ...draft,
    editDate: null,
    isRemoved: false,
    reactions: new Map(),
    ids: new Map(),
  }
  const { by, to } = draft
  const copies = getCopies(by, to)
  for (const { box } of copies) {
    const id = ++box.lastMessageId
    message.ids.set(box, id)
    box.messages.set(id, message)
  }
  for (const copy of copies) announce(delivery, copy, { _tag: "Written", message }, announcing)
  const readers = isGroup(to) ? [...to.members].filter((member) => member !== by) : [to]
  for (const reader of readers) reader.displayed.push(message)
  delivery.state.messages.push(message)
  return message
}

export const editMessage = (
  delivery: Delivery,
  message: Message,
  { entities, text }: Pick<Message, "text" | "entities">,
  arrival: Arrival,
): void => {
  Object.assign(message, { text, entities, editDate: secondsNow() })
  for (const copy of getCopies(message.by, message.to)) {
    announce(delivery, copy, { _tag: "Edited", message }, { arrival })
  }
}

/** Removes messages for everyone. */
export const removeMessages = (
  delivery: Delivery,
  messages: ReadonlyArray<Message>,
  arrival: Arrival,
): void => {
  const removed = new Map<Box, { readonly copy: Copy; readonly ids: Array<number> }>()
  for (const message of messages) {
    message.isRemoved = true
    for (const copy of getCopies(message.by, message.to)) {
      const { box, viewers } = copy
      const id = message.ids.get(box)
      if (id === undefined || !box.messages.delete(id)) continue
      const found = removed.get(box) ?? { copy, ids: [] }
      removed.set(box, found)
      found.ids.push(id)
      for (const { displayed } of viewers) {
        if (displayed.includes(message)) displayed.splice(displayed.indexOf(message), 1)
      }
    }
  }
  for (const { copy, ids } of removed.values()) {
    announce(delivery, copy, { _tag: "Removed", ids }, { arrival })
  }
}

/** A person reacts, or takes it back. No box has it: clients that are away see it only at the message. */
export const react = (
  { push, state }: Delivery,
  by: Person,
  message: Message,
  emoji: string | null,
  arrival: Arrival,
): void => {
  if (emoji === null) message.reactions.delete(by)
  else message.reactions.set(by, { emoji, date: secondsNow() })
  for (const { box, viewers } of getCopies(message.by, message.to)) {
    for (const viewer of viewers) {
      const update: tl.RawUpdateMessageReactions = {
        _: "updateMessageReactions",
        peer: toPeer(getChat(message, viewer)),
        msgId: message.ids.get(box) ?? 0,
        reactions: toReactions(message, viewer),
      }
      const seq = ++viewer.seq
      if (arrival === "lost") continue
      push(viewer, toUpdates(viewer, [by, message.by, message.to], [update], seq))
    }
  }
  state.changed()
}

/** The latest message of each other author that a person sees in a chat, up to that id. */
const findLatest = (reader: Person, chat: Chat, maxId: number): ReadonlyMap<Person, Message> => {
  const { lastMessageId, messages } = getBox(reader, chat)
  const authors = new Set(isGroup(chat) ? chat.members : [chat])
  authors.delete(reader)
  const found = new Map<Person, Message>()
  for (let id = Math.min(maxId, lastMessageId); id > 0 && found.size < authors.size; id--) {
    const message = messages.get(id)
    if (message === undefined || found.has(message.by) || !authors.has(message.by)) continue
    if (getChat(message, reader) === chat) found.set(message.by, message)
  }
  return found
}

/** Reads of a channel are in no box. */
const announceChannelRead = (
  { push }: Delivery,
  reader: Person,
  channel: Channel,
  maxId: number,
  { authors, except }: { readonly authors: Iterable<Person>; readonly except: Person | undefined },
) => {
  const common = { channelId: channel.id, maxId }
  if (reader !== except) {
    const counts = { stillUnreadCount: 0, pts: channel.box.pts }
    const update = { _: "updateReadChannelInbox", ...common, ...counts } as const
    push(reader, toUpdates(reader, [channel], [update]))
  }
  for (const author of authors) {
    const update = { _: "updateReadChannelOutbox", ...common } as const
    push(author, toUpdates(author, [channel], [update]))
  }
}

/** A person has read a chat up to that id, or all of it. Those who wrote there learn of it. */
export const markRead = (
  delivery: Delivery,
  reader: Person,
  chat: Chat,
  upTo: number | null,
  announcing: Announcing,
): void => {
  const latest = findLatest(reader, chat, upTo ?? Infinity)
  const readersBox = getBox(reader, chat)
  const ids = [...latest.values()].map(({ ids: copies }) => copies.get(readersBox) ?? 0)
  const maxId = upTo ?? Math.max(0, ...ids)
  if (maxId === 0) return
  reader.readInbox.set(chat, Math.max(maxId, reader.readInbox.get(chat) ?? 0))
  const seenAs = isGroup(chat) ? chat : reader
  for (const [author, message] of latest) {
    author.readOutbox.set(seenAs, message.ids.get(getBox(author, seenAs)) ?? 0)
  }
  if (isGroup(chat) && chat.kind !== "small") {
    if (announcing.arrival === "lost") return
    const { except } = announcing
    return announceChannelRead(delivery, reader, chat, maxId, { authors: latest.keys(), except })
  }
  const own = { box: reader.box, viewers: [reader] }
  announce(delivery, own, { _tag: "ReadInbox", chat, maxId }, announcing)
  for (const author of latest.keys()) {
    const read = author.readOutbox.get(seenAs) ?? 0
    const theirs = { box: author.box, viewers: [author] }
    announce(delivery, theirs, { _tag: "ReadOutbox", chat: seenAs, maxId: read }, announcing)
  }
}

/** The events as a client receives them that missed them; messages are as they are now. */
export const toDifference = (
  state: ServerState,
  box: Box,
  events: ReadonlyArray<BoxEvent>,
  viewer: Person,
) => {
  const there = events.filter(({ change }) => !("message" in change) || !change.message.isRemoved)
  const newMessages: Array<tl.TypeMessage> = []
  const otherUpdates: Array<tl.TypeUpdate> = []
  for (const event of there) {
    const { change } = event
    if (change._tag !== "Written") {
      otherUpdates.push(toUpdate(state, box, event, viewer))
      continue
    }
    const message = toMessage(state, box, change.message, viewer)
    newMessages.push(message)
    if (!change.message.isClients || change.message.by !== viewer) continue
    const { randomId } = change.message
    otherUpdates.push({ _: "updateMessageID", id: message.id, randomId })
  }
  const chats = there.flatMap(({ change }) => getChats(change))
  return { newMessages, otherUpdates, involved: new Set(chats) }
}
