/** The front door on a real PostgreSQL. */
import { assert, layer } from "@effect/vitest"
import { EmbeddedPostgres, processes } from "@messaging-service/testkit"
import { Effect, Redacted } from "effect"
import type { Store } from "../src/index.ts"
import { aShop, failure, first, opened, phone } from "./Opened.ts"

layer(EmbeddedPostgres.layer(), { excludeTestServices: true, timeout: "60 seconds" })(
  "on PostgreSQL",
  (it) => {
    /** What a process on a new database is opened with. */
    const aDatabase = Effect.gen(function* () {
      const { url } = yield* (yield* EmbeddedPostgres).createDatabase()
      const store: Store = { postgres: Redacted.value(url) }
      return { store, dataDirectory: yield* processes.temporaryDirectory }
    })

    it.effect("a restart sends what fell due meanwhile, with the key that was kept", () =>
      Effect.gen(function* () {
        const options = yield* aDatabase
        const { id, sent } = yield* Effect.promise(async () => {
          const before = await opened({ ...options, worker: false })
          const { api } = await aShop(before)
          const accepted = await api.messages.send({ to: { phone }, text: "Hello" })
          await before.close()
          const after = await opened(options)
          const heard = first(1)
          after.on("message.sent", heard.handler, { after: 0 })
          const [event] = await heard.all
          return { id: accepted.id, sent: event?.message.id }
        })
        assert.strictEqual(sent, id)
      }),
    )

    it.effect("processes that start at once ensure one workspace", () =>
      Effect.gen(function* () {
        const options = yield* aDatabase
        const secretsKey = "0123456789abcdef".repeat(4)
        const ids = yield* Effect.promise(async () => {
          const processesAtOnce = await Promise.all(
            [1, 2].map(() => opened({ ...options, secretsKey, worker: false })),
          )
          const shops = await Promise.all(processesAtOnce.map(aShop))
          return shops.map(({ shop }) => shop.id)
        })
        assert.lengthOf(new Set(ids), 1)
      }),
    )

    it.effect("a start that cannot be made is said in one line, without the password", () =>
      Effect.gen(function* () {
        const dataDirectory = yield* processes.temporaryDirectory
        const postgres = "postgres://user:hush@127.0.0.1:1/none"
        const error = yield* Effect.promise(() =>
          failure(opened({ store: { postgres }, dataDirectory })),
        )
        assert.strictEqual(error.code, "cannot_start")
        assert.match(error.message, /^store\.postgres [^\n]+$/)
        assert.notInclude(error.message, "hush")
      }),
    )
  },
)
