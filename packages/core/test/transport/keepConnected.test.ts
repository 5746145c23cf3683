/** How one number stays connected: pauses, ends, and the rate of many starts. */
import { assert, it } from "@effect/vitest"
import { Deferred, Effect, Queue } from "effect"
import { TestClock } from "effect/testing"
import { heard } from "../Heard.ts"
import { makeReconnectPauses } from "../../src/store/Transport.ts"
import { aLiveWorld, again, toId, minute, one, second, settings } from "./aLiveWorld.ts"

/** Between one moment and the next. */
const gaps = (instants: ReadonlyArray<number>) =>
  instants.slice(1).map((instant, index) => instant - (instants[index] ?? 0))

/** A connected number and its transport. */
const connected = Effect.gen(function* () {
  const world = aLiveWorld()
  world.keep(one)
  const numbers = yield* world.numbers()
  yield* Effect.forkScoped(numbers.listen(world.takeAll))
  yield* TestClock.adjust("1 second")
  assert.strictEqual(numbers.status(one)?.state, "connected")
  return { world, numbers }
})

it.effect(
  "pauses double, at most to 15 s without an answer, and are drawn from their upper half",
  () =>
    Effect.sync(() => {
      const drawPauses = (isRefused: boolean, drawn: number) => {
        const { next } = makeReconnectPauses({ first: 1000, longest: 300_000 })
        return Array.from({ length: 12 }, () => next(isRefused, drawn) / second)
      }
      const silent = [1, 2, 4, 8, ...Array.from({ length: 8 }, () => 15)]
      const refused = [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300]
      for (const [isRefused, whole] of [
        [false, silent],
        [true, refused],
      ] as const) {
        assert.deepStrictEqual(
          drawPauses(isRefused, 0),
          whole.map((pause) => pause / 2),
        )
        assert.deepStrictEqual(drawPauses(isRefused, 1), whole)
      }
    }),
)

/** A number that its remote server has not let connect for half an hour. */
const suspended = (isRefused: boolean) =>
  Effect.gen(function* () {
    const { numbers, world } = yield* connected
    world.away.remote = isRefused ? "refuses" : true
    yield* world.end(one, { _tag: "Again", isRefused })
    yield* TestClock.adjust("30 minutes")
    return { numbers, world, pauses: gaps(world.startedFor(one).slice(1)) }
  })

/** Whether each pause is within the upper half of these. */
const assertPauses = (pauses: ReadonlyArray<number>, whole: ReadonlyArray<number>) => {
  for (const [failure, longest] of whole.entries()) {
    assert.isAtLeast(pauses[failure] ?? 0, (longest * second) / 2)
    assert.isAtMost(pauses[failure] ?? 0, longest * second)
  }
}

it.effect("asks a remote server that does not answer every 15 s, and reports it after a time", () =>
  Effect.gen(function* () {
    const { numbers, pauses, world } = yield* suspended(false)
    assertPauses(pauses, [2, 4, 8, ...pauses.slice(3).map(() => 15)])
    const { reason, reconnects, state } = numbers.status(one) ?? {}
    assert.deepStrictEqual([state, reason], ["waiting", "connection_lost"])
    assert.strictEqual(reconnects, world.startedFor(one).length)
    assert.deepStrictEqual(world.reported[1], {
      _tag: "ConnectionChanged",
      numberId: one,
      status: "disconnected",
      phone: null,
      reason: "connection_lost",
    })
    world.away.remote = false
    yield* TestClock.adjust("15 seconds")
    assert.strictEqual(numbers.status(one)?.state, "connected")
  }),
)

it.effect("asks a remote server that refuses less and less often", () =>
  Effect.gen(function* () {
    const { pauses } = yield* suspended(true)
    assertPauses(pauses, [2, 4, 8, 16, 32, 64, 128, 256, 300, 300])
  }),
)

it.effect("a refusal after a silence is asked again as soon as the first one", () =>
  Effect.gen(function* () {
    const { world } = yield* suspended(false)
    world.away.remote = "refuses"
    yield* TestClock.adjust("15 seconds")
    world.away.remote = false
    // The fourth pause at most: counted on from the silence, it would be minutes.
    yield* TestClock.adjust("16 seconds")
    assert.isTrue(world.open.has(one))
  }),
)

