/**
 * Linking a device: an unlinked client receives codes, the phone reads a QR code or takes a typed
 * code, and the answer makes the client a device of the account.
 */
import {
  aesDecryptCTR,
  aesDecryptGCM,
  aesEncryptCTR,
  configureSuccessfulPairing,
  Curve,
  derivePairingCodeKey,
  hkdf,
  hmacSign,
  initAuthCreds,
  proto,
  WA_ADV_ACCOUNT_SIG_PREFIX,
} from "baileys"
import type { AuthenticationCreds, BinaryNode } from "baileys"
import { randomBytes } from "node:crypto"
import type { Connection } from "./Connection.ts"
import { makeMailbox } from "./Mailbox.ts"
import {
  answerTo,
  bigEndian,
  getBytes,
  errorTo,
  find,
  node,
  getNumber,
  serverJid,
} from "./nodes.ts"
import { accountAt, nowSeconds, withDevice } from "./ServerState.ts"
import type { Account, Device, ServerState } from "./ServerState.ts"

/** Why a phone would not link. Tests compare the reason. */
export class LinkRefused extends Error {
  readonly _tag = "LinkRefused"
  readonly reason: string
  constructor(reason: string) {
    super(reason)
    this.reason = reason
  }
}

interface CodeRequested {
  readonly jid: string
  readonly ref: string
  readonly sealedKey: Buffer
  /** The companion's last stanza, which the phone waits for. */
  readonly finished: PromiseWithResolvers<BinaryNode>
}

/** A client that is not linked yet. */
interface Candidate {
  readonly connection: Connection
  readonly data: proto.ClientPayload.IDevicePairingRegistrationData
  readonly refs: ReadonlyArray<string>
  /** Secrets that the server no longer accepts. */
  readonly retired: Set<string>
  readonly closed: PromiseWithResolvers<never>
  code: CodeRequested | undefined
  signed: PromiseWithResolvers<BinaryNode> | undefined
}

/** Clients that wait to be linked. */
interface LinkingState {
  readonly state: ServerState
  /** How many QR codes a client receives. */
  readonly references: number
  readonly candidates: Map<Connection, Candidate>
  lastId: number
}

export interface Linking {
  /** A client without an account asks to be registered. */
  readonly register: (
    connection: Connection,
    data: proto.ClientPayload.IDevicePairingRegistrationData,
  ) => void
  /** Handles a stanza of an unlinked client; false when it does not concern linking. */
  readonly received: (connection: Connection, said: BinaryNode) => boolean
  readonly closed: (connection: Connection) => void
  readonly scan: (account: Account, qr: string) => Promise<Device>
  readonly typeCode: (account: Account, code: string) => Promise<Device>
  /** Links a device without a connection. Returns the credentials that its client would have. */
  readonly linkedBefore: (account: Account, preKeys: number) => AuthenticationCreds
  /** Retires the secret in a QR code, and makes the client show another. */
  readonly retire: (qr: string) => void
  /** How many clients wait to be linked. */
  readonly waiting: () => number
  /** Whether a client has asked for a pairing code for this account. */
  readonly hasRequested: (account: Account) => boolean
}

const readQr = (qr: string) => {
  const [ref = "", clientKey = "", identity = "", secret = ""] = qr
    .slice(qr.indexOf("#") + 1)
    .split(",")
  return { ref, clientKey, identity, secret }
}

const isKey = (key: Uint8Array | null | undefined, base64: string) =>
  Buffer.from(key ?? []).toString("base64") === base64

/** The phone's signature, with which the companion proves its account. */
const signedIdentity = (
  account: Account,
  data: Candidate["data"],
  keyIndex: number,
  secret: Buffer,
) => {
  const details = proto.ADVDeviceIdentity.encode({
    rawId: account.phone.registrationId,
    timestamp: Number(nowSeconds()),
    keyIndex,
    deviceType: proto.ADVEncryptionType.E2EE,
  }).finish()
  const signed = Buffer.concat([WA_ADV_ACCOUNT_SIG_PREFIX, details, data.eIdent ?? Buffer.alloc(0)])
  const identity = proto.ADVSignedDeviceIdentity.encode({
    details,
    accountSignatureKey: account.phone.identity.public,
    accountSignature: Curve.sign(account.phone.identity.private, signed),
  }).finish()
  return proto.ADVSignedDeviceIdentityHMAC.encode({
    details: identity,
    hmac: hmacSign(identity, secret),
  }).finish()
}

