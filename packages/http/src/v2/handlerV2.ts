/** Version 2: the steps that every request under `/api/v2` goes through. */
import {
  Admission,
  MediaFiles,
  canonicalJson,
  fingerprint,
  parseId,
  parseIdempotencyKey,
  permit,
  ratePolicy,
} from "@messaging-service/core"
import type { RateState, RefusingPlaces, WorkspaceId } from "@messaging-service/core"
import { Effect, Result } from "effect"
import { HttpOptions } from "../HttpOptions.ts"
import { clientAddressReader } from "../request/ClientAddress.ts"
import { authorizationOf, headerValues } from "../request/HeaderValues.ts"
import { readRequest, readUpload } from "../request/readRequest.ts"
import { takeWorkspaceShare } from "../route/IncomingRequest.ts"
import type { Handler, IncomingRequest } from "../route/IncomingRequest.ts"
import { routeFinder } from "../route/RouteTable.ts"
import { meRoute } from "./me.ts"
import { mediaRoutes } from "./media.ts"
import { messageRoutes } from "./messages.ts"
import { numberCheckRoutes } from "./numberChecks.ts"
import { numberRoutes } from "./numbers.ts"
import { reminderRoutes } from "./reminders.ts"
import type { RouteV2 } from "./RouteV2.ts"
import { webhookRoutes } from "./webhooks.ts"

/** The table, over the core's services (contract: Operations of version 2). */
export const routesV2 = Effect.gen(function* () {
  return [
    meRoute,
    ...(yield* messageRoutes),
    ...(yield* numberRoutes),
    ...(yield* reminderRoutes),
    ...(yield* mediaRoutes),
    ...(yield* numberCheckRoutes),
    ...(yield* webhookRoutes),
  ]
})

const showRate = ({ answerHeaders: headers }: IncomingRequest, rate: RateState): void => {
  headers["ratelimit-limit"] = String(rate.limit)
  headers["ratelimit-remaining"] = String(rate.remaining)
  headers["ratelimit-reset"] = String(rate.reset)
  headers["ratelimit-policy"] = ratePolicy
}

/** Answers requests of version 2, over the core's services (contract: Order of checks). */
export const makeHandlerV2 = Effect.fnUntraced(function* (
  routes: ReadonlyArray<RouteV2>,
  places: RefusingPlaces<WorkspaceId>,
) {
  const admission = yield* Admission
  const addressOf = clientAddressReader(yield* HttpOptions)
  const files = yield* MediaFiles
  const find = routeFinder(routes)

  /** Counts a request that is answered 404 or 405; that answer stands even when the counting fails. */
  const note = (incoming: IncomingRequest) =>
    admission.noteV2(authorizationOf(incoming.request), addressOf(incoming.request)).pipe(
      Effect.map((rate) => (rate === null ? undefined : showRate(incoming, rate))),
      Effect.catchTag("StoreUnavailable", (error) =>
        Effect.annotateLogs(Effect.logWarning(error), { request_id: incoming.id }),
      ),
    )

  const handler: Handler = Effect.fnUntraced(function* (incoming) {
    const { request, path } = incoming

    // Route
    const found = find(incoming)
    if (Result.isFailure(found)) {
      yield* note(incoming)
      return yield* found.failure
    }
    const { parameter, route } = found.success

    // Key, workspace, rate limit
    const { caller } = yield* admission.admitV2(
      authorizationOf(request),
      addressOf(request),
      (rate) => showRate(incoming, rate),
    )

    // Share of the requests under way
    yield* takeWorkspaceShare(places, caller.workspace.id)

    // Scope, limited keys: the services ask the same gate, but only once the body was read
    yield* permit(caller, route.id)

    // Idempotency-Key
    const idempotencyKey =
      route.idempotent === true
        ? yield* Effect.fromResult(parseIdempotencyKey(headerValues(request, "idempotency-key")))
        : null

    // Content type, size, JSON or the form with a file; query
    const read = yield* readRequest(route.request, incoming, () => readUpload(request, files))

    // Fields, idempotency, and whatever depends on the clock or on stored state
    const input = {
      caller,
      id: <Id extends number>(name: string) => parseId<Id>(parameter(name)),
      request: read.request,
      idempotency:
        idempotencyKey === null
          ? null
          : {
              key: idempotencyKey,
              fingerprint: fingerprint(route.method, path, canonicalJson(read.fingerprinted)),
            },
    }
    const { status = 200 } = route
    if (route.idempotent !== true) return { status, body: yield* route.handler(input) }
    const { answer, replayed } = yield* route.handler(input)
    if (replayed) incoming.answerHeaders["idempotent-replayed"] = "true"
    return { status, body: answer }
  }, Effect.scoped)
  return handler
})
