/** Pauses of a lane, an operator's and the service's own, and the consecutive failures behind them. */
import { assert } from "@effect/vitest"
import { noFailures, Store } from "@messaging-service/core"
import type { Pause, SendingNumber } from "@messaging-service/core"
import { Effect } from "effect"
import { at } from "../Expect.ts"
import { accepted, aMessage, anEra, aStage, day, hour, minute, noon } from "../Records.ts"
import {
  again,
  cancelled,
  claim,
  claimOne,
  connectionFacts,
  end,
  endedAs,
  sendFailed,
  sendNext,
  sent,
  settle,
} from "../Sending.ts"
import type { Topic } from "../Topic.ts"

const pause = (number: SendingNumber, input: Pause, now = noon) =>
  Store.use(({ queue }) => queue.pause(number.id, input, now))

const resume = (number: SendingNumber, now = noon) =>
  Store.use(({ queue }) => queue.resume(number.id, now))

const nextDue = Store.use(({ queue: work }) => work.nextDue("lanes"))

const byOperator = (until: number | null): Pause => ({ until, reason: "paused" })

export const pauses: Topic = (it) => {
  it.effect("a paused number sends nothing until the pause is over, whatever arrives", () =>
    Effect.gen(function* () {
      const era = anEra()
      const { number } = yield* aStage({ createdAt: era })
      const first = yield* aMessage(number, { now: era })
      assert.isTrue(yield* pause(number, byOperator(era + hour), era))
      yield* aMessage(number, { now: era + 1 })
      assert.deepStrictEqual(yield* claim([number], { now: era + hour - 1 }), [])
      assert.strictEqual(yield* nextDue, era + hour)
      assert.strictEqual((yield* sendNext(number, era + hour)).id, first.id)
      yield* sendNext(number, era + hour)
    }),
  )

  it.effect("a pause without an end lasts until it is resumed", () =>
    Effect.gen(function* () {
      const work = (yield* Store).queue
      const era = anEra()
      const { number } = yield* aStage({ createdAt: era })
      const quiet = yield* nextDue
      const first = yield* aMessage(number, { now: era })
      yield* pause(number, byOperator(null), era)
      const second = yield* aMessage(number, { now: era + 1 })
      yield* end(cancelled(first, era + 2))
      assert.deepStrictEqual(yield* claim([number], { now: noon + 1000 * day }), [])
      assert.strictEqual(yield* nextDue, quiet)
      assert.notStrictEqual((yield* work.workload(era)).nextDue, era)
      assert.isTrue(yield* resume(number, era + 3))
      assert.strictEqual((yield* sendNext(number, era + 3)).id, second.id)
    }),
  )

  it.effect("an operator's pause and the number's own coexist until it is resumed", () =>
    Effect.gen(function* () {
      const { number } = yield* aStage()
      const paused = Effect.map(connectionFacts(number), (known) => known.pause)
      const restricted: Pause = { until: noon + hour, reason: "restricted" }
      yield* pause(number, restricted)
      yield* pause(number, byOperator(noon + minute))
      assert.deepStrictEqual(yield* paused, restricted)
      yield* pause(number, byOperator(null))
      assert.deepStrictEqual(yield* paused, byOperator(null))
      // The operator's next replaces the operator's last, and nothing else.
      yield* pause(number, byOperator(noon + minute))
      assert.deepStrictEqual(yield* paused, restricted)
      yield* pause(number, byOperator(noon + 2 * hour))
      assert.deepStrictEqual(yield* paused, byOperator(noon + 2 * hour))
      const banned: Pause = { until: null, reason: "banned" }
      yield* pause(number, banned)
      yield* pause(number, byOperator(null))
      assert.deepStrictEqual(yield* paused, banned)
      yield* resume(number)
      assert.isNull(yield* paused)
      // A resumed pause never returns.
      yield* pause(number, byOperator(null))
      yield* pause(number, byOperator(noon + minute))
      assert.deepStrictEqual(yield* paused, byOperator(noon + minute))
    }),
  )

  it.effect("an attempt's pause yields to an operator's longer one", () =>
    Effect.gen(function* () {
      const { number } = yield* aStage()
      const [, next] = yield* accepted(number, { count: 2 })
      const claimed = yield* claimOne(number)
      yield* pause(number, byOperator(noon + 2 * hour))
      const breaker = {
        failures: { refusals: 0, pauses: 1 },
        pause: { until: noon + hour, reason: "restricted" as const },
      }
      const failed = { trigger: "send_failed", error: sendFailed } as const
      yield* settle([endedAs(claimed, failed, noon, { breaker })])
      const paused = Effect.map(connectionFacts(number), (known) => known.pause)
      assert.deepStrictEqual(yield* paused, byOperator(noon + 2 * hour))
      yield* pause(number, byOperator(noon + minute))
      assert.deepStrictEqual(yield* paused, breaker.pause)
      assert.deepStrictEqual(yield* claim([number], { now: noon + hour - 1 }), [])
      assert.strictEqual((yield* claimOne(number, { now: noon + hour })).message.id, next?.id)
    }),
  )

  it.effect("consecutive failures and their pause are stored with the attempt", () =>
    Effect.gen(function* () {
      const { number } = yield* aStage()
      yield* accepted(number, { count: 4 })
      const failures = { refusals: 3, pauses: 1 }
      const refuse = (until: number) =>
        Effect.gen(function* () {
          const claimed = yield* claimOne(number, { now: until })
          const breaker = {
            failures,
            pause: { until: until + hour, reason: "restricted" } as const,
          }
          const failed = { trigger: "send_failed", error: sendFailed } as const
          yield* settle([endedAs(claimed, failed, until, { breaker })], until)
        })
      yield* refuse(noon)
      assert.deepStrictEqual(yield* claim([number], { now: noon + hour - 1 }), [])
      const next = yield* claimOne(number, { now: noon + hour })
      assert.deepStrictEqual(next.failures, failures)
      // An attempt without a count leaves it unchanged.
      yield* settle([sent(next, noon + hour)], noon + hour)
      const last = yield* claimOne(number, { now: noon + hour })
      assert.deepStrictEqual(last.failures, failures)
      const forgiven = { failures: noFailures, pause: null }
      yield* settle([sent(last, noon + hour, { breaker: forgiven })], noon + hour)
      const clean = yield* claimOne(number, { now: noon + hour })
      assert.deepStrictEqual(clean.failures, noFailures)
      // An operator's pause that came meanwhile is longer.
      yield* pause(number, byOperator(null), noon + hour)
      const breaker = {
        failures,
        pause: { until: noon + 2 * hour, reason: "restricted" as const },
      }
      yield* settle([sent(clean, noon + hour, { breaker })], noon + hour)
      assert.deepStrictEqual((yield* connectionFacts(number)).pause, byOperator(null))
    }),
  )

  it.effect("messages in flight when the pause begins are settled, or wait interrupted", () =>
    Effect.gen(function* () {
      const { number } = yield* aStage()
      const messages = yield* accepted(number, { count: 2 })
      const first = yield* claimOne(number)
      yield* pause(number, byOperator(noon + hour))
      assert.deepStrictEqual(yield* settle([sent(first)]), [at(messages, 0).id])
      assert.deepStrictEqual(yield* claim([number], { now: noon + hour - 1 }), [])
      const lost = yield* claimOne(number, { now: noon + hour, leaseUntil: noon + hour + minute })
      yield* pause(number, byOperator(noon + 2 * hour), noon + hour)
      assert.deepStrictEqual(yield* claim([number], { now: noon + hour + minute }), [])
      assert.deepStrictEqual(yield* settle([sent(lost)]), [])
      const repeat = yield* claimOne(number, { now: noon + 2 * hour })
      assert.deepStrictEqual(
        [repeat.message.id, repeat.interruptions],
        [lost.message.id, lost.interruptions + 1],
      )
    }),
  )

  it.effect(
    "a possibly sent message is concluded after a pause although it expired meanwhile",
    () =>
      Effect.gen(function* () {
        const { number } = yield* aStage()
        const message = yield* aMessage(number, { expiresAt: noon + minute })
        const other = yield* aMessage(number)
        yield* settle([again(yield* claimOne(number), { interrupted: true })])
        yield* pause(number, byOperator(null))
        yield* end(cancelled(other, noon + hour))
        yield* resume(number, noon + hour)
        const claimed = yield* claimOne(number, { now: noon + hour })
        assert.deepStrictEqual([claimed.message.id, claimed.interruptions], [message.id, 1])
      }),
  )

  it.effect("a removed number is concluded although it was paused, and is paused no more", () =>
    Effect.gen(function* () {
      const store = (yield* Store).numbers
      const { workspace, number } = yield* aStage()
      yield* aMessage(number)
      yield* settle([again(yield* claimOne(number), { interrupted: true })])
      yield* pause(number, byOperator(null))
      yield* store.remove(workspace.id, number.id, noon)
      assert.isFalse(yield* pause(number, byOperator(null)))
      assert.isFalse(yield* resume(number))
      assert.isTrue((yield* claimOne(number)).removed)
    }),
  )
}
