/** Linking a number: its codes, its link, its end, and its obstacles. */
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Stream } from "effect"
import { TestClock } from "effect/testing"
import { Connections, Numbers, QrLinks } from "../../src/index.ts"
import type { ConnectNumber, LinkingEvent, NumberId, PublicNumber } from "../../src/index.ts"
import { allEvents, answer, arrived, code, get, logOut, refusal, send, the } from "./Operations.ts"
import {
  aKey,
  aNumber,
  aSender,
  aWorkspace,
  inAService,
  minute,
  noon,
  pass,
  second,
  settled,
} from "./Service.ts"
import { connect, read, scan, aKeyToConnect, qrText, findAttempt, linkingBy } from "./Linking.ts"

describe("a message from a number that is not linked yet", () => {
  it.effect("shows no phone until it is linked, then the one that it left from", () =>
    inAService(
      Effect.gen(function* () {
        const key = yield* aKeyToConnect
        const number = yield* connect(key)
        yield* settled
        const first = yield* answer(key, { from: number.id }, "key")
        const message = the(first.messages)
        assert.isNull(message.from.phone)
        yield* scan(number, { phone: "+15550001111" })
        yield* settled
        assert.strictEqual((yield* get(key, message)).from.phone, "15550001111")
        const bodies = (yield* allEvents).flatMap(({ body, messageId }) =>
          messageId === message.id && body !== null ? [JSON.parse(body)] : [],
        )
        assert.deepStrictEqual(
          bodies.map(({ data }) => data.message.from.phone),
          ["15550001111"],
        )
        // The first answer, whatever happened to the number since.
        const again = yield* answer(key, { from: number.id }, "key")
        assert.deepStrictEqual(again, { messages: first.messages, replayed: true })
      }),
    ),
  )
})

/** Everything that an answer shows of a number. */
const toView = ({ id, label, loginMethod, phone, platform, status }: PublicNumber) => ({
  id,
  label,
  loginMethod,
  phone,
  platform,
  status,
})

describe("a repeated request to connect", () => {
  it.effect("gets the first answer, whatever happened to the number since", () =>
    inAService(
      Effect.gen(function* () {
        const key = yield* aKeyToConnect
        const request = (body: ConnectNumber, name: string) =>
          Connections.use((all) =>
            all.connect(key, body, { key: name, fingerprint: JSON.stringify(body) }),
          )
        const added = yield* request({}, "add")
        yield* scan(added.answer, { phone: "+15550001111" })
        const numberId = added.answer.id as NumberId
        const change = (label: string) =>
          Numbers.use((all) => all.update("owner", key.workspaceId, numberId, { label }))
        yield* change("Shop")
        yield* logOut(numberId)
        const body = { numberId: numberId }
        const reconnected = yield* request(body, "again")
        assert.deepInclude(reconnected.answer, { label: "Shop", phone: "15550001111" })

        yield* change("Moved")
        yield* scan(added.answer, { phone: "+15550002222" })
        for (const [first, repeat] of [
          [added, yield* request({}, "add")],
          [reconnected, yield* request(body, "again")],
        ] as const) {
          assert.isTrue(repeat.replayed)
          assert.deepStrictEqual(toView(repeat.answer), toView(first.answer))
        }
      }),
    ),
  )
})

