import { assert, describe, it } from "@effect/vitest"
import { Emulator, MovableClock } from "@messaging-service/emulator"
import { Clock, Duration, Effect } from "effect"
import type { Scope } from "effect"
import { TestClock } from "effect/testing"
import { Messages, RealTime } from "../../src/index.ts"
import type { CallbackUrl } from "../../src/index.ts"
import { receiving } from "./Receiving.ts"
import {
  behave,
  claimAndDie,
  code,
  copies,
  events,
  get,
  logOut,
  reconnect,
  send,
  sendBatch,
  status,
  statuses,
} from "./Operations.ts"
import {
  ahead,
  aKey,
  aNumber,
  aSender,
  day,
  hour,
  inAService,
  minute,
  noon,
  second,
  startWorker,
} from "./Service.ts"
import type { TestService, ServiceParts } from "./Service.ts"

/**
 * A world with a service time that only the emulator moves. While a fiber waits, real seconds pass at
 * once, and hours do not pass at all.
 */
const withMovableClock = <A, E>(
  test: Effect.Effect<A, E, TestService | Scope.Scope>,
  parts: ServiceParts = {},
) =>
  inAService(test, parts).pipe(
    Effect.provideService(MovableClock, {
      moveTo: (instant) => TestClock.setTime(instant),
      nextWake: Effect.succeed(null),
      nextDeferrable: Effect.succeed(null),
    }),
    Effect.provideService(RealTime, {
      sleep: (duration) =>
        Duration.toMillis(duration) < minute
          ? Effect.repeat(Effect.yieldNow, { times: 20 })
          : Effect.never,
      stopwatch: Effect.succeed(() => 0),
      clockJumped: Effect.never,
      systemMillis: Clock.currentTimeMillis,
    }),
  )

const advance = (seconds: number) => Emulator.use((emulator) => emulator.advance({ seconds }))

