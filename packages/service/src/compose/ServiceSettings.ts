/**
 * What the server and the worker both read from the environment (contract: Configuration).
 * Variables of the HTTP interface alone are the server's.
 */
import {
  parseSecretsKeys,
  retentionDaysMost,
  secretsKeyRule,
  sharedResources,
} from "@messaging-service/core"
import {
  CannotStart,
  byteSize,
  oneOf,
  trueOrFalse,
  variable,
  wholeNumber,
} from "@messaging-service/node"
import type { LogSettings, VariablesOf } from "@messaging-service/node"
import { Effect, Redacted } from "effect"
import { readFileSync, statSync } from "node:fs"
import { resolve } from "node:path"
import type { ComposedSettings, StoreChoice } from "./ComposedSettings.ts"
import {
  apiHashRule,
  apiIdRule,
  clientVersionRule,
  deviceNameRule,
  mostNumbers,
  originRule,
  parseApiHash,
  parseApiId,
  parseClientVersion,
  parseDeviceName,
  parseOrigin,
  parsePublicKey,
  parseServerAddress,
  parseWhatsAppUrl,
  publicKeyRule,
  serverAddressRule,
  whatsAppUrlRule,
} from "./rules.ts"
import { wrongSchemaName } from "./Storage.ts"
import type { TransportChoice } from "./transports.ts"

export interface ServiceSettings extends ComposedSettings {
  /** Where the server listens. */
  readonly host: string
  /** 0 for any that is free. */
  readonly port: number
  /** Absolute. */
  readonly dataDirectory: string
  readonly log: LogSettings
}

const parseStore = (text: string): StoreChoice | undefined => {
  if (text === "memory:") return { kind: "memory" }
  // Several hosts are no URL; the store says so.
  const isPostgres = /^postgres(ql)?:\/\//.test(text)
  return isPostgres && (URL.canParse(text) || text.includes(","))
    ? { kind: "postgres", url: Redacted.make(text), schema: null }
    : undefined
}

/** Undefined where there is no such file. */
const fileText = (path: string): string | undefined =>
  statSync(path, { throwIfNoEntry: false })?.isFile() === true
    ? readFileSync(path, "utf8")
    : undefined

/** A port to listen on; 0 for any that is free. */
export const portNumber = wholeNumber(0, 65_535)

/** The variables that both apps read; the worker makes links to the server. */
export const serviceVariables = {
  PORT: portNumber,
  HOST: variable("a host name or an address", (text) =>
    /^[\w.:%-]+$/.test(text) ? text : undefined,
  ),
  PUBLIC_URL: variable(originRule, parseOrigin),
  DATABASE_URL: variable(
    "a postgres:// URL, or memory:, or unset for the embedded database",
    parseStore,
  ),
  DATABASE_SCHEMA: variable("the name of a schema", (text) => text),
  DATA_DIR: variable("a path", (text) => resolve(text)),
  TRANSPORT: oneOf("simulated", "live"),
  WHATSAPP_URL: variable(whatsAppUrlRule, parseWhatsAppUrl),
  WHATSAPP_VERSION: variable(clientVersionRule, parseClientVersion),
  TELEGRAM_API_ID: variable(apiIdRule, parseApiId),
  TELEGRAM_API_HASH: variable(apiHashRule, parseApiHash),
  TELEGRAM_DC: variable(serverAddressRule, parseServerAddress),
  TELEGRAM_PUBLIC_KEY: variable(`a file of ${publicKeyRule}`, (path) => {
    const text = fileText(path)
    return text === undefined ? undefined : parsePublicKey(text)
  }),
  LINKED_DEVICE_NAME: variable(deviceNameRule, parseDeviceName),
  MAX_NUMBERS: wholeNumber(1, mostNumbers),
  SECRETS_KEY: variable(secretsKeyRule, parseSecretsKeys),
  CLOCK: oneOf("system", "adjustable"),
  ALLOW_PRIVATE_TARGETS: trueOrFalse,
  ATTACHMENT_BYTES: byteSize,
  DISK_RESERVE: byteSize,
  RETENTION_DAYS: wholeNumber(1, retentionDaysMost),
  LOG_LEVEL: oneOf("debug", "info", "warn", "error"),
  LOG_FORMAT: oneOf("pretty", "json"),
}

/** The variables that say where everything is kept. */
export const storeChoice = ({
  DATABASE_SCHEMA: schema,
  DATABASE_URL: store = { kind: "embedded" },
}: Pick<VariablesOf<typeof serviceVariables>, "DATABASE_SCHEMA" | "DATABASE_URL">): StoreChoice =>
  store.kind === "postgres" && schema !== undefined ? { ...store, schema } : store

