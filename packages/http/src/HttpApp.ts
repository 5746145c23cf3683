/**
 * The whole HTTP interface as one effect from a request to its answer. Which part a request
 * belongs to follows from its path alone; what every answer has in common (request id, error object,
 * log line, what becomes of a fault) is settled here, once.
 */
import {
  Ids,
  logTrouble,
  makeRefusingPlaces,
  PublicUrl,
  rarely,
  Refusal,
  refusalOfStore,
  refuse,
  sharedResources,
  WorkGate,
} from "@messaging-service/core"
import type { RefusingPlaces, StoreUnavailable, WorkspaceId } from "@messaging-service/core"
import { Cause, Context, Effect, Layer, Metric } from "effect"
import { toWebHandlerLayerWith, toWebHandlerWith } from "effect/http/HttpEffect"
import { serve } from "effect/http/HttpServer"
import { HttpServerRequest } from "effect/http/HttpServerRequest"
import { empty, stream, text } from "effect/http/HttpServerResponse"
import type { HttpServerResponse } from "effect/http/HttpServerResponse"
import { openHandler } from "./Entry.ts"
import type { OpenRoute } from "./Entry.ts"
import { docsUrlOf, HttpOptions, publicUrlOf } from "./HttpOptions.ts"
import type { HttpSettings } from "./HttpOptions.ts"
import { clientAddressReader, none, receive, refusalReply, serviceBusy } from "./IncomingRequest.ts"
import type { Handler, IncomingRequest, Reply } from "./IncomingRequest.ts"
import { docsRoutes } from "./open/docs.ts"
import { linkRoutes } from "./open/links.ts"
import { healthRoutes, metricsRoute } from "./open/monitoring.ts"
import { apiDocument } from "./openapi/document.ts"
import { deliveryRoutes as deliveryOperatorRoutes } from "./operator/deliveries.ts"
import {
  numberRoutes as numberOperatorRoutes,
  telegramLoginRoutes as telegramLoginOperatorRoutes,
} from "./operator/numbers.ts"
import { makeOperatorHandler } from "./operator/pipeline.ts"
import type { EmulatorControls } from "./operator/pipeline.ts"
import { restoreRoutes as restoreOperatorRoutes } from "./operator/restore.ts"
import {
  contactRoutes as contactOperatorRoutes,
  keyRoutes as keyOperatorRoutes,
  workspaceRoutes as workspaceOperatorRoutes,
} from "./operator/workspaces.ts"
import { refusalReplyV1 } from "./v1/failures.ts"
import { makeHandlerV1 } from "./v1/pipeline.ts"
import { reminderRoutes as reminderRoutesV1 } from "./v1/reminders.ts"
import {
  mediaRoutes as mediaRoutesV1,
  meRoute as meRouteV1,
  messageRoutes as messageRoutesV1,
  numberRoutes as numberRoutesV1,
  verificationRoutes as verificationRoutesV1,
} from "./v1/routes.ts"
import { sendRoutes as sendRoutesV1 } from "./v1/send.ts"
import { meRoute as meRouteV2 } from "./v2/me.ts"
import { mediaRoutes as mediaRoutesV2 } from "./v2/media.ts"
import { messageRoutes as messageRoutesV2 } from "./v2/messages.ts"
import { numberCheckRoutes as numberCheckRoutesV2 } from "./v2/numberChecks.ts"
import { numberRoutes as numberRoutesV2 } from "./v2/numbers.ts"
import { makeHandlerV2 } from "./v2/pipeline.ts"
import { reminderRoutes as reminderRoutesV2 } from "./v2/reminders.ts"
import { webhookRoutes as webhookRoutesV2 } from "./v2/webhooks.ts"

// Counts requests and how long their answers took. The labels are the prefix of a part of the interface
// (`surface`), a path of a route table, a method and a status, never what a client made up: so there are
// only so many, and each is made when it is first met.

/** In place of a status, when the client went away before there was an answer. */
const noAnswer = 0

const knownMethods = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])

/** Seconds. */
const boundaries = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

interface Route {
  readonly labels: Readonly<Record<string, string>>
  readonly duration: Metric.Histogram<number>
  readonly byStatus: Map<number, Metric.Counter<number>>
}

