/**
 * Settings of a service: the rule for each, shared by variables and options, and how the server and
 * the worker read them from the environment (contract: Configuration). The server owns the variables
 * of the HTTP interface alone.
 */
import { createPublicKey } from "node:crypto"
import { readFileSync, statSync } from "node:fs"
import { totalmem } from "node:os"
import { resolve } from "node:path"
import { getHeapStatistics } from "node:v8"
import {
  isLoopback,
  parseSecretsKeys,
  maxRetentionDays,
  secretsKeyRule,
  sharedLimits,
} from "@messaging-service/core"
import type { SecretsKeys } from "@messaging-service/core"
import {
  byteSize,
  CannotStart,
  oneOf,
  trueOrFalse,
  variable,
  wholeNumber,
} from "@messaging-service/node"
import type { LogSettings, VariablesOf } from "@messaging-service/node"
import type { DatabaseOptions } from "@messaging-service/store-postgres"
import { Effect, Redacted } from "effect"
import type { LiveTelegram, TransportChoice } from "./transports.ts"

/** Maximum that a setting may allow of live numbers per process. */
export const maxNumbers = 100_000

/** A setting that is a text, in a variable or an option. */
export interface TextSetting<A> {
  /** The words that follow "must be". */
  readonly rule: string
  /** Undefined for a text that breaks the rule. */
  readonly parse: (text: string) => A | undefined
}

/** An attacker could guess shorter ones; a random hexadecimal token has this many characters. */
const shortestToken = 32

/** Whether the token is long enough, and a header can carry it unchanged. */
export const isOperatorToken = (text: string): boolean =>
  text.length >= shortestToken && /^[!-~](?:[ -~]*[!-~])$/.test(text)

export const operatorToken: TextSetting<Redacted.Redacted> = {
  rule: `at least ${shortestToken} printable ASCII characters`,
  parse: (text) => (isOperatorToken(text) ? Redacted.make(text) : undefined),
}

/** An origin, with or without a trailing slash. */
export const origin: TextSetting<string> = {
  rule: "an origin such as https://messages.example.com",
  parse: (text) => {
    if (!URL.canParse(text)) return undefined
    const url = new URL(text)
    return /^https?:$/.test(url.protocol) && url.href === `${url.origin}/` ? url.origin : undefined
  },
}

export const secretsKeys: TextSetting<SecretsKeys> = {
  rule: secretsKeyRule,
  parse: parseSecretsKeys,
}

/**
 * The library verifies no certificates of WhatsApp's own, so trust in the remote server rests on TLS.
 * Only this machine may do without it.
 */
export const whatsAppUrl: TextSetting<URL> = {
  rule: "a wss:// URL, or a ws:// one of this machine (127.0.0.1)",
  parse: (text) => {
    if (!URL.canParse(text)) return undefined
    const url = new URL(text)
    if (url.username !== "" || url.password !== "" || url.hash !== "") return undefined
    if (url.protocol === "wss:") return url
    return url.protocol === "ws:" && isLoopback(url.hostname) ? url : undefined
  },
}

export const clientVersion: TextSetting<readonly [number, number, number]> = {
  rule: "three whole numbers with dots, such as 2.3000.1043857760",
  parse: (text) => {
    const [, first, second, third] = /^(\d{1,9})\.(\d{1,9})\.(\d{1,12})$/.exec(text) ?? []
    return third === undefined ? undefined : [Number(first), Number(second), Number(third)]
  },
}

export const deviceName: TextSetting<string> = {
  rule: "1 to 50 characters",
  parse: (text) =>
    text.trim() !== "" && [...text].length <= 50 && !/[\p{Cc}]/u.test(text) ? text : undefined,
}

export const apiId: TextSetting<number> = {
  rule: "the application's id from Telegram, a whole number",
  parse: (text) => (/^[1-9]\d{0,9}$/.test(text) ? Number(text) : undefined),
}

export const apiHash: TextSetting<Redacted.Redacted> = {
  rule: "the application's hash from Telegram, 32 hexadecimal characters",
  parse: (text) => (/^[\da-f]{32}$/i.test(text) ? Redacted.make(text) : undefined),
}