const makeDevice = (
  account: Account,
  id: number,
  clientKey: Uint8Array,
  data: Candidate["data"],
): Device => {
  const device: Device = {
    account,
    id,
    clientKey,
    registrationId: getNumber(data.eRegid),
    identity: data.eIdent ?? Buffer.alloc(0),
    signedKey: {
      id: getNumber(data.eSkeyId),
      value: data.eSkeyVal ?? Buffer.alloc(0),
      signature: data.eSkeySig ?? Buffer.alloc(0),
    },
    preKeys: [],
    connection: undefined,
    mailbox: makeMailbox(account, (stanza) => {
      device.connection?.send(stanza)
      return device.connection?.isOpen() === true
    }),
    readMarks: [],
    requestedCopies: [],
    hasHistory: false,
    sessions: { open: 0, max: 0, logins: 0 },
  }
  return device
}

const openBundle = (sealed: Buffer, key: Buffer) => {
  try {
    return aesDecryptGCM(sealed.subarray(44), key, sealed.subarray(32, 44), Buffer.alloc(0))
  } catch {
    throw new LinkRefused("the pairing code is wrong")
  }
}

/** The shared secret of both sides' keys and the companion's random bytes. Refuses a wrong code. */
const secretFrom = (
  finish: BinaryNode,
  account: Account,
  { data }: Candidate,
  ourKey: Uint8Array,
  companionKey: Uint8Array,
) => {
  const shared = Curve.sharedKey(ourKey, companionKey)
  const sealed = getBytes(finish, "link_code_pairing_wrapped_key_bundle")
  const key = hkdf(shared, 32, {
    salt: sealed.subarray(0, 32),
    info: "link_code_pairing_key_bundle_encryption_key",
  })
  const bundle = openBundle(sealed, Buffer.from(key))
  const identity = bundle.subarray(0, 32)
  if (!isKey(data.eIdent, identity.toString("base64"))) throw new LinkRefused("other keys")
  const identityShared = Curve.sharedKey(account.phone.identity.private, identity)
  const random = bundle.subarray(64)
  return Buffer.from(
    hkdf(Buffer.concat([shared, identityShared, random]), 32, { info: "adv_secret" }),
  )
}

const maxDevices = 4

const findCandidate = ({ candidates }: LinkingState, fits: (candidate: Candidate) => boolean) =>
  [...candidates.values()].find((each) => each.connection.isOpen() && fits(each))

/** Fails when the companion leaves before it answers. */
const toAnswer = <A>(candidate: Candidate, requested: PromiseWithResolvers<A>) =>
  Promise.race([requested.promise, candidate.closed.promise])

const pairSuccess = (linking: LinkingState, account: Account, id: number, identity: Uint8Array) =>
  node("iq", { from: serverJid, type: "set", id: `link-${++linking.lastId}`, xmlns: "md" }, [
    node("pair-success", {}, [
      node("device-identity", {}, identity),
      node("device", { jid: withDevice(account.pn, id), lid: withDevice(account.lid, id) }),
      node("platform", { name: "android" }),
    ]),
  ])

const link = async (
  linking: LinkingState,
  candidate: Candidate,
  account: Account,
  secret: Buffer,
) => {
  if (account.devices.size >= maxDevices) throw new LinkRefused("too many linked devices")
  const id = account.lastDeviceId + 1
  account.lastDeviceId = id
  const device = makeDevice(account, id, candidate.connection.clientKey, candidate.data)
  candidate.signed = Promise.withResolvers()
  candidate.connection.send(
    pairSuccess(linking, account, id, signedIdentity(account, candidate.data, id, secret)),
  )
  const reply = await toAnswer(candidate, candidate.signed)
  const sealed = getBytes(reply, "pair-device-sign", "device-identity")
  if (!proto.ADVSignedDeviceIdentity.decode(sealed).deviceSignature?.length) {
    throw new LinkRefused("the companion did not sign")
  }
  account.devices.set(id, device)
  linking.candidates.delete(candidate.connection)
  candidate.connection.send(node("stream:error", { code: "515" }))
  candidate.connection.close()
  linking.state.changed()
  return device
}