describe("the codes of an attempt", () => {
  it.effect("a QR code is valid for 60 s, five more for 20 s each, then it starts over", () =>
    inAService(
      Effect.gen(function* () {
        const key = yield* aKeyToConnect
        const number = yield* connect(key)
        yield* settled
        const changes: Array<number> = []
        const announced: Array<number> = []
        let last = yield* qrText(key, number)
        for (let at = 5; at < 300; at += 5) {
          const next = (yield* read(key, number)).connect?.qrCodeExpiresAt
          if (next === noon + at * second) announced.push(at)
          yield* pass(5 * second)
          const text = yield* qrText(key, number)
          if (text !== last) changes.push(at)
          last = text
        }
        assert.deepStrictEqual(changes, [60, 80, 100, 120, 140, 160, 220, 240, 260, 280])
        assert.deepStrictEqual(changes, announced)
      }),
    ),
  )

  it.effect("requests the next pairing code by itself when one expires", () =>
    inAService(
      Effect.gen(function* () {
        const key = yield* aKeyToConnect
        const number = yield* connect(key, { loginMethod: "phone_code", phone: "+15550001111" })
        yield* settled
        const seen = new Set<unknown>()
        for (const passed of [0, 179, 1, 179, 1]) {
          yield* pass(passed * second)
          const { connect: shown } = yield* read(key, number)
          assert.match(String(shown?.pairingCode?.code), /^[0-9A-Z]{8}$/)
          seen.add(shown?.pairingCode?.code)
        }
        assert.strictEqual(seen.size, 3)
      }),
    ),
  )

  it.effect("hides a pairing code past its end even without a successor", () =>
    inAService(
      Effect.gen(function* () {
        const key = yield* aKeyToConnect
        const number = yield* connect(key, { loginMethod: "phone_code", phone: "+15550001111" })
        yield* settled
        yield* pass(second)
        assert.isNotNull((yield* read(key, number)).connect?.pairingCode)
        yield* pass(3 * minute)
        assert.deepInclude((yield* read(key, number)).connect, { pairingCode: null })
      }),
      {
        linking: linkingBy(() =>
          Stream.concat(
            Stream.fromEffect(
              Effect.map(Clock.currentTimeMillis, (now): LinkingEvent => ({
                _tag: "PairingCodeShown",
                pairingCode: { code: "ABCD1234", expiresAt: now + 3 * minute },
              })),
            ),
            Stream.never,
          ),
        ),
      },
    ),
  )
})

describe("the end of an attempt", () => {
  it.effect("ends its pairing code too, and forgets a reconnect's other phone", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number } = yield* aSender()
        const own = (yield* read(key, { id: number })).phone
        yield* logOut(number)
        yield* connect(key, {
          loginMethod: "phone_code",
          phone: "+15550001111",
          numberId: number,
        })
        yield* settled
        const shown = read(key, { id: number })
        const expiries: Array<unknown> = []
        for (const passed of [0, 3, 3, 3]) {
          yield* pass(passed * minute)
          const { connect: view, phone } = yield* shown
          assert.strictEqual(phone, "15550001111")
          expiries.push(view?.pairingCode?.expiresAt)
        }
        assert.deepStrictEqual(
          expiries,
          [3, 6, 9, 10].map((minutes) => noon + minutes * minute),
        )
        yield* pass(minute)
        assert.deepInclude(yield* shown, { status: "disconnected", phone: own, connect: null })
      }),
    ),
  )

  it.effect("comes after exactly ten minutes, and the number can be connected again", () =>
    inAService(
      Effect.gen(function* () {
        const key = yield* aKeyToConnect
        const number = yield* connect(key)
        yield* pass(10 * minute - 1)
        assert.strictEqual((yield* read(key, number)).status, "connecting")
        yield* pass(1)
        assert.deepInclude(yield* read(key, number), { status: "disconnected", connect: null })
        assert.strictEqual(yield* code(scan(number)), "not_connecting")
        const again = yield* connect(key, { numberId: number.id })
        assert.strictEqual(again.id, number.id)
        yield* pass(10 * minute - 1)
        assert.strictEqual((yield* scan(number)).status, "connected")
      }),
    ),
  )

  it.effect("does not disconnect a number that was scanned in time", () =>
    inAService(
      Effect.gen(function* () {
        const key = yield* aKeyToConnect
        const number = yield* connect(key)
        yield* pass(9 * minute)
        yield* scan(number, { phone: "+15550001111" })
        yield* pass(20 * minute)
        assert.deepInclude(yield* read(key, number), { status: "connected", phone: "15550001111" })
      }),
    ),
  )

  it.effect("follows a logout and a removal too", () =>
    inAService(
      Effect.gen(function* () {
        const workspace = yield* aWorkspace()
        const key = yield* aKey(workspace)
        const first = yield* connect(key)
        yield* logOut(first.id)
        assert.strictEqual((yield* read(key, first)).status, "disconnected")
        const second_ = yield* connect(key)
        yield* Numbers.use((numbers) => numbers.remove("owner", workspace, second_.id))
        assert.isNull(yield* findAttempt(first))
        assert.isNull(yield* findAttempt(second_))
        yield* pass(15 * minute)
        assert.strictEqual(yield* code(read(key, second_)), "number_not_found")
      }),
    ),
  )

  it.effect("the number's waiting messages leave in order once it is linked again", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number } = yield* aSender()
        yield* logOut(number)
        const waiting: Array<number> = []
        for (let each = 0; each < 5; each++) {
          waiting.push((yield* send(key, { from: number })).id)
          yield* pass(second)
        }
        assert.deepStrictEqual(yield* arrived(number), [])
        yield* connect(key, { numberId: number })
        yield* pass(minute)
        assert.deepStrictEqual(yield* arrived(number), [])
        yield* scan({ id: number })
        yield* settled
        assert.deepStrictEqual<ReadonlyArray<unknown>>(yield* arrived(number), waiting)
      }),
    ),
  )
})

