/** What an operation takes of a request, read as its entry says. */
import { maximumFileBytes, noRoomForFile, refuse, refuseUnkept } from "@messaging-service/core"
import type { MediaFiles, Refusal, StoreUnavailable, Upload } from "@messaging-service/core"
import { Effect, Result } from "effect"
import type { Scope } from "effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import type { IncomingRequest } from "../route/IncomingRequest.ts"
import type { Takes } from "../route/Entry.ts"
import { isPlain } from "./HeaderValues.ts"
import { readJson, readOptionalJson } from "./JsonBody.ts"
import { isMultipart, keptFileName, readForm } from "./MultipartForm.ts"
import type { Form } from "./MultipartForm.ts"
import type { FormLimits, FormProblem } from "./MultipartParts.ts"
import type { JsonValue } from "./StrictJson.ts"
import { parseQuery, queryRecord, refuseQuery } from "./Target.ts"

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

const refusals: Readonly<Record<FormProblem["reason"], Refusal>> = {
  no_room: noRoomForFile,
  too_large: tooLarge,
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