const askForCode = (
  { state }: LinkingState,
  candidate: Candidate,
  said: BinaryNode,
  request: BinaryNode,
) => {
  const refused = state.orders.refusal("pairing code")
  const jid = request.attrs["jid"] ?? ""
  if (refused !== undefined || accountAt(state, jid) === undefined) {
    return candidate.connection.send(errorTo(said, refused ?? 400))
  }
  const ref = randomBytes(12).toString("base64")
  candidate.code = {
    jid,
    ref,
    sealedKey: getBytes(request, "link_code_pairing_wrapped_companion_ephemeral_pub"),
    finished: Promise.withResolvers(),
  }
  candidate.connection.send(
    answerTo(said, [
      node("link_code_companion_reg", { stage: "companion_hello" }, [
        node("link_code_pairing_ref", {}, Buffer.from(ref)),
      ]),
    ]),
  )
}

const notify = (
  linking: LinkingState,
  candidate: Candidate,
  type: string,
  content: ReadonlyArray<BinaryNode>,
) =>
  candidate.connection.send(
    node(
      "notification",
      { from: serverJid, type, id: `link-${++linking.lastId}`, t: nowSeconds() },
      [...content],
    ),
  )

const refuseIfOrdered = (linking: LinkingState, candidate: Candidate, account: Account) => {
  if (linking.state.orders.refusal("scan") !== undefined) throw new LinkRefused("the phone said no")
  if (account.needsPasskey) {
    notify(linking, candidate, "passkey_prologue_request", [node("passkey_request_options")])
    throw new LinkRefused("a passkey is needed")
  }
}

const register = (linking: LinkingState, connection: Connection, data: Candidate["data"]) => {
  const refs = Array.from({ length: linking.references }, () => randomBytes(24).toString("base64"))
  const candidate: Candidate = {
    connection,
    data,
    refs,
    retired: new Set(),
    closed: Promise.withResolvers(),
    code: undefined,
    signed: undefined,
  }
  candidate.closed.promise.catch(() => undefined)
  linking.candidates.set(connection, candidate)
  const content = refs.map((ref) => node("ref", {}, Buffer.from(ref)))
  connection.send(
    node("iq", { from: serverJid, type: "set", id: `link-${++linking.lastId}`, xmlns: "md" }, [
      node("pair-device", {}, content),
    ]),
  )
}

const receive = (linking: LinkingState, connection: Connection, said: BinaryNode) => {
  const candidate = linking.candidates.get(connection)
  if (candidate === undefined || said.tag !== "iq") return false
  if (find(said, "pair-device-sign") !== undefined) {
    candidate.signed?.resolve(said)
    return true
  }
  const request = find(said, "link_code_companion_reg")
  if (request === undefined) return said.attrs["type"] === "result"
  if (request.attrs["stage"] === "companion_hello") {
    askForCode(linking, candidate, said, request)
  } else {
    connection.send(answerTo(said))
    candidate.code?.finished.resolve(request)
  }
  return true
}

const forget = ({ candidates }: LinkingState, connection: Connection) => {
  candidates.get(connection)?.closed.reject(new LinkRefused("the companion went away"))
  candidates.delete(connection)
}

const scan = async (linking: LinkingState, account: Account, qr: string) => {
  const { clientKey, identity, ref, secret } = readQr(qr)
  const candidate = findCandidate(linking, ({ refs }) => refs.includes(ref))
  if (candidate === undefined) throw new LinkRefused("the QR code is not known")
  const { connection, data, retired } = candidate
  if (!isKey(connection.clientKey, clientKey) || !isKey(data.eIdent, identity)) {
    throw new LinkRefused("the QR code names other keys")
  }
  if (retired.has(secret)) throw new LinkRefused("the QR code was retired")
  refuseIfOrdered(linking, candidate, account)
  return link(linking, candidate, account, Buffer.from(secret, "base64"))
}

