import { assert, describe, it } from "@effect/vitest"
import {
  MediaFilesError,
  PhoneDirectory,
  TelegramTransport,
  WhatsAppTransport,
} from "@messaging-service/core"
import type {
  MessageErrorCode,
  NumberId,
  OutgoingMedia,
  OutgoingMessage,
  Phone,
  PhonesOutcome,
  TransportId,
} from "@messaging-service/core"
import { Clock, Effect, Fiber, Ref, Stream } from "effect"
import { TestClock } from "effect/testing"
import { defaultErrorMessage, ParkedSends, defaultBehaviour } from "../src/index.ts"
import type { PhoneBehaviour } from "@messaging-service/core"
import { RemoteServerState, phone, layerRemoteServerInMemory } from "./RemoteServerInMemory.ts"

const number = 7 as NumberId
const other = 8 as NumberId

const message: OutgoingMessage = {
  numberId: number,
  transportId: "A0000000000000000001" as TransportId,
  to: { kind: "phone", phone: phone("+4915112345678") },
  text: "Hello",
  media: null,
}

const send = (changed: Partial<OutgoingMessage> = {}) =>
  WhatsAppTransport.use((transport) => transport.send({ ...message, ...changed }))

const behave = (behaviour: Partial<PhoneBehaviour>, id = number) =>
  Effect.map(RemoteServerState, ({ behaviours }) =>
    behaviours.set(id, { ...defaultBehaviour, ...behaviour }),
  )

const parked = Effect.flatMap(ParkedSends, (sends) => sends.parked).pipe(
  Effect.map((numbers) => Array.from(numbers)),
)

const copies = Effect.map(RemoteServerState, (state) => state.copies)

/** Both numbers are connected. */
const onRemoteServer = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  RemoteServerState.use(({ statuses }) => {
    statuses.set(number, "connected").set(other, "connected")
    return effect
  }).pipe(Effect.provide(layerRemoteServerInMemory))

const refusal = (code: MessageErrorCode) =>
  Effect.map(send(), (outcome) => {
    assert.strictEqual(outcome._tag === "Refused" && outcome.error.code, code)
    return outcome._tag === "Refused" ? outcome.error.message : ""
  })

describe("a simulated phone", () => {
  it.effect("succeeds by default, on both platforms, and drops copies", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* send(), { _tag: "Accepted" })
      const telegram = yield* TelegramTransport
      assert.deepStrictEqual(yield* telegram.send(message), { _tag: "Accepted" })
      assert.isTrue(telegram.dropsCopies)
      assert.strictEqual((yield* copies).length, 1)
    }).pipe(onRemoteServer),
  )

  it.effect("that fails gives its configured reason, else one of its own", () =>
    Effect.gen(function* () {
      yield* behave({ send: "fail", errorMessage: "Out of order" })
      assert.strictEqual(yield* refusal("send_failed"), "Out of order")
      yield* behave({ send: "fail" })
      assert.strictEqual(yield* refusal("send_failed"), defaultErrorMessage)
      const outcome = yield* send()
      assert.isTrue(outcome._tag === "Refused" && outcome.againstNumber)
    }).pipe(onRemoteServer),
  )

  it.effect("that drops lets the copy through, breaks the connection, and then succeeds", () =>
    Effect.gen(function* () {
      const groups = ["Family"]
      yield* behave({ send: "drop", latencyMillis: 20, groups, errorMessage: "kept" })
      const attempt = yield* Effect.forkChild(send())
      yield* TestClock.adjust(20)
      assert.deepStrictEqual(yield* Fiber.join(attempt), { _tag: "Unknown" })
      assert.strictEqual((yield* copies).length, 1)
      const { behaviours } = yield* RemoteServerState
      assert.deepStrictEqual(behaviours.get(number), {
        send: "succeed",
        latencyMillis: 20,
        groups,
        errorMessage: "kept",
      })
    }).pipe(onRemoteServer),
  )

  it.effect("that drops keeps dropping until an attempt has reached the remote server", () =>
    Effect.gen(function* () {
      yield* behave({ send: "drop" })
      const stranger = { kind: "phone", phone: phone("+4915112340000") } as const
      assert.strictEqual((yield* send({ to: stranger }))._tag, "Refused")
      assert.strictEqual((yield* send())._tag, "Unknown")
      assert.strictEqual((yield* send())._tag, "Accepted")
    }).pipe(onRemoteServer),
  )

  it.effect("answers after its latency, and the copy does not arrive earlier", () =>
    Effect.gen(function* () {
      yield* behave({ latencyMillis: 1500 })
      const attempt = yield* Effect.forkChild(send())
      yield* TestClock.adjust(1499)
      assert.isUndefined(attempt.pollUnsafe())
      assert.deepStrictEqual(yield* copies, [])
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(yield* Fiber.join(attempt), { _tag: "Accepted" })
      assert.strictEqual((yield* copies)[0]?.at, 1500)
    }).pipe(onRemoteServer),
  )

  it.effect("that hangs never answers and shows nothing", () =>
    Effect.gen(function* () {
      yield* behave({ send: "hang", latencyMillis: 10 })
      const attempt = yield* Effect.forkChild(send())
      yield* TestClock.adjust("365 days")
      assert.isUndefined(attempt.pollUnsafe())
      yield* Fiber.interrupt(attempt)
      assert.deepStrictEqual(yield* copies, [])
    }).pipe(onRemoteServer),
  )

  it.effect("keeps the behaviour that an attempt started with", () =>
    Effect.gen(function* () {
      yield* behave({ latencyMillis: 1000 })
      const attempt = yield* Effect.forkChild(send())
      yield* TestClock.adjust(500)
      yield* behave({ send: "fail" })
      yield* TestClock.adjust(500)
      assert.deepStrictEqual(yield* Fiber.join(attempt), { _tag: "Accepted" })
      assert.strictEqual((yield* send())._tag, "Refused")
    }).pipe(onRemoteServer),
  )

  it.effect("that logs out during the latency sends nothing", () =>
    Effect.gen(function* () {
      yield* behave({ latencyMillis: 1000 })
      const attempt = yield* Effect.forkChild(send())
      yield* TestClock.adjust(500)
      ;(yield* RemoteServerState).statuses.set(number, "disconnected")
      yield* TestClock.adjust(500)
      assert.deepStrictEqual(yield* Fiber.join(attempt), { _tag: "NotConnected" })
      assert.deepStrictEqual(yield* copies, [])
    }).pipe(onRemoteServer),
  )

  it.effect("that is linking is not connected yet", () =>
    Effect.gen(function* () {
      ;(yield* RemoteServerState).statuses.set(number, "connecting")
      assert.deepStrictEqual(yield* send(), { _tag: "NotConnected" })
    }).pipe(onRemoteServer),
  )
})

