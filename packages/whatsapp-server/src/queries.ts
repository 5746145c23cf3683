/** A linked device's questions, by the first node in each, and the answers. */
import { jidDecode } from "baileys"
import type { BinaryNode } from "baileys"
import { createHash } from "node:crypto"
import { bundleNodes, readKey, readSignedKey } from "./deviceKeys.ts"
import type { Bundle } from "./deviceKeys.ts"
import { uploadAuth } from "./mediaServer.ts"
import {
  answerTo,
  bytesIn,
  children,
  getError,
  errorTo,
  find,
  findAll,
  bigEndian,
  node,
  serverJid,
} from "./nodes.ts"
import type { Step } from "./orders.ts"
import { answerMex } from "./restrictions.ts"
import { accountAt, accountCalled, toDeviceId } from "./ServerState.ts"
import type { Account, Device, Group, ServerState } from "./ServerState.ts"

interface PendingRequest {
  readonly state: ServerState
  readonly device: Device
  readonly query: BinaryNode
  /** The first node in the question. */
  readonly about: BinaryNode | undefined
  readonly mediaHost: string
}

interface Answer {
  /** The name by which a test can have it refused. */
  readonly step?: Step
  readonly answer: (
    request: PendingRequest,
  ) => BinaryNode | undefined | Promise<BinaryNode | undefined>
}

const fewPreKeys = 5

/** Takes one of the device's pre-keys; notifies the device when few are left. */
export const deviceBundle = (device: Device): Bundle => {
  const preKey = device.preKeys.shift()
  const left = device.preKeys.length
  if (preKey !== undefined && left < fewPreKeys) {
    device.connection?.send(
      node("notification", { from: serverJid, type: "encrypt", id: `few-${preKey.id}` }, [
        node("count", { value: String(left) }),
      ]),
    )
  }
  const { identity, registrationId, signedKey } = device
  return { registrationId, identity, signedKey, preKey }
}

const bundleAt = async (state: ServerState, jid: string): Promise<Bundle | undefined> => {
  const account = accountAt(state, jid)
  const id = toDeviceId(jid)
  if (account === undefined) return undefined
  if (id === 0) return account.phone.bundle()
  const device = account.devices.get(id)
  return device === undefined ? undefined : deviceBundle(device)
}

const giveKeys = async ({ about, query, state }: PendingRequest) => {
  const users = findAll(about, "user").map(async ({ attrs }) => {
    const bundle = await bundleAt(state, attrs["jid"] ?? "")
    const content = bundle === undefined ? [node("error", { code: "404" })] : bundleNodes(bundle)
    return node("user", { jid: attrs["jid"] }, content)
  })
  return answerTo(query, [node("list", {}, await Promise.all(users))])
}

const takePreKeys = ({ about, device, query }: PendingRequest) => {
  if (about?.tag === "rotate") {
    const rotated = find(about, "skey")
    if (rotated !== undefined) device.signedKey = readSignedKey(rotated)
  } else {
    device.preKeys.push(...findAll(find(query, "list"), "key").map(readKey))
    const signed = find(query, "skey")
    if (signed !== undefined) device.signedKey = readSignedKey(signed)
  }
  return answerTo(query)
}

const giveDigest = ({ device, query }: PendingRequest) => {
  const ids = device.preKeys.map(({ id }) => node("id", {}, bigEndian(id, 3)))
  const hash = createHash("sha1").update(device.identity).update(device.signedKey.value)
  const { identity, registrationId, signedKey } = device
  const content = [
    ...bundleNodes({ identity, registrationId, signedKey, preKey: undefined }),
    node("list", {}, ids),
    node("hash", {}, hash.digest()),
  ]
  return answerTo(query, [node("digest", {}, content)])
}

const deviceList = (account: Account) =>
  node("devices", {}, [
    node("device-list", {}, [
      node("device", { id: "0" }),
      ...[...account.devices.keys()].map((id) =>
        node("device", { id: String(id), "key-index": String(id) }),
      ),
    ]),
  ])

/** One user of a usync question: by address, or by phone number as a contact. */
const aboutUser = (state: ServerState, user: BinaryNode, protocols: ReadonlyArray<string>) => {
  const contact = bytesIn(find(user, "contact")).toString()
  const query = user.attrs["jid"]
  const account = query === undefined ? accountCalled(state, contact) : accountAt(state, query)
  const unknown = `${contact.replaceAll(/\D/g, "")}@s.whatsapp.net`
  const parts = protocols.flatMap((protocol) => {
    if (protocol === "contact") {
      return [node("contact", { type: account === undefined ? "out" : "in" }, contact)]
    }
    if (account === undefined) return []
    if (protocol === "devices") return [deviceList(account)]
    const tells = protocol === "lid" && account.showsLid && jidDecode(query)?.server !== "lid"
    return tells ? [node("lid", { val: account.lid })] : []
  })
  return node("user", { jid: query ?? account?.pn ?? unknown }, parts)
}

