/**
 * Options of `open`: their rules, the ones that an edge host cannot support, and the resulting
 * settings. All checks run before anything is created.
 */
import { resolve } from "node:path"
import { parseSecretsKeys, maxRetentionDays, sharedLimits } from "@messaging-service/core"
import { CannotStart } from "@messaging-service/node"
import { Effect, Redacted } from "effect"
import type {
  HandlerOptions,
  LiveSettings,
  MessagingLogger,
  OpenOptions,
  Store,
  TelegramApplication,
  TelemetryOptions,
} from "../api/options.ts"
import { optionalPackage } from "../compose/startFaults.ts"
import { olderNode } from "../nodeVersion.ts"
import * as settings from "../compose/Settings.ts"
import type { ComposedSettings, StoreChoice, TextSetting } from "../compose/Settings.ts"
import type { TransportChoice } from "../compose/transports.ts"
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
  invalidOptions,
  InvalidOptions,
} from "./rules.ts"
import type { Rule, Violation } from "./rules.ts"

/**
 * Name of workerd, the runtime of edge hosts. There a program runs per request, with no lasting
 * process and no disk.
 */
const runtimeName = "Cloudflare-Workers"

/** Whether this program is a worker of an edge host. */
const isEdgeWorker = (): boolean => globalThis.navigator?.userAgent === runtimeName

const noDisk = "needs a disk, which a worker of an edge host does not have"
const noProcess = "needs a long-lived process, which a worker of an edge host is not"

const findProblems = ({
  dataDirectory,
  secretsKey,
  store = "memory",
  transport = "simulated",
  worker,
}: OpenOptions): ReadonlyArray<Violation> => {
  const isEmbedded = store !== "memory" && "embedded" in store && store.embedded !== undefined
  const needsKey = store !== "memory" && !isEmbedded && secretsKey === undefined
  const problems: ReadonlyArray<Violation & { readonly applies: boolean }> = [
    {
      applies: isEmbedded,
      field: "store.embedded",
      rule: `${noDisk}: use store.pool or store.postgres`,
    },
    {
      applies: transport !== "simulated",
      field: "transport",
      rule: `"live" ${noProcess}: connect numbers in one that does`,
    },
    {
      applies: dataDirectory !== undefined,
      field: "dataDirectory",
      rule: `${noDisk}: leave it out`,
    },
    {
      applies: worker === true,
      field: "worker",
      rule: `true ${noProcess}: leave it out, and call drain`,
    },
    {
      applies: needsKey,
      field: "secretsKey",
      rule: "is required in a worker of an edge host, which has no disk to store one",
    },
  ]
  return problems.filter(({ applies }) => applies).map(({ field, rule }) => ({ field, rule }))
}

/**
 * Fails while a module of such a worker loads: only a request handler may wait and get random numbers.
 */
const inHandler: Effect.Effect<void, CannotStart> = Effect.try({
  try: () => {
    crypto.getRandomValues(new Uint8Array(1))
  },
  catch: () =>
    new CannotStart({
      message: "open can only be called while a worker of an edge host handles a request",
    }),
})

/** The option that such a worker cannot support; undefined when it supports all. */
const invalidOnEdge = (options: OpenOptions): InvalidOptions | undefined => {
  const [first, ...others] = findProblems(options)
  return first === undefined ? undefined : new InvalidOptions({ first, others })
}

const hasProtocol =
  (...protocols: ReadonlyArray<string>) =>
  (value: unknown): boolean =>
    isText(value) && URL.canParse(value) && protocols.includes(new URL(value).protocol)

const directory = must("the path of a directory", (value) => isText(value) && value.trim() !== "")

const locations = ["embedded", "postgres", "pool"] as const

/** Names of every kind of store; the rules below say which combine. */
const storeFields = fields<Record<(typeof locations)[number] | "schema", unknown>>({
  embedded: directory,
  // The store itself says what is wrong with the rest.
  postgres: must("a postgres:// URL", (value) => isText(value) && settings.isPostgresUrl(value)),
  pool: must("a Pool of pg", (value) => isObject(value) && isFunction(value["connect"])),
  schema: someText,
})

