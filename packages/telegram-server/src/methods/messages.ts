/** Finding people and groups, writing to them, and reading what they wrote. */
import type { tl } from "@mtcute/node"
import {
  getBox,
  getChat,
  getHistory,
  markRead,
  toDialog,
  toMessage,
  toPeers,
  toUpdates,
  writeMessage,
} from "../boxes.ts"
import type { Call, Method } from "../sessions.ts"
import {
  channelSeen,
  chatFor,
  getCaller,
  isGroup,
  personSeen,
  Refused,
  secondsNow,
  toDigits,
  toPeer,
  userFor,
} from "../ServerState.ts"
import type { Box, Chat, Media, Message, Person, ServerState } from "../ServerState.ts"
import { takeUpload } from "./files.ts"
import { toState } from "./updates.ts"

const resolved = (viewer: Person, person: Person): tl.contacts.RawResolvedPeer => ({
  _: "contacts.resolvedPeer",
  peer: toPeer(person),
  chats: [],
  users: [userFor(viewer, person)],
})

const resolveUsername = (
  { username }: tl.contacts.RawResolveUsernameRequest,
  call: Call,
): tl.contacts.RawResolvedPeer => {
  const viewer = getCaller(call.key)
  if (!/^[a-z]\w{3,31}$/i.test(username)) throw new Refused(400, "USERNAME_INVALID")
  const query = username.toLowerCase()
  const person = [...call.state.people.values()].find(
    (each) => each.username?.toLowerCase() === query,
  )
  if (person === undefined) throw new Refused(400, "USERNAME_NOT_OCCUPIED")
  return resolved(viewer, person)
}

const foundByPhone = ({ state }: Call, phone: string): Person | undefined => {
  const person = state.people.get(toDigits(phone))
  return person?.isFoundByPhone === true ? person : undefined
}

const resolvePhone = (
  { phone }: tl.contacts.RawResolvePhoneRequest,
  call: Call,
): tl.contacts.RawResolvedPeer => {
  const viewer = getCaller(call.key)
  const person = foundByPhone(call, phone)
  if (person === undefined) throw new Refused(400, "PHONE_NOT_OCCUPIED")
  return resolved(viewer, person)
}

const importContacts = (
  { contacts }: tl.contacts.RawImportContactsRequest,
  call: Call,
): tl.contacts.RawImportedContacts => {
  const viewer = getCaller(call.key)
  const { takesContacts } = call.state
  const claimed = takesContacts ? contacts : []
  const found = claimed.flatMap(({ clientId, phone }) => {
    const person = foundByPhone(call, phone)
    return person === undefined ? [] : [{ clientId, person }]
  })
  return {
    _: "contacts.importedContacts",
    imported: found.map(({ clientId, person }) => ({
      _: "importedContact",
      userId: person.id,
      clientId,
    })),
    popularInvites: [],
    retryContacts: takesContacts ? [] : contacts.map(({ clientId }) => clientId),
    users: found.map(({ person }) => userFor(viewer, person)),
  }
}

const toUser = (input: tl.TypeInputUser, call: Call): Person | undefined => {
  const viewer = getCaller(call.key)
  if (input._ === "inputUserSelf") return viewer
  return input._ === "inputUser" ? personSeen(call.state, viewer, input) : undefined
}

const getUsers = ({ id }: tl.users.RawGetUsersRequest, call: Call): ReadonlyArray<tl.RawUser> => {
  const viewer = getCaller(call.key)
  return id.flatMap((input) => {
    const person = toUser(input, call)
    return person === undefined ? [] : [userFor(viewer, person)]
  })
}

const getFullUser = ({ id }: tl.users.RawGetFullUserRequest, call: Call): tl.users.RawUserFull => {
  const viewer = getCaller(call.key)
  const person = toUser(id, call)
  if (person === undefined) throw new Refused(400, "USER_ID_INVALID")
  return {
    _: "users.userFull",
    fullUser: {
      _: "userFull",
      id: person.id,
      settings: { _: "peerSettings" },
      notifySettings: { _: "peerNotifySettings" },
      commonChatsCount: 0,
    },
    chats: [],
    users: [userFor(viewer, person)],
  }
}

