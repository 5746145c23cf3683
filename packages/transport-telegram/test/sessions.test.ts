/** Logged-in accounts: lost connections, ends of sessions, restarts, ticks. */
import { assert, layer } from "@effect/vitest"
import { SessionVault, TelegramLogin, Store } from "@messaging-service/core"
import type { OutgoingMedia, TransportEvent } from "@messaging-service/core"
import { TelegramServer } from "@messaging-service/telegram-server"
import { live } from "@messaging-service/testkit"
import { TelegramClient } from "@mtcute/node"
import { Effect, Fiber, Layer, Stream } from "effect"
import { createHash } from "node:crypto"
import { Sessions } from "../src/Account.ts"
import {
  Told,
  accepted,
  anAccount,
  aPerson,
  aText,
  layerAdapter,
  layerServer,
  layerStores,
  layerWorld,
  logIn,
  phone,
  sendNow,
  awaitConnection,
  toUser,
  until,
  untilSo,
} from "./LiveWorld.ts"

const getTicks = (received: ReadonlyArray<TransportEvent>) =>
  received.flatMap((event) => (event._tag === "Tick" ? [event.transportId] : []))

layer(layerWorld)("a logged-in account", (it) => {
  it.effect("reconnects after a broken connection, and after a restart of the remote server", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const sessions = yield* Sessions
      const account = yield* anAccount
      const recipient = yield* aPerson({ username: "again_one" })
      for (const breaks of [server.drop(account.digits), server.restart, server.rotateSalts]) {
        yield* breaks
        const outcome = yield* sendNow(aText(account, toUser("again_one")))
        // A message in flight when the connection broke leaves with the next try.
        assert.include(["Accepted", "Postponed", "Unknown"], outcome._tag)
        yield* until(() => sessions.status(account.id)?.state === "connected")
        assert.deepStrictEqual(yield* sendNow(aText(account, toUser("again_one"))), accepted)
      }
      assert.isAtLeast(server.copies(recipient.digits), 3)
      assert.strictEqual(server.sessions(account.digits).max, 1)
      assert.deepStrictEqual(server.complaints(), [])
    }),
  )

  it.effect("waits while the remote server is away, and reports it", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const sessions = yield* Sessions
      const account = yield* anAccount
      yield* aPerson({ username: "waits_one" })
      yield* server.down
      yield* until(() => sessions.status(account.id)?.state === "waiting")
      assert.strictEqual(sessions.status(account.id)?.reason, "connection_lost")
      const sending = yield* Effect.forkChild(sendNow(aText(account, toUser("waits_one"))))
      yield* server.up
      assert.deepStrictEqual(yield* Fiber.join(sending), accepted)
      assert.isAtLeast(sessions.status(account.id)?.reconnects ?? 0, 1)
    }),
  )

  it.effect("is disconnected with the reason when revoked, banned or forgotten", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const received = yield* Told
      const vault = yield* SessionVault
      const ends = {
        logged_out: (digits: string) => server.revoke(digits, "AUTH_KEY_UNREGISTERED"),
        replaced: (digits: string) => server.revoke(digits, "AUTH_KEY_DUPLICATED"),
        banned: server.ban,
      }
      for (const [reason, end] of Object.entries(ends)) {
        const { digits, id } = yield* anAccount
        yield* end(digits)
        yield* server.drop(digits)
        yield* awaitConnection(id, "disconnected")
        assert.deepInclude(
          { ...received.at(-1) },
          { _tag: "ConnectionChanged", numberId: id, reason },
        )
        // A banned account is kept until an operator logs it out here.
        if (reason === "banned") yield* vault.leave(id)
        yield* untilSo(Effect.map(Effect.orDie(vault.credentials(id)), (text) => text === null))
      }
    }),
  )

  it.effect("refused with an unknown error stays away until it is resumed", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const sessions = yield* Sessions
      const received = yield* Told
      const lanes = (yield* Store).queue
      const account = yield* anAccount
      yield* server.revoke(account.digits, "SOMETHING_NEW")
      yield* server.drop(account.digits)
      yield* awaitConnection(account.id, "disconnected")
      // Several checks later it is still away: other accounts were logged in meanwhile.
      for (const _ of [1, 2, 3]) yield* anAccount
      const { reason, state } = sessions.status(account.id) ?? {}
      assert.deepStrictEqual([state, reason], ["disconnected", "restricted"])
      const endings = () =>
        received.filter((event) => "numberId" in event && event.numberId === account.id).length - 1
      assert.strictEqual(endings(), 1)
      yield* lanes.resume(account.id, 0)
      yield* until(() => endings() === 2)
    }),
  )

  it.effect("that was shut out is connected again by a login, also after a log-out", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const received = yield* Told
      const vault = yield* SessionVault
      const { queue: lanes, numbers } = yield* Store

      for (const reason of ["banned", "restricted"] as const) {
        for (const logsOut of [false, true]) {
          const { digits, id } = yield* anAccount
          yield* reason === "banned"
            ? server.ban(digits)
            : server.revoke(digits, "SESSION_WHATEVER")
          yield* server.drop(digits)
          yield* awaitConnection(id, "disconnected")
          assert.deepInclude({ ...received.at(-1) }, { numberId: id, reason })
          // As the core takes it.
          yield* numbers.setStatus(id, "disconnected", undefined, 0, null, reason)
          if (reason === "banned") yield* lanes.pause(id, { until: null, reason }, 0)
          if (logsOut) {
            yield* vault.leave(id)
            yield* untilSo(Effect.map(Effect.orDie(vault.credentials(id)), (text) => text === null))
          }
          // The person has an account again.
          yield* server.person(digits)
          yield* logIn(id, digits, !logsOut)
          assert.deepInclude(server.sessions(digits), { keys: 1, open: 1, max: 1 })
        }
      }
    }).pipe(Effect.orDie),
  )

  it.effect("that was shut out leaves no device behind, so no login starts while it might", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const login = yield* TelegramLogin
      const vault = yield* SessionVault
      const { digits, id } = yield* anAccount
      yield* server.revoke(digits, "SESSION_WHATEVER")
      yield* server.drop(digits)
      yield* awaitConnection(id, "disconnected")
      const stored = yield* vault.credentials(id)
      const byCode = { method: "code", phone: phone(`+${digits}`) } as const
      assert.isNull(yield* login.begin(id, byCode))
      yield* server.down
      const view = yield* Effect.provide(login.begin(id, byCode, true), live.realClock)
      assert.deepInclude({ ...view }, { state: "failed", error: "connection_lost" })
      assert.strictEqual(yield* vault.credentials(id), stored)
      yield* server.up
      assert.strictEqual((yield* login.begin(id, byCode, true))?.state, "code_sent")
      // A check of the numbers finds the login, and it can be given up.
      assert.isTrue(yield* login.cancel(id))
      assert.isNull(yield* vault.credentials(id))
    }).pipe(Effect.orDie),
  )

  it.effect("whose session ends during a send is not connected, and logs in again", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const account = yield* anAccount
      yield* aPerson({ username: "midst_one" })
      yield* server.revoke(account.digits)
      const message = aText(account, toUser("midst_one"))
      assert.deepStrictEqual(yield* sendNow(message), { _tag: "NotConnected" })
      yield* awaitConnection(account.id, "disconnected")
      yield* logIn(account.id, account.digits)
      assert.deepStrictEqual(yield* sendNow(message), accepted)
    }),
  )

  it.effect("that leaves is logged out at the remote server and forgotten here", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const vault = yield* SessionVault
      const { digits, id } = yield* anAccount
      yield* vault.leave(id)
      yield* until(() => server.sessions(digits).keys === 0)
      yield* untilSo(Effect.map(Effect.orDie(vault.credentials(id)), (text) => text === null))
    }),
  )
})

