/** Version 1: the way that every request under `/api/v1` takes. */
import { Admission, MediaFiles } from "@messaging-service/core"
import type { RefusingPlaces, WorkspaceId } from "@messaging-service/core"
import { Effect, Result } from "effect"
import type { Exchange, Reply, Surface } from "../answer/Exchange.ts"
import { HttpOptions } from "../HttpOptions.ts"
import { clientAddressReader } from "../request/ClientAddress.ts"
import { takeWorkspaceShare } from "../request/workspaceShare.ts"
import type { FoundRoute } from "../route/findRoute.ts"
import { findRoute } from "../route/findRoute.ts"
import { routeMatcher } from "../route/RouteTable.ts"
import { credentialsOf } from "./credentialsV1.ts"
import { errorPageReply, failureReply, refusalReplyV1 } from "./FailureV1.ts"
import { readBodyV1, readQueryV1 } from "./readBodyV1.ts"
import { filePartsOf } from "./RouteV1.ts"
import type { RouteV1 } from "./RouteV1.ts"
import { routesV1 } from "./routesV1.ts"

/** Version 1 over the core's services. The checks stand in the order of `decisions.md`. */
export const surfaceV1 = Effect.fnUntraced(function* (places: RefusingPlaces<WorkspaceId>) {
  const admission = yield* Admission
  const addressOf = clientAddressReader(yield* HttpOptions)
  const files = yield* MediaFiles
  const match = routeMatcher<RouteV1>(yield* routesV1)

  const succeed = Effect.fnUntraced(function* (
    { query, request }: Exchange,
    { parameter, route }: FoundRoute<RouteV1>,
  ) {
    // Body
    const { body, file } =
      route.method === "GET"
        ? yield* Effect.fromResult(readQueryV1(query))
        : yield* readBodyV1(request, filePartsOf(route), files)

    // Credentials, account, rate limit
    const credentials = yield* Effect.fromResult(credentialsOf(route, body, request))
    const caller = yield* admission.admitV1({ ...credentials, clientAddress: addressOf(request) })

    // Share of the requests under way
    yield* takeWorkspaceShare(places, caller.workspace.id)

    // Fields, number, allowance, quota
    const answer: Reply = {
      status: 200,
      body: yield* route.handler({ caller, body, file, parameter }),
    }
    return answer
  }, Effect.scoped)

  const surface: Surface = (exchange) => {
    // Method
    const found = findRoute(match, exchange)
    if (Result.isFailure(found)) return Effect.fail(found.failure)
    const { texts } = found.success.route
    return succeed(exchange, found.success).pipe(
      Effect.catchTags({
        FailureV1: (failure) => Effect.succeed(failureReply(failure, texts)),
        Refusal: (refusal) => Effect.succeed(refusalReplyV1(exchange, refusal, texts)),
        ErrorPageV1: () => Effect.succeed(errorPageReply(exchange)),
      }),
    )
  }
  return surface
})
