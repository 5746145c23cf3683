/** The operations of version 1 (contract: Version 1). */
import { Effect } from "effect"
import { accountRoutes } from "./accountRoutes.ts"
import { mediaRoutes } from "./mediaRoutes.ts"
import { messageRoutes } from "./messageRoutes.ts"
import { numberRoutes } from "./numberRoutes.ts"
import { reminderRoutes } from "./reminderRoutes.ts"
import type { RouteV1 } from "./RouteV1.ts"
import { sendRoutes } from "./sendRoutes.ts"
import { verificationRoutes } from "./verificationRoutes.ts"

/** The table, over the core's services. */
export const routesV1 = Effect.gen(function* () {
  const routes: ReadonlyArray<RouteV1> = [
    ...(yield* sendRoutes),
    ...(yield* messageRoutes),
    ...(yield* accountRoutes),
    ...(yield* mediaRoutes),
    ...(yield* reminderRoutes),
    ...(yield* verificationRoutes),
    ...(yield* numberRoutes),
  ]
  return routes
})