const giveUsers = ({ about, query, state }: PendingRequest) => {
  const questions = find(about, "query")
  const protocols = questions === undefined ? [] : children(questions).map(({ tag }) => tag)
  const refused =
    state.orders.refusal("usync result") ??
    (protocols.includes("devices") ? state.orders.refusal("devices result") : undefined)
  if (refused !== undefined) {
    const error = getError(refused, { backoff: "7" })
    const results = protocols.map((protocol) => node(protocol, {}, [error]))
    return answerTo(query, [node("usync", {}, [node("result", {}, results), node("list")])])
  }
  const users = findAll(find(about, "list"), "user").map((user) =>
    aboutUser(state, user, protocols),
  )
  return answerTo(query, [node("usync", {}, [node("result"), node("list", {}, users)])])
}

const groupNode = ({ addressing, administrators, id, participants, subject }: Group) => {
  const [creator] = participants
  const members = participants.map((account) => {
    const type = administrators.has(account) ? "admin" : undefined
    return addressing === "lid"
      ? node("participant", { jid: account.lid, phone_number: account.pn, type })
      : node("participant", { jid: account.pn, lid: account.lid, type })
  })
  const attrs = {
    id: id.replace("@g.us", ""),
    subject,
    creation: "1700000000",
    s_t: "1700000000",
    creator: addressing === "lid" ? creator?.lid : creator?.pn,
    addressing_mode: addressing,
    size: String(participants.length),
  }
  return node("group", attrs, members)
}

const giveGroups = ({ device, query, state }: PendingRequest) => {
  const own = [...state.groups.values()].filter(({ participants }) =>
    participants.includes(device.account),
  )
  return answerTo(query, [node("groups", {}, own.map(groupNode))])
}

const giveGroup = ({ device, query, state }: PendingRequest) => {
  const group = state.groups.get(query.attrs["to"] ?? "")
  if (group === undefined) return errorTo(query, 404)
  return group.participants.includes(device.account)
    ? answerTo(query, [groupNode(group)])
    : errorTo(query, 403)
}

const giveMediaConnection = ({ mediaHost, query }: PendingRequest) =>
  answerTo(query, [
    node("media_conn", { auth: uploadAuth, ttl: "300", auth_ttl: "21600", max_buckets: "12" }, [
      node("host", { hostname: mediaHost, maxContentLengthBytes: "104857600" }),
    ]),
  ])

/** All collections are empty. */
const giveAppState = ({ about, query }: PendingRequest) => {
  const collections = findAll(about, "collection").map(({ attrs }) =>
    node("collection", { name: attrs["name"], version: attrs["version"] }),
  )
  return answerTo(query, [node("sync", {}, collections)])
}

const takeDeviceUnavailable = ({ device, query }: PendingRequest) => {
  const { account, connection, id } = device
  account.devices.delete(id)
  connection?.send(answerTo(query))
  connection?.send(
    node("stream:error", { code: "401" }, [node("conflict", { type: "device_removed" })]),
  )
  connection?.close()
  return undefined
}

const yes = ({ query }: PendingRequest) => answerTo(query)

const givePrivacy = ({ query }: PendingRequest) =>
  answerTo(query, [node("privacy", {}, [node("category", { name: "readreceipts", value: "all" })])])

/** By namespace and first node; a namespace alone answers the rest. */
const answers: Readonly<Record<string, Answer>> = {
  "w:p": { answer: yes },
  passive: { answer: yes },
  "encrypt count": {
    answer: ({ device, query, state }) => {
      const count = device.preKeys.length
      const reported = count === 0 && state.asksForFewPreKeys ? 1 : count
      return answerTo(query, [node("count", { value: String(reported) })])
    },
  },
  "encrypt digest": { answer: giveDigest },
  "encrypt key": { step: "keys", answer: giveKeys },
  encrypt: { step: "pre-keys", answer: takePreKeys },
  usync: { step: "usync", answer: giveUsers },
  "w:g2 participating": { step: "groups", answer: giveGroups },
  "w:g2 query": { step: "group", answer: giveGroup },
  "w:m media_conn": { step: "media connection", answer: giveMediaConnection },
  "w:sync:app:state": { answer: giveAppState },
  "md remove-companion-device": { answer: takeDeviceUnavailable },
  "privacy privacy": { answer: givePrivacy },
  privacy: { answer: yes },
  abt: { answer: ({ query }) => answerTo(query, [node("props", { hash: "loopback" })]) },
  blocklist: { answer: ({ query }) => answerTo(query, [node("list")]) },
  "w:mex query": {
    answer: ({ about, device, query, state }) => answerMex(state, device, query, about),
  },
  "w:stats": { answer: yes },
  "urn:xmpp:whatsapp:dirty": { answer: yes },
  "w:profile:picture": { answer: ({ query }) => errorTo(query, 404) },
}

export const answerQuery = async (
  state: ServerState,
  device: Device,
  query: BinaryNode,
  mediaHost: string,
): Promise<BinaryNode | undefined> => {
  const about = children(query)[0]
  const namespace = query.attrs["xmlns"] ?? ""
  const found = answers[`${namespace} ${about?.tag ?? ""}`] ?? answers[namespace]
  if (found === undefined) {
    state.complaints.push(`a question about ${namespace} ${about?.tag ?? "nothing"}`)
    return errorTo(query, 501)
  }
  const refused = found.step === undefined ? undefined : state.orders.refusal(found.step)
  return refused === undefined
    ? found.answer({ state, device, query, about, mediaHost })
    : errorTo(query, refused)
}
