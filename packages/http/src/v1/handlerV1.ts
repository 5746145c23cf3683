/** Version 1: the steps that every request under `/api/v1` goes through. */
import { Admission, MediaFiles, bearerToken } from "@messaging-service/core"
import type { Caller, CredentialsV1, RefusingPlaces, WorkspaceId } from "@messaging-service/core"
import { Effect, Result, Scope } from "effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import { HttpOptions } from "../HttpOptions.ts"
import { clientAddressReader } from "../request/ClientAddress.ts"
import { authorizationOf } from "../request/HeaderValues.ts"
import { takeWorkspaceShare } from "../route/IncomingRequest.ts"
import type { Handler, IncomingRequest } from "../route/IncomingRequest.ts"
import { routeFinder } from "../route/RouteTable.ts"
import type { FoundRoute } from "../route/RouteTable.ts"
import { errorPageReply, failV1, failureReply, refusalReplyV1 } from "./FailureV1.ts"
import type { FailureV1 } from "./FailureV1.ts"
import { integerOf, textOf, unreadable } from "./FieldsV1.ts"
import type { BodyV1 } from "./FieldsV1.ts"
import { readBodyV1, readQueryV1 } from "./readBodyV1.ts"
import { filePartsOf } from "./RouteV1.ts"
import type { RouteV1 } from "./RouteV1.ts"
import { makeUnknownCallers } from "./unknownCallers.ts"

/**
 * Who a request says it is: a `client_id` with an `api_key`, which may come as a bearer token instead.
 * The key is missed first, then the client id. Whether they are good is for the core to say.
 */
const credentialsOf = (
  { bearerOnly }: RouteV1,
  body: BodyV1,
  request: HttpServerRequest,
): Result.Result<Omit<CredentialsV1, "clientAddress">, FailureV1> => {
  const bearer = bearerToken(authorizationOf(request)) ?? null
  const apiKey = bearerOnly === true ? bearer : (textOf(body.one("api_key")) ?? bearer)
  if (apiKey === null) return Result.fail(failV1("missing_key"))
  if (bearerOnly === true) return Result.succeed({ clientId: null, apiKey })
  const clientId = integerOf(body.one("client_id"))
  if (clientId === null) return Result.fail(failV1("missing_client_id"))
  if (clientId === unreadable) return Result.fail(failV1("invalid_client_id"))
  return Result.succeed({ clientId, apiKey })
}

/** Answers requests of version 1, over the core's services (contract: Version 1: requests). */
export const makeHandlerV1 = Effect.fnUntraced(function* (
  routes: ReadonlyArray<RouteV1>,
  places: RefusingPlaces<WorkspaceId>,
) {
  const admission = yield* Admission
  const addressOf = clientAddressReader(yield* HttpOptions)
  const files = yield* MediaFiles
  const find = routeFinder(routes)
  const unknownCallers = makeUnknownCallers()

  const succeed = Effect.fnUntraced(function* (
    { query, request }: IncomingRequest,
    { parameter, route }: FoundRoute<RouteV1>,
  ) {
    const scope = yield* Effect.scope
    const { known, take } = yield* unknownCallers.open
    let admitted: { readonly caller: Caller; readonly as: string } | undefined

    /** Admits the caller of the request, once, as soon as its credentials are there. */
    const admit = Effect.fnUntraced(function* (body: BodyV1) {
      const credentials = yield* Effect.fromResult(credentialsOf(route, body, request))
      const as = `${credentials.clientId} ${credentials.apiKey}`
      // A field behind the file may name another caller: the last one counts.
      if (admitted?.as === as) return admitted.caller
      const caller = yield* admission.admitV1({ ...credentials, clientAddress: addressOf(request) })
      yield* takeWorkspaceShare(places, caller.workspace.id).pipe(Scope.provide(scope))
      yield* known
      admitted = { caller, as }
      return caller
    })

    /** What is still missing may stand behind the file. */
    const beforeFile = (body: BodyV1) =>
      Result.isFailure(credentialsOf(route, body, request)) ? Effect.void : admit(body)

    // Body, and in front of a file the credentials
    const { body, file } =
      route.method === "GET"
        ? yield* Effect.fromResult(readQueryV1(query))
        : yield* readBodyV1(request, filePartsOf(route), files, { take, beforeFile })

    // Credentials, account, rate limit, share of the requests under way
    const caller = yield* admit(body)

    // Fields, number, allowance, quota
    return { status: 200, body: yield* route.handler({ caller, body, file, parameter }) }
  }, Effect.scoped)

  const handler: Handler = (incoming) => {
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
