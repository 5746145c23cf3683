/**
 * Version 1: an entry of its table of routes, the steps of every request under `/api/v1`, and the
 * readers of bodies.
 */
import {
  Admission,
  bearerToken,
  maximumFileBytes,
  MediaFiles,
  noRoomForFile,
  refuse,
  sharedLimits,
} from "@messaging-service/core"
import type {
  Attachments,
  CallbackUrls,
  Caller,
  Connections,
  CredentialsV1,
  MediaDirectory,
  MediaLinks,
  Messages,
  NumberChecks,
  Refusal,
  RejectingBulkhead,
  Reminders,
  StoreUnavailable,
  Version1Lists,
  WorkspaceId,
} from "@messaging-service/core"
import { Effect, Result, Schema, Scope } from "effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import { findAuthorization, isPlain, parseEntries, takeWorkspaceShare } from "../IncomingRequest.ts"
import type { ClientAddressOf, Handler, IncomingRequest, QueryEntries } from "../IncomingRequest.ts"
import { FormProblem, isMultipart, storedFileName, readForm } from "../MultipartForm.ts"
import type { Form, ReadingForm } from "../MultipartForm.ts"
import { isJsonContentType, maximumBodyBytes, readBytesWith } from "../readRequest.ts"
import { routeAt, routeFinder } from "../RouteTable.ts"
import type { FoundRoute, MethodAndPath, Route } from "../RouteTable.ts"
import { parseStrictJson } from "../StrictJson.ts"
import type { JsonObject, JsonValue } from "../StrictJson.ts"
import { errorPageReply, failureReply, failV1, refusalReplyV1 } from "./failures.ts"
import type { ErrorPageV1, FailureV1, OtherTexts } from "./failures.ts"
import { parseInteger, readFields, parseText, unreadable } from "./fields.ts"
import type { BodyV1, ExampleV1, FieldsV1, ReadFieldsV1, UploadV1 } from "./fields.ts"

interface EntryV1<Fields extends FieldsV1, Answer extends Schema.Top> {
  readonly summary: string
  /**
   * Needs only the bearer token; otherwise `client_id` and `api_key` are among the fields, the key
   * alternatively as a bearer token.
   */
  readonly bearerOnly?: true
  /** Besides the credentials. A GET has them in its query, a POST in its body. */
  readonly fields: Fields
  /** An example body for the document, without the credentials. */
  readonly example?: ExampleV1<NoInfer<Fields>>
  /** Its deviating refusal texts. */
  readonly texts?: OtherTexts
  /** The success body, always with status 200. */
  readonly answer: Answer
}

/** The services of handlers. */
export type ServicesV1 =
  | Attachments
  | CallbackUrls
  | Connections
  | MediaDirectory
  | MediaLinks
  | Messages
  | NumberChecks
  | Reminders
  | Version1Lists

interface InputV1 {
  readonly caller: Caller
  readonly body: BodyV1
  /** The file in one of the operation's file parts. It is removed with the request unless it is kept. */
  readonly file: UploadV1 | null
  /** The segment of the path with that name. */
  readonly parameter: (name: string) => string
}

type OutcomeV1<Body> = Effect.Effect<
  Body,
  FailureV1 | ErrorPageV1 | Refusal | StoreUnavailable,
  ServicesV1 | Scope.Scope
>

export interface RouteV1 extends Route, EntryV1<FieldsV1, Schema.Top> {
  /** Answers with the success body. */
  readonly handler: (input: InputV1) => OutcomeV1<unknown>
}

/** Binds the handler to its fields and its answer. */
export const routeV1 = <Fields extends FieldsV1, Answer extends Schema.Top>(
  at: MethodAndPath,
  entry: EntryV1<Fields, Answer> & {
    readonly handler: (
      input: InputV1 & { readonly fields: ReadFieldsV1<Fields> },
    ) => OutcomeV1<Answer["Type"]>
  },
): RouteV1 => ({
  ...routeAt(at),
  ...entry,
  handler: function withFields(input) {
    return entry.handler({ ...input, fields: readFields(entry.fields, input.body) })
  },
})

/** The names of the operation's file parts. */
const getFileParts = ({ fields }: Pick<RouteV1, "fields">): ReadonlyArray<string> =>
  Object.entries(fields).flatMap(([name, { type }]) => (type === "file" ? name : []))

/** `status` in the success body. */
export const succeeded = 1 as const

/** The success body with those fields. */
export const successV1 = <Fields extends Schema.Struct.Fields>(fields: Fields) =>
  Schema.Struct({ status: Schema.Literal(succeeded), ...fields })

export const DateTime = Schema.String.annotate({ format: "date-time" })

