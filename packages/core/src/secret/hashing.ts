/** What is made of secrets with SHA-256: the hash that is stored, what they sign, and how they are compared. */
import { equalBytes } from "@noble/ciphers/utils.js"
import { hmac } from "@noble/hashes/hmac.js"
import { sha256 } from "@noble/hashes/sha2.js"
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js"

/** SHA-256, hexadecimal. Keys are random, so that a plain hash is enough and can be looked up. */
export const hashSecret = (secret: string): string => bytesToHex(sha256(utf8ToBytes(secret)))

/** 128 bits of a value's signature, hexadecimal, by which links and cursors are known again. */
export const signatureOf = (secret: string, value: unknown): string =>
  bytesToHex(hmac(sha256, utf8ToBytes(secret), utf8ToBytes(JSON.stringify(value)))).slice(0, 32)

/** In UTF-8 all lone surrogates become the same bytes; JSON escapes each as it is. */
const exactBytes = (text: string): Uint8Array => utf8ToBytes(JSON.stringify(text))

/**
 * Whether two secrets are equal, in a time that does not depend on where they differ: their hashes
 * are compared, whole.
 */
export const sameSecret = (a: string, b: string): boolean =>
  equalBytes(sha256(exactBytes(a)), sha256(exactBytes(b)))
