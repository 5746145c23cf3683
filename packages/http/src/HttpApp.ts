/**
 * The whole HTTP interface as one effect from a request to its answer. The path decides which part answers.
 * Everything common to all answers is here, once: request id, error object, log line, faults.
 */
import {
  Ids,
  logFailure,
  makeRejectingBulkhead,
  PublicUrl,
  throttled,
  Refusal,
  refusalOfStore,
  refuse,
  sharedLimits,
  WorkGate,
} from "@messaging-service/core"
import type { RejectingBulkhead, StoreUnavailable, WorkspaceId } from "@messaging-service/core"
import { Cause, Context, Effect, Layer, Metric } from "effect"
import type { Scope } from "effect"
import { toWebHandlerLayerWith, toWebHandlerWith } from "effect/http/HttpEffect"
import { serve } from "effect/http/HttpServer"
import { HttpServerRequest } from "effect/http/HttpServerRequest"
import { empty, stream, text } from "effect/http/HttpServerResponse"
import type { HttpServerResponse } from "effect/http/HttpServerResponse"
import { openHandler } from "./Entry.ts"
import type { OpenRoute } from "./Entry.ts"
import { getDocsUrl, HttpOptions, getPublicUrl } from "./HttpOptions.ts"
import type { HttpSettings } from "./HttpOptions.ts"
import {
  clientAddressReader,
  none,
  receive,
  refusalReply,
  serviceBusy,
  unreadableForwarded,
} from "./IncomingRequest.ts"
import type {
  ClientAddressOf,
  Handler,
  IncomingRequest,
  Reply,
  Streamed,
  WholeReply,
} from "./IncomingRequest.ts"
import { dashboardHandler, isOfDashboard } from "./open/dashboard.ts"
import { docsRoutes } from "./open/docs.ts"
import { linkRoutes } from "./open/links.ts"
import type { LinkServices } from "./open/links.ts"
import { healthRoutes, metricsRoute } from "./open/monitoring.ts"
import type { MonitoringServices } from "./open/monitoring.ts"
import { apiDocument } from "./openapi/document.ts"
import { campaignRoutes } from "./operator/campaigns.ts"
import { conversationRoutes } from "./operator/conversations.ts"
import { deliveryRoutes as deliveryOperatorRoutes } from "./operator/deliveries.ts"
import { serviceFigures, workspaceFigures } from "./operator/figures.ts"
import { reminderLogRoutes } from "./operator/reminders.ts"
import {
  numberRoutes as numberOperatorRoutes,
  telegramLoginRoutes as telegramLoginOperatorRoutes,
} from "./operator/numbers.ts"
import { makeOperatorHandler } from "./operator/pipeline.ts"
import type { OperatorRoute, OperatorServices } from "./operator/pipeline.ts"
import { changeFeedRoutes } from "./operator/changeFeed.ts"
import { portalLinkRoutes } from "./operator/portalLinks.ts"
import { messageRoutes as messageOperatorRoutes } from "./operator/messages.ts"
import { restoreRoutes as restoreOperatorRoutes } from "./operator/restore.ts"
import { makeSessionCookie } from "./operator/sessionCookie.ts"
import { sessionRoutes } from "./operator/sessions.ts"
import {
  contactRoutes as contactOperatorRoutes,
  keyRoutes as keyOperatorRoutes,
  workspaceRoutes as workspaceOperatorRoutes,
} from "./operator/workspaces.ts"
import { workspaceOperations } from "./operator/workspaceOperations.ts"
import { refusalReplyV1 } from "./v1/failures.ts"
import { makeHandlerV1 } from "./v1/pipeline.ts"
import type { RouteV1, ServicesV1 } from "./v1/pipeline.ts"
import { reminderRoutes as reminderRoutesV1 } from "./v1/reminders.ts"
import {
  mediaRoutes as mediaRoutesV1,
  meRoute as meRouteV1,
  messageRoutes as messageRoutesV1,
  numberRoutes as numberRoutesV1,
  verificationRoutes as verificationRoutesV1,
} from "./v1/routes.ts"
import { sendRoutes as sendRoutesV1 } from "./v1/send.ts"
import { chatRoutes as chatRoutesV2 } from "./v2/chats.ts"
import { restrictionRoutes } from "./v2/restrictions.ts"
import { meRoute as meRouteV2 } from "./v2/me.ts"
import { mediaRoutes as mediaRoutesV2 } from "./v2/media.ts"
import { messageRoutes as messageRoutesV2 } from "./v2/messages.ts"
import { numberCheckRoutes as numberCheckRoutesV2 } from "./v2/numberChecks.ts"
import { numberRoutes as numberRoutesV2 } from "./v2/numbers.ts"
import { makeHandlerV2 } from "./v2/pipeline.ts"
import type { ServicesV2 } from "./v2/pipeline.ts"
import { reminderRoutes as reminderRoutesV2 } from "./v2/reminders.ts"
import { webhookRoutes as webhookRoutesV2 } from "./v2/webhooks.ts"

