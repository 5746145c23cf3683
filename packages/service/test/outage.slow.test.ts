/** The facade during and after an outage of its PostgreSQL. */
import { assert, layer } from "@effect/vitest"
import { StoreUnavailable } from "@messaging-service/core"
import { EmbeddedPostgres, processes } from "@messaging-service/testkit"
import { Effect, Redacted } from "effect"
import { dirname } from "node:path"
import { Pool } from "pg"
import type { OpenOptions } from "../src/index.ts"
import { aShop, all, failure, first, opened, openedWithPhones, phone } from "./Opened.ts"

const to = { phone }

/** Log lines without the parts that vary between lines of one wording. */
const aLog = () => {
  const wordings: Array<string> = []
  const write = (text: unknown) => void wordings.push(String(text).split(":", 1)[0] ?? "")
  const logger: OpenOptions["logger"] = { debug: write, info: write, warn: write, error: write }
  return { wordings, logger }
}

/** A crash must lose no commit. */
const server = EmbeddedPostgres.layer({ settings: { synchronous_commit: "on" } })

layer(server, { excludeTestServices: true })("the facade", (it) => {
  const aDatabase = Effect.gen(function* () {
    const { database, path, url, username } = yield* (yield* EmbeddedPostgres).createDatabase()
    const dataDirectory = yield* processes.temporaryDirectory
    const run = Effect.runPromiseWith(yield* Effect.context<never>())
    const postgres = yield* EmbeddedPostgres
    const pool = yield* Effect.acquireRelease(
      Effect.sync(() => new Pool({ host: dirname(path), user: username, database, max: 4 })),
      (created) => Effect.promise(() => created.end()),
    )
    let isStopped = false
    const start = Effect.suspend(() => {
      if (!isStopped) return Effect.void
      isStopped = false
      return postgres.start
    })
    // The next test needs it, however this one ends.
    yield* Effect.addFinalizer(() => Effect.orDie(Effect.andThen(postgres.thaw, start)))
    return {
      dataDirectory,
      address: Redacted.value(url),
      pool,
      stop: () => {
        isStopped = true
        return run(postgres.stop)
      },
      start: () => run(start),
      freeze: () => run(postgres.freeze),
      thaw: () => run(postgres.thaw),
    }
  })

  for (const kind of ["an address", "a pool"] as const) {
    it.effect(
      `by ${kind}: calls fail while its database is away, and all that was accepted is sent once when it is back`,
      () =>
        Effect.flatMap(aDatabase, ({ address, dataDirectory, pool, start, stop }) =>
          Effect.promise(async () => {
            const store = kind === "a pool" ? { pool } : { postgres: address }
            const { logger, wordings } = aLog()
            const { messaging, phones } = await openedWithPhones({ store, dataDirectory, logger })
            const { api, shop } = await aShop(messaging)
            const { key } = await messaging.operator(shop).keys.create({ version: 2, name: "Web" })
            const before = first(3)
            await messaging.on("message.sent", before.handler).ready
            const soon = new Date(Date.now() + 3000)
            const due = await api.messages.send({ to, text: "Due meanwhile", sendAt: soon })
            const kept = await api.messages.send({
              to,
              text: "Kept",
              sendAt: "2100-01-01T00:00:00Z",
            })

            await stop()
            const sendDuringOutage = () =>
              api.messages.send({ to, text: "Sent again" }, { idempotencyKey: "again" })
            const calls: Readonly<Record<string, () => Promise<unknown>>> = {
              send: sendDuringOutage,
              sendBatch: () => api.messages.sendBatch({ to: [to, to], text: "Lost" }),
              get: () => api.messages.get(due.id),
              list: () => all(api.messages.list()),
              cancel: () => api.messages.cancel(kept.id),
              account: () => messaging.withKey(key).account(),
              upload: () =>
                api.media.upload({ fileName: "a.txt", content: new TextEncoder().encode("A") }),
              remind: () =>
                api.reminders.create({
                  name: "Rent",
                  to,
                  text: "Please pay",
                  schedule: { cron: "0 9 1 * *", timezone: "Europe/Berlin" },
                }),
              workspaces: () => messaging.workspaces.ensure("another"),
              drain: () => messaging.drain(),
            }
            const meanwhile = first(2)
            const { ready } = messaging.on("message.sent", meanwhile.handler)
            const readErrors = async () => {
              const errors = await Promise.all(Object.values(calls).map((call) => failure(call())))
              return errors.map(({ cause, code, status }) => {
                assert.instanceOf(cause, StoreUnavailable)
                return `${code} ${status}`
              })
            }
            for (let round = 0; round < 3; round++) {
              assert.deepStrictEqual(new Set(await readErrors()), new Set(["internal_error 500"]))
            }
            const answer = await messaging.handler(
              new Request("http://host/api/v2/me", { headers: { authorization: `Bearer ${key}` } }),
            )
            assert.strictEqual(answer.status, 500)

            await start()
            await ready
            const again = await sendDuringOutage()
            const after = await api.messages.send({ to, text: "After" })
            const sent = [due, again, after].map(({ id }) => id)
            const heard = (events: Awaited<typeof before.all>) =>
              events.map((event) => event.message.id)
            assert.sameMembers(heard(await before.all), sent)
            assert.includeMembers(heard(await meanwhile.all), [again.id])
            assert.strictEqual((await messaging.drain()).finished, true)
            assert.deepStrictEqual(
              (await all(api.messages.list())).map(({ id, status }) => [id, status]),
              [kept, due, again, after]
                .map(({ id }) => [id, id === kept.id ? "scheduled" : "sent"])
                .toSorted(([one], [other]) => Number(other) - Number(one)),
            )
            const copies = await Effect.runPromise(phones.sent({}))
            assert.sameMembers(
              copies.items.map(({ messageId }) => messageId),
              sent,
            )
            // Each wording once, however many loops, calls and rounds failed.
            assert.lengthOf(wordings, new Set(wordings).size)
            await messaging.close()
          }),
        ),
    )
  }

  it.effect("is closed while its database is away, and opened again once it is back", () =>
    Effect.flatMap(aDatabase, ({ address, dataDirectory, start, stop }) =>
      Effect.promise(async () => {
        const options = { store: { postgres: address }, dataDirectory, logger: aLog().logger }
        const messaging = await opened(options)
        const { api } = await aShop(messaging)
        messaging.on("message.sent", () => undefined)
        const waiting = await api.messages.send({
          to,
          text: "Later",
          sendAt: "2100-01-01T00:00:00Z",
        })
        await stop()
        const underWay = failure(api.messages.send({ to, text: "Lost" }))
        await messaging.close()
        assert.strictEqual((await underWay).code, "internal_error")
        assert.strictEqual((await failure(api.messages.get(waiting.id))).code, "closed")
        assert.strictEqual((await failure(opened(options))).code, "cannot_start")
        await start()
        const shop = await aShop(await opened(options))
        assert.strictEqual((await shop.api.messages.get(waiting.id)).status, "scheduled")
      }),
    ),
  )

  it.effect("drains and is closed in time although its database is frozen", () =>
    Effect.flatMap(aDatabase, ({ address, dataDirectory, freeze, pool, thaw }) =>
      Effect.promise(async () => {
        const opening = [{ postgres: address }, { pool }].map(async (store) => {
          const messaging = await opened({
            store,
            dataDirectory,
            shutdownMillis: 500,
            worker: "postgres" in store,
            logger: aLog().logger,
          })
          const { api } = await aShop(messaging)
          await messaging.on("message.sent", () => undefined).ready
          return { api, messaging }
        })
        const clients = await Promise.all(opening)
        await freeze()
        // Each has running statements, which will get no answer.
        const underWay = clients.map(({ api }) => failure(api.messages.list().page()))
        const drains = clients.map(({ messaging }) => messaging.drain({ atMostMillis: 100 }))
        for (const { finished, sent } of await Promise.all(drains)) {
          assert.deepStrictEqual([finished, sent], [false, 0])
        }
        await Promise.all(clients.map(({ messaging }) => messaging.close()))
        for (const call of underWay) assert.strictEqual((await call).code, "closed")
        await thaw()
      }),
    ),
  )
})
