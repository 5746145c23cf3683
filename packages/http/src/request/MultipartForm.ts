/**
 * A multipart form with at most one file in it. Its file goes from the socket to core's `MediaFiles`
 * as it comes and is never held in memory whole; its fields are, up to a limit. What exceeds the
 * limit is read as well and thrown away, so that a client which sends first and listens afterwards
 * hears what was wrong.
 */
import { StoreUnavailable, uploadedFileName } from "@messaging-service/core"
import type { MediaFiles, MediaFilesError, Refusal, SpooledContent } from "@messaging-service/core"
import { Effect, Stream } from "effect"
import type { Scope } from "effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import { declaresMoreThan } from "./HeaderValues.ts"
import { FormProblem, partsOf, tooLarge, tooManyFields } from "./MultipartParts.ts"
import type { FormLimits } from "./MultipartParts.ts"

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
  readonly partName: string
  readonly content: SpooledContent
}

/** The name to keep a file under, by default that of its part. Undefined for one that is none. */
export const keptFileName = ({ name, partName }: FormFile): string | undefined =>
  uploadedFileName(name.trim() === "" ? partName : name)

/** Room for boundaries and the headers of parts. */
const framingBytes = 64 * 1024

const utf8 = new TextEncoder()

const spoolFailure = (error: MediaFilesError): FormProblem | StoreUnavailable => {
  switch (error.reason) {
    case "too_large":
      return tooLarge
    case "full":
      return new FormProblem({ reason: "no_room" })
    default:
      return new StoreUnavailable({ operation: "media.spool", cause: error })
  }
}

export const isMultipart = (contentType: string | undefined): boolean =>
  /^\s*multipart\/form-data\s*(?:;|$)/i.test(contentType ?? "")

/** What others have to say while a form is read. */
export interface ReadingForm<E, Fields = Form["fields"]> {
  /** Is told of the bytes of the body as they come. */
  readonly take: (bytes: number) => Effect.Effect<void, Refusal>
  /** Comes before each file is read, with the fields in front of it. */
  readonly beforeFile: (fields: Fields) => Effect.Effect<void, E>
}

const unwatched: ReadingForm<never> = { take: () => Effect.void, beforeFile: () => Effect.void }

/**
 * Reads the form of a request that says it is one. A size that is declared is judged before anything
 * is read, else the bytes that really come are.
 */
export const readForm = <E = never>(
  request: HttpServerRequest,
  files: typeof MediaFiles.Service,
  limits: FormLimits,
  reading: ReadingForm<E> = unwatched,
): Effect.Effect<Form, FormProblem | Refusal | StoreUnavailable | E, Scope.Scope> => {
  const bodyBytes = limits.fileBytes + limits.fieldBytes + framingBytes
  if (declaresMoreThan(request.headers["content-length"], bodyBytes)) return Effect.fail(tooLarge)
  return Effect.gen(function* () {
    const next = yield* partsOf(request, { ...limits, bodyBytes, take: reading.take })
    const fields: Array<Form["fields"][number]> = []
    let fieldBytes = 0
    let file: FormFile | undefined
    let moreFiles = 0
    let otherFiles = 0
    for (let part = yield* next; part !== null; part = yield* next) {
      if (part._tag === "Field") {
        fieldBytes += utf8.encode(part.name).length + utf8.encode(part.value).length
        if (fieldBytes > limits.fieldBytes) return yield* tooManyFields
        fields.push([part.name, part.value])
        continue
      }
      yield* reading.beforeFile(fields)
      const isFilePart = limits.fileParts.includes(part.name)
      if (isFilePart && file === undefined) {
        const content = yield* files
          .spool(part.content, limits.fileBytes)
          .pipe(Effect.catchTag("MediaFilesError", (error) => Effect.fail(spoolFailure(error))))
        file = { name: part.fileName, partName: part.name, content }
        continue
      }
      if (isFilePart) moreFiles++
      else otherFiles++
      yield* Stream.runDrain(part.content)
    }
    return { fields, file, moreFiles, otherFiles }
  })
}