const typeCode = async (linking: LinkingState, account: Account, typed: string) => {
  const candidate = findCandidate(linking, ({ code }) => code?.jid === account.pn)
  if (candidate?.code === undefined) throw new LinkRefused("no pairing code was asked for")
  refuseIfOrdered(linking, candidate, account)
  const { finished, ref, sealedKey } = candidate.code
  const code = typed.replaceAll("-", "").toUpperCase()
  const toKey = (salt: Buffer) => derivePairingCodeKey(code, salt)
  const companionKey = aesDecryptCTR(
    sealedKey.subarray(48, 80),
    await toKey(sealedKey.subarray(0, 32)),
    sealedKey.subarray(32, 48),
  )
  const ours = Curve.generateKeyPair()
  const [salt, iv] = [randomBytes(32), randomBytes(16)]
  const sealedOurs = aesEncryptCTR(ours.public, await toKey(salt), iv)
  notify(linking, candidate, "link_code_companion_reg", [
    node("link_code_companion_reg", { stage: "primary_hello" }, [
      node(
        "link_code_pairing_wrapped_primary_ephemeral_pub",
        {},
        Buffer.concat([salt, iv, sealedOurs]),
      ),
      node("primary_identity_pub", {}, account.phone.identity.public),
      node("link_code_pairing_ref", {}, Buffer.from(ref)),
    ]),
  ])
  const finish = await toAnswer(candidate, finished)
  const secret = secretFrom(finish, account, candidate, ours.private, companionKey)
  candidate.code = undefined
  return link(linking, candidate, account, secret)
}

const linkBefore = (linking: LinkingState, account: Account, preKeys: number) => {
  const creds = initAuthCreds()
  const { advSecretKey, noiseKey, registrationId, signedIdentityKey, signedPreKey } = creds
  const data = {
    eRegid: bigEndian(registrationId, 4),
    eIdent: signedIdentityKey.public,
    eSkeyId: bigEndian(signedPreKey.keyId, 3),
    eSkeyVal: signedPreKey.keyPair.public,
    eSkeySig: signedPreKey.signature,
  }
  const id = account.lastDeviceId + 1
  account.lastDeviceId = id
  const secret = Buffer.from(advSecretKey, "base64")
  const reported = pairSuccess(linking, account, id, signedIdentity(account, data, id, secret))
  const device = makeDevice(account, id, noiseKey.public, data)
  for (let key = 1; key <= preKeys; key++) {
    device.preKeys.push({ id: key, value: signedPreKey.keyPair.public })
  }
  account.devices.set(id, device)
  return { ...creds, ...configureSuccessfulPairing(reported, creds).creds }
}

const retire = (linking: LinkingState, qr: string) => {
  const { ref, secret } = readQr(qr)
  const candidate = findCandidate(linking, ({ refs }) => refs.includes(ref))
  candidate?.retired.add(secret)
  if (candidate !== undefined) {
    notify(linking, candidate, "companion_reg_refresh", [node("companion_reg_refresh")])
  }
}

export const makeLinking = (state: ServerState, references: number): Linking => {
  const linking: LinkingState = { state, references, candidates: new Map(), lastId: 0 }
  return {
    register: (connection, data) => register(linking, connection, data),
    received: (connection, said) => receive(linking, connection, said),
    closed: (connection) => forget(linking, connection),
    scan: (account, qr) => scan(linking, account, qr),
    typeCode: (account, code) => typeCode(linking, account, code),
    linkedBefore: (account, preKeys) => linkBefore(linking, account, preKeys),
    retire: (qr) => retire(linking, qr),
    waiting: () => linking.candidates.size,
    hasRequested: (account) =>
      findCandidate(linking, ({ code }) => code?.jid === account.pn) !== undefined,
  }
}
