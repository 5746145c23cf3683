/**
 * Linking a device: what an unlinked client is shown, what the phone does with the QR code it reads or
 * the code that is typed into it, and the answer that makes the client a device of the account.
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
import { answerTo, bigEndian, bytesOf, errorTo, find, node, numberOf, serverJid } from "./nodes.ts"
import { accountAt, nowSeconds, withDevice } from "./ServerState.ts"
import type { Account, Device, ServerState } from "./ServerState.ts"

/** Why a phone would not link; its words are what a test can ask for. */
export class LinkRefused extends Error {
  readonly _tag = "LinkRefused"
  readonly reason: string
  constructor(reason: string) {
    super(reason)
    this.reason = reason
  }
}

interface CodeAsked {
  readonly jid: string
  readonly ref: string
  readonly sealedKey: Buffer
  /** The companion's last word, which the phone waits for. */
  readonly finished: PromiseWithResolvers<BinaryNode>
}

/** A client that is not linked yet. */
interface Candidate {
  readonly connection: Connection
  readonly data: proto.ClientPayload.IDevicePairingRegistrationData
  readonly refs: ReadonlyArray<string>
  /** Secrets that the server no longer takes. */
  readonly retired: Set<string>
  readonly gone: PromiseWithResolvers<never>
  code: CodeAsked | undefined
  signed: PromiseWithResolvers<BinaryNode> | undefined
}

export interface Linking {
  /** A client without an account asks to be registered. */
  readonly register: (
    connection: Connection,
    data: proto.ClientPayload.IDevicePairingRegistrationData,
  ) => void
  /** Whether what an unlinked client said was for linking; it is then dealt with. */
  readonly received: (connection: Connection, said: BinaryNode) => boolean
  readonly closed: (connection: Connection) => void
  readonly scan: (account: Account, qr: string) => Promise<Device>
  readonly typeCode: (account: Account, code: string) => Promise<Device>
  /** A device that was linked before the server began: what its client has of that. */
  readonly linkedBefore: (account: Account, preKeys: number) => AuthenticationCreds
  /** Retires the secret in a QR code, and makes the client show another. */
  readonly retire: (qr: string) => void
  /** How many clients wait to be linked. */
  readonly waiting: () => number
  /** Whether a client has asked for a pairing code for this account. */
  readonly hasAsked: (account: Account) => boolean
}

const readQr = (qr: string) => {
  const [ref = "", clientKey = "", identity = "", secret = ""] = qr
    .slice(qr.indexOf("#") + 1)
    .split(",")
  return { ref, clientKey, identity, secret }
}

const isKey = (key: Uint8Array | null | undefined, base64: string) =>
  Buffer.from(key ?? []).toString("base64") === base64

/** What the phone signs so that the companion can prove whose it is. */
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
): Device => ({
  account,
  id,
  clientKey,
  registrationId: numberOf(data.eRegid),
  identity: data.eIdent ?? Buffer.alloc(0),
  signedKey: {
    id: numberOf(data.eSkeyId),
    value: data.eSkeyVal ?? Buffer.alloc(0),
    signature: data.eSkeySig ?? Buffer.alloc(0),
  },
  preKeys: [],
  connection: undefined,
  waiting: [],
  unheard: new Map(),
  hasHistory: false,
  sessions: { open: 0, most: 0, logins: 0 },
})

const mostDevices = 4

