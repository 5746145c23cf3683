/** One process at a time works on a login, and a late one undoes nothing of another. */
import { assert, layer } from "@effect/vitest"
import {
  NumberProxies,
  layerStoredSecrets,
  SecretsKey,
  SessionVault,
  TelegramLogin,
  Store,
} from "@messaging-service/core"
import type { NumberId } from "@messaging-service/core"
import { TelegramServer } from "@messaging-service/telegram-server"
import { live } from "@messaging-service/testkit"
import { Context, Effect, Fiber, Layer, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { defaultSettings, layerLogin } from "../src/index.ts"
import { aNumber, aPerson, layerServer, layerStores, phone, until, untilSo } from "./LiveWorld.ts"

/** The logins of a separate process; it ends with the scope. */
const aProcess = (format?: () => void) =>
  Effect.gen(function* () {
    const { apiHash, apiId, port, publicKey } = yield* TelegramServer
    const settings = {
      ...defaultSettings,
      application: { id: apiId, hash: Redacted.make(apiHash) },
      server: { host: "127.0.0.1", port },
      publicKey,
    }
    const logins = layerLogin(settings, () => Effect.sync(() => format?.()))
    const built = yield* Layer.build(Layer.fresh(logins.pipe(Layer.provide(live.realClock))))
    return Context.get(built, TelegramLogin)
  })

/** Two processes that write only after both have read, once armed. */
const twoThatRead = (format: (process: string) => void = () => undefined) =>
  Effect.gen(function* () {
    const vault = yield* SessionVault
    let left = 0
    const meeting = SessionVault.of({
      ...vault,
      exchange: (...args) => {
        if (left === 0) return vault.exchange(...args)
        left--
        return Effect.andThen(
          until(() => left === 0),
          vault.exchange(...args),
        )
      },
    })
    const inBoth = Effect.provideService(SessionVault, meeting)
    const one = yield* inBoth(aProcess(() => format("one")))
    const two = yield* inBoth(aProcess(() => format("two")))
    return { one, two, meet: Effect.sync(() => void (left = 2)) }
  })

/** A number with a login by code that the process has started. */
const started = (process: typeof TelegramLogin.Service) =>
  Effect.gen(function* () {
    const { digits } = yield* aPerson()
    const id = yield* aNumber(digits)
    yield* process.begin(id, { method: "code", phone: phone(`+${digits}`) })
    return { digits, id }
  })

/** As after a time in which the process that works on the login was away. */
const lapsed = (id: NumberId, view: Readonly<Record<string, unknown>> = {}) =>
  Effect.gen(function* () {
    const vault = yield* SessionVault
    const stored = JSON.parse((yield* vault.credentials(id)) ?? "{}")
    const changed = { ...stored, stepUntil: 1, view: { ...stored.view, ...view } }
    yield* vault.replace(id, JSON.stringify(changed), [])
  })

const getKeys = (digits: string) =>
  Effect.map(TelegramServer, (server) => server.sessions(digits).keys)

layer(Layer.merge(layerStores, layerServer))("of two processes", (it) => {
  it.effect("that get the code at once, one makes the step, and both report it", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const { meet, one, two } = yield* twoThatRead()
      const { digits, id } = yield* started(one)
      yield* meet
      const args = [one.giveCode(id, "12345"), two.giveCode(id, "12345")]
      const after = yield* Effect.all(args, { concurrency: "unbounded" })
      for (const view of after) {
        assert.strictEqual(view !== null && view !== "wrong" && view.state, "connected")
      }
      yield* until(() => server.connections() === 0)
      assert.deepInclude(server.sessions(digits), { keys: 1, max: 1 })
    }),
  )

  it.effect("that read a QR login whose process died, one shows a code", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const { digits } = yield* aPerson()
      const id = yield* aNumber(digits)
      const first = yield* Effect.scoped(
        Effect.gen(function* () {
          const died = yield* aProcess()
          yield* died.begin(id, { method: "qr" })
          yield* untilSo(Effect.map(died.look(id), (view) => typeof view?.qr?.url === "string"))
          return (yield* died.look(id))?.qr?.url ?? ""
        }),
      )
      yield* until(() => server.connections() === 0)
      yield* lapsed(id, { qr: { url: first, expiresAt: 1 } })
      const visible: Array<string> = []
      const { meet, one, two } = yield* twoThatRead((process) => void visible.push(process))
      yield* meet
      yield* Effect.all([one.look(id), two.look(id)], { concurrency: "unbounded" })
      yield* until(() => visible.length > 0)
      const url = (yield* two.look(id))?.qr?.url ?? ""
      yield* Effect.orDie(server.scan(digits, url))
      yield* untilSo(Effect.map(one.look(id), (view) => view?.state === "connected"))
      yield* until(() => server.connections() === 0)
      assert.strictEqual(new Set(visible).size, 1)
      assert.strictEqual(yield* getKeys(digits), 1)
    }),
  )

  it.effect("one frozen in a step leaves the account alone that the other has stored", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const [frozen, other] = [yield* aProcess(), yield* aProcess()]
      const { digits, id } = yield* started(frozen)
      yield* server.nextCall({ method: "auth.signIn", outcome: "withhold" })
      const step = yield* Effect.forkChild(frozen.giveCode(id, "12345"))
      yield* untilSo(Effect.map(getKeys(digits), (keys) => keys === 1))
      yield* lapsed(id)
      const after = yield* other.giveCode(id, "12345")
      assert.strictEqual(after !== null && after !== "wrong" && after.state, "connected")
      yield* TestClock.adjust("30 seconds")
      const late = yield* Fiber.join(step)
      assert.strictEqual(late !== null && late !== "wrong" && late.state, "connected")
      assert.strictEqual(yield* getKeys(digits), 1)
    }),
  )

  it.effect("one gives the login up or the other stores its account, never both", () =>
    Effect.gen(function* () {
      const vault = yield* SessionVault
      const other = yield* aProcess()
      let isAbandoned: boolean | null = null
      /** The login is given up once everything is checked, right before the account is stored. */
      const giving = SessionVault.of({
        ...vault,
        exchange: (numberId, before, credentials, keys) =>
          Effect.gen(function* () {
            if (credentials?.includes(`"kind":"account"`) === true && isAbandoned === null) {
              isAbandoned = yield* other.cancel(numberId)
            }
            return yield* vault.exchange(numberId, before, credentials, keys)
          }),
      })
      const keeping = yield* aProcess().pipe(Effect.provideService(SessionVault, giving))
      const { digits, id } = yield* started(keeping)
      const after = yield* keeping.giveCode(id, "12345")
      assert.deepStrictEqual([isAbandoned, after], [true, null])
      assert.isNull(yield* vault.credentials(id))
      assert.strictEqual(yield* getKeys(digits), 0)
    }),
  )
})