export const dataDirectoryOf = ({
  DATA_DIR: given,
}: Pick<VariablesOf<typeof serviceVariables>, "DATA_DIR">): string => given ?? resolve("data")

const transportChoice = ({
  LINKED_DEVICE_NAME: deviceName,
  TELEGRAM_API_HASH: hash,
  TELEGRAM_API_ID: id,
  TELEGRAM_DC: server,
  TELEGRAM_PUBLIC_KEY: publicKey,
  TRANSPORT: kind,
  WHATSAPP_URL: url,
  WHATSAPP_VERSION: version,
}: VariablesOf<typeof serviceVariables>): TransportChoice => {
  const application = id === undefined || hash === undefined ? null : { id, hash }
  if (kind !== "live") {
    return { kind: "simulated", ...(application === null ? {} : { hasApplication: true }) }
  }
  const named = deviceName === undefined ? {} : { deviceName }
  return {
    kind,
    whatsApp: {
      ...(url === undefined ? {} : { url }),
      ...(version === undefined ? {} : { version }),
      ...named,
    },
    ...(application === null
      ? {}
      : {
          telegram: {
            application,
            ...(server === undefined ? {} : { server }),
            ...(publicKey === undefined ? {} : { publicKey }),
            ...named,
          },
        }),
  }
}

/** What is wrong with variables that do not fit together. */
const misfits = (given: VariablesOf<typeof serviceVariables>, store: StoreChoice) => {
  const {
    CLOCK: clock,
    TELEGRAM_API_HASH: hash,
    TELEGRAM_API_ID: id,
    TELEGRAM_DC: telegram,
    TRANSPORT: transport,
    WHATSAPP_URL: whatsApp,
  } = given
  const found: Array<string> = []
  // Processes on other machines could not read one that is kept here.
  if (store.kind === "postgres" && given.SECRETS_KEY === undefined) {
    found.push(
      `SECRETS_KEY must be set where DATABASE_URL names a PostgreSQL: ${secretsKeyRule}, ` +
        "the same for all processes on it",
    )
  }
  if (id !== undefined && hash === undefined) {
    found.push("TELEGRAM_API_HASH must be set where TELEGRAM_API_ID is")
  }
  if (id === undefined && hash !== undefined) {
    found.push("TELEGRAM_API_ID must be set where TELEGRAM_API_HASH is")
  }
  // Tests move the time of live numbers, against servers of their own for each platform.
  const reachesPeople = whatsApp === undefined || (id !== undefined && telegram === undefined)
  if (transport === "live" && clock === "adjustable" && reachesPeople) {
    found.push("CLOCK must be system where TRANSPORT is live")
  }
  return found
}

/** What is wrong with the variables that say where everything is kept. */
export const checkStore = (store: StoreChoice): Effect.Effect<void, CannotStart> =>
  Effect.flatMap(wrongSchemaName(store), (rule) =>
    rule === null
      ? Effect.void
      : Effect.fail(new CannotStart({ message: `DATABASE_SCHEMA must be ${rule}` })),
  )

/** Puts the defaults where a variable is unset. Fails with one line when one is missing. */
export const serviceSettings = Effect.fnUntraced(function* (
  given: VariablesOf<typeof serviceVariables>,
): Effect.fn.Return<ServiceSettings, CannotStart> {
  const store = storeChoice(given)
  const wrong = misfits(given, store)
  if (wrong.length > 0) return yield* new CannotStart({ message: wrong.join("; ") })
  yield* checkStore(store)
  return {
    host: given.HOST ?? "127.0.0.1",
    port: given.PORT ?? 8080,
    publicUrl: given.PUBLIC_URL ?? null,
    store,
    dataDirectory: dataDirectoryOf(given),
    secretsKeys: given.SECRETS_KEY ?? null,
    transport: transportChoice(given),
    maxNumbers: given.MAX_NUMBERS ?? null,
    clock: given.CLOCK ?? "system",
    allowPrivateTargets: given.ALLOW_PRIVATE_TARGETS ?? false,
    attachmentBytes: given.ATTACHMENT_BYTES ?? sharedResources.attachmentBytes.share.most,
    diskReserve: given.DISK_RESERVE ?? null,
    retentionDays: given.RETENTION_DAYS ?? null,
    log: { level: given.LOG_LEVEL ?? "info", format: given.LOG_FORMAT ?? "pretty" },
  }
})
