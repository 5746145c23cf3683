/** Whether the process runs and whether its store answers (operator API: configuration). */
import { ClockStore } from "@messaging-service/core"
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

  const ready = askStore(Effect.as(store.ping, ok), unavailable)

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
