/** Media files in memory, for tests and for embedders without a disk. */
import { MediaFiles, MediaFilesError, Ids, unknownMimeType } from "@messaging-service/core"
import type { StoredContent } from "@messaging-service/core"
import { sha256 } from "@noble/hashes/sha2.js"
import { bytesToHex } from "@noble/hashes/utils.js"
import { ByteSize, Effect, Layer, Stream } from "effect"

/** First bytes in Latin-1, of what transports show as pictures, and PDF. */
const signatures: ReadonlyArray<readonly [mimeType: string, form: RegExp]> = [
  ["image/jpeg", /^\xff\xd8\xff/],
  ["image/png", /^\x89PNG\r\n\x1a\n/],
  ["image/gif", /^GIF8[79]a/],
  ["image/webp", /^RIFF.{4}WEBP/s],
  ["application/pdf", /^%PDF-/],
]

const sniffed = (bytes: Uint8Array): string => {
  const first = String.fromCharCode(...bytes.subarray(0, 12))
  return signatures.find(([, form]) => form.test(first))?.[0] ?? unknownMimeType
}

const stored = (bytes: Uint8Array): StoredContent => ({
  size: bytes.length,
  sha256: bytesToHex(sha256(bytes)),
  mimeType: sniffed(bytes),
  content: Stream.succeed(bytes),
  part: (start, end) => Stream.succeed(bytes.subarray(start, end)),
})

const collect = <E>(content: Stream.Stream<Uint8Array, E>, maximumBytes: number) =>
  content.pipe(
    Stream.limitBytes<E | MediaFilesError, never>(ByteSize.bytes(maximumBytes), () =>
      Stream.fail(new MediaFilesError({ reason: "too_large" })),
    ),
    Stream.mkUint8Array,
  )

/** Keeps every file in memory whole, and tells few formats: the pictures that transports show, and PDF. */
export const layerMediaFiles: Layer.Layer<MediaFiles, never, Ids> = Layer.effect(
  MediaFiles,
  Effect.gen(function* () {
    const ids = yield* Ids
    const files = new Map<string, Uint8Array>()
    return MediaFiles.of({
      keeps: true,
      open: (storageKey) =>
        Effect.suspend(() => {
          const bytes = files.get(storageKey)
          return bytes === undefined
            ? Effect.fail(new MediaFilesError({ reason: "not_found" }))
            : Effect.succeed(stored(bytes))
        }),
      spool: (content, maximumBytes) =>
        Effect.map(collect(content, maximumBytes), (bytes) => {
          const storageKey = ids.hex(32)
          const keep = Effect.sync(() => void files.set(storageKey, bytes))
          return { ...stored(bytes), storageKey, keep }
        }),
      room: Effect.void,
      remove: (storageKey) => Effect.sync(() => void files.delete(storageKey)),
      ready: Effect.void,
      removeAbandoned: Effect.void,
    })
  }),
)
