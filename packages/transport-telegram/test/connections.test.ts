/** Faults of an account's connection: silence, unknown keys, and immediate ends. */
import { assert, describe, it as test, layer } from "@effect/vitest"
import { LibraryGuard, NumberOwnership, SessionVault } from "@messaging-service/core"
import { TelegramServer } from "@messaging-service/telegram-server"
import { Effect, Fiber, Latch, Layer } from "effect"
import { makePauses } from "../src/Client.ts"
import { Sessions } from "../src/Account.ts"
import {
  Told,
  accepted,
  anAccount,
  aPerson,
  aText,
  layerAdapter,
  layerServer,
  layerSharedWorld,
  layerStores,
  layerWorld,
  layerWorldWith,
  logIn,
  sendNow,
  awaitConnection,
  toUser,
  until,
  untilSo,
} from "./LiveWorld.ts"

layer(layerWorldWith({ keepAliveMillis: 50 }))("a silent remote server", (it) => {
  it.effect("is detected by its missing sign of life, and reconnected", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const sessions = yield* Sessions
      const account = yield* anAccount
      const recipient = yield* aPerson({ username: "silent_one" })
      yield* server.silence(account.digits)
      yield* until(() => (sessions.status(account.id)?.reconnects ?? 0) > 0)
      yield* until(() => sessions.status(account.id)?.state === "connected")
      assert.deepStrictEqual(yield* sendNow(aText(account, toUser("silent_one"))), accepted)
      assert.strictEqual(server.copies(recipient.digits), 1)
      assert.deepStrictEqual(server.complaints(), [])
    }),
  )
})

/**
 * One of Telegram's seconds is 40 ms here. The library pings at most every 2 real seconds, however often it
 * should.
 */
const layerFast = layerAdapter({ keepAliveMillis: 500 }).pipe(
  Layer.provideMerge(layerStores),
  Layer.provideMerge(TelegramServer.layer({ disconnectSecondMillis: 40 })),
)

layer(layerFast)("an idle account", (it) => {
  it.effect("keeps its connection, although Telegram closes silent ones", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const sessions = yield* Sessions
      const accounts = [yield* anAccount, yield* anAccount, yield* anAccount]
      const lost = accounts.map(() => 0)
      const before = accounts.map(({ digits }) => server.sessions(digits))
      // Six pings take ten seconds or more, over a hundred times the 280 ms (7 of Telegram's seconds) after
      // which the library alone has a connection closed.
      yield* until(() =>
        accounts.every(({ digits, id }, at) => {
          lost[at] = sessions.status(id)?.reconnects ?? 0
          return lost[at] > 0 || server.sessions(digits).pings - (before[at]?.pings ?? 0) >= 6
        }),
      )
      assert.deepStrictEqual(lost, [0, 0, 0])
      for (const [at, { digits }] of accounts.entries()) {
        assert.strictEqual(server.sessions(digits).started, before[at]?.started)
      }
    }),
  )
})

layer(layerWorld)("a remote server that no longer knows the account's key", (it) => {
  it.effect("ends the session as logged out, once, and the account can log in again", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const received = yield* Told
      const vault = yield* SessionVault
      const account = yield* anAccount
      yield* aPerson({ username: "unknown_key" })
      yield* server.forgetKeys(account.digits)
      const message = aText(account, toUser("unknown_key"))
      assert.notDeepEqual(yield* sendNow(message), accepted)
      yield* awaitConnection(account.id, "disconnected")
      const endings = received.flatMap((event) =>
        event._tag === "ConnectionChanged" && event.status === "disconnected" ? [event.reason] : [],
      )
      assert.deepStrictEqual(endings, ["logged_out"])
      yield* untilSo(
        Effect.map(Effect.orDie(vault.credentials(account.id)), (text) => text === null),
      )
      yield* until(() => server.connections() === 0)
      yield* logIn(account.id, account.digits)
      assert.deepStrictEqual(yield* sendNow(message), accepted)
    }),
  )
})

layer(layerWorldWith({ firstPauseMillis: 3_600_000, longestPauseMillis: 3_600_000 }))(
  "a remote server that ends each connection at once",
  (it) => {
    it.effect("is reconnected to once immediately, and then after a pause", () =>
      Effect.gen(function* () {
        const server = yield* TelegramServer
        const sessions = yield* Sessions
        const account = yield* anAccount
        const other = yield* anAccount
        yield* aPerson({ username: "at_once_one" })
        const tries = 50
        yield* server.nextCall({
          method: "updates.getState",
          phone: account.digits,
          outcome: { drop: "before work" },
          times: tries,
        })
        yield* server.drop(account.digits)
        yield* until(() => sessions.status(account.id)?.state === "waiting")
        // Long enough for many more.
        for (let message = 0; message < tries; message++) {
          yield* sendNow(aText(other, toUser("at_once_one")))
        }
        assert.strictEqual(sessions.status(account.id)?.state, "waiting")
        assert.isAtLeast(server.ordersLeft(account.digits), tries / 2)
      }),
    )
  },
)