// Tables of routes

/** Contract: Operations of version 2. */
const routesV2 = [
  meRouteV2,
  ...messageRoutesV2,
  ...numberRoutesV2,
  ...reminderRoutesV2,
  ...mediaRoutesV2,
  ...numberCheckRoutesV2,
  ...webhookRoutesV2,
  ...chatRoutesV2,
  ...restrictionRoutes,
]

/** Contract: Version 1. */
const routesV1 = Effect.gen(function* routesV1() {
  return [
    ...(yield* sendRoutesV1),
    ...messageRoutesV1,
    meRouteV1,
    ...mediaRoutesV1,
    ...(yield* reminderRoutesV1),
    ...verificationRoutesV1,
    ...numberRoutesV1,
  ]
})

/** Contract: Operator API. */
const operatorRoutes = [
  ...workspaceOperatorRoutes,
  ...keyOperatorRoutes,
  ...numberOperatorRoutes,
  ...telegramLoginOperatorRoutes,
  ...contactOperatorRoutes,
  ...deliveryOperatorRoutes,
  ...reminderLogRoutes,
  ...messageOperatorRoutes,
  ...restoreOperatorRoutes,
  ...workspaceOperations(routesV2.filter((route) => route.ofConversations !== true)),
]

// Parts: a prefix of paths with its handler and bounds

/** A part of the interface, and the bound on its requests in flight. */
interface Part<Services = never> {
  readonly prefix: string
  /** In place of its prefix: whether it answers a request that no part before it does. */
  readonly answers?: (incoming: IncomingRequest) => boolean
  readonly handler: Handler<Services>
  readonly places: Pick<RejectingBulkhead<never>, "tryAcquire" | "release">
  /** Refuses every request while this process must not work. */
  readonly mayWork?: Effect.Effect<void, Refusal>
  /** Formats refusals and faults; the error object by default. */
  readonly replyToRefusal?: typeof refusalReply
}

/** Paths outside every part are 404, and need no permit. */
const nowhere: Part = {
  prefix: none,
  handler: () => Effect.fail(refuse("not_found")),
  places: { tryAcquire: () => true, release: () => undefined },
}

const isUnder = (prefix: string, path: string): boolean =>
  path.startsWith(prefix) && (path.length === prefix.length || path[prefix.length] === "/")

/** The first part that answers the request. */
const findPart = <Services>(
  parts: ReadonlyArray<Part<Services>>,
  incoming: IncomingRequest,
): Part<Services> => {
  for (const part of parts) {
    if (part.answers === undefined ? isUnder(part.prefix, incoming.path) : part.answers(incoming)) {
      return part
    }
  }
  return nowhere
}

/** The parts for those routes: one for each first path segment. */
const openParts = <Services>(
  routes: ReadonlyArray<OpenRoute<Services>>,
  places: Part["places"],
): ReadonlyArray<Part<Services>> => {
  const handler = openHandler(routes)
  const prefixes = new Set(routes.map(({ path }) => path.split("/", 2).join("/")))
  return [...prefixes].map((prefix) => ({ prefix, handler, places }))
}

