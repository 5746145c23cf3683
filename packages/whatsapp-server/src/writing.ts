/**
 * What people write to linked devices, in chats and groups; also the owner: the owner's phone tells the
 * other devices. Phones keep it, so that a device that cannot read a message gets it again, sealed for a new
 * session.
 */
import { proto } from "baileys"
import type { BinaryNode } from "baileys"
import { randomBytes } from "node:crypto"
import { deflateSync } from "node:zlib"
import { publish, renew } from "./files.ts"
import type { Published, SentFile } from "./files.ts"
import { bytesIn, find, node } from "./nodes.ts"
import { readKey, readSignedKey } from "./deviceKeys.ts"
import type { Bundle } from "./deviceKeys.ts"
import { makePhone } from "./Phone.ts"
import type { Phone } from "./Phone.ts"
import { deviceBundle } from "./queries.ts"
import { acquaint } from "./restrictions.ts"
import { accountAt, nowSeconds, withDevice } from "./ServerState.ts"
import type { Account, Device, Group, ServerState } from "./ServerState.ts"

/** Ids name earlier messages of anyone. */
export type Content =
  | { readonly text: string }
  | { readonly file: SentFile }
  | {
      readonly location: {
        readonly latitude: number
        readonly longitude: number
        readonly name?: string
        readonly address?: string
      }
    }
  | {
      readonly contacts: ReadonlyArray<{
        readonly name: string
        readonly phones: ReadonlyArray<string>
      }>
    }
  | { readonly poll: { readonly question: string; readonly options: ReadonlyArray<string> } }
  | { readonly edits: string; readonly text: string }
  | { readonly revokes: string }
  /** `null` takes the reaction back. */
  | { readonly reactsTo: string; readonly emoji: string | null }
  /** Anything else. */
  | { readonly message: proto.IMessage }

/** By which addresses the author is named: the main one, and whether the other one comes along. */
export type Address = "pn" | "lid" | "pn only" | "lid only"

/**
 * `broken once`: it cannot be read until a device asks for a copy. `broken`: that request has no answer.
 * `without content`: it is announced as unavailable. `resend` sends it readable.
 */
export type Arrival = "readable" | "broken once" | "broken" | "without content"

export interface WritingOptions {
  /** Default: a new one. */
  readonly id?: string
  /** The id of the message that it answers. */
  readonly quotes?: string
  /** In milliseconds. Default: now. */
  readonly sentAt?: number
  /** Default: the group's, else `pn`. */
  readonly address?: Address
  /** The author's device. Default: the phone, 0. */
  readonly device?: number
  readonly arrives?: Arrival
  /** The readers' phones have it, and give it to a device that asks. Default: false. */
  readonly onPhone?: boolean
  /** More attributes of the stanza, or others. */
  readonly attrs?: Readonly<Record<string, string>>
}

export type Writing = Content & WritingOptions

/** A chat as its author sees it: a person, a group, or those who see statuses. */
interface Chat {
  readonly person: Account | undefined
  /** The id of what is sealed with a sender key. */
  readonly group: string | undefined
  readonly address: Address
  readonly readers: ReadonlyArray<Device>
}

interface Written {
  readonly id: string
  readonly author: Account
  /** The author's device, and its number. */
  readonly phone: Phone
  readonly device: number
  readonly chat: Chat
  readonly message: proto.IMessage
  readonly file: Published | undefined
  readonly attrs: Readonly<Record<string, string>>
  readonly arrives: Arrival
  readonly onPhone: boolean
}

interface WritingServer {
  readonly state: ServerState
  readonly mediaHost: string
  /** By author and id. */
  readonly written: Map<string, Written>
  /** The persons' own linked devices, as far as they write. */
  readonly companions: Map<string, Phone>
  lastId: number
}

export interface Writings {
  /** `to` is a number, a group's id, or `status@broadcast`. Returns the message's id. */
  readonly write: (from: Account, to: string, what: Writing) => Promise<string>
  /** Sends a message once more, readable, to every reader. */
  readonly resend: (from: Account, id: string) => Promise<void>
  /** Sends a device what its phone tells it after linking. */
  readonly introduce: (device: Device) => Promise<void>
  /** The owner's phone has read a device's message, and answers what is asked of it. */
  readonly answerDevice: (device: Device, id: string, message: proto.IMessage) => Promise<void>
  /** A device could not read a message; `false` if no phone wrote it. */
  readonly retry: (device: Device, receipt: BinaryNode) => Promise<boolean>
  /** A device needs a new link to a file. */
  readonly renewFile: (device: Device, receipt: BinaryNode) => void
  /** A file's link answers with this status from now on. */
  readonly endLink: (from: Account, id: string, status: number) => void
  readonly close: () => void
}

