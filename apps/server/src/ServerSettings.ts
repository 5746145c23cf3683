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
import { isToken } from "./operatorToken.ts"

export interface ServerSettings {
  readonly host: string
  /** 0 for any that is free. */
  readonly port: number
  /** An origin; null for the address that is really bound. */
  readonly publicUrl: string | null
  /** Null for the one that is kept in the data directory. */
  readonly operatorToken: Redacted.Redacted | null
  readonly trustProxy: boolean
  /** Whether this process runs the worker too. */
  readonly inlineWorker: boolean
  readonly seedExample: boolean
  readonly service: ServiceSettings
}

const parsePort = (text: string): number | undefined => {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN
  return port <= 65_535 ? port : undefined
}

/** An origin, with or without the slash behind it. */
const parseOrigin = (text: string): string | undefined => {
  if (!URL.canParse(text)) return undefined
  const { href, origin, protocol } = new URL(text)
  return /^https?:$/.test(protocol) && href === `${origin}/` ? origin : undefined
}

const serverVariables = {
  PORT: variable("a whole number from 0 to 65535", parsePort),
  HOST: variable("a host name or an address", (text) =>
    /^[\w.:%-]+$/.test(text) ? text : undefined,
  ),
  PUBLIC_URL: variable("an origin such as https://messages.example.com", parseOrigin),
  OPERATOR_TOKEN: variable("printable ASCII characters", (text) =>
    isToken(text) ? Redacted.make(text) : undefined,
  ),
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
    host: given.HOST ?? "127.0.0.1",
    port: given.PORT ?? 8080,
    publicUrl: given.PUBLIC_URL ?? null,
    operatorToken: given.OPERATOR_TOKEN ?? null,
    trustProxy: given.TRUST_PROXY ?? false,
    inlineWorker,
    seedExample: given.SEED_EXAMPLE ?? true,
    service,
  }
})