const storeRule: Rule = (value, field) => {
  if (value === "memory") return []
  if (!isObject(value)) return must('"memory" or an object', () => false)(value, field)
  const wrong = storeFields(value, field)
  if (wrong.length > 0) return wrong
  const named = locations.filter((location) => value[location] !== undefined)
  if (named.length !== 1) {
    return [{ field, rule: `must have exactly one of ${locations.join(", ")}` }]
  }
  return named[0] === "embedded" && value["schema"] !== undefined
    ? [{ field: `${field}.schema`, rule: "goes with postgres or pool" }]
    : []
}

/** Rules that the transports do not state themselves; they need not be installed. */
const telegramRule = fields<TelegramApplication>(
  {
    apiId: must("a number", (value) => typeof value === "number"),
    apiHash: text,
    server: text,
    publicKey: text,
  },
  ["apiId", "apiHash"],
)

const liveRule = fields<LiveSettings>({
  telegram: telegramRule,
  url: text,
  version: text,
  deviceName: text,
})

const transportRule: Rule = (value, field) =>
  isObject(value)
    ? fields<{ readonly live: LiveSettings }>({ live: liveRule }, ["live"])(value, field)
    : must(
        '"simulated", "live" or { live: settings }',
        (input) => input === "simulated" || input === "live",
      )(value, field)

