/**
 * One request on its way to its answer. Headers of the answer are written down as soon as they are
 * known, so that whatever happens afterwards, a refusal or a fault, the answer carries them.
 */
import { requestId, refuse } from "@messaging-service/core"
import type {
  Ids,
  Refusal,
  RefusingPlaces,
  StoreUnavailable,
  WorkspaceId,
} from "@messaging-service/core"
import { Effect, Scope, Stream } from "effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import { clientRequestId } from "../request/HeaderValues.ts"
import { parseTarget } from "../request/Target.ts"
import type { Target } from "../request/Target.ts"

/** In place of a route that there is not. */
export const none = "none"

export interface IncomingRequest extends Target {
  readonly request: HttpServerRequest
  /** `req_` and 24 characters; also in the answer's `X-Request-Id`. */
  readonly id: string
  /** The path of the route that was found, as its table has it; `none` until then. */
  route: string
  /** Lower-case names. */
  readonly answerHeaders: Record<string, string>
}

/** What a request is answered with when nothing refuses it. */
export type Reply =
  /** The body is written as JSON. */
  | { readonly status: number; readonly body: unknown }
  | { readonly status: number; readonly content: Content }
  /** Without a body: the caller has it. */
  | { readonly status: 304 }

/** Bytes of some other kind. */
export interface Content {
  readonly contentType: string
  /** Of the bytes. */
  readonly length: number
  readonly bytes: Stream.Stream<Uint8Array, unknown>
}

/** Bytes that are there already. */
export const bytesReply = (contentType: string, bytes: Uint8Array, status = 200): Reply => ({
  status,
  content: { contentType, length: bytes.length, bytes: Stream.make(bytes) },
})

export const htmlType = "text/html; charset=utf-8"

/** Says that a page is nothing else than HTML, and what `Content-Security-Policy` lets it do. */
export const pageHeaders = ({ answerHeaders }: IncomingRequest, policy: string): void => {
  answerHeaders["content-security-policy"] = policy
  answerHeaders["x-content-type-options"] = "nosniff"
}

export const htmlReply = (
  incoming: IncomingRequest,
  html: Uint8Array,
  policy: string,
  status: number,
): Reply => {
  pageHeaders(incoming, policy)
  return bytesReply(htmlType, html, status)
}

/** What answers the requests of one part of the interface: of everything under one prefix of paths. */
export type Handler = (
  incoming: IncomingRequest,
) => Effect.Effect<Reply, Refusal | StoreUnavailable>

export const receive = (request: HttpServerRequest, ids: typeof Ids.Service): IncomingRequest => {
  const { path, query } = parseTarget(request.url)
  const id = requestId(ids)
  const answerHeaders: Record<string, string> = {
    "x-request-id": id,
    "cache-control": "no-store",
  }
  const clients = clientRequestId(request)
  if (clients !== undefined) answerHeaders["x-client-request-id"] = clients
  return { request, path, query, id, route: none, answerHeaders }
}

/** Where the error catalogue explains a code. */
const docsOf = (publicUrl: string, code: string): string => `${publicUrl}/docs/errors#${code}`

const errorBody = (refusal: Refusal, id: string, publicUrl: string) => ({
  error: {
    code: refusal.code,
    message: refusal.message,
    field: refusal.field,
    docs: docsOf(publicUrl, refusal.code),
    request_id: id,
    ...(refusal.errors.length === 0
      ? {}
      : { errors: refusal.errors.map(({ field, message }) => ({ field, message })) }),
    ...refusal.details,
  },
})

/** The answer to a refused request, whose headers it writes down. */
export const refusalReply = (
  incoming: IncomingRequest,
  refusal: Refusal,
  publicUrl: string,
): Reply => {
  if (refusal.status === 401) incoming.answerHeaders["www-authenticate"] = 'Bearer realm="service"'
  if (refusal.retryAfter !== null)
    incoming.answerHeaders["retry-after"] = String(refusal.retryAfter)
  return { status: refusal.status, body: errorBody(refusal, incoming.id, publicUrl) }
}

/** There is no room for the request now; a second later there may be. */
export const serviceBusy = refuse("service_unavailable", { retryAfter: 1 })

const shareUsedUp = refuse("service_unavailable", {
  message:
    "The workspace has too many requests under way. Retry after the seconds of `Retry-After`.",
  retryAfter: 1,
})

/**
 * Takes a place of the workspace's share of the requests under way until the scope closes; fails when
 * there is none. So slow requests of one workspace (uploads, downloads of media links) leave places to
 * the others. Not by `Effect.acquireRelease`, which joins all services of the request anew to give it
 * back.
 */
export const takeWorkspaceShare = (
  places: RefusingPlaces<WorkspaceId>,
  workspace: WorkspaceId,
): Effect.Effect<void, Refusal, Scope.Scope> =>
  Effect.uninterruptible(
    Effect.flatMap(Effect.scope, (scope) =>
      places.takeShare(workspace)
        ? Scope.addFinalizer(
            scope,
            Effect.sync(() => places.giveBackShare(workspace)),
          )
        : Effect.fail(shareUsedUp),
    ),
  )
