/** The numbers of a transport that keeps connections: their listeners and owners. */
import { assert, it } from "@effect/vitest"
import { Clock, Deferred, Effect, Fiber, Logger } from "effect"
import { TestClock } from "effect/testing"
import type { TransportEvent, TransportId } from "../../src/index.ts"
import { interruptEverywhere } from "@messaging-service/testkit"
import { closeConnection } from "../../src/store/Transport.ts"
import { aLiveWorld, again, day, toId, listening, one, settings } from "./aLiveWorld.ts"

const getConnected = (events: ReadonlyArray<TransportEvent>) =>
  events.flatMap((event) =>
    event._tag === "ConnectionChanged" && event.status === "connected" ? event.numberId : [],
  )

const aTick = (id: string): TransportEvent => ({
  _tag: "Tick",
  numberId: one,
  transportId: id as TransportId,
  status: "read",
})

it.effect("delivers every event that came before a listener", () =>
  Effect.gen(function* () {
    const world = aLiveWorld()
    const numbers = yield* world.numbers()
    const taking = [
      yield* Effect.forkChild(numbers.take(aTick("A"))),
      yield* Effect.forkChild(numbers.take(aTick("B"))),
    ]
    yield* TestClock.adjust("1 hour")
    assert.isTrue(taking.every((fiber) => fiber.pollUnsafe() === undefined))
    const listener = yield* Effect.forkChild(numbers.listen(world.takeAll))
    for (const fiber of taking) yield* Fiber.join(fiber)
    assert.deepStrictEqual(world.reported, [aTick("A"), aTick("B")])
    yield* Fiber.interrupt(listener)
    const late = yield* Effect.forkChild(numbers.take(aTick("C")))
    yield* TestClock.adjust("1 hour")
    assert.isUndefined(late.pollUnsafe())
    const next: Array<TransportEvent> = []
    yield* Effect.forkScoped(numbers.listen((event) => Effect.sync(() => void next.push(event))))
    yield* Fiber.join(late)
    assert.deepStrictEqual(next, [aTick("C")])
    assert.lengthOf(world.reported, 2)
  }),
)

it.effect("a listener that ends closes all connections, and the next one reopens them", () =>
  Effect.gen(function* () {
    const world = aLiveWorld()
    for (const index of [1, 2, 3]) world.keep(toId(index))
    const { listener, numbers } = yield* listening(world)
    assert.deepStrictEqual(getConnected(world.reported), [1, 2, 3].map(toId))
    assert.strictEqual(world.open.size, 3)
    yield* Fiber.interrupt(listener)
    assert.strictEqual(world.open.size, 0)
    assert.deepStrictEqual(yield* numbers.reports, [])
    yield* Effect.forkScoped(numbers.listen(world.takeAll))
    yield* TestClock.adjust("1 second")
    assert.strictEqual(world.open.size, 3)
  }),
)

it.effect("reconnects a number whose connection fails by a bug or is interrupted", () =>
  Effect.gen(function* () {
    for (const breaking of [Effect.die(new Error("a bug")), Effect.interrupt]) {
      const world = aLiveWorld()
      world.keep(one)
      yield* listening(world)
      world.away.store = breaking
      yield* world.end(one, again)
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(world.open.size, 0)
      world.away.store = false
      yield* TestClock.adjust("2 minutes")
      assert.deepStrictEqual([...world.open], [one])
    }
  }),
)

it.effect("repeats a check of all numbers that fails or is interrupted", () =>
  Effect.gen(function* () {
    for (const breaking of [Effect.die(new Error("a bug")), Effect.interrupt]) {
      const world = aLiveWorld()
      world.keep(toId(1))
      yield* listening(world)
      world.away.store = breaking
      yield* TestClock.adjust("10 seconds")
      world.away.store = false
      world.keep(toId(2))
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(getConnected(world.reported), [1, 2].map(toId))
      assert.strictEqual(world.open.size, 2)
    }
  }),
)

