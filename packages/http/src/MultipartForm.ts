/**
 * A multipart form with at most one file. The file streams from the socket to core's `MediaFiles`
 * and is never whole in memory; fields are, up to a limit. Parts beyond the limits are read and
 * discarded, so a client that sends first and listens later learns what was wrong.
 */
import { StoreUnavailable, uploadedFileName } from "@messaging-service/core"
import type { MediaFiles, MediaFilesError, Refusal, SpooledContent } from "@messaging-service/core"
import { Cause, Data, Effect, Pull, Stream } from "effect"
import type { Array as Arr, Scope } from "effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import { decodeField, defaultIsFile, make } from "effect/http/MultipartParser"
import type { MultipartError, PartInfo } from "effect/http/MultipartParser"
import { declaresMoreThan } from "./IncomingRequest.ts"

export interface FormLimits {
  /** The names of the file parts. */
  readonly fileParts: ReadonlyArray<string>
  /** Bytes of the file. */
  readonly fileBytes: number
  /** Bytes of all fields, names included. */
  readonly fieldBytes: number
  /** Number of parts of every kind. */
  readonly parts: number
}

export interface Form {
  /** Plain fields, in order; bytes that are not UTF-8 become U+FFFD. */
  readonly fields: ReadonlyArray<readonly [name: string, value: string]>
  /** The first file in one of the file parts; it is removed with the scope unless it is kept. */
  readonly file: FormFile | undefined
  /** Further files in file parts. */
  readonly moreFiles: number
  /** Files in other parts. */
  readonly otherFiles: number
}

interface FormFile {
  /** As the client gave it; may be empty. */
  readonly name: string
  readonly partName: string
  readonly content: SpooledContent
}

/** The name to store a file under, by default that of its part. Undefined when it is unusable. */
export const storedFileName = ({ name, partName }: FormFile): string | undefined =>
  uploadedFileName(name.trim() === "" ? partName : name)

export class FormProblem extends Data.TaggedError("FormProblem")<{
  readonly reason:
    /** The file, or the body as a whole. */
    | "too_large"
    /** The fields, by number or size. */
    | "too_many_fields"
    /** The disk has no room for the file. */
    | "no_room"
    /** An incomplete form. */
    | "malformed"
}> {
  override get message() {
    return `multipart form: ${this.reason}`
  }
}

/** Allowance for boundaries and the headers of parts. */
const framingBytes = 64 * 1024

const utf8 = new TextEncoder()

const tooLarge = new FormProblem({ reason: "too_large" })

const tooManyFields = new FormProblem({ reason: "too_many_fields" })

const malformed = new FormProblem({ reason: "malformed" })

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

/** Hooks while a form is read. */
export interface ReadingForm<E, Fields = Form["fields"]> {
  /** Called with the number of bytes as they arrive. */
  readonly take: (bytes: number) => Effect.Effect<void, Refusal>
  /** Runs before each file is read, with the fields in front of it. */
  readonly beforeFile: (fields: Fields) => Effect.Effect<void, E>
}

const unwatched: ReadingForm<never> = { take: () => Effect.void, beforeFile: () => Effect.void }

/**
 * Reads the form of a multipart request. A declared size is checked before anything is read,
 * otherwise the received bytes are.
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
    const next = yield* readParts(request, { ...limits, bodyBytes, take: reading.take })
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

// Parts as they arrive, over Effect's parser of the bytes. A part's name decides whether it is a
// file, whatever its content type (contract: Media). A form with an unnamed part is malformed.
// Effect's own `Multipart` uses the same parser, but recognizes files by content type and file name
// alone, and takes a file for complete when the body is interrupted inside it. So parts are read here.

interface FieldPart {
  readonly _tag: "Field"
  readonly name: string
  readonly value: string
}

interface FilePart {
  readonly _tag: "File"
  readonly name: string
  /** As the client gave it, else the part's own name. */
  readonly fileName: string
  /** Must be read, once, before the next part. */
  readonly content: Stream.Stream<Uint8Array, FormProblem | Refusal>
}

type FormPart = FieldPart | FilePart

interface PartsLimits extends FormLimits {
  /** Bytes of the whole body. */
  readonly bodyBytes: number
  /** Called with the number of bytes as they arrive; its failure ends the reading. */
  readonly take: (bytes: number) => Effect.Effect<void, Refusal>
}

type Chunks = Arr.NonEmptyReadonlyArray<Uint8Array>

type Failure = FormProblem | Refusal

const toProblem = (error: MultipartError): FormProblem => {
  if (error._tag !== "ReachedLimit") return malformed
  return error.limit === "MaxFieldSize" || error.limit === "MaxParts" ? tooManyFields : tooLarge
}