/** Health and metrics, which need no key. */
const watchedRoutes = Effect.gen(function* watchedRoutes() {
  const { metrics = true } = yield* HttpOptions
  return [...healthRoutes, ...(metrics ? [yield* metricsRoute] : [])]
})

const watchedParts = <Services>(
  routes: ReadonlyArray<OpenRoute<Services>>,
): ReadonlyArray<Part<Services>> =>
  openParts(routes, makeRejectingBulkhead(sharedLimits.watchingRequests))

/** Both versions, for customers. */
const customerParts = Effect.fnUntraced(function* customerParts(
  v1Routes: ReadonlyArray<RouteV1>,
  places: RejectingBulkhead<WorkspaceId>,
  getAddress: ClientAddressOf,
) {
  const { pass: mayWork } = yield* WorkGate
  const v2 = yield* makeHandlerV2(routesV2, places, getAddress)
  const v1 = yield* makeHandlerV1(v1Routes, places, getAddress)
  const replyToRefusal: typeof refusalReply = (incoming, refusal) =>
    refusalReplyV1(incoming, refusal)
  const parts: ReadonlyArray<Part<ServicesV1 | ServicesV2>> = [
    { prefix: "/api/v2", handler: v2, places, mayWork },
    { prefix: "/api/v1", handler: v1, places, mayWork, replyToRefusal },
  ]
  return parts
})

/** The operator API: for those with the token, and for signed-in browsers where there is a dashboard. */
const operatorInterface = Effect.fnUntraced(function* operatorInterface(
  options: HttpSettings,
  getAddress: ClientAddressOf,
) {
  const { dashboard = null, emulator, operatorToken } = options
  if (operatorToken === null && dashboard === null) return { routes: [], parts: [] }
  const cookie = dashboard === null ? null : yield* makeSessionCookie(yield* getPublicUrl(options))
  const controls = emulator === null ? [] : yield* emulator
  const routes: ReadonlyArray<OperatorRoute> = [
    ...(cookie === null
      ? []
      : [...sessionRoutes(options, cookie, getAddress), ...portalLinkRoutes]),
    ...operatorRoutes,
    ...changeFeedRoutes(options),
    workspaceFigures,
    yield* serviceFigures,
    ...controls.filter((route) => route.ofConversations !== true),
    // Last, since the document numbers what it has in common by first use.
    ...campaignRoutes,
    ...conversationRoutes,
    ...workspaceOperations(chatRoutesV2),
    ...controls.filter((route) => route.ofConversations === true),
    ...workspaceOperations(restrictionRoutes),
  ]
  const part: Part<OperatorServices> = {
    prefix: "/admin/v1",
    handler: yield* makeOperatorHandler(routes, { token: operatorToken, cookie }, getAddress),
    places: makeRejectingBulkhead(sharedLimits.operatorRequests),
  }
  // The document is for those who use the API, and browsers use the dashboard.
  return { routes: operatorToken === null ? [] : routes, parts: [part] }
})

/** The dashboard's pages and files, where one is served. */
const dashboardParts = Effect.fnUntraced(function* dashboardParts(options: HttpSettings) {
  const { dashboard = null } = options
  if (dashboard === null) return []
  const part: Part = {
    prefix: "/",
    answers: isOfDashboard,
    handler: dashboardHandler(dashboard, yield* getPublicUrl(options)),
    places: makeRejectingBulkhead(sharedLimits.dashboardFiles),
  }
  return [part]
})

type AllServices = ServicesV1 | ServicesV2 | OperatorServices | LinkServices | MonitoringServices