layer(layerWorld)("a message", (it) => {
  it.effect("is ticked once it was read, and not before", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const received = yield* Told
      const account = yield* anAccount
      const reader = yield* aPerson({ username: "reader_one" })
      const messages = [1, 2].map(() => aText(account, toUser("reader_one")))
      for (const message of messages) yield* sendNow(message)
      assert.deepStrictEqual(getTicks(received), [])
      yield* server.read(reader.digits, account.digits)
      yield* until(() => getTicks(received).length === 2)
      assert.deepStrictEqual(
        getTicks(received),
        messages.map(({ transportId }) => transportId),
      )
      yield* server.read(reader.digits, account.digits)
      const last = aText(account, toUser("reader_one"))
      yield* sendNow(last)
      yield* server.read(reader.digits, account.digits)
      yield* until(() => getTicks(received).length === 3)
      assert.strictEqual(getTicks(received).at(-1), last.transportId)
    }),
  )

  it.effect("is ticked when it was read before the answer of the send came", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const received = yield* Told
      const account = yield* anAccount
      const reader = yield* aPerson({ username: "reads_at_once" })
      const message = aText(account, toUser("reads_at_once"))
      yield* server.nextCall({ phone: account.digits, outcome: "hold" })
      const sending = yield* Effect.forkChild(sendNow(message))
      yield* server.until(() => server.copies(reader.digits) === 1)
      yield* server.read(reader.digits, account.digits)
      // The report of another read comes after it, so both were heard.
      const other = yield* aPerson({ username: "reads_later" })
      yield* server.answerPending
      assert.deepStrictEqual(yield* Fiber.join(sending), accepted)
      const later = aText(account, toUser("reads_later"))
      assert.deepStrictEqual(yield* sendNow(later), accepted)
      yield* server.read(other.digits, account.digits)
      yield* until(() => getTicks(received).includes(later.transportId))
      yield* until(() => getTicks(received).includes(message.transportId))
      assert.strictEqual(getTicks(received).filter((id) => id === message.transportId).length, 1)
    }),
  )

  it.effect("is ticked when only a repeat has shown that it was sent", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const received = yield* Told
      const account = yield* anAccount
      for (const isReadBefore of [false, true]) {
        for (const answers of [0, 3]) {
          const username = `proof_${String(isReadBefore)}_${answers}`
          const reader = yield* aPerson({ username })
          const message = aText(account, toUser(username))
          // It arrives, and its answer does not.
          const first = Effect.gen(function* () {
            yield* server.nextCall({ phone: account.digits, outcome: "withhold" })
            const sending = yield* Effect.forkChild(sendNow(message))
            yield* server.until(() => server.copies(reader.digits) === 1)
            yield* Fiber.interrupt(sending)
          })
          yield* first
          for (let count = 0; count < answers; count++) {
            yield* server.write(reader.digits, account.digits, "An answer")
          }
          if (isReadBefore) yield* server.read(reader.digits, account.digits)
          assert.deepStrictEqual(yield* sendNow({ ...message, mayHaveLeft: true }), accepted)
          if (!isReadBefore) {
            assert.notInclude(getTicks(received), message.transportId)
            yield* server.read(reader.digits, account.digits)
          }
          yield* until(() => getTicks(received).includes(message.transportId))
          assert.strictEqual(server.copies(reader.digits), 1)
        }
      }
      assert.deepStrictEqual(server.complaints(), [])
    }),
  )

  it.effect("is ticked when it was read during a restart of the remote server", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const sessions = yield* Sessions
      const received = yield* Told
      const account = yield* anAccount
      const reader = yield* aPerson({ username: "reads_meanwhile" })
      for (const comesBack of [server.up, server.restart]) {
        const message = aText(account, toUser("reads_meanwhile"))
        assert.deepStrictEqual(yield* sendNow(message), accepted)
        yield* server.down
        yield* until(() => sessions.status(account.id)?.state === "waiting")
        yield* server.read(reader.digits, account.digits)
        yield* comesBack
        yield* until(() => getTicks(received).includes(message.transportId))
      }
    }),
  )

  it.effect("is ticked although its report got lost, once the next one shows the gap", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const received = yield* Told
      const account = yield* anAccount
      const readers = yield* Effect.all([
        aPerson({ username: "missed_one" }),
        aPerson({ username: "heard_one" }),
      ])
      const messages = ["missed_one", "heard_one"].map((name) => aText(account, toUser(name)))
      for (const message of messages) yield* sendNow(message)
      const before = getTicks(received).length
      yield* server.read(readers[0].digits, account.digits, "lost")
      yield* server.read(readers[1].digits, account.digits)
      yield* until(() => getTicks(received).length === before + 2)
      assert.deepStrictEqual(
        getTicks(received).slice(before),
        messages.map(({ transportId }) => transportId),
      )
    }),
  )

  it.effect("gets the remote server's own pause in a flood, and refusals with their subject", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const account = yield* anAccount
      const recipient = yield* aPerson({ username: "flood_one" })
      const sent = (error: string, code = 400, times = 1) =>
        Effect.gen(function* () {
          yield* server.nextCall({ phone: account.digits, outcome: { code, error }, times })
          return yield* sendNow(aText(account, toUser("flood_one")))
        })
      assert.deepStrictEqual(yield* sent("FLOOD_WAIT_17", 420), {
        _tag: "Postponed",
        afterMillis: 17_000,
      })
      const judged = yield* Effect.forEach(
        ["PEER_FLOOD", "USER_IS_BLOCKED", "INPUT_USER_DEACTIVATED"],
        (error) => sent(error),
      )
      assert.deepStrictEqual(
        judged.map((outcome) =>
          outcome._tag === "Refused" ? [outcome.error.code, outcome.againstNumber] : outcome,
        ),
        [
          ["send_failed", true],
          ["send_failed", false],
          ["recipient_not_found", false],
        ],
      )
      assert.deepStrictEqual(yield* sent("INTERNAL", 500, 3), { _tag: "Unknown" })
      assert.strictEqual(server.copies(recipient.digits), 0)
    }),
  )

  it.effect(
    "meets a fault of the remote server, after which no refusal proves that it was not shown",
    () =>
      Effect.gen(function* () {
        const server = yield* TelegramServer
        const account = yield* anAccount
        const recipient = yield* aPerson({ username: "fault_one" })
        const afterFault = (error: string, code: number) =>
          Effect.gen(function* () {
            const { digits } = account
            yield* server.nextCall({
              phone: digits,
              outcome: { code: 500, error: "RPC_CALL_FAIL" },
            })
            yield* server.nextCall({ phone: digits, outcome: { code, error } })
            return yield* sendNow(aText(account, toUser("fault_one")))
          })
        const unknown = { _tag: "Unknown" } as const
        assert.deepStrictEqual(yield* afterFault("FLOOD_WAIT_17", 420), unknown)
        assert.deepStrictEqual(yield* afterFault("USER_IS_BLOCKED", 400), unknown)
        assert.strictEqual(server.copies(recipient.digits), 0)
        assert.deepStrictEqual(yield* afterFault("RANDOM_ID_DUPLICATE", 400), accepted)
      }),
  )

  it.effect("with a picture above the limit is sent as a streamed file", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const account = yield* anAccount
      const recipient = yield* aPerson({ username: "large_one" })
      const part = Buffer.concat([Buffer.from("89504e470d0a1a0a", "hex"), Buffer.alloc(1_048_569)])
      const parts = Array.from({ length: 10 }, () => part)
      const media: OutgoingMedia = {
        type: "image",
        fileName: "large.png",
        mimeType: "image/png",
        size: part.length * parts.length,
        sha256: "",
        content: Stream.fromIterable(parts),
      }
      const message = { ...aText(account, toUser("large_one")), media }
      assert.deepStrictEqual(yield* sendNow(message), accepted)
      const hash = createHash("sha256")
      for (const each of parts) hash.update(each)
      assert.deepStrictEqual(server.shown(recipient.digits)[0]?.media, {
        kind: "document",
        fileName: "large.png",
        mimeType: "image/png",
        size: media.size,
        sha256: hash.digest("hex"),
      })
    }),
  )

  it.effect("to a phone that only an import finds goes there, with its formatting", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const account = yield* anAccount
      const { digits } = yield* aPerson()
      yield* server.nextCall({
        method: "contacts.resolvePhone",
        outcome: { code: 400, error: "PHONE_NOT_OCCUPIED" },
      })
      const to = { kind: "phone", phone: `+${digits}` as never } as const
      assert.deepStrictEqual(yield* sendNow(aText(account, to, "Look: *bold*")), accepted)
      assert.deepStrictEqual(
        server.shown(digits).map(({ entities, text }) => ({ text, entities })),
        [
          {
            text: "Look: bold",
            entities: [{ _: "messageEntityBold", offset: 6, length: 4 }],
          },
        ],
      )
    }),
  )
})

