/**
 * Tables of routes, and the route finder, built before the first request. A path is literal segments and ids
 * in braces (`/messages/{id}`). A literal wins over an id: `/messages/batch` is never a message.
 *
 * Effect's router answers another method on a known path with 404, but the contract wants 405 with `Allow`.
 * Its `HttpApi` checks credentials and then reads the whole request, but rate limit, scope and
 * `Idempotency-Key` come in between (contract: Order of checks). So table, finder and pipelines are our own.
 */
import { refuse } from "@messaging-service/core"
import type { Refusal } from "@messaging-service/core"
import { Result } from "effect"
import type { IncomingRequest } from "./IncomingRequest.ts"

type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE"

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

/** A route that was found. */
export interface FoundRoute<R> {
  readonly route: R
  /** The segment of the path with that name in braces. */
  readonly parameter: (name: string) => string
}

interface RouteNode<R> {
  readonly literals: Map<string, RouteNode<R>>
  parameter: RouteNode<R> | undefined
  readonly methods: Map<string, Leaf<R>>
}

interface Leaf<R> {
  readonly route: R
  readonly names: ReadonlyArray<string>
}

const emptyNode = <R>(): RouteNode<R> => ({
  literals: new Map(),
  parameter: undefined,
  methods: new Map(),
})

const parameterName = (segment: string): string | undefined => /^\{(\w+)\}$/.exec(segment)?.[1]

const allowed = <R>({ methods }: RouteNode<R>): string =>
  [...methods.keys()].flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : method)).join(", ")

/** The relevant properties of a request, and where the result is recorded. */
type Sought = Pick<IncomingRequest, "path" | "route" | "answerHeaders"> & {
  readonly request: { readonly method: string }
}

const unknown = Result.fail(refuse("not_found"))
const wrongMethod = Result.fail(refuse("method_not_allowed"))

/**
 * Makes the finder of a table. It sets the request's `route`, or fails with `not_found`, or with
 * `method_not_allowed` and the `Allow` header. GET's route answers HEAD. Paths come without a
 * trailing slash and are compared as sent: case-sensitive, not decoded.
 */
export const routeFinder = <R extends Route>(
  routes: ReadonlyArray<R>,
): ((incoming: Sought) => Result.Result<FoundRoute<R>, Refusal>) => {
  const root = emptyNode<R>()
  for (const route of routes) {
    let node = root
    const names: Array<string> = []
    for (const segment of route.path.split("/")) {
      const name = parameterName(segment)
      if (name === undefined) {
        const next = node.literals.get(segment) ?? emptyNode<R>()
        node.literals.set(segment, next)
        node = next
      } else {
        names.push(name)
        node = node.parameter ??= emptyNode<R>()
      }
    }
    node.methods.set(route.method, { route, names })
  }

  return function findRoute(incoming) {
    const { method } = incoming.request
    let node = root
    const values: Array<string> = []
    for (const segment of incoming.path.split("/")) {
      const literal = node.literals.get(segment)
      if (literal !== undefined) {
        node = literal
        continue
      }
      if (node.parameter === undefined || segment === "") return unknown
      values.push(segment)
      node = node.parameter
    }
    if (node.methods.size === 0) return unknown
    const leaf = node.methods.get(method === "HEAD" ? "GET" : method)
    if (leaf === undefined) {
      incoming.answerHeaders["allow"] = allowed(node)
      return wrongMethod
    }
    incoming.route = leaf.route.path
    return Result.succeed({
      route: leaf.route,
      parameter: (name) => values[leaf.names.indexOf(name)] ?? "",
    })
  }
}