const allParts = Effect.gen(function* allParts() {
  const options = yield* HttpOptions
  const { customers = true } = options
  const getAddress = clientAddressReader(options)
  const permits = makeRejectingBulkhead<WorkspaceId>(sharedLimits.requests)

  const v1 = customers ? yield* routesV1 : []
  const links = customers ? linkRoutes : []
  const watched = yield* watchedRoutes
  const operator = yield* operatorInterface(options, getAddress)
  const docs = yield* docsRoutes(
    (pages, publicUrl) =>
      apiDocument(
        {
          v2: customers ? routesV2 : [],
          v1,
          operator: operator.routes,
          open: [...links, ...watched, ...pages],
        },
        publicUrl,
      ),
    operator.parts.length > 0,
  )
  const parts: ReadonlyArray<Part<AllServices>> = [
    ...(customers ? yield* customerParts(v1, permits, getAddress) : []),
    ...openParts(links, permits),
    ...operator.parts,
    ...openParts(docs, permits),
    ...watchedParts(watched),
    ...(yield* dashboardParts(options)),
  ]
  return parts
})

// One request

const response = (
  { answerHeaders: headers }: IncomingRequest,
  reply: WholeReply,
): HttpServerResponse => {
  const { status } = reply
  if ("body" in reply || "json" in reply) {
    const json = "json" in reply ? reply.json : JSON.stringify(reply.body)
    return text(json, { status, headers, contentType: "application/json" })
  }
  if (!("content" in reply)) return empty({ status, headers })
  const { bytes, contentType, length } = reply.content
  return stream(bytes, { status, headers, contentType, contentLength: length })
}

/** Opens the stream in the request's scope, which ends with the last byte. */
const streamedResponse = (
  { answerHeaders: headers }: IncomingRequest,
  { contentType, open }: Streamed,
): Effect.Effect<HttpServerResponse, Refusal | StoreUnavailable, Scope.Scope> =>
  Effect.map(open, (bytes) => stream(bytes, { headers, contentType }))

/** The rest of such a path is a secret link, so it is not logged. */
const secretPath = /^\/(media|qr)\/.*/

/** For the log. Queries, headers, bodies and links hold keys, phones and texts, so it has none of them. */
const annotations = (incoming: IncomingRequest, status: number, millis: number) => ({
  request_id: incoming.id,
  method: incoming.request.method,
  path: incoming.path.replace(secretPath, "/$1/…"),
  status,
  duration_ms: Math.round(millis),
})

/** A client that hung up gets no answer and causes no fault. */
const onlyInterrupts = (cause: Cause.Cause<unknown>): Cause.Cause<never> =>
  Cause.fromReasons(cause.reasons.filter(Cause.isInterruptReason))

const faultRefusal = (cause: Cause.Cause<StoreUnavailable>): Refusal => {
  const failure = cause.reasons.find(Cause.isFailReason)
  return failure === undefined ? refuse("internal_error") : refusalOfStore(failure.error)
}

/** Runs the work under a permit; without a free one, refuses before any work. */
const placed = <A, E, R>(
  permits: Part["places"],
  work: Effect.Effect<A, E, R>,
): Effect.Effect<A, E | Refusal, R> =>
  Effect.acquireUseRelease(
    Effect.sync(function acquireSlot() {
      return permits.tryAcquire()
    }),
    function runIfAcquired(acquired): Effect.Effect<A, E | Refusal, R> {
      return acquired ? work : Effect.fail(serviceBusy)
    },
    function releaseSlot(acquired) {
      if (acquired) permits.release()
      return Effect.void
    },
  )

/** A refusal under overload is not a fault: a log line for each would add to the load. */
const isFault = ({ answerHeaders }: IncomingRequest, status: number): boolean =>
  status >= 500 && !(status === 503 && answerHeaders["retry-after"] !== undefined)

const logFault = throttled(
  "request answered with a fault",
  (suppressedLines) =>
    Effect.annotateLogs(
      Effect.logError("request answered with a fault"),
      suppressedLines === 0 ? {} : { held_back: suppressedLines },
    ),
  Effect.logDebug("request answered with a fault"),
)

const hourMillis = 60 * 60 * 1000