it.effect("logs when a number connects, is lost, and waits at the remote server's request", () => {
  const lines: Array<string> = []
  return heard(
    lines,
    Effect.gen(function* () {
      const { world } = yield* connected
      world.away.remote = true
      yield* world.end(one, again)
      yield* TestClock.adjust("1 minute")
      world.away.remote = false
      yield* TestClock.adjust("5 minutes")
      yield* world.end(one, { _tag: "Pause", reason: "restricted", millis: minute })
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(
        lines.map((line) => line.replace(" number=1", "")),
        [
          "Info number connected",
          "Info number lost its connection",
          "Info number connected",
          "Info number lost its connection",
          "Warn number waits to connect reason=restricted millis=60000",
        ],
      )
    }),
  )
})

it.effect("a connection that lasted a minute resets the pauses", () =>
  Effect.gen(function* () {
    const { world } = yield* connected
    for (let ended = 0; ended < 6; ended++) {
      yield* world.end(one, again)
      yield* TestClock.adjust("50 seconds")
    }
    assert.isAbove(gaps(world.startedFor(one))[5] ?? 0, 15 * second)
    yield* TestClock.adjust("70 seconds")
    const before = world.startedFor(one).length
    yield* world.end(one, again)
    yield* TestClock.adjust("1 second")
    assert.lengthOf(world.startedFor(one), before + 1)
  }),
)

it.effect("a requested restart comes at once, and a second one in a row waits", () =>
  Effect.gen(function* () {
    const { world } = yield* connected
    yield* world.end(one, { _tag: "Restart" })
    yield* TestClock.adjust("200 millis")
    assert.lengthOf(world.startedFor(one), 2)
    yield* world.end(one, { _tag: "Restart" })
    yield* TestClock.adjust("900 millis")
    assert.lengthOf(world.startedFor(one), 2)
    yield* TestClock.adjust("2 seconds")
    assert.lengthOf(world.startedFor(one), 3)
  }),
)

it.effect("reports a library that reconnects by itself once it was away for long", () =>
  Effect.gen(function* () {
    const world = aLiveWorld()
    world.keep(one)
    const reports = yield* Queue.unbounded<"opened" | "lost">()
    const numbers = yield* world.numbers({
      connect: ({ numberId }, connecting) =>
        Effect.forever(
          Effect.gen(function* () {
            const over = yield* Deferred.make<void>()
            const connection = { numberId, over, lastWordAt: () => null }
            if ((yield* Queue.take(reports)) === "lost") yield* connecting.lost
            else yield* connecting.opened(connection, "4915112345678")
          }),
        ),
    })
    yield* Effect.forkScoped(numbers.listen(world.takeAll))
    const reportedStatuses = () =>
      world.reported.flatMap((event) => (event._tag === "ConnectionChanged" ? event.status : []))
    yield* Queue.offer(reports, "opened")
    const first = yield* numbers.open(one)
    for (const event of ["lost", "opened", "lost", "lost"] as const) {
      yield* Queue.offer(reports, event)
      yield* TestClock.adjust("9 minutes")
    }
    assert.isTrue(first !== null && typeof first !== "string" && Deferred.isDoneUnsafe(first.over))
    // The first time it returned within ten minutes.
    assert.deepStrictEqual(reportedStatuses(), ["connected", "connected", "disconnected"])
    const { reason, reconnects, state } = numbers.status(one) ?? {}
    assert.deepStrictEqual([state, reason, reconnects], ["waiting", "connection_lost", 2])
    yield* Queue.offer(reports, "opened")
    assert.notStrictEqual(yield* numbers.open(one), first)
    yield* TestClock.adjust("1 hour")
    assert.strictEqual(reportedStatuses().at(-1), "connected")
  }),
)

it.effect("keeps and reports the remote server's own pause in full", () =>
  Effect.gen(function* () {
    const { numbers, world } = yield* connected
    yield* world.end(one, { _tag: "Pause", reason: "banned", millis: 90 * minute })
    yield* TestClock.adjust("89 minutes")
    assert.lengthOf(world.startedFor(one), 1)
    assert.strictEqual(numbers.status(one)?.reason, "banned")
    assert.strictEqual(yield* numbers.open(one), "banned")
    assert.deepInclude(world.reported.at(-1), { status: "disconnected", reason: "banned" })
    yield* TestClock.adjust("1 minute")
    assert.lengthOf(world.startedFor(one), 2)
  }),
)

it.effect("does not reconnect a given-up number until an operator retries it", () =>
  Effect.gen(function* () {
    const { numbers, world } = yield* connected
    yield* world.end(one, { _tag: "Stop", reason: "replaced", wipe: false })
    yield* TestClock.adjust("1 hour")
    assert.lengthOf(world.startedFor(one), 1)
    assert.deepInclude(world.reported.at(-1), { status: "disconnected", reason: "replaced" })
    assert.strictEqual(numbers.status(one)?.state, "disconnected")
    assert.strictEqual(yield* numbers.open(one), "replaced")
    assert.isTrue(world.credentials.has(one))
    world.keep(one, { reason: "connection_lost" })
    yield* TestClock.adjust("4 seconds")
    assert.lengthOf(world.startedFor(one), 2)
  }),
)

