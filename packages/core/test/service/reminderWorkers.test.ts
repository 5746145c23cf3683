/** Several workers at one due time, and workers that die: each due time makes one message. */
import { assert, describe, it } from "@effect/vitest"
import { Clock, Deferred, Effect } from "effect"
import { TestClock } from "effect/testing"
import { makeReminderRunner } from "../../src/worker/ReminderRunner.ts"
import { log, patch, remind, scheduled, sent, times } from "./Reminding.ts"
import { storeWithin } from "./Watched.ts"
import { arrived, remaining } from "./Operations.ts"
import type { Acceptance } from "../../src/index.ts"
import {
  aNumber,
  aSender,
  day,
  hour,
  inAService,
  minute,
  pass,
  settled,
  startWorker,
  stopWorker,
} from "./Service.ts"

describe("exactly one message for each due time", () => {
  it.effect("while another transaction locks its number, and meanwhile for other numbers", () => {
    let held: string | null = "Held"
    const tried: Array<string> = []
    const store = storeWithin((operation, effect, args) => {
      if (operation !== "reminders.run") return effect
      const [{ messages }] = args as [Acceptance]
      const text = messages[0]?.text ?? ""
      tried.push(text)
      return text === held ? Effect.succeed({ _tag: "HeldUp" } as never) : effect
    })
    return inAService(
      Effect.gen(function* () {
        const { key, number, workspace } = yield* aSender()
        const own = yield* aNumber(workspace)
        const daily = { schedule: { cron: "0 13 * * *", timezone: "UTC" } }
        for (const text of ["Held", "Held", "Held"]) {
          yield* remind(key, { ...daily, text, from: number })
        }
        yield* remind(key, { ...daily, text: "Free", from: own })
        yield* TestClock.adjust(hour)
        const { runOnce } = yield* makeReminderRunner
        assert.strictEqual(yield* runOnce, 1)
        assert.include(tried, "Free")
        // Once each for their number, then all together.
        tried.length = 0
        assert.strictEqual(yield* runOnce, 0)
        assert.deepStrictEqual(tried, ["Held"])
        held = null
        assert.strictEqual(yield* runOnce, 3)
        assert.strictEqual(yield* runOnce, 0)
        assert.lengthOf(yield* sent(key), 4)
      }),
      { store, worker: false },
    )
  })

  it.effect("with two workers, for hours of runs every minute", () =>
    inAService(
      Effect.gen(function* () {
        const { key, workspace } = yield* aSender()
        yield* startWorker
        const reminder = yield* scheduled(key, "* * * * *")
        yield* pass(3 * hour)
        const all = yield* times(key)
        assert.lengthOf(all, 180)
        assert.strictEqual(new Set(all).size, 180)
        assert.lengthOf(yield* arrived(), 180)
        assert.lengthOf(yield* log(workspace, reminder), 100)
      }),
    ),
  )

  it.effect("when both have loaded the same due time before either commits", () => {
    let waiting = 0
    const both = Deferred.makeUnsafe<void>()
    const store = storeWithin((operation, effect) =>
      operation !== "reminders.run"
        ? effect
        : Effect.gen(function* () {
            if (++waiting === 2) yield* Deferred.succeed(both, undefined)
            yield* Deferred.await(both)
            return yield* effect
          }),
    )
    return inAService(
      Effect.gen(function* () {
        const { key, workspace } = yield* aSender(10)
        const reminder = yield* scheduled(key, "0 13 * * *")
        yield* TestClock.adjust(hour)
        const { runOnce } = yield* makeReminderRunner
        yield* Effect.all([runOnce, runOnce], { concurrency: 2 })
        assert.lengthOf(yield* sent(key), 1)
        assert.strictEqual(yield* remaining(workspace), 9)
        assert.lengthOf(yield* log(workspace, reminder), 1)
        assert.strictEqual(yield* runOnce, 0)
      }),
      { store, worker: false },
    )
  })

  it.effect("when a worker dies between load and commit, and another takes over", () => {
    let dying = true
    const reached = Deferred.makeUnsafe<void>()
    const store = storeWithin((operation, effect) =>
      operation !== "reminders.run" || !dying
        ? effect
        : Effect.andThen(Deferred.succeed(reached, undefined), Effect.never),
    )
    return inAService(
      Effect.gen(function* () {
        const { key, workspace } = yield* aSender()
        const reminder = yield* scheduled(key, "0 13 * * *")
        const worker = yield* startWorker
        yield* TestClock.adjust(hour)
        yield* Deferred.await(reached)
        yield* stopWorker(worker)
        assert.deepStrictEqual(yield* sent(key), [])
        dying = false
        yield* TestClock.adjust(10 * minute)
        yield* startWorker
        assert.lengthOf(yield* sent(key), 1)
        assert.deepStrictEqual(yield* log(workspace, reminder), [
          ["2026-03-02T13:00:00Z", "accepted", null],
        ])
      }),
      { store, worker: false },
    )
  })

  it.effect("when a worker dies after the commit, before its answer arrived", () => {
    let dying = true
    const reached = Deferred.makeUnsafe<void>()
    const store = storeWithin((operation, effect) =>
      operation !== "reminders.run" || !dying
        ? effect
        : Effect.andThen(
            effect,
            Effect.andThen(Deferred.succeed(reached, undefined), Effect.never),
          ),
    )
    return inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        yield* scheduled(key, "0 13 * * *")
        const worker = yield* startWorker
        yield* TestClock.adjust(hour)
        yield* Deferred.await(reached)
        yield* stopWorker(worker)
        dying = false
        yield* startWorker
        yield* settled
        assert.lengthOf(yield* sent(key), 1)
        assert.lengthOf(yield* arrived(), 1)
      }),
      { store, worker: false },
    )
  })

  it.effect("when the reminder changes between load and commit, with a new decision", () => {
    let change: Effect.Effect<unknown, unknown> = Effect.void
    const store = storeWithin((operation, effect) =>
      operation !== "reminders.run"
        ? effect
        : Effect.gen(function* () {
            const now = change
            change = Effect.void
            yield* Effect.orDie(now)
            return yield* effect
          }),
    )
    return inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const reminder = yield* remind(key, { schedule: { cron: "0 13 * * *" } })
        const context = yield* Effect.context<never>()
        change = Effect.provideContext(patch(key, reminder, { text: "New" }), context as never)
        yield* pass(hour)
        assert.deepStrictEqual(
          (yield* sent(key)).map(({ text }) => text),
          ["New"],
        )
      }),
      { store },
    )
  })
})

it.effect("an idle worker does not query for a reminder due on a later day", () => {
  const requests: Array<string> = []
  const store = storeWithin((operation, effect) =>
    Effect.suspend(() => {
      requests.push(operation)
      return effect
    }),
  )
  return inAService(
    Effect.gen(function* () {
      const { key } = yield* aSender()
      yield* scheduled(key, "0 0 1 6 *")
      yield* settled
      requests.length = 0
      const before = yield* Clock.currentTimeMillis
      yield* TestClock.adjust(day)
      assert.strictEqual((yield* Clock.currentTimeMillis) - before, day)
      assert.notInclude(requests, "reminders.due")
      assert.notInclude(requests, "queue.nextDue")
    }),
    { store },
  )
})
