/** Accounts log in by code, by password and by QR code, and are refused by name. */
import { assert, layer } from "@effect/vitest"
import { NumberProxies, SessionVault, TelegramLogin, Store } from "@messaging-service/core"
import type { NumberId } from "@messaging-service/core"
import { TelegramServer } from "@messaging-service/telegram-server"
import type { PersonOptions } from "@messaging-service/telegram-server"
import { Effect, Layer, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { defaultSettings, layerLogin } from "../src/index.ts"
import { Sessions } from "../src/Account.ts"
import {
  aNumber,
  aPerson,
  aText,
  layerServer,
  layerStores,
  layerWorld,
  phone,
  sendNow,
  awaitConnection,
  until,
  untilSo,
} from "./LiveWorld.ts"

const readView = (numberId: NumberId) =>
  Effect.flatMap(TelegramLogin, (login) => login.look(numberId))

const getState = (numberId: NumberId) =>
  Effect.map(readView(numberId), (view) => view?.state ?? null)

/** A number of a person with a started login by code. */
const started = (options: PersonOptions = {}) =>
  Effect.gen(function* () {
    const login = yield* TelegramLogin
    const { digits } = yield* aPerson(options)
    const id = yield* aNumber(digits)
    const view = yield* login.begin(id, { method: "code", phone: phone(`+${digits}`) })
    assert.isNotNull(view)
    return { digits, id, view }
  })

layer(layerWorld)("a login by code", (it) => {
  it.effect(
    "tells where the code went, counts a wrong one as a try, and connects with the right one",
    () =>
      Effect.gen(function* () {
        const server = yield* TelegramServer
        const login = yield* TelegramLogin
        const { digits, id, view } = yield* started({ codeWays: ["sms"] })
        assert.deepStrictEqual(
          { state: view.state, to: view.codeSentTo, error: view.error, qr: view.qr },
          { state: "code_sent", to: "sms", error: null, qr: null },
        )
        assert.strictEqual(yield* login.giveCode(id, "99999"), "wrong")
        assert.strictEqual(yield* getState(id), "code_sent")
        const after = yield* login.giveCode(id, "12345")
        assert.strictEqual(after !== null && after !== "wrong" && after.state, "connected")
        yield* awaitConnection(id, "connected")
        assert.strictEqual(yield* getState(id), "connected")
        // The key that was logged in is the one that sends, and two never used it at once.
        const { keys, max } = server.sessions(digits)
        assert.deepStrictEqual([keys, max], [1, 1])
      }),
  )

  it.effect("reports a code that came by e-mail as such", () =>
    Effect.gen(function* () {
      const login = yield* TelegramLogin
      const { id, view } = yield* started({ codeWays: ["email"] })
      assert.strictEqual(view.codeSentTo, "email")
      assert.strictEqual(yield* login.giveCode(id, "99999"), "wrong")
      const after = yield* login.giveCode(id, "12345")
      assert.strictEqual(after !== null && after !== "wrong" && after.state, "connected")
    }),
  )

  it.effect("does not start over a stored account, connected or not", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const login = yield* TelegramLogin
      const { digits, id } = yield* started()
      yield* login.giveCode(id, "12345")
      yield* awaitConnection(id, "connected")
      const sessions = yield* Sessions
      yield* server.down
      yield* until(() => sessions.status(id)?.state === "waiting")
      assert.isNull(yield* login.begin(id, { method: "code", phone: phone(`+${digits}`) }))
      yield* server.up
      yield* until(() => sessions.status(id)?.state === "connected")
      yield* aPerson({ username: "kept_one" })
      const message = aText({ id }, { kind: "username", username: "kept_one" })
      assert.deepStrictEqual(yield* sendNow(message), { _tag: "Accepted" })
    }),
  )

  it.effect("asks for the password, which may be repeated, and stores neither", () =>
    Effect.gen(function* () {
      const login = yield* TelegramLogin
      const vault = yield* SessionVault
      const { id } = yield* started({ password: "correct horse" })
      const request = yield* login.giveCode(id, "12345")
      assert.strictEqual(
        request !== null && request !== "wrong" && request.state,
        "password_needed",
      )
      assert.strictEqual(yield* login.givePassword(id, "wrong horse"), "wrong")
      const stored = (yield* vault.credentials(id)) ?? ""
      for (const secret of ["12345", "horse"]) assert.notInclude(stored, secret)
      const after = yield* login.givePassword(id, "correct horse")
      assert.strictEqual(after !== null && after !== "wrong" && after.state, "connected")
      yield* awaitConnection(id, "connected")
    }),
  )

  it.effect("is stored sealed, runs one step at a time, and is forgotten when given up", () =>
    Effect.gen(function* () {
      const login = yield* TelegramLogin
      const { digits, id } = yield* started()
      const sealed = (yield* (yield* Store).sessions.credentials(id)) ?? ""
      assert.isAbove(sealed.length, 0)
      assert.notInclude(sealed, digits)
      const again = { method: "code", phone: phone(`+${digits}`) } as const
      assert.isNull(yield* login.begin(id, again))
      assert.deepStrictEqual(yield* sendNow(aText({ id }, { kind: "user_id", userId: 1 })), {
        _tag: "NotConnected",
      })
      assert.isTrue(yield* login.cancel(id))
      assert.isFalse(yield* login.cancel(id))
      assert.isNull(yield* readView(id))
      assert.isNull(yield* login.giveCode(id, "12345"))
      assert.isNotNull(yield* login.begin(id, again))
    }),
  )

  it.effect("of an account of another data centre continues there, and so does its sending", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const login = yield* TelegramLogin
      const recipient = yield* aPerson({ username: "elsewhere_one" })
      const { id } = yield* started({ dcId: 4 })
      yield* login.giveCode(id, "12345")
      yield* awaitConnection(id, "connected")
      const message = aText({ id }, { kind: "username", username: "elsewhere_one" })
      assert.deepStrictEqual(yield* sendNow(message), { _tag: "Accepted" })
      assert.strictEqual(server.copies(recipient.digits), 1)
    }),
  )

  it.effect("has a failure with its own name for each refusal", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const refusals: Readonly<Record<string, string>> = {
        PHONE_NUMBER_INVALID: "phone_invalid",
        PHONE_NUMBER_BANNED: "phone_banned",
        PHONE_NUMBER_FLOOD: "too_many_attempts",
        FLOOD_WAIT_30: "too_many_attempts: wait 30 s",
        API_ID_INVALID: "application_refused",
        SOMETHING_NEW: "something_new",
      }
      for (const [error, name] of Object.entries(refusals)) {
        yield* server.nextCall({ method: "auth.sendCode", outcome: { code: 400, error } })
        const { view } = yield* started()
        assert.deepStrictEqual([view.state, view.error], ["failed", name])
      }
      const login = yield* TelegramLogin
      const stranger = yield* aNumber("4915199999999")
      yield* login.begin(stranger, { method: "code", phone: phone("+4915199999999") })
      const after = yield* login.giveCode(stranger, "12345")
      assert.strictEqual(after !== null && after !== "wrong" && after.error, "phone_not_registered")
      yield* server.nextCall({
        method: "auth.signIn",
        outcome: { code: 400, error: "PHONE_CODE_EXPIRED" },
      })
      const { id } = yield* started()
      const late = yield* login.giveCode(id, "12345")
      assert.strictEqual(late !== null && late !== "wrong" && late.error, "code_expired")
    }),
  )
})

