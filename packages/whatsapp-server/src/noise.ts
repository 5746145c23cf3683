/**
 * The server's half of WhatsApp's `Noise_XX_25519_AESGCM_SHA256`: the library has only the client's half, and
 * its cipher states cannot be reversed. Primitives are the library's.
 */
import {
  aesDecryptGCM,
  aesEncryptGCM,
  Curve,
  hkdf,
  NOISE_MODE,
  NOISE_WA_HEADER,
  proto,
  sha256,
} from "baileys"
import type { KeyPair } from "baileys"

export interface NoiseKeys {
  readonly static: KeyPair
  readonly certificates: Uint8Array
}

export interface Transport {
  readonly encrypt: (plain: Uint8Array) => Uint8Array
  readonly decrypt: (sealed: Uint8Array) => Buffer
}

export interface Finished {
  /** The client: it has proved that it holds this key's other half. */
  readonly clientKey: Uint8Array
  readonly payload: proto.ClientPayload
  readonly transport: Transport
}

const certificate = (
  details: proto.CertChain.NoiseCertificate.IDetails,
  signer: KeyPair,
): proto.CertChain.INoiseCertificate => {
  const encoded = proto.CertChain.NoiseCertificate.Details.encode(details).finish()
  return { details: encoded, signature: Curve.sign(signer.private, encoded) }
}

let noiseKeys: NoiseKeys | undefined

/** The same for all servers of a process: the library is slow to sign. */
export const sharedNoiseKeys = (): NoiseKeys => (noiseKeys ??= makeNoiseKeys())

/**
 * The chain ends in our own root: only WhatsApp can sign with the library's. The library accepts ours because
 * its signature check accepts every signature.
 */
const makeNoiseKeys = (): NoiseKeys => {
  const [root, intermediate, leaf] = [
    Curve.generateKeyPair(),
    Curve.generateKeyPair(),
    Curve.generateKeyPair(),
  ]
  const certificates = proto.CertChain.encode({
    leaf: certificate({ serial: 2, issuerSerial: 1, key: leaf.public }, intermediate),
    intermediate: certificate({ serial: 1, issuerSerial: 0, key: intermediate.public }, root),
  }).finish()
  return { static: leaf, certificates }
}

const toIv = (counter: number) => {
  const iv = Buffer.alloc(12)
  iv.writeUInt32BE(counter, 8)
  return iv
}

const noBytes = Buffer.alloc(0)

const split = (input: Uint8Array, salt: Buffer): readonly [Buffer, Buffer] => {
  const derived = Buffer.from(hkdf(input, 64, { salt, info: "" }))
  return [derived.subarray(0, 32), derived.subarray(32)]
}

/** The hashes and keys that both sides derive during the handshake. */
const handshakeState = () => {
  let hash: Buffer = Buffer.from(NOISE_MODE)
  let salt = hash
  let key = hash
  let counter = 0
  const authenticate = (data: Uint8Array) => {
    hash = sha256(Buffer.concat([hash, data]))
  }
  return {
    authenticate,
    mix: (secret: Uint8Array) => {
      ;[salt, key] = split(secret, salt)
      counter = 0
    },
    encrypt: (plain: Uint8Array) => {
      const sealed = aesEncryptGCM(plain, key, toIv(counter++), hash)
      authenticate(sealed)
      return sealed
    },
    decrypt: (sealed: Uint8Array) => {
      const plain = aesDecryptGCM(sealed, key, toIv(counter++), hash)
      authenticate(sealed)
      return plain
    },
    /** The client's key for writing comes first, so this side reads with it. */
    transport: (): Transport => {
      const [readKey, writeKey] = split(noBytes, salt)
      let [read, written] = [0, 0]
      return {
        encrypt: (plain) => aesEncryptGCM(plain, writeKey, toIv(written++), noBytes),
        decrypt: (sealed) => aesDecryptGCM(sealed, readKey, toIv(read++), noBytes),
      }
    },
  }
}

/** Answers a client's hello; `finish` takes the client's reply. */
export const answerHello = (frame: Uint8Array, keys: NoiseKeys) => {
  const theirs = Buffer.from(proto.HandshakeMessage.decode(frame).clientHello?.ephemeral ?? noBytes)
  const ours = Curve.generateKeyPair()
  const state = handshakeState()
  state.authenticate(NOISE_WA_HEADER)
  state.authenticate(theirs)
  state.authenticate(ours.public)
  state.mix(Curve.sharedKey(ours.private, theirs))
  const sealedStatic = state.encrypt(keys.static.public)
  state.mix(Curve.sharedKey(keys.static.private, theirs))
  const serverHello = {
    ephemeral: ours.public,
    static: sealedStatic,
    payload: state.encrypt(keys.certificates),
  }
  return {
    answer: proto.HandshakeMessage.encode({ serverHello }).finish(),
    finish: (reply: Uint8Array): Finished => {
      const { clientFinish } = proto.HandshakeMessage.decode(reply)
      const clientKey = state.decrypt(clientFinish?.static ?? noBytes)
      state.mix(Curve.sharedKey(ours.private, clientKey))
      const payload = proto.ClientPayload.decode(state.decrypt(clientFinish?.payload ?? noBytes))
      return { clientKey, payload, transport: state.transport() }
    },
  }
}
