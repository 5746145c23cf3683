/**
 * Logged-in devices: a client that names a device and proves its key becomes that device's
 * connection and replaces an earlier one. Its stanzas then go to queries, messages or receipts.
 */
import type { BinaryNode, proto } from "baileys"
import type { Connection } from "./Connection.ts"
import type { Linking } from "./linking.ts"
import type { Messages } from "./messages.ts"
import { answerTo, errorTo, find, idsIn, node } from "./nodes.ts"
import { answerQuery } from "./queries.ts"
import { answersMessage } from "./Mailbox.ts"
import { nowSeconds, withDevice } from "./ServerState.ts"
import type { Device, ServerState } from "./ServerState.ts"
import type { Writings } from "./writing.ts"

export interface Sessions {
  readonly opened: (connection: Connection, payload: proto.ClientPayload) => void
  readonly received: (connection: Connection, stanza: BinaryNode) => Promise<void>
  readonly closed: (connection: Connection) => void
  /** Every connection that is open, linked or not. */
  readonly open: ReadonlySet<Connection>
}

/** Ends a stream as WhatsApp does for this code. */
export const endWith = (connection: Connection, code: number) => {
  const reason: Readonly<Record<number, BinaryNode>> = {
    401: node("conflict", { type: "device_removed" }),
    440: node("conflict", { type: "replaced" }),
  }
  const [content, text] = [reason[code], code === 440 ? undefined : String(code)]
  connection.send(
    node("stream:error", { code: text }, content === undefined ? undefined : [content]),
  )
  connection.close()
}

/** How long bans last, in seconds. */
const banSeconds = 1

const fail = (connection: Connection, code: number) => {
  const expire = code === 402 ? String(banSeconds) : undefined
  connection.send(node("failure", { reason: String(code), location: "loopback", expire }))
  connection.close()
}

/** The connections of one server. */
interface SessionTable {
  readonly state: ServerState
  readonly linking: Linking
  readonly messages: Messages
  readonly writings: Writings
  readonly mediaHost: string
  readonly connections: Set<Connection>
  readonly devices: Map<Connection, Device>
}

const deviceNamed = (
  state: ServerState,
  { device, username }: proto.ClientPayload,
  connection: Connection,
) => {
  const found = state.accounts.get(String(username))?.devices.get(device ?? 0)
  const isItself =
    found !== undefined && Buffer.compare(found.clientKey, connection.clientKey) === 0
  return isItself ? found : undefined
}

const takeReceipt = async (
  { messages, writings }: SessionTable,
  device: Device,
  receipt: BinaryNode,
) => {
  const { id, participant, to, type } = receipt.attrs
  device.connection?.send(node("ack", { class: "receipt", id, from: to, type, participant }))
  if (type === "read" || type === "read-self") {
    device.readMarks.push({ chat: to ?? "", participant, ids: idsIn(receipt), type })
  }
  if (type === "server-error") writings.renewFile(device, receipt)
  if (type !== "retry") return
  device.requestedCopies.push(id ?? "")
  if (!(await writings.retry(device, receipt))) messages.passRetry(device, receipt)
}

/** A receipt or ack, unless it gets lost on the way. */
const takeAnswer = async (sessions: SessionTable, device: Device, answer: BinaryNode) => {
  const isLost = answersMessage(answer) && sessions.state.orders.losesAnswer(device.account.number)
  if (isLost) return
  if (answer.tag === "receipt") await takeReceipt(sessions, device, answer)
  device.mailbox.answered(answer)
}

const logIn = (
  { devices, state }: SessionTable,
  connection: Connection,
  payload: proto.ClientPayload,
) => {
  const refused = state.orders.refusal("login")
  if (refused !== undefined) return fail(connection, refused)
  const device = deviceNamed(state, payload, connection)
  if (device === undefined) return fail(connection, 401)
  const { sessions } = device
  sessions.open += 1
  sessions.max = Math.max(sessions.max, sessions.open)
  sessions.logins += 1
  devices.set(connection, device)
  const before = device.connection
  device.connection = connection
  device.mailbox.restart()
  if (before?.isOpen() === true) endWith(before, 440)
  connection.send(
    node("success", {
      t: nowSeconds(),
      lid: withDevice(device.account.lid, device.id),
      location: "loopback",
      props: "27",
      display_name: device.account.name,
    }),
  )
}

const onQuery = async (
  { mediaHost, state, writings }: SessionTable,
  device: Device,
  query: BinaryNode,
) => {
  if (query.attrs["type"] === "result" || query.attrs["type"] === "error") return
  const answer = await answerQuery(state, device, query, mediaHost)
  if (answer !== undefined) device.connection?.send(answer)
  if (find(query, "active") === undefined) return
  device.mailbox.announce()
  if (!device.hasHistory) await writings.introduce(device)
}

const onStanza = async (sessions: SessionTable, device: Device, stanza: BinaryNode) => {
  if (stanza.tag === "iq") return onQuery(sessions, device, stanza)
  if (stanza.tag === "message") return sessions.messages.received(device, stanza)
  if (stanza.tag === "receipt" || stanza.tag === "ack") return takeAnswer(sessions, device, stanza)
  if (find(stanza, "offline_batch") !== undefined) return device.mailbox.release()
  if (!["ib", "presence", "chatstate"].includes(stanza.tag)) {
    sessions.state.complaints.push(`a stanza ${stanza.tag}`)
  }
}

const open = (sessions: SessionTable, connection: Connection, payload: proto.ClientPayload) => {
  sessions.connections.add(connection)
  if (payload.devicePairingData) {
    const refused = sessions.state.orders.refusal("registration")
    if (refused === undefined) sessions.linking.register(connection, payload.devicePairingData)
    else fail(connection, refused)
  } else {
    logIn(sessions, connection, payload)
  }
  sessions.state.changed()
}

const receive = async (sessions: SessionTable, connection: Connection, stanza: BinaryNode) => {
  const device = sessions.devices.get(connection)
  if (device !== undefined) {
    await onStanza(sessions, device, stanza)
  } else if (!sessions.linking.received(connection, stanza) && stanza.tag === "iq") {
    const isPing = stanza.attrs["xmlns"] === "w:p"
    connection.send(isPing ? answerTo(stanza) : errorTo(stanza, 401))
  }
  sessions.state.changed()
}

const close = ({ connections, devices, linking, state }: SessionTable, connection: Connection) => {
  connections.delete(connection)
  linking.closed(connection)
  const device = devices.get(connection)
  devices.delete(connection)
  if (device !== undefined) {
    device.sessions.open -= 1
    if (device.connection === connection) {
      device.connection = undefined
      device.mailbox.restart()
    }
  }
  state.changed()
}

export const makeSessions = (
  state: ServerState,
  linking: Linking,
  messages: Messages,
  writings: Writings,
  mediaHost: string,
): Sessions => {
  const connections = new Set<Connection>()
  const sessions: SessionTable = {
    state,
    linking,
    messages,
    writings,
    mediaHost,
    connections,
    devices: new Map(),
  }
  return {
    open: connections,
    opened: (connection, payload) => open(sessions, connection, payload),
    received: (connection, stanza) => receive(sessions, connection, stanza),
    closed: (connection) => close(sessions, connection),
  }
}