/** The chat that a client means, of those that its account has. */
const findChat = (peer: tl.TypeInputPeer, viewer: Person, { state }: Call): Chat => {
  if (peer._ === "inputPeerChannel") return channelSeen(state, viewer, peer)
  const found =
    peer._ === "inputPeerSelf"
      ? viewer
      : peer._ === "inputPeerUser"
        ? personSeen(state, viewer, peer)
        : peer._ === "inputPeerChat"
          ? state.groups.find(
              ({ id, kind, members }) =>
                kind === "small" && id === peer.chatId && members.has(viewer),
            )
          : undefined
  if (found === undefined) throw new Refused(400, "PEER_ID_INVALID")
  return found
}

/** The message that another one answers, and the part of it that is quoted. */
const findQuoted = (
  replyTo: tl.TypeInputReplyTo | undefined,
  sender: Person,
  chat: Chat,
): Pick<Message, "replyTo" | "quote"> => {
  if (replyTo?._ !== "inputReplyToMessage") return { replyTo: null, quote: null }
  const found = getBox(sender, chat).messages.get(replyTo.replyToMsgId)
  if (found === undefined || getChat(found, sender) !== chat) {
    throw new Refused(400, "REPLY_MESSAGE_ID_INVALID")
  }
  return { replyTo: found, quote: replyTo.quoteText ?? null }
}

interface Sent {
  readonly sender: Person
  readonly message: Message
  /** The sender's copy. */
  readonly box: Box
  readonly id: number
}

/** Puts the message into all boxes of its chat. A client's id is accepted once. */
const deliver = (
  request: tl.messages.RawSendMessageRequest | tl.messages.RawSendMediaRequest,
  call: Call,
  media: Media | null,
): Sent => {
  const sender = getCaller(call.key)
  const to = findChat(request.peer, sender, call)
  const { entities = [], message: text, randomId, replyTo } = request
  if (sender.randomIds.has(randomId.toString())) throw new Refused(500, "RANDOM_ID_DUPLICATE")
  const quoted = findQuoted(replyTo, sender, to)
  sender.randomIds.add(randomId.toString())
  const draft = { by: sender, to, date: secondsNow(), text, entities, media, ...quoted }
  const message = writeMessage(
    call,
    { ...draft, randomId, isClients: true },
    { arrival: "full", except: sender },
  )
  const box = getBox(sender, to)
  return { sender, message, box, id: message.ids.get(box) ?? 0 }
}

/** The answer to a send, with the whole message. */
const toSent = ({ state }: Call, { box, id, message, sender }: Sent): tl.RawUpdates => {
  const counts = { pts: box.pts, ptsCount: 1 }
  const raw = toMessage(state, box, message, sender)
  const written = box.channelId === null ? "updateNewMessage" : "updateNewChannelMessage"
  const reported: tl.RawUpdateMessageID = { _: "updateMessageID", id, randomId: message.randomId }
  return toUpdates(sender, [message.to], [reported, { _: written, message: raw, ...counts }])
}

const longestText = 4096
const longestCaption = 1024

const sendMessage = (
  request: tl.messages.RawSendMessageRequest,
  call: Call,
): tl.RawUpdateShortSentMessage | tl.RawUpdates => {
  getCaller(call.key)
  if (request.message.trim() === "") throw new Refused(400, "MESSAGE_EMPTY")
  if (request.message.length > longestText) throw new Refused(400, "MESSAGE_TOO_LONG")
  const sent = deliver(request, call, null)
  if (sent.box.channelId !== null) return toSent(call, sent)
  const { box, id, message } = sent
  const counts = { pts: box.pts, ptsCount: 1 }
  return { _: "updateShortSentMessage", out: true, id, ...counts, date: message.date }
}

