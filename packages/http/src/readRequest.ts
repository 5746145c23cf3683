/** What an operation takes of a request, read as its entry says. */
import { maximumFileBytes, noRoomForFile, refuse, refuseUnkept } from "@messaging-service/core"
import type { MediaFiles, Refusal, StoreUnavailable, Upload } from "@messaging-service/core"
import { ByteSize, Effect, Result, Stream } from "effect"
import type { Scope } from "effect"
import { MaxBodySize } from "effect/http/HttpIncomingMessage"
import type { HttpServerError } from "effect/http/HttpServerError"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import type { Takes } from "./Entry.ts"
import {
  declaresMoreThan,
  isPlain,
  parseQuery,
  queryRecord,
  refuseQuery,
} from "./IncomingRequest.ts"
import type { IncomingRequest } from "./IncomingRequest.ts"
import { isMultipart, keptFileName, readForm } from "./MultipartForm.ts"
import type { Form, FormLimits, FormProblem } from "./MultipartForm.ts"
import { parseStrictJson } from "./StrictJson.ts"
import type { JsonValue } from "./StrictJson.ts"

// A JSON body: its content type, its size and its grammar, in that order (contract: Order of
// checks, JSON and text). What the value may hold is for the core to say.

/** 1 MiB (contract: JSON and text). */
export const maximumBodyBytes = 1_048_576

const limit = ByteSize.bytes(maximumBodyBytes)

const parameter = /;\s*([^\s=;]+)\s*=\s*("(?:[^"\\]|\\.)*"|[^\s;]*)/g

const isUtf8 = (charset: string): boolean =>
  ["utf-8", "utf8"].includes(charset.replaceAll('"', "").toLowerCase())

/** `application/json`, with any parameters but a charset other than UTF-8. */
export const isJsonContentType = (contentType: string | undefined): boolean => {
  if (contentType === undefined) return false
  const end = contentType.indexOf(";")
  const type = end === -1 ? contentType : contentType.slice(0, end)
  if (type.trim().toLowerCase() !== "application/json") return false
  if (end === -1) return true
  for (const [, name = "", value = ""] of contentType.slice(end).matchAll(parameter)) {
    if (name.toLowerCase() === "charset" && !isUtf8(value)) return false
  }
  return true
}

const bodyTooLarge = refuse("request_too_large", {
  message: `The body is larger than ${maximumBodyBytes} bytes.`,
})

const cutShort = refuse("invalid_json", { message: "The body ended before it was complete." })

const readFailure = ({ reason }: HttpServerError): Refusal =>
  reason._tag === "RequestParseError" && reason.reason === "BodyTooLarge" ? bodyTooLarge : cutShort

/**
 * The parsed body. Fails with `unsupported_content_type`, `request_too_large` (by the declared
 * length before anything is read, by the bytes that really come, and by its values), `invalid_json`.
 */
const readJson = (request: HttpServerRequest): Effect.Effect<JsonValue, Refusal> => {
  const { headers } = request
  if (!isJsonContentType(headers["content-type"]) || !isPlain(headers["content-encoding"])) {
    return Effect.fail(refuse("unsupported_content_type"))
  }
  return Effect.flatMap(readBytes(request), (bytes) => Effect.fromResult(parse(bytes)))
}

/** As `readJson`, for operations that need no body: without one it is an empty object. */
const readOptionalJson = (request: HttpServerRequest): Effect.Effect<JsonValue, Refusal> =>
  // A client that has nothing to send may still announce a body, of no length or in no chunks.
  Effect.flatMap(readBytes(request), (bytes) =>
    bytes.length === 0 ? Effect.succeed({}) : readJson(request),
  )

/** Whether a web-standard request comes without a body; it has no stream to read then. */
const isBodiless = ({ source }: HttpServerRequest): boolean =>
  source instanceof Request && source.body === null

/**
 * As `readBytes`, where `take` is told of the bytes as they come; what it fails with ends the
 * reading.
 */
export const readBytesWith = (
  request: HttpServerRequest,
  take: (bytes: number) => Effect.Effect<void, Refusal>,
): Effect.Effect<Uint8Array, Refusal> => {
  if (declaresMoreThan(request.headers["content-length"], maximumBodyBytes)) {
    return Effect.fail(bodyTooLarge)
  }
  if (isBodiless(request)) return Effect.succeed(new Uint8Array())
  return Effect.suspend(() => {
    const chunks: Array<Uint8Array> = []
    let length = 0
    return Stream.runForEach(Stream.mapError(request.stream, readFailure), (chunk) => {
      chunks.push(chunk)
      length += chunk.length
      return length > maximumBodyBytes ? Effect.fail(bodyTooLarge) : take(chunk.length)
    }).pipe(Effect.map(() => joined(chunks, length)))
  })
}

const joined = (chunks: ReadonlyArray<Uint8Array>, length: number): Uint8Array => {
  const whole = new Uint8Array(length)
  let at = 0
  for (const chunk of chunks) {
    whole.set(chunk, at)
    at += chunk.length
  }
  return whole
}