const statusChat = "status@broadcast"

const toKey = (author: Account, id: string) => `${author.number} ${id}`

const isLid = ({ address }: Chat) => address.startsWith("lid")

const toJid = (account: Account, chat: Chat) => (isLid(chat) ? account.lid : account.pn)

const getDevices = (accounts: Iterable<Account>) =>
  [...accounts].flatMap((account) => [...account.devices.values()])

const getChat = (
  { accounts, groups }: ServerState,
  author: Account,
  to: string,
  address: Address | undefined,
): Chat => {
  const group: Group | undefined = groups.get(to)
  if (group !== undefined || to === statusChat) {
    const others = [...accounts.values()].filter((account) => account !== author)
    return {
      person: undefined,
      group: to,
      address: address ?? group?.addressing ?? "pn",
      readers: getDevices(group?.participants ?? others),
    }
  }
  const person = accounts.get(to)
  if (person === undefined) throw new Error(`no person has the number ${to}`)
  const readers = getDevices(new Set([person, author]))
  return { person, group: undefined, address: address ?? "pn", readers }
}

// Content

/** The author of any message; `fallback` for one that was never seen. */
const getAuthor = ({ state, written }: WritingServer, id: string, fallback: Account) =>
  [...written.values()].find((each) => each.id === id)?.author ??
  state.sent.get(id)?.device.account ??
  fallback

/** A message's key from the side of the one who names it. */
const toMessageKey = (author: Account, chat: Chat, by: Account, id: string): proto.IMessageKey => {
  const fromMe = author === by
  const remoteJid = chat.group ?? (chat.person && toJid(chat.person, chat)) ?? null
  const isOthers = chat.group !== undefined && !fromMe
  return { remoteJid, fromMe, id, ...(isOthers ? { participant: toJid(author, chat) } : {}) }
}

const toCard = ({
  name,
  phones,
}: {
  readonly name: string
  readonly phones: Iterable<string>
}) => ({
  displayName: name,
  vcard: [
    "BEGIN:VCARD",
    "VERSION:3.0",
    `FN:${name}`,
    ...[...phones].map((phone) => `TEL;type=CELL;waid=${phone.replaceAll(/\D/g, "")}:${phone}`),
    "END:VCARD",
  ].join("\n"),
})

type Plain = Exclude<
  Content,
  { file: SentFile } | { edits: string } | { revokes: string } | { reactsTo: string }
>

const toPlainMessage = (what: Plain): proto.IMessage => {
  if ("message" in what) return what.message
  if ("text" in what) return { conversation: what.text }
  if ("location" in what) {
    const { latitude, longitude, ...named } = what.location
    const coordinates = { degreesLatitude: latitude, degreesLongitude: longitude, ...named }
    return { locationMessage: coordinates }
  }
  if ("contacts" in what) {
    const contacts = what.contacts.map(toCard)
    const [only] = contacts
    if (contacts.length === 1 && only !== undefined) return { contactMessage: only }
    return { contactsArrayMessage: { displayName: `${contacts.length} contacts`, contacts } }
  }
  const { options, question } = what.poll
  return {
    messageContextInfo: { messageSecret: randomBytes(32) },
    pollCreationMessageV3: {
      name: question,
      options: options.map((optionName) => ({ optionName })),
      selectableOptionsCount: 1,
    },
  }
}

interface Composed {
  readonly message: proto.IMessage
  readonly attrs: Readonly<Record<string, string>>
  readonly file?: Published
}

