/**
 * The end of sessions: which ones are logged out, how long that is tried, and logins, which are not sessions.
 */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { aLiveWorld, again, day, toId, listening, minute, one, second } from "./aLiveWorld.ts"

it.effect("keeps a log-out while the remote server is away, and does it once it is back", () =>
  Effect.gen(function* () {
    const world = aLiveWorld()
    world.keep(one)
    // It takes longer than until the next check.
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
    world.away.remote = true
    yield* world.end(one, again)
    world.keep(one, { removed: true })
    yield* TestClock.adjust("1 hour")
    assert.isTrue(world.credentials.has(one))
    // The time of leaving is stored, also for another process.
    assert.isAtMost(world.stored.get(one)?.leavingSince ?? Infinity, 5 * second)
    assert.deepStrictEqual(world.loggedOut, [])
    // Nothing is sent over it, and nothing is reported of it.
    assert.isNull(yield* numbers.open(one))
    assert.deepStrictEqual(yield* numbers.reports, [])
    assert.lengthOf(world.reported, 1)
    world.away.remote = false
    yield* TestClock.adjust("10 minutes")
    assert.deepStrictEqual(world.loggedOut, [one])
    assert.isFalse(world.credentials.has(one))
    assert.strictEqual(world.open.size, 0)
  }),
)

it.effect("forgets a session that could not be logged out for 30 days", () =>
  Effect.gen(function* () {
    const world = aLiveWorld()
    // In five minutes it will be 30 days.
    world.keep(one, { removed: true, leavingSince: 5 * minute - 30 * day })
    world.away.remote = true
    yield* listening(world)
    yield* TestClock.adjust("4 minutes")
    assert.isTrue(world.credentials.has(one))
    yield* TestClock.adjust("2 minutes")
    assert.isFalse(world.credentials.has(one))
    assert.deepStrictEqual(world.loggedOut, [])
  }),
)

it.effect("reconnects a given-up number that then leaves once more, to log out", () =>
  Effect.gen(function* () {
    const world = aLiveWorld()
    const [heard, refused] = [toId(1), toId(2)]
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
    assert.lengthOf(world.startedFor(refused), 2)
    assert.isTrue(world.credentials.has(refused))
  }),
)

it.effect("does not log out a session that the remote server ended", () =>
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

it.effect("a session is replaced only once it is logged out", () =>
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

it.effect("a login is not a session: it is not connected, and ended before it is wiped", () =>
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
    assert.lengthOf(world.startedFor(one), 0)
    assert.isNull(yield* numbers.open(one))
    world.credentials.set(one, "session")
    yield* TestClock.adjust("4 seconds")
    assert.lengthOf(world.startedFor(one), 1)
    // Once it was given up, a new login is found by itself.
    yield* world.end(one, { _tag: "Stop", reason: "logged_out", wipe: true })
    yield* TestClock.adjust("4 seconds")
    assert.isNull(numbers.status(one))
    world.keep(one)
    yield* TestClock.adjust("4 seconds")
    assert.lengthOf(world.startedFor(one), 2)
    assert.deepStrictEqual(ended, [])
    const [leaving, old] = [toId(2), toId(3)]
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
