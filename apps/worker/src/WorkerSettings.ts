/** Settings that the worker reads from the environment (contract: Configuration). */
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
  /** Address of health and metrics; null for none. */
  readonly metricsPort: number | null
  readonly service: ServiceSettings
}

/** `PORT` is the server's, for links: it cannot also name this process's port. */
const variables = { ...serviceVariables, METRICS_PORT: portNumber }

/** Names of all variables that it reads. */
export const workerVariableNames: ReadonlyArray<string> = Object.keys(variables)

/** Fails with one line that names the problem, before anything starts. */
export const readWorkerSettings = Effect.fnUntraced(function* readWorkerSettings(
  environment: Environment,
): Effect.fn.Return<WorkerSettings, CannotStart> {
  const input = yield* readVariables(variables, environment)
  const service = yield* serviceSettings(input)
  if (!isShared(service.store)) {
    return yield* new CannotStart({
      message:
        "DATABASE_URL must name the PostgreSQL of the server: " +
        "any other store belongs to one process",
    })
  }
  return { metricsPort: input.METRICS_PORT ?? null, service }
})
