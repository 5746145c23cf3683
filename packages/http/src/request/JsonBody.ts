/**
 * A JSON body: its content type, its size and its grammar, in that order (contract: Order of
 * checks, JSON and text). What the value may hold is for the core to say.
 */
import { refuse } from "@messaging-service/core"
import type { Refusal } from "@messaging-service/core"
import { ByteSize, Effect, Result, Stream } from "effect"
import { MaxBodySize } from "effect/http/HttpIncomingMessage"
import type { HttpServerError } from "effect/http/HttpServerError"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import { declaresMoreThan, isPlain } from "./HeaderValues.ts"
import { parseStrictJson } from "./StrictJson.ts"
import type { JsonValue } from "./StrictJson.ts"

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

const tooLarge = refuse("request_too_large", {
  message: `The body is larger than ${maximumBodyBytes} bytes.`,
})

const cutShort = refuse("invalid_json", { message: "The body ended before it was complete." })

const readFailure = ({ reason }: HttpServerError): Refusal =>
  reason._tag === "RequestParseError" && reason.reason === "BodyTooLarge" ? tooLarge : cutShort

/**
 * The parsed body. Fails with `unsupported_content_type`, `request_too_large` (by the declared
 * length before anything is read, by the bytes that really come, and by its values), `invalid_json`.
 */
export const readJson = (request: HttpServerRequest): Effect.Effect<JsonValue, Refusal> => {
  const { headers } = request
  if (!isJsonContentType(headers["content-type"]) || !isPlain(headers["content-encoding"])) {
    return Effect.fail(refuse("unsupported_content_type"))
  }
  return Effect.flatMap(readBytes(request), (bytes) => Effect.fromResult(parse(bytes)))
}

/** As `readJson`, for operations that need no body: without one it is an empty object. */
export const readOptionalJson = (request: HttpServerRequest): Effect.Effect<JsonValue, Refusal> =>
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
    return Effect.fail(tooLarge)
  }
  if (isBodiless(request)) return Effect.succeed(new Uint8Array())
  return Effect.suspend(() => {
    const chunks: Array<Uint8Array> = []
    let length = 0
    return Stream.runForEach(Stream.mapError(request.stream, readFailure), (chunk) => {
      chunks.push(chunk)
      length += chunk.length
      return length > maximumBodyBytes ? Effect.fail(tooLarge) : take(chunk.length)
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
    ? Effect.fail(tooLarge)
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
