/** The operations of version 2 (contract: Operations of version 2). */
import { KeyInfo, keyInfo } from "@messaging-service/core"
import { Effect } from "effect"
import { examples } from "../openapi/examples.ts"
import { mediaRoutes } from "./media.ts"
import { messageRoutes } from "./messages.ts"
import { numberCheckRoutes } from "./numberChecks.ts"
import { numberRoutes } from "./numbers.ts"
import { reminderRoutes } from "./reminders.ts"
import { routeV2 } from "./RouteV2.ts"
import type { RouteV2 } from "./RouteV2.ts"
import { webhookRoutes } from "./webhooks.ts"

/** The key itself. */
const meRoute = routeV2({
  method: "GET",
  path: "/api/v2/me",
  id: "getKeyInfo",
  tag: "Account",
  summary: "Check the key",
  about: "What the key is and may do. Sends nothing.",
  success: "What the key is and may do.",
  answer: KeyInfo,
  example: examples.keyInfo,
  handler: ({ caller }) => Effect.succeed(keyInfo(caller)),
})

/** The table, over the core's services. */
export const routesV2 = Effect.gen(function* () {
  const routes: ReadonlyArray<RouteV2> = [
    meRoute,
    ...(yield* messageRoutes),
    ...(yield* numberRoutes),
    ...(yield* reminderRoutes),
    ...(yield* mediaRoutes),
    ...(yield* numberCheckRoutes),
    ...(yield* webhookRoutes),
  ]
  return routes
})
