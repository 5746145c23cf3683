/**
 * A file in a multipart form (contract: POST /media): its content type, its size, and its one part,
 * in that order. The file goes from the socket to `MediaFiles` as it comes, and is never held in
 * memory whole. What is there too much is read as well and thrown away, so that a client which sends
 * first and listens afterwards hears what was wrong.
 */
import {
  StoreUnavailable,
  maximumFileBytes,
  refuse,
  uploadedFileName,
} from "@messaging-service/core"
import type { MediaFiles, Refusal, SpooledContent, Upload } from "@messaging-service/core"
import { Effect, Stream } from "effect"
import type { Scope } from "effect"
import type { HttpServerError } from "effect/http/HttpServerError"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import { limitsServices, makeChannel } from "effect/http/Multipart"
import type { File, MultipartError, Part } from "effect/http/Multipart"

/** Room for boundaries and headers of parts, and for a few fields that do not belong here. */
const maximumBodyBytes = maximumFileBytes + 64 * 1024

const limits = limitsServices({
  maxParts: 10,
  maxFieldSize: "16 KiB",
  maxTotalSize: maximumBodyBytes,
})

const tooLarge = refuse("request_too_large", {
  message: `The file is larger than ${maximumFileBytes} bytes.`,
})

const wrongType = refuse("unsupported_content_type", {
  message: "Send the file as multipart/form-data, in the field file.",
})

const invalid = (message: string) => refuse("validation_failed", { field: "file", message })

const missing = invalid("The form has no file in the field file.")
const empty = invalid("The file is empty.")
const unnamed = invalid("The file has no name, or one of more than 255 characters.")
const tooMany = invalid("The form must have one part alone, the file in the field file.")
const malformed = invalid("The body is no complete multipart/form-data form.")

const isMultipart = (contentType: string | undefined): boolean =>
  /^\s*multipart\/form-data\s*(?:;|$)/i.test(contentType ?? "")

const isPlain = (contentEncoding: string | undefined): boolean =>
  contentEncoding === undefined || contentEncoding.trim().toLowerCase() === "identity"

const declaresTooMuch = (contentLength: string | undefined): boolean =>
  contentLength !== undefined &&
  /^\d+$/.test(contentLength) &&
  Number(contentLength) > maximumBodyBytes

const readFailure = (error: MultipartError | HttpServerError): Refusal => {
  if (error._tag === "HttpServerError") return malformed
  switch (error.reason._tag) {
    case "BodyTooLarge":
    case "FileTooLarge":
      return tooLarge
    case "FieldTooLarge":
    case "TooManyParts":
      return tooMany
    default:
      return malformed
  }
}

/** Takes the first part; whatever follows it makes the form wrong. */
const takePart = (files: typeof MediaFiles.Service) => {
  let taken: { readonly name: string; readonly content: SpooledContent } | undefined
  let wrong: Refusal | undefined

  const spool = (part: File) =>
    files.spool(part.content, maximumFileBytes).pipe(
      Effect.map((content) => {
        taken = { name: part.name, content }
      }),
      Effect.catchTags({
        MultipartError: (error) => Effect.fail(readFailure(error)),
        MediaFilesError: (error) =>
          Effect.fail(
            error.reason === "too_large"
              ? tooLarge
              : new StoreUnavailable({ operation: "media.spool", cause: error }),
          ),
      }),
    )

  const passOver = (part: Part) =>
    part._tag === "Field"
      ? Effect.void
      : Effect.mapError(Stream.runDrain(part.content), readFailure)

  return {
    take: (part: Part) => {
      if (taken === undefined && part._tag === "File" && part.key === "file") return spool(part)
      wrong = tooMany
      return passOver(part)
    },
    /** The upload, once all parts were taken. */
    upload: Effect.suspend((): Effect.Effect<Upload, Refusal> => {
      if (taken === undefined) return Effect.fail(missing)
      if (wrong !== undefined) return Effect.fail(wrong)
      const fileName = uploadedFileName(taken.name)
      if (taken.content.size === 0) return Effect.fail(taken.name === "" ? missing : empty)
      if (fileName === undefined) return Effect.fail(unnamed)
      return Effect.succeed({ fileName, content: taken.content })
    }),
  }
}

/**
 * The uploaded file, which stays until the scope closes. Fails with `unsupported_content_type`,
 * `request_too_large` (by the declared length before anything is read, and by the bytes that really
 * come), `validation_failed` on `file`.
 */
export const readUpload = (
  request: HttpServerRequest,
  files: typeof MediaFiles.Service,
): Effect.Effect<Upload, Refusal | StoreUnavailable, Scope.Scope> => {
  const { headers } = request
  if (!isMultipart(headers["content-type"]) || !isPlain(headers["content-encoding"])) {
    return Effect.fail(wrongType)
  }
  if (declaresTooMuch(headers["content-length"])) return Effect.fail(tooLarge)
  return Effect.suspend(() => {
    const { take, upload } = takePart(files)
    return request.stream.pipe(
      Stream.pipeThroughChannel(makeChannel<HttpServerError>(headers)),
      Stream.mapError(readFailure),
      Stream.runForEach(take),
      Effect.provideContext(limits),
      // A part seems whole when the body breaks off inside it: only here is it known to be.
      Effect.andThen(upload),
    )
  })
}
