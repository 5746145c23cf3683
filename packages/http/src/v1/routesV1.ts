/** The operations of version 1 (contract: Version 1 endpoints; decisions: Version 1). */
import { Effect } from "effect"
import { accountRoutes } from "./accountRoutes.ts"
import { messageRoutes } from "./messageRoutes.ts"
import type { RouteV1 } from "./RouteV1.ts"
import { sendRoutes } from "./sendRoutes.ts"

/** The table, over the core's services. */
export const routesV1 = Effect.gen(function* () {
  const routes: ReadonlyArray<RouteV1> = [
    ...(yield* sendRoutes),
    ...(yield* messageRoutes),
    ...(yield* accountRoutes),
  ]
  return routes
})
