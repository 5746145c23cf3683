/**
 * A file in a multipart form (contract: Media): its content type, its size, and its one part, in
 * that order.
 */
import { maximumFileBytes, refuse, uploadedFileName } from "@messaging-service/core"
import type { MediaFiles, Refusal, StoreUnavailable, Upload } from "@messaging-service/core"
import { Effect, Result } from "effect"
import type { Scope } from "effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import { isPlain } from "./HeaderValues.ts"
import { isMultipart, readForm } from "./MultipartForm.ts"
import type { Form, FormLimits } from "./MultipartForm.ts"
import type { FormProblem } from "./MultipartParts.ts"

/** A few fields that do not belong here are read, to be told that they do not. */
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
const malformed = invalid("The body is no complete multipart/form-data form.")

/** What is said when the disk has no room, whose figures only the caller's workspace tells. */
type FullDisk = Effect.Effect<Refusal, StoreUnavailable>

const refusalOf = (
  { reason }: FormProblem,
  fullDisk: FullDisk,
): Effect.Effect<Refusal, StoreUnavailable> => {
  switch (reason) {
    case "no_room":
      return fullDisk
    case "too_large":
      return Effect.succeed(tooLarge)
    case "too_many_fields":
      return Effect.succeed(tooMany)
    case "malformed":
      return Effect.succeed(malformed)
  }
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
  const fileName = uploadedFileName(file.name)
  if (file.content.size === 0) return Result.fail(file.name === "" ? missing : empty)
  if (fileName === undefined) return Result.fail(unnamed)
  return Result.succeed({ fileName, content: file.content })
}

/**
 * The uploaded file, which stays until the scope closes. Fails with `unsupported_content_type`,
 * `request_too_large` (by the declared length before anything is read, and by the bytes that really
 * come), `validation_failed` on `file`, and with `fullDisk` when the disk has no room for it.
 */
export const readUpload = (
  request: HttpServerRequest,
  files: typeof MediaFiles.Service,
  fullDisk: FullDisk,
): Effect.Effect<Upload, Refusal | StoreUnavailable, Scope.Scope> => {
  const { headers } = request
  if (!isMultipart(headers["content-type"]) || !isPlain(headers["content-encoding"])) {
    return Effect.fail(wrongType)
  }
  return readForm(request, files, limits).pipe(
    Effect.catchTag("FormProblem", (problem) =>
      Effect.flatMap(refusalOf(problem, fullDisk), Effect.fail),
    ),
    Effect.flatMap((form) => Effect.fromResult(uploadOf(form))),
  )
}