export const makeLinking = (state: ServerState, references: number): Linking => {
  const candidates = new Map<Connection, Candidate>()
  let lastId = 0

  const candidateOf = (fits: (candidate: Candidate) => boolean) =>
    [...candidates.values()].find((each) => each.connection.isOpen() && fits(each))

  /** The companion may be gone before it has answered. */
  const answerOf = <A>(candidate: Candidate, wanted: PromiseWithResolvers<A>) =>
    Promise.race([wanted.promise, candidate.gone.promise])

  const pairSuccess = (account: Account, id: number, identity: Uint8Array) =>
    node("iq", { from: serverJid, type: "set", id: `link-${++lastId}`, xmlns: "md" }, [
      node("pair-success", {}, [
        node("device-identity", {}, identity),
        node("device", { jid: withDevice(account.pn, id), lid: withDevice(account.lid, id) }),
        node("platform", { name: "android" }),
      ]),
    ])

  const link = async (candidate: Candidate, account: Account, secret: Buffer) => {
    if (account.devices.size >= mostDevices) throw new LinkRefused("too many linked devices")
    const id = account.lastDeviceId + 1
    account.lastDeviceId = id
    const device = makeDevice(account, id, candidate.connection.clientKey, candidate.data)
    candidate.signed = Promise.withResolvers()
    candidate.connection.send(
      pairSuccess(account, id, signedIdentity(account, candidate.data, id, secret)),
    )
    const reply = await answerOf(candidate, candidate.signed)
    const sealed = bytesOf(reply, "pair-device-sign", "device-identity")
    if (!proto.ADVSignedDeviceIdentity.decode(sealed).deviceSignature?.length) {
      throw new LinkRefused("the companion did not sign")
    }
    account.devices.set(id, device)
    candidates.delete(candidate.connection)
    candidate.connection.send(node("stream:error", { code: "515" }))
    candidate.connection.close()
    state.changed()
    return device
  }

  const askForCode = (candidate: Candidate, said: BinaryNode, asked: BinaryNode) => {
    const refused = state.orders.refusal("pairing code")
    const jid = asked.attrs["jid"] ?? ""
    if (refused !== undefined || accountAt(state, jid) === undefined) {
      return candidate.connection.send(errorTo(said, refused ?? 400))
    }
    const ref = randomBytes(12).toString("base64")
    candidate.code = {
      jid,
      ref,
      sealedKey: bytesOf(asked, "link_code_pairing_wrapped_companion_ephemeral_pub"),
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

  const notify = (candidate: Candidate, type: string, content: ReadonlyArray<BinaryNode>) =>
    candidate.connection.send(
      node("notification", { from: serverJid, type, id: `link-${++lastId}`, t: nowSeconds() }, [
        ...content,
      ]),
    )

  const refuseIfOrdered = (candidate: Candidate, account: Account) => {
    if (state.orders.refusal("scan") !== undefined) throw new LinkRefused("the phone said no")
    if (account.needsPasskey) {
      notify(candidate, "passkey_prologue_request", [node("passkey_request_options")])
      throw new LinkRefused("a passkey is needed")
    }
  }

  return {
    waiting: () => candidates.size,
    hasAsked: (account) => candidateOf(({ code }) => code?.jid === account.pn) !== undefined,
    register: (connection, data) => {
      const refs = Array.from({ length: references }, () => randomBytes(24).toString("base64"))
      const candidate: Candidate = {
        connection,
        data,
        refs,
        retired: new Set(),
        gone: Promise.withResolvers(),
        code: undefined,
        signed: undefined,
      }
      candidate.gone.promise.catch(() => undefined)
      candidates.set(connection, candidate)
      const content = refs.map((ref) => node("ref", {}, Buffer.from(ref)))
      connection.send(
        node("iq", { from: serverJid, type: "set", id: `link-${++lastId}`, xmlns: "md" }, [
          node("pair-device", {}, content),
        ]),
      )
    },
    received: (connection, said) => {
      const candidate = candidates.get(connection)
      if (candidate === undefined || said.tag !== "iq") return false
      if (find(said, "pair-device-sign") !== undefined) {
        candidate.signed?.resolve(said)
        return true
      }
      const asked = find(said, "link_code_companion_reg")
      if (asked === undefined) return said.attrs["type"] === "result"
      if (asked.attrs["stage"] === "companion_hello") {
        askForCode(candidate, said, asked)
      } else {
        connection.send(answerTo(said))
        candidate.code?.finished.resolve(asked)
      }
      return true
    },
    closed: (connection) => {
      candidates.get(connection)?.gone.reject(new LinkRefused("the companion went away"))
      candidates.delete(connection)
    },
    scan: async (account, qr) => {
      const { clientKey, identity, ref, secret } = readQr(qr)
      const candidate = candidateOf(({ refs }) => refs.includes(ref))
      if (candidate === undefined) throw new LinkRefused("the QR code is not known")
      const { connection, data, retired } = candidate
      if (!isKey(connection.clientKey, clientKey) || !isKey(data.eIdent, identity)) {
        throw new LinkRefused("the QR code names other keys")
      }
      if (retired.has(secret)) throw new LinkRefused("the QR code was retired")
      refuseIfOrdered(candidate, account)
      return link(candidate, account, Buffer.from(secret, "base64"))
    },
    typeCode: async (account, typed) => {
      const candidate = candidateOf(({ code }) => code?.jid === account.pn)
      if (candidate?.code === undefined) throw new LinkRefused("no pairing code was asked for")
      refuseIfOrdered(candidate, account)
      const { finished, ref, sealedKey } = candidate.code
      const code = typed.replaceAll("-", "").toUpperCase()
      const keyOf = (salt: Buffer) => derivePairingCodeKey(code, salt)
      const companionKey = aesDecryptCTR(
        sealedKey.subarray(48, 80),
        await keyOf(sealedKey.subarray(0, 32)),
        sealedKey.subarray(32, 48),
      )
      const ours = Curve.generateKeyPair()
      const [salt, iv] = [randomBytes(32), randomBytes(16)]
      const sealedOurs = aesEncryptCTR(ours.public, await keyOf(salt), iv)
      notify(candidate, "link_code_companion_reg", [
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
      const finish = await answerOf(candidate, finished)
      const secret = secretFrom(finish, account, candidate, ours.private, companionKey)
      candidate.code = undefined
      return link(candidate, account, secret)
    },
    linkedBefore: (account, preKeys) => {
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
      const told = pairSuccess(account, id, signedIdentity(account, data, id, secret))
      const device = makeDevice(account, id, noiseKey.public, data)
      for (let key = 1; key <= preKeys; key++) {
        device.preKeys.push({ id: key, value: signedPreKey.keyPair.public })
      }
      account.devices.set(id, device)
      return { ...creds, ...configureSuccessfulPairing(told, creds).creds }
    },
    retire: (qr) => {
      const { ref, secret } = readQr(qr)
      const candidate = candidateOf(({ refs }) => refs.includes(ref))
      candidate?.retired.add(secret)
      if (candidate !== undefined) {
        notify(candidate, "companion_reg_refresh", [node("companion_reg_refresh")])
      }
    },
  }
}

/** Both sides' keys and what the companion drew, or a refusal if the code was another. */
const secretFrom = (
  finish: BinaryNode,
  account: Account,
  { data }: Candidate,
  ourKey: Uint8Array,
  companionKey: Uint8Array,
) => {
  const shared = Curve.sharedKey(ourKey, companionKey)
  const sealed = bytesOf(finish, "link_code_pairing_wrapped_key_bundle")
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

const openBundle = (sealed: Buffer, key: Buffer) => {
  try {
    return aesDecryptGCM(sealed.subarray(44), key, sealed.subarray(32, 44), Buffer.alloc(0))
  } catch {
    throw new LinkRefused("the pairing code is wrong")
  }
}
