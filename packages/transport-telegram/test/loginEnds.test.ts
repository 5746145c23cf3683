/**
 * Logins that lose their process or answers, or that are given up within a step: their state is reported
 * truthfully, and no session is orphaned at the remote server.
 */
import { assert, layer } from "@effect/vitest"
import { SessionVault, TelegramLogin, Store } from "@messaging-service/core"
import type { AfterSecret, NumberId } from "@messaging-service/core"
import { TelegramServer } from "@messaging-service/telegram-server"
import type { CallOutcome, PersonOptions } from "@messaging-service/telegram-server"
import { Effect, Fiber, Layer, Redacted } from "effect"
import { defaultSettings, layerLogin } from "../src/index.ts"
import {
  aNumber,
  aPerson,
  anAccount,
  layerAdapter,
  layerServer,
  layerStores,
  layerWorld,
  phone,
  awaitConnection,
  until,
  untilSo,
} from "./LiveWorld.ts"

const aLogin = (options: PersonOptions = {}) =>
  Effect.gen(function* () {
    const { digits } = yield* aPerson(options)
    return { digits, id: yield* aNumber(digits) }
  })

type Login = Effect.Success<ReturnType<typeof aLogin>>

const begin = ({ digits, id }: Login) =>
  TelegramLogin.use((login) => login.begin(id, { method: "code", phone: phone(`+${digits}`) }))

const giveCode = (id: NumberId, code = "12345") =>
  TelegramLogin.use((login) => login.giveCode(id, code))

const readView = (id: NumberId) => TelegramLogin.use((login) => login.look(id))

const getState = (after: AfterSecret) =>
  after === null || after === "wrong" ? after : (after.error ?? after.state)

/** A server with that fault at its next answer to the login's step. */
const meeting = (method: string, outcome: CallOutcome) =>
  TelegramServer.use((server) => server.nextCall({ method, outcome }))

const isIn = (digits: string) =>
  Effect.map(TelegramServer, (server) => server.sessions(digits).keys === 1)

const isOut = (digits: string) => Effect.map(isIn(digits), (isThere) => !isThere)

/** The vault's entry of the login, changed by the test: as after a time in which no process ran. */
const laterOn = (id: NumberId, changed: Readonly<Record<string, unknown>>) =>
  Effect.gen(function* () {
    const vault = yield* SessionVault
    const stored = JSON.parse((yield* vault.credentials(id)) ?? "{}")
    const view = { ...stored.view, ...(changed.view as object | undefined) }
    yield* vault.replace(id, JSON.stringify({ ...stored, ...changed, view }), [])
  }).pipe(Effect.orDie)

/** A process over others' leftovers, which is gone with its scope. */
const inAProcess = <A, E, R>(work: Effect.Effect<A, E, R>) =>
  Effect.provide(work, Layer.fresh(layerAdapter()))

/**
 * A process that dies after the remote server let the account in, before it heard of it. Its time for the
 * step is over.
 */
const diesWhenIn = (login: Login, step: ReturnType<typeof giveCode>) =>
  inAProcess(
    Effect.gen(function* () {
      const dying = yield* Effect.forkChild(step)
      yield* untilSo(isIn(login.digits))
      yield* Fiber.interrupt(dying)
    }),
  ).pipe(Effect.andThen(laterOn(login.id, { stepUntil: 1 })))

