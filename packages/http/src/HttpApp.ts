/**
 * The whole HTTP interface as one effect from a request to its answer. Which part a request
 * belongs to follows from its path alone; what every answer has in common (request id, error object,
 * log line, what becomes of a fault) is settled here, once.
 */
import {
  Ids,
  Refusal,
  WorkGate,
  logTrouble,
  makeRefusingPlaces,
  rarely,
  refusalOfStore,
  refuse,
  sharedResources,
} from "@messaging-service/core"
import type { RefusingPlaces, StoreUnavailable, WorkspaceId } from "@messaging-service/core"
import { Cause, Effect, Layer } from "effect"
import { serve } from "effect/http/HttpServer"
import { HttpServerRequest } from "effect/http/HttpServerRequest"
import { empty, stream, text } from "effect/http/HttpServerResponse"
import type { HttpServerResponse } from "effect/http/HttpServerResponse"
import { none, receive, refusalReply, serviceBusy } from "./route/IncomingRequest.ts"
import type { IncomingRequest, Reply, Handler } from "./route/IncomingRequest.ts"
import { HttpOptions, docsUrlOf } from "./HttpOptions.ts"
import { docsRoutes } from "./open/docs.ts"
import { healthRoutes } from "./open/health.ts"
import { linkRoutes } from "./open/links.ts"
import { metricsRoute } from "./open/metrics.ts"
import { openHandler } from "./open/OpenRoute.ts"
import type { OpenRoute } from "./open/OpenRoute.ts"
import { apiDocument } from "./openapi/apiDocument.ts"
import { operatorRoutes, makeOperatorHandler } from "./operator/operatorHandler.ts"
import { noAnswer, requestMeter } from "./requestMeter.ts"
import { refusalReplyV1 } from "./v1/FailureV1.ts"
import { routesV1 } from "./v1/routesV1.ts"
import { makeHandlerV1 } from "./v1/handlerV1.ts"
import { routesV2, makeHandlerV2 } from "./v2/handlerV2.ts"

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
  const { customers = true, emulator, operatorToken } = yield* HttpOptions
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
      { prefix: "/api/v2", handler: yield* makeHandlerV2(v2, places), places, mayWork },
      {
        prefix: "/api/v1",
        handler: yield* makeHandlerV1(v1, places),
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
      handler: yield* makeOperatorHandler(operator, operatorToken),
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