it.effect(
  "a number released while it is listened to is closed there and reports nothing more",
  () =>
    Effect.gen(function* () {
      const world = aLiveWorld()
      world.keep(one)
      const { numbers } = yield* listening(world)
      const connection = yield* numbers.open(one)
      yield* world.move(true)
      yield* TestClock.adjust("1 second")
      assert.strictEqual(world.open.size, 0)
      assert.strictEqual(yield* numbers.open(one), "elsewhere")
      assert.isNull(numbers.status(one))
      // A send in flight ends with its connection.
      assert.isTrue(
        connection !== null &&
          typeof connection !== "string" &&
          Deferred.isDoneUnsafe(connection.over),
      )
      assert.lengthOf(world.reported, 1)
      yield* world.move(false)
      yield* TestClock.adjust("1 second")
      assert.strictEqual(world.open.size, 1)
      assert.lengthOf(world.startedFor(one), 2)
    }),
)

it.effect("the next check corrects a late report that disconnects an open number", () =>
  Effect.gen(function* () {
    const world = aLiveWorld()
    world.keep(one)
    yield* listening(world)
    assert.deepStrictEqual(getConnected(world.reported), [one])
    world.keep(one, { status: "disconnected" })
    yield* TestClock.adjust("3 seconds")
    assert.deepStrictEqual(getConnected(world.reported), [one, one])
    world.keep(one, { status: "connected" })
    yield* TestClock.adjust("1 minute")
    assert.lengthOf(world.reported, 2)
    // Its owner logs it out, and it stays open for a moment.
    world.keep(one, { status: "disconnected", reason: "logged_out" })
    yield* TestClock.adjust("1 minute")
    assert.lengthOf(world.reported, 2)
  }),
)

it.effect("the current worker reports a number that was given up", () =>
  Effect.gen(function* () {
    const world = aLiveWorld()
    world.keep(one)
    const { numbers } = yield* listening(world)
    yield* world.end(one, { _tag: "Stop", reason: "replaced", wipe: false })
    yield* TestClock.adjust("1 second")
    assert.deepInclude((yield* numbers.reports)[0], { numberId: one, reason: "replaced" })
    yield* world.move(true)
    yield* TestClock.adjust("1 second")
    assert.deepStrictEqual(yield* numbers.reports, [])
  }),
)

it.effect("a wiped session is looked up where any process may log in, a given-up one is not", () =>
  Effect.gen(function* () {
    const world = aLiveWorld()
    const [wiped, refused] = [toId(1), toId(2)]
    for (const id of [wiped, refused]) world.keep(id)
    const { numbers } = yield* listening(world, { remembersWiped: false })
    yield* world.end(wiped, { _tag: "Stop", reason: "logged_out", wipe: true })
    yield* world.end(refused, { _tag: "Stop", reason: "restricted", wipe: false })
    yield* TestClock.adjust("1 hour")
    assert.isNull(numbers.status(wiped))
    assert.strictEqual(numbers.status(refused)?.reason, "restricted")
    world.keep(wiped)
    yield* TestClock.adjust("1 hour")
    assert.deepStrictEqual([...world.open], [wiped])
    assert.lengthOf(world.startedFor(refused), 1)
  }),
)

it.effect("concurrent requests for an opening number get one connection", () =>
  Effect.gen(function* () {
    const world = aLiveWorld()
    world.keep(one)
    const numbers = yield* world.numbers()
    const [first, other] = yield* Effect.all([numbers.open(one), numbers.open(one)], {
      concurrency: "unbounded",
    })
    assert.strictEqual(first, other)
    assert.lengthOf(world.startedFor(one), 1)
    assert.isNull(yield* numbers.open(toId(2)))
    world.away.store = true
    assert.strictEqual(yield* numbers.open(toId(2)), "connection_lost")
  }),
)

it.effect("waiting callers learn at once that a released number has no connection", () =>
  Effect.gen(function* () {
    const world = aLiveWorld()
    world.keep(one)
    world.away.remote = true
    const { listener, numbers } = yield* listening(world)
    const moved = yield* Effect.forkChild(numbers.open(one))
    yield* TestClock.adjust("1 second")
    assert.isUndefined(moved.pollUnsafe())
    yield* world.move(true)
    yield* TestClock.adjust("1 second")
    assert.strictEqual(yield* Fiber.join(moved), "connection_lost")
    yield* world.move(false)
    yield* TestClock.adjust("1 second")
    const ended = yield* Effect.forkChild(numbers.open(one))
    yield* TestClock.adjust("1 second")
    assert.isUndefined(ended.pollUnsafe())
    yield* Fiber.interrupt(listener)
    assert.strictEqual(yield* Fiber.join(ended), "connection_lost")
  }),
)

