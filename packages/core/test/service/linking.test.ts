import { assert, describe, it } from "@effect/vitest"
import { Emulator } from "@messaging-service/emulator"
import { Clock, Effect, Layer, Queue, Stream } from "effect"
import { TestClock } from "effect/testing"
import { Connections, Numbers, QrLinks, WakeUp } from "../../src/index.ts"
import type { Caller, ConnectNumber, NumberId } from "../../src/index.ts"
import { LinkingStore, NumberLinking, sharedResources } from "../../src/ports.ts"
import type { LinkingEvent, LinkingRequest } from "../../src/ports.ts"
import { linkingLeaseMillis } from "../../src/number/Linking.ts"
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
  startWorker,
  stopWorker,
} from "./Service.ts"

const connect = (key: Caller, body: ConnectNumber = {}) =>
  Effect.map(
    Connections.use((connections) => connections.connect(key, body, null)),
    ({ answer }) => answer,
  )

const read = (key: Caller, number: { readonly id: number }) =>
  Connections.use((connections) => connections.get(key, number.id as NumberId))

const scan = (number: { readonly id: number }, body: object = {}) =>
  Emulator.use((emulator) => emulator.scan(number.id as NumberId, body))

const aKeyToConnect = Effect.flatMap(aWorkspace(), (workspace) => aKey(workspace))

/** What the code behind a number's QR link says. */
const qrText = (key: Caller, number: { readonly id: number }) =>
  Effect.gen(function* () {
    const { connect: shown } = yield* read(key, number)
    const segment = String(shown?.qrCodeUrl).split("/").at(-1) ?? ""
    return yield* QrLinks.use((links) => links.read(segment))
  })

const attemptOf = (number: { readonly id: number }) =>
  LinkingStore.use((store) => store.get(number.id as NumberId))

describe("a message from a number that is not linked yet", () => {
  it.effect("shows no phone until it is, and then the one that it left from", () =>
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
        // The first answer, whatever became of the number since.
        const again = yield* answer(key, { from: number.id }, "key")
        assert.deepStrictEqual(again, { messages: first.messages, replayed: true })
      }),
    ),
  )
})