export const DoneAnswer = successV1({ message: Schema.String })

export const done = (message: string): typeof DoneAnswer.Type => ({
  status: succeeded,
  message,
})

// The steps of a request

type Credentials = Omit<CredentialsV1, "clientAddress">

/**
 * The credentials of a request: a `client_id` with an `api_key`, which may be a bearer token
 * instead. A missing key is reported before a missing client id. The core validates them.
 */
const getCredentials = (
  { bearerOnly }: RouteV1,
  body: BodyV1,
  request: HttpServerRequest,
): Result.Result<Credentials, FailureV1> => {
  const bearer = bearerToken(findAuthorization(request)) ?? null
  const apiKey = bearerOnly === true ? bearer : (parseText(body.one("api_key")) ?? bearer)
  if (apiKey === null) return Result.fail(failV1("missing_key"))
  if (bearerOnly === true) return Result.succeed({ clientId: null, apiKey })
  const clientId = parseInteger(body.one("client_id"))
  if (clientId === null) return Result.fail(failV1("missing_client_id"))
  if (clientId === unreadable) return Result.fail(failV1("invalid_client_id"))
  return Result.succeed({ clientId, apiKey })
}

/** Answers requests of version 1 (contract: Version 1: requests). */
export const makeHandlerV1 = Effect.fnUntraced(function* makeHandlerV1(
  routes: ReadonlyArray<RouteV1>,
  permits: RejectingBulkhead<WorkspaceId>,
  getAddress: ClientAddressOf,
) {
  const admission = yield* Admission
  const files = yield* MediaFiles
  const find = routeFinder(routes)
  const unknownCallers = makeUnknownCallers()

  /** Admits the caller of a request, once, as soon as its credentials are there. */
  const makeAdmit = Effect.fnUntraced(function* makeAdmit(
    { request }: IncomingRequest,
    known: UnknownCaller["known"],
  ) {
    const scope = yield* Effect.scope
    let admitted: { readonly caller: Caller; readonly as: string } | undefined
    return Effect.fnUntraced(function* admit(credentials: Credentials) {
      const as = `${credentials.clientId} ${credentials.apiKey}`
      // A field after the file may name another caller: the last one counts.
      if (admitted?.as === as) return admitted.caller
      const caller = yield* admission.admitV1({
        ...credentials,
        clientAddress: getAddress(request),
      })
      yield* takeWorkspaceShare(permits, caller.workspace.id).pipe(Scope.provide(scope))
      yield* known
      admitted = { caller, as }
      return caller
    })
  })

  const succeed = Effect.fnUntraced(function* succeed(
    incoming: IncomingRequest,
    { parameter, route }: FoundRoute<RouteV1>,
  ) {
    const { query, request } = incoming
    const { known, take } = yield* unknownCallers.open
    const admit = yield* makeAdmit(incoming, known)

    /** Missing credentials may follow the file. */
    const beforeFile = (body: BodyV1) => {
      const credentials = getCredentials(route, body, request)
      return Result.isFailure(credentials) ? Effect.void : admit(credentials.success)
    }

    // Body, and before a file the credentials
    const { body, file } =
      route.method === "GET"
        ? yield* Effect.fromResult(readQueryV1(query))
        : yield* readBodyV1(request, getFileParts(route), files, { take, beforeFile })

    // Credentials, account, rate limit, share of the requests in flight
    const caller = yield* admit(yield* Effect.fromResult(getCredentials(route, body, request)))

    // Fields, number, allowance, quota
    const work = route.handler({ caller, body, file, parameter })
    return { status: 200, body: yield* admission.stillAdmitted(caller, work) }
  }, Effect.scoped)

  const handler: Handler<ServicesV1> = function handleV1(incoming) {
    // Method
    const found = find(incoming)
    if (Result.isFailure(found)) return Effect.fail(found.failure)
    const { texts } = found.success.route
    return succeed(incoming, found.success).pipe(
      Effect.catchTags({
        FailureV1: (failure) => Effect.succeed(failureReply(failure, texts)),
        Refusal: (refusal) => Effect.succeed(refusalReplyV1(incoming, refusal, texts)),
        ErrorPageV1: () => Effect.succeed(errorPageReply(incoming)),
      }),
    )
  }
  return handler
})

// Bodies: JSON, a form, or a multipart form with a file (contract: Version 1: requests). Without a
// content type, a body that begins like an object is read as JSON, any other as a form. An
// unreadable body of any kind is `Invalid JSON format`.

