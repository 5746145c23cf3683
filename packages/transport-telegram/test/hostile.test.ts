/**
 * A remote server that sends what no server sends, recipients with hostile names, and people who change
 * theirs: nothing goes to the wrong person, no report is false, and one account's trouble is bounded.
 */
import { assert, describe, it, layer } from "@effect/vitest"
import { Store } from "@messaging-service/core"
import type { OutgoingMessage, SendOutcome } from "@messaging-service/core"
import { Long } from "@mtcute/node"
import type { tl } from "@mtcute/node"
import { TelegramServer } from "@messaging-service/telegram-server"
import type { CallOutcome } from "@messaging-service/telegram-server"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { gzipSync } from "node:zlib"
import { Sessions } from "../src/Account.ts"
import { AccountCrypto, afterError, toClosedReason } from "../src/Client.ts"
import { storedKeys, keysInMemory, makeStorage } from "../src/storage.ts"
import {
  accepted,
  anAccount,
  aPerson,
  aText,
  layerAdapter,
  layerServer,
  layerStores,
  layerWorld,
  phone,
  sendNow,
  awaitConnection,
  toUser,
  until,
  untilSo,
} from "./LiveWorld.ts"

const toCode = (outcome: SendOutcome) =>
  outcome._tag === "Refused" ? outcome.error.code : outcome._tag

const hour = 60 * 60_000

type Peers = ReturnType<typeof makeStorage>["peers"]

/** The library sees a person. */
const meets = (peers: Peers, changes: Partial<Parameters<Peers["store"]>[0]>) =>
  Effect.promise(async () => {
    await peers.store({
      id: 7,
      accessHash: "1",
      isMin: false,
      usernames: [],
      phone: "4915100000007",
      updated: 0,
      complete: new Uint8Array([1]),
      ...changes,
    })
  })

describe("the remote server's error words", () => {
  it("are looked up as words only, whatever their names", () => {
    for (const text of ["constructor", "__proto__", "toString", "hasOwnProperty"]) {
      assert.isNull(toClosedReason({ code: 400, text }))
      const outcome = afterError({ code: 400, seconds: null, text }, true)
      assert.deepStrictEqual(outcome, {
        _tag: "Refused",
        error: { code: "send_failed", message: `Telegram refused the message (${text}).` },
        againstNumber: false,
      })
    }
  })

  it("are truncated when longer than any known one", () => {
    const outcome = afterError({ code: 400, seconds: null, text: "X".repeat(1_000_000) }, true)
    assert.isBelow(outcome._tag === "Refused" ? outcome.error.message.length : Infinity, 200)
  })

  it("without a pause, with a past one or with years give the number a rest that ends", () => {
    for (const [seconds, afterMillis] of [
      [0, 1000],
      [-5, 1000],
      [4_000_000_000, 24 * 60 * 60_000],
    ] as const) {
      const outcome = afterError({ code: 420, seconds, text: "FLOOD_WAIT_%d" }, true)
      assert.deepStrictEqual(outcome, { _tag: "Postponed", afterMillis })
    }
  })

  it("about the account do not fail the message, and a frozen account counts as refused", () => {
    const outcome = (code: number, text: string) => afterError({ code, seconds: null, text }, true)
    assert.strictEqual(outcome(303, "FILE_MIGRATE_4")._tag, "Postponed")
    assert.strictEqual(toClosedReason({ code: 401, text: "SOMETHING_NEW" }), "restricted")
    const frozen = outcome(420, "FROZEN_METHOD_INVALID")
    assert.isTrue(frozen._tag === "Refused" && frozen.againstNumber)
  })
})

layer(layerWorld)("a recipient", (it) => {
  it.effect("that cannot exist is reported as not found", () =>
    Effect.gen(function* () {
      const account = yield* anAccount
      for (const userId of [2 ** 40, 2 ** 52, Number.MAX_SAFE_INTEGER, 1]) {
        const outcome = yield* sendNow(aText(account, { kind: "user_id", userId }))
        assert.strictEqual(toCode(outcome), "recipient_not_found", String(userId))
      }
    }),
  )

  it.effect("named like a word of the library or of the language is that person", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const account = yield* anAccount
      for (const username of ["self", "constructor", "hasOwnProperty", "valueOf"]) {
        const person = yield* aPerson({ username })
        assert.deepStrictEqual(yield* sendNow(aText(account, toUser(username))), accepted)
        assert.strictEqual(server.copies(person.digits), 1, username)
      }
      assert.strictEqual(server.copies(account.digits), 0)
    }),
  )

  it.effect("whose contact Telegram did not take is not reported as unknown to it", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const account = yield* anAccount
      const { digits } = yield* aPerson({ isFoundByPhone: false })
      const to = { kind: "phone", phone: phone(`+${digits}`) } as const
      assert.strictEqual(toCode(yield* sendNow(aText(account, to))), "recipient_not_found")
      yield* server.refuseContacts(true)
      const outcome = yield* sendNow(aText(account, to))
      yield* server.refuseContacts(false)
      assert.deepStrictEqual([toCode(outcome)], ["send_failed"])
      assert.isTrue(outcome._tag === "Refused" && outcome.againstNumber)
    }),
  )
})