/** The path in a normal form, such as `/messaging`; empty for the root. */
export const toBasePath = ({ basePath = "" }: HandlerOptions): string =>
  basePath.replace(/^\/*(.*?)\/*$/, (_, inner: string) => (inner === "" ? "" : `/${inner}`))

/** Whether the service answers that path. */
export const isBelow = (base: string, path: string): boolean =>
  path === base || path.startsWith(`${base}/`)

const isBasePath = (value: unknown): boolean => {
  if (!isText(value)) return false
  const path = toBasePath({ basePath: value }) || "/"
  const url = `http://host${path}`
  return URL.canParse(url) && new URL(url).pathname === path
}

export const httpRule = fields<HandlerOptions>({
  basePath: must("a path such as /messaging", isBasePath),
  publicUrl: textFor(settings.origin),
  operatorToken: textFor(settings.operatorToken),
  trustProxy: trueOrFalse,
  clientAddress: must("a function", isFunction),
})

const telemetryRule = fields<TelemetryOptions>(
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

export const loggerRule = must(
  `an object with the functions ${logMethods.join(", ")}`,
  (value) =>
    value !== null &&
    (typeof value === "object" || typeof value === "function") &&
    logMethods.every((name) => isFunction((value as Readonly<Record<string, unknown>>)[name])),
)

const openRules: Rule = fields<OpenOptions>({
  store: storeRule,
  transport: transportRule,
  dataDirectory: directory,
  secretsKey: textFor(settings.secretsKeys),
  egress: oneOf("guarded", "open"),
  logger: loggerRule,
  logLevel: oneOf(...logMethods),
  telemetry: telemetryRule,
  worker: trueOrFalse,
  shutdownMillis: millis,
  maxNumbers: wholeNumber(1, settings.maxNumbers),
  retentionDays: wholeNumber(1, maxRetentionDays),
  http: httpRule,
})

const shutdownMillis = 5000

const invalidOption = (field: string, rule: string) =>
  new InvalidOptions({ first: { field, rule: `must be ${rule}` }, others: [] })

type HostPool = Extract<StoreChoice, { readonly kind: "pool" }>["pool"]

type OnPool = Extract<Store, { readonly pool: unknown }>

type OnServer = Extract<Store, { readonly postgres: unknown }>

interface StorageOptions {
  readonly store: StoreChoice
  readonly dataDirectory: string | null
}

const toStore = (
  { dataDirectory, store = "memory" }: OpenOptions,
  isWithoutDisk: boolean,
): StorageOptions => {
  if (store === "memory") return { store: { kind: "memory" }, dataDirectory: null }
  if ("embedded" in store && store.embedded !== undefined) {
    return { store: { kind: "embedded" }, dataDirectory: resolve(store.embedded) }
  }
  const { pool, postgres = "", schema = null } = store as Partial<OnPool & OnServer>
  return {
    store:
      pool === undefined
        ? { kind: "postgres", url: Redacted.make(postgres), schema }
        : { kind: "pool", pool: pool as HostPool, schema },
    dataDirectory: isWithoutDisk ? null : resolve(dataDirectory ?? "data"),
  }
}

const checkedSchema = Effect.fnUntraced(function* checkedSchema(store: StoreChoice) {
  const rule = yield* settings.wrongSchemaName(store)
  if (rule !== null) return yield* invalidOption("store.schema", rule)
})

/** A setting of live numbers, as its parser reads it; undefined when it was left out. */
const parsed = <A, Text extends string | undefined>(
  name: string,
  input: Text,
  { parse, rule }: TextSetting<A>,
): Effect.Effect<A | Extract<Text, undefined>, InvalidOptions> => {
  if (input === undefined) return Effect.succeed(input as Extract<Text, undefined>)
  const value = parse(input)
  return value === undefined
    ? Effect.fail(invalidOption(`transport.live.${name}`, rule))
    : Effect.succeed(value)
}

const readTelegram = Effect.fnUntraced(function* readTelegram(input: TelegramApplication) {
  yield* optionalPackage(
    "@messaging-service/transport-telegram",
    "telegram",
    () => import("@messaging-service/transport-telegram"),
  )
  const id = yield* parsed("telegram.apiId", String(input.apiId), settings.apiId)
  const hash = yield* parsed("telegram.apiHash", input.apiHash, settings.apiHash)
  const server = yield* parsed("telegram.server", input.server, settings.serverAddress)
  const publicKey = yield* parsed("telegram.publicKey", input.publicKey, settings.publicKey)
  return { application: { id, hash }, server, publicKey }
})

const liveTransport = Effect.fnUntraced(function* liveTransport({
  telegram,
  ...args
}: LiveSettings): Effect.fn.Return<TransportChoice, CannotStart | InvalidOptions> {
  yield* optionalPackage(
    "@messaging-service/transport-whatsapp",
    "live",
    () => import("@messaging-service/transport-whatsapp"),
  )
  return settings.liveTransports({
    url: yield* parsed("url", args.url, settings.whatsAppUrl),
    version: yield* parsed("version", args.version, settings.clientVersion),
    deviceName: yield* parsed("deviceName", args.deviceName, settings.deviceName),
    ...(telegram === undefined ? {} : yield* readTelegram(telegram)),
  })
})

const chooseTransport = ({
  transport = "simulated",
}: OpenOptions): Effect.Effect<TransportChoice, CannotStart | InvalidOptions> => {
  if (transport === "simulated") return Effect.succeed({ kind: "simulated" })
  return liveTransport(transport === "live" ? {} : transport.live)
}

/** The origin of links, with the path of the handler. */
export const getPublicUrl = ({ http = {} }: OpenOptions): string =>
  `${settings.origin.parse(http.publicUrl ?? "http://127.0.0.1:8080") ?? ""}${toBasePath(http)}`

/** Whether a worker runs from the start. */
export const startsWorker = ({ worker }: OpenOptions): boolean => worker ?? !isEdgeWorker()

export const readSettings = Effect.fnUntraced(function* readSettings(
  options: OpenOptions,
): Effect.fn.Return<ComposedSettings, CannotStart | InvalidOptions> {
  const refused = invalidOptions(openRules, options)
  if (refused !== undefined) return yield* refused
  const isOnEdge = isEdgeWorker()
  const older = isOnEdge ? null : olderNode(globalThis.process?.versions)
  if (older !== null) return yield* new CannotStart({ message: older })
  if (isOnEdge) {
    const unfit = invalidOnEdge(options)
    if (unfit !== undefined) return yield* unfit
    yield* inHandler
  }
  const { egress, maxNumbers = null, retentionDays = null, secretsKey } = options
  const storage = toStore(options, isOnEdge)
  yield* checkedSchema(storage.store)
  return {
    ...storage,
    transport: yield* chooseTransport(options),
    startsNoWorker: !startsWorker(options),
    secretsKeys: secretsKey === undefined ? null : (parseSecretsKeys(secretsKey) ?? null),
    publicUrl: getPublicUrl(options),
    maxNumbers,
    clock: "system",
    allowPrivateTargets: egress === "open",
    callsByFetch: isOnEdge,
    attachmentBytes: sharedLimits.attachmentBytes.share.most,
    diskReserve: null,
    retentionDays,
    stopMillis: options.shutdownMillis ?? shutdownMillis,
  }
})
