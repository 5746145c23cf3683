/**
 * Messages on their way: the server acks or refuses them and hands them to every device they were
 * sealed for. A phone that cannot read one asks for it again. Receipts travel back.
 */
import type { BinaryNode } from "baileys"
import { bigEndian, bytesIn, find, findAll, node } from "./nodes.ts"
import type { MessageOutcome } from "./orders.ts"
import { bundleNodes } from "./deviceKeys.ts"
import type { Envelope } from "./Phone.ts"
import { acquaint, isTooNew, setClosed } from "./restrictions.ts"
import { accountAt, toDeviceId, nowSeconds, withDevice } from "./ServerState.ts"
import type { Account, Device, Group, ReceiptType, ServerState } from "./ServerState.ts"
import type { Writings } from "./writing.ts"

export interface ReceiptOrder {
  /** Who received or read it. */
  readonly by: Account
  readonly ids: ReadonlyArray<string>
  readonly type: ReceiptType | "retry"
  readonly address?: "pn" | "lid"
}

export interface Messages {
  readonly received: (device: Device, stanza: BinaryNode) => Promise<void>
  readonly receipt: (order: ReceiptOrder) => void
  /** A device could not read what another linked device sent. */
  readonly passRetry: (by: Device, receipt: BinaryNode) => void
  readonly releaseAcks: () => void
}

/** Messages on their way. */
interface MessageServer {
  readonly state: ServerState
  readonly writings: Writings
  /** Acks that a test withholds until it releases them. */
  readonly withheld: Array<{ readonly device: Device; readonly ack: BinaryNode }>
  /** How often each phone asked for a message again. */
  readonly retries: Map<string, number>
}

const maxRetries = 5

const ackTo = ({ attrs }: BinaryNode, error?: number) =>
  node("ack", {
    class: "message",
    id: attrs["id"],
    from: attrs["to"],
    t: nowSeconds(),
    error: error === undefined ? undefined : String(error),
  })

/** The sealed parts of a stanza for one device: its own first, then those for the whole group. */
const sealedFor = (stanza: BinaryNode, to: string): Envelope["sealed"] => {
  const own = findAll(find(stanza, "participants"), "to")
    .filter(({ attrs }) => attrs["jid"] === to)
    .flatMap((each) => findAll(each, "enc"))
  return [...own, ...findAll(stanza, "enc")].map((enc) => ({
    type: enc.attrs["type"] ?? "msg",
    bytes: bytesIn(enc),
  }))
}

const getAuthor = ({ account, id }: Device) => withDevice(account.lid, id)

/** From the second time on, with keys for a new session, as phones do. */
const askAgain = async (
  { retries }: MessageServer,
  account: Account,
  device: Device,
  stanza: BinaryNode,
  group?: Group,
) => {
  const id = stanza.attrs["id"] ?? ""
  const key = `${id} ${account.number}`
  const count = (retries.get(key) ?? 0) + 1
  retries.set(key, count)
  if (count > maxRetries) return
  const keys = count === 1 ? [] : bundleNodes(await account.phone.bundle())
  const attrs =
    group === undefined
      ? { from: account.pn }
      : { from: group.id, participant: group.addressing === "lid" ? account.lid : account.pn }
  device.mailbox.add(
    node("receipt", { ...attrs, id, type: "retry", t: nowSeconds() }, [
      node("retry", { count: String(count), id, t: nowSeconds(), v: "1" }),
      node("registration", {}, bigEndian(account.phone.registrationId, 4)),
      ...(keys.length === 0 ? [] : [node("keys", {}, keys.slice(1))]),
    ]),
  )
}

const handToPhone = async (
  server: MessageServer,
  account: Account,
  device: Device,
  stanza: BinaryNode,
  sealed: Envelope["sealed"],
  group?: Group,
) => {
  const id = stanza.attrs["id"] ?? ""
  const envelope = {
    id,
    from: device.account.number,
    author: getAuthor(device),
    group: group?.id,
    sealed,
  }
  const message = await account.phone.receive(envelope, server.state.media)
  if (message === undefined) return askAgain(server, account, device, stanza, group)
  if (account === device.account) return server.writings.answerDevice(device, id, message)
  for (const type of account.receipts) sendReceipt(server, { by: account, ids: [id], type })
}

const handToDevice = (
  to: Device,
  from: Device,
  stanza: BinaryNode,
  sealed: Envelope["sealed"],
  group?: Group,
) => {
  const isOwn = to.account === from.account
  const chat = stanza.attrs["to"]
  to.mailbox.add(
    node(
      "message",
      {
        id: stanza.attrs["id"],
        type: stanza.attrs["type"],
        t: nowSeconds(),
        from: group?.id ?? withDevice(from.account.pn, from.id),
        participant: group && withDevice(from.account.pn, from.id),
        recipient: isOwn && !group ? chat : undefined,
        notify: from.account.name,
      },
      sealed.map(({ bytes, type }) => node("enc", { v: "2", type }, bytes)),
    ),
  )
}