const sendMedia = (request: tl.messages.RawSendMediaRequest, call: Call): tl.RawUpdates => {
  const sender = getCaller(call.key)
  if (request.message.length > longestCaption) throw new Refused(400, "MEDIA_CAPTION_TOO_LONG")
  findChat(request.peer, sender, call)
  if (sender.randomIds.has(request.randomId.toString())) {
    throw new Refused(500, "RANDOM_ID_DUPLICATE")
  }
  return toSent(call, deliver(request, call, takeUpload(sender, request.media)))
}

const toMessages = (
  { state }: Call,
  viewer: Person,
  box: Box,
  messages: ReadonlyArray<tl.RawMessageEmpty | Message>,
): tl.messages.RawMessages | tl.messages.RawChannelMessages => {
  const chats = messages.flatMap((each) => ("_" in each ? [] : [each.by, each.to]))
  const common = {
    messages: messages.map((each) => ("_" in each ? each : toMessage(state, box, each, viewer))),
    topics: [],
    ...toPeers(viewer, chats),
  }
  if (box.channelId === null) return { _: "messages.messages", ...common }
  return { _: "messages.channelMessages", ...common, pts: box.pts, count: box.messages.size }
}

const getChatHistory = (
  { limit, maxId, minId, offsetId, peer }: tl.messages.RawGetHistoryRequest,
  call: Call,
) => {
  const viewer = getCaller(call.key)
  const chat = findChat(peer, viewer, call)
  const box = getBox(viewer, chat)
  const end = Math.min(...[offsetId, maxId].map((id) => (id === 0 ? Infinity : id)))
  const found = getHistory(viewer, chat).filter((message) => {
    const id = message.ids.get(box) ?? 0
    return id > minId && id < end
  })
  return toMessages(call, viewer, box, found.slice(0, limit))
}

const getByIds = (call: Call, viewer: Person, box: Box, ids: ReadonlyArray<tl.TypeInputMessage>) =>
  toMessages(
    call,
    viewer,
    box,
    ids.map((input) => {
      const id = input._ === "inputMessageID" ? input.id : 0
      return box.messages.get(id) ?? { _: "messageEmpty", id }
    }),
  )

const getMessages = ({ id }: tl.messages.RawGetMessagesRequest, call: Call) => {
  const viewer = getCaller(call.key)
  return getByIds(call, viewer, viewer.box, id)
}

const getChannelMessages = (
  { channel, id }: tl.channels.RawGetMessagesRequest,
  call: Call,
): tl.messages.TypeMessages => {
  const viewer = getCaller(call.key)
  return getByIds(call, viewer, channelSeen(call.state, viewer, channel).box, id)
}

/** The chats as entries of the account's list, with their latest messages. */
const toDialogs = (call: Call, person: Person, chats: ReadonlyArray<Chat>) => ({
  dialogs: chats.map((chat) => toDialog(person, chat)),
  messages: chats.flatMap((chat) =>
    getHistory(person, chat)
      .slice(0, 1)
      .map((message) => toMessage(call.state, getBox(person, chat), message, person)),
  ),
  ...toPeers(person, chats),
})

const getPeerDialogs = (
  { peers }: tl.messages.RawGetPeerDialogsRequest,
  call: Call,
): tl.messages.RawPeerDialogs => {
  const person = getCaller(call.key)
  const others = peers.flatMap((each) =>
    each._ === "inputDialogPeer" ? [findChat(each.peer, person, call)] : [],
  )
  return { _: "messages.peerDialogs", ...toDialogs(call, person, others), state: toState(person) }
}

/** The account's chats, those with the latest messages first. */
const listChats = ({ groups, messages, people }: ServerState, person: Person) => {
  const others: ReadonlyArray<Chat> = [
    ...people.values(),
    ...groups.filter(({ members }) => members.has(person)),
  ]
  return others
    .flatMap((chat) => {
      const [latest] = getHistory(person, chat)
      return latest === undefined ? [] : [{ chat, at: messages.indexOf(latest) }]
    })
    .toSorted((a, b) => b.at - a.at)
    .map(({ chat }) => chat)
}

