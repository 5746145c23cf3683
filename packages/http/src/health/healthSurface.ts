/**
 * Whether the process runs, and whether its store answers and more can be written (contract: Open
 * paths).
 */
import { ClockStore, MediaFiles, filesUnavailable } from "@messaging-service/core"
import { Effect } from "effect"
import type { Reply, Surface } from "../answer/Exchange.ts"
import { findRoute } from "../route/findRoute.ts"
import { routeMatcher } from "../route/RouteTable.ts"
import type { Route } from "../route/RouteTable.ts"
import { askStore } from "./askStore.ts"

const ok: Reply = { status: 200, body: { status: "ok" } }
const unavailable: Reply = { status: 503, body: { status: "unavailable" } }

interface HealthRoute extends Route {
  readonly handler: Effect.Effect<Reply>
}

/** `/health/live` and `/health/ready`, open to everybody. */
export const healthSurface = Effect.gen(function* () {
  const store = yield* ClockStore
  const files = yield* MediaFiles

  const ready = Effect.andThen(
    Effect.mapError(files.ready, filesUnavailable("health.ready")),
    store.ping,
  ).pipe(Effect.as(ok), (asked) => askStore(asked, unavailable))

  const match = routeMatcher<HealthRoute>([
    { method: "GET", path: "/health/live", handler: Effect.succeed(ok) },
    { method: "GET", path: "/health/ready", handler: ready },
  ])

  const surface: Surface = Effect.fnUntraced(function* (exchange) {
    const { route } = yield* Effect.fromResult(findRoute(match, exchange))
    return yield* route.handler
  })
  return surface
})
