/** What the worker reads from the environment (operator API: configuration). */
import {
  CannotStart,
  isShared,
  readVariables,
  serviceSettings,
  serviceVariables,
} from "@messaging-service/runtime"
import type { Environment, ServiceSettings } from "@messaging-service/runtime"
import { Effect } from "effect"

/** Fails with one line that names what is wrong, before anything is started. */
export const readWorkerSettings = Effect.fnUntraced(function* (
  environment: Environment,
): Effect.fn.Return<ServiceSettings, CannotStart> {
  const settings = serviceSettings(yield* readVariables(serviceVariables, environment))
  if (!isShared(settings.store)) {
    return yield* new CannotStart({
      message:
        "DATABASE_URL must name the PostgreSQL of the server: " +
        "any other store belongs to one process",
    })
  }
  return settings
})
