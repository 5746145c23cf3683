/**
 * Reads an operation's input as its entry says: a JSON body or an uploaded file, and the query
 * (contract: Order of checks, JSON and text). The core decides which values are valid.
 */
import { maximumFileBytes, noRoomForFile, refuse, refuseUnkept } from "@messaging-service/core"
import type { MediaFiles, Refusal, StoreUnavailable, Upload } from "@messaging-service/core"
import { ByteSize, Effect, Result, Stream } from "effect"
import type { Scope } from "effect"
import type { HttpServerError } from "effect/http/HttpServerError"
import { MaxBodySize } from "effect/http/HttpIncomingMessage"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import type { JsonOrFile, OperationInput } from "./Entry.ts"
import {
  declaresMoreThan,
  isPlain,
  parseQuery,
  queryRecord,
  refuseQuery,
} from "./IncomingRequest.ts"
import type { IncomingRequest } from "./IncomingRequest.ts"
import { camelizeKeys } from "./JsonNames.ts"
import { isMultipart, storedFileName, readForm } from "./MultipartForm.ts"
import type { Form, FormLimits, FormProblem } from "./MultipartForm.ts"
import { parseStrictJson } from "./StrictJson.ts"
import type { JsonValue } from "./StrictJson.ts"

interface ReadRequest {
  /** What a repeat must have in common, besides method and path (contract: Idempotency). */
  readonly fingerprinted: JsonValue
  readonly request: unknown
}

type ReadFailure = Refusal | StoreUnavailable

/**
 * Reads and checks the body, then the query but for the parameters that the caller reads itself. An
 * upload lasts until the scope closes.
 */
export const readRequest = Effect.fnUntraced(function* readRequest(
  input: OperationInput<unknown> | undefined,
  incoming: IncomingRequest,
  files: typeof MediaFiles.Service,
  passedOver: ReadonlyArray<string> = [],
): Effect.fn.Return<ReadRequest, ReadFailure, Scope.Scope> {
  const body = yield* readBody(input, incoming, files)
  const all = yield* Effect.fromResult(parseQuery(incoming.query))
  const parameters = all.filter(([name]) => !passedOver.includes(name))
  if (input?.source === "query") {
    const request = camelizeKeys(yield* Effect.fromResult(queryRecord(parameters)))
    incoming.source = "query"
    return { ...body, request }
  }
  yield* Effect.fromResult(refuseQuery(parameters))
  return body
})

/** Checks content type, size and grammar, in that order. */
const readBody = Effect.fnUntraced(function* readBody(
  input: OperationInput<unknown> | undefined,
  incoming: IncomingRequest,
  files: typeof MediaFiles.Service,
): Effect.fn.Return<ReadRequest, ReadFailure, Scope.Scope> {
  const { request } = incoming
  switch (input?.source) {
    case "json":
    case "optional_json": {
      const json = yield* input.source === "json"
        ? readJson(request, input.maximumBytes)
        : readOptionalJson(request)
      const command = camelizeKeys(json)
      incoming.source = "json"
      return { fingerprinted: command, request: command }
    }
    case "json_or_file": {
      if (isMultipart(request.headers["content-type"])) {
        const { content } = yield* readFormFile(request, files, input.fileBytes)
        incoming.source = "json"
        const toColumn = new URLSearchParams(incoming.query).get("to_column")
        const file: JsonOrFile = { kind: "file", content }
        return { fingerprinted: { sha256: content.sha256, toColumn }, request: file }
      }
      const command = camelizeKeys(yield* readJson(request))
      incoming.source = "json"
      const value: JsonOrFile = { kind: "json", command }
      return { fingerprinted: command, request: value }
    }
    case "file": {
      const upload = yield* readUpload(request, files)
      const { content, fileName } = upload
      return { fingerprinted: { fileName, sha256: content.sha256 }, request: upload }
    }
    default:
      return { fingerprinted: null, request: undefined }
  }
})

// JSON bodies

/** 1 MiB (contract: JSON and text). */
export const maximumBodyBytes = 1_048_576

