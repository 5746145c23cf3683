/** What `open` was given, as what a service is composed of. Whatever is wrong is said before anything is made. */
import { parseSecretsKeys, secretsKeyRule } from "@messaging-service/core"
import { sharedResources } from "@messaging-service/core/ports"
import { Effect, Redacted } from "effect"
import { resolve } from "node:path"
import type { LiveSettings, OpenOptions } from "../api/options.ts"
import { CannotStart, optionalPackage } from "../compose/index.ts"
import type { ComposedSettings, StoreChoice, TransportChoice } from "../compose/index.ts"
import { basePathOf } from "./handler.ts"

const shutdownMillis = 5000

/** Shorter operator tokens could be guessed. */
const shortestToken = 32

const wrong = (option: string, rule: string) =>
  new CannotStart({ message: `${option} must be ${rule}` })

const isPostgres = (url: unknown): url is string =>
  typeof url === "string" &&
  URL.canParse(url) &&
  ["postgres:", "postgresql:"].includes(new URL(url).protocol)

type HostPool = Extract<StoreChoice, { readonly kind: "pool" }>["pool"]

interface Kept {
  readonly store: StoreChoice
  readonly dataDirectory: string | null
}

const wrongStore = wrong(
  "store",
  '"memory", { embedded: directory }, { postgres: "postgres://…" } or { pool }',
)

const storeOf = ({ dataDirectory, store = "memory" }: OpenOptions): Kept | CannotStart => {
  if (store === "memory") return { store: { kind: "memory" }, dataDirectory: null }
  if (typeof store !== "object" || store === null) return wrongStore
  if ("embedded" in store && typeof store.embedded === "string") {
    return { store: { kind: "embedded" }, dataDirectory: resolve(store.embedded) }
  }
  const schema = "schema" in store ? (store.schema ?? null) : null
  if (schema !== null && typeof schema !== "string") return wrong("store.schema", "a name")
  const kept = resolve(dataDirectory ?? "data")
  if ("postgres" in store && isPostgres(store.postgres)) {
    const url = Redacted.make(store.postgres)
    return { store: { kind: "postgres", url, schema }, dataDirectory: kept }
  }
  if ("pool" in store && typeof store.pool?.connect === "function") {
    return { store: { kind: "pool", pool: store.pool as HostPool, schema }, dataDirectory: kept }
  }
  return wrongStore
}

/** One setting of live numbers, if it was given, as its parser reads it. */
const parsed = <A>(
  name: string,
  given: string | undefined,
  parse: (text: string) => A | undefined,
  rule: string,
): Effect.Effect<A | undefined, CannotStart> => {
  if (given === undefined) return Effect.succeed(undefined)
  const value = parse(String(given))
  return value === undefined
    ? Effect.fail(wrong(`transport.live.${name}`, rule))
    : Effect.succeed(value)
}

const liveTransport = Effect.fnUntraced(function* (
  given: LiveSettings,
): Effect.fn.Return<TransportChoice, CannotStart> {
  const rules = yield* optionalPackage(
    "@messaging-service/transport-whatsapp",
    'transport: "live"',
    () => import("@messaging-service/transport-whatsapp/settings"),
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
  }
})

const transportOf = ({
  transport = "simulated",
}: OpenOptions): Effect.Effect<TransportChoice, CannotStart> => {
  if (transport === "simulated") return Effect.succeed({ kind: "simulated" })
  if (transport === "live") return liveTransport({})
  return typeof transport === "object" && transport !== null && typeof transport.live === "object"
    ? liveTransport(transport.live)
    : Effect.fail(wrong("transport", '"simulated", "live" or { live: settings }'))
}

/** The origin of links, with the path that the handler is mounted at. */
export const publicUrlOf = ({ http = {} }: OpenOptions): string =>
  `${(http.publicUrl ?? "http://127.0.0.1:8080").replace(/\/+$/, "")}${basePathOf(http)}`

export const settingsOf = Effect.fnUntraced(function* (
  options: OpenOptions,
): Effect.fn.Return<ComposedSettings, CannotStart> {
  const { egress = "guarded", maxNumbers = null, secretsKey } = options
  const kept = storeOf(options)
  if (kept instanceof CannotStart) return yield* kept
  const transport = yield* transportOf(options)
  const secretsKeys = secretsKey === undefined ? null : parseSecretsKeys(secretsKey)
  if (secretsKeys === undefined) return yield* wrong("secretsKey", secretsKeyRule)
  if (egress !== "guarded" && egress !== "open") {
    return yield* wrong("egress", '"guarded" or "open"')
  }
  const { operatorToken } = options.http ?? {}
  if (operatorToken !== undefined && String(operatorToken).length < shortestToken) {
    return yield* wrong("http.operatorToken", `at least ${shortestToken} characters`)
  }
  const stopMillis = options.shutdownMillis ?? shutdownMillis
  if (!Number.isFinite(stopMillis) || stopMillis < 0) {
    return yield* wrong("shutdownMillis", "a number of milliseconds")
  }
  if (options.telemetry !== undefined && !URL.canParse(String(options.telemetry?.otlp))) {
    return yield* wrong("telemetry.otlp", "the URL of a collector")
  }
  return {
    ...kept,
    transport,
    secretsKeys,
    publicUrl: publicUrlOf(options),
    maxNumbers,
    clock: "system",
    allowPrivateTargets: egress === "open",
    attachmentBytes: sharedResources.attachmentBytes.share.most,
    diskReserve: null,
    stopMillis,
  }
})
