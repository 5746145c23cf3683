/**
 * The text of keys: their forms, how they are made, and the hash under which they are stored. And how
 * secrets sign and are compared.
 */
import { equalBytes } from "@noble/ciphers/utils.js"
import { hmac } from "@noble/hashes/hmac.js"
import { sha256 } from "@noble/hashes/sha2.js"
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js"
import type { Ids } from "../Ids.ts"
import type { Mode } from "./ApiKey.ts"

/** SHA-256, hexadecimal. Keys are random, so that a plain hash is enough and can be looked up. */
export const hashSecret = (secret: string): string => bytesToHex(sha256(utf8ToBytes(secret)))

/** 128 bits of a value's signature, hexadecimal, by which links and cursors are known again. */
export const signatureOf = (secret: string, value: unknown): string =>
  bytesToHex(hmac(sha256, utf8ToBytes(secret), utf8ToBytes(JSON.stringify(value)))).slice(0, 32)

/** `svc_live_` or `svc_test_` and 38 letters and digits (contract: Authentication). */
export const makeKeyV2 = (ids: typeof Ids.Service, mode: Mode): string =>
  `svc_${mode}_${ids.alphanumeric(38)}`

/** 40 digits and letters a to f. */
export const makeKeyV1 = (ids: typeof Ids.Service): string => ids.hex(40)

export const isKeyV2 = (text: string): boolean => /^svc_(?:live|test)_[0-9A-Za-z]{38}$/.test(text)

export const isKeyV1 = (text: string): boolean => /^[0-9a-f]{40}$/.test(text)

/** UTF-8 alone would make one of all lone surrogates, which JSON escapes. */
const exactBytes = (text: string): Uint8Array => utf8ToBytes(JSON.stringify(text))

/**
 * Whether two secrets are equal, in a time that does not depend on where they differ: their hashes
 * are compared, whole.
 */
export const sameSecret = (a: string, b: string): boolean =>
  equalBytes(sha256(exactBytes(a)), sha256(exactBytes(b)))

/** The token of a bearer header; undefined when there is none, it is empty or of another scheme. */
export const bearerToken = (authorization: string | undefined): string | undefined => {
  const match = /^bearer +(\S(?:.*\S)?) *$/i.exec(authorization ?? "")
  return match?.[1]
}