const isNonEmpty = (chunks: ReadonlyArray<Uint8Array>): chunks is Chunks => chunks.length > 0

const formEscapes = /%(?:22|0D|0A)/g

/** A form escapes only these three characters in a file's name; any other `%` is its own. */
const findFileName = ({ contentDispositionParameters, filename }: PartInfo): string | undefined =>
  "filename*" in contentDispositionParameters
    ? filename
    : filename?.replaceAll(formEscapes, decodeURIComponent)

/** The parser accepts an empty boundary, which would match every line that begins with dashes. */
const hasEmptyBoundary = (contentType: string | undefined): boolean =>
  /;\s*boundary\s*=\s*""/i.test(contentType ?? "")

/** What the parser has found so far. */
const makeFindings = ({ headers }: HttpServerRequest, limits: PartsLimits) => {
  const waiting: Array<FormPart> = []
  /** The state of the whole body; after its last boundary nothing matters. */
  const state: { problem: FormProblem | undefined; done: boolean } = {
    problem: hasEmptyBoundary(headers["content-type"]) ? malformed : undefined,
    done: false,
  }

  const fail = (problem: FormProblem) => {
    if (!state.done) state.problem ??= problem
  }

  const add = (part: FormPart) => {
    if (part.name === "") fail(malformed)
    if (!state.done && state.problem === undefined) waiting.push(part)
  }

  /** A route's file part is a file even without a file name and a content type. */
  const isFile = (info: PartInfo): boolean =>
    defaultIsFile(info) || limits.fileParts.includes(info.name)

  /** `more` reads on, until the file has more bytes, or is complete. */
  const open = (more: Effect.Effect<void, Failure>) => (info: PartInfo) => {
    let chunks: Array<Uint8Array> = []
    let whole = false
    const next: Pull.Pull<Chunks, Failure> = Effect.suspend(() => {
      if (isNonEmpty(chunks)) {
        const ready = chunks
        chunks = []
        return Effect.succeed(ready)
      }
      // A part looks complete when the body is interrupted inside it.
      if (state.problem !== undefined) return Effect.fail(state.problem)
      return whole ? Cause.done() : Effect.flatMap(more, () => next)
    })
    add({
      _tag: "File",
      name: info.name,
      fileName: findFileName(info) ?? info.name,
      content: Stream.fromPull(Effect.succeed(next)),
    })
    return (chunk: Uint8Array | null) => {
      if (chunk !== null) chunks.push(chunk)
      else if (whole) fail(malformed)
      else whole = true
    }
  }

  /** When a boundary cuts off a part's headers, the parser ends the previous part twice. */
  let before: PartInfo | undefined
  const field = (info: PartInfo, value: Uint8Array) => {
    if (info === before) return fail(malformed)
    before = info
    add({ _tag: "Field", name: info.name, value: decodeField(info, value) })
  }

  return { state, waiting, fail, isFile, field, open }
}

/** Returns the next part, and null after the last one. */
const readParts = (
  request: HttpServerRequest,
  limits: PartsLimits,
): Effect.Effect<Effect.Effect<FormPart | null, Failure>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const pull = yield* Stream.toPull(Stream.mapError(request.stream, () => malformed))
    const { fail, field, isFile, open, state, waiting } = makeFindings(request, limits)

    const more: Effect.Effect<void, Failure> = Effect.suspend(() =>
      pull.pipe(
        Effect.flatMap((chunks) =>
          Effect.forEach(
            chunks,
            (chunk) => Effect.andThen(limits.take(chunk.length), write(chunk)),
            { discard: true },
          ),
        ),
        Pull.catchDone(() =>
          Effect.sync(() => {
            if (!state.done) fail(malformed)
            ended = true
          }),
        ),
      ),
    )

    const parser = make({
      headers: request.headers,
      maxParts: limits.parts,
      maxFieldSize: limits.fieldBytes,
      maxTotalSize: limits.bodyBytes,
      isFile,
      onField: field,
      onFile: open(more),
      onError: (error) => fail(toProblem(error)),
      onDone: () => {
        state.done = true
      },
    })
    let ended = false

    /** The parser throws where the headers of a first part are cut off. */
    const write = (chunk: Uint8Array) =>
      Effect.try({ try: () => parser.write(chunk), catch: () => malformed })

    return Effect.suspend(function next(): Effect.Effect<FormPart | null, Failure> {
      const part = waiting.shift()
      if (part !== undefined) return Effect.succeed(part)
      if (state.problem !== undefined) return Effect.fail(state.problem)
      return ended ? Effect.succeed(null) : Effect.flatMap(more, next)
    })
  })
