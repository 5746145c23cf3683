/**
 * Who is logged in: a client that names a device and proves its key becomes that device's connection,
 * and takes the place of one that was there before. Then everything that it says is led on.
 */
import type { BinaryNode, proto } from "baileys"
import type { Connection } from "./Connection.ts"
import type { Linking } from "./linking.ts"
import type { Messages } from "./messages.ts"
import { answerTo, errorTo, find, node, serverJid } from "./nodes.ts"
import { answerQuery } from "./queries.ts"
import { heardBy, missedBy, nowSeconds, withDevice } from "./ServerState.ts"
import type { Device, ServerState } from "./ServerState.ts"

export interface Sessions {
  readonly opened: (connection: Connection, payload: proto.ClientPayload) => void
  readonly received: (connection: Connection, stanza: BinaryNode) => Promise<void>
  readonly closed: (connection: Connection) => void
  /** Every connection that is open, linked or not. */
  readonly open: ReadonlySet<Connection>
}

/** Ends a stream as the server does for this code. */
export const endWith = (connection: Connection, code: number) => {
  const reason: Readonly<Record<number, BinaryNode>> = {
    401: node("conflict", { type: "device_removed" }),
    440: node("conflict", { type: "replaced" }),
  }
  const [content, given] = [reason[code], code === 440 ? undefined : String(code)]
  connection.send(
    node("stream:error", { code: given }, content === undefined ? undefined : [content]),
  )
  connection.close()
}

/** For how long accounts are banned, in seconds. */
const banSeconds = 1

const fail = (connection: Connection, code: number) => {
  const expire = code === 402 ? String(banSeconds) : undefined
  connection.send(node("failure", { reason: String(code), location: "loopback", expire }))
  connection.close()
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

/** Sends an active device what it missed, and what its phone has for it. */
const catchUp = async (messages: Messages, device: Device) => {
  const missed = missedBy(device)
  for (const stanza of missed) device.connection?.send(stanza)
  device.connection?.send(
    node("ib", { from: serverJid }, [node("offline", { count: String(missed.length) })]),
  )
  if (!device.hasHistory) await messages.introduce(device)
}

const acknowledge = (device: Device, { attrs, tag }: BinaryNode) =>
  device.connection?.send(
    node("ack", {
      class: tag,
      id: attrs["id"],
      from: attrs["to"],
      type: attrs["type"],
      participant: attrs["participant"],
    }),
  )

export const makeSessions = (
  state: ServerState,
  linking: Linking,
  messages: Messages,
  mediaHost: () => string,
): Sessions => {
  const open = new Set<Connection>()
  const devices = new Map<Connection, Device>()

  const logIn = (connection: Connection, payload: proto.ClientPayload) => {
    const refused = state.orders.refusal("login")
    if (refused !== undefined) return fail(connection, refused)
    const device = deviceNamed(state, payload, connection)
    if (device === undefined) return fail(connection, 401)
    const { sessions } = device
    sessions.open += 1
    sessions.most = Math.max(sessions.most, sessions.open)
    sessions.logins += 1
    devices.set(connection, device)
    const before = device.connection
    device.connection = connection
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

  const onQuery = async (device: Device, query: BinaryNode) => {
    if (query.attrs["type"] === "result" || query.attrs["type"] === "error") return
    const answer = await answerQuery(state, device, query, mediaHost())
    if (answer !== undefined) device.connection?.send(answer)
    if (find(query, "active") !== undefined) await catchUp(messages, device)
  }

  const onStanza = async (device: Device, stanza: BinaryNode) => {
    if (stanza.tag === "iq") return onQuery(device, stanza)
    if (stanza.tag === "message") return messages.received(device, stanza)
    if (stanza.tag === "receipt") return acknowledge(device, stanza)
    if (stanza.tag === "ack") return heardBy(device, stanza)
    if (!["ib", "presence", "chatstate"].includes(stanza.tag)) {
      state.complaints.push(`a stanza ${stanza.tag}`)
    }
  }

  return {
    open,
    opened: (connection, payload) => {
      open.add(connection)
      if (payload.devicePairingData) {
        const refused = state.orders.refusal("registration")
        if (refused === undefined) linking.register(connection, payload.devicePairingData)
        else fail(connection, refused)
      } else {
        logIn(connection, payload)
      }
      state.changed()
    },
    received: async (connection, stanza) => {
      const device = devices.get(connection)
      if (device !== undefined) {
        await onStanza(device, stanza)
      } else if (!linking.received(connection, stanza) && stanza.tag === "iq") {
        const isPing = stanza.attrs["xmlns"] === "w:p"
        connection.send(isPing ? answerTo(stanza) : errorTo(stanza, 401))
      }
      state.changed()
    },
    closed: (connection) => {
      open.delete(connection)
      linking.closed(connection)
      const device = devices.get(connection)
      devices.delete(connection)
      if (device !== undefined) {
        device.sessions.open -= 1
        if (device.connection === connection) device.connection = undefined
      }
      state.changed()
    },
  }
}
