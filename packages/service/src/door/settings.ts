/**
 * From the options of `open` to the settings that a service is composed of. Whatever is wrong is said
 * before anything is made.
 */
import { parseSecretsKeys, sharedResources } from "@messaging-service/core"
import type { CannotStart } from "@messaging-service/node"
import { Effect, Redacted } from "effect"
import { resolve } from "node:path"
import type { LiveSettings, OpenOptions, Store, TelegramApplication } from "../api/options.ts"
import type { ComposedSettings, StoreChoice } from "../compose/ComposedSettings.ts"
import { optionalPackage } from "../compose/optionalPackage.ts"
import * as rules from "../compose/rules.ts"
import { wrongSchemaName } from "../compose/Storage.ts"
import type { LiveTelegram, TransportChoice } from "../compose/transports.ts"
import { inHandler, isEdgeWorker, wrongOnEdge } from "./edgeHost.ts"
import { basePathOf } from "./handler.ts"
import { openRules } from "./openRules.ts"
import { WrongOptions, wrongOptions } from "./rules.ts"

const shutdownMillis = 5000

const wrong = (field: string, rule: string) =>
  new WrongOptions({ first: { field, rule: `must be ${rule}` }, others: [] })

type HostPool = Extract<StoreChoice, { readonly kind: "pool" }>["pool"]

type OnPool = Extract<Store, { readonly pool: unknown }>

type OnServer = Extract<Store, { readonly postgres: unknown }>

interface Kept {
  readonly store: StoreChoice
  readonly dataDirectory: string | null
}

const storeOf = (
  { dataDirectory, store = "memory" }: OpenOptions,
  isWithoutDisk: boolean,
): Kept => {
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

const checkedSchema = Effect.fnUntraced(function* (store: StoreChoice) {
  const rule = yield* wrongSchemaName(store)
  if (rule !== null) return yield* wrong("store.schema", rule)
})

/** One setting of live numbers, as its parser reads it. */
const required = <A>(
  name: string,
  given: string,
  parse: (text: string) => A | undefined,
  rule: string,
): Effect.Effect<A, WrongOptions> => {
  const value = parse(given)
  return value === undefined
    ? Effect.fail(wrong(`transport.live.${name}`, rule))
    : Effect.succeed(value)
}

/** The same for a setting that may be left out. */
const parsed = <A>(
  name: string,
  given: string | undefined,
  parse: (text: string) => A | undefined,
  rule: string,
): Effect.Effect<A | undefined, WrongOptions> =>
  given === undefined ? Effect.succeed(undefined) : required(name, given, parse, rule)

const telegramOf = Effect.fnUntraced(function* (
  { apiHash, apiId, publicKey: pem, server: address }: TelegramApplication,
  deviceName: string | undefined,
): Effect.fn.Return<LiveTelegram, CannotStart | WrongOptions> {
  yield* optionalPackage(
    "@messaging-service/transport-telegram",
    "transport.live.telegram",
    () => import("@messaging-service/transport-telegram"),
  )
  const { apiHashRule, apiIdRule, publicKeyRule, serverAddressRule } = rules
  const id = yield* required("telegram.apiId", String(apiId), rules.parseApiId, apiIdRule)
  const hash = yield* required("telegram.apiHash", apiHash, rules.parseApiHash, apiHashRule)
  const server = yield* parsed(
    "telegram.server",
    address,
    rules.parseServerAddress,
    serverAddressRule,
  )
  const publicKey = yield* parsed("telegram.publicKey", pem, rules.parsePublicKey, publicKeyRule)
  return {
    application: { id, hash },
    ...(server === undefined ? {} : { server }),
    ...(publicKey === undefined ? {} : { publicKey }),
    ...(deviceName === undefined ? {} : { deviceName }),
  }
})

const liveTransport = Effect.fnUntraced(function* ({
  telegram,
  ...given
}: LiveSettings): Effect.fn.Return<TransportChoice, CannotStart | WrongOptions> {
  yield* optionalPackage(
    "@messaging-service/transport-whatsapp",
    'transport: "live"',
    () => import("@messaging-service/transport-whatsapp"),
  )
  const url = yield* parsed("url", given.url, rules.parseWhatsAppUrl, rules.whatsAppUrlRule)
  const version = yield* parsed(
    "version",
    given.version,
    rules.parseClientVersion,
    rules.clientVersionRule,
  )
  const deviceName = yield* parsed(
    "deviceName",
    given.deviceName,
    rules.parseDeviceName,
    rules.deviceNameRule,
  )
  return {
    kind: "live",
    whatsApp: {
      ...(url === undefined ? {} : { url }),
      ...(version === undefined ? {} : { version }),
      ...(deviceName === undefined ? {} : { deviceName }),
    },
    ...(telegram === undefined ? {} : { telegram: yield* telegramOf(telegram, deviceName) }),
  }
})

const transportOf = ({
  transport = "simulated",
}: OpenOptions): Effect.Effect<TransportChoice, CannotStart | WrongOptions> => {
  if (transport === "simulated") return Effect.succeed({ kind: "simulated" })
  return liveTransport(transport === "live" ? {} : transport.live)
}

/** The origin of links, with the path that the handler is mounted at. */
export const publicUrlOf = ({ http = {} }: OpenOptions): string =>
  `${rules.parseOrigin(http.publicUrl ?? "http://127.0.0.1:8080") ?? ""}${basePathOf(http)}`

/** Whether a worker runs from the start. */
export const startsWorker = ({ worker }: OpenOptions): boolean => worker ?? !isEdgeWorker()

export const settingsOf = Effect.fnUntraced(function* (
  options: OpenOptions,
): Effect.fn.Return<ComposedSettings, CannotStart | WrongOptions> {
  const refused = wrongOptions(openRules, options)
  if (refused !== undefined) return yield* refused
  const isOnEdge = isEdgeWorker()
  if (isOnEdge) {
    const unfit = wrongOnEdge(options)
    if (unfit !== undefined) return yield* unfit
    yield* inHandler
  }
  const { egress, maxNumbers = null, retentionDays = null, secretsKey } = options
  const kept = storeOf(options, isOnEdge)
  yield* checkedSchema(kept.store)
  return {
    ...kept,
    transport: yield* transportOf(options),
    startsNoWorker: !startsWorker(options),
    secretsKeys: secretsKey === undefined ? null : (parseSecretsKeys(secretsKey) ?? null),
    publicUrl: publicUrlOf(options),
    maxNumbers,
    clock: "system",
    allowPrivateTargets: egress === "open",
    callsByFetch: isOnEdge,
    attachmentBytes: sharedResources.attachmentBytes.share.most,
    diskReserve: null,
    retentionDays,
    stopMillis: options.shutdownMillis ?? shutdownMillis,
  }
})
