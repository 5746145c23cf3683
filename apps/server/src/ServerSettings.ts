/** What the server reads from the environment (operator API: configuration). */
import {
  CannotStart,
  isShared,
  oneOf,
  readVariables,
  serviceSettings,
  serviceVariables,
  trueOrFalse,
  variable,
} from "@messaging-service/runtime"
import type { Environment, ServiceSettings } from "@messaging-service/runtime"
import { Effect, Redacted } from "effect"
import { isToken, tokenRule } from "./operatorToken.ts"

export interface ServerSettings {
  /** Null for the one that is kept in the data directory. */
  readonly operatorToken: Redacted.Redacted | null
  readonly trustProxy: boolean
  /** Whether this process runs the worker too. */
  readonly inlineWorker: boolean
  readonly seedExample: boolean
  readonly service: ServiceSettings
}

const serverVariables = {
  OPERATOR_TOKEN: variable(tokenRule, (text) => (isToken(text) ? Redacted.make(text) : undefined)),
  TRUST_PROXY: trueOrFalse,
  WORKER: oneOf("inline", "separate"),
  SEED_EXAMPLE: trueOrFalse,
}

/** Fails with one line that names what is wrong, before anything is started. */
export const readServerSettings = Effect.fnUntraced(function* (
  environment: Environment,
): Effect.fn.Return<ServerSettings, CannotStart> {
  const given = yield* readVariables({ ...serviceVariables, ...serverVariables }, environment)
  const service = serviceSettings(given)
  const inlineWorker = given.WORKER !== "separate"
  if (!inlineWorker && !isShared(service.store)) {
    return yield* new CannotStart({
      message:
        "WORKER must be inline unless DATABASE_URL names a PostgreSQL: " +
        "the worker app cannot share this store",
    })
  }
  return {
    operatorToken: given.OPERATOR_TOKEN ?? null,
    trustProxy: given.TRUST_PROXY ?? false,
    inlineWorker,
    seedExample: given.SEED_EXAMPLE ?? true,
    service,
  }
})