layer(Layer.merge(layerStores, layerServer))("a name or a phone", (it) => {
  it.effect("that another person has taken over leads to that other person", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const first = yield* aPerson({ username: "shop" })
      const second = yield* aPerson()
      const account = yield* Effect.gen(function* () {
        const created = yield* anAccount
        assert.deepStrictEqual(yield* sendNow(aText(created, toUser("shop"))), accepted)
        yield* server.rename(first.digits, "oldshop")
        yield* server.rename(second.digits, "shop")
        // The account sees the first one with the new name, so the old one is outdated.
        assert.deepStrictEqual(yield* sendNow(aText(created, toUser("oldshop"))), accepted)
        return created
      }).pipe(Effect.provide(layerAdapter()))
      yield* Effect.gen(function* () {
        yield* awaitConnection(account.id, "connected")
        assert.deepStrictEqual(yield* sendNow(aText(account, toUser("shop"))), accepted)
      }).pipe(Effect.provide(Layer.fresh(layerAdapter())))
      assert.deepStrictEqual([server.copies(first.digits), server.copies(second.digits)], [2, 1])
    }),
  )

  it.effect("is requested again after an hour, and leads to its new owner, or to none", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const first = yield* aPerson({ username: "corner" })
      const second = yield* aPerson()
      const account = yield* anAccount
      const send = (more: Partial<OutgoingMessage> = {}) =>
        sendNow({ ...aText(account, toUser("Corner")), ...more })
      const copies = () => [server.copies(first.digits), server.copies(second.digits)]
      assert.deepStrictEqual(yield* send(), accepted)
      yield* server.rename(first.digits, null)
      yield* server.rename(second.digits, "corner")
      yield* TestClock.adjust("59 minutes")
      assert.deepStrictEqual(yield* send(), accepted)
      assert.deepStrictEqual(copies(), [2, 0])
      yield* TestClock.adjust("1 minute")
      // A limited look-up is awaited: the former owner is not an answer.
      const limited = { code: 420, error: "FLOOD_WAIT_30" }
      yield* server.nextCall({
        method: "contacts.resolveUsername",
        phone: account.digits,
        outcome: limited,
      })
      assert.deepStrictEqual(yield* send(), { _tag: "Postponed", afterMillis: 30_000 })
      assert.deepStrictEqual(yield* send(), accepted)
      assert.deepStrictEqual(copies(), [2, 1])
      yield* server.rename(second.digits, null)
      assert.deepStrictEqual(yield* send(), accepted)
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(toCode(yield* send()), "recipient_not_found")
      assert.deepStrictEqual(copies(), [2, 2])
    }).pipe(Effect.provide(layerAdapter())),
  )

  it.effect("keeps leading a repeat to the recipient of its first attempt", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const first = yield* aPerson({ username: "attempted" })
      const second = yield* aPerson()
      const created = yield* Effect.gen(function* () {
        const account = yield* anAccount
        const message = aText(account, toUser("attempted"))
        yield* server.nextCall({ phone: account.digits, outcome: { drop: "after work" } })
        const outcome = yield* sendNow(message)
        assert.include(["Unknown", "Accepted"], outcome._tag)
        return { account, message }
      }).pipe(Effect.provide(layerAdapter()))
      yield* server.rename(first.digits, null)
      yield* server.rename(second.digits, "attempted")
      yield* TestClock.adjust("2 hours")
      // Another process continues.
      yield* Effect.gen(function* () {
        const { account, message } = created
        yield* awaitConnection(account.id, "connected")
        assert.deepStrictEqual(yield* sendNow({ ...message, mayHaveLeft: true }), accepted)
        assert.deepStrictEqual([server.copies(first.digits), server.copies(second.digits)], [1, 0])
        // A message that cannot have left goes to the name's owner.
        assert.deepStrictEqual(yield* sendNow(aText(account, toUser("attempted"))), accepted)
        assert.deepStrictEqual([server.copies(first.digits), server.copies(second.digits)], [1, 1])
      }).pipe(Effect.provide(Layer.fresh(layerAdapter())))
    }),
  )

  it.effect("that was met more than a day ago is requested again", () =>
    Effect.gen(function* () {
      for (const [hours, id] of [
        [23, 7],
        [25, undefined],
      ] as const) {
        const { peers } = makeStorage(keysInMemory([]))
        yield* meets(peers, { updated: Date.now() - hours * hour })
        const found = yield* Effect.promise(async () => await peers.getByPhone("4915100000007"))
        assert.strictEqual(found?.id, id)
      }
    }),
  )
})