layer(layerWorld)("a step of a login", (it) => {
  it.effect("whose answer is lost with the connection is known to have let the account in", () =>
    Effect.gen(function* () {
      for (const password of [undefined, "secret"]) {
        const login = yield* aLogin(password === undefined ? {} : { password })
        yield* begin(login)
        yield* meeting("auth.signIn", { drop: "after work" })
        const request = yield* giveCode(login.id)
        if (password !== undefined) {
          assert.strictEqual(getState(request), "password_needed")
          yield* meeting("auth.checkPassword", { drop: "after work" })
          const port = yield* TelegramLogin
          assert.strictEqual(getState(yield* port.givePassword(login.id, password)), "connected")
        } else {
          assert.strictEqual(getState(request), "connected")
        }
        yield* awaitConnection(login.id, "connected")
      }
    }),
  )

  it.effect("given up while it runs leaves no session at the remote server", () =>
    Effect.gen(function* () {
      const login = yield* aLogin()
      const port = yield* TelegramLogin
      yield* begin(login)
      yield* meeting("auth.signIn", "withhold")
      const step = yield* Effect.forkChild(giveCode(login.id))
      yield* untilSo(isIn(login.digits))
      assert.isTrue(yield* port.cancel(login.id))
      yield* untilSo(isOut(login.digits))
      assert.isNull(yield* readView(login.id))
      yield* Fiber.interrupt(step)
      assert.isNull(yield* readView(login.id))
      assert.strictEqual(getState(yield* begin(login)), "code_sent")
    }),
  )

  it.effect("that lets in an account of another number of the workspace is undone", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const { digits, id } = yield* anAccount
      const { numbers } = yield* Store
      const { workspaceId } = (yield* Effect.orDie(numbers.find(id))) ?? assert.fail()
      const other = yield* aNumber("4915100000001", workspaceId)
      yield* begin({ digits, id: other })
      assert.strictEqual(getState(yield* giveCode(other)), "phone_of_another_number")
      assert.strictEqual(server.sessions(digits).keys, 1)
      assert.strictEqual((yield* readView(other))?.state, "failed")
      yield* until(() => server.sessions(digits).open === 1)
    }),
  )

  it.effect("happens once, however often the same code is given at once", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const login = yield* aLogin()
      const started = yield* Effect.all([begin(login), begin(login)], { concurrency: "unbounded" })
      assert.strictEqual(started.filter((view) => view === null).length, 1)
      assert.strictEqual(server.codesSent(login.digits), 1)
      const args = [giveCode(login.id), giveCode(login.id)]
      const after = yield* Effect.all(args, { concurrency: "unbounded" })
      assert.deepStrictEqual(after.map(getState), ["connected", "connected"])
      yield* awaitConnection(login.id, "connected")
      assert.deepInclude(server.sessions(login.digits), { keys: 1, max: 1 })
    }),
  )
})