layer(Layer.merge(layerStores, layerServer))("another process", (it) => {
  it.effect("takes the account over with the same key, and hears what was read meanwhile", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const reader = yield* aPerson({ username: "over_one" })
      const first = Effect.gen(function* () {
        const account = yield* anAccount
        const message = aText(account, toUser("over_one"))
        assert.deepStrictEqual(yield* sendNow(message), accepted)
        return { account, message }
      }).pipe(Effect.provide(layerAdapter()))
      const { account, message } = yield* first
      const store = (yield* Store).sessions
      const sealed = yield* store.credentials(account.id)
      yield* server.read(reader.digits, account.digits)
      yield* Effect.gen(function* () {
        const received = yield* Told
        yield* awaitConnection(account.id, "connected")
        // Its state was sealed again.
        assert.notStrictEqual(yield* store.credentials(account.id), sealed)
        yield* until(() => getTicks(received).length === 1)
        assert.deepStrictEqual(getTicks(received), [message.transportId])
        // A repeat from there is known to the remote server.
        assert.deepStrictEqual(yield* sendNow(message), accepted)
      }).pipe(Effect.provide(Layer.fresh(layerAdapter())))
      assert.strictEqual(server.copies(reader.digits), 1)
      const { keys, max } = server.sessions(account.digits)
      assert.deepStrictEqual([keys, max], [1, 1])
    }),
  )
})