it.effect("does not connect a number while its ownership is in doubt", () =>
  Effect.gen(function* () {
    const world = aLiveWorld()
    for (const index of [1, 2]) world.keep(toId(index))
    const numbers = yield* world.numbers({ settings: { ...settings, startsAtOnce: 1 } })
    yield* Effect.forkScoped(numbers.listen(world.takeAll))
    yield* TestClock.adjust("100 millis")
    assert.deepStrictEqual([...world.open], [toId(1)])
    // As after the worker was frozen: another may have taken it unnoticed.
    world.away.owner = true
    yield* TestClock.adjust("140 millis")
    assert.deepStrictEqual(world.startedFor(toId(2)), [])
    world.away.owner = false
    yield* TestClock.adjust("1 second")
    assert.deepStrictEqual([...world.open], [1, 2].map(toId))
    assert.lengthOf(world.startedFor(toId(2)), 1)
  }),
)

it.effect("a worker in doubt about its number reports an end once the doubt is over", () =>
  Effect.gen(function* () {
    const { numbers, world } = yield* connected
    world.away.owner = true
    yield* world.end(one, { _tag: "Stop", reason: "replaced", wipe: false })
    yield* TestClock.adjust("100 millis")
    assert.lengthOf(world.reported, 1)
    world.away.owner = false
    yield* TestClock.adjust("1 second")
    assert.strictEqual(numbers.status(one)?.state, "disconnected")
    assert.deepInclude(world.reported[1], { status: "disconnected", reason: "replaced" })
  }),
)

it.effect("wipes a worthless session once it is reported, however often that fails", () =>
  Effect.gen(function* () {
    const { numbers, world } = yield* connected
    world.away.store = true
    yield* world.end(one, { _tag: "Stop", reason: "logged_out", wipe: true })
    yield* TestClock.adjust("10 seconds")
    assert.deepInclude(world.reported.at(-1), { reason: "logged_out" })
    assert.isTrue(world.credentials.has(one))
    world.away.store = false
    yield* TestClock.adjust("1 second")
    assert.isFalse(world.credentials.has(one))
    assert.lengthOf(world.startedFor(one), 1)
    assert.strictEqual(numbers.status(one)?.reason, "logged_out")
  }),
)

it.effect("500 numbers take more than a second to connect, however fast each of them is", () =>
  Effect.gen(function* () {
    const world = aLiveWorld()
    for (let index = 1; index <= 500; index++) world.keep(toId(index))
    const numbers = yield* world.numbers()
    yield* Effect.forkScoped(numbers.listen(world.takeAll))
    yield* TestClock.adjust("1 second")
    assert.isAtMost(world.open.size, 60)
    assert.isAtLeast(world.open.size, 30)
    yield* TestClock.adjust("20 seconds")
    assert.strictEqual(world.open.size, 500)
  }),
)

it.effect("a permit whose connection fails is free for the next one", () =>
  Effect.gen(function* () {
    const world = aLiveWorld()
    for (const index of [1, 2]) world.keep(toId(index))
    const numbers = yield* world.numbers({
      settings: { ...settings, startsAtOnce: 1 },
    })
    world.away.remote = true
    yield* Effect.forkScoped(numbers.listen(world.takeAll))
    yield* TestClock.adjust("1 second")
    assert.deepStrictEqual(
      [1, 2].map((index) => world.startedFor(toId(index)).length > 0),
      [true, true],
    )
  }),
)

it.effect("trims keys when a number connects, once an hour, and after many were written", () =>
  Effect.gen(function* () {
    const { numbers, world } = yield* connected
    assert.deepStrictEqual(world.trimmed, ["1: 100 of session"])
    yield* TestClock.adjust("59 minutes")
    assert.lengthOf(world.trimmed, 1)
    yield* TestClock.adjust("2 minutes")
    assert.lengthOf(world.trimmed, 2)
    const write = (keys: number) =>
      Effect.andThen(
        Effect.sync(() => world.wrote(keys)),
        TestClock.adjust("4 seconds"),
      )
    yield* write(9999)
    assert.lengthOf(world.trimmed, 2)
    yield* write(1)
    assert.lengthOf(world.trimmed, 3)
    yield* write(9999)
    assert.lengthOf(world.trimmed, 3)
    assert.strictEqual(numbers.status(one)?.state, "connected")
  }),
)
