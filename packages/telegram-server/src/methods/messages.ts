/** Finding people, uploading files, and writing to people; changes of a person's box. */
import { Long } from "@mtcute/node"
import type { tl } from "@mtcute/node"
import { createHash } from "node:crypto"
import { randomLong } from "../envelope.ts"
import type { Call, Method } from "../sessions.ts"
import {
  Refused,
  addEvent,
  toDigits,
  firstPts,
  toPeer,
  personSeen,
  secondsNow,
  userFor,
} from "../ServerState.ts"
import type { Person, DisplayedMessage } from "../ServerState.ts"

/** The caller. */
const self = ({ key }: Call): Person => {
  if (key.awaited !== null) throw new Refused(401, "SESSION_PASSWORD_NEEDED")
  if (key.person === null) throw new Refused(401, "AUTH_KEY_UNREGISTERED")
  if (key.person.isBanned) throw new Refused(401, "USER_DEACTIVATED_BAN")
  return key.person
}

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
  const viewer = self(call)
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
  const viewer = self(call)
  const person = foundByPhone(call, phone)
  if (person === undefined) throw new Refused(400, "PHONE_NOT_OCCUPIED")
  return resolved(viewer, person)
}

const importContacts = (
  { contacts }: tl.contacts.RawImportContactsRequest,
  call: Call,
): tl.contacts.RawImportedContacts => {
  const viewer = self(call)
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
  const viewer = self(call)
  if (input._ === "inputUserSelf") return viewer
  return input._ === "inputUser" ? personSeen(call.state, viewer, input) : undefined
}

const getUsers = ({ id }: tl.users.RawGetUsersRequest, call: Call): ReadonlyArray<tl.RawUser> => {
  const viewer = self(call)
  return id.flatMap((input) => {
    const person = toUser(input, call)
    return person === undefined ? [] : [userFor(viewer, person)]
  })
}

