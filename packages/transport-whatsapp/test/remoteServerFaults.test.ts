/** Refusals, garbled frames, bans and removals by the remote server, and their reports. */
import { assert, describe, it, layer } from "@effect/vitest"
import { PhoneDirectory, SessionVault, Store } from "@messaging-service/core"
import type { NumberId } from "@messaging-service/core"
import { WhatsAppServer } from "@messaging-service/whatsapp-server"
import { Effect, Fiber, Layer } from "effect"
import { access, utimes, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Sessions } from "../src/Account.ts"
import { afterNack, maxPutOff } from "../src/outcomes.ts"
import {
  aLinkedNumber,
  anUnlinkedNumber,
  aPerson,
  aText,
  attempt,
  layerAdapter,
  layerServer,
  layerStores,
  phone,
  sendNow,
  to,
  Told,
  until,
  untilSo,
} from "./LiveWorld.ts"

const accepted = { _tag: "Accepted" } as const

const makeLayer = (settings: Parameters<typeof layerAdapter>[0]) =>
  layerAdapter(settings).pipe(Layer.provideMerge(layerStores), Layer.provideMerge(layerServer))

const untilStatus = (id: NumberId, status: string) =>
  untilSo(
    Store.use(({ numbers: { find } }) =>
      Effect.map(Effect.orDie(find(id)), (number) => number?.status === status),
    ),
  )

describe("a message that the remote server does not accept", () => {
  it("is postponed for longer and longer while it is busy, and refused in the end", () => {
    const pauses = Array.from({ length: maxPutOff }, (_, before) => afterNack("503", before))
    assert.deepStrictEqual(
      pauses.map((outcome) => (outcome._tag === "Postponed" ? outcome.afterMillis / 1000 : null)),
      [10, 20, 40, 80, 160, 300, 300, 300, 300, 300],
    )
    assert.strictEqual(afterNack("503", maxPutOff)._tag, "Refused")
  })
})

layer(makeLayer({ resendMillis: 50 }))("a copy that a recipient requests again", (it) => {
  it.effect.each([
    ["lost", "lose"],
    ["put off", { nack: 503 }],
    ["held up by a connection that breaks", { drop: "before work" }],
  ] as const)("and that is %s is handed over until it is accepted", ([, outcome]) =>
    Effect.gen(function* () {
      const server = yield* WhatsAppServer
      const number = yield* aLinkedNumber
      const other = yield* aPerson
      assert.deepStrictEqual(yield* sendNow(aText(number, to(other))), accepted)
      yield* server.loseSessions(other)
      const message = aText(number, to(other))
      const isRead = () => server.decrypted(other).some(({ id }) => id === message.transportId)
      yield* server.nextMessage({ from: number.digits, outcome: "withhold ack" })
      yield* server.nextMessage({ from: number.digits, outcome })
      const sending = yield* Effect.forkChild(sendNow(message))
      yield* until(() => server.ordersLeft(number.digits) === 0)
      assert.isFalse(isRead())
      yield* server.releaseAcks
      yield* until(isRead)
      assert.strictEqual(server.copies(other), 2)
      yield* Fiber.interrupt(sending)
    }),
  )

  it.effect("and that is refused says nothing of the message, which others have read", () =>
    Effect.gen(function* () {
      const server = yield* WhatsAppServer
      const number = yield* aLinkedNumber
      const [one, other] = [yield* aPerson, yield* aPerson]
      yield* server.group({ subject: "Crew", participants: [number.digits, one, other] })
      const send = () => sendNow(aText(number, { kind: "group", group: "Crew" }))
      assert.deepStrictEqual(yield* send(), accepted)
      yield* server.loseSessions(one)
      yield* server.nextMessage({ from: number.digits, outcome: "withhold ack" })
      yield* server.nextMessage({ from: number.digits, outcome: { nack: 479 } })
      assert.deepStrictEqual(yield* send(), accepted)
      yield* until(() => server.copies(other) === 2)
    }),
  )
})