export const serverAddress: TextSetting<NonNullable<LiveTelegram["server"]>> = {
  rule: "host:port of another Telegram server",
  parse: (text) => {
    const [, host, port] = /^([\w.-]+):(\d{1,5})$/.exec(text) ?? []
    if (host === undefined || Number(port) < 1 || Number(port) > 65_535) return undefined
    return { host, port: Number(port) }
  },
}

const pem =
  /^-----BEGIN (RSA )?PUBLIC KEY-----\s[A-Za-z\d+/=\s]+-----END (?:RSA )?PUBLIC KEY-----\s*$/

/** The key of another server, in the form that the library reads (PKCS#1). */
export const publicKey: TextSetting<string> = {
  rule: "an RSA public key in PEM",
  parse: (text) => {
    const [whole, rsa] = pem.exec(text) ?? []
    if (whole === undefined) return undefined
    try {
      const key = createPublicKey(text)
      if (key.asymmetricKeyType !== "rsa") return undefined
      // A key that arrived in that form cannot be exported in it.
      return rsa === undefined ? key.export({ format: "pem", type: "pkcs1" }).toString() : whole
    } catch {
      return undefined
    }
  },
}

/** Settings of live numbers; those that were left out are undefined. */
export interface LiveSettings {
  readonly url: URL | undefined
  readonly version: readonly [number, number, number] | undefined
  readonly deviceName: string | undefined
  /** Without one, Telegram is off. */
  readonly application?: LiveTelegram["application"] | undefined
  readonly server?: LiveTelegram["server"] | undefined
  readonly publicKey?: string | undefined
}

export const liveTransports = ({
  application,
  deviceName: name,
  publicKey: key,
  server,
  url,
  version,
}: LiveSettings): TransportChoice => {
  const named = name === undefined ? {} : { deviceName: name }
  return {
    kind: "live",
    whatsApp: {
      ...(url === undefined ? {} : { url }),
      ...(version === undefined ? {} : { version }),
      ...named,
    },
    ...(application === undefined
      ? {}
      : {
          telegram: {
            application,
            ...(server === undefined ? {} : { server }),
            ...(key === undefined ? {} : { publicKey: key }),
            ...named,
          },
        }),
  }
}

/** Where the service stores everything. */
export type StoreChoice =
  /** In this process, for its lifetime. */
  | { readonly kind: "memory" }
  /** PostgreSQL inside this process, in the data directory. */
  | { readonly kind: "embedded" }
  /** A PostgreSQL that other processes may share; null for the default schema. */
  | {
      readonly kind: "postgres"
      readonly url: Redacted.Redacted
      readonly schema: string | null
    }
  /** The same, over the host's pool. */
  | {
      readonly kind: "pool"
      readonly pool: NonNullable<DatabaseOptions["pool"]>
      readonly schema: string | null
    }

export interface ComposedSettings {
  /** Origin of links; null for the address that the server listens on. */
  readonly publicUrl: string | null
  readonly store: StoreChoice
  /**
   * Absolute. Null with a memory store: the process then keeps files and the secrets key in memory,
   * and writes nothing to disk. Null with a PostgreSQL but no disk: uploads then fail, and the secrets
   * key is required.
   */
  readonly dataDirectory: string | null
  /** Null for the key in the data directory. */
  readonly secretsKeys: SecretsKeys | null
  readonly transport: TransportChoice
  /** Without a worker from the start the service sends nothing; a later drain checks for itself. */
  readonly startsNoWorker?: boolean
  /** Other processes send, and this one has no worker: it names itself as no number's. */
  readonly worksElsewhere?: boolean
  /**
   * Maximum of live numbers for this process, when it shares them with others; null for as many as its
   * memory allows.
   */
  readonly maxNumbers: number | null
  readonly clock: "system" | "adjustable"
  readonly allowPrivateTargets: boolean
  /** Outbound calls use the host's own `fetch`, where a program cannot open connections itself. */
  readonly callsByFetch?: boolean
  /** Maximum of bytes for the attachments of one workspace's version 1 sends. */
  readonly attachmentBytes: number
  /** Bytes that media leave free on the disk; null for the smaller of 1 GiB and 5 % of it. */
  readonly diskReserve: number | null
  /** Days after their end until messages are erased, in every workspace; null to keep them. */
  readonly retentionDays: number | null
  /**
   * How long a stopping worker waits for running transports and receivers, in real milliseconds.
   * Default: the core's own bound.
   */
  readonly stopMillis?: number
}

