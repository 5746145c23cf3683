/** The numbers of a transport that keeps connections: who hears of them, who has them, and which leave. */
import { assert, it } from "@effect/vitest"
import { Clock, Deferred, Effect, Fiber, Logger } from "effect"
import { TestClock } from "effect/testing"
import type { TransportEvent, TransportId } from "../../src/ports.ts"
import { aLiveWorld, again, idOf, minute, one, second } from "./aLiveWorld.ts"

const day = 24 * 60 * minute

const connectedOf = (events: ReadonlyArray<TransportEvent>) =>
  events.flatMap((event) =>
    event._tag === "ConnectionChanged" && event.status === "connected" ? event.numberId : [],
  )

const aTick = (id: string): TransportEvent => ({
  _tag: "Tick",
  transportId: id as TransportId,
  status: "read",
})

/** A transport that is listened to. */
const listening = (
  world: ReturnType<typeof aLiveWorld>,
  options: Parameters<typeof world.numbers>[0] = {},
) =>
  Effect.gen(function* () {
    const numbers = yield* world.numbers(options)
    const listener = yield* Effect.forkScoped(numbers.listen(world.takeAll))
    yield* TestClock.adjust("1 second")
    return { numbers, listener }
  })

it.effect("events that come before a listener wait for it, each of them", () =>
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
    assert.deepStrictEqual(world.told, [aTick("A"), aTick("B")])
    yield* Fiber.interrupt(listener)
    const late = yield* Effect.forkChild(numbers.take(aTick("C")))
    yield* TestClock.adjust("1 hour")
    assert.isUndefined(late.pollUnsafe())
    const next: Array<TransportEvent> = []
    yield* Effect.forkScoped(numbers.listen((event) => Effect.sync(() => void next.push(event))))
    yield* Fiber.join(late)
    assert.deepStrictEqual(next, [aTick("C")])
    assert.lengthOf(world.told, 2)
  }),
)

it.effect("a listener that ends closes all connections, and the next one opens them again", () =>
  Effect.gen(function* () {
    const world = aLiveWorld()
    for (const place of [1, 2, 3]) world.keep(idOf(place))
    const { listener, numbers } = yield* listening(world)
    assert.deepStrictEqual(connectedOf(world.told), [1, 2, 3].map(idOf))
    assert.strictEqual(world.open.size, 3)
    yield* Fiber.interrupt(listener)
    assert.strictEqual(world.open.size, 0)
    assert.deepStrictEqual(yield* numbers.reports, [])
    yield* Effect.forkScoped(numbers.listen(world.takeAll))
    yield* TestClock.adjust("1 second")
    assert.strictEqual(world.open.size, 3)
  }),
)

it.effect("a look at all numbers that breaks, or is cut off, is made again", () =>
  Effect.gen(function* () {
    for (const breaking of [Effect.die(new Error("a bug")), Effect.interrupt]) {
      const world = aLiveWorld()
      world.keep(idOf(1))
      yield* listening(world)
      world.away.store = breaking
      yield* TestClock.adjust("10 seconds")
      world.away.store = false
      world.keep(idOf(2))
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(connectedOf(world.told), [1, 2].map(idOf))
      assert.strictEqual(world.open.size, 2)
    }
  }),
)

it.effect(
  "a number that is released while it is listened to is closed there, and told of no more",
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
      // A send that was under way ends with its connection.
      assert.isTrue(
        connection !== null &&
          typeof connection !== "string" &&
          Deferred.isDoneUnsafe(connection.over),
      )
      assert.lengthOf(world.told, 1)
      yield* world.move(false)
      yield* TestClock.adjust("1 second")
      assert.strictEqual(world.open.size, 1)
      assert.lengthOf(world.begunOf(one), 2)
    }),
)