const typeParameter = /;\s*([^\s=;]+)\s*=\s*("(?:[^"\\]|\\.)*"|[^\s;]*)/g

const isUtf8 = (charset: string): boolean =>
  ["utf-8", "utf8"].includes(charset.replaceAll('"', "").toLowerCase())

/** `application/json`, with any parameters but a charset other than UTF-8. */
export const isJsonContentType = (contentType: string | undefined): boolean => {
  if (contentType === undefined) return false
  const end = contentType.indexOf(";")
  const type = end === -1 ? contentType : contentType.slice(0, end)
  if (type.trim().toLowerCase() !== "application/json") return false
  if (end === -1) return true
  for (const [, name = "", value = ""] of contentType.slice(end).matchAll(typeParameter)) {
    if (name.toLowerCase() === "charset" && !isUtf8(value)) return false
  }
  return true
}

const tooLargeFor = (maximumBytes: number) =>
  refuse("request_too_large", { message: `The body is larger than ${maximumBytes} bytes.` })

const bodyTooLarge = tooLargeFor(maximumBodyBytes)

const cutShort = refuse("invalid_json", { message: "The body ended before it was complete." })

const failureAbove =
  (maximumBytes: number) =>
  ({ reason }: HttpServerError): Refusal =>
    reason._tag === "RequestParseError" && reason.reason === "BodyTooLarge"
      ? tooLargeFor(maximumBytes)
      : cutShort

/**
 * The parsed body. Fails with `unsupported_content_type`, `request_too_large` (by the declared length before
 * anything is read, by the bytes received, and by the number of values), `invalid_json`.
 */
const readJson = Effect.fnUntraced(function* readJson(
  request: HttpServerRequest,
  maximumBytes?: number,
): Effect.fn.Return<JsonValue, Refusal> {
  const { headers } = request
  if (!isJsonContentType(headers["content-type"]) || !isPlain(headers["content-encoding"])) {
    return yield* refuse("unsupported_content_type")
  }
  return yield* Effect.fromResult(parseJson(yield* readBytes(request, maximumBytes)))
})

/** Like `readJson` for an optional body: a missing one is an empty object. */
const readOptionalJson = Effect.fnUntraced(function* readOptionalJson(
  request: HttpServerRequest,
): Effect.fn.Return<JsonValue, Refusal> {
  // A client without a body may still announce one, empty or without chunks.
  const bytes = yield* readBytes(request)
  return bytes.length === 0 ? {} : yield* readJson(request)
})

/** A body of at most 1 MiB. Fails with `request_too_large`, `invalid_json`. */
const readBytes = (
  request: HttpServerRequest,
  maximumBytes = maximumBodyBytes,
): Effect.Effect<Uint8Array, Refusal> =>
  declaresMoreThan(request.headers["content-length"], maximumBytes)
    ? Effect.fail(tooLargeFor(maximumBytes))
    : request.arrayBuffer.pipe(
        Effect.provideService(MaxBodySize, ByteSize.bytes(maximumBytes)),
        Effect.mapBoth({ onFailure: failureAbove(maximumBytes), onSuccess: toBytes }),
      )

const toBytes = (buffer: ArrayBuffer): Uint8Array => new Uint8Array(buffer)

const parseJson = (bytes: Uint8Array): Result.Result<JsonValue, Refusal> => {
  const parsed = parseStrictJson(bytes)
  if (Result.isSuccess(parsed)) return Result.succeed(parsed.success)
  const { code, reason } = parsed.failure
  const message =
    code === "invalid_json" ? `The body is not valid JSON: ${reason}.` : `The body holds ${reason}.`
  return Result.fail(refuse(code, { message }))
}

/** Whether a web-standard request comes without a body; it has no stream to read then. */
const isBodiless = ({ source }: HttpServerRequest): boolean =>
  source instanceof Request && source.body === null