describe("recipients", () => {
  it.effect("a list of registered phones replaces the rule", () =>
    Effect.gen(function* () {
      const state = yield* RemoteServerState
      state.registered = [phone("+4915112340000")]
      yield* refusal("recipient_not_found")
      const listed = { kind: "phone", phone: phone("+4915112340000") } as const
      assert.strictEqual((yield* send({ to: listed }))._tag, "Accepted")
    }).pipe(onRemoteServer),
  )

  it.effect("a group is matched by its exact name", () =>
    Effect.gen(function* () {
      yield* behave({ groups: ["Team ", "TEAM"] })
      const outcome = yield* send({ to: { kind: "group", group: "Team" } })
      assert.strictEqual(outcome._tag === "Refused" && outcome.error.code, "group_not_found")
      const exact = yield* send({ to: { kind: "group", group: "Team " } })
      assert.strictEqual(exact._tag, "Accepted")
    }).pipe(onRemoteServer),
  )

  it.effect("two groups of one name fail the message as ambiguous", () =>
    Effect.gen(function* () {
      yield* behave({ groups: ["Team", "Family", "Team"] })
      const outcome = yield* send({ to: { kind: "group", group: "Team" } })
      assert.strictEqual(outcome._tag, "Refused")
      if (outcome._tag !== "Refused") return
      assert.strictEqual(outcome.error.code, "group_not_found")
      assert.include(outcome.error.message, "ambiguous")
    }).pipe(onRemoteServer),
  )
})

describe("media", () => {
  const media: OutgoingMedia = {
    type: "file",
    fileName: "a.txt",
    mimeType: "text/plain",
    size: 3,
    sha256: "00",
    content: Stream.fail(new MediaFilesError({ reason: "not_found" })),
  }

  it.effect("that cannot be read postpones the message before anything leaves", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* send({ media }))._tag, "Postponed")
      assert.deepStrictEqual(yield* copies, [])
    }).pipe(onRemoteServer),
  )
})

describe("an unresponsive store", () => {
  for (const operation of ["find", "behaviour", "registered"] as const) {
    it.effect(`to ${operation} postpones: nothing was handed over`, () =>
      Effect.gen(function* () {
        const { unavailable } = yield* RemoteServerState
        unavailable.add(operation)
        assert.strictEqual((yield* send())._tag, "Postponed")
        assert.deepStrictEqual(yield* copies, [])
      }).pipe(onRemoteServer),
    )
  }

  it.effect("to receive leaves it Unknown, and the repeat shows no second copy", () =>
    Effect.gen(function* () {
      const { unavailable } = yield* RemoteServerState
      unavailable.add("receive")
      assert.deepStrictEqual(yield* send(), { _tag: "Unknown" })
      unavailable.clear()
      assert.deepStrictEqual(yield* send(), { _tag: "Accepted" })
      assert.strictEqual((yield* copies).length, 1)
    }).pipe(onRemoteServer),
  )
})