const routeOf = (prefix: string, method: string, route: string): Route => {
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

const counterOf = ({ labels }: Route, status: number) =>
  Metric.counter("messaging_http_requests_total", {
    description: "Requests that this process has answered, or whose client went away before.",
    attributes: { ...labels, status: status === noAnswer ? none : String(status) },
    incremental: true,
  })

/**
 * Makes the function that counts a request, and how many seconds it took. It writes to the registry of
 * metrics of the context in which it was made.
 */
const requestMeter = Effect.map(Effect.context<never>(), (context) => {
  const routes = new Map<string, Route>()
  return (
    prefix: string,
    { request, route }: IncomingRequest,
    status: number,
    seconds: number,
  ): void => {
    const method = knownMethods.has(request.method) ? request.method : "other"
    const key = `${prefix} ${method} ${route}`
    let found = routes.get(key)
    if (found === undefined) {
      found = routeOf(prefix, method, route)
      routes.set(key, found)
    }
    let counter = found.byStatus.get(status)
    if (counter === undefined) {
      counter = counterOf(found, status)
      found.byStatus.set(status, counter)
    }
    counter.updateUnsafe(1, context)
    if (status !== noAnswer) found.duration.updateUnsafe(seconds, context)
  }
})

/** The table, over the core's services (contract: Operations of version 2). */
const routesV2 = Effect.gen(function* () {
  return [
    meRouteV2,
    ...(yield* messageRoutesV2),
    ...(yield* numberRoutesV2),
    ...(yield* reminderRoutesV2),
    ...(yield* mediaRoutesV2),
    ...(yield* numberCheckRoutesV2),
    ...(yield* webhookRoutesV2),
  ]
})

/** The operations of version 1 (contract: Version 1). */
const routesV1 = Effect.gen(function* () {
  return [
    ...(yield* sendRoutesV1),
    ...(yield* messageRoutesV1),
    yield* meRouteV1,
    ...(yield* mediaRoutesV1),
    ...(yield* reminderRoutesV1),
    ...(yield* verificationRoutesV1),
    ...(yield* numberRoutesV1),
  ]
})

/** The table, over the core's services; `emulator`: its controls, if they are served. */
const operatorRoutes = Effect.fnUntraced(function* (emulator: EmulatorControls | null) {
  return [
    ...(yield* workspaceOperatorRoutes),
    ...(yield* keyOperatorRoutes),
    ...(yield* numberOperatorRoutes),
    ...(yield* telegramLoginOperatorRoutes),
    ...(yield* contactOperatorRoutes),
    ...(yield* deliveryOperatorRoutes),
    ...(yield* restoreOperatorRoutes),
    ...(emulator === null ? [] : yield* emulator),
  ]
})

/** A part of the interface, and where requests to it find their places. */
interface Part {
  readonly prefix: string
  readonly handler: Handler
  readonly places: Pick<RefusingPlaces<never>, "take" | "giveBack">
  /** Refuses every request while this process must not work. */
  readonly mayWork?: Effect.Effect<void, Refusal>
  /** Words its refusals and faults; as the error object when left out. */
  readonly sayNo?: typeof refusalReply
}

/** Paths outside every part: 404, which takes no place. */
const nowhere: Part = {
  prefix: none,
  handler: () => Effect.fail(refuse("not_found")),
  places: { take: () => true, giveBack: () => undefined },
}

/** The first part under whose prefix the path lies. */
const partOf = (parts: ReadonlyArray<Part>, path: string): Part => {
  for (const part of parts) {
    const { prefix } = part
    if (path.startsWith(prefix) && (path.length === prefix.length || path[prefix.length] === "/")) {
      return part
    }
  }
  return nowhere
}

const response = (
  { answerHeaders: headers }: IncomingRequest,
  reply: Reply,
): HttpServerResponse => {
  const { status } = reply
  if ("body" in reply) {
    return text(JSON.stringify(reply.body), { status, headers, contentType: "application/json" })
  }
  if (!("content" in reply)) return empty({ status, headers })
  const { bytes, contentType, length } = reply.content
  return stream(bytes, { status, headers, contentType, contentLength: length })
}

/** The rest of such a path is a key to what it leads to, and so is not logged. */
const secretPath = /^\/(media|qr)\/.*/

/** For the log: never a query, a header, a body or a link, which hold keys, phones and texts. */
const annotations = (incoming: IncomingRequest, status: number, millis: number) => ({
  request_id: incoming.id,
  method: incoming.request.method,
  path: incoming.path.replace(secretPath, "/$1/…"),
  status,
  duration_ms: Math.round(millis),
})

/** A client that hung up is no fault, and gets no answer. */
const interruptsOf = (cause: Cause.Cause<unknown>): Cause.Cause<never> =>
  Cause.fromReasons(cause.reasons.filter(Cause.isInterruptReason))

const faultRefusal = (cause: Cause.Cause<StoreUnavailable>): Refusal => {
  const failure = cause.reasons.find(Cause.isFailReason)
  return failure === undefined ? refuse("internal_error") : refusalOfStore(failure.error)
}

/** The parts for those routes: one for each first segment of their paths. */
const openParts = (
  routes: ReadonlyArray<OpenRoute>,
  places: Part["places"],
): ReadonlyArray<Part> => {
  const handler = openHandler(routes)
  const prefixes = new Set(routes.map(({ path }) => path.split("/", 2).join("/")))
  return [...prefixes].map((prefix) => ({ prefix, handler, places }))
}

/** Health and metrics, which need no key. */
const watchedRoutes = Effect.gen(function* () {
  const { metrics = true } = yield* HttpOptions
  return [...(yield* healthRoutes), ...(metrics ? [yield* metricsRoute] : [])]
})

const watchedParts = (routes: ReadonlyArray<OpenRoute>): ReadonlyArray<Part> =>
  openParts(routes, makeRefusingPlaces(sharedResources.watchingRequests))

const allParts = Effect.gen(function* () {
  const options = yield* HttpOptions
  const { customers = true, emulator, operatorToken } = options
  const addressOf = clientAddressReader(options)
  const v2 = customers ? yield* routesV2 : []
  const v1 = customers ? yield* routesV1 : []
  const links = customers ? yield* linkRoutes : []
  const operator = operatorToken === null ? [] : yield* operatorRoutes(emulator)
  const watched = yield* watchedRoutes
  const docs = yield* docsRoutes((pages, publicUrl) =>
    apiDocument({ v2, v1, operator, open: [...links, ...watched, ...pages] }, publicUrl),
  )
  const places = makeRefusingPlaces<WorkspaceId>(sharedResources.requests)
  const { pass: mayWork } = yield* WorkGate
  const parts: Array<Part> = []
  if (customers) {
    parts.push(
      { prefix: "/api/v2", handler: yield* makeHandlerV2(v2, places, addressOf), places, mayWork },
      {
        prefix: "/api/v1",
        handler: yield* makeHandlerV1(v1, places, addressOf),
        places,
        mayWork,
        sayNo: (incoming, refusal) => refusalReplyV1(incoming, refusal),
      },
    )
  }
  parts.push(...openParts(links, places))
  if (operatorToken !== null) {
    parts.push({
      prefix: "/admin/v1",
      handler: yield* makeOperatorHandler(operator, operatorToken, addressOf),
      places: makeRefusingPlaces(sharedResources.operatorRequests),
    })
  }
  parts.push(...openParts(docs, places), ...watchedParts(watched))
  return parts
})

/** Does the work if there is a place for it; else it is refused before any work. */
const placed = <A, E>(places: Part["places"], work: () => Effect.Effect<A, E>) =>
  Effect.acquireUseRelease(
    Effect.sync(() => places.take()),
    (taken): Effect.Effect<A, E | Refusal> => (taken ? work() : Effect.fail(serviceBusy)),
    (taken) => (taken ? Effect.sync(() => places.giveBack()) : Effect.void),
  )

/** What answers one request by those parts, and never fails. */
const answerer = Effect.fnUntraced(function* (parts: ReadonlyArray<Part>) {
  const ids = yield* Ids
  const meter = yield* requestMeter
  const options = yield* HttpOptions
  const { cameTooLate, cutOff } = options
  // How far it came is not known, so that it is no refusal after which all may be repeated.
  const ended =
    cutOff === undefined ? null : Effect.andThen(cutOff, Effect.fail(refuse("internal_error")))
  const docsUrl = docsUrlOf(options)

  const answer = (request: HttpServerRequest) => {
    const started = performance.now()
    const incoming = receive(request, ids)

    const { handler, mayWork, places, prefix, sayNo = refusalReply } = partOf(parts, incoming.path)

    const refused = (refusal: Refusal) =>
      Effect.map(docsUrl, (url) => response(incoming, sayNo(incoming, refusal, url)))

    /** Counts the request; how long it took, in milliseconds. */
    const measured = (status: number): number => {
      const millis = performance.now() - started
      meter(prefix, incoming, status, millis / 1000)
      return millis
    }

    const answered = ({ status }: HttpServerResponse) =>
      // A refusal because there is no room is not a fault, and a log line for each would add to the
      // load.
      (status < 500 || (status === 503 && incoming.answerHeaders["retry-after"] !== undefined)
        ? Effect.logDebug("request answered")
        : rarely(
            "request answered with a fault",
            (heldBack) =>
              Effect.annotateLogs(
                Effect.logError("request answered with a fault"),
                heldBack === 0 ? {} : { held_back: heldBack },
              ),
            Effect.logDebug("request answered with a fault"),
          )
      ).pipe(Effect.annotateLogs(annotations(incoming, status, measured(status))))

    const fault = (cause: Cause.Cause<StoreUnavailable>) => {
      if (Cause.hasInterruptsOnly(cause)) {
        measured(noAnswer)
        return Effect.failCause(interruptsOf(cause))
      }
      const refusal = faultRefusal(cause)
      const { status } = refusal
      return (
        status === 503
          ? logTrouble("request without room", cause)
          : logTrouble("request failed", cause, Effect.logError)
      ).pipe(
        Effect.annotateLogs(annotations(incoming, status, measured(status))),
        Effect.andThen(refused(refusal)),
      )
    }

    const isLate = request.source instanceof Request && cameTooLate?.(request.source) === true
    const work = () => {
      if (isLate) return Effect.fail(serviceBusy)
      const handled =
        mayWork === undefined ? handler(incoming) : Effect.andThen(mayWork, handler(incoming))
      return ended === null ? handled : Effect.raceFirst(handled, ended)
    }

    return placed(places, work).pipe(
      // Servers run a request uninterrupted unless told so: a client that hangs up ends its request.
      Effect.interruptible,
      Effect.map((reply) => response(incoming, reply)),
      Effect.catchTag("Refusal", refused),
      Effect.tap(answered),
      Effect.catchCause(fault),
    )
  }
  return Effect.flatMap(HttpServerRequest, answer)
})

/**
 * Builds the interface over the core's services, which are looked up once, here. The effect that
 * comes out of it answers one request and never fails.
 */
export const httpApp = Effect.flatMap(allParts, answerer)

/** Health and metrics alone, for a process that serves nothing else. */
export const monitoringApp = Effect.flatMap(Effect.map(watchedRoutes, watchedParts), answerer)

/** Serves the interface on the `HttpServer` that is provided, as long as the layer lives. */
export const layerHttp = Layer.unwrap(Effect.map(httpApp, (app) => serve(app)))

// The interface as a web-standard handler, so that Express, Fastify, Hono, Next or any other server
// can mount it in its own process.

/** What the interface needs of the core and its ports; with an emulator also its `Emulator`. */
export type HttpServices = Exclude<Effect.Services<typeof httpApp>, HttpOptions>

export interface WebHandler {
  /** Answers every request; rejects only when the layer could not be built. */
  readonly handler: (request: Request) => Promise<Response>
  /** Ends what the layer started, such as workers and connections. */
  readonly dispose: () => Promise<void>
}

/** The same over services that are there already, for as long as they are. */
export const webHandler = (
  services: Context.Context<HttpServices>,
  options: HttpSettings,
): Effect.Effect<WebHandler["handler"]> => {
  const context = Context.add(services, HttpOptions, options)
  return Effect.map(Effect.provideContext(httpApp, context), (app) => {
    const handler = toWebHandlerWith<HttpServices | HttpOptions, HttpServerRequest>(context)(app)
    return (request) => handler(request)
  })
}

/**
 * Builds the layer at once and answers requests with it until `dispose` is called. Requests that
 * come before the layer is ready wait for it. Logging, clock and the like are those that the layer
 * provides beside the services; links in messages begin with `publicUrl` as those in errors do.
 */
export const toWebHandler = <E>(
  layer: Layer.Layer<HttpServices, E>,
  options: HttpSettings,
): WebHandler => {
  const origin = Layer.effect(PublicUrl, publicUrlOf(options))
  const { dispose, handler } = toWebHandlerLayerWith(
    Layer.merge(Layer.provide(layer, origin), Layer.succeed(HttpOptions, options)),
    { toHandler: (context) => Effect.provideContext(httpApp, context) },
  )
  return { dispose, handler: (request) => handler(request) }
}