const longestPage = 100

const getDialogs = (
  { limit, offsetPeer }: tl.messages.RawGetDialogsRequest,
  call: Call,
): tl.messages.RawDialogs | tl.messages.RawDialogsSlice => {
  const person = getCaller(call.key)
  const chats = listChats(call.state, person)
  const start =
    offsetPeer._ === "inputPeerEmpty" ? 0 : chats.indexOf(findChat(offsetPeer, person, call)) + 1
  const page = chats.slice(start, start + Math.min(limit, longestPage))
  const found = toDialogs(call, person, page)
  return start === 0 && page.length === chats.length
    ? { _: "messages.dialogs", ...found }
    : { _: "messages.dialogsSlice", count: chats.length, ...found }
}

/** Keeps the mark for tests; 0 is the latest message. Returns whether it goes further than before. */
const keepMark = (call: Call, chat: Chat, maxId: number): boolean => {
  const reader = getCaller(call.key)
  const before = reader.readInbox.get(chat) ?? 0
  const upTo = maxId === 0 ? null : maxId
  const named = isGroup(chat) ? chat.title : chat.phone
  reader.readMarks.push({ chat: named, chatId: chat.id, maxId })
  if (upTo !== null && upTo <= before) return false
  markRead(call, reader, chat, upTo, { arrival: "full", except: reader })
  return true
}

const readHistory = (
  { maxId, peer }: tl.messages.RawReadHistoryRequest,
  call: Call,
): tl.messages.RawAffectedMessages => {
  const reader = getCaller(call.key)
  if (peer._ === "inputPeerChannel") throw new Refused(400, "PEER_ID_INVALID")
  const before = reader.box.pts
  keepMark(call, findChat(peer, reader, call), maxId)
  const { pts } = reader.box
  return { _: "messages.affectedMessages", pts, ptsCount: pts - before }
}

const readChannel = ({ channel, maxId }: tl.channels.RawReadHistoryRequest, call: Call): boolean =>
  keepMark(call, channelSeen(call.state, getCaller(call.key), channel), maxId)

const getChats = ({ id }: tl.messages.RawGetChatsRequest, call: Call): tl.messages.RawChats => {
  const viewer = getCaller(call.key)
  const found = call.state.groups.filter((group) => group.kind === "small" && id.includes(group.id))
  return { _: "messages.chats", chats: found.map((group) => chatFor(viewer, group)) }
}

const getChannels = (
  { id }: tl.channels.RawGetChannelsRequest,
  call: Call,
): tl.messages.RawChats => {
  const viewer = getCaller(call.key)
  const found = id.map((input) => channelSeen(call.state, viewer, input))
  return { _: "messages.chats", chats: found.map((group) => chatFor(viewer, group)) }
}

const updateStatus = (_: tl.account.RawUpdateStatusRequest, call: Call): boolean => {
  getCaller(call.key)
  return true
}

export const messageMethods: Readonly<Record<string, Method>> = {
  "contacts.resolveUsername": resolveUsername,
  "contacts.resolvePhone": resolvePhone,
  "contacts.importContacts": importContacts,
  "users.getUsers": getUsers,
  "users.getFullUser": getFullUser,
  "messages.sendMessage": sendMessage,
  "messages.sendMedia": sendMedia,
  "messages.getHistory": getChatHistory,
  "messages.getMessages": getMessages,
  "channels.getMessages": getChannelMessages,
  "messages.getPeerDialogs": getPeerDialogs,
  "messages.getDialogs": getDialogs,
  "messages.readHistory": readHistory,
  "channels.readHistory": readChannel,
  "messages.getChats": getChats,
  "channels.getChannels": getChannels,
  "account.updateStatus": updateStatus,
}