it.effect("a connection is available at once only while open, owned and permanent", () =>
  Effect.gen(function* () {
    const world = aLiveWorld()
    world.keep(one)
    const before = yield* world.numbers()
    assert.isNull(before.openNow(one))
    const { numbers } = yield* listening(world)
    const connection = numbers.openNow(one)
    assert.isNotNull(connection)
    assert.strictEqual(yield* numbers.open(one), connection)
    world.away.owner = true
    assert.isNull(numbers.openNow(one))
    world.away.owner = false
    assert.strictEqual(numbers.openNow(one), connection)
    if (connection !== null) Deferred.doneUnsafe(connection.over, Effect.void)
    assert.isNull(numbers.openNow(one))
    yield* world.end(one, again)
    yield* TestClock.adjust("1 minute")
    assert.isNotNull(numbers.openNow(one))
    yield* Effect.forkChild(numbers.logOut(one), { startImmediately: true })
    assert.isNull(numbers.openNow(one))
  }),
)

it.effect("delivers events of a relinked number once they may be reported", () =>
  Effect.gen(function* () {
    const world = aLiveWorld()
    const { numbers } = yield* listening(world)
    world.keep(one, { status: "connecting" })
    const connection = yield* numbers.connectQuietly(one)
    assert.isTrue(connection !== null && typeof connection !== "string")
    assert.deepStrictEqual(world.reported, [])
    assert.deepStrictEqual(yield* numbers.reports, [])
  }),
)

it.effect("an unreadable session keeps no other one from connecting", () =>
  Effect.gen(function* () {
    const world = aLiveWorld()
    for (const index of [1, 2]) world.keep(toId(index))
    world.credentials.set(one, "unreadable")
    yield* listening(world, {
      logins: {
        isLogin: () => false,
        end: () => Effect.succeed(true),
        settle: () => null,
      },
    })
    assert.deepStrictEqual([...world.open], [toId(2)])
  }),
)

it.effect("a pause disconnects a number, and resuming connects it", () =>
  Effect.gen(function* () {
    const world = aLiveWorld()
    world.keep(one, { pauseReason: "banned" })
    yield* listening(world)
    yield* TestClock.adjust("1 hour")
    assert.lengthOf(world.startedFor(one), 0)
    world.keep(one, { pauseReason: null })
    yield* TestClock.adjust("4 seconds")
    assert.strictEqual(world.open.size, 1)
    world.keep(one, { pauseReason: "client_outdated" })
    yield* world.end(one, { _tag: "Stop", reason: "client_outdated", wipe: false })
    yield* TestClock.adjust("1 hour")
    assert.lengthOf(world.startedFor(one), 1)
    world.keep(one, { pauseReason: null })
    yield* TestClock.adjust("4 seconds")
    assert.lengthOf(world.startedFor(one), 2)
  }),
)

it.effect("checks numbers although the clock was set back", () =>
  Effect.gen(function* () {
    const steady = yield* Clock.Clock
    let behind = 0
    const now = () => steady.currentTimeMillisUnsafe() - behind
    const world = aLiveWorld()
    yield* Effect.gen(function* () {
      yield* listening(world)
      behind = day
      world.keep(one)
      yield* TestClock.adjust("4 seconds")
      assert.lengthOf(world.startedFor(one), 1)
    }).pipe(
      Effect.provideService(Clock.Clock, {
        ...steady,
        currentTimeMillisUnsafe: now,
        currentTimeMillis: Effect.sync(now),
      }),
    )
  }),
)

it.effect("another proxy reopens the connection, the same one sealed again does not", () =>
  Effect.gen(function* () {
    const world = aLiveWorld()
    world.proxies.set(one, "http://127.0.0.1:1")
    world.keep(one, { proxy: "sealed" })
    yield* listening(world)
    world.keep(one, { proxy: "sealed again" })
    yield* TestClock.adjust("1 minute")
    assert.lengthOf(world.startedFor(one), 1)
    world.proxies.set(one, "http://127.0.0.1:2")
    world.keep(one, { proxy: "another" })
    yield* TestClock.adjust("4 seconds")
    assert.lengthOf(world.startedFor(one), 2)
  }),
)