const compose = async (
  server: WritingServer,
  by: Account,
  chat: Chat,
  what: Content,
): Promise<Composed> => {
  const types = proto.Message.ProtocolMessage.Type
  const timestampMs = Date.now()
  if ("edits" in what) {
    const key = toMessageKey(by, chat, by, what.edits)
    const editedMessage = { conversation: what.text }
    const edit = { key, type: types.MESSAGE_EDIT, editedMessage, timestampMs }
    return { message: { protocolMessage: edit }, attrs: { type: "text", edit: "1" } }
  }
  if ("revokes" in what) {
    const author = getAuthor(server, what.revokes, by)
    const key = toMessageKey(author, chat, by, what.revokes)
    const attrs = { type: "text", edit: author === by ? "7" : "8" }
    return { message: { protocolMessage: { key, type: types.REVOKE } }, attrs }
  }
  if ("reactsTo" in what) {
    const author = getAuthor(server, what.reactsTo, chat.person ?? by)
    const key = toMessageKey(author, chat, by, what.reactsTo)
    const reactionMessage = { key, text: what.emoji ?? "", senderTimestampMs: timestampMs }
    return { message: { reactionMessage }, attrs: { type: "reaction" } }
  }
  if ("file" in what) {
    const file = await publish(server.state, server.mediaHost, what.file)
    return { message: file.content, attrs: { type: "media" }, file }
  }
  const type = "text" in what ? "text" : "poll" in what ? "poll" : "media"
  return { message: toPlainMessage(what), attrs: { type } }
}

/** The message as an answer to an earlier one. */
const quoting = (
  server: WritingServer,
  by: Account,
  chat: Chat,
  id: string,
  message: proto.IMessage,
): proto.IMessage => {
  const author = getAuthor(server, id, chat.person ?? by)
  const quoted =
    server.written.get(toKey(author, id))?.message ?? by.phone.displayed.get(id)?.message
  const contextInfo = {
    stanzaId: id,
    participant: toJid(author, chat),
    quotedMessage: quoted ?? { conversation: "" },
  }
  const { conversation, ...rest } = message
  if (typeof conversation === "string") {
    return { ...rest, extendedTextMessage: { text: conversation, contextInfo } }
  }
  const entries = Object.entries(message).map(([name, part]: [string, object]) => [
    name,
    name === "messageContextInfo" ? part : { ...part, contextInfo },
  ])
  return Object.fromEntries(entries) as proto.IMessage
}

// Stanzas

/** Who wrote to whom, in the attributes of a device's stanza. */
const toAttrs = ({ attrs, author, chat, device, id }: Written, reader: Device) => {
  const from = withDevice(toJid(author, chat), device)
  const [alt, other] = isLid(chat) ? (["pn", "pn"] as const) : (["lid", "lid"] as const)
  const also = (name: string, account: Account) =>
    chat.address.endsWith("only") ? {} : { [`${name}_${alt}`]: account[other] }
  const common = { id, notify: author.name }
  if (chat.group !== undefined) {
    return {
      ...common,
      from: chat.group,
      participant: from,
      addressing_mode: alt === "pn" ? "lid" : "pn",
      ...also("participant", author),
      ...attrs,
    }
  }
  const { person } = chat
  const isOwn = reader.account === author && person !== undefined && attrs["category"] === undefined
  return isOwn
    ? {
        ...common,
        from,
        recipient: toJid(person, chat),
        ...also("peer_recipient", person),
        ...attrs,
      }
    : { ...common, from, ...also("sender", author), ...attrs }
}

const toStanza = (written: Written, reader: Device, content: ReadonlyArray<BinaryNode>) =>
  node("message", toAttrs(written, reader), [...content])

/** Changes a byte of the seal. */
const breakSeal = (bytes: Uint8Array) => {
  const broken = Buffer.from(bytes)
  const at = broken.length - 8
  broken.writeUInt8(broken.readUInt8(at) ^ 1, at)
  return broken
}

const encNode = (type: string, bytes: Uint8Array, count?: string) =>
  node("enc", { v: "2", type, count }, bytes)

/** The owner's phone tells the other devices to whom it wrote. */
const toPlain = ({ attrs, author, chat, message }: Written, reader: Device): proto.IMessage =>
  reader.account === author && chat.person !== undefined && attrs["category"] === undefined
    ? { deviceSentMessage: { destinationJid: toJid(chat.person, chat), message } }
    : message

const sealFor = (
  { phone }: Written,
  reader: Device,
  message: proto.IMessage,
  bundle = () => deviceBundle(reader),
  isNew = false,
) => phone.seal(withDevice(reader.account.lid, reader.id), message, bundle, isNew)

