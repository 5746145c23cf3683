/**
 * Requests and answers as bytes. The library's own tables write everything and read what a client receives;
 * the library's schema reads the methods that a client sends.
 */
import type { tl } from "@mtcute/node"
import {
  __tlReaderMap,
  __tlWriterMap,
  TlBinaryReader,
  TlBinaryWriter,
  TlSerializationCounter,
} from "@mtcute/node/utils.js"
import { createRequire } from "node:module"
import { unzipSync } from "node:zlib"

/** An object in a message, by its name. */
export interface TlObject {
  readonly _: string
}

/** A method's answer. */
export type Answer = tl.TlObject | boolean | ReadonlyArray<tl.TlObject>

interface Argument {
  readonly name: string
  readonly type: string
  readonly typeModifiers?: { readonly predicate?: string; readonly isVector?: boolean }
}

interface Entry {
  readonly kind: "class" | "method"
  readonly name: string
  readonly id: number
  readonly arguments: ReadonlyArray<Argument>
}

const require = createRequire(import.meta.url)

const entries = [
  ...(require("@mtcute/core/tl/api-schema.json") as { readonly e: ReadonlyArray<Entry> }).e,
  ...(require("@mtcute/core/tl/mtp-schema.json") as ReadonlyArray<Entry>),
]

/** `phone_number` as `phoneNumber`, the library's argument name. */
const camelCase = (name: string): string =>
  name.replaceAll(/(?<!^|_)_[a-z0-9]/gi, (found) => found.slice(1).toUpperCase())

const readOne = (reader: TlBinaryReader, type: string): unknown => {
  switch (type) {
    case "int":
      return reader.int()
    case "int53":
      return reader.int53()
    case "long":
      return reader.long()
    case "int128":
      return reader.int128()
    case "int256":
      return reader.int256()
    case "double":
      return reader.double()
    case "string":
      return reader.string()
    case "bytes":
      return reader.bytes()
    case "Bool":
      return reader.boolean()
    default:
      return reader.object()
  }
}

/** Whether the bit that an argument depends on is set, such as `flags.3`. */
const isSet = (predicate: string, flags: ReadonlyMap<string, number>): boolean => {
  const [field = "", bit] = predicate.split(".")
  return (((flags.get(field) ?? 0) >>> Number(bit)) & 1) === 1
}

const methodReader =
  ({ arguments: known, name: method }: Entry) =>
  (reader: TlBinaryReader): TlObject => {
    const flags = new Map<string, number>()
    const request: Record<string, unknown> & { _: string } = { _: method }
    for (const { name, type, typeModifiers: { isVector = false, predicate } = {} } of known) {
      if (type === "#") {
        flags.set(name, reader.uint())
        continue
      }
      const isThere = predicate === undefined || isSet(predicate, flags)
      if (type === "true") request[camelCase(name)] = isThere
      else if (isThere) {
        request[camelCase(name)] = isVector
          ? reader.vector(() => readOne(reader, type))
          : readOne(reader, type)
      }
    }
    return request
  }

const gzipPacked = 0x3072cfa1
const msgContainer = 0x73f1f8dc
const rpcResult = 0xf35c6d01
const futureSalts = 0xae500895
const vector = 0x1cb5c415
const [boolTrue, boolFalse] = [0x997275b5, 0xbc799737]

/** Larger answers are packed. */
const packedFrom = 512

const readers: Record<number, (reader: TlBinaryReader) => unknown> = {
  ...__tlReaderMap,
  [gzipPacked]: (reader) => read(unzipSync(reader.bytes())),
  ...Object.fromEntries(
    entries
      .filter(({ kind }) => kind === "method")
      .map((entry) => [entry.id, methodReader(entry)] as const),
  ),
}

/** One object, or one request. Throws for anything outside the schema. */
export const read = (bytes: Uint8Array): TlObject =>
  TlBinaryReader.deserializeObject<TlObject>(readers, bytes)

/** The same, with the number of bytes read. */
export const readPrefix = (
  bytes: Uint8Array,
): { readonly object: TlObject; readonly length: number } => {
  const reader = new TlBinaryReader(readers, bytes)
  return { object: reader.object() as TlObject, length: reader.pos }
}

const reading = (bytes: Uint8Array): TlBinaryReader => new TlBinaryReader(readers, bytes)

/** The messages of a container; null when the bytes are not one. */
export const findContainer = (bytes: Uint8Array): TlBinaryReader | null => {
  const reader = reading(bytes)
  return reader.uint() === msgContainer ? reader : null
}

export const write = (object: TlObject): Uint8Array =>
  TlBinaryWriter.serializeObject(__tlWriterMap, object)

const writeAnswer = (answer: Answer | TlObject): Uint8Array => {
  if (typeof answer === "boolean") {
    const writer = TlBinaryWriter.manual(4)
    writer.uint(answer ? boolTrue : boolFalse)
    return writer.result()
  }
  if (!Array.isArray(answer)) return write(answer as TlObject)
  const parts = (answer as ReadonlyArray<TlObject>).map(write)
  const head = TlBinaryWriter.manual(8)
  head.uint(vector)
  head.uint(parts.length)
  return Buffer.concat([head.result(), ...parts])
}

/** The answer to a request, packed when it is large. */
export const writeResult = (
  requestId: tl.Long,
  answer: Answer | TlObject,
  pack: (bytes: Uint8Array) => Uint8Array,
): Uint8Array => {
  const bytes = writeAnswer(answer)
  const packed = bytes.length >= packedFrom ? pack(bytes) : null
  const size =
    packed === null
      ? bytes.length
      : 4 + packed.length + TlSerializationCounter.countBytesOverhead(packed.length)
  const writer = TlBinaryWriter.manual(12 + size)
  writer.uint(rpcResult)
  writer.long(requestId)
  if (packed === null) writer.raw(bytes)
  else {
    writer.uint(gzipPacked)
    writer.bytes(packed)
  }
  return writer.result()
}

/** The library's table cannot write the list in it. */
export const writeFutureSalts = (
  requestId: tl.Long,
  now: number,
  salts: ReadonlyArray<{ readonly salt: tl.Long; readonly since: number }>,
  seconds: number,
): Uint8Array => {
  const writer = TlBinaryWriter.manual(20 + salts.length * 16)
  writer.uint(futureSalts)
  writer.long(requestId)
  writer.int(now)
  writer.int(salts.length)
  for (const { salt, since } of salts) {
    writer.int(since)
    writer.int(since + seconds)
    writer.long(salt)
  }
  return writer.result()
}
