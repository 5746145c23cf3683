/**
 * Version 2: an entry of its table of routes, and the steps of every request under `/api/v2`
 * (contract: Order of checks).
 */
import {
  Admission,
  canonicalJson,
  Chats,
  fingerprint,
  MediaFiles,
  parseId,
  parseIdempotencyKey,
  authorize,
  ratePolicy,
  refuse,
} from "@messaging-service/core"
import type {
  Connections,
  IdempotencyKey,
  Caller,
  MediaDirectory,
  MediaLinks,
  Messages,
  NumberChecks,
  OperationName,
  RateState,
  Refusal,
  RejectingBulkhead,
  Reminders,
  IdempotentResult,
  StoreUnavailable,
  Webhooks,
  WorkspaceId,
} from "@messaging-service/core"
import { Effect, Result } from "effect"
import type { Schema } from "effect"
import type { Entry, Input } from "../Entry.ts"
import {
  findAuthorization,
  headerValues,
  repeatedAnswer,
  takeWorkspaceShare,
} from "../IncomingRequest.ts"
import type { ClientAddressOf, Handler, IncomingRequest } from "../IncomingRequest.ts"
import type { Heading } from "../openapi/Operation.ts"
import { readRequest } from "../readRequest.ts"
import { routeAt, routeFinder } from "../RouteTable.ts"
import type { MethodAndPath } from "../RouteTable.ts"
import type { JsonValue } from "../StrictJson.ts"
import { writeJson } from "../writeJson.ts"

/** The services of handlers. */
export type ServicesV2 =
  | Chats
  | Connections
  | MediaDirectory
  | MediaLinks
  | Messages
  | NumberChecks
  | Reminders
  | Webhooks

interface InputV2<Path extends string, Request> extends Input<Path, Request> {
  /** With a key, or trusted for the operator and a workspace's portal. */
  readonly caller: Caller
  /** Null unless the operation is idempotent and the header was sent. */
  readonly idempotency: IdempotencyKey | null
}

interface OperationV2<
  Path extends string,
  Request,
  Answer extends Schema.Top,
  Outcome,
> extends Entry<Request, Answer> {
  /** The core's operation; `operations` lists the scopes that it needs. */
  readonly id: OperationName
  /** There only where conversations are on. */
  readonly ofConversations?: true
  handler(
    input: InputV2<Path, Request>,
  ): Effect.Effect<Outcome, Refusal | StoreUnavailable, ServicesV2>
}

/** `idempotent`: honours `Idempotency-Key`; other operations ignore the header. */
type EntryV2<Path extends string, Request, Answer extends Schema.Top> =
  | (OperationV2<Path, Request, Answer, Answer["Type"]> & { readonly idempotent?: never })
  | (OperationV2<Path, Request, Answer, IdempotentResult<Answer["Type"]>> & {
      readonly idempotent: true
    })

export type RouteV2 = Heading & EntryV2<string, unknown, Schema.Top>

/** Makes routes under that heading of the document. Binds the handler to its path, input and answer. */
export const routeV2 =
  (tag: string) =>
  <const At extends MethodAndPath, Answer extends Schema.Top, Request = undefined>(
    at: At,
    entry: EntryV2<At, Request, Answer>,
  ): RouteV2 => ({ ...routeAt(at), tag, ...entry })

const showRate = ({ answerHeaders: headers }: IncomingRequest, rate: RateState): void => {
  headers["ratelimit-limit"] = String(rate.limit)
  headers["ratelimit-remaining"] = String(rate.remaining)
  headers["ratelimit-reset"] = String(rate.reset)
  headers["ratelimit-policy"] = ratePolicy
}

/** Null when the operation is not idempotent or the header was not sent. */
export const getIdempotencyKey = (
  { idempotent }: Pick<RouteV2, "idempotent">,
  { request }: IncomingRequest,
): Result.Result<string | null, Refusal> =>
  idempotent === true
    ? parseIdempotencyKey(headerValues(request, "idempotency-key"))
    : Result.succeed(null)

