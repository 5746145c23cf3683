/**
 * What stands beside a route in the document: everything that its table does not say. There is one
 * for each route of a table and none besides; the compiler sees to both.
 */
import type { Schema } from "effect"
import type { Route } from "../route/RouteTable.ts"
import type { Refused } from "./errors.ts"
import type { Content } from "./Operation.ts"

export interface Description {
  /** Unique in the whole document. */
  readonly id: string
  readonly tag: string
  /** A few words, such as "Send a message". */
  readonly summary: string
  readonly about?: string
  readonly query?: Schema.Top
  readonly body?: Content
  /** What success means. */
  readonly success: string
  readonly answer: Content
  /** Beside those that every operation of the surface can answer. */
  readonly refused?: ReadonlyArray<Refused>
}

/** A route's key among the descriptions, such as `GET /api/v2/me`. */
export type RouteKey<R extends Route> = R extends Route ? `${R["method"]} ${R["path"]}` : never

export type Descriptions<R extends Route> = Readonly<Record<RouteKey<R>, Description>>

/** Each route with its description. */
export const describe = <R extends Route, A>(
  routes: ReadonlyArray<R>,
  descriptions: Readonly<Record<RouteKey<R>, A>>,
): ReadonlyArray<{ readonly route: R; readonly description: A }> =>
  routes.map((route) => ({
    route,
    description: descriptions[`${route.method} ${route.path}` as RouteKey<R>],
  }))
