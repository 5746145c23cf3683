/** Telegram accounts at the facade, against a Telegram server on this machine. */
import { assert, it } from "@effect/vitest"
import { TelegramServer } from "@messaging-service/telegram-server"
import { Effect } from "effect"
import { aShop, failure, first, opened } from "./Opened.ts"

const [ownPhone, otherPhone] = ["4915100000001", "4915100000002"] as const

it.effect("an account logs in by code and password, and its message to @name arrives once", () =>
  Effect.gen(function* () {
    const remote = yield* TelegramServer
    yield* remote.person(ownPhone, { password: "correct horse" })
    yield* remote.person(otherPhone, { username: "somename" })
    const { address: server, apiHash, apiId, publicKey } = remote
    yield* Effect.promise(async () => {
      const messaging = await opened({
        transport: { live: { telegram: { apiId, apiHash, server, publicKey } } },
      })
      const shop = await messaging.workspaces.ensure("shop", {
        numbers: [{ platform: "telegram", phone: `+${ownPhone}` }],
      })
      const { numbers, telegramLogins: logins } = messaging.operator(shop)
      const [account] = await numbers.list()
      assert(account !== undefined)
      assert.deepStrictEqual([account.platform, account.status], ["telegram", "disconnected"])
      const { expiresAt, ...started } = await logins.begin(account.id, {
        method: "code",
        phone: `+${ownPhone}`,
      })
      assert.isAbove(expiresAt.getTime(), Date.now())
      assert.deepStrictEqual(started, {
        state: "code_sent",
        qrUrl: null,
        qrExpiresAt: null,
        codeSentTo: "app",
        error: null,
      })
      const wrong = await failure(logins.giveCode(account.id, "00000"))
      assert.deepStrictEqual([wrong.code, wrong.status], ["invalid_code", 422])
      assert.strictEqual((await logins.giveCode(account.id, "12345")).state, "password_needed")
      assert.strictEqual((await logins.get(account.id)).state, "password_needed")
      const { state } = await logins.givePassword(account.id, "correct horse")
      assert.strictEqual(state, "connected")

      const heard = first(1)
      messaging.on("message.sent", heard.handler)
      const { id } = await messaging
        .as(shop)
        .messages.send({ from: account.id, to: { username: "@somename" }, text: "Hello" })
      const [event] = await heard.all
      assert.strictEqual(event?.message.id, id)
    })
    assert.deepStrictEqual(
      remote.shown(otherPhone).map(({ text }) => text),
      ["Hello"],
    )
    assert.deepStrictEqual(remote.complaints(), [])
  }).pipe(Effect.provide(TelegramServer.layer())),
)

it.effect("a cancelled login can begin again, and shows a QR code", () =>
  Effect.gen(function* () {
    const { address: server, apiHash, apiId, person, publicKey } = yield* TelegramServer
    yield* person(ownPhone)
    yield* Effect.promise(async () => {
      const messaging = await opened({
        transport: { live: { telegram: { apiId, apiHash, server, publicKey } } },
      })
      const shop = await messaging.workspaces.ensure("shop", {
        numbers: [{ platform: "telegram", phone: `+${ownPhone}` }],
      })
      const { numbers, telegramLogins: logins } = messaging.operator(shop)
      const id = (await numbers.list())[0]?.id ?? 0
      let login = await logins.begin(id, { method: "qr" })
      while (login.qrUrl === null) {
        // Let the server's answer arrive.
        await new Promise(setImmediate)
        login = await logins.get(id)
      }
      assert.strictEqual(login.state, "showing_qr")
      assert.match(login.qrUrl, /^tg:\/\/login\?token=/)
      assert.instanceOf(login.qrExpiresAt, Date)
      await logins.cancel(id)
      assert.strictEqual((await failure(logins.get(id))).code, "login_not_found")
      const misspelt = await failure(logins.begin(id, { method: "qr", fone: "5" } as never))
      assert.deepStrictEqual([misspelt.code, misspelt.field], ["validation_failed", "fone"])
      const noPhone = await failure(logins.begin(id, { method: "code" }))
      assert.deepStrictEqual([noPhone.code, noPhone.field], ["validation_failed", "phone"])
      assert.strictEqual((await logins.begin(id, { method: "qr" })).state, "showing_qr")
    })
  }).pipe(Effect.provide(TelegramServer.layer())),
)

it("without an application no account can be logged in", async () => {
  const messaging = await opened({ worker: false })
  const { shop } = await aShop(messaging)
  const { numbers, telegramLogins: logins } = messaging.operator(shop)
  const { id } = await numbers.create({
    platform: "telegram",
    phone: `+${ownPhone}`,
    status: "disconnected",
  })
  const error = await failure(logins.begin(id, { method: "qr" }))
  assert.deepStrictEqual([error.code, error.status], ["telegram_not_configured", 409])
})