/** Hands a message to one device of an account; the device that sent it does not get it back. */
const hand = async (
  server: MessageServer,
  to: string,
  from: Device,
  stanza: BinaryNode,
  group?: Group,
) => {
  const sealed = sealedFor(stanza, to)
  const account = accountAt(server.state, to)
  const id = toDeviceId(to)
  if (account === undefined || sealed.length === 0) return
  if (id === 0) return handToPhone(server, account, from, stanza, sealed, group)
  const device = account.devices.get(id)
  if (device !== undefined && device !== from) handToDevice(device, from, stanza, sealed, group)
}

/** Every device of a group, under the address in the stanza when it names the device. */
const getDevices = (group: Group, stanza: BinaryNode) => {
  const named = findAll(find(stanza, "participants"), "to").map(({ attrs }) => attrs["jid"] ?? "")
  const all = group.participants.flatMap((account) =>
    [0, ...account.devices.keys()].map((id) =>
      withDevice(group.addressing === "lid" ? account.lid : account.pn, id),
    ),
  )
  return [...new Set([...named, ...all])]
}

const deliver = async (server: MessageServer, device: Device, stanza: BinaryNode) => {
  const to = stanza.attrs["to"] ?? ""
  const only = stanza.attrs["participant"]
  const group = server.state.groups.get(to)
  const named = findAll(find(stanza, "participants"), "to").map(({ attrs }) => attrs["jid"] ?? "")
  const direct = group === undefined ? [to] : getDevices(group, stanza)
  const targets = only === undefined ? [...(named.length > 0 && !group ? named : direct)] : [only]
  for (const target of targets) await hand(server, target, device, stanza, group)
}

const finish = (
  { withheld }: MessageServer,
  device: Device,
  stanza: BinaryNode,
  outcome: MessageOutcome | undefined,
) => {
  if (outcome === "withhold ack") return void withheld.push({ device, ack: ackTo(stanza) })
  if (typeof outcome === "object" && "drop" in outcome && outcome.drop === "before ack") {
    return device.connection?.drop()
  }
  device.connection?.send(ackTo(stanza))
  if (typeof outcome === "object" && "drop" in outcome) device.connection?.drop()
}

const sendReceipt = ({ state }: MessageServer, { address = "pn", by, ids, type }: ReceiptOrder) => {
  const [id = "", ...more] = ids
  const sent = state.sent.get(id)
  if (sent === undefined) return void state.complaints.push(`a receipt for unknown ${id}`)
  const group = state.groups.get(sent.to)
  const own = address === "lid" || group?.addressing === "lid" ? by.lid : by.pn
  const attrs = {
    from: group?.id ?? own,
    participant: group && own,
    id,
    t: nowSeconds(),
    type: type === "delivered" ? undefined : type,
  }
  const items = more.map((other) => node("item", { id: other }))
  const content = items.length === 0 ? undefined : [node("list", {}, items)]
  for (const device of sent.device.account.devices.values()) {
    device.mailbox.add(node("receipt", attrs, content))
  }
}

const receive = async (server: MessageServer, device: Device, stanza: BinaryNode) => {
  const to = stanza.attrs["to"] ?? ""
  const chat = server.state.groups.get(to)?.id ?? accountAt(server.state, to)?.number ?? to
  const outcome = server.state.orders.nextMessage(device.account.number, chat)
  if (outcome === "lose") return
  if (typeof outcome === "object" && "nack" in outcome) {
    return device.connection?.send(ackTo(stanza, outcome.nack))
  }
  if (typeof outcome === "object" && "closeNewChats" in outcome) {
    setClosed(device.account, outcome.closeNewChats)
  } else if (typeof outcome === "object" && outcome.drop === "before work") {
    return device.connection?.drop()
  }
  const person = accountAt(server.state, to)
  if (isTooNew(device.account, person)) return device.connection?.send(ackTo(stanza, 463))
  if (person !== undefined) acquaint(device.account, person)
  const id = stanza.attrs["id"] ?? ""
  if (!server.state.sent.has(id)) server.state.sent.set(id, { device, to })
  await deliver(server, device, stanza)
  finish(server, device, stanza, outcome)
}

const releaseAcks = ({ withheld }: MessageServer) => {
  for (const { ack, device } of withheld.splice(0)) device.connection?.send(ack)
}

const passRetry = ({ state }: MessageServer, by: Device, { attrs, content }: BinaryNode) => {
  const { id = "", participant, to = "" } = attrs
  const sent = state.sent.get(id)
  if (sent === undefined || sent.device.id !== toDeviceId(participant ?? to)) return
  const requester = withDevice(by.account.pn, by.id)
  const from =
    participant === undefined ? { from: requester } : { from: to, participant: requester }
  const all = { ...from, id, type: "retry", t: nowSeconds() }
  sent.device.mailbox.add(node("receipt", all, content))
}

export const makeMessages = (state: ServerState, writings: Writings): Messages => {
  const server: MessageServer = { state, writings, withheld: [], retries: new Map() }
  return {
    received: (device, stanza) => receive(server, device, stanza),
    receipt: (order) => sendReceipt(server, order),
    passRetry: (by, receipt) => passRetry(server, by, receipt),
    releaseAcks: () => releaseAcks(server),
  }
}
