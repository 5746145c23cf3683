/**
 * Content codings of answers (RFC 9110, 8.4.1), undone with `node:zlib`. Servers compress files although a
 * request asks for `identity`: object stores keep files compressed, and CDNs and PHP compress unasked.
 */
import { EgressError } from "@messaging-service/core"
import { pipeline } from "node:stream"
import type { Transform } from "node:stream"
import * as zlib from "node:zlib"

type Content = AsyncIterable<Uint8Array>

type Decoder = (content: Content) => Content

/** Servers use one or two. Each of a bomb's codings multiplies its work. */
const maxCodings = 5

/** Errors arrive at the reader of the decoded content. */
const reportedToReader = () => undefined

const through =
  (decoder: () => Transform): Decoder =>
  (content) =>
    pipeline(content, decoder(), reportedToReader)

/** The beginning of the content, at least that long unless all is shorter, and the whole from its start. */
const peek = async (content: Content, bytes: number) => {
  const chunks = content[Symbol.asyncIterator]()
  const read: Array<Uint8Array> = []
  for (let length = 0; length < bytes;) {
    const next = await chunks.next()
    if (next.done === true) break
    read.push(next.value)
    length += next.value.length
  }
  const whole = async function* () {
    yield* read
    yield* { [Symbol.asyncIterator]: () => chunks }
  }
  return { beginning: Buffer.concat(read), whole: whole() }
}

/** RFC 1950: method 8, and a checksum over both bytes. */
const isZlibHeader = (bytes: Buffer): boolean =>
  bytes.length > 1 && (bytes.readUInt8(0) & 0x0f) === 8 && bytes.readUInt16BE(0) % 31 === 0

/** `deflate` means zlib's format, but some servers send bare deflate data. */
const inflate: Decoder = async function* inflate(content) {
  const { beginning, whole } = await peek(content, 2)
  const decoder = isZlibHeader(beginning) ? zlib.createInflate : zlib.createInflateRaw
  yield* through(() => decoder())(whole)
}

const gunzip = through(() => zlib.createGunzip())

const decoders: ReadonlyMap<string, Decoder> = new Map([
  ["gzip", gunzip],
  ["x-gzip", gunzip],
  ["deflate", inflate],
  ["br", through(() => zlib.createBrotliDecompress())],
  // RFC 9659: no server may need a larger window.
  [
    "zstd",
    through(() =>
      zlib.createZstdDecompress({ params: { [zlib.constants.ZSTD_d_windowLogMax]: 23 } }),
    ),
  ],
])

const gzipMagic = Buffer.of(0x1f, 0x8b)

const isGzip = (bytes: Buffer): boolean => bytes.subarray(0, 2).equals(gzipMagic)

/** Enough for the longest header that compressors write and some content. */
const peekedBytes = 1024

const beginningOfGunzipped = (bytes: Buffer): Buffer => {
  try {
    const finishFlush = zlib.constants.Z_SYNC_FLUSH
    return zlib.gunzipSync(bytes.subarray(0, peekedBytes), { finishFlush })
  } catch {
    return bytes.subarray(0, 0)
  }
}

/**
 * For a file that is gzip itself: some servers name as coding what is the file's own format. It stays as it is,
 * unless there is gzip inside gzip.
 */
const gunzipTwice: Decoder = async function* gunzipTwice(content) {
  const { beginning, whole } = await peek(content, peekedBytes)
  const isCoded = !isGzip(beginning) || isGzip(beginningOfGunzipped(beginning))
  yield* isCoded ? gunzip(whole) : whole
}

/** Codings in the order in which the server applied them. */
export const getCodings = (contentEncoding: string | undefined): ReadonlyArray<string> =>
  (contentEncoding ?? "")
    .split(",")
    .map((coding) => coding.trim().toLowerCase())
    .filter((coding) => coding !== "" && coding !== "identity")

export const areKnown = (codings: ReadonlyArray<string>): boolean =>
  codings.length <= maxCodings && codings.every((coding) => decoders.has(coding))

/** What a decoder says of content that ends too early, as that of a broken connection does. */
const endedEarly = "Z_BUF_ERROR"

const decodingError = (cause: unknown): EgressError => {
  if (cause instanceof EgressError) return cause
  const { code } = cause as NodeJS.ErrnoException
  return new EgressError({ reason: code === endedEarly ? "connection" : "coding", cause })
}

/**
 * The content without its codings, which must be known. Fails with `EgressError`: those of the content, and
 * `coding`. `isGzipFile`: its name or type says that the file is gzip.
 */
export const decoded = async function* decoded(
  content: Content,
  codings: ReadonlyArray<string>,
  isGzipFile: boolean,
): AsyncGenerator<Uint8Array> {
  const [outermost = ""] = codings
  const chain =
    isGzipFile && codings.length === 1 && decoders.get(outermost) === gunzip
      ? [gunzipTwice]
      : codings.toReversed().flatMap((coding) => decoders.get(coding) ?? [])
  let without = content
  for (const decode of chain) without = decode(without)
  try {
    yield* without
  } catch (cause) {
    throw decodingError(cause)
  }
}