describe("POST /clock/advance", () => {
  it.effect("moves from due moment to due moment, and finishes each first", () =>
    withMovableClock(
      Effect.gen(function* () {
        const { key, number, workspace } = yield* aSender()
        const test = yield* aKey(workspace, { mode: "test" })
        const offsets = [hour, minute, 3 * day, day + 1, minute]
        const messages = yield* Effect.forEach(offsets, (offset) =>
          Effect.flatMap(ahead(offset), (sendAt) => send(key, { sendAt })),
        )
        const tried = yield* send(test, { sendAt: yield* ahead(2 * hour) })
        const lost = yield* aNumber(workspace, { status: "disconnected" })
        const expiring = yield* send(key, { from: lost, expiresAt: yield* ahead(2 * day) })
        assert.strictEqual(yield* advance((4 * day) / second), noon + 4 * day)
        assert.strictEqual(yield* Clock.currentTimeMillis, noon + 4 * day)
        assert.deepStrictEqual(
          (yield* copies(number)).map(({ at }) => at - noon),
          offsets.toSorted((a, b) => a - b),
        )
        assert.deepStrictEqual(new Set(yield* statuses(key, messages)), new Set(["sent"]))
        assert.strictEqual((yield* get(test, tried)).sent_at, "2026-03-02T14:00:00Z")
        assert.strictEqual(yield* status(key, expiring), "expired")
        assert.deepStrictEqual(yield* events(expiring), ["message.expired"])
      }),
    ),
  )

  it.effect("moves no further than asked", () =>
    withMovableClock(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const message = yield* send(key, { sendAt: yield* ahead(minute) })
        yield* advance(59.999)
        assert.strictEqual(yield* status(key, message), "scheduled")
        assert.strictEqual(yield* Clock.currentTimeMillis, noon + 59_999)
        yield* advance(0.001)
        assert.strictEqual(yield* status(key, message), "sent")
      }),
    ),
  )

  it.effect("waits out latencies and hanging phones on the way", () =>
    withMovableClock(
      Effect.gen(function* () {
        const { number: slow, workspace } = yield* aSender()
        const hanging = yield* aNumber(workspace)
        const key = yield* aKey(workspace)
        yield* behave(slow, { latencyMillis: 10 * second })
        yield* behave(hanging, { send: "hang" })
        const delayed = yield* sendBatch(key, 3, { from: slow })
        const stuck = yield* send(key, { from: hanging })
        yield* advance(hour / second)
        assert.deepStrictEqual(
          (yield* copies(slow)).map(({ at }) => at - noon),
          [10, 20, 30].map((seconds) => seconds * second),
        )
        assert.deepStrictEqual(yield* statuses(key, delayed), ["sent", "sent", "sent"])
        assert.strictEqual((yield* get(key, stuck)).error?.code, "outcome_unknown")
      }),
    ),
  )

  it.effect("stops while a callback is in flight, and steps through its retries", () => {
    // Answers come in real time, after the clock could have moved on.
    const { egress, posts } = receiving(() =>
      Effect.as(Effect.repeat(Effect.yieldNow, { times: 500 }), { status: 500, headers: {} }),
    )
    return withMovableClock(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const sent = yield* Messages.use((messages) =>
          messages.send(key, { to: { phone: "+15550000001" }, text: "Hello" }, null, {
            callbackUrl: "https://example.com/" as CallbackUrl,
            attachment: null,
            keepRefused: false,
          }),
        )
        assert.lengthOf(sent.messages, 1)
        yield* advance(hour / second)
        assert.lengthOf(posts, 4)
        const gaps = posts.slice(1).map(({ at }, index) => at - (posts[index]?.at ?? 0))
        for (const [index, delay] of [10 * second, minute, 4 * minute].entries()) {
          assert.isAtLeast(gaps[index] ?? 0, delay)
          assert.isAtMost(gaps[index] ?? 0, delay * 1.05)
        }
      }),
      { egress },
    )
  })

  it.effect("does not wait for a logged-out number, which no time brings back", () =>
    withMovableClock(
      Effect.gen(function* () {
        const { key, number } = yield* aSender()
        yield* logOut(number)
        const message = yield* send(key, { from: number })
        yield* advance(day / second)
        assert.strictEqual(yield* status(key, message), "queued")
      }),
    ),
  )

  it.effect("takes a positive number of seconds", () =>
    withMovableClock(
      Effect.gen(function* () {
        const { advance: request } = yield* Emulator
        for (const body of [{}, { seconds: 0 }, { seconds: -1 }, { seconds: "60" }, { hours: 1 }]) {
          assert.strictEqual(yield* code(request(body)), "validation_failed")
        }
        assert.strictEqual(yield* Clock.currentTimeMillis, noon)
      }),
    ),
  )

  it.effect("needs an adjustable clock, else clock_not_adjustable", () =>
    inAService(
      Effect.gen(function* () {
        assert.strictEqual(yield* code(advance(60)), "clock_not_adjustable")
        assert.strictEqual(yield* Clock.currentTimeMillis, noon)
      }),
    ),
  )
})

describe("POST /settle", () => {
  it.effect("answers once nothing is due or in flight", () =>
    withMovableClock(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const messages = yield* sendBatch(key, 200)
        const later = yield* send(key, { sendAt: yield* ahead(hour) })
        yield* Effect.flatMap(Emulator, (emulator) => emulator.settle)
        assert.deepStrictEqual(new Set(yield* statuses(key, messages)), new Set(["sent"]))
        assert.strictEqual(yield* status(key, later), "scheduled")
        assert.strictEqual(yield* Clock.currentTimeMillis, noon)
      }),
    ),
  )

  it.effect("a message that a dead worker left on a logged-out number does not stop time", () =>
    withMovableClock(
      Effect.gen(function* () {
        const { key, number } = yield* aSender()
        const message = yield* send(key)
        assert.lengthOf(yield* claimAndDie(1, minute), 1)
        yield* logOut(number)
        yield* TestClock.setTime(noon + minute)
        yield* startWorker
        yield* Effect.flatMap(Emulator, (emulator) => emulator.settle)
        assert.strictEqual(yield* status(key, message), "queued")
        yield* reconnect(number)
        yield* Effect.flatMap(Emulator, (emulator) => emulator.settle)
        assert.strictEqual(yield* status(key, message), "sent")
      }),
      { worker: false },
    ),
  )
})