const withKey = (group: string, key: Uint8Array): proto.IMessage => ({
  senderKeyDistributionMessage: { groupId: group, axolotlSenderKeyDistributionMessage: key },
})

/** Sends one message to all its readers. */
const deliver = async (written: Written, arrives: Arrival) => {
  const { author, chat, message, phone } = written
  const isBroken = arrives.startsWith("broken")
  const toEnc = (type: string, bytes: Uint8Array) =>
    encNode(type, isBroken ? breakSeal(bytes) : bytes)
  if (arrives === "without content") {
    for (const reader of chat.readers) {
      reader.mailbox.add(toStanza(written, reader, [node("unavailable")]))
    }
    return
  }
  const { group } = chat
  const forAll =
    group === undefined ? undefined : await phone.sealForGroup(group, author.lid, message)
  for (const reader of chat.readers) {
    const parts: Array<BinaryNode> = []
    if (group === undefined || forAll === undefined) {
      const { ciphertext, type } = await sealFor(written, reader, toPlain(written, reader))
      parts.push(toEnc(type, ciphertext))
    } else {
      if (phone.isFirst(group, withDevice(reader.account.lid, reader.id))) {
        const { ciphertext, type } = await sealFor(written, reader, withKey(group, forAll.key))
        parts.push(encNode(type, ciphertext))
      }
      parts.push(toEnc("skmsg", forAll.ciphertext))
    }
    reader.mailbox.add(toStanza(written, reader, parts))
  }
}

const getPhone = ({ companions }: WritingServer, author: Account, device: number) => {
  if (device === 0) return author.phone
  const key = `${author.number} ${device}`
  const phone = companions.get(key) ?? makePhone()
  companions.set(key, phone)
  return phone
}

const remember = (
  server: WritingServer,
  author: Account,
  chat: Chat,
  { attrs, file, message }: Composed,
  { arrives = "readable", device = 0, onPhone = false, ...options }: WritingOptions,
): Written => {
  const id = options.id ?? `3A${String(++server.lastId).padStart(18, "0")}`
  const phone = getPhone(server, author, device)
  const t = String(Math.floor((options.sentAt ?? Date.now()) / 1000))
  const all = { ...attrs, t, ...options.attrs }
  const written = { id, author, phone, device, chat, message, file, attrs: all, arrives, onPhone }
  server.written.set(toKey(author, id), written)
  return written
}

const write = async (server: WritingServer, author: Account, to: string, what: Writing) => {
  const chat = getChat(server.state, author, to, what.address)
  const composed = await compose(server, author, chat, what)
  const { quotes } = what
  const message =
    quotes === undefined
      ? composed.message
      : quoting(server, author, chat, quotes, composed.message)
  const written = remember(server, author, chat, { ...composed, message }, what)
  if (chat.person !== undefined) acquaint(author, chat.person)
  await deliver(written, written.arrives)
  server.state.changed()
  return written.id
}

/** The keys in a retry receipt; the first request has none. */
const bundleIn = (receipt: BinaryNode, device: Device): Bundle | undefined => {
  const keys = find(receipt, "keys")
  const [preKey, signedKey] = [find(keys, "key"), find(keys, "skey")]
  if (signedKey === undefined) return undefined
  return {
    registrationId: device.registrationId,
    identity: bytesIn(find(keys, "identity")),
    signedKey: readSignedKey(signedKey),
    preKey: preKey && readKey(preKey),
  }
}

const retry = async ({ state, written }: WritingServer, device: Device, receipt: BinaryNode) => {
  const { id = "", participant, to = device.account.pn } = receipt.attrs
  const author = accountAt(state, participant ?? to)
  const found = author && written.get(toKey(author, id))
  if (found === undefined) return false
  if (found.arrives === "broken") return true
  const {
    author: { lid },
    chat: { group },
    phone,
  } = found
  const bundle = bundleIn(receipt, device) ?? deviceBundle(device)
  const key = group === undefined ? {} : withKey(group, await phone.groupKey(group, lid))
  const message = { ...toPlain(found, device), ...key }
  const { ciphertext, type } = await sealFor(found, device, message, () => bundle, true)
  const count = find(receipt, "retry")?.attrs["count"] ?? "1"
  device.mailbox.add(toStanza(found, device, [encNode(type, ciphertext, count)]))
  return true
}