/** Measured memory of a busy live number's session, rounded up. */
const bytesOfNumber = 6 * 1024 * 1024

/** As many live numbers as fit in half of the process's memory. */
export const numbersForMemory = (): number => {
  const constrained = process.constrainedMemory()
  const memory = Math.min(
    totalmem(),
    constrained > 0 ? constrained : Infinity,
    getHeapStatistics().heap_size_limit,
  )
  return Math.max(1, Math.floor(memory / 2 / bytesOfNumber))
}

export interface ServiceSettings extends ComposedSettings {
  /** Where the server listens. */
  readonly host: string
  /** 0 for any free port. */
  readonly port: number
  /** Absolute. */
  readonly dataDirectory: string
  readonly log: LogSettings
}

export const isPostgresUrl = (text: string): boolean => /^postgres(ql)?:\/\//.test(text)

const parseStore = (text: string): StoreChoice | undefined => {
  if (text === "memory:") return { kind: "memory" }
  // The store itself says what is wrong with the rest.
  return isPostgresUrl(text)
    ? { kind: "postgres", url: Redacted.make(text), schema: null }
    : undefined
}

/** Undefined when the file does not exist. */
const fileText = (path: string): string | undefined =>
  statSync(path, { throwIfNoEntry: false })?.isFile() === true
    ? readFileSync(path, "utf8")
    : undefined

/** A port to listen on; 0 for any free one. */
export const portNumber = wholeNumber(0, 65_535)

/** The variable of a setting. */
export const variableOf = <A>({ parse, rule }: TextSetting<A>) => variable(rule, parse)

/** The variables that both apps read; the worker builds links to the server. */
export const serviceVariables = {
  PORT: portNumber,
  HOST: variable("a host name or an address", (text) =>
    /^[\w.:%-]+$/.test(text) ? text : undefined,
  ),
  PUBLIC_URL: variableOf(origin),
  DATABASE_URL: variable(
    "a postgres:// URL, or memory:, or unset for the embedded database",
    parseStore,
  ),
  DATABASE_SCHEMA: variable("the name of a schema", (text) => text),
  DATA_DIR: variable("a path", (text) => resolve(text)),
  TRANSPORT: oneOf("simulated", "live"),
  WHATSAPP_URL: variableOf(whatsAppUrl),
  WHATSAPP_VERSION: variableOf(clientVersion),
  TELEGRAM_API_ID: variableOf(apiId),
  TELEGRAM_API_HASH: variableOf(apiHash),
  TELEGRAM_DC: variableOf(serverAddress),
  TELEGRAM_PUBLIC_KEY: variable(`a file of ${publicKey.rule}`, (path) => {
    const text = fileText(path)
    return text === undefined ? undefined : publicKey.parse(text)
  }),
  LINKED_DEVICE_NAME: variableOf(deviceName),
  MAX_NUMBERS: wholeNumber(1, maxNumbers),
  SECRETS_KEY: variableOf(secretsKeys),
  CLOCK: oneOf("system", "adjustable"),
  ALLOW_PRIVATE_TARGETS: trueOrFalse,
  ATTACHMENT_BYTES: byteSize,
  DISK_RESERVE: byteSize,
  RETENTION_DAYS: wholeNumber(1, maxRetentionDays),
  LOG_LEVEL: oneOf("debug", "info", "warn", "error"),
  LOG_FORMAT: oneOf("pretty", "json"),
}

/** Variables that select the store. */
export const storeChoice = ({
  DATABASE_SCHEMA: schema,
  DATABASE_URL: store = { kind: "embedded" },
}: Pick<VariablesOf<typeof serviceVariables>, "DATABASE_SCHEMA" | "DATABASE_URL">): StoreChoice =>
  store.kind === "postgres" && schema !== undefined ? { ...store, schema } : store

export const getDataDirectory = ({
  DATA_DIR: text,
}: Pick<VariablesOf<typeof serviceVariables>, "DATA_DIR">): string => text ?? resolve("data")