describe("test mode", () => {
  it.effect("a number links itself after 5 s, without any transport", () =>
    inAService(
      Effect.gen(function* () {
        const key = yield* aKey(yield* aWorkspace(), { mode: "test" })
        const scanned = yield* connect(key)
        const typed = yield* connect(key, { loginMethod: "phone_code", phone: "+15550001111" })
        assert.isNotNull((yield* read(key, typed)).connect?.pairingCode)
        assert.isNotNull((yield* read(key, scanned)).connect?.qrCodeUrl)
        yield* pass(5 * second - 1)
        assert.strictEqual((yield* read(key, typed)).status, "connecting")
        yield* pass(1)
        assert.deepInclude(yield* read(key, typed), { status: "connected", phone: "15550001111" })
        assert.strictEqual((yield* read(key, scanned)).status, "connected")
      }),
      { linking: linkingBy(() => Stream.die("no transport in test mode")) },
    ),
  )
})

describe("the QR link", () => {
  it.effect("works for ten minutes from the call, and shows the newest code", () =>
    inAService(
      Effect.gen(function* () {
        const key = yield* aKeyToConnect
        const number = yield* connect(key)
        yield* settled
        const { connect: shown } = yield* read(key, number)
        const segment = String(shown?.qrCodeUrl).split("/").at(-1) ?? ""
        const follow = QrLinks.use((links) => links.read(segment))
        const first = yield* follow
        yield* pass(minute)
        assert.notStrictEqual(yield* follow, first)
        assert.strictEqual(yield* follow, yield* qrText(key, number))
        yield* pass(9 * minute)
        assert.strictEqual(yield* code(follow), "not_found")
        // Not even when the number connects again.
        yield* connect(key, { numberId: number.id })
        yield* settled
        assert.strictEqual(yield* code(follow), "not_found")
        yield* TestClock.setTime(noon)
        assert.strictEqual(yield* code(follow), "not_found")
      }),
    ),
  )
})

describe("a refusal to connect", () => {
  it.effect("names the connecting number: connect_in_progress", () =>
    inAService(
      Effect.gen(function* () {
        const key = yield* aKeyToConnect
        const number = yield* connect(key)
        const refused = yield* refusal(connect(key, { numberId: number.id }))
        assert.deepInclude(refused, {
          code: "connect_in_progress",
          status: 409,
          details: { numberId: number.id },
        })
      }),
    ),
  )

  it.effect("names no number of the other mode to a limited key", () =>
    inAService(
      Effect.gen(function* () {
        const workspace = yield* aWorkspace()
        const number = yield* aNumber(workspace, { status: "disconnected" })
        const test = yield* aKey(workspace, { mode: "test" })
        const hidden = yield* connect(test)
        const limited = yield* aKey(workspace, { numberIds: [number] })
        const requesting = connect(limited, { numberId: hidden.id })
        assert.strictEqual(yield* code(requesting), "number_not_found")
      }),
    ),
  )
})