const getFullUser = ({ id }: tl.users.RawGetFullUserRequest, call: Call): tl.users.RawUserFull => {
  const viewer = self(call)
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

/** The maximum size of a file's part. */
const partBytes = 512 * 1024

const keepPart = (
  {
    bytes,
    fileId,
    filePart,
  }: Pick<tl.upload.RawSaveFilePartRequest, "fileId" | "filePart" | "bytes">,
  call: Call,
): boolean => {
  const { uploads } = self(call)
  if (bytes.length === 0) throw new Refused(400, "FILE_PART_EMPTY")
  if (bytes.length > partBytes) throw new Refused(400, "FILE_PART_TOO_BIG")
  const name = fileId.toString()
  const parts = uploads.get(name) ?? new Map<number, Uint8Array>()
  uploads.set(name, parts)
  parts.set(filePart, Buffer.from(bytes))
  return true
}

/** The parts of a file, which are removed with it. */
const takeFile = (
  { uploads }: Person,
  { id, parts: count }: { readonly id: Long; readonly parts: number },
): ReadonlyArray<Uint8Array> => {
  const parts = uploads.get(id.toString())
  if (parts === undefined || count < 1) throw new Refused(400, "FILE_PARTS_INVALID")
  const found = Array.from({ length: count }, (_, index) => {
    const part = parts.get(index)
    if (part === undefined) throw new Refused(400, `FILE_PART_${index}_MISSING`)
    return part
  })
  uploads.delete(id.toString())
  return found
}

const pictures: ReadonlyArray<readonly [string, string]> = [
  ["89504e47", "image/png"],
  ["ffd8ff", "image/jpeg"],
  ["47494638", "image/gif"],
  ["52494646", "image/webp"],
]

/** The kind of a picture, by its content. */
const pictureType = (bytes: Uint8Array): string => {
  const start = Buffer.from(bytes.subarray(0, 4)).toString("hex")
  const found = pictures.find(([magic]) => start.startsWith(magic))
  if (found === undefined) throw new Refused(400, "IMAGE_PROCESS_FAILED")
  return found[1]
}

const uploaded = (
  sender: Person,
  media: tl.TypeInputMedia,
): {
  readonly displayed: NonNullable<DisplayedMessage["media"]>
  readonly media: tl.TypeMessageMedia
} => {
  const isPhoto = media._ === "inputMediaUploadedPhoto"
  if (!isPhoto && media._ !== "inputMediaUploadedDocument") throw new Refused(400, "MEDIA_INVALID")
  const { file } = media
  if (file._ !== "inputFile" && file._ !== "inputFileBig") throw new Refused(400, "MEDIA_INVALID")
  const hash = createHash("sha256")
  let size = 0
  const parts = takeFile(sender, file)
  for (const part of parts) {
    hash.update(part)
    size += part.length
  }
  const ids = { id: randomLong(), accessHash: randomLong(), fileReference: Buffer.alloc(8) }
  const common = { ...ids, date: secondsNow(), dcId: sender.dcId }
  const sha256 = hash.digest("hex")
  if (isPhoto) {
    const pictureMime = pictureType(parts[0] ?? new Uint8Array())
    const sizes: ReadonlyArray<tl.RawPhotoSize> = [{ _: "photoSize", type: "x", w: 1, h: 1, size }]
    return {
      displayed: { kind: "photo", fileName: null, mimeType: pictureMime, size, sha256 },
      media: { _: "messageMediaPhoto", photo: { _: "photo", ...common, sizes: [...sizes] } },
    }
  }
  const { attributes, mimeType } = media
  const named = attributes.find((attribute) => attribute._ === "documentAttributeFilename")
  return {
    displayed: { kind: "document", fileName: named?.fileName ?? null, mimeType, size, sha256 },
    media: {
      _: "messageMediaDocument",
      document: { _: "document", ...common, mimeType, size, attributes },
    },
  }
}

const getRecipient = (peer: tl.TypeInputPeer, sender: Person, { state }: Call): Person => {
  const person =
    peer._ === "inputPeerSelf"
      ? sender
      : peer._ === "inputPeerUser"
        ? personSeen(state, sender, peer)
        : undefined
  if (person === undefined) throw new Refused(400, "PEER_ID_INVALID")
  return person
}

interface Written {
  readonly id: number
  readonly pts: number
  readonly date: number
  readonly message: tl.RawMessage
  readonly recipient: Person
}

/** Puts the message into both boxes. A client's id is accepted once. */
const deliver = (
  request: tl.messages.RawSendMessageRequest | tl.messages.RawSendMediaRequest,
  call: Call,
  file: ReturnType<typeof uploaded> | null,
): Written => {
  const sender = self(call)
  const recipient = getRecipient(request.peer, sender, call)
  const randomId = request.randomId.toString()
  if (sender.sent.has(randomId)) throw new Refused(500, "RANDOM_ID_DUPLICATE")
  const { entities = [], message: text } = request
  const date = secondsNow()
  const id = ++sender.lastMessageId
  sender.sent.set(randomId, id)
  sender.lastTo.set(recipient.id, id)
  const media = file === null ? {} : { media: file.media }
  const message: tl.RawMessage = {
    _: "message",
    id,
    peerId: toPeer(recipient),
    fromId: toPeer(sender),
    out: true,
    date,
    message: text,
    entities,
    ...media,
  }
  const displayed: DisplayedMessage = {
    from: sender.phone,
    to: recipient.phone,
    text,
    entities,
    media: file?.displayed ?? null,
    randomId,
  }
  recipient.displayed.push(displayed)
  call.state.sent.push(displayed)
  const { pts } = addEvent(sender, recipient, (at) => newMessage(message, at))
  if (recipient !== sender) {
    const theirs = {
      ...message,
      id: ++recipient.lastMessageId,
      peerId: toPeer(sender),
      out: false,
    }
    const event = addEvent(recipient, sender, (at) => newMessage(theirs, at))
    call.push(recipient, boxUpdates(recipient, sender, event.update))
  }
  return { id, pts, date, message, recipient }
}

const newMessage = (message: tl.RawMessage, pts: number): tl.RawUpdateNewMessage => ({
  _: "updateNewMessage",
  message,
  pts,
  ptsCount: 1,
})

/** The state of a person's box, for its clients. */
export const boxUpdates = (
  person: Person,
  other: Person,
  ...updates: Array<tl.TypeUpdate>
): tl.RawUpdates => ({
  _: "updates",
  updates,
  users: [userFor(person, person), userFor(person, other)],
  chats: [],
  date: secondsNow(),
  seq: 0,
})

const longestText = 4096
const longestCaption = 1024

const sendMessage = (
  request: tl.messages.RawSendMessageRequest,
  call: Call,
): tl.RawUpdateShortSentMessage => {
  self(call)
  if (request.message.trim() === "") throw new Refused(400, "MESSAGE_EMPTY")
  if (request.message.length > longestText) throw new Refused(400, "MESSAGE_TOO_LONG")
  const { date, id, pts } = deliver(request, call, null)
  return { _: "updateShortSentMessage", out: true, id, pts, ptsCount: 1, date }
}

const sendMedia = (request: tl.messages.RawSendMediaRequest, call: Call): tl.RawUpdates => {
  const sender = self(call)
  if (request.message.length > longestCaption) throw new Refused(400, "MEDIA_CAPTION_TOO_LONG")
  getRecipient(request.peer, sender, call)
  if (sender.sent.has(request.randomId.toString())) throw new Refused(500, "RANDOM_ID_DUPLICATE")
  const file = uploaded(sender, request.media)
  const { id, message, pts, recipient } = deliver(request, call, file)
  const reported: tl.RawUpdateMessageID = { _: "updateMessageID", id, randomId: request.randomId }
  return boxUpdates(sender, recipient, reported, newMessage(message, pts))
}

const getState = (_: tl.updates.RawGetStateRequest, call: Call): tl.updates.RawState => ({
  _: "updates.state",
  pts: self(call).events.at(-1)?.pts ?? firstPts,
  qts: 0,
  date: secondsNow(),
  seq: 0,
  unreadCount: 0,
})

const getDifference = (
  { pts }: tl.updates.RawGetDifferenceRequest,
  call: Call,
): tl.updates.TypeDifference => {
  const person = self(call)
  const missed = person.events.filter((event) => event.pts > pts)
  const date = secondsNow()
  if (missed.length === 0) return { _: "updates.differenceEmpty", date, seq: 0 }
  const updates = missed.map(({ update }) => update)
  const users = new Map([person, ...missed.map(({ user }) => user)].map((user) => [user.id, user]))
  return {
    _: "updates.difference",
    newMessages: updates.flatMap((update) =>
      update._ === "updateNewMessage" ? [update.message] : [],
    ),
    newEncryptedMessages: [],
    otherUpdates: updates.filter((update) => update._ !== "updateNewMessage"),
    chats: [],
    users: [...users.values()].map((user) => userFor(person, user)),
    state: getState({ _: "updates.getState" }, call),
  }
}

/** The messages between two people, as one of them has them; the latest first. */
const getDialog = ({ events }: Person, other: Person): ReadonlyArray<tl.RawMessage> =>
  events
    .flatMap(({ update }) =>
      update._ === "updateNewMessage" && update.message._ === "message" ? [update.message] : [],
    )
    .filter(({ peerId }) => peerId._ === "peerUser" && peerId.userId === other.id)
    .toReversed()

const getHistory = (
  { limit, peer }: tl.messages.RawGetHistoryRequest,
  call: Call,
): tl.messages.RawMessages => {
  const person = self(call)
  const other = getRecipient(peer, person, call)
  return {
    _: "messages.messages",
    messages: getDialog(person, other).slice(0, limit),
    topics: [],
    chats: [],
    users: [userFor(person, other)],
  }
}

const getPeerDialogs = (
  { peers }: tl.messages.RawGetPeerDialogsRequest,
  call: Call,
): tl.messages.RawPeerDialogs => {
  const person = self(call)
  const others = peers.flatMap((each) =>
    each._ === "inputDialogPeer" ? [getRecipient(each.peer, person, call)] : [],
  )
  const tops = others.flatMap((other) => getDialog(person, other).slice(0, 1))
  return {
    _: "messages.peerDialogs",
    dialogs: others.map((other) => ({
      _: "dialog",
      peer: toPeer(other),
      topMessage: getDialog(person, other)[0]?.id ?? 0,
      readInboxMaxId: 0,
      readOutboxMaxId: Math.max(
        0,
        ...person.events.flatMap(({ update, user }) =>
          update._ === "updateReadHistoryOutbox" && user === other ? [update.maxId] : [],
        ),
      ),
      unreadCount: 0,
      unreadMentionsCount: 0,
      unreadReactionsCount: 0,
      unreadPollVotesCount: 0,
      notifySettings: { _: "peerNotifySettings" },
    })),
    messages: tops,
    chats: [],
    users: others.map((other) => userFor(person, other)),
    state: getState({ _: "updates.getState" }, call),
  }
}

const updateStatus = (_: tl.account.RawUpdateStatusRequest, call: Call): boolean => {
  self(call)
  return true
}

export const messageMethods: Readonly<Record<string, Method>> = {
  "contacts.resolveUsername": resolveUsername,
  "contacts.resolvePhone": resolvePhone,
  "contacts.importContacts": importContacts,
  "users.getUsers": getUsers,
  "users.getFullUser": getFullUser,
  "upload.saveFilePart": keepPart,
  "upload.saveBigFilePart": keepPart,
  "messages.sendMessage": sendMessage,
  "messages.sendMedia": sendMedia,
  "messages.getHistory": getHistory,
  "messages.getPeerDialogs": getPeerDialogs,
  "updates.getState": getState,
  "updates.getDifference": getDifference,
  "account.updateStatus": updateStatus,
}