layer(Layer.merge(layerStores, layerServer))("after a process that died in a step", (it) => {
  it.effect("another one continues with the account that was let in", () =>
    Effect.gen(function* () {
      const login = yield* aLogin()
      yield* inAProcess(begin(login))
      yield* meeting("auth.signIn", "withhold")
      yield* diesWhenIn(login, giveCode(login.id))
      yield* inAProcess(
        Effect.gen(function* () {
          assert.strictEqual((yield* readView(login.id))?.state, "code_sent")
          assert.strictEqual(getState(yield* giveCode(login.id)), "connected")
          yield* awaitConnection(login.id, "connected")
        }),
      )
      assert.isTrue(yield* isIn(login.digits))
    }),
  )

  it.effect("giving the login up logs out the account that was let in", () =>
    Effect.gen(function* () {
      const login = yield* aLogin()
      yield* inAProcess(begin(login))
      yield* meeting("auth.signIn", "withhold")
      yield* diesWhenIn(login, giveCode(login.id))
      yield* inAProcess(
        Effect.gen(function* () {
          assert.isTrue(yield* (yield* TelegramLogin).cancel(login.id))
          assert.isNull(yield* readView(login.id))
        }),
      )
      assert.isTrue(yield* isOut(login.digits))
    }),
  )

  it.effect("the worker logs out the account that was let in once the login's time is over", () =>
    Effect.gen(function* () {
      const login = yield* aLogin()
      yield* inAProcess(begin(login))
      yield* meeting("auth.signIn", "withhold")
      yield* diesWhenIn(login, giveCode(login.id))
      yield* laterOn(login.id, { view: { expiresAt: 1 } })
      yield* inAProcess(
        Effect.gen(function* () {
          yield* untilSo(isOut(login.digits))
          assert.strictEqual((yield* readView(login.id))?.state, "expired")
          assert.strictEqual((yield* begin(login))?.state, "code_sent")
        }),
      )
    }),
  )

  it.effect("a code that may never have been sent is not reported as sent", () =>
    Effect.gen(function* () {
      const login = yield* aLogin()
      const server = yield* TelegramServer
      yield* server.down
      yield* inAProcess(
        Effect.gen(function* () {
          yield* Effect.forkChild(begin(login))
          yield* untilSo(Effect.map(readView(login.id), (view) => view !== null))
        }),
      )
      yield* server.up
      yield* laterOn(login.id, { stepUntil: 1 })
      yield* inAProcess(
        Effect.gen(function* () {
          const view = yield* readView(login.id)
          assert.deepStrictEqual([view?.state, view?.error], ["failed", "connection_lost"])
          assert.strictEqual(getState(yield* giveCode(login.id)), "connection_lost")
        }),
      )
    }),
  )

  it.effect("a QR code is shown again, and one that was scanned meanwhile logs in", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      for (const isScannedMeanwhile of [false, true]) {
        const { digits, id } = yield* aLogin()
        const shown = Effect.gen(function* () {
          yield* untilSo(Effect.map(readView(id), (view) => typeof view?.qr?.url === "string"))
          return (yield* readView(id))?.qr?.url ?? ""
        })
        const first = yield* inAProcess(
          Effect.gen(function* () {
            yield* (yield* TelegramLogin).begin(id, { method: "qr" })
            return yield* shown
          }),
        )
        if (isScannedMeanwhile) yield* Effect.orDie(server.scan(digits, first))
        yield* laterOn(id, { stepUntil: 1, view: { qr: { url: first, expiresAt: 1 } } })
        yield* inAProcess(
          Effect.gen(function* () {
            // A code that no app would accept any more is not shown.
            assert.isNull((yield* readView(id))?.qr ?? null)
            if (!isScannedMeanwhile) {
              const second = yield* shown
              assert.notStrictEqual(second, first)
              yield* Effect.orDie(server.scan(digits, second))
            }
            yield* awaitConnection(id, "connected")
          }),
        )
      }
    }),
  )

  it.effect(
    "a login sealed by an older secrets key counts as missing, and a new one may start",
    () =>
      Effect.gen(function* () {
        const login = yield* aLogin()
        yield* (yield* Store).sessions.replace(login.id, "sealed by another key", [], 0, null)
        yield* inAProcess(
          Effect.gen(function* () {
            assert.isNull(yield* readView(login.id))
            assert.strictEqual((yield* begin(login))?.state, "code_sent")
          }),
        )
      }),
  )
})

/** The QR codes shown at the terminal. */
const visible: Array<readonly [numberId: NumberId, url: string]> = []

const layerAlone = Layer.unwrap(
  Effect.map(TelegramServer, ({ apiHash, apiId, port, publicKey }) =>
    layerLogin(
      {
        ...defaultSettings,
        application: { id: apiId, hash: Redacted.make(apiHash) },
        server: { host: "127.0.0.1", port },
        publicKey,
      },
      (numberId, url) => Effect.sync(() => void visible.push([numberId, url])),
    ),
  ),
).pipe(Layer.provideMerge(layerStores), Layer.provideMerge(layerServer))

layer(layerAlone)("a QR code of a remote server with another clock", (it) => {
  it.effect("is valid for half a minute by the service's own, and is shown at the terminal", () =>
    Effect.gen(function* () {
      const { id } = yield* aLogin()
      yield* (yield* TelegramLogin).begin(id, { method: "qr" })
      yield* untilSo(Effect.map(readView(id), (view) => view?.qr !== null))
      const { expiresAt, url } = (yield* readView(id))?.qr ?? assert.fail()
      assert.strictEqual(expiresAt, 30_000)
      yield* until(() => visible.length > 0)
      assert.deepStrictEqual(visible, [[id, url]])
    }),
  )
})