describe("people whom a large account meets", () => {
  it.effect("are written once while unchanged, and again after half a day", () =>
    Effect.gen(function* () {
      const keys = keysInMemory([])
      let writes = 0
      const { peers } = makeStorage({
        ...keys,
        write: (changes) => {
          writes++
          return keys.write(changes)
        },
      })
      const now = Date.now()
      for (let lastCount = 0; lastCount < 100; lastCount++)
        yield* meets(peers, { updated: now + lastCount })
      assert.strictEqual(writes, 1)
      yield* meets(peers, { updated: now, usernames: ["another"] })
      assert.strictEqual(writes, 2)
      yield* meets(peers, { updated: now + 13 * hour, usernames: ["another"] })
      assert.strictEqual(writes, 3)
    }),
  )
})

layer(layerWorld)("an account that meets more people than its limit", (it) => {
  it.effect("keeps only the latest of them, long before the hour is over", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const store = (yield* Store).sessions
      const account = yield* anAccount
      const firstId = 1_000_000
      const max = storedKeys.peer ?? 0
      const atOnce = 500
      for (let met = 0; met < max + 2000; met += atOnce) {
        const users = Array.from({ length: atOnce }, (_, index): tl.RawUser => ({
          _: "user",
          id: firstId + met + index,
          accessHash: Long.ONE,
          firstName: "Person",
        }))
        yield* server.notify(account.digits, {
          _: "updates",
          updates: [],
          users,
          chats: [],
          date: 0,
          seq: 0,
        })
      }
      const has = (met: number) =>
        Effect.map(
          Effect.orDie(store.keys(account.id, "peer", [String(firstId + met)])),
          ({ size }) => size === 1,
        )
      yield* untilSo(has(max + 1999))
      yield* untilSo(Effect.map(has(0), (isThere) => !isThere))
      assert.isTrue(yield* has(max))
    }),
  )
})

describe("the remote server's packed data", () => {
  it("is unpacked up to a bound", () => {
    const crypto = new AccountCrypto()
    const packed = (mebibytes: number) => gzipSync(Buffer.alloc(mebibytes * 1024 * 1024))
    assert.strictEqual(crypto.gunzip(packed(1)).length, 1024 * 1024)
    assert.throws(() => crypto.gunzip(packed(65)))
  })
})

/** A frame without an end. */
const endless = (): Uint8Array => {
  const head = Buffer.alloc(4)
  head.writeUInt32LE(0x7f_ff_ff_f0)
  return Buffer.concat([head, Buffer.alloc(1024)])
}

layer(layerWorld)("an account whose remote server is hostile", (it) => {
  it.effect("waits for no frame longer than the maximum, and continues to send", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const sessions = yield* Sessions
      const account = yield* anAccount
      const recipient = yield* aPerson({ username: "hostile_one" })
      const reconnects = sessions.status(account.id)?.reconnects ?? 0
      yield* server.writeBytes(account.digits, endless())
      // The library alone buffers everything until the frame is complete.
      yield* until(() => (sessions.status(account.id)?.reconnects ?? 0) > reconnects)
      yield* until(() => sessions.status(account.id)?.state === "connected")
      assert.deepStrictEqual(yield* sendNow(aText(account, toUser("hostile_one"))), accepted)
      assert.strictEqual(server.copies(recipient.digits), 1)
    }),
  )

  it.effect("sent from one data centre to the next reports a message neither sent nor failed", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const account = yield* anAccount
      const recipient = yield* aPerson({ username: "sent_on" })
      const outcome: CallOutcome = { code: 303, error: "USER_MIGRATE_2" }
      yield* server.nextCall({ method: "messages.sendMessage", outcome, times: 2 })
      const message = aText(account, toUser("sent_on"))
      assert.strictEqual((yield* sendNow(message))._tag, "Postponed")
      assert.strictEqual(server.copies(recipient.digits), 0)
      assert.deepStrictEqual(yield* sendNow(message), accepted)
      assert.strictEqual(server.copies(recipient.digits), 1)
    }),
  )

  it.effect("with a forgotten key ends its connection by name, and sends nothing", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer
      const account = yield* anAccount
      const recipient = yield* aPerson({ username: "forgotten_one" })
      yield* server.forgetKeys(account.digits)
      const outcome = yield* sendNow(aText(account, toUser("forgotten_one")))
      assert.include(["NotConnected", "Postponed", "Unknown"], outcome._tag)
      yield* awaitConnection(account.id, "disconnected")
      assert.strictEqual(server.copies(recipient.digits), 0)
    }),
  )
})