layer(Layer.merge(layerStores, layerServer))("an account", (it) => {
  it.effect("is stored for one number of a workspace, before any worker has connected it", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const { numbers } = yield* Store
      const login = yield* aProcess()
      for (const concurrency of [1, 2]) {
        const { digits } = yield* aPerson({ password: "secret" })
        const first = yield* aNumber("4915100000021")
        const { workspaceId } = (yield* numbers.find(first)) ?? assert.fail()
        const ids = [first, yield* aNumber("4915100000022", workspaceId)]
        for (const id of ids) {
          yield* login.begin(id, { method: "code", phone: phone(`+${digits}`) })
          yield* login.giveCode(id, "12345")
        }
        const args = yield* Effect.forEach(ids, (id) => login.givePassword(id, "secret"), {
          concurrency,
        })
        const states = args.map((view) =>
          view === null || view === "wrong" ? view : (view.error ?? view.state),
        )
        assert.deepStrictEqual(states.toSorted(), ["connected", "phone_of_another_number"])
        const phones = (yield* numbers.list(workspaceId)).map((number) => number.phone)
        assert.strictEqual(phones.filter((each) => each === digits).length, 1)
        assert.strictEqual(server.sessions(digits).keys, 1)
      }
    }),
  )
})

/** The number has a proxy with a URL that was sealed with a lost key. */
const withProxyOfBefore = (id: NumberId) =>
  Effect.gen(function* () {
    const { numbers } = yield* Store
    const { workspaceId } = (yield* numbers.find(id)) ?? assert.fail()
    const proxy = { url: "sealed by another key", host: "127.0.0.1", port: 1 }
    yield* numbers.change(workspaceId, id, { proxy }, 0)
  })

const layerProxies = NumberProxies.layer.pipe(
  Layer.provide(layerStoredSecrets),
  Layer.provide(SecretsKey.layerRandom),
)

layer(layerProxies.pipe(Layer.provideMerge(layerStores), Layer.provideMerge(layerServer)))(
  "a number whose proxy an older secrets key sealed",
  (it) => {
    it.effect("is not logged in around it: the login fails and says why", () =>
      Effect.gen(function* () {
        const login = yield* aProcess()
        const id = yield* aNumber("4915100000007")
        yield* withProxyOfBefore(id)
        const starts = login.begin(id, { method: "code", phone: phone("+4915100000007") })
        for (const view of [yield* starts, yield* login.look(id)]) {
          assert.deepInclude(view, { state: "failed", error: "proxy_unreadable" })
        }
        yield* login.begin(id, { method: "qr" })
        yield* untilSo(Effect.map(login.look(id), (view) => view?.error === "proxy_unreadable"))
      }),
    )
  },
)
