/** The operator API: the steps that every request under `/admin/v1` goes through. */
import { Admission, parseId, refuse, roles } from "@messaging-service/core"
import type { Refusal, Role } from "@messaging-service/core"
import { Effect, Redacted, Result } from "effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import type { Handler } from "../route/IncomingRequest.ts"
import { HttpOptions } from "../HttpOptions.ts"
import { clientAddressReader, knownAddress } from "../request/ClientAddress.ts"
import { authorizationOf } from "../request/HeaderValues.ts"
import { readRequest } from "../request/readRequest.ts"
import { routeFinder } from "../route/RouteTable.ts"
import { contactRoutes } from "./contacts.ts"
import { deliveryRoutes } from "./deliveries.ts"
import { keyRoutes } from "./keys.ts"
import { numberRoutes } from "./numbers.ts"
import type { EmulatorControls, OperatorRoute } from "./OperatorRoute.ts"
import { restoreRoutes } from "./restore.ts"
import { telegramLoginRoutes } from "./telegramLogin.ts"
import { workspaceRoutes } from "./workspaces.ts"

/** The table, over the core's services; `emulator`: its controls, if they are served. */
export const operatorRoutes = Effect.fnUntraced(function* (emulator: EmulatorControls | null) {
  return [
    ...(yield* workspaceRoutes),
    ...(yield* keyRoutes),
    ...(yield* numberRoutes),
    ...(yield* telegramLoginRoutes),
    ...(yield* contactRoutes),
    ...(yield* deliveryRoutes),
    ...(yield* restoreRoutes),
    ...(emulator === null ? [] : yield* emulator),
  ]
})

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

const noUploads = new Error("No operation of the operator takes a file")

/** Answers requests of operators, who show that token, over the core's services. */
export const makeOperatorHandler = Effect.fnUntraced(function* (
  routes: ReadonlyArray<OperatorRoute>,
  token: Redacted.Redacted,
) {
  const admission = yield* Admission
  const addressOf = clientAddressReader(yield* HttpOptions)
  const find = routeFinder(routes)

  const handler: Handler = Effect.fnUntraced(function* (incoming) {
    const { request } = incoming

    // Route
    const { parameter, route } = yield* Effect.fromResult(find(incoming))

    // Token, role
    yield* admission.admitOperator(
      authorizationOf(request),
      Redacted.value(token),
      knownAddress(addressOf(request)),
    )
    const role = yield* Effect.fromResult(actingRole(request))

    // Content type, size, JSON; query
    const read = yield* readRequest(route.request, incoming, () => Effect.die(noUploads))

    // Roles, fields, and whatever depends on stored state
    const id = <Id extends number>(name: string) => parseId<Id>(parameter(name))
    const body = yield* route.handler({ role, id, request: read.request })
    return { status: route.status ?? 200, body }
  })
  return handler
})
