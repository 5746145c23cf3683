/** Encrypted messages: the envelope of a message once both sides have a key (version 2). */
import { Long } from "@mtcute/node"
import { createAesIgeForMessage, NodeCryptoProvider } from "@mtcute/node/utils.js"
import { createHash, randomBytes } from "node:crypto"

/** The library's own, for the cipher that Node lacks. */
export const provider = new NodeCryptoProvider()

const digest = (algorithm: string, parts: ReadonlyArray<Uint8Array>): Buffer => {
  const hash = createHash(algorithm)
  for (const part of parts) hash.update(part)
  return hash.digest()
}

export const sha1 = (...parts: ReadonlyArray<Uint8Array>): Buffer => digest("sha1", parts)
export const sha256 = (...parts: ReadonlyArray<Uint8Array>): Buffer => digest("sha256", parts)

export const longFrom = (bytes: Uint8Array): Long => {
  const view = Buffer.from(bytes)
  return new Long(view.readInt32LE(0), view.readInt32LE(4))
}

const longBytes = ({ high, low }: Long): Uint8Array => {
  const bytes = Buffer.alloc(8)
  bytes.writeInt32LE(low, 0)
  bytes.writeInt32LE(high, 4)
  return bytes
}

export const randomLong = (): Long => longFrom(randomBytes(8))

/** The id of an authorization key, by which keys are found. */
export const getKeyId = (key: Uint8Array): string => sha1(key).subarray(12).toString("hex")

export interface Opened {
  readonly salt: Long
  readonly sessionId: Long
  readonly messageId: Long
  readonly seqNo: number
  readonly body: Uint8Array
}

const headBytes = 32

/** The offset in the key of the part for the message key, by sender. */
const [ofClient, ofServer] = [88, 96]

const getMessageKey = (key: Uint8Array, from: number, plain: Uint8Array): Uint8Array =>
  sha256(key.subarray(from, from + 32), plain).subarray(8, 24)

/** A client's encrypted message, after the key's id. Throws when it is inconsistent. */
export const openEnvelope = (key: Uint8Array, frame: Uint8Array): Opened => {
  const messageKey = frame.subarray(8, 24)
  const ige = createAesIgeForMessage(provider, key, messageKey, true)
  const plain = Buffer.from(ige.decrypt(frame.subarray(24)))
  if (Buffer.compare(getMessageKey(key, ofClient, plain), messageKey) !== 0) {
    throw new Error("a message key is wrong")
  }
  const length = plain.readUInt32LE(28)
  return {
    salt: longFrom(plain.subarray(0, 8)),
    sessionId: longFrom(plain.subarray(8, 16)),
    messageId: longFrom(plain.subarray(16, 24)),
    seqNo: plain.readUInt32LE(24),
    body: plain.subarray(headBytes, headBytes + length),
  }
}

export const sealEnvelope = (
  key: Uint8Array,
  { body, messageId, salt, seqNo, sessionId }: Opened,
): Uint8Array => {
  const counts = Buffer.alloc(8)
  counts.writeUInt32LE(seqNo, 0)
  counts.writeUInt32LE(body.length, 4)
  const head = [longBytes(salt), longBytes(sessionId), longBytes(messageId), counts]
  // At least twelve bytes, up to whole blocks.
  const padding = 12 + ((16 - ((headBytes + body.length + 12) % 16)) % 16)
  const plain = Buffer.concat([...head, body, randomBytes(padding)])
  const messageKey = getMessageKey(key, ofServer, plain)
  const ige = createAesIgeForMessage(provider, key, messageKey, false)
  return Buffer.concat([sha1(key).subarray(12), messageKey, ige.encrypt(plain)])
}
