/** The operator API: the way that every request under `/admin/v1` takes. */
import { Admission, parseId, refuse, refuseQuery, roles } from "@messaging-service/core"
import type { Refusal, Role } from "@messaging-service/core"
import { Effect, Redacted, Result } from "effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import type { Surface } from "../answer/Exchange.ts"
import { HttpOptions } from "../HttpOptions.ts"
import { clientAddressReader } from "../request/ClientAddress.ts"
import { authorizationOf } from "../request/HeaderValues.ts"
import { readJson, readOptionalJson } from "../request/JsonBody.ts"
import { parseQuery } from "../request/Target.ts"
import { findRoute } from "../route/findRoute.ts"
import { routeMatcher } from "../route/RouteTable.ts"
import type { OperatorRoute } from "./OperatorRoute.ts"
import { operatorRoutes } from "./operatorRoutes.ts"

const isRole = (text: string): text is Role => (roles as ReadonlyArray<string>).includes(text)

/** The operator is the workspace's owner unless `Acting-Role` names another role. */
const actingRole = (request: HttpServerRequest): Result.Result<Role, Refusal> => {
  const role = request.headers["acting-role"] ?? "owner"
  return isRole(role)
    ? Result.succeed(role)
    : Result.fail(
        refuse("validation_failed", {
          field: "Acting-Role",
          message: `Acting-Role is one of ${roles.join(", ")}.`,
        }),
      )
}

const readBody = (request: HttpServerRequest, takes: OperatorRoute["takes"]) => {
  switch (takes) {
    case "json":
      return readJson(request)
    case "optional_json":
      return readOptionalJson(request)
    case "nothing":
    case "query":
      return Effect.undefined
  }
}

/** The operator API behind that token, over the core's services. */
export const operatorSurface = Effect.fnUntraced(function* (token: Redacted.Redacted) {
  const options = yield* HttpOptions
  const emulator = options.emulator === null ? [] : (yield* options.emulator).operations
  const admission = yield* Admission
  const addressOf = clientAddressReader(options)
  const match = routeMatcher<OperatorRoute>([
    ...(yield* operatorRoutes),
    ...emulator.map(({ route }) => route),
  ])

  const surface: Surface = Effect.fnUntraced(function* (exchange) {
    const { request } = exchange

    // Route
    const { parameter, route } = yield* Effect.fromResult(findRoute(match, exchange))

    // Token, role
    yield* admission.admitOperator(
      authorizationOf(request),
      Redacted.value(token),
      addressOf(request),
    )
    const role = yield* Effect.fromResult(actingRole(request))

    // Content type, size, JSON
    const body = yield* readBody(request, route.takes)
    const query = yield* Effect.fromResult(parseQuery(exchange.query))
    if (route.takes !== "query") yield* Effect.fromResult(refuseQuery(query))

    // Fields, roles, and whatever depends on stored state
    const id = <Id extends number>(name: string) => parseId<Id>(parameter(name))
    return { status: route.status, body: yield* route.handler({ role, id, query, body }) }
  })
  return surface
})
