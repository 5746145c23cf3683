/**
 * Links to the QR codes of numbers that are being connected (contract: Number status): open to
 * everybody who has one, and not to be cached, because each request shows the newest code.
 */
import { QrImages, QrLinks } from "@messaging-service/core"
import { Effect, Stream } from "effect"
import type { Surface } from "../answer/Exchange.ts"
import { findRoute } from "../route/findRoute.ts"
import { routeMatcher } from "../route/RouteTable.ts"

/** `/qr/{token}.png`. */
export const qrSurface = Effect.gen(function* () {
  const links = yield* QrLinks
  const images = yield* QrImages
  const match = routeMatcher([{ method: "GET", path: "/qr/{token}" }])

  const surface: Surface = Effect.fnUntraced(function* (exchange) {
    const { parameter } = yield* Effect.fromResult(findRoute(match, exchange))
    const png = yield* images.png(yield* links.read(parameter("token")))
    exchange.headers["x-content-type-options"] = "nosniff"
    return {
      status: 200,
      content: { contentType: "image/png", length: png.length, bytes: Stream.make(png) },
    }
  })
  return surface
})
