/** Binary nodes, WhatsApp's unit of communication: building them, and reading required parts. */
import { getBinaryNodeChild, getBinaryNodeChildren } from "baileys"
import type { BinaryNode } from "baileys"

/** The server's own address: a domain without a user. */
export const serverJid = "@s.whatsapp.net"

export const node = (
  tag: string,
  attrs: Readonly<Record<string, string | undefined>> = {},
  content?: BinaryNode["content"],
): BinaryNode => {
  const present = Object.entries(attrs).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  )
  const bare = { tag, attrs: Object.fromEntries(present) }
  return content === undefined ? bare : { ...bare, content }
}

/** The node at the end of a path of tags, if every step exists. */
export const find = (from: BinaryNode | undefined, ...path: ReadonlyArray<string>) =>
  path.reduce<BinaryNode | undefined>((at, tag) => getBinaryNodeChild(at, tag), from)

export const findAll = (from: BinaryNode | undefined, tag: string): ReadonlyArray<BinaryNode> =>
  getBinaryNodeChildren(from, tag)

export const children = ({ content }: BinaryNode): ReadonlyArray<BinaryNode> =>
  Array.isArray(content) ? content : []

/** All ids in a receipt. */
export const idsIn = (receipt: BinaryNode): ReadonlyArray<string> =>
  [receipt, ...findAll(find(receipt, "list"), "item")].flatMap(({ attrs }) => attrs["id"] ?? [])

/** A node's content as bytes, in either encoding. */
export const bytesIn = (from: BinaryNode | undefined): Buffer => {
  const content = from?.content
  if (content === undefined || Array.isArray(content)) return Buffer.alloc(0)
  return Buffer.from(content)
}

export const getBytes = (from: BinaryNode | undefined, ...path: ReadonlyArray<string>) =>
  bytesIn(find(from, ...path))

export const getNumber = (bytes: Uint8Array | null | undefined) =>
  [...(bytes ?? [])].reduce((sum, byte) => sum * 256 + byte, 0)

export const bigEndian = (value: number, length: number) => {
  const bytes = Buffer.alloc(length)
  bytes.writeUIntBE(value, 0, length)
  return bytes
}

/** The server's words for an error code that XMPP defines. */
const errorTexts: Readonly<Record<number, string>> = {
  400: "bad-request",
  401: "not-authorized",
  403: "forbidden",
  404: "item-not-found",
  406: "not-acceptable",
  429: "rate-overlimit",
  500: "internal-server-error",
  501: "feature-not-implemented",
  503: "service-unavailable",
}

export const answerTo = (query: BinaryNode, content?: BinaryNode["content"]) =>
  node("iq", { from: query.attrs["to"], type: "result", id: query.attrs["id"] }, content)

export const getError = (code: number, attrs: Readonly<Record<string, string>> = {}) =>
  node("error", { code: String(code), text: errorTexts[code] ?? "error", ...attrs })

export const errorTo = (query: BinaryNode, code: number) =>
  node("iq", { from: query.attrs["to"], type: "error", id: query.attrs["id"] }, [getError(code)])
