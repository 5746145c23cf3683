/**
 * `/metrics` in the text format of Prometheus (contract: Open paths), open to everybody: what this
 * process has counted, and how the whole service stands. It answers without the store too.
 */
import { startCounting } from "@messaging-service/core"
import { Clock, Effect, Stream } from "effect"
import { format } from "effect/observability/PrometheusMetrics"
import type { Surface } from "../answer/Exchange.ts"
import { askStore } from "../health/askStore.ts"
import { findRoute } from "../route/findRoute.ts"
import { routeMatcher } from "../route/RouteTable.ts"
import { keptFigures } from "./keptFigures.ts"
import type { KeptFigures } from "./keptFigures.ts"
import { storeGauges } from "./storeGauges.ts"

const contentType = "text/plain; version=0.0.4; charset=utf-8"

/** `/metrics`. */
export const metricsSurface = Effect.gen(function* () {
  const { read } = yield* keptFigures
  const context = yield* Effect.context<never>()
  yield* startCounting
  const match = routeMatcher([{ method: "GET", path: "/metrics" }])

  const surface: Surface = Effect.fnUntraced(function* (exchange) {
    yield* Effect.fromResult(findRoute(match, exchange))
    const kept = yield* askStore<KeptFigures | null>(read, null)
    const gauges = yield* storeGauges(
      kept?.figures ?? null,
      kept?.at ?? (yield* Clock.currentTimeMillis),
    )
    const counted = yield* Effect.provideContext(format(), context)
    const bytes = new TextEncoder().encode(counted + gauges)
    return {
      status: 200,
      content: { contentType, length: bytes.length, bytes: Stream.make(bytes) },
    }
  })
  return surface
})
