/** Settings that the server reads from the environment (contract: Configuration). */
import { CannotStart, oneOf, readVariables, trueOrFalse } from "@messaging-service/node"
import type { Environment } from "@messaging-service/node"
import {
  isOperatorToken,
  isShared,
  operatorToken,
  portNumber,
  serviceSettings,
  serviceVariables,
  variableOf,
} from "@messaging-service/service/compose"
import type { SecretKind, ServiceSettings } from "@messaging-service/service/compose"
import { Effect } from "effect"
import type { Redacted } from "effect"

export interface ServerSettings {
  /** Null for the token in the data directory. */
  readonly operatorToken: Redacted.Redacted | null
  /** Address of the operator API; null for the main port. */
  readonly adminPort: number | null
  /** Address of the metrics; null for the main port. */
  readonly metricsPort: number | null
  readonly trustProxy: boolean
  /** Whether this process also runs the worker. */
  readonly inlineWorker: boolean
  readonly seedExample: boolean
  /** Whether it serves the dashboard, and with it browser sessions. */
  readonly dashboard: boolean
  readonly service: ServiceSettings
}

/** Letters and digits of a generated token: about 238 bits. */
const tokenLength = 40

/**
 * The operator's token when the configuration has none: the first start generates it and stores it in
 * the data directory (`OPERATOR_TOKEN`; contract: Configuration).
 */
export const operatorTokenKind: SecretKind = {
  name: "operator-token",
  what: "operator token",
  make: (ids) => ids.alphanumeric(tokenLength),
  isUsable: isOperatorToken,
  mend: () => "remove it to generate a new one",
}

const serverVariables = {
  OPERATOR_TOKEN: variableOf(operatorToken),
  ADMIN_PORT: portNumber,
  METRICS_PORT: portNumber,
  TRUST_PROXY: trueOrFalse,
  WORKER: oneOf("inline", "separate"),
  SEED_EXAMPLE: trueOrFalse,
  DASHBOARD: trueOrFalse,
}

const variables = { ...serviceVariables, ...serverVariables }

/** Names of all variables that it reads. */
export const serverVariableNames: ReadonlyArray<string> = Object.keys(variables)

/** Fails with one line that names the problem, before anything starts. */
export const readServerSettings = Effect.fnUntraced(function* readServerSettings(
  environment: Environment,
): Effect.fn.Return<ServerSettings, CannotStart> {
  const input = yield* readVariables(variables, environment)
  const service = yield* serviceSettings(input)
  const inlineWorker = input.WORKER !== "separate"
  if (!inlineWorker && !isShared(service.store)) {
    return yield* new CannotStart({
      message:
        "WORKER must be inline unless DATABASE_URL names a PostgreSQL: " +
        "the worker app cannot share this store",
    })
  }
  const adminPort = input.ADMIN_PORT ?? null
  const metricsPort = input.METRICS_PORT ?? null
  yield* differ({ PORT: service.port, ADMIN_PORT: adminPort, METRICS_PORT: metricsPort })
  return {
    adminPort,
    metricsPort,
    operatorToken: input.OPERATOR_TOKEN ?? null,
    trustProxy: input.TRUST_PROXY ?? false,
    inlineWorker,
    // Its number is a simulated phone.
    seedExample: service.transport.kind === "simulated" && (input.SEED_EXAMPLE ?? true),
    dashboard: input.DASHBOARD ?? true,
    service,
  }
})

/** Fails with a line that names both variables when two of them name one port. */
const differ = (ports: Readonly<Record<string, number | null>>): Effect.Effect<void, CannotStart> =>
  Effect.gen(function* () {
    const claimed = new Map<number, string>()
    for (const [name, port] of Object.entries(ports)) {
      if (port === null || port === 0) continue
      const other = claimed.get(port)
      if (other !== undefined) {
        return yield* new CannotStart({ message: `${name} must be another port than ${other}` })
      }
      claimed.set(port, name)
    }
  })
