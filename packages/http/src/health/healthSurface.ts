/** Whether the process runs and whether its store answers (operator API: configuration). */
import { ClockStore, refuse, sleepInRealTime } from "@messaging-service/core"
import { Effect } from "effect"
import type { Reply, Surface } from "../answer/Exchange.ts"
import { routeMatcher } from "../route/RouteTable.ts"
import type { Route } from "../route/RouteTable.ts"

/** How long the store may take to answer, in real time. */
const patience = "2 seconds"

const ok: Reply = { status: 200, body: { status: "ok" } }
const unavailable: Reply = { status: 503, body: { status: "unavailable" } }

interface HealthRoute extends Route {
  readonly handler: Effect.Effect<Reply>
}

/** `/health/live` and `/health/ready`, open to everybody. */
export const healthSurface = Effect.gen(function* () {
  const store = yield* ClockStore

  const ready = Effect.raceFirst(
    Effect.as(store.ping, ok),
    Effect.as(sleepInRealTime(patience), unavailable),
  ).pipe(
    Effect.catchTag("StoreUnavailable", () => Effect.succeed(unavailable)),
    Effect.catchDefect(() => Effect.succeed(unavailable)),
  )

  const match = routeMatcher<HealthRoute>([
    { method: "GET", path: "/health/live", handler: Effect.succeed(ok) },
    { method: "GET", path: "/health/ready", handler: ready },
  ])

  const surface: Surface = Effect.fnUntraced(function* (exchange) {
    const matched = match(exchange.request.method, exchange.path)
    if (matched._tag === "Unknown") return yield* refuse("not_found")
    if (matched._tag === "WrongMethod") {
      exchange.headers["allow"] = matched.allow
      return yield* refuse("method_not_allowed")
    }
    return yield* matched.route.handler
  })
  return surface
})
