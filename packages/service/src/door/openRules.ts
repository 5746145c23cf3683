/** What the options of `open` must be: all of it is looked at before anything is made. */
import { parseSecretsKeys, retentionDaysMost, secretsKeyRule } from "@messaging-service/core"
import type {
  HandlerOptions,
  LiveSettings,
  MessagingLogger,
  OpenOptions,
  TelegramApplication,
  TelemetryOptions,
} from "../api/options.ts"
import {
  isOperatorToken,
  mostNumbers,
  operatorTokenRule,
  originRule,
  parseOrigin,
} from "../compose/rules.ts"
import { basePathOf } from "./handler.ts"
import {
  fields,
  isFunction,
  isObject,
  isText,
  millis,
  must,
  oneOf,
  someText,
  text,
  textFor,
  trueOrFalse,
  wholeNumber,
} from "./rules.ts"
import type { Rule } from "./rules.ts"

const hasProtocol =
  (...protocols: ReadonlyArray<string>) =>
  (value: unknown): boolean =>
    isText(value) && URL.canParse(value) && protocols.includes(new URL(value).protocol)

const directory = must("the path of a directory", (value) => isText(value) && value.trim() !== "")

const places = ["embedded", "postgres", "pool"] as const

/** The names of every kind of store; which of them go together is said below. */
const storeFields = fields<Record<(typeof places)[number] | "schema", unknown>>({
  embedded: directory,
  postgres: must("a postgres:// URL", hasProtocol("postgres:", "postgresql:")),
  pool: must("a Pool of pg", (value) => isObject(value) && isFunction(value["connect"])),
  schema: someText,
})

const store: Rule = (value, field) => {
  if (value === "memory") return []
  if (!isObject(value)) return must('"memory" or an object', () => false)(value, field)
  const wrong = storeFields(value, field)
  if (wrong.length > 0) return wrong
  const named = places.filter((place) => value[place] !== undefined)
  if (named.length !== 1) {
    return [{ field, rule: `must have exactly one of ${places.join(", ")}` }]
  }
  return named[0] === "embedded" && value["schema"] !== undefined
    ? [{ field: `${field}.schema`, rule: "goes with postgres or pool" }]
    : []
}

/** What each must be beyond that is said by the transports, which need not be installed. */
const telegram = fields<TelegramApplication>(
  {
    apiId: must("a number", (value) => typeof value === "number"),
    apiHash: text,
    server: text,
    publicKey: text,
  },
  ["apiId", "apiHash"],
)

const live = fields<LiveSettings>({ telegram, url: text, version: text, deviceName: text })

const transport: Rule = (value, field) =>
  isObject(value)
    ? fields<{ readonly live: LiveSettings }>({ live }, ["live"])(value, field)
    : must(
        '"simulated", "live" or { live: settings }',
        (given) => given === "simulated" || given === "live",
      )(value, field)

const isBasePath = (given: unknown): boolean => {
  if (!isText(given)) return false
  const path = basePathOf({ basePath: given }) || "/"
  const url = `http://host${path}`
  return URL.canParse(url) && new URL(url).pathname === path
}

const http = fields<HandlerOptions>({
  basePath: must("a path such as /messaging", isBasePath),
  publicUrl: textFor(originRule, parseOrigin),
  operatorToken: must(operatorTokenRule, (value) => isText(value) && isOperatorToken(value)),
  trustProxy: trueOrFalse,
  clientAddress: must("a function", isFunction),
})

const telemetry = fields<TelemetryOptions>(
  {
    otlp: must("the http:// or https:// URL of a collector", hasProtocol("http:", "https:")),
    serviceName: someText,
    headers: must(
      "an object of texts",
      (value) => isObject(value) && Object.values(value).every(isText),
    ),
  },
  ["otlp"],
)

const logMethods = ["debug", "info", "warn", "error"] as const satisfies ReadonlyArray<
  keyof MessagingLogger
>

export const logger = must(
  `an object with the functions ${logMethods.join(", ")}`,
  (value) =>
    value !== null &&
    (typeof value === "object" || typeof value === "function") &&
    logMethods.every((name) => isFunction((value as Readonly<Record<string, unknown>>)[name])),
)

export const openRules: Rule = fields<OpenOptions>({
  store,
  transport,
  dataDirectory: directory,
  secretsKey: textFor(secretsKeyRule, parseSecretsKeys),
  egress: oneOf("guarded", "open"),
  logger,
  logLevel: oneOf(...logMethods),
  telemetry,
  worker: trueOrFalse,
  shutdownMillis: millis,
  maxNumbers: wholeNumber(1, mostNumbers),
  retentionDays: wholeNumber(1, retentionDaysMost),
  http,
})
