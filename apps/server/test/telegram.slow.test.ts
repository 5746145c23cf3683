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
const against = (remote: typeof TelegramServer.Service, store: Readonly<Record<string, string>>) =>
  Effect.gen(function* () {
    const directory = yield* processes.temporaryDirectory
    const key = join(directory, "key.pem")
    yield* Effect.promise(() => writeFile(key, remote.publicKey))
    return processes.startServer(program, {
      PORT: "0",
      DATA_DIR: "DATABASE_URL" in store ? join(directory, "data") : yield* aDataDirectory,
      OPERATOR_TOKEN: operatorToken,
      TRANSPORT: "live",
      TELEGRAM_API_ID: String(remote.apiId),
      TELEGRAM_API_HASH: remote.apiHash,
      TELEGRAM_DC: remote.address,
      TELEGRAM_PUBLIC_KEY: key,
      ...store,
    })
  })

/** A workspace with a key, and a number with its login at that path. */
const aNumber = (url: string) =>
  Effect.gen(function* () {
    const { aSender, request } = processes.anOperator(url, operatorToken)
    const account = { platform: "telegram", phone: `+${ownPhone}`, status: "disconnected" }
    const { key, number, workspace } = yield* aSender({ number: account })
    const path = `/workspaces/${workspace.id}/numbers/${number.id}`
    return { request, key, number, path, login: `${path}/telegram-login` }
  })

const byCode = { method: "code", phone: `+${ownPhone}` }

/** From an empty store to a message that was read, and a restart that sends another. */
const scenario = (store: Readonly<Record<string, string>>, isStored: boolean) =>
  Effect.gen(function* () {
    const remote = yield* TelegramServer
    yield* remote.person(ownPhone, { password: "correct horse" })
    yield* remote.person(otherPhone, { username: "somename" })
    const started = yield* against(remote, store)

    const first = yield* started
    const { request, key, login, number } = yield* aNumber(first.url)
    const begun = yield* request<Login>("POST", login, byCode)
    assert.deepStrictEqual([begun.status, begun.body.state], [202, "code_sent"])
    assert.strictEqual((yield* request("POST", login, byCode)).status, 409)
    assert.strictEqual((yield* request("POST", `${login}/code`, { code: "00000" })).status, 422)
    const requested = yield* request<Login>("POST", `${login}/code`, { code: "12345" })
    assert.strictEqual(requested.body.state, "password_needed")
    const wrong = yield* request("POST", `${login}/password`, { password: "wrong" })
    assert.strictEqual(wrong.status, 422)
    const password = { password: "correct horse" }
    const { body: done } = yield* request<Login>("POST", `${login}/password`, password)
    assert.strictEqual(done.state, "connected")

    // The message may be accepted before the worker has connected the account: it waits.
    const caller = processes.aCaller(first.url, key.key)
    const to = { username: "@somename" }
    const { body: sent } = yield* caller.send("Grüße *👋*", { to, from: number.id })
    yield* caller.until(sent.id, "sent")
    assert.deepStrictEqual(
      remote.shown(otherPhone).map(({ text }) => text),
      ["Grüße 👋"],
    )
    yield* remote.read(otherPhone, ownPhone)
    yield* caller.until(sent.id, "read")
    const { stdout: words } = yield* first.kill
    for (const secret of ["correct horse", remote.apiHash]) assert.notInclude(words, secret)
    if (!isStored) return assert.deepStrictEqual(remote.complaints(), [])

    const second = yield* started
    const again = processes.aCaller(second.url, key.key)
    const { body: next } = yield* again.send("Again", { to, from: number.id })
    yield* again.until(next.id, "sent")
    assert.strictEqual(remote.copies(otherPhone), 2)
    const { keys, max } = remote.sessions(ownPhone)
    assert.deepStrictEqual([keys, max], [1, 1])
    assert.deepStrictEqual(remote.complaints(), [])
  }).pipe(Effect.provide(TelegramServer.layer()))

/** A message that waits during Telegram's pause reports that, and does not leave meanwhile. */
const pause = Effect.gen(function* () {
  const remote = yield* TelegramServer
  yield* remote.person(ownPhone)
  yield* remote.person(otherPhone, { username: "somename" })
  const server = yield* yield* against(remote, { DATABASE_URL: "memory:" })
  const { request, key, login, number, path } = yield* aNumber(server.url)
  yield* request("POST", login, byCode)
  yield* request("POST", `${login}/code`, { code: "12345" })
  const caller = processes.aCaller(server.url, key.key)
  const more = { to: { username: "@somename" }, from: number.id }

  yield* remote.nextCall({ phone: ownPhone, outcome: { code: 420, error: "FLOOD_WAIT_8" } })
  const { body: cancelled } = yield* caller.send("Cancelled", more)
  const rested = processes.waitUntil(
    "Telegram has made the account wait",
    Effect.map(
      request<{ readonly next_send_at: string | null }>("GET", `${path}/connection`),
      ({ body }) =>
        remote.ordersLeft(ownPhone) === 0 && body.next_send_at !== null ? body : undefined,
    ),
  )
  yield* rested
  const expires = new Date(Date.now() + 2000).toISOString()
  const { body: expired } = yield* caller.send("Expired", { ...more, expires_at: expires })
  const { body: sent } = yield* caller.send("Sent", more)
  const answer = yield* caller.cancel(cancelled.id)
  assert.deepStrictEqual([answer.status, answer.body.status], [200, "cancelled"])
  yield* caller.until(expired.id, "expired")
  assert.strictEqual(remote.copies(otherPhone), 0)
  yield* caller.until(sent.id, "sent")
  assert.deepStrictEqual(
    remote.shown(otherPhone).map(({ text }) => text),
    ["Sent"],
  )
  assert.strictEqual((yield* caller.read(cancelled.id)).body.status, "cancelled")
  assert.strictEqual((yield* caller.read(expired.id)).body.status, "expired")
}).pipe(Effect.provide(TelegramServer.layer()))

describe.concurrent("a Telegram account", () => {
  it.effect("logs in, and its message to @name arrives once, on a memory store", () =>
    scenario({ DATABASE_URL: "memory:" }, false),
  )
  it.effect("does so on the embedded database", () => scenario({}, true))
  it.effect("sends nothing that was cancelled or expired during Telegram's pause", () => pause)
  it.effect("does so on PostgreSQL", () =>
    Effect.gen(function* () {
      const { createDatabase } = yield* EmbeddedPostgres
      const { url } = yield* createDatabase()
      yield* scenario({ DATABASE_URL: Redacted.value(url), SECRETS_KEY: "5".repeat(64) }, true)
    }).pipe(Effect.provide(EmbeddedPostgres.layer())),
  )
})