/** Like `readBytes`; calls `take` with the number of bytes as they arrive, and ends when it fails. */
export const readBytesWith = Effect.fnUntraced(function* readBytesWith(
  request: HttpServerRequest,
  take: (bytes: number) => Effect.Effect<void, Refusal>,
): Effect.fn.Return<Uint8Array, Refusal> {
  if (declaresMoreThan(request.headers["content-length"], maximumBodyBytes)) {
    return yield* bodyTooLarge
  }
  if (isBodiless(request)) return new Uint8Array()
  const chunks: Array<Uint8Array> = []
  let length = 0
  const takeChunk = (chunk: Uint8Array): Effect.Effect<void, Refusal> => {
    chunks.push(chunk)
    length += chunk.length
    return length > maximumBodyBytes ? Effect.fail(bodyTooLarge) : take(chunk.length)
  }
  yield* Stream.runForEach(
    Stream.mapError(request.stream, failureAbove(maximumBodyBytes)),
    takeChunk,
  )
  return joined(chunks, length)
})

const joined = (chunks: ReadonlyArray<Uint8Array>, length: number): Uint8Array => {
  const whole = new Uint8Array(length)
  let at = 0
  for (const chunk of chunks) {
    whole.set(chunk, at)
    at += chunk.length
  }
  return whole
}

// Uploads

/** Reads a few surplus fields, so that the refusal can name them. */
const uploadLimits = (fileBytes: number): FormLimits => ({
  fileParts: ["file"],
  fileBytes,
  fieldBytes: 16 * 1024,
  parts: 10,
})

const wrongType = refuse("unsupported_content_type", {
  message: "Send the file as multipart/form-data, in the field file.",
})

const invalidFile = (message: string) => refuse("validation_failed", { field: "file", message })

const missingFile = invalidFile("The form has no file in the field file.")
const emptyFile = invalidFile("The file is empty.")
const unnamedFile = invalidFile("The file has no name, or one of more than 255 characters.")
const tooManyParts = invalidFile("The form must have one part alone, the file in the field file.")
const malformed = invalidFile("The body is no complete multipart/form-data form.")

const refusalOfForm = (reason: FormProblem["reason"], fileBytes: number): Refusal => {
  switch (reason) {
    case "no_room":
      return noRoomForFile
    case "too_large":
      return refuse("request_too_large", {
        message: `The file is larger than ${fileBytes} bytes.`,
      })
    case "too_many_fields":
      return tooManyParts
    case "malformed":
      return malformed
  }
}

/**
 * The form's file; a form with anything else is refused. Fails with `unsupported_content_type`,
 * `request_too_large` (by the declared length before anything is read, and by the bytes received),
 * `validation_failed` on `file` (without a disk before anything is read), and `service_unavailable` when the
 * disk has no room for it.
 */
const readFormFile = Effect.fnUntraced(function* readFormFile(
  request: HttpServerRequest,
  files: typeof MediaFiles.Service,
  fileBytes: number,
): Effect.fn.Return<NonNullable<Form["file"]>, ReadFailure, Scope.Scope> {
  const { headers } = request
  if (!isMultipart(headers["content-type"]) || !isPlain(headers["content-encoding"])) {
    return yield* wrongType
  }
  const unkept = refuseUnkept(files, "file")
  if (unkept !== undefined) return yield* unkept
  const form = yield* readForm(request, files, uploadLimits(fileBytes)).pipe(
    Effect.catchTag("FormProblem", ({ reason }) => Effect.fail(refusalOfForm(reason, fileBytes))),
  )
  const { fields, file, moreFiles, otherFiles } = form
  if (file === undefined) return yield* missingFile
  if (fields.length + moreFiles + otherFiles > 0) return yield* tooManyParts
  return file
})

/** The uploaded file, with a name to keep it under, until the scope closes. */
const readUpload = Effect.fnUntraced(function* readUpload(
  request: HttpServerRequest,
  files: typeof MediaFiles.Service,
): Effect.fn.Return<Upload, ReadFailure, Scope.Scope> {
  const file = yield* readFormFile(request, files, maximumFileBytes)
  const fileName = storedFileName(file)
  if (file.content.size === 0) return yield* file.name === "" ? missingFile : emptyFile
  if (fileName === undefined) return yield* unnamedFile
  return { fileName, content: file.content }
})
