/** The server's environment variables (contract: Configuration). */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { resolve } from "node:path"
import { readServerSettings } from "../src/ServerSettings.ts"
import type { ServerSettings } from "../src/ServerSettings.ts"

const defaults: ServerSettings = {
  adminPort: null,
  metricsPort: null,
  operatorToken: null,
  trustProxy: false,
  inlineWorker: true,
  seedExample: true,
  dashboard: true,
  service: {
    host: "127.0.0.1",
    port: 8080,
    publicUrl: null,
    store: { kind: "embedded" },
    dataDirectory: resolve("data"),
    secretsKeys: null,
    transport: { kind: "simulated" },
    clock: "system",
    allowPrivateTargets: false,
    maxNumbers: null,
    attachmentBytes: 1_073_741_824,
    diskReserve: null,
    retentionDays: null,
    log: { level: "info", format: "pretty" },
  },
}

/** The minimum length of a token. */
const hush = "hush-".repeat(7).slice(0, 32)

const postgres = "postgres://user:secret@db.example/messages"

const secretsKey = "5ec2e7".padEnd(64, "0")

const within = (change: Partial<ServerSettings["service"]>): Partial<ServerSettings> => ({
  service: { ...defaults.service, ...change },
})

const understood: ReadonlyArray<
  readonly [environment: Record<string, string>, change: Partial<ServerSettings>]
> = [
  [{ PORT: "0" }, within({ port: 0 })],
  [{ ADMIN_PORT: "9001" }, { adminPort: 9001 }],
  [{ RETENTION_DAYS: "3650" }, within({ retentionDays: 3650 })],
  [{ METRICS_PORT: "9002" }, { metricsPort: 9002 }],
  [
    { ADMIN_PORT: "0", METRICS_PORT: "0" },
    { adminPort: 0, metricsPort: 0 },
  ],
  [{ PORT: "65535" }, within({ port: 65_535 })],
  [{ HOST: "0.0.0.0" }, within({ host: "0.0.0.0" })],
  [{ HOST: "::1" }, within({ host: "::1" })],
  [{ HOST: "localhost" }, within({ host: "localhost" })],
  [{ PUBLIC_URL: "https://messages.example" }, within({ publicUrl: "https://messages.example" })],
  [
    { PUBLIC_URL: "http://messages.example:81/" },
    within({ publicUrl: "http://messages.example:81" }),
  ],
  [{ TRUST_PROXY: "true" }, { trustProxy: true }],
  [{ TRUST_PROXY: "false" }, {}],
  [{ SEED_EXAMPLE: "false" }, { seedExample: false }],
  [{ WORKER: "inline" }, {}],
  [{ TRANSPORT: "simulated" }, {}],
  [{ MAX_NUMBERS: "200" }, within({ maxNumbers: 200 })],
  [
    { TRANSPORT: "live" },
    { seedExample: false, ...within({ transport: { kind: "live", whatsApp: {} } }) },
  ],
  [
    {
      TRANSPORT: "live",
      WHATSAPP_URL: "ws://127.0.0.1:4000/",
      WHATSAPP_VERSION: "2.3000.7",
      LINKED_DEVICE_NAME: "Acme",
    },
    {
      seedExample: false,
      ...within({
        transport: {
          kind: "live",
          whatsApp: {
            url: new URL("ws://127.0.0.1:4000/"),
            version: [2, 3000, 7],
            deviceName: "Acme",
          },
        },
      }),
    },
  ],
  [
    {
      TRANSPORT: "live",
      TELEGRAM_API_ID: "12345",
      TELEGRAM_API_HASH: "0123456789abcdef0123456789abcdef",
      TELEGRAM_DC: "127.0.0.1:4430",
    },
    {
      seedExample: false,
      ...within({
        transport: {
          kind: "live",
          whatsApp: {},
          telegram: {
            application: {
              id: 12_345,
              hash: Redacted.make("0123456789abcdef0123456789abcdef"),
            },
            server: { host: "127.0.0.1", port: 4430 },
          },
        },
      }),
    },
  ],
  [
    { TELEGRAM_API_ID: "12345", TELEGRAM_API_HASH: "0123456789abcdef0123456789abcdef" },
    within({ transport: { kind: "simulated", hasApplication: true } }),
  ],
  [{ DATABASE_URL: "memory:" }, within({ store: { kind: "memory" } })],
  [{ DATA_DIR: "/var/lib/messages" }, within({ dataDirectory: "/var/lib/messages" })],
  // Only tests move the time of live numbers, on their own servers.
  [
    { TRANSPORT: "live", CLOCK: "adjustable", WHATSAPP_URL: "ws://127.0.0.1:4000/" },
    {
      seedExample: false,
      ...within({
        clock: "adjustable",
        transport: { kind: "live", whatsApp: { url: new URL("ws://127.0.0.1:4000/") } },
      }),
    },
  ],
  [{ DATA_DIR: "here" }, within({ dataDirectory: resolve("here") })],
  [{ CLOCK: "adjustable" }, within({ clock: "adjustable" })],
  [{ ALLOW_PRIVATE_TARGETS: "true" }, within({ allowPrivateTargets: true })],
  [{ LOG_LEVEL: "debug" }, within({ log: { level: "debug", format: "pretty" } })],
  [{ LOG_FORMAT: "json" }, within({ log: { level: "info", format: "json" } })],
]