layer(layerWorld)("a login by QR code", (it) => {
  it.effect(
    "shows a link, and connects after the scan, with the password if needed, on each data centre",
    () =>
      Effect.gen(function* () {
        const server = yield* TelegramServer
        const login = yield* TelegramLogin
        const secret = { password: "secret" }
        const people: ReadonlyArray<PersonOptions> = [
          {},
          secret,
          { dcId: 4 },
          { dcId: 4, ...secret },
        ]
        for (const options of people) {
          const { digits } = yield* aPerson(options)
          const id = yield* aNumber(digits)
          yield* login.begin(id, { method: "qr" })
          yield* untilSo(Effect.map(readView(id), (view) => view !== null && view.qr !== null))
          const url = (yield* readView(id))?.qr?.url ?? ""
          assert.match(url, /^tg:\/\/login\?token=/)
          yield* Effect.orDie(server.scan(digits, url))
          const next = options.password === undefined ? "connected" : "password_needed"
          yield* untilSo(Effect.map(getState(id), (state) => state === next))
          if (options.password !== undefined) yield* login.givePassword(id, options.password)
          yield* awaitConnection(id, "connected")
        }
      }),
  )
})

const layerAlone = (isConfigured: boolean) =>
  Layer.unwrap(
    Effect.map(TelegramServer, ({ apiHash, apiId, port, publicKey }) =>
      layerLogin({
        ...defaultSettings,
        application: isConfigured ? { id: apiId, hash: Redacted.make(apiHash) } : null,
        server: { host: "127.0.0.1", port },
        publicKey,
      }),
    ),
  ).pipe(Layer.provideMerge(layerStores), Layer.provideMerge(layerServer))

layer(layerAlone(true))("a login's time", (it) => {
  it.effect("is ten minutes in all", () =>
    Effect.gen(function* () {
      const { id } = yield* started()
      yield* TestClock.adjust("9 minutes")
      assert.strictEqual(yield* getState(id), "code_sent")
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(yield* getState(id), "expired")
      const login = yield* TelegramLogin
      const after = yield* login.giveCode(id, "12345")
      assert.strictEqual(after !== null && after !== "wrong" && after.state, "expired")
    }),
  )
})

layer(layerAlone(false))("without an application", (it) => {
  it.effect("nothing is configured", () =>
    Effect.gen(function* () {
      assert.isFalse((yield* TelegramLogin).isConfigured)
      assert.isDefined(yield* NumberProxies)
    }),
  )
})