/** The proxy's address counts as that of all its clients: the operator has to know. */
const warnOfForwarded = (request: HttpServerRequest): Effect.Effect<void> => {
  const entry = unreadableForwarded(request)
  if (entry === undefined) return Effect.void
  const warning = Effect.annotateLogs(
    Effect.logWarning(
      "the proxy's `X-Forwarded-For` names no address: its clients all count as one, with the proxy's address",
    ),
    { entry: JSON.stringify(entry.slice(0, 60)) },
  )
  return throttled("X-Forwarded-For", () => warning, Effect.void, hourMillis)
}

/** Answers one request by those parts, and never fails. */
const answerer = <Services>(parts: ReadonlyArray<Part<Services>>) =>
  Effect.gen(function* makeAnswer() {
    const ids = yield* Ids
    const meter = yield* requestMeter
    const options = yield* HttpOptions
    const { cameTooLate, cutOff, trustProxy } = options
    const docsUrl = getDocsUrl(options)
    // The request may have taken effect: answer 500, not a retryable 503.
    const ended = cutOff && Effect.andThen(cutOff, Effect.fail(refuse("internal_error")))

    return Effect.flatMap(HttpServerRequest, function answer(request) {
      const started = performance.now()
      const incoming = receive(request, ids)
      const part = findPart(parts, incoming)
      const { handler, mayWork, places, prefix, replyToRefusal = refusalReply } = part

      const work = Effect.suspend(function work() {
        if (request.source instanceof Request && cameTooLate?.(request.source) === true) {
          return Effect.fail(serviceBusy)
        }
        const handled =
          mayWork === undefined ? handler(incoming) : Effect.andThen(mayWork, handler(incoming))
        return ended === undefined ? handled : Effect.raceFirst(handled, ended)
      })

      function accepted(reply: Reply) {
        return "streamed" in reply
          ? streamedResponse(incoming, reply.streamed)
          : Effect.succeed(response(incoming, reply))
      }

      function refused(refusal: Refusal): Effect.Effect<HttpServerResponse> {
        return Effect.map(docsUrl, (url) =>
          response(incoming, replyToRefusal(incoming, refusal, url)),
        )
      }

      /** Counts the request with the values of its log line. */
      function measured(status: number) {
        const millis = performance.now() - started
        meter(prefix, incoming, status, millis / 1000)
        return annotations(incoming, status, millis)
      }

      function answered({ status }: HttpServerResponse) {
        const log = isFault(incoming, status) ? logFault : Effect.logDebug("request answered")
        const logged = Effect.annotateLogs(log, measured(status))
        return trustProxy ? Effect.andThen(logged, warnOfForwarded(request)) : logged
      }

      function failed(cause: Cause.Cause<StoreUnavailable>) {
        if (Cause.hasInterruptsOnly(cause)) {
          measured(noAnswer)
          return Effect.failCause(onlyInterrupts(cause))
        }
        const refusal = faultRefusal(cause)
        const failure = cause.reasons.find(Cause.isFailReason)?.error
        const log =
          refusal.status === 503
            ? logFailure(
                failure?.isDiskFull === true
                  ? "request rejected: the disk is full"
                  : "request rejected: overloaded",
                cause,
              )
            : logFailure("request failed", cause, Effect.logError)
        return Effect.andThen(Effect.annotateLogs(log, measured(refusal.status)), refused(refusal))
      }

      return placed(places, work).pipe(
        // Servers run requests uninterruptibly by default: a client that hangs up ends its request.
        Effect.interruptible,
        Effect.flatMap(accepted),
        Effect.catchTag("Refusal", refused),
        Effect.tap(answered),
        Effect.catchCause(failed),
      )
    })
  })

/** Builds the interface: an effect that answers one request and never fails. */
export const httpApp = Effect.flatMap(allParts, answerer)

/** Only health and metrics, for a process without an interface. */
export const monitoringApp = Effect.flatMap(Effect.map(watchedRoutes, watchedParts), answerer)

/** Serves the interface on the provided `HttpServer` while the layer lives. */
export const layerHttp = Layer.unwrap(Effect.map(httpApp, (app) => serve(app)))

