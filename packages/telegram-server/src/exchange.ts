/**
 * The key exchange, before anything is encrypted: the client proves that it knows the server's public key by
 * encrypting with it, and both derive a key.
 */
import { Long } from "@mtcute/node"
import type { mtp } from "@mtcute/node"
import { generateKeyAndIvFromNonce, TlBinaryWriter } from "@mtcute/node/utils.js"
import {
  constants,
  createHash,
  createPublicKey,
  generateKeyPairSync,
  privateDecrypt,
  randomBytes,
} from "node:crypto"
import type { KeyObject } from "node:crypto"
import {
  dhBytes,
  dhGenerator,
  dhPrime,
  modPow,
  toBigInt,
  toBytes,
  toShortestBytes,
} from "./arithmetic.ts"
import { longFrom, provider, sha1, sha256 } from "./envelope.ts"
import { readPrefix, write } from "./tl.ts"
import type { TlObject } from "./tl.ts"

export interface ServerKey {
  readonly privateKey: KeyObject
  /** PKCS#1, for `TELEGRAM_PUBLIC_KEY`. */
  readonly publicPem: string
  readonly fingerprint: Long
}

/** Leading zeros of a number in a JWK do not count. */
const toNumber = (text: string | undefined): Uint8Array => Buffer.from(text ?? "", "base64url")

let created: ServerKey | undefined

/** One for all servers of a process: generating one takes a fifth of a second. */
export const sharedServerKey = (): ServerKey => (created ??= makeServerKey())

/** The library finds no key with a fingerprint that begins with a zero: one in sixteen is generated again. */
const makeServerKey = (): ServerKey => {
  for (;;) {
    const key = makeKey()
    if (key.fingerprint.toUnsigned().toString(16).length === 16) return key
  }
}

const makeKey = (): ServerKey => {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 })
  const publicKey = createPublicKey(privateKey)
  const { e, n } = publicKey.export({ format: "jwk" })
  const writer = TlBinaryWriter.manual(512)
  writer.bytes(toNumber(n))
  writer.bytes(toNumber(e))
  return {
    privateKey,
    publicPem: publicKey.export({ format: "pem", type: "pkcs1" }).toString(),
    fingerprint: longFrom(sha1(writer.result()).subarray(12)),
  }
}

/** Two small primes, so that test clients find them soon. */
const pq = toShortestBytes(65_537n * 65_539n)

/** The client's message, encrypted with the server's public key: padded, reversed and hashed. */
const openRsa = ({ privateKey }: ServerKey, encrypted: Uint8Array): Uint8Array => {
  const plain = privateDecrypt({ key: privateKey, padding: constants.RSA_NO_PADDING }, encrypted)
  const locked = plain.subarray(32)
  const key = Buffer.from(plain.subarray(0, 32))
  for (const [index, byte] of sha256(locked).entries()) key[index] = (key[index] ?? 0) ^ byte
  const opened = provider.createAesIge(key, Buffer.alloc(32)).decrypt(locked)
  const data = Buffer.from(opened.subarray(0, 192)).toReversed()
  if (Buffer.compare(sha256(key, data), opened.subarray(192)) !== 0) {
    throw new Error("what was encrypted with the public key does not hold together")
  }
  return data
}

/** Prefixed with its hash and padded with zeros. */
const hashed = (bytes: Uint8Array): Uint8Array => {
  const length = Math.ceil((20 + bytes.length) / 16) * 16
  return Buffer.concat([sha1(bytes), bytes], length)
}

const openHashed = (bytes: Uint8Array): TlObject => {
  const { length, object } = readPrefix(bytes.subarray(20))
  if (Buffer.compare(sha1(bytes.subarray(20, 20 + length)), bytes.subarray(0, 20)) !== 0) {
    throw new Error("a hash of the key exchange is wrong")
  }
  return object
}

const expected = <T extends TlObject>(object: TlObject, name: T["_"]): T => {
  if (object._ !== name) throw new Error(`${name} was expected, and ${object._} came`)
  return object as T
}

export interface Exchanged {
  readonly key: Uint8Array
  readonly salt: Long
}

/** Takes the client's messages one after the other; calls `done` with the agreed key. */
export const makeExchange = (serverKey: ServerKey, done: (exchanged: Exchanged) => void) => {
  const serverNonce = randomBytes(16)
  // Long enough to be secure here; a full one only takes more time.
  const secret = toBigInt(randomBytes(32))
  let newNonce: Uint8Array = new Uint8Array(32)

  const ige = () => {
    const [key, iv] = generateKeyAndIvFromNonce(provider, serverNonce, newNonce)
    return provider.createAesIge(key, iv)
  }

  const offer = ({ nonce }: mtp.RawMt_req_pq_multi): mtp.RawMt_resPQ => ({
    _: "mt_resPQ",
    nonce,
    serverNonce,
    pq,
    serverPublicKeyFingerprints: [serverKey.fingerprint],
  })

  const parameters = (request: mtp.RawMt_req_DH_params): mtp.RawMt_server_DH_params_ok => {
    const opened = readPrefix(openRsa(serverKey, request.encryptedData)).object
    const inner = expected<mtp.RawMt_p_q_inner_data_dc>(opened, "mt_p_q_inner_data_dc")
    if (Buffer.compare(inner.serverNonce, serverNonce) !== 0) throw new Error("a wrong nonce")
    newNonce = Buffer.from(inner.newNonce)
    const answer: mtp.RawMt_server_DH_inner_data = {
      _: "mt_server_DH_inner_data",
      nonce: request.nonce,
      serverNonce,
      g: dhGenerator,
      dhPrime: toBytes(dhPrime, dhBytes),
      gA: toBytes(modPow(BigInt(dhGenerator), secret, dhPrime), dhBytes),
      serverTime: Math.floor(Date.now() / 1000),
    }
    const { nonce } = request
    const encryptedAnswer = ige().encrypt(hashed(write(answer)))
    return { _: "mt_server_DH_params_ok", nonce, serverNonce, encryptedAnswer }
  }

  const agree = (request: mtp.RawMt_set_client_DH_params): mtp.RawMt_dh_gen_ok => {
    const opened = openHashed(ige().decrypt(request.encryptedData))
    const inner = expected<mtp.RawMt_client_DH_inner_data>(opened, "mt_client_DH_inner_data")
    // One key in 256 begins with a zero byte, which the library omits.
    const key = toShortestBytes(modPow(toBigInt(inner.gB), secret, dhPrime))
    const salt = Buffer.from(newNonce.subarray(0, 8))
    for (const [index, byte] of serverNonce.subarray(0, 8).entries()) {
      salt[index] = (salt[index] ?? 0) ^ byte
    }
    done({ key, salt: longFrom(salt) })
    return {
      _: "mt_dh_gen_ok",
      nonce: request.nonce,
      serverNonce,
      newNonceHash1: createHash("sha1")
        .update(newNonce)
        .update(Buffer.of(1))
        .update(sha1(key).subarray(0, 8))
        .digest()
        .subarray(4),
    }
  }

  return (request: TlObject): TlObject => {
    switch (request._) {
      case "mt_req_pq_multi":
        return offer(request as mtp.RawMt_req_pq_multi)
      case "mt_req_DH_params":
        return parameters(request as mtp.RawMt_req_DH_params)
      case "mt_set_client_DH_params":
        return agree(request as mtp.RawMt_set_client_DH_params)
      default:
        throw new Error(`${request._} is no part of the key exchange`)
    }
  }
}
