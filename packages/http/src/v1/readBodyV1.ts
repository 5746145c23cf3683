/**
 * The body of a version 1 request: JSON, a form, or a multipart form with a file (contract: Version
 * 1: requests). One without a content type is read as JSON when it begins like an object, else as a
 * form. A body that cannot be read is `Invalid JSON format`, of whichever kind it should have been.
 */
import { maximumFileBytes, noRoomForFile, refuse, sharedResources } from "@messaging-service/core"
import type { MediaFiles, Refusal, StoreUnavailable } from "@messaging-service/core"
import { Effect, Result } from "effect"
import type { Scope } from "effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import { isPlain } from "../request/HeaderValues.ts"
import { isJsonContentType, maximumBodyBytes, readBytesWith } from "../request/JsonBody.ts"
import { isMultipart, keptFileName, readForm } from "../request/MultipartForm.ts"
import type { Form, ReadingForm } from "../request/MultipartForm.ts"
import { FormProblem } from "../request/MultipartParts.ts"
import { parseStrictJson } from "../request/StrictJson.ts"
import type { JsonObject, JsonValue } from "../request/StrictJson.ts"
import { parseEntries } from "../request/Target.ts"
import type { QueryEntries } from "../request/Target.ts"
import { failV1 } from "./FailureV1.ts"
import type { FailureV1 } from "./FailureV1.ts"
import type { BodyV1 } from "./FieldsV1.ts"
import type { UploadV1 } from "./RouteV1.ts"

export interface ReadBodyV1 {
  readonly body: BodyV1
  readonly file: UploadV1 | null
}

const invalid = refuse("invalid_json")
const tooLarge = refuse("request_too_large")

const isObject = (value: JsonValue): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const ofJson = (object: JsonObject): BodyV1 => {
  const has = (name: string) => Object.hasOwn(object, name)
  const one = (name: string) => (has(name) ? (object[name] ?? null) : null)
  return {
    has,
    one,
    all: (name) => {
      const value = one(name)
      if (Array.isArray(value)) return value as ReadonlyArray<JsonValue>
      return value === null ? [] : [value]
    },
  }
}

const ofEntries = (entries: QueryEntries): BodyV1 => {
  const values = Map.groupBy(entries, ([name]) => name)
  return {
    has: (name) => values.has(name),
    one: (name) => values.get(name)?.at(-1)?.[1] ?? null,
    all: (name) => (values.get(name) ?? []).map(([, value]) => value),
  }
}

/** A database does not keep a NUL. */
const formBody = (entries: QueryEntries): Result.Result<BodyV1, Refusal> =>
  entries.some(([name, value]) => name.includes("\0") || value.includes("\0"))
    ? Result.fail(invalid)
    : Result.succeed(ofEntries(entries))

const utf8 = new TextDecoder("utf-8", { fatal: true })

/** The parameters of a form, which are written like those of a query. */
const parseForm = (text: string): Result.Result<BodyV1, Refusal> =>
  parseEntries(text).pipe(
    Result.mapError((problem) => (problem === "too_many" ? tooLarge : invalid)),
    Result.flatMap(formBody),
  )

const formOfBytes = (bytes: Uint8Array): Result.Result<BodyV1, Refusal> =>
  Result.try({ try: () => utf8.decode(bytes), catch: () => invalid }).pipe(
    Result.flatMap(parseForm),
  )

const jsonOfBytes = (bytes: Uint8Array): Result.Result<BodyV1, Refusal> => {
  const parsed = parseStrictJson(bytes)
  if (Result.isFailure(parsed)) return Result.fail(refuse(parsed.failure.code))
  return isObject(parsed.success) ? Result.succeed(ofJson(parsed.success)) : Result.fail(invalid)
}

const opensObject = 0x7b

/** What a client that says nothing of its body has sent. */
const guess = (bytes: Uint8Array): Result.Result<BodyV1, Refusal> =>
  bytes[0] === opensObject ? jsonOfBytes(bytes) : formOfBytes(bytes)

const isForm = (contentType: string): boolean =>
  /^\s*application\/x-www-form-urlencoded\s*(?:;|$)/i.test(contentType)

const readerOf = (
  contentType: string | undefined,
): ((bytes: Uint8Array) => Result.Result<BodyV1, Refusal>) | undefined => {
  if (contentType === undefined || contentType.trim() === "") return guess
  if (isJsonContentType(contentType)) return jsonOfBytes
  return isForm(contentType) ? formOfBytes : undefined
}

const problemOf = ({ reason }: FormProblem): Refusal => {
  if (reason === "no_room") return noRoomForFile
  return reason === "malformed" ? invalid : tooLarge
}

const uploadOf = ({ file, moreFiles }: Form): Result.Result<UploadV1 | null, FailureV1> => {
  if (moreFiles > 0) return Result.fail(failV1("several_files"))
  // What a browser sends for a file input in which no file was chosen.
  if (file === undefined || file.content.size === 0) return Result.succeed(null)
  return Result.succeed({ fileName: keptFileName(file) ?? null, content: file.content })
}

/** The body of a POST; an upload stays until the scope closes. */
export const readBodyV1 = <E>(
  request: HttpServerRequest,
  fileParts: ReadonlyArray<string>,
  files: typeof MediaFiles.Service,
  { beforeFile, take }: ReadingForm<E, BodyV1>,
): Effect.Effect<ReadBodyV1, FailureV1 | Refusal | StoreUnavailable | E, Scope.Scope> => {
  const { headers } = request
  if (!isPlain(headers["content-encoding"])) return Effect.fail(invalid)
  if (isMultipart(headers["content-type"])) {
    const limits = {
      fileParts,
      fileBytes: maximumFileBytes,
      fieldBytes: maximumBodyBytes,
      parts: sharedResources.formEntries.whole,
    }
    const reading: ReadingForm<Refusal | E> = {
      take,
      beforeFile: (fields) => Effect.flatMap(Effect.fromResult(formBody(fields)), beforeFile),
    }
    return Effect.gen(function* () {
      const form = yield* readForm(request, files, limits, reading).pipe(
        Effect.catchIf(
          (error) => error instanceof FormProblem,
          (problem) => Effect.fail(problemOf(problem)),
        ),
      )
      return {
        body: yield* Effect.fromResult(formBody(form.fields)),
        file: yield* Effect.fromResult(uploadOf(form)),
      }
    })
  }
  const reader = readerOf(headers["content-type"])
  if (reader === undefined) return Effect.fail(invalid)
  return Effect.map(
    Effect.flatMap(readBytesWith(request, take), (bytes) => Effect.fromResult(reader(bytes))),
    (body) => ({ body, file: null }),
  )
}

/** The query of a GET, read as a form is. */
export const readQueryV1 = (query: string): Result.Result<ReadBodyV1, Refusal> =>
  Result.map(parseForm(query), (body) => ({ body, file: null }))