const renewFile = ({ state, written }: WritingServer, device: Device, receipt: BinaryNode) => {
  const { from_me: fromMe, jid = "", participant = jid } = find(receipt, "rmr")?.attrs ?? {}
  const author = fromMe === "true" ? device.account : accountAt(state, participant)
  const file = author && written.get(toKey(author, receipt.attrs["id"] ?? ""))?.file
  if (file === undefined) state.complaints.push(`a new link for unknown ${receipt.attrs["id"]}`)
  else renew(state, device, receipt, file)
}

/** The owner's phone tells one of its devices something. */
const notify = async (
  server: WritingServer,
  device: Device,
  said: proto.Message.IProtocolMessage,
) => {
  const { account } = device
  const chat = { person: account, group: undefined, address: "pn", readers: [device] } as const
  const composed = { message: { protocolMessage: said }, attrs: { type: "text", category: "peer" } }
  await deliver(remember(server, account, chat, composed, {}), "readable")
}

const introduce = async (server: WritingServer, device: Device) => {
  const { account } = device
  device.hasHistory = true
  const history = proto.HistorySync.encode({
    syncType: proto.HistorySync.HistorySyncType.INITIAL_BOOTSTRAP,
    phoneNumberToLidMappings: [{ pnJid: account.pn, lidJid: account.lid }],
  }).finish()
  const historySyncNotification = {
    syncType: proto.Message.HistorySyncType.INITIAL_BOOTSTRAP,
    chunkOrder: 1,
    progress: 100,
    initialHistBootstrapInlinePayload: deflateSync(history),
  }
  const type = proto.Message.ProtocolMessage.Type.HISTORY_SYNC_NOTIFICATION
  await notify(server, device, { type, historySyncNotification })
}

const answerDevice = async (
  server: WritingServer,
  device: Device,
  id: string,
  message: proto.IMessage,
) => {
  const { protocolMessage } = message.deviceSentMessage?.message ?? message
  const request = protocolMessage?.peerDataOperationRequestMessage
  const found = (request?.placeholderMessageResendRequest ?? []).flatMap(({ messageKey: key }) => {
    const jid = key?.participant ?? key?.remoteJid ?? ""
    const author = key?.fromMe === true ? device.account : accountAt(server.state, jid)
    const written = author && server.written.get(toKey(author, key?.id ?? ""))
    if (key === null || key === undefined || written?.onPhone !== true) return []
    const info = { key, message: written.message, messageTimestamp: Number(nowSeconds()) }
    const webMessageInfoBytes = proto.WebMessageInfo.encode(info).finish()
    return [{ placeholderMessageResendResponse: { webMessageInfoBytes } }]
  })
  if (found.length === 0) return
  await notify(server, device, {
    type: proto.Message.ProtocolMessage.Type.PEER_DATA_OPERATION_REQUEST_RESPONSE_MESSAGE,
    peerDataOperationRequestResponseMessage: {
      peerDataOperationRequestType:
        proto.Message.PeerDataOperationRequestType.PLACEHOLDER_MESSAGE_RESEND,
      stanzaId: id,
      peerDataOperationResult: found,
    },
  })
}

const getWritten = ({ written }: WritingServer, author: Account, id: string) => {
  const found = written.get(toKey(author, id))
  if (found === undefined) throw new Error(`${author.number} has not written ${id}`)
  return found
}

export const makeWritings = (state: ServerState, mediaHost: string): Writings => {
  const server: WritingServer = {
    state,
    mediaHost,
    written: new Map(),
    companions: new Map(),
    lastId: 0,
  }
  return {
    write: (from, to, what) => write(server, from, to, what),
    resend: (from, id) => deliver(getWritten(server, from, id), "readable"),
    introduce: (device) => introduce(server, device),
    answerDevice: (device, id, message) => answerDevice(server, device, id, message),
    retry: (device, receipt) => retry(server, device, receipt),
    renewFile: (device, receipt) => renewFile(server, device, receipt),
    endLink: (from, id, status) => {
      const { file } = getWritten(server, from, id)
      if (file === undefined) throw new Error(`${id} has no file`)
      state.endedLinks.set(file.path, status)
    },
    close: () => {
      for (const phone of server.companions.values()) phone.close()
    },
  }
}
