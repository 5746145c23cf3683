/**
 * A multipart form with at most one file in it. Its file goes from the socket to core's `MediaFiles`
 * as it comes and is never held in memory whole; its fields are, up to a limit. What is there too
 * much is read as well and thrown away, so that a client which sends first and listens afterwards
 * hears what was wrong.
 */
import { StoreUnavailable } from "@messaging-service/core"
import type { MediaFiles, SpooledContent } from "@messaging-service/core"
import { Data, Effect, Stream } from "effect"
import type { Scope } from "effect"
import type { HttpServerError } from "effect/http/HttpServerError"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import { limitsServices, makeChannel } from "effect/http/Multipart"
import type { File, MultipartError, Part } from "effect/http/Multipart"
import { declaresMoreThan } from "./HeaderValues.ts"

export class FormProblem extends Data.TaggedError("FormProblem")<{
  readonly reason:
    /** The file, or the body as a whole. */
    | "too_large"
    /** The fields, by their number or their size. */
    | "too_many_fields"
    /** No complete form. */
    | "malformed"
}> {
  override get message() {
    return `multipart form: ${this.reason}`
  }
}

export interface FormLimits {
  /** The names of parts that hold the file. */
  readonly fileParts: ReadonlyArray<string>
  /** Bytes of the file. */
  readonly fileBytes: number
  /** Bytes of all fields, their names included. */
  readonly fieldBytes: number
  /** Parts of the form, of every kind. */
  readonly parts: number
}

export interface Form {
  /** Plain fields in their order; bytes that are no UTF-8 are read as U+FFFD. */
  readonly fields: ReadonlyArray<readonly [name: string, value: string]>
  /** The first file in one of the file parts; it goes with the scope, unless it is kept. */
  readonly file: FormFile | undefined
  /** Further files in file parts. */
  readonly moreFiles: number
  /** Files in other parts. */
  readonly otherFiles: number
}

export interface FormFile {
  /** As the client gave it; empty when it gave none. */
  readonly name: string
  readonly content: SpooledContent
}

/** Room for boundaries and the headers of parts. */
const framingBytes = 64 * 1024

const tooLarge = new FormProblem({ reason: "too_large" })
const tooManyFields = new FormProblem({ reason: "too_many_fields" })
const malformed = new FormProblem({ reason: "malformed" })

const readFailure = (error: MultipartError | HttpServerError): FormProblem => {
  if (error._tag === "HttpServerError") return malformed
  switch (error.reason._tag) {
    case "BodyTooLarge":
    case "FileTooLarge":
      return tooLarge
    case "FieldTooLarge":
    case "TooManyParts":
      return tooManyFields
    default:
      return malformed
  }
}

const utf8 = new TextEncoder()

/** Takes the parts one by one, in their order. */
const taker = (files: typeof MediaFiles.Service, limits: FormLimits) => {
  const fields: Array<readonly [string, string]> = []
  let fieldBytes = 0
  let file: FormFile | undefined
  let moreFiles = 0
  let otherFiles = 0

  const spool = (part: File) =>
    files.spool(part.content, limits.fileBytes).pipe(
      Effect.map((content) => {
        file = { name: part.name, content }
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

  return {
    take: (part: Part): Effect.Effect<void, FormProblem | StoreUnavailable, Scope.Scope> => {
      if (part._tag === "Field") {
        fieldBytes += utf8.encode(part.key).length + utf8.encode(part.value).length
        if (fieldBytes > limits.fieldBytes) return Effect.fail(tooManyFields)
        fields.push([part.key, part.value])
        return Effect.void
      }
      const isFilePart = limits.fileParts.includes(part.key)
      if (isFilePart && file === undefined) return spool(part)
      if (isFilePart) moreFiles++
      else otherFiles++
      return Effect.mapError(Stream.runDrain(part.content), readFailure)
    },
    /** The form, once all parts were taken. */
    form: Effect.sync((): Form => ({ fields, file, moreFiles, otherFiles })),
  }
}

export const isMultipart = (contentType: string | undefined): boolean =>
  /^\s*multipart\/form-data\s*(?:;|$)/i.test(contentType ?? "")

/**
 * Reads the form of a request that says it is one. A size that is declared is judged before anything
 * is read, else the bytes that really come are.
 */
export const readForm = (
  request: HttpServerRequest,
  files: typeof MediaFiles.Service,
  limits: FormLimits,
): Effect.Effect<Form, FormProblem | StoreUnavailable, Scope.Scope> => {
  const { headers } = request
  const bodyBytes = limits.fileBytes + limits.fieldBytes + framingBytes
  if (declaresMoreThan(headers["content-length"], bodyBytes)) return Effect.fail(tooLarge)
  return Effect.suspend(() => {
    const { take, form } = taker(files, limits)
    return request.stream.pipe(
      Stream.pipeThroughChannel(makeChannel<HttpServerError>(headers)),
      Stream.mapError(readFailure),
      Stream.runForEach(take),
      Effect.provideContext(
        limitsServices({
          maxParts: limits.parts,
          maxFieldSize: limits.fieldBytes,
          maxTotalSize: bodyBytes,
        }),
      ),
      // A part seems whole when the body breaks off inside it: only here is it known to be.
      Effect.andThen(form),
    )
  })
}