it.effect.each(["whatsapp", "telegram"] as const)(
  "a store outage of an hour costs no connection and logs a line a minute: %s",
  (platform) => {
    const lines: Array<string> = []
    return Effect.gen(function* () {
      const world = aLiveWorld()
      world.keep(one, { platform })
      yield* listening(world, { platform })
      // A number of the other platform belongs to another transport.
      world.keep(toId(2), { platform: platform === "telegram" ? "whatsapp" : "telegram" })
      world.away.store = true
      lines.length = 0
      yield* TestClock.adjust("1 hour")
      const checks = lines.filter((line) =>
        line.startsWith(`numbers of ${platform} are read later`),
      )
      assert.isAtMost(checks.length, 61)
      assert.isAtLeast(checks.length, 55)
      assert.match(checks[1] ?? "", /held back/)
      assert.deepStrictEqual([...world.open], [one])
      world.away.store = false
      yield* TestClock.adjust("4 seconds")
      assert.lengthOf(world.startedFor(one), 1)
      assert.deepStrictEqual([...world.open], [one])
    }).pipe(
      Effect.provide(
        Logger.layer([Logger.make(({ message }) => void lines.push([message].flat().join(" ")))]),
      ),
    )
  },
)

it.effect("a number whose reconnection is interrupted anywhere is connected by a later look", () =>
  Effect.gen(function* () {
    const world = aLiveWorld()
    const { numbers } = yield* listening(world)
    world.keep(one)
    yield* interruptEverywhere(numbers.connectQuietly(one), (operation) =>
      Effect.gen(function* () {
        yield* TestClock.adjust("10 seconds")
        assert.strictEqual(world.open.size, 1, `interrupted before operation ${operation}`)
      }),
    )
  }),
)

/** A number that connects as the test says. */
const aConnectingNumber = Effect.gen(function* () {
  const world = aLiveWorld()
  world.keep(one)
  type Connect = NonNullable<NonNullable<Parameters<typeof world.numbers>[0]>["connect"]>
  const started: Array<Parameters<Connect>> = []
  const { numbers } = yield* listening(world, {
    settings: { ...settings, startsAtOnce: 1 },
    connect: (...args) => {
      started.push(args)
      return Effect.never
    },
  })
  const [live, connecting] = started[0]!
  return { live, connecting, numbers }
})

it.effect("a number that is interrupted anywhere before its slot is free leaves it to others", () =>
  Effect.gen(function* () {
    const { connecting } = yield* aConnectingNumber
    const ready = Effect.scoped(connecting.ready)
    yield* interruptEverywhere(ready, (operation) =>
      Effect.gen(function* () {
        yield* TestClock.adjust("1 second")
        const next = yield* Effect.forkChild(ready)
        yield* TestClock.adjust("1 second")
        assert.isDefined(next.pollUnsafe(), `interrupted before operation ${operation}`)
      }),
    )
  }),
)

it.effect("who waits for a number whose opening is interrupted anywhere gets the next one", () =>
  Effect.gen(function* () {
    const { connecting, live, numbers } = yield* aConnectingNumber
    const connection = () => ({
      numberId: one,
      over: Deferred.makeUnsafe<void>(),
      lastWordAt: () => null,
    })
    const opened = Effect.scoped(
      Effect.suspend(() => connecting.opened(connection(), "491511")),
    ).pipe(Effect.ensuring(Effect.sync(() => closeConnection(live))))
    let waiting: Fiber.Fiber<unknown> | undefined
    yield* interruptEverywhere(opened, (operation) =>
      Effect.gen(function* () {
        yield* opened
        yield* Effect.yieldNow
        const was = waiting === undefined || waiting.pollUnsafe() !== undefined
        assert.isTrue(was, `interrupted before operation ${operation}`)
        waiting = yield* Effect.forkChild(numbers.open(one), { startImmediately: true })
      }),
    )
  }),
)