it.effect("a number that was given up is told of by the worker that has it now", () =>
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

it.effect(
  "what was wiped is looked for again where any process may log in, what was given up is not",
  () =>
    Effect.gen(function* () {
      const world = aLiveWorld()
      const [wiped, refused] = [idOf(1), idOf(2)]
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
      assert.lengthOf(world.begunOf(refused), 1)
    }),
)

it.effect("those who ask for a number that is being opened get one connection", () =>
  Effect.gen(function* () {
    const world = aLiveWorld()
    world.keep(one)
    const numbers = yield* world.numbers()
    const [first, other] = yield* Effect.all([numbers.open(one), numbers.open(one)], {
      concurrency: "unbounded",
    })
    assert.strictEqual(first, other)
    assert.lengthOf(world.begunOf(one), 1)
    assert.isNull(yield* numbers.open(idOf(2)))
    world.away.store = true
    assert.strictEqual(yield* numbers.open(idOf(2)), "connection_lost")
  }),
)

it.effect(
  "those who wait for a number that is let go are told at once that there is no connection",
  () =>
    Effect.gen(function* () {
      const world = aLiveWorld()
      world.keep(one)
      world.away.far = true
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

it.effect("a connection is there at once only while it is open, this worker's, and to stay", () =>
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

it.effect("a log-out is kept while the far side is away, and made once when it is back", () =>
  Effect.gen(function* () {
    const world = aLiveWorld()
    world.keep(one)
    // It takes longer than until the next look.
    const { numbers } = yield* listening(world, {
      logOut: ({ numberId }) =>
        Effect.as(
          Effect.delay(
            Effect.sync(() => world.loggedOut.push(numberId)),
            "4 seconds",
          ),
          true,
        ),
    })
    world.away.far = true
    yield* world.end(one, again)
    world.keep(one, { removed: true })
    yield* TestClock.adjust("1 hour")
    assert.isTrue(world.credentials.has(one))
    // Since when it leaves is kept, also for another process.
    assert.isAtMost(world.kept.get(one)?.leavingSince ?? Infinity, 5 * second)
    assert.deepStrictEqual(world.loggedOut, [])
    // Nothing is sent over it and nothing is told of it meanwhile.
    assert.isNull(yield* numbers.open(one))
    assert.deepStrictEqual(yield* numbers.reports, [])
    assert.lengthOf(world.told, 1)
    world.away.far = false
    yield* TestClock.adjust("10 minutes")
    assert.deepStrictEqual(world.loggedOut, [one])
    assert.isFalse(world.credentials.has(one))
    assert.strictEqual(world.open.size, 0)
  }),
)

it.effect("a session that could not be logged out for 30 days is forgotten", () =>
  Effect.gen(function* () {
    const world = aLiveWorld()
    // In five minutes it will be 30 days.
    world.keep(one, { removed: true, leavingSince: 5 * minute - 30 * day })
    world.away.far = true
    yield* listening(world)
    yield* TestClock.adjust("4 minutes")
    assert.isTrue(world.credentials.has(one))
    yield* TestClock.adjust("2 minutes")
    assert.isFalse(world.credentials.has(one))
    assert.deepStrictEqual(world.loggedOut, [])
  }),
)

it.effect("a number that was given up and then leaves is connected once more to log out", () =>
  Effect.gen(function* () {
    const world = aLiveWorld()
    const [heard, refused] = [idOf(1), idOf(2)]
    for (const id of [heard, refused]) world.keep(id)
    yield* listening(world)
    for (const id of [heard, refused]) {
      yield* world.end(id, { _tag: "Stop", reason: "replaced", wipe: false })
    }
    yield* TestClock.adjust("1 second")
    yield* world.end(refused, { _tag: "Stop", reason: "replaced", wipe: false })
    for (const id of [heard, refused]) world.keep(id, { leavingSince: 0 })
    yield* TestClock.adjust("1 hour")
    assert.deepStrictEqual(world.loggedOut, [heard])
    assert.isFalse(world.credentials.has(heard))
    // Not in a loop.
    assert.lengthOf(world.begunOf(refused), 2)
    assert.isTrue(world.credentials.has(refused))
  }),
)

it.effect("a session that the far side has ended itself is not logged out", () =>
  Effect.gen(function* () {
    const world = aLiveWorld()
    world.keep(one)
    yield* listening(world)
    yield* world.end(one, { _tag: "Stop", reason: "logged_out", wipe: false })
    yield* TestClock.adjust("1 second")
    world.keep(one, { leavingSince: 0 })
    yield* TestClock.adjust("4 seconds")
    assert.isFalse(world.credentials.has(one))
    assert.deepStrictEqual(world.loggedOut, [])
  }),
)

it.effect("a session makes room for another one only once it is logged out", () =>
  Effect.gen(function* () {
    const world = aLiveWorld()
    world.keep(one)
    const { numbers } = yield* listening(world)
    yield* numbers.makeRoom(one, true)
    assert.deepStrictEqual(world.loggedOut, [one])
    assert.strictEqual(world.open.size, 0)
    assert.isUndefined(numbers.find(one))
  }),
)

it.effect("what a number that is linked anew says is told once it may be", () =>
  Effect.gen(function* () {
    const world = aLiveWorld()
    const { numbers } = yield* listening(world)
    world.keep(one, { status: "connecting" })
    const connection = yield* numbers.connectQuietly(one)
    assert.isTrue(connection !== null && typeof connection !== "string")
    assert.deepStrictEqual(world.told, [])
    assert.deepStrictEqual(yield* numbers.reports, [])
  }),
)

it.effect("a login is no session: it is not connected, and ended before it is wiped", () =>
  Effect.gen(function* () {
    const world = aLiveWorld()
    world.keep(one)
    world.credentials.set(one, "login")
    const ended: Array<string> = []
    let isEnded = false
    const { numbers } = yield* listening(world, {
      remembersWiped: false,
      logins: {
        isLogin: (text) => text.startsWith("login"),
        end: (numberId) =>
          Effect.sync(() => ended.push(`left: ${numberId}`)).pipe(Effect.as(isEnded)),
        settle: (numberId, text) =>
          text === "login of old"
            ? Effect.sync(() => void ended.push(`settled: ${numberId}`))
            : null,
      },
    })
    assert.lengthOf(world.begunOf(one), 0)
    assert.isNull(yield* numbers.open(one))
    world.credentials.set(one, "session")
    yield* TestClock.adjust("4 seconds")
    assert.lengthOf(world.begunOf(one), 1)
    // Once it was given up, what is logged in anew is found by itself.
    yield* world.end(one, { _tag: "Stop", reason: "logged_out", wipe: true })
    yield* TestClock.adjust("4 seconds")
    assert.isNull(numbers.status(one))
    world.keep(one)
    yield* TestClock.adjust("4 seconds")
    assert.lengthOf(world.begunOf(one), 2)
    assert.deepStrictEqual(ended, [])
    const [leaving, old] = [idOf(2), idOf(3)]
    world.credentials.set(leaving, "login").set(old, "login of old")
    world.keep(leaving, { removed: true })
    world.keep(old)
    yield* TestClock.adjust("4 seconds")
    assert.includeMembers(ended, ["left: 2", "settled: 3"])
    assert.isTrue(world.credentials.has(leaving))
    isEnded = true
    yield* TestClock.adjust("4 seconds")
    assert.isFalse(world.credentials.has(leaving))
    assert.deepStrictEqual(world.loggedOut, [])
    assert.deepStrictEqual([...world.open], [one])
  }),
)

it.effect("a session that cannot be read keeps no other one from being connected", () =>
  Effect.gen(function* () {
    const world = aLiveWorld()
    for (const place of [1, 2]) world.keep(idOf(place))
    world.credentials.set(one, "unreadable")
    yield* listening(world, {
      logins: {
        isLogin: () => false,
        end: () => Effect.succeed(true),
        settle: () => null,
      },
    })
    assert.deepStrictEqual([...world.open], [idOf(2)])
  }),
)

it.effect("a number is kept away by its pause, and connected once it is resumed", () =>
  Effect.gen(function* () {
    const world = aLiveWorld()
    world.keep(one, { pauseReason: "banned" })
    yield* listening(world)
    yield* TestClock.adjust("1 hour")
    assert.lengthOf(world.begunOf(one), 0)
    world.keep(one, { pauseReason: null })
    yield* TestClock.adjust("4 seconds")
    assert.strictEqual(world.open.size, 1)
    world.keep(one, { pauseReason: "client_outdated" })
    yield* world.end(one, { _tag: "Stop", reason: "client_outdated", wipe: false })
    yield* TestClock.adjust("1 hour")
    assert.lengthOf(world.begunOf(one), 1)
    world.keep(one, { pauseReason: null })
    yield* TestClock.adjust("4 seconds")
    assert.lengthOf(world.begunOf(one), 2)
  }),
)

it.effect("numbers are looked at although the clock was set back", () =>
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
      assert.lengthOf(world.begunOf(one), 1)
    }).pipe(
      Effect.provideService(Clock.Clock, {
        ...steady,
        currentTimeMillisUnsafe: now,
        currentTimeMillis: Effect.sync(now),
      }),
    )
  }),
)

it.effect("another proxy opens the connection anew, the same one sealed again does not", () =>
  Effect.gen(function* () {
    const world = aLiveWorld()
    world.proxies.set(one, "http://127.0.0.1:1")
    world.keep(one, { proxy: "sealed" })
    yield* listening(world)
    world.keep(one, { proxy: "sealed again" })
    yield* TestClock.adjust("1 minute")
    assert.lengthOf(world.begunOf(one), 1)
    world.proxies.set(one, "http://127.0.0.1:2")
    world.keep(one, { proxy: "another" })
    yield* TestClock.adjust("4 seconds")
    assert.lengthOf(world.begunOf(one), 2)
  }),
)

it.effect.each(["whatsapp", "telegram"] as const)(
  "a store that is away for an hour costs no connection, and a line a minute: %s",
  (platform) => {
    const lines: Array<string> = []
    return Effect.gen(function* () {
      const world = aLiveWorld()
      world.keep(one, { platform })
      yield* listening(world, { platform })
      // One that is of the other platform is not this transport's.
      world.keep(idOf(2), { platform: platform === "telegram" ? "whatsapp" : "telegram" })
      world.away.store = true
      lines.length = 0
      yield* TestClock.adjust("1 hour")
      const looks = lines.filter((line) => line.startsWith(`numbers of ${platform} are read later`))
      assert.isAtMost(looks.length, 61)
      assert.isAtLeast(looks.length, 55)
      assert.match(looks[1] ?? "", /held back/)
      assert.deepStrictEqual([...world.open], [one])
      world.away.store = false
      yield* TestClock.adjust("4 seconds")
      assert.lengthOf(world.begunOf(one), 1)
      assert.deepStrictEqual([...world.open], [one])
    }).pipe(
      Effect.provide(
        Logger.layer([Logger.make(({ message }) => void lines.push([message].flat().join(" ")))]),
      ),
    )
  },
)