layer(Layer.provideMerge(layerStores, layerServer))(
  "a request for a copy, whose process ends before one was accepted,",
  (it) => {
    it.effect("repeats for the next one until that has answered it", () =>
      Effect.gen(function* () {
        const server = yield* WhatsAppServer
        const other = yield* aPerson
        const format = (id: string) => server.decrypted(other).find((each) => each.id === id)
        const { message, number } = yield* Effect.gen(function* () {
          const linked = yield* aLinkedNumber
          assert.deepStrictEqual(yield* sendNow(aText(linked, to(other))), accepted)
          yield* server.loseSessions(other)
          const unread = aText(linked, to(other))
          yield* server.nextMessage({ from: linked.digits, outcome: "withhold ack" })
          yield* server.nextMessage({ from: linked.digits, outcome: "lose" })
          assert.deepStrictEqual(yield* sendNow(unread), accepted)
          yield* until(() => server.ordersLeft(linked.digits) === 0)
          return { message: unread, number: linked }
        }).pipe(Effect.provide(layerAdapter()))
        assert.isUndefined(format(message.transportId))

        // The next process learns of it, so the connection after that does not.
        yield* Effect.gen(function* () {
          yield* Told
          yield* server.until(() => format(message.transportId) !== undefined)
          yield* server.until(() => server.unheard(number.digits) === 0)
        }).pipe(Effect.provide(layerAdapter()))
      }),
    )
  },
)

layer(makeLayer({}))("a remote server", (it) => {
  it.effect.each([
    [421, "Postponed"],
    [429, "Postponed"],
    [500, "Unknown"],
    [503, "Postponed"],
  ] as const)("that is busy (%i) gets the message again under the same id", ([code, outcome]) =>
    Effect.gen(function* () {
      const server = yield* WhatsAppServer
      const number = yield* aLinkedNumber
      const other = yield* aPerson
      const message = aText(number, to(other))
      yield* server.nextMessage({ from: number.digits, outcome: { nack: code } })
      assert.strictEqual((yield* sendNow(message))._tag, outcome)
      assert.deepStrictEqual(yield* sendNow(message), accepted)
      assert.strictEqual(server.copies(other), 1)
    }),
  )

  it.effect.each([
    [463, true],
    [475, true],
    [479, false],
    [400, false],
  ] as const)("refuses a message with %i, against the number or not", ([code, againstNumber]) =>
    Effect.gen(function* () {
      const server = yield* WhatsAppServer
      const number = yield* aLinkedNumber
      yield* server.nextMessage({ from: number.digits, outcome: { nack: code } })
      const outcome = yield* sendNow(aText(number, to(yield* aPerson)))
      assert.strictEqual(outcome._tag === "Refused" && outcome.againstNumber, againstNumber)
      assert.include(outcome._tag === "Refused" ? outcome.error.message : "", `(${code})`)
    }),
  )

  it.effect("that answers a question about a phone with an error still knows it", () =>
    Effect.gen(function* () {
      const server = yield* WhatsAppServer
      const { checkPhones } = yield* PhoneDirectory
      const number = yield* aLinkedNumber
      const other = yield* aPerson
      const message = aText(number, to(other))
      const asksForAPause = { _tag: "Postponed", afterMillis: 7000 } as const
      yield* server.refuseNext("usync result", 429)
      assert.deepStrictEqual(yield* sendNow(message), asksForAPause)
      assert.deepStrictEqual(yield* sendNow(message), accepted)
      yield* server.refuseNext("usync result", 429)
      assert.deepStrictEqual(yield* checkPhones(number.id, [phone(`+${other}`)]), asksForAPause)
    }),
  )

  it.effect.each([
    [429, "Postponed"],
    [503, "Postponed"],
    [403, "Refused"],
  ] as const)(
    "that refuses to name the members of a group with %i has sent nothing",
    ([code, tag]) =>
      Effect.gen(function* () {
        const server = yield* WhatsAppServer
        const number = yield* aLinkedNumber
        const other = yield* aPerson
        yield* server.group({ subject: "Crew", participants: [number.digits, other] })
        const message = aText(number, { kind: "group", group: "Crew" })
        yield* server.refuseNext("group", code)
        assert.strictEqual((yield* sendNow(message))._tag, tag)
        assert.strictEqual(server.copies(other), 0)
        assert.deepStrictEqual(yield* sendNow(message), accepted)
      }),
  )

  it.effect.each([
    ["a person", 429, "Postponed"],
    ["a person", 403, "Refused"],
    ["a group", 429, "Postponed"],
    ["a group", 403, "Refused"],
  ] as const)(
    "that does not name the devices of %s (%i) has received nothing",
    ([whom, code, tag]) =>
      Effect.gen(function* () {
        const server = yield* WhatsAppServer
        const number = yield* aLinkedNumber
        const other = yield* aPerson
        yield* server.group({ subject: "Crew", participants: [number.digits, other] })
        const target = whom === "a group" ? ({ kind: "group", group: "Crew" } as const) : to(other)
        const message = aText(number, target)
        yield* server.refuseNext("devices result", code)
        assert.strictEqual((yield* sendNow(message))._tag, tag)
        assert.deepStrictEqual(yield* sendNow(message), accepted)
        yield* until(() => server.decrypted(other).length > 0)
        assert.strictEqual(server.copies(other), 1)
      }),
  )

  it.effect("is left at once when it sends an unreadable frame", () =>
    Effect.gen(function* () {
      const server = yield* WhatsAppServer
      const sessions = yield* Sessions
      const number = yield* aLinkedNumber
      yield* server.garble(number.digits)
      yield* until(() => (sessions.status(number.id)?.reconnects ?? 0) > 0)
      assert.deepStrictEqual(yield* sendNow(aText(number, to(yield* aPerson))), accepted)
    }),
  )

  it.effect("that bans an account for a time is reconnected to after that time", () =>
    Effect.gen(function* () {
      const server = yield* WhatsAppServer
      const sessions = yield* Sessions
      const received = yield* Told
      const number = yield* aLinkedNumber
      yield* server.refuseNext("login", 402)
      yield* server.drop(number.digits)
      yield* untilStatus(number.id, "disconnected")
      const { reason, state } = sessions.status(number.id) ?? {}
      assert.deepStrictEqual({ reason, state }, { reason: "banned", state: "waiting" })
      const outcome = yield* sendNow(aText(number, to(yield* aPerson)))
      assert.deepStrictEqual(outcome, { _tag: "NotConnected" })
      yield* untilStatus(number.id, "connected")
      const reasons = received.flatMap((event) =>
        event._tag === "ConnectionChanged" && event.numberId === number.id ? event.reason : [],
      )
      assert.include(reasons, "banned")
    }),
  )

  it.effect("that logs a device out before its link was accepted is reported all the same", () =>
    Effect.gen(function* () {
      const server = yield* WhatsAppServer
      const sessions = yield* Sessions
      const vault = yield* SessionVault
      const [digits, id] = [yield* aPerson, yield* anUnlinkedNumber]
      yield* attempt({ numberId: id, method: "qr", phone: null }, (event) =>
        Effect.gen(function* () {
          if (event._tag === "QrShown") {
            yield* Effect.forkDetach(Effect.exit(server.scan(digits, event.text)))
          }
          if (event._tag === "Linked") {
            yield* server.unlink(digits)
            yield* until(() => sessions.status(id)?.state === "disconnected")
          }
        }),
      )
      yield* untilStatus(id, "disconnected")
      yield* untilSo(Effect.map(Effect.orDie(vault.credentials(id)), (stored) => stored === null))
    }),
  )
})

