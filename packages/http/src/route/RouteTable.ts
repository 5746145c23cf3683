/**
 * Tables of routes, and the matcher made from one before the first request. A path is literal
 * segments and ids in braces (`/messages/{id}`); a literal wins over an id, so that
 * `/messages/batch` is never taken for a message.
 *
 * Effect's router answers another method on a known path with 404, where the contract wants 405 with
 * `Allow`. Its `HttpApi` checks the credentials and then reads the whole request, where the contract
 * wants rate limit, scope and `Idempotency-Key` in between. So the table, its matcher and the
 * pipelines are our own.
 */
import { refuse } from "@messaging-service/core"
import type { Refusal } from "@messaging-service/core"
import { Result } from "effect"
import type { IncomingRequest } from "./IncomingRequest.ts"

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE"

export interface Route {
  readonly method: Method
  readonly path: string
}

/** Such as `GET /messages/{id}`. */
export type MethodAndPath = `${Method} ${string}`

export const routeAt = (methodAndPath: MethodAndPath): Route => {
  const [method, path] = methodAndPath.split(" ") as [Method, string]
  return { method, path }
}

type Match<R> =
  | {
      readonly _tag: "Found"
      readonly route: R
      /** The segment that stands where the route's path has that name in braces. */
      readonly parameter: (name: string) => string
    }
  | { readonly _tag: "WrongMethod"; readonly allow: string }
  | { readonly _tag: "Unknown" }

interface Place<R> {
  readonly literals: Map<string, Place<R>>
  parameter: Place<R> | undefined
  readonly methods: Map<string, Leaf<R>>
}

interface Leaf<R> {
  readonly route: R
  readonly names: ReadonlyArray<string>
}

const emptyPlace = <R>(): Place<R> => ({
  literals: new Map(),
  parameter: undefined,
  methods: new Map(),
})

const parameterName = (segment: string): string | undefined => /^\{(\w+)\}$/.exec(segment)?.[1]

const unknown = { _tag: "Unknown" } as const

/**
 * Makes the matcher of a table. HEAD is answered by GET's route. Paths are given without trailing
 * slash and are compared as they were sent: case counts, and nothing is decoded.
 */
export const routeMatcher = <R extends Route>(
  routes: ReadonlyArray<R>,
): ((method: string, path: string) => Match<R>) => {
  const root = emptyPlace<R>()
  for (const route of routes) {
    let place = root
    const names: Array<string> = []
    for (const segment of route.path.split("/")) {
      const name = parameterName(segment)
      if (name === undefined) {
        const next = place.literals.get(segment) ?? emptyPlace<R>()
        place.literals.set(segment, next)
        place = next
      } else {
        names.push(name)
        place = place.parameter ??= emptyPlace<R>()
      }
    }
    place.methods.set(route.method, { route, names })
  }

  return (method, path) => {
    let place = root
    const values: Array<string> = []
    for (const segment of path.split("/")) {
      const literal = place.literals.get(segment)
      if (literal !== undefined) {
        place = literal
        continue
      }
      if (place.parameter === undefined || segment === "") return unknown
      values.push(segment)
      place = place.parameter
    }
    if (place.methods.size === 0) return unknown
    const leaf = place.methods.get(method === "HEAD" ? "GET" : method)
    if (leaf === undefined) return { _tag: "WrongMethod", allow: allowed(place) }
    return {
      _tag: "Found",
      route: leaf.route,
      parameter: (name) => values[leaf.names.indexOf(name)] ?? "",
    }
  }
}

const allowed = <R>({ methods }: Place<R>): string =>
  [...methods.keys()].flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : method)).join(", ")

/** A route, and what stands in its path. */
export type FoundRoute<R> = Extract<Match<R>, { readonly _tag: "Found" }>

/**
 * Finds the route and notes its path in the request. Fails with `not_found`, or with
 * `method_not_allowed` and the `Allow` header.
 */
export const findRoute = <R extends Route>(
  match: (method: string, path: string) => Match<R>,
  incoming: IncomingRequest,
): Result.Result<FoundRoute<R>, Refusal> => {
  const matched = match(incoming.request.method, incoming.path)
  if (matched._tag === "Unknown") return Result.fail(refuse("not_found"))
  if (matched._tag === "WrongMethod") {
    incoming.answerHeaders["allow"] = matched.allow
    return Result.fail(refuse("method_not_allowed"))
  }
  incoming.route = matched.route.path
  return Result.succeed(matched)
}