/** A body of at most 1 MiB. Fails with `request_too_large`, `invalid_json`. */
const readBytes = (request: HttpServerRequest): Effect.Effect<Uint8Array, Refusal> =>
  declaresMoreThan(request.headers["content-length"], maximumBodyBytes)
    ? Effect.fail(bodyTooLarge)
    : request.arrayBuffer.pipe(
        Effect.provideService(MaxBodySize, limit),
        Effect.mapError(readFailure),
        Effect.map((buffer) => new Uint8Array(buffer)),
      )

const parse = (bytes: Uint8Array): Result.Result<JsonValue, Refusal> =>
  Result.mapError(parseStrictJson(bytes), ({ code, reason }) =>
    refuse(code, {
      message:
        code === "invalid_json"
          ? `The body is not valid JSON: ${reason}.`
          : `The body holds ${reason}.`,
    }),
  )

interface ReadRequest {
  /** What must be the same for a repeat, beside method and path (contract: Idempotency). */
  readonly fingerprinted: JsonValue
  readonly request: unknown
}

const nothing: Effect.Effect<ReadRequest> = Effect.succeed({
  fingerprinted: null,
  request: undefined,
})

/** Content type, size and grammar, in that order. */
const readBody = <E, R>(
  takes: Takes<unknown> | undefined,
  { request }: IncomingRequest,
  upload: () => Effect.Effect<Upload, E, R>,
): Effect.Effect<ReadRequest, Refusal | E, R> => {
  switch (takes?.takes) {
    case "json":
    case "optional_json":
      return Effect.map(
        takes.takes === "json" ? readJson(request) : readOptionalJson(request),
        (json) => ({ fingerprinted: json, request: takes.as(json) }),
      )
    case "file":
      return Effect.map(upload(), (file) => ({
        fingerprinted: { file_name: file.fileName, sha256: file.content.sha256 },
        request: takes.as(file),
      }))
    default:
      return nothing
  }
}

/** Reads and checks the body, then the query; `upload` reads a file. */
export const readRequest = <E, R>(
  takes: Takes<unknown> | undefined,
  incoming: IncomingRequest,
  upload: () => Effect.Effect<Upload, E, R>,
): Effect.Effect<ReadRequest, Refusal | E, R> =>
  Effect.flatMap(readBody(takes, incoming, upload), (body) =>
    Effect.fromResult(
      Result.flatMap(parseQuery(incoming.query), (entries) =>
        takes?.takes === "query"
          ? Result.map(queryRecord(entries), (given) => ({ ...body, request: takes.as(given) }))
          : Result.map(refuseQuery(entries), () => body),
      ),
    ),
  )

/** A few fields that do not belong here are read, so that the refusal can name them. */
const limits: FormLimits = {
  fileParts: ["file"],
  fileBytes: maximumFileBytes,
  fieldBytes: 16 * 1024,
  parts: 10,
}

const fileTooLarge = refuse("request_too_large", {
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

const refusals: Readonly<Record<FormProblem["reason"], Refusal>> = {
  no_room: noRoomForFile,
  too_large: fileTooLarge,
  too_many_fields: tooMany,
  malformed: invalid("The body is no complete multipart/form-data form."),
}

/** What is in the form beside the file makes it wrong. */
const uploadOf = ({
  fields,
  file,
  moreFiles,
  otherFiles,
}: Form): Result.Result<Upload, Refusal> => {
  if (file === undefined) return Result.fail(missing)
  if (fields.length + moreFiles + otherFiles > 0) return Result.fail(tooMany)
  const fileName = keptFileName(file)
  if (file.content.size === 0) return Result.fail(file.name === "" ? missing : empty)
  if (fileName === undefined) return Result.fail(unnamed)
  return Result.succeed({ fileName, content: file.content })
}

/**
 * The uploaded file, which stays until the scope closes. Fails with `unsupported_content_type`,
 * `request_too_large` (by the declared length before anything is read, and by the bytes that really
 * come), `validation_failed` on `file`, also before anything is read where there is no disk, and
 * `service_unavailable` when the disk has no room for it.
 */
export const readUpload = (
  request: HttpServerRequest,
  files: typeof MediaFiles.Service,
): Effect.Effect<Upload, Refusal | StoreUnavailable, Scope.Scope> => {
  const { headers } = request
  if (!isMultipart(headers["content-type"]) || !isPlain(headers["content-encoding"])) {
    return Effect.fail(wrongType)
  }
  const unkept = refuseUnkept(files, "file")
  if (unkept !== undefined) return Effect.fail(unkept)
  return readForm(request, files, limits).pipe(
    Effect.catchTag("FormProblem", ({ reason }) => Effect.fail(refusals[reason])),
    Effect.flatMap((form) => Effect.fromResult(uploadOf(form))),
  )
}