interface ReadBodyV1 {
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

const utf8 = new TextDecoder("utf-8", { fatal: true })

/** A database cannot store a NUL. */
const formBody = (entries: QueryEntries): Result.Result<BodyV1, Refusal> =>
  entries.some(([name, value]) => name.includes("\0") || value.includes("\0"))
    ? Result.fail(invalid)
    : Result.succeed(ofEntries(entries))

/** The parameters of a form, in a query's format. */
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

/** The body of a client that does not declare its type. */
const guess = (bytes: Uint8Array): Result.Result<BodyV1, Refusal> =>
  bytes[0] === opensObject ? jsonOfBytes(bytes) : formOfBytes(bytes)

const isForm = (contentType: string): boolean =>
  /^\s*application\/x-www-form-urlencoded\s*(?:;|$)/i.test(contentType)

const makeReader = (
  contentType: string | undefined,
): ((bytes: Uint8Array) => Result.Result<BodyV1, Refusal>) | undefined => {
  if (contentType === undefined || contentType.trim() === "") return guess
  if (isJsonContentType(contentType)) return jsonOfBytes
  return isForm(contentType) ? formOfBytes : undefined
}

const toRefusal = ({ reason }: FormProblem): Refusal => {
  if (reason === "no_room") return noRoomForFile
  return reason === "malformed" ? invalid : tooLarge
}

const toUpload = ({ file, moreFiles }: Form): Result.Result<UploadV1 | null, FailureV1> => {
  if (moreFiles > 0) return Result.fail(failV1("several_files"))
  // A browser sends this for a file input without a file.
  if (file === undefined || file.content.size === 0) return Result.succeed(null)
  return Result.succeed({ fileName: storedFileName(file) ?? null, content: file.content })
}

/** The body of a POST; an upload lasts until the scope closes. */
const readBodyV1 = <E>(
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
      parts: sharedLimits.formEntries.whole,
    }
    const reading: ReadingForm<Refusal | E> = {
      take,
      beforeFile: (fields) => Effect.flatMap(Effect.fromResult(formBody(fields)), beforeFile),
    }
    return Effect.gen(function* () {
      const form = yield* readForm(request, files, limits, reading).pipe(
        Effect.catchIf(
          (error) => error instanceof FormProblem,
          (problem) => Effect.fail(toRefusal(problem)),
        ),
      )
      return {
        body: yield* Effect.fromResult(formBody(form.fields)),
        file: yield* Effect.fromResult(toUpload(form)),
      }
    })
  }
  const reader = makeReader(headers["content-type"])
  if (reader === undefined) return Effect.fail(invalid)
  return Effect.map(
    Effect.flatMap(readBytesWith(request, take), (bytes) => Effect.fromResult(reader(bytes))),
    (body) => ({ body, file: null }),
  )
}

/** The query of a GET, read as a form is. */
const readQueryV1 = (query: string): Result.Result<ReadBodyV1, Refusal> =>
  Result.map(parseForm(query), (body) => ({ body, file: null }))

// Bytes read before their caller is known: credentials may be anywhere in a form, even after a file
// of 64 MiB (sharedResources: unknownCallersBytes). All calls together hold at most the total; a
// call releases its bytes when its caller is known or when it ends.

/** Uncounted bytes of each body: more than a call without a file needs. */
const uncounted = 64 * 1024

/** Seconds after which a caller may try again. */
const retryAfter = 5

const busy = refuse("service_unavailable", { retryAfter })

/** What one call has read of its body. */
interface UnknownCaller {
  /** Counts received bytes. Fails with `service_unavailable` when they have no room. */
  readonly take: (bytes: number) => Effect.Effect<void, Refusal>
  /** The caller is known: releases the bytes, and stops counting. */
  readonly known: Effect.Effect<void>
}

/** Makes the count that the calls of one process share. */
const makeUnknownCallers = () => {
  const { whole } = sharedLimits.unknownCallersBytes
  let bufferedBytes = 0

  /** A call; it ends with the scope. */
  const open: Effect.Effect<UnknownCaller, never, Scope.Scope> = Effect.gen(function* open() {
    let read = 0
    let own = 0
    let isKnown = false
    const known = Effect.sync(() => {
      isKnown = true
      bufferedBytes -= own
      own = 0
    })
    yield* Effect.addFinalizer(() => known)

    const take = (bytes: number): Effect.Effect<void, Refusal> =>
      Effect.suspend(() => {
        if (isKnown) return Effect.void
        read += bytes
        const more = Math.max(read - uncounted, 0) - own
        // A single call may always continue: its own bounds end it.
        if (bufferedBytes > own && bufferedBytes + more > whole) return Effect.fail(busy)
        own += more
        bufferedBytes += more
        return Effect.void
      })
    return { take, known }
  })

  return { open }
}