/** The key with what tells repeats of its request from others. */
export const toIdempotency = (
  key: string | null,
  { method }: Pick<RouteV2, "method">,
  { path }: IncomingRequest,
  fingerprinted: JsonValue,
): IdempotencyKey | null =>
  key === null
    ? null
    : { key, fingerprint: fingerprint(method, path, canonicalJson(fingerprinted)) }

/**
 * Makes the finder of routes. While no workspace has conversations, their paths are unknown ones; the
 * other paths ask for nothing.
 */
const makeFind = Effect.fnUntraced(function* makeFind(routes: ReadonlyArray<RouteV2>) {
  const { areAnywhere } = yield* Chats
  const findAlways = routeFinder(routes.filter((route) => route.ofConversations !== true))
  const findOfConversations = routeFinder(routes.filter((route) => route.ofConversations === true))
  const isOfConversations = (incoming: IncomingRequest) => {
    const found = findOfConversations({ ...incoming, answerHeaders: {} })
    return Result.isSuccess(found) || found.failure.code !== "not_found"
  }
  return Effect.fnUntraced(function* find(incoming: IncomingRequest) {
    return isOfConversations(incoming) && (yield* areAnywhere)
      ? findOfConversations(incoming)
      : findAlways(incoming)
  })
})

/** Answers requests of version 2. */
export const makeHandlerV2 = Effect.fnUntraced(function* makeHandlerV2(
  routes: ReadonlyArray<RouteV2>,
  permits: RejectingBulkhead<WorkspaceId>,
  getAddress: ClientAddressOf,
) {
  const admission = yield* Admission
  const files = yield* MediaFiles
  const chats = yield* Chats
  const find = yield* makeFind(routes)

  /** Counts a request that gets a 404 or 405; a failed count does not prevent the answer. */
  const countUnrouted = Effect.fnUntraced(
    function* countUnrouted(incoming: IncomingRequest) {
      const { request } = incoming
      const rate = yield* admission.noteV2(findAuthorization(request), getAddress(request))
      if (rate !== null) showRate(incoming, rate)
    },
    (counted, { id }) =>
      Effect.catchTag(counted, "StoreUnavailable", (error) =>
        Effect.annotateLogs(Effect.logWarning(error), { request_id: id }),
      ),
  )

  const handler: Handler<ServicesV2> = Effect.fnUntraced(function* handleV2(incoming) {
    const { request } = incoming

    // Route
    const found = yield* find(incoming)
    if (Result.isFailure(found)) {
      yield* countUnrouted(incoming)
      return yield* found.failure
    }
    const { parameter, route } = found.success

    // Key, workspace, rate limit
    const { caller } = yield* admission.admitV2(
      findAuthorization(request),
      getAddress(request),
      function admitted(rate) {
        showRate(incoming, rate)
      },
    )

    // Share of the requests in flight
    yield* takeWorkspaceShare(permits, caller.workspace.id)

    if (route.ofConversations === true && !(yield* chats.areOn(caller))) {
      return yield* refuse("not_found")
    }

    // Scope, limited keys: the services check them too, but only after the body is read
    yield* authorize(caller, route.id)

    const key = yield* Effect.fromResult(getIdempotencyKey(route, incoming))

    // Content type, size, JSON or the form with a file; query
    const read = yield* readRequest(route.request, incoming, files)

    // Fields, idempotency, and checks of the clock and stored state
    const idempotency = toIdempotency(key, route, incoming, read.fingerprinted)
    const id = <Id extends number>(name: string) => parseId<Id>(parameter(name))
    const input = { caller, id, request: read.request, idempotency }
    const { status = 200 } = route
    const answer =
      route.idempotent === true
        ? repeatedAnswer(incoming, yield* admission.stillAdmitted(caller, route.handler(input)))
        : yield* admission.stillAdmitted(caller, route.handler(input))
    return { status, json: writeJson(route.answer.schema, answer) }
  }, Effect.scoped)
  return handler
})