describe("the codes of an attempt", () => {
  it.effect("a QR code stands for 60 s, five more for 20 s each, and then it begins again", () =>
    inAService(
      Effect.gen(function* () {
        const key = yield* aKeyToConnect
        const number = yield* connect(key)
        yield* settled
        const changes: Array<number> = []
        let last = yield* qrText(key, number)
        for (let at = 5; at < 300; at += 5) {
          yield* pass(5 * second)
          const text = yield* qrText(key, number)
          if (text !== last) changes.push(at)
          last = text
        }
        assert.deepStrictEqual(changes, [60, 80, 100, 120, 140, 160, 220, 240, 260, 280])
      }),
    ),
  )

  it.effect("an expired pairing code is followed by the next, asked for by itself", () =>
    inAService(
      Effect.gen(function* () {
        const key = yield* aKeyToConnect
        const number = yield* connect(key, { login_method: "phone_code", phone: "+15550001111" })
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

  it.effect("a pairing code past its end is not shown while there is no other", () =>
    inAService(
      Effect.gen(function* () {
        const key = yield* aKeyToConnect
        const number = yield* connect(key, { login_method: "phone_code", phone: "+15550001111" })
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
  it.effect("is the end of its pairing code too, and of a reconnect's other phone", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number } = yield* aSender()
        const own = (yield* read(key, { id: number })).phone
        yield* logOut(number)
        yield* connect(key, {
          login_method: "phone_code",
          phone: "+15550001111",
          number_id: number,
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

  it.effect("comes after ten minutes, not before, and the number can be connected again", () =>
    inAService(
      Effect.gen(function* () {
        const key = yield* aKeyToConnect
        const number = yield* connect(key)
        yield* pass(10 * minute - 1)
        assert.strictEqual((yield* read(key, number)).status, "connecting")
        yield* pass(1)
        assert.deepInclude(yield* read(key, number), { status: "disconnected", connect: null })
        assert.strictEqual(yield* code(scan(number)), "not_connecting")
        const again = yield* connect(key, { number_id: number.id })
        assert.strictEqual(again.id, number.id)
        yield* pass(10 * minute - 1)
        assert.strictEqual((yield* scan(number)).status, "connected")
      }),
    ),
  )

  it.effect("a scan in time wins: nothing disconnects the number later", () =>
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

  it.effect("a logout and a removal end it too", () =>
    inAService(
      Effect.gen(function* () {
        const workspace = yield* aWorkspace()
        const key = yield* aKey(workspace)
        const first = yield* connect(key)
        yield* logOut(first.id)
        assert.strictEqual((yield* read(key, first)).status, "disconnected")
        const second_ = yield* connect(key)
        yield* Numbers.use((numbers) => numbers.remove("owner", workspace, second_.id))
        assert.isNull(yield* attemptOf(first))
        assert.isNull(yield* attemptOf(second_))
        yield* pass(15 * minute)
        assert.strictEqual(yield* code(read(key, second_)), "number_not_found")
      }),
    ),
  )

  it.effect("what waited for the number leaves in order once it is linked again", () =>
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
        yield* connect(key, { number_id: number })
        yield* pass(minute)
        assert.deepStrictEqual(yield* arrived(number), [])
        yield* scan({ id: number })
        yield* settled
        assert.deepStrictEqual<ReadonlyArray<unknown>>(yield* arrived(number), waiting)
      }),
    ),
  )
})

/** A far side of the test's own. */
const linkingBy = (link: (request: LinkingRequest) => Stream.Stream<LinkingEvent>) =>
  Layer.succeed(NumberLinking, { link })

describe("what a transport says while it links", () => {
  const phone = "15550002222"

  it.effect("is stored step by step, up to the link", () =>
    Effect.gen(function* () {
      const said = yield* Queue.unbounded<LinkingEvent>()
      const requests: Array<LinkingRequest> = []
      yield* inAService(
        Effect.gen(function* () {
          const key = yield* aKeyToConnect
          const number = yield* connect(key)
          yield* settled
          assert.deepStrictEqual(requests, [{ numberId: number.id, method: "qr", phone: null }])
          assert.deepStrictEqual((yield* read(key, number)).connect, {
            qrCodeUrl: null,
            pairingCode: null,
            linking: false,
            requestedAt: noon,
          })
          yield* Queue.offer(said, { _tag: "QrShown", text: "2@abc" })
          yield* settled
          assert.strictEqual(yield* qrText(key, number), "2@abc")
          yield* Queue.offer(said, { _tag: "Taken" })
          yield* settled
          assert.isTrue((yield* read(key, number)).connect?.linking)
          yield* Queue.offer(said, { _tag: "Linked", phone })
          yield* settled
          assert.deepInclude(yield* read(key, number), { status: "connected", phone })
        }),
        {
          linking: linkingBy((request) => {
            requests.push(request)
            return Stream.fromQueue(said)
          }),
        },
      )
    }),
  )

  it.effect("that it cannot be linked at all ends the attempt at once", () =>
    inAService(
      Effect.gen(function* () {
        const key = yield* aKeyToConnect
        const number = yield* connect(key)
        yield* settled
        assert.deepInclude(yield* read(key, number), { status: "disconnected", connect: null })
      }),
      {
        linking: linkingBy(() => Stream.make({ _tag: "Failed", reason: "a passkey is asked for" })),
      },
    ),
  )

  it.effect("nothing, again and again: it is asked once a second, until the time is over", () => {
    let asked = 0
    return inAService(
      Effect.gen(function* () {
        const key = yield* aKeyToConnect
        const number = yield* connect(key)
        yield* pass(minute)
        assert.isAtLeast(asked, 30)
        assert.isAtMost(asked, 62)
        yield* pass(9 * minute)
        assert.strictEqual((yield* read(key, number)).status, "disconnected")
        const before = asked
        yield* pass(minute)
        assert.strictEqual(asked, before)
      }),
      {
        linking: linkingBy(() => {
          asked++
          return Stream.empty
        }),
      },
    )
  })

  it.effect("a connection is given up when the attempt is over, however it ended", () => {
    const open = new Set<number>()
    return inAService(
      Effect.gen(function* () {
        const key = yield* aKeyToConnect
        const scanned = yield* connect(key)
        const left = yield* connect(key)
        yield* settled
        assert.strictEqual(open.size, 2)
        yield* scan(scanned)
        yield* pass(linkingLeaseMillis)
        assert.deepStrictEqual([...open], [left.id])
        yield* pass(10 * minute)
        assert.strictEqual(open.size, 0)
      }),
      {
        linking: linkingBy(({ numberId }) =>
          Stream.never.pipe(
            Stream.onStart(Effect.sync(() => open.add(numberId))),
            Stream.ensuring(Effect.sync(() => open.delete(numberId))),
          ),
        ),
      },
    )
  })
})

describe("several workers", () => {
  it.effect("one runs an attempt; when it is stopped another goes on with fresh codes", () => {
    let connections = 0
    const counting = linkingBy(() =>
      Stream.concat(
        Stream.sync((): LinkingEvent => ({ _tag: "QrShown", text: `2@${++connections}` })),
        Stream.never,
      ),
    )
    return inAService(
      Effect.gen(function* () {
        const first = yield* startWorker
        const key = yield* aKeyToConnect
        const number = yield* connect(key)
        yield* settled
        yield* startWorker
        yield* pass(2 * minute)
        assert.strictEqual(connections, 1)
        yield* stopWorker(first)
        yield* pass(second)
        assert.strictEqual(connections, 2)
        assert.strictEqual(yield* qrText(key, number), "2@2")
      }),
      { linking: counting, worker: false },
    )
  })

  it.effect("a lease that is not renewed runs out, and the attempt is taken over", () => {
    let connections = 0
    return inAService(
      Effect.gen(function* () {
        const key = yield* aKeyToConnect
        yield* connect(key)
        const now = yield* Clock.currentTimeMillis
        const leaseUntil = now + linkingLeaseMillis
        // As a worker that died right after its claim.
        yield* LinkingStore.use((store) =>
          store.claim({ now, leaseUntil, limit: 10, perWorkspace: 10, held: new Map() }),
        )
        yield* startWorker
        yield* pass(linkingLeaseMillis - 1)
        assert.strictEqual(connections, 0)
        yield* pass(1)
        assert.strictEqual(connections, 1)
      }),
      {
        linking: linkingBy(() => {
          connections++
          return Stream.never
        }),
        worker: false,
      },
    )
  })
})

describe("a workspace that links many numbers at once", () => {
  it.effect(
    "has its share of a worker's attempts; those above it wait, and lapse as any other",
    () =>
      Effect.gen(function* () {
        const { most } = sharedResources.linkAttempts.share
        const said = yield* Queue.unbounded<LinkingEvent>()
        let connections = 0
        yield* inAService(
          Effect.gen(function* () {
            const key = yield* aKeyToConnect
            const numbers = yield* Effect.forEach(Array.from({ length: most + 3 }), () =>
              connect(key),
            )
            yield* settled
            assert.strictEqual(connections, most)
            yield* connect(yield* aKeyToConnect)
            yield* settled
            assert.strictEqual(connections, most + 1)
            // The end of one makes room for the next.
            yield* Queue.offer(said, { _tag: "Failed", reason: "a test" })
            yield* settled
            assert.strictEqual(connections, most + 2)
            yield* pass(9 * minute)
            const waiting = numbers.slice(-2)
            const statuses = Effect.forEach(waiting, (number) =>
              Effect.map(read(key, number), ({ status }) => status),
            )
            assert.deepStrictEqual(yield* statuses, ["connecting", "connecting"])
            yield* pass(minute)
            assert.deepStrictEqual(yield* statuses, ["disconnected", "disconnected"])
            assert.strictEqual(connections, most + 2)
          }),
          {
            linking: linkingBy(() => {
              connections++
              return Stream.fromEffect(Queue.take(said))
            }),
          },
        )
      }),
  )
})

describe("a lease that ran out under its holder", () => {
  it.effect("is taken again, and the connection goes on", () =>
    Effect.gen(function* () {
      const said = yield* Queue.unbounded<LinkingEvent>()
      let connections = 0
      yield* inAService(
        Effect.gen(function* () {
          const key = yield* aKeyToConnect
          const number = yield* connect(key)
          yield* settled
          const { id } = (yield* attemptOf(number))!
          const now = yield* Clock.currentTimeMillis
          // The first claim of an attempt has the lease 1.
          const ranOut = LinkingStore.use((store) => store.renew([{ id, lease: 1 }], now))
          assert.deepStrictEqual(yield* ranOut, new Set([id]))
          yield* WakeUp.use((wakeUp) => wakeUp.wake("linking"))
          yield* settled
          assert.deepStrictEqual(yield* ranOut, new Set())
          yield* Queue.offer(said, { _tag: "QrShown", text: "2@later" })
          yield* pass(minute)
          assert.strictEqual(yield* qrText(key, number), "2@later")
          assert.strictEqual(connections, 1)
        }),
        {
          linking: linkingBy(() => {
            connections++
            return Stream.fromQueue(said)
          }),
        },
      )
    }),
  )
})

describe("test mode", () => {
  it.effect("a number links itself after 5 s, without any transport", () =>
    inAService(
      Effect.gen(function* () {
        const key = yield* aKey(yield* aWorkspace(), { mode: "test" })
        const scanned = yield* connect(key)
        const typed = yield* connect(key, { login_method: "phone_code", phone: "+15550001111" })
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
        // Not even when the number is connecting anew.
        yield* connect(key, { number_id: number.id })
        yield* settled
        assert.strictEqual(yield* code(follow), "not_found")
        yield* TestClock.setTime(noon)
        assert.strictEqual(yield* code(follow), "not_found")
      }),
    ),
  )
})

describe("what stands in the way", () => {
  it.effect("connect_in_progress names the number", () =>
    inAService(
      Effect.gen(function* () {
        const key = yield* aKeyToConnect
        const number = yield* connect(key)
        const refused = yield* refusal(connect(key, { number_id: number.id }))
        assert.deepInclude(refused, {
          code: "connect_in_progress",
          status: 409,
          details: { number_id: number.id },
        })
      }),
    ),
  )

  it.effect("a limited key of one world is not told of numbers of the other", () =>
    inAService(
      Effect.gen(function* () {
        const workspace = yield* aWorkspace()
        const number = yield* aNumber(workspace, { status: "disconnected" })
        const test = yield* aKey(workspace, { mode: "test" })
        const hidden = yield* connect(test)
        const limited = yield* aKey(workspace, { number_ids: [number] })
        const asking = connect(limited, { number_id: hidden.id })
        assert.strictEqual(yield* code(asking), "number_not_found")
      }),
    ),
  )
})
