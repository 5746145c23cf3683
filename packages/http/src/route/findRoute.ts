/** Where every surface begins: with the route of its table that the request is for. */
import { refuse } from "@messaging-service/core"
import type { Refusal } from "@messaging-service/core"
import { Result } from "effect"
import type { Exchange } from "../answer/Exchange.ts"
import type { Match, Route } from "./RouteTable.ts"

/** A route, and what stands in its path. */
export type FoundRoute<R> = Extract<Match<R>, { readonly _tag: "Found" }>

/**
 * Finds the route and notes its path in the exchange. Fails with `not_found`, or with
 * `method_not_allowed` and the `Allow` header.
 */
export const findRoute = <R extends Route>(
  match: (method: string, path: string) => Match<R>,
  exchange: Exchange,
): Result.Result<FoundRoute<R>, Refusal> => {
  const matched = match(exchange.request.method, exchange.path)
  if (matched._tag === "Unknown") return Result.fail(refuse("not_found"))
  if (matched._tag === "WrongMethod") {
    exchange.headers["allow"] = matched.allow
    return Result.fail(refuse("method_not_allowed"))
  }
  exchange.route = matched.route.path
  return Result.succeed(matched)
}
