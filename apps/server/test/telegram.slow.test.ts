/** The server with `TRANSPORT=live`, against a Telegram server on this machine, on every store. */
import { assert, describe, it } from "@effect/vitest"
import { TelegramServer } from "@messaging-service/telegram-server"
import { EmbeddedPostgres, processes } from "@messaging-service/testkit"
import { Effect, Redacted } from "effect"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { aDataDirectory, program } from "./aServer.ts"

const operatorToken = "t".repeat(40)

const [ownPhone, otherPhone] = ["4915100000001", "4915100000002"] as const

interface Login {
  readonly state: string
  readonly code_sent_to: string | null
  readonly error: string | null
}

/** The start of a server with that store against the Telegram server. */
const against = (far: typeof TelegramServer.Service, store: Readonly<Record<string, string>>) =>
  Effect.gen(function* () {
    const directory = yield* processes.temporaryDirectory
    const key = join(directory, "key.pem")
    yield* Effect.promise(() => writeFile(key, far.publicKey))
    return processes.startServer(program, {
      PORT: "0",
      DATA_DIR: "DATABASE_URL" in store ? join(directory, "data") : yield* aDataDirectory,
      OPERATOR_TOKEN: operatorToken,
      TRANSPORT: "live",
      TELEGRAM_API_ID: String(far.apiId),
      TELEGRAM_API_HASH: far.apiHash,
      TELEGRAM_DC: far.address,
      TELEGRAM_PUBLIC_KEY: key,
      ...store,
    })
  })

/** A workspace with a key, and a number whose login is at that path. */
const aNumber = (url: string) =>
  Effect.gen(function* () {
    const { aSender, ask } = processes.anOperator(url, operatorToken)
    const account = { platform: "telegram", phone: `+${ownPhone}`, status: "disconnected" }
    const { key, number, workspace } = yield* aSender({ number: account })
    const path = `/workspaces/${workspace.id}/numbers/${number.id}`
    return { ask, key, number, path, login: `${path}/telegram-login` }
  })

const byCode = { method: "code", phone: `+${ownPhone}` }

/** From an empty store to a message that was read, and a restart that sends another. */
const story = (store: Readonly<Record<string, string>>, isKept: boolean) =>
  Effect.gen(function* () {
    const far = yield* TelegramServer
    yield* far.person(ownPhone, { password: "correct horse" })
    yield* far.person(otherPhone, { username: "somename" })
    const started = yield* against(far, store)

    const first = yield* started
    const { ask, key, login, number } = yield* aNumber(first.url)
    const begun = yield* ask<Login>("POST", login, byCode)
    assert.deepStrictEqual([begun.status, begun.body.state], [202, "code_sent"])
    assert.strictEqual((yield* ask("POST", login, byCode)).status, 409)
    assert.strictEqual((yield* ask("POST", `${login}/code`, { code: "00000" })).status, 422)
    const asked = yield* ask<Login>("POST", `${login}/code`, { code: "12345" })
    assert.strictEqual(asked.body.state, "password_needed")
    const wrong = yield* ask("POST", `${login}/password`, { password: "wrong" })
    assert.strictEqual(wrong.status, 422)
    const password = { password: "correct horse" }
    const { body: done } = yield* ask<Login>("POST", `${login}/password`, password)
    assert.strictEqual(done.state, "connected")

    // The message may be accepted before the worker has connected the account: it waits.
    const caller = processes.aCaller(first.url, key.key)
    const to = { username: "@somename" }
    const { body: sent } = yield* caller.send("Grüße *👋*", { to, from: number.id })
    yield* caller.until(sent.id, "sent")
    assert.deepStrictEqual(
      far.shown(otherPhone).map(({ text }) => text),
      ["Grüße 👋"],
    )
    yield* far.read(otherPhone, ownPhone)
    yield* caller.until(sent.id, "read")
    const { stdout: words } = yield* first.kill
    for (const secret of ["correct horse", far.apiHash]) assert.notInclude(words, secret)
    if (!isKept) return assert.deepStrictEqual(far.complaints(), [])

    const second = yield* started
    const again = processes.aCaller(second.url, key.key)
    const { body: next } = yield* again.send("Again", { to, from: number.id })
    yield* again.until(next.id, "sent")
    assert.strictEqual(far.copies(otherPhone), 2)
    const { keys, most } = far.sessions(ownPhone)
    assert.deepStrictEqual([keys, most], [1, 1])
    assert.deepStrictEqual(far.complaints(), [])
  }).pipe(Effect.provide(TelegramServer.layer()))

/** A message that waits during Telegram's pause reports that, and does not leave meanwhile. */
const pause = Effect.gen(function* () {
  const far = yield* TelegramServer
  yield* far.person(ownPhone)
  yield* far.person(otherPhone, { username: "somename" })
  const server = yield* yield* against(far, { DATABASE_URL: "memory:" })
  const { ask, key, login, number, path } = yield* aNumber(server.url)
  yield* ask("POST", login, byCode)
  yield* ask("POST", `${login}/code`, { code: "12345" })
  const caller = processes.aCaller(server.url, key.key)
  const more = { to: { username: "@somename" }, from: number.id }

  yield* far.nextCall({ phone: ownPhone, outcome: { code: 420, error: "FLOOD_WAIT_8" } })
  const { body: cancelled } = yield* caller.send("Cancelled", more)
  const rested = processes.waitUntil(
    "Telegram has made the account wait",
    Effect.map(
      ask<{ readonly next_send_at: string | null }>("GET", `${path}/connection`),
      ({ body }) =>
        far.ordersLeft(ownPhone) === 0 && body.next_send_at !== null ? body : undefined,
    ),
  )
  yield* rested
  const expires = new Date(Date.now() + 2000).toISOString()
  const { body: expired } = yield* caller.send("Expired", { ...more, expires_at: expires })
  const { body: sent } = yield* caller.send("Sent", more)
  const answer = yield* caller.cancel(cancelled.id)
  assert.deepStrictEqual([answer.status, answer.body.status], [200, "cancelled"])
  yield* caller.until(expired.id, "expired")
  assert.strictEqual(far.copies(otherPhone), 0)
  yield* caller.until(sent.id, "sent")
  assert.deepStrictEqual(
    far.shown(otherPhone).map(({ text }) => text),
    ["Sent"],
  )
  assert.strictEqual((yield* caller.read(cancelled.id)).body.status, "cancelled")
  assert.strictEqual((yield* caller.read(expired.id)).body.status, "expired")
}).pipe(Effect.provide(TelegramServer.layer()))

describe.concurrent("a Telegram account", () => {
  it.effect("logs in, and its message to @name arrives once, on a memory store", () =>
    story({ DATABASE_URL: "memory:" }, false),
  )
  it.effect("does so on the embedded database", () => story({}, true))
  it.effect("sends nothing that was cancelled or expired during Telegram's pause", () => pause)
  it.effect("does so on PostgreSQL", () =>
    Effect.gen(function* () {
      const { createDatabase } = yield* EmbeddedPostgres
      const { url } = yield* createDatabase()
      yield* story({ DATABASE_URL: Redacted.value(url), SECRETS_KEY: "5".repeat(64) }, true)
    }).pipe(Effect.provide(EmbeddedPostgres.layer())),
  )
})
