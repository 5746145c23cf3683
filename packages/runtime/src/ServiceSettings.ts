/**
 * What the server and the worker both read from the environment (operator API: configuration).
 * Variables of the HTTP interface alone are the server's.
 */
import { Redacted } from "effect"
import { resolve } from "node:path"
import { oneOf, trueOrFalse, variable } from "./Variables.ts"
import type { VariablesOf } from "./Variables.ts"

/** Where everything is kept. */
export type StoreChoice =
  /** In this process, and gone with it. */
  | { readonly kind: "memory" }
  /** PostgreSQL inside this process, in the data directory. */
  | { readonly kind: "embedded" }
  /** A PostgreSQL that other processes may share. */
  | { readonly kind: "postgres"; readonly url: Redacted.Redacted }

export interface LogSettings {
  readonly level: "debug" | "info" | "warn" | "error"
  readonly format: "pretty" | "json"
}

export interface ServiceSettings {
  readonly store: StoreChoice
  /** Absolute. */
  readonly dataDirectory: string
  readonly clock: "system" | "adjustable"
  readonly allowPrivateTargets: boolean
  readonly log: LogSettings
}

const parseStore = (text: string): StoreChoice | undefined => {
  if (text === "memory:") return { kind: "memory" }
  if (!URL.canParse(text)) return undefined
  const { protocol } = new URL(text)
  return protocol === "postgres:" || protocol === "postgresql:"
    ? { kind: "postgres", url: Redacted.make(text) }
    : undefined
}

/** The variables that both apps read. */
export const serviceVariables = {
  DATABASE_URL: variable(
    "a postgres:// URL, or memory:, or unset for the embedded database",
    parseStore,
  ),
  DATA_DIR: variable("a path", (text) => resolve(text)),
  TRANSPORT: variable("simulated: live transports are not available in this version", (text) =>
    text === "simulated" ? text : undefined,
  ),
  CLOCK: oneOf("system", "adjustable"),
  ALLOW_PRIVATE_TARGETS: trueOrFalse,
  LOG_LEVEL: oneOf("debug", "info", "warn", "error"),
  LOG_FORMAT: oneOf("pretty", "json"),
}

/** Puts the defaults where a variable is unset. */
export const serviceSettings = (given: VariablesOf<typeof serviceVariables>): ServiceSettings => ({
  store: given.DATABASE_URL ?? { kind: "embedded" },
  dataDirectory: given.DATA_DIR ?? resolve("data"),
  clock: given.CLOCK ?? "system",
  allowPrivateTargets: given.ALLOW_PRIVATE_TARGETS ?? false,
  log: { level: given.LOG_LEVEL ?? "info", format: given.LOG_FORMAT ?? "pretty" },
})