layer(makeLayer({ lostMillis: 300 }))("a remote server that stays away", (it) => {
  it.effect("is reported as a lost connection, and its return too", () =>
    Effect.gen(function* () {
      const server = yield* WhatsAppServer
      const sessions = yield* Sessions
      const number = yield* aLinkedNumber
      yield* server.down
      yield* untilStatus(number.id, "disconnected")
      assert.strictEqual(sessions.status(number.id)?.reason, "connection_lost")
      yield* server.up
      yield* untilStatus(number.id, "connected")
      assert.strictEqual(sessions.status(number.id)?.reason, null)
    }),
  )
})

it.effect("deletes a killed process's remains of uploads, and nothing else", () =>
  Effect.gen(function* () {
    const created = process.hrtime.bigint().toString(16).toUpperCase()
    const [old, fresh, other] = [
      `image3EB0${created}A-enc`,
      `image3EB0${created}B-enc`,
      `${created}-enc`,
    ].map((name) => join(tmpdir(), name)) as [string, string, string]
    const isThere = (file: string) =>
      Effect.promise(() =>
        access(file).then(
          () => true,
          () => false,
        ),
      )
    yield* Effect.promise(async () => {
      for (const file of [old, fresh, other]) await writeFile(file, "sealed")
      for (const file of [old, other]) await utimes(file, 0, 0)
    })
    yield* Effect.andThen(Told, untilSo(Effect.map(isThere(old), (there) => !there))).pipe(
      Effect.provide(makeLayer({})),
    )
    assert.isTrue(yield* isThere(fresh))
    assert.isTrue(yield* isThere(other))
  }),
)