layer(Layer.merge(layerStores, layerServer))("a starting process", (it) => {
  it.effect("with a send and a check at once opens one connection, which the send uses", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const recipient = yield* aPerson({ username: "begins_one" })
      const account = yield* Effect.provide(anAccount, layerAdapter())
      const before = server.sessions(account.digits).started
      let waiting = 0
      const both = yield* Latch.make()
      /** The first two requests for credentials are answered together. */
      const layerVault = Layer.effect(
        SessionVault,
        Effect.map(SessionVault, (vault) =>
          SessionVault.of({
            ...vault,
            credentials: (numberId) =>
              Effect.suspend(() => {
                if (++waiting === 2) both.openUnsafe()
                return Effect.andThen(both.await, vault.credentials(numberId))
              }),
          }),
        ),
      )
      const message = aText(account, toUser("begins_one"))
      const adapter = Layer.fresh(layerAdapter()).pipe(Layer.provide(layerVault))
      assert.deepStrictEqual(yield* Effect.provide(sendNow(message), adapter), accepted)
      assert.strictEqual(server.copies(recipient.digits), 1)
      assert.strictEqual(server.sessions(account.digits).started, before + 1)
    }),
  )
})

describe("pauses before new connections", () => {
  test("double up to the longest one until the remote server has answered", () => {
    const pauses = makePauses(1, { first: 1000, longest: 5000 })
    const getSuccess = () => Array.from({ length: 6 }, () => pauses.next())
    assert.deepStrictEqual(getSuccess(), [0, 1000, 2000, 4000, 5000, 5000])
    pauses.answered()
    assert.deepStrictEqual(getSuccess(), [0, 1000, 2000, 4000, 5000, 5000])
  })
})

layer(layerSharedWorld)("a worker that shares its numbers with others", (it) => {
  it.effect("hands all sent messages over to the next one, unwritten ones included", () =>
    Effect.gen(function* () {
      const ownership = yield* NumberOwnership
      const vault = yield* SessionVault
      const sessions = yield* Sessions
      const owned = yield* Effect.forkChild(ownership.run)
      const account = yield* anAccount
      const { id: recipient } = yield* aPerson({ username: "left_one" })
      const stored = Effect.map(
        Effect.orDie(vault.keys(account.id, "sent", [String(recipient)])),
        (keys) => keys.get(String(recipient)) ?? "",
      )
      const messages = [1, 2].map(() => aText(account, toUser("left_one")))
      for (const message of messages) {
        yield* untilSo(Effect.map(sendNow(message), ({ _tag }) => _tag === "Accepted"))
        // The first is written soon, and the others a second later.
        if (message === messages[0]) yield* untilSo(Effect.map(stored, (text) => text !== ""))
      }
      yield* Fiber.interrupt(owned)
      yield* until(() => sessions.status(account.id) === null)
      const ids = (JSON.parse(yield* stored) as Array<[number, string]>).map(([, each]) => each)
      assert.deepStrictEqual(
        ids,
        messages.map(({ transportId }) => transportId),
      )
    }),
  )
})

layer(layerWorldWith({ keepAliveMillis: 50 }))("a session that ended without a report", (it) => {
  it.effect("is detected by the next requested sign of life", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const account = yield* anAccount
      yield* server.revoke(account.digits)
      yield* awaitConnection(account.id, "disconnected")
    }),
  )
})

layer(layerWorldWith({ lostMillis: 50 }))("an account that stays away", (it) => {
  it.effect("counts as disconnected after a time, and is connected once it returns", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const received = yield* Told
      const account = yield* anAccount
      yield* server.down
      yield* awaitConnection(account.id, "disconnected")
      assert.deepInclude(received.at(-1), { reason: "connection_lost" })
      yield* server.up
      yield* awaitConnection(account.id, "connected")
    }),
  )
})

/** Guards of this world's libraries, in order; each fails its library where no caller waits. */
const guards: Array<() => void> = []

const layerGuard = Layer.succeed(LibraryGuard, {
  watch: (_, onFault) => {
    guards.push(() => onFault(new Error("no caller waits")))
    return (work) => work()
  },
})

layer(layerWorld.pipe(Layer.provideMerge(layerGuard)))("an account's library that fails", (it) => {
  it.effect("costs its connection, which opens again, and no other", () =>
    Effect.gen(function* () {
      const sessions = yield* Sessions
      const other = yield* anAccount
      const account = yield* anAccount
      yield* aPerson({ username: "guarded_one" })
      guards.at(-1)?.()
      yield* until(() => sessions.status(account.id)?.reconnects === 1)
      yield* until(() => sessions.status(account.id)?.state === "connected")
      assert.strictEqual(sessions.status(other.id)?.reconnects, 0)
      const message = aText(account, toUser("guarded_one"))
      assert.deepStrictEqual(yield* sendNow(message), accepted)
    }),
  )
})