// Metrics of requests. Labels are a part's prefix (`surface`), a path of a route table, a method
// and a status, never client input: so their number is bounded, and each is created on first use.

/** Replaces the status when the client left before there was an answer. */
const noAnswer = 0

const knownMethods = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])

/** Seconds. */
const boundaries = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

interface Route {
  readonly labels: Readonly<Record<string, string>>
  readonly duration: Metric.Histogram<number>
  readonly byStatus: Map<number, Metric.Counter<number>>
}

const makeRoute = (prefix: string, method: string, route: string): Route => {
  const labels = { surface: prefix, method, route }
  return {
    labels,
    duration: Metric.histogram("messaging_http_request_duration_seconds", {
      description: "Seconds from a request to its answer, the bytes of files aside.",
      attributes: labels,
      boundaries,
    }),
    byStatus: new Map(),
  }
}

const makeCounter = ({ labels }: Route, status: number) =>
  Metric.counter("messaging_http_requests_total", {
    description: "Requests that this process has answered, or whose client went away before.",
    attributes: { ...labels, status: status === noAnswer ? none : String(status) },
    incremental: true,
  })

/**
 * Makes the function that counts a request and its duration in seconds. It writes to the metrics
 * registry of the context that made it.
 */
const requestMeter = Effect.map(Effect.context<never>(), function makeMeter(context) {
  const routes = new Map<string, Route>()
  return function meter(
    prefix: string,
    { request, route }: IncomingRequest,
    status: number,
    seconds: number,
  ): void {
    const method = knownMethods.has(request.method) ? request.method : "other"
    const key = `${prefix} ${method} ${route}`
    let found = routes.get(key)
    if (found === undefined) {
      found = makeRoute(prefix, method, route)
      routes.set(key, found)
    }
    let counter = found.byStatus.get(status)
    if (counter === undefined) {
      counter = makeCounter(found, status)
      found.byStatus.set(status, counter)
    }
    counter.updateUnsafe(1, context)
    if (status !== noAnswer) found.duration.updateUnsafe(seconds, context)
  }
})

// The interface as a web-standard handler, which Express, Fastify, Hono, Next and others can mount

/** The interface's dependencies: core and ports; with an emulator also its `Emulator`. */
export type HttpServices = Exclude<
  Effect.Services<typeof httpApp> | Effect.Services<Effect.Success<typeof httpApp>>,
  HttpOptions | HttpServerRequest | Scope.Scope
>

export interface WebHandler {
  /** Answers every request; rejects only when the layer could not be built. */
  readonly handler: (request: Request) => Promise<Response>
  /** Ends everything that the layer started, such as workers and connections. */
  readonly dispose: () => Promise<void>
}

/** The same over existing services, while they live. */
export const webHandler = (
  services: Context.Context<HttpServices>,
  options: HttpSettings,
): Effect.Effect<WebHandler["handler"]> => {
  const context = Context.add(services, HttpOptions, options)
  return Effect.map(Effect.provideContext(httpApp, context), (app) => {
    const handler = toWebHandlerWith<
      HttpServices | HttpOptions,
      HttpServices | HttpServerRequest | Scope.Scope
    >(context)(app)
    return (request) => handler(request)
  })
}

/**
 * Builds the layer at once and answers requests with it until `dispose` is called. Requests that
 * come before the layer is ready wait for it. Logging, clock and the like come from the layer;
 * links in messages begin with `publicUrl`, as links in errors do.
 */
export const toWebHandler = <E>(
  layer: Layer.Layer<HttpServices, E>,
  options: HttpSettings,
): WebHandler => {
  const origin = Layer.effect(PublicUrl, getPublicUrl(options))
  const { dispose, handler } = toWebHandlerLayerWith(
    Layer.merge(Layer.provide(layer, origin), Layer.succeed(HttpOptions, options)),
    { toHandler: (context) => Effect.provideContext(httpApp, context) },
  )
  return { dispose, handler: (request) => handler(request) }
}
