/** Uploaded files of a caller. */
import {
  MediaDirectory,
  MediaFiles,
  filesUnavailable,
  maximumFileBytes,
  noRoomForFile,
  permit,
  refuse,
  refuseUnkept,
  uploadedFileName,
} from "@messaging-service/core"
import type { Failure, ListMedia, MediaFilesError, MediaId, Upload } from "@messaging-service/core"
import { Data, Effect, Stream } from "effect"
import type { Scope } from "effect"
import type { MediaApi, UploadFile } from "../api/media.ts"
import type { ComposedService } from "../compose/index.ts"
import { bodyOf } from "../names.ts"
import type { CallerApi } from "./Calls.ts"
import { idOf, listingOf, made, repeatable, showingNow } from "./asking.ts"
import { mediaShown } from "./records.ts"
import { anything, fields, refusalOf, text } from "./rules.ts"

/** What the caller's own stream broke off with. */
class ContentFailed extends Data.TaggedError("ContentFailed")<{ readonly cause: unknown }> {}

const invalid = (field: string, message: string) => refuse("validation_failed", { field, message })

/** What they must be is said where they are read. */
const uploadFile = fields<UploadFile>({ fileName: text, content: anything })

const tooLarge = refuse("request_too_large", {
  field: "content",
  message: `The file is larger than ${maximumFileBytes} bytes.`,
})

const bytesOf = (
  content: UploadFile["content"] | undefined,
): Stream.Stream<Uint8Array, ContentFailed> | undefined => {
  if (content instanceof Uint8Array) return Stream.succeed(content)
  const source = content instanceof Blob ? content.stream() : content
  // Its iterator waits for what was asked for last, and would keep a silent stream from being cancelled.
  if (source instanceof ReadableStream) {
    return Stream.fromReadableStream({
      evaluate: () => source as ReadableStream<Uint8Array>,
      onError: (cause) => new ContentFailed({ cause }),
    })
  }
  return typeof source === "object" && source !== null && Symbol.asyncIterator in source
    ? Stream.ensuring(
        Stream.fromAsyncIterable(
          source as AsyncIterable<Uint8Array>,
          (cause) => new ContentFailed({ cause }),
        ),
        Effect.ignore(Effect.try(() => destroy(source))),
      )
    : undefined
}

/** Ends a stream of Node that says nothing: its iterator ends only after what it was asked for last. */
const destroy = (source: object): void => {
  if ("destroy" in source && typeof source.destroy === "function") source.destroy()
}

const spoolFailure = (error: MediaFilesError): Failure => {
  switch (error.reason) {
    case "too_large":
      return tooLarge
    case "full":
      return noRoomForFile
    default:
      return filesUnavailable("media.spool")(error)
  }
}

/** Reads the file to its end, as an upload over HTTP is read. */
const spooled = (
  file: UploadFile | undefined,
): Effect.Effect<Upload, Failure, ComposedService | Scope.Scope> =>
  Effect.gen(function* () {
    const wrong = refusalOf(uploadFile, file ?? {})
    if (wrong !== undefined) return yield* wrong
    const bytes = bytesOf(file?.content)
    if (bytes === undefined) {
      return yield* invalid("content", "The content is a Uint8Array, a Blob, or an async iterable.")
    }
    const content = yield* (yield* MediaFiles).spool(bytes, maximumFileBytes).pipe(
      Effect.catchTags({
        MediaFilesError: (error) => Effect.fail(spoolFailure(error)),
        ContentFailed: ({ cause }) => Effect.die(cause),
      }),
    )
    if (content.size === 0) return yield* invalid("content", "The file is empty.")
    const fileName = uploadedFileName(String(file?.fileName ?? ""))
    return fileName === undefined
      ? yield* invalid("fileName", "The file has no name, or one of more than 255 characters.")
      : { fileName, content }
  })

const shownNow = showingNow(mediaShown)

export const mediaApi: CallerApi<MediaApi> = ({ caller, run }) => ({
  upload: (file, options) =>
    run(
      Effect.scoped(
        Effect.gen(function* () {
          const who = yield* caller
          yield* permit(who, "uploadMedia")
          const unkept = refuseUnkept(yield* MediaFiles, "content")
          if (unkept !== undefined) return yield* unkept
          const upload = yield* spooled(file)
          const repeat = yield* repeatable(options, "/api/v2/media", {
            file_name: upload.fileName,
            sha256: upload.content.sha256,
          })
          const { answer, replayed } = yield* (yield* MediaDirectory).upload(who, upload, repeat)
          return made((yield* shownNow)(answer), replayed)
        }),
      ),
    ),
  get: (id) =>
    run(
      Effect.gen(function* () {
        const file = yield* (yield* MediaDirectory).get(yield* caller, idOf<MediaId>(id))
        return (yield* shownNow)(file)
      }),
    ),
  list: (query) =>
    listingOf(
      { caller, run },
      query,
      (who, asked) => MediaDirectory.use((media) => media.list(who, bodyOf<ListMedia>(asked))),
      shownNow,
    ),
  content: (id) =>
    run(
      Effect.gen(function* () {
        const file = yield* (yield* MediaDirectory).get(yield* caller, idOf<MediaId>(id))
        const stored = yield* (yield* MediaFiles).open(file.storageKey).pipe(
          Effect.mapError((error) =>
            // Deleted between the two looks.
            error.reason === "not_found"
              ? refuse("media_not_found", { inPath: true })
              : filesUnavailable("media.open")(error),
          ),
        )
        return yield* Stream.mkUint8Array(stored.content).pipe(
          Effect.mapError(filesUnavailable("media.read")),
        )
      }),
    ),
  remove: (id) =>
    run(
      Effect.gen(function* () {
        yield* (yield* MediaDirectory).delete(yield* caller, idOf<MediaId>(id))
      }),
    ),
})