describe("parked sends", () => {
  it.effect("are those of numbers whose attempt waits for time, and of no others", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* parked, [])
      yield* behave({ latencyMillis: 1000 })
      yield* behave({ send: "hang" }, other)
      const late = yield* Effect.forkChild(send())
      const hanging = yield* Effect.forkChild(send({ numberId: other }))
      yield* TestClock.adjust(999)
      assert.sameMembers(yield* parked, [number, other])
      yield* TestClock.adjust(1)
      yield* Fiber.join(late)
      assert.deepStrictEqual(yield* parked, [other])
      yield* Fiber.interrupt(hanging)
      assert.deepStrictEqual(yield* parked, [])
    }).pipe(onRemoteServer),
  )

  it.effect("end once an attempt's moment has come, even before it runs", () =>
    Effect.gen(function* () {
      yield* behave({ latencyMillis: 1000 })
      // A clock that has moved on before its sleepers have run.
      const moved = yield* Ref.make(0)
      const clock = {
        ...(yield* Clock.Clock),
        currentTimeMillis: Ref.get(moved),
        sleep: () => Effect.never,
      }
      yield* Effect.gen(function* () {
        const attempt = yield* Effect.forkChild(send())
        yield* Effect.yieldNow
        assert.deepStrictEqual(yield* parked, [number])
        yield* Ref.set(moved, 999)
        assert.deepStrictEqual(yield* parked, [number])
        yield* Ref.set(moved, 1000)
        assert.deepStrictEqual(yield* parked, [])
        yield* Fiber.interrupt(attempt)
      }).pipe(Effect.provideService(Clock.Clock, clock))
    }).pipe(onRemoteServer),
  )
})

describe("a simulated phone asked for registered phones", () => {
  const here = phone("+4915112345678")
  const nowhere = phone("+4915112340000")

  const request = (numberId = number) =>
    PhoneDirectory.use((directory) => directory.checkPhones(numberId, [here, nowhere]))

  const checked = (...registered: ReadonlyArray<Phone>): PhonesOutcome => ({
    _tag: "Checked",
    registered: new Set(registered),
  })

  it.effect("returns the configured ones, or by the rule those that do not end in 0000", () =>
    onRemoteServer(
      Effect.gen(function* () {
        const state = yield* RemoteServerState
        assert.deepStrictEqual(yield* request(), checked(here))
        state.registered = [nowhere]
        assert.deepStrictEqual(yield* request(), checked(nowhere))
        state.registered = []
        assert.deepStrictEqual(yield* request(), checked())
      }),
    ),
  )

  it.effect("takes its latency, and counts as waiting", () =>
    onRemoteServer(
      Effect.gen(function* () {
        yield* behave({ latencyMillis: 1000 })
        const requesting = yield* Effect.forkChild(request())
        yield* TestClock.adjust(999)
        assert.isUndefined(requesting.pollUnsafe())
        assert.deepStrictEqual(yield* parked, [number])
        yield* TestClock.adjust(1)
        assert.deepStrictEqual(yield* Fiber.join(requesting), checked(here))
        assert.deepStrictEqual(yield* parked, [])
      }),
    ),
  )

  it.effect("never answers when it hangs, until interrupted", () =>
    onRemoteServer(
      Effect.gen(function* () {
        yield* behave({ send: "hang" })
        const requesting = yield* Effect.forkChild(request())
        yield* TestClock.adjust("1 day")
        assert.isUndefined(requesting.pollUnsafe())
        assert.deepStrictEqual(yield* parked, [number])
        yield* Fiber.interrupt(requesting)
        assert.deepStrictEqual(yield* parked, [])
      }),
    ),
  )

  it.effect("answers even if its sends fail or break", () =>
    onRemoteServer(
      Effect.gen(function* () {
        for (const send of ["fail", "drop"] as const) {
          yield* behave({ send })
          assert.deepStrictEqual(yield* request(), checked(here))
        }
        const { behaviours } = yield* RemoteServerState
        assert.strictEqual(behaviours.get(number)?.send, "drop")
      }),
    ),
  )

  it.effect("must be connected, before its latency and after it", () =>
    onRemoteServer(
      Effect.gen(function* () {
        const { statuses } = yield* RemoteServerState
        yield* behave({ latencyMillis: 1000 })
        const requesting = yield* Effect.forkChild(request())
        yield* TestClock.adjust(500)
        statuses.set(number, "disconnected")
        assert.deepStrictEqual(yield* request(), { _tag: "NotConnected" })
        yield* TestClock.adjust(500)
        assert.deepStrictEqual(yield* Fiber.join(requesting), { _tag: "NotConnected" })
        assert.deepStrictEqual(yield* request(999 as NumberId), { _tag: "NotConnected" })
      }),
    ),
  )

  it.effect("asks for a pause while the store does not answer", () =>
    onRemoteServer(
      Effect.gen(function* () {
        const { unavailable } = yield* RemoteServerState
        for (const operation of ["find", "behaviour", "registered"] as const) {
          unavailable.add(operation)
          assert.deepStrictEqual(yield* request(), { _tag: "Postponed", afterMillis: 1000 })
          unavailable.delete(operation)
        }
      }),
    ),
  )
})