const transportChoice = (input: VariablesOf<typeof serviceVariables>): TransportChoice => {
  const { TELEGRAM_API_HASH: hash, TELEGRAM_API_ID: id } = input
  const application = id === undefined || hash === undefined ? undefined : { id, hash }
  if (input.TRANSPORT !== "live") {
    return { kind: "simulated", ...(application === undefined ? {} : { hasApplication: true }) }
  }
  return liveTransports({
    url: input.WHATSAPP_URL,
    version: input.WHATSAPP_VERSION,
    deviceName: input.LINKED_DEVICE_NAME,
    application,
    server: input.TELEGRAM_DC,
    publicKey: input.TELEGRAM_PUBLIC_KEY,
  })
}

/** Problems with variables that contradict each other. */
const conflictingVariables = (input: VariablesOf<typeof serviceVariables>, store: StoreChoice) => {
  const {
    CLOCK: clock,
    TELEGRAM_API_HASH: hash,
    TELEGRAM_API_ID: id,
    TELEGRAM_DC: telegram,
    TRANSPORT: transport,
    WHATSAPP_URL: whatsApp,
  } = input
  const found: Array<string> = []
  // Processes on other machines could not read a key that this one keeps.
  if (store.kind === "postgres" && input.SECRETS_KEY === undefined) {
    found.push(
      `SECRETS_KEY is required with a PostgreSQL DATABASE_URL: ${secretsKeyRule}, ` +
        "the same for all processes on it",
    )
  }
  if (id !== undefined && hash === undefined) {
    found.push("TELEGRAM_API_HASH is required with TELEGRAM_API_ID")
  }
  if (id === undefined && hash !== undefined) {
    found.push("TELEGRAM_API_ID is required with TELEGRAM_API_HASH")
  }
  // Tests move the time of live numbers, against their own servers for each platform.
  const reachesPeople = whatsApp === undefined || (id !== undefined && telegram === undefined)
  if (transport === "live" && clock === "adjustable" && reachesPeople) {
    found.push("CLOCK must be system with TRANSPORT=live")
  }
  return found
}

/** Rule that a wrong schema name breaks; else null. */
export const wrongSchemaName = (store: StoreChoice): Effect.Effect<string | null> =>
  "schema" in store && store.schema !== null
    ? schemaNameProblem(store.schema)
    : Effect.succeed(null)

/** The store owns the rule; it loads only for a schema name. */
const schemaNameProblem = (name: string) =>
  Effect.map(
    Effect.promise(() => import("@messaging-service/store-postgres")),
    ({ isSchemaName, schemaNameRule }) => (isSchemaName(name) ? null : schemaNameRule),
  )

/** Problems with the variables that select the store. */
export const checkStore = (store: StoreChoice): Effect.Effect<void, CannotStart> =>
  Effect.flatMap(wrongSchemaName(store), (rule) =>
    rule === null
      ? Effect.void
      : Effect.fail(new CannotStart({ message: `DATABASE_SCHEMA must be ${rule}` })),
  )

/** Applies the defaults for unset variables. Fails with one line when a required one is missing. */
export const serviceSettings = Effect.fnUntraced(function* serviceSettings(
  input: VariablesOf<typeof serviceVariables>,
): Effect.fn.Return<ServiceSettings, CannotStart> {
  const store = storeChoice(input)
  const wrong = conflictingVariables(input, store)
  if (wrong.length > 0) return yield* new CannotStart({ message: wrong.join("; ") })
  yield* checkStore(store)
  return {
    host: input.HOST ?? "127.0.0.1",
    port: input.PORT ?? 8080,
    publicUrl: input.PUBLIC_URL ?? null,
    store,
    dataDirectory: getDataDirectory(input),
    secretsKeys: input.SECRETS_KEY ?? null,
    transport: transportChoice(input),
    maxNumbers: input.MAX_NUMBERS ?? null,
    clock: input.CLOCK ?? "system",
    allowPrivateTargets: input.ALLOW_PRIVATE_TARGETS ?? false,
    attachmentBytes: input.ATTACHMENT_BYTES ?? sharedLimits.attachmentBytes.share.most,
    diskReserve: input.DISK_RESERVE ?? null,
    retentionDays: input.RETENTION_DAYS ?? null,
    log: { level: input.LOG_LEVEL ?? "info", format: input.LOG_FORMAT ?? "pretty" },
  }
})
