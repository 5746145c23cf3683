/** The operations of version 2 (contract: Operations of version 2). */
import { Effect } from "effect"
import { meRoute } from "./me.ts"
import { mediaRoutes } from "./media.ts"
import { messageRoutes } from "./messages.ts"
import { numberCheckRoutes } from "./numberChecks.ts"
import { numberRoutes } from "./numbers.ts"
import { reminderRoutes } from "./reminders.ts"
import type { RouteV2 } from "./RouteV2.ts"
import { webhookRoutes } from "./webhooks.ts"

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