const refused: ReadonlyArray<readonly [environment: Record<string, string>, variable: string]> = [
  [{ PORT: "http" }, "PORT"],
  [{ PORT: "-1" }, "PORT"],
  [{ ADMIN_PORT: "admin" }, "ADMIN_PORT"],
  [{ ADMIN_PORT: "8080" }, "ADMIN_PORT"],
  [{ ADMIN_PORT: "9001", METRICS_PORT: "9001" }, "METRICS_PORT"],
  [{ METRICS_PORT: "65536" }, "METRICS_PORT"],
  [{ PORT: "65536" }, "PORT"],
  [{ RETENTION_DAYS: "0" }, "RETENTION_DAYS"],
  [{ RETENTION_DAYS: "3651" }, "RETENTION_DAYS"],
  [{ PORT: "80.5" }, "PORT"],
  [{ PORT: " 80" }, "PORT"],
  [{ HOST: "http://localhost" }, "HOST"],
  [{ HOST: "two words" }, "HOST"],
  [{ DATABASE_URL: "mysql://db.example/messages" }, "DATABASE_URL"],
  [{ DATABASE_URL: "postgres" }, "DATABASE_URL"],
  [{ DATABASE_URL: postgres }, "SECRETS_KEY"],
  [{ SECRETS_KEY: secretsKey.slice(1) }, "SECRETS_KEY"],
  [{ SECRETS_KEY: `${secretsKey.slice(1)}x` }, "SECRETS_KEY"],
  [{ DATABASE_URL: "memory" }, "DATABASE_URL"],
  [{ PUBLIC_URL: "messages.example" }, "PUBLIC_URL"],
  [{ PUBLIC_URL: "ftp://messages.example" }, "PUBLIC_URL"],
  [{ PUBLIC_URL: "https://messages.example/path" }, "PUBLIC_URL"],
  [{ PUBLIC_URL: "https://me@messages.example" }, "PUBLIC_URL"],
  [{ OPERATOR_TOKEN: ` ${"t".repeat(40)}` }, "OPERATOR_TOKEN"],
  [{ OPERATOR_TOKEN: `${"t".repeat(40)}ü` }, "OPERATOR_TOKEN"],
  [{ OPERATOR_TOKEN: "t" }, "OPERATOR_TOKEN"],
  [{ OPERATOR_TOKEN: "t".repeat(31) }, "OPERATOR_TOKEN"],
  [{ WHATSAPP_URL: "ws://web.whatsapp.com/ws/chat" }, "WHATSAPP_URL"],
  [{ WHATSAPP_VERSION: "2.3000" }, "WHATSAPP_VERSION"],
  [{ LINKED_DEVICE_NAME: "a".repeat(51) }, "LINKED_DEVICE_NAME"],
  [{ TELEGRAM_API_ID: "first" }, "TELEGRAM_API_ID"],
  [{ TELEGRAM_API_HASH: "0123" }, "TELEGRAM_API_HASH"],
  [{ TELEGRAM_DC: "127.0.0.1" }, "TELEGRAM_DC"],
  [{ TELEGRAM_PUBLIC_KEY: "/there/is/no/such.pem" }, "TELEGRAM_PUBLIC_KEY"],
  [{ TRANSPORT: "pigeon" }, "TRANSPORT"],
  [{ CLOCK: "sundial" }, "CLOCK"],
  [{ CLOCK: "adjustable", TRANSPORT: "live" }, "CLOCK"],
  [
    {
      CLOCK: "adjustable",
      TRANSPORT: "live",
      WHATSAPP_URL: "ws://127.0.0.1:4000/",
      TELEGRAM_API_ID: "12345",
      TELEGRAM_API_HASH: "0123456789abcdef0123456789abcdef",
    },
    "CLOCK",
  ],
  [{ DATABASE_URL: postgres, SECRETS_KEY: secretsKey, DATABASE_SCHEMA: "No" }, "DATABASE_SCHEMA"],
  [
    { DATABASE_URL: postgres, SECRETS_KEY: secretsKey, DATABASE_SCHEMA: "pg_own" },
    "DATABASE_SCHEMA",
  ],
  [{ TELEGRAM_API_ID: "12345" }, "TELEGRAM_API_HASH"],
  [{ TELEGRAM_API_ID: "12345", TRANSPORT: "live" }, "TELEGRAM_API_HASH"],
  [{ TELEGRAM_API_HASH: "0123456789abcdef0123456789abcdef" }, "TELEGRAM_API_ID"],
  [{ ALLOW_PRIVATE_TARGETS: "yes" }, "ALLOW_PRIVATE_TARGETS"],
  [{ TRUST_PROXY: "1" }, "TRUST_PROXY"],
  [{ WORKER: "none" }, "WORKER"],
  [{ WORKER: "separate", DATABASE_URL: "memory:" }, "WORKER"],
  [{ WORKER: "separate" }, "WORKER"],
  [{ LOG_LEVEL: "loud" }, "LOG_LEVEL"],
  [{ LOG_FORMAT: "xml" }, "LOG_FORMAT"],
  [{ SEED_EXAMPLE: "TRUE" }, "SEED_EXAMPLE"],
]

