/** Simulated phones on a store with numbers linked for real: they never send in their place. */
import { assert, layer } from "@effect/vitest"
import { Store } from "@messaging-service/core"
import type { NumberId } from "@messaging-service/core"
import { EmbeddedPostgres, processes, putDataDirectory } from "@messaging-service/testkit"
import { Context, Effect, Redacted } from "effect"
import { join } from "node:path"
import type { ComposedService } from "../src/compose/index.ts"
import type { OpenOptions } from "../src/index.ts"
import { aShop, failure, opened, openedWithPhones, phone } from "./Opened.ts"

/** The sessions that live transports store, as promises. */
const getSessions = (context: Context.Context<ComposedService>) => {
  const sessions = Context.get(context, Store).sessions
  return {
    link: (id: number) => Effect.runPromise(sessions.write(id as NumberId, "sealed", [], 0, null)),
    leave: (id: number) => Effect.runPromise(sessions.markLeaving(id as NumberId, 0, null)),
  }
}

const accepts = { worker: false } satisfies OpenOptions

/** The store is started five times, and an embedded one takes seconds for it on a busy machine. */
const startsMillis = 180_000

layer(EmbeddedPostgres.layer(), { excludeTestServices: true })(
  "simulated phones where numbers are linked for real",
  (it) => {
    const stores = {
      "embedded PostgreSQL": Effect.gen(function* () {
        const embedded = join(yield* processes.temporaryDirectory, "data")
        yield* putDataDirectory(import.meta.url, embedded)
        return { store: { embedded } }
      }),
      PostgreSQL: Effect.gen(function* () {
        const { url } = yield* (yield* EmbeddedPostgres).createDatabase()
        const dataDirectory = yield* processes.temporaryDirectory
        return { store: { postgres: Redacted.value(url) }, dataDirectory }
      }),
    }
    for (const [name, options] of Object.entries(stores)) {
      it.effect(
        `on ${name} the start is refused, and so is a drain of what was accepted`,
        () =>
          Effect.gen(function* () {
            const store = yield* options
            yield* Effect.promise(async () => {
              const before = await openedWithPhones({ ...store, ...accepts })
              const { api, shop } = await aShop(before.messaging)
              const [number] = await api.numbers.list()
              assert(number !== undefined)
              await getSessions(before.context).link(number.id)
              const { id } = await api.messages.send({ to: { phone }, text: "Hello" })
              const notDrained = await failure(before.messaging.drain())
              await before.messaging.close()

              const notOpened = await failure(opened(store))
              for (const { code, message } of [notDrained, notOpened]) {
                assert.strictEqual(code, "cannot_start")
                assert.match(message, /^transport: "simulated" [^\n]+ transport: "live"$/)
              }

              const after = await openedWithPhones({ ...store, ...accepts })
              const { messages } = after.messaging.as(shop)
              assert.strictEqual((await messages.get(id)).status, "queued")
              await getSessions(after.context).leave(number.id)
              assert.strictEqual((await after.messaging.drain()).sent, 1)
              await after.messaging.close()
              await (await opened(store)).close()
            })
          }),
        startsMillis,
      )
    }

    it.effect("in memory there is none, and they send", () =>
      Effect.promise(async () => {
        const messaging = await opened(accepts)
        const { api } = await aShop(messaging)
        await api.messages.send({ to: { phone }, text: "Hello" })
        assert.strictEqual((await messaging.drain()).sent, 1)
      }),
    )
  },
)
