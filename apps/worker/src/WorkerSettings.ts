/** What the worker reads from the environment (contract: Configuration). */
import { CannotStart, readVariables } from "@messaging-service/node"
import type { Environment } from "@messaging-service/node"
import {
  isShared,
  portNumber,
  serviceSettings,
  serviceVariables,
} from "@messaging-service/service/compose"
import type { ServiceSettings } from "@messaging-service/service/compose"
import { Effect } from "effect"

export interface WorkerSettings {
  /** Where health and metrics are served; null for nowhere. */
  readonly metricsPort: number | null
  readonly service: ServiceSettings
}

/** `PORT` is the server's, for links: it cannot also say where this process listens. */
const variables = { ...serviceVariables, METRICS_PORT: portNumber }

/** The names of all that it reads. */
export const workerVariableNames: ReadonlyArray<string> = Object.keys(variables)

/** Fails with one line that names what is wrong, before anything is started. */
export const readWorkerSettings = Effect.fnUntraced(function* readWorkerSettings(
  environment: Environment,
): Effect.fn.Return<WorkerSettings, CannotStart> {
  const given = yield* readVariables(variables, environment)
  const service = yield* serviceSettings(given)
  if (!isShared(service.store)) {
    return yield* new CannotStart({
      message:
        "DATABASE_URL must name the PostgreSQL of the server: " +
        "any other store belongs to one process",
    })
  }
  return { metricsPort: given.METRICS_PORT ?? null, service }
})
