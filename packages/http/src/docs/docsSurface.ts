/** The pages that answers link to, open to everybody. */
import { Effect, Stream } from "effect"
import type { Surface } from "../answer/Exchange.ts"
import { findRoute } from "../route/findRoute.ts"
import { routeMatcher } from "../route/RouteTable.ts"
import { errorPage } from "./errorPage.ts"

/** `/docs/errors`: where `docs` of every error points. */
export const docsSurface: Surface = (() => {
  const match = routeMatcher([{ method: "GET", path: "/docs/errors" }])
  const page = new TextEncoder().encode(errorPage)

  return Effect.fnUntraced(function* (exchange) {
    yield* Effect.fromResult(findRoute(match, exchange))
    exchange.headers["content-security-policy"] = "default-src 'none'; style-src 'unsafe-inline'"
    exchange.headers["x-content-type-options"] = "nosniff"
    return {
      status: 200,
      content: {
        contentType: "text/html; charset=utf-8",
        length: page.length,
        bytes: Stream.make(page),
      },
    }
  })
})()