const format = (environment: Record<string, string>) =>
  Object.entries(environment)
    .map(([name, value]) => `${name}=${value}`)
    .join(" ")

describe("the server's configuration", () => {
  it.effect("has defaults for unset variables", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* readServerSettings({}), defaults)
    }),
  )

  it.effect("treats an empty variable as unset, and ignores other programs' variables", () =>
    Effect.gen(function* () {
      const names =
        "PORT ADMIN_PORT METRICS_PORT HOST DATABASE_URL SECRETS_KEY DATA_DIR PUBLIC_URL OPERATOR_TOKEN TRANSPORT CLOCK"
      const more = "ALLOW_PRIVATE_TARGETS TRUST_PROXY WORKER LOG_LEVEL LOG_FORMAT SEED_EXAMPLE"
      const empty = Object.fromEntries(`${names} ${more}`.split(" ").map((name) => [name, ""]))
      assert.deepStrictEqual(yield* readServerSettings({ ...empty, EDITOR: "ed" }), defaults)
    }),
  )

  for (const [environment, change] of understood) {
    it.effect(`understands ${format(environment)}`, () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* readServerSettings(environment), { ...defaults, ...change })
      }),
    )
  }

  for (const [environment, variable] of refused) {
    it.effect(`refuses ${format(environment)} in one line that names ${variable}`, () =>
      Effect.gen(function* () {
        const { message } = yield* Effect.flip(readServerSettings(environment))
        assert.match(message, new RegExp(`^${variable} (?:must be|is required) .+$`))
      }),
    )
  }

  it.effect("names every wrong variable in the same line", () =>
    Effect.gen(function* () {
      const { message } = yield* Effect.flip(readServerSettings({ PORT: "x", CLOCK: "y" }))
      assert.match(message, /^(?=.*PORT must be)(?=.*CLOCK must be).+$/)
    }),
  )

  it.effect("keeps secrets out of all output", () =>
    Effect.gen(function* () {
      const environment = {
        DATABASE_URL: postgres,
        OPERATOR_TOKEN: hush,
        SECRETS_KEY: secretsKey,
      }
      const settings = yield* readServerSettings(environment)
      assert.notMatch(
        `${JSON.stringify(settings)} ${String(settings)}`,
        /secret@|hush|5ec2e7|94,194,231/,
      )
      assert.strictEqual(Redacted.value(settings.operatorToken!), hush)
      const { store } = settings.service
      assert.strictEqual(store.kind === "postgres" && Redacted.value(store.url), postgres)
    }),
  )

  it.effect("refuses a wrong secret without repeating it", () =>
    Effect.gen(function* () {
      const environment = {
        DATABASE_URL: "mysql://u:secret@db.example/m",
        OPERATOR_TOKEN: "geheim\u00e4",
      }
      const { message } = yield* Effect.flip(readServerSettings(environment))
      assert.notMatch(message, /secret|geheim/)
    }),
  )

  it.effect("permits a separate worker where the store is shared", () =>
    Effect.gen(function* () {
      const environment = {
        DATABASE_URL: postgres,
        SECRETS_KEY: secretsKey,
        WORKER: "separate",
      }
      assert.isFalse((yield* readServerSettings(environment)).inlineWorker)
    }),
  )
})
