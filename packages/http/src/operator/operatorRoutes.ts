/** The operations of the operator API (contract: Operator API). */
import { Effect } from "effect"
import { contactRoutes } from "./contacts.ts"
import { deliveryRoutes } from "./deliveries.ts"
import { keyRoutes } from "./keys.ts"
import { numberRoutes } from "./numbers.ts"
import type { EmulatorControls, OperatorRoute } from "./OperatorRoute.ts"
import { workspaceRoutes } from "./workspaces.ts"

/** The table, over the core's services; `emulator`: its controls, if they are served. */
export const operatorRoutes = Effect.fnUntraced(function* (emulator: EmulatorControls | null) {
  const routes: ReadonlyArray<OperatorRoute> = [
    ...(yield* workspaceRoutes),
    ...(yield* keyRoutes),
    ...(yield* numberRoutes),
    ...(yield* contactRoutes),
    ...(yield* deliveryRoutes),
    ...(emulator === null ? [] : yield* emulator),
  ]
  return routes
})
