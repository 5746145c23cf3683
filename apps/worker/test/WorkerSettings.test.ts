/** The worker's environment variables (contract: Configuration). */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { readWorkerSettings } from "../src/WorkerSettings.ts"

const DATABASE_URL = "postgres://db.example/messages"
const SECRETS_KEY = "5ec2e7".padEnd(64, "0")

describe("the worker's configuration", () => {
  for (const environment of [{}, { DATABASE_URL: "" }, { DATABASE_URL: "memory:" }]) {
    it.effect(`refuses a store that it cannot share: ${JSON.stringify(environment)}`, () =>
      Effect.gen(function* () {
        const { message } = yield* Effect.flip(readWorkerSettings(environment))
        assert.match(message, /^DATABASE_URL must .+$/)
      }),
    )
  }

  for (const [variable, value] of Object.entries({
    DATABASE_URL: "mysql://db.example/messages",
    SECRETS_KEY: "",
    METRICS_PORT: "metrics",
    PUBLIC_URL: "messages.example",
    TRANSPORT: "pigeon",
    WHATSAPP_URL: "ws://web.whatsapp.com/",
    CLOCK: "sundial",
    ALLOW_PRIVATE_TARGETS: "yes",
    LOG_LEVEL: "loud",
    LOG_FORMAT: "xml",
  })) {
    it.effect(`refuses a wrong ${variable} in one line that names it`, () =>
      Effect.gen(function* () {
        const environment = { DATABASE_URL, SECRETS_KEY, [variable]: value }
        const { message } = yield* Effect.flip(readWorkerSettings(environment))
        assert.match(message, new RegExp(`^${variable} (?:must be|is required) .+$`))
      }),
    )
  }

  it.effect("ignores the server's variables", () =>
    Effect.gen(function* () {
      const settings = yield* readWorkerSettings({
        DATABASE_URL,
        SECRETS_KEY,
        WORKER: "separate",
        TRUST_PROXY: "1",
        PORT: "8080",
      })
      assert.strictEqual(settings.service.store.kind, "postgres")
      assert.isNull(settings.metricsPort)
    }),
  )
})