/** The library cannot start to listen until the returned effect runs. */
const failingToListen = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => {
      const { startUpdatesLoop } = TelegramClient.prototype
      const fault = { isThere: true }
      TelegramClient.prototype.startUpdatesLoop = function () {
        return fault.isThere
          ? Promise.reject(new Error("not now"))
          : Reflect.apply(startUpdatesLoop, this, [])
      }
      return { fault, startUpdatesLoop }
    }),
    ({ startUpdatesLoop }) =>
      Effect.sync(() => {
        TelegramClient.prototype.startUpdatesLoop = startUpdatesLoop
      }),
  ),
  ({ fault }) =>
    Effect.sync(() => {
      fault.isThere = false
    }),
)

layer(Layer.merge(layerStores, layerServer))("a previously connected account", (it) => {
  it.effect("counts as connected once the library listens to it, and not before", () =>
    Effect.gen(function* () {
      const account = yield* anAccount.pipe(Effect.provide(layerAdapter()))
      const mend = yield* failingToListen
      yield* Effect.gen(function* () {
        const sessions = yield* Sessions
        const received = yield* Told
        yield* until(() => (sessions.status(account.id)?.reconnects ?? 0) > 1)
        assert.deepStrictEqual(received, [])
        assert.isNull(sessions.openNow(account.id))
        yield* mend
        yield* awaitConnection(account.id, "connected")
      }).pipe(Effect.provide(Layer.fresh(layerAdapter())))
    }),
  )

  it.effect("restarts when the stored read position of its box is not a number", () =>
    Effect.gen(function* () {
      const vault = yield* SessionVault
      const account = yield* anAccount.pipe(Effect.provide(layerAdapter()))
      yield* Effect.orDie(
        vault.write(account.id, null, [{ type: "state", id: "updates_pts", value: "AA==" }]),
      )
      yield* awaitConnection(account.id, "connected").pipe(
        Effect.provide(Layer.fresh(layerAdapter())),
      )
    }),
  )
})
