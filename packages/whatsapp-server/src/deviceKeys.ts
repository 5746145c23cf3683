/** The public keys of a device, and their form in nodes. */
import type { BinaryNode } from "baileys"
import { bigEndian, getBytes, node, getNumber } from "./nodes.ts"

export interface PublicKey {
  readonly id: number
  readonly value: Uint8Array
}

export interface SignedKey extends PublicKey {
  readonly signature: Uint8Array
}

/** What another device needs to start a session. */
export interface Bundle {
  readonly registrationId: number
  readonly identity: Uint8Array
  readonly signedKey: SignedKey
  readonly preKey: PublicKey | undefined
}

export const readKey = (from: BinaryNode): PublicKey => ({
  id: getNumber(getBytes(from, "id")),
  value: getBytes(from, "value"),
})

export const readSignedKey = (from: BinaryNode): SignedKey => ({
  ...readKey(from),
  signature: getBytes(from, "signature"),
})

export const bundleNodes = (bundle: Bundle) => [
  node("registration", {}, bigEndian(bundle.registrationId, 4)),
  node("type", {}, Buffer.from([5])),
  node("identity", {}, bundle.identity),
  ...(bundle.preKey === undefined ? [] : [keyNode("key", bundle.preKey)]),
  keyNode("skey", bundle.signedKey),
]

const keyNode = (tag: string, key: PublicKey | SignedKey) =>
  node(tag, {}, [
    node("id", {}, bigEndian(key.id, 3)),
    node("value", {}, key.value),
    ...("signature" in key ? [node("signature", {}, key.signature)] : []),
  ])
