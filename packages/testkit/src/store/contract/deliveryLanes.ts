/** The lanes of targets, alike for both kinds: order, limits, leases, and due times. */
import { assert } from "@effect/vitest"
import { Store } from "@messaging-service/core"
import type { ClaimedDelivery, EventId } from "@messaging-service/core"
import { Effect, Exit, Scope } from "effect"
import { aCallback, aCallbackUrl, aCallingStage } from "../Calling.ts"
import {
  anEndpoint,
  anEvent,
  aStageWithKey,
  claimDue,
  claimTheOne,
  delivered,
  refused,
  toScope,
  settleDeliveries,
} from "../Delivering.ts"
import { at, present } from "../Expect.ts"
import { cancelled, end } from "../Sending.ts"
import { readNextDue } from "../Reading.ts"
import type { Topic } from "../Topic.ts"
import { aMessage, anEra, aStage, day, hour, minute, noon } from "../Records.ts"

/** When a delivery loop must poll again. */
const nextDue = (era: number) => readNextDue("deliveries", era)

const kinds = ["an endpoint", "an origin of callbacks"] as const

/** One target of each kind, which goes with the test, and a way to queue more for it. */
const aTarget = {
  "an endpoint": (era: number) =>
    Effect.gen(function* () {
      const { key, number } = yield* aStageWithKey(era)
      yield* anEndpoint(key, { createdAt: era })
      return (now: number) => Effect.map(anEvent(number, { now }), ({ id }) => id)
    }),
  "an origin of callbacks": (era: number) =>
    Effect.gen(function* () {
      const { number } = yield* aCallingStage(era)
      const url = aCallbackUrl()
      return (now: number) => Effect.map(aCallback(number, url, now), ({ eventId }) => eventId)
    }),
}

/** A target and its failures, which wait for a day, and what it hears then. */
const aTargetThatFailed = (kind: (typeof kinds)[number]) =>
  Effect.map(aTarget[kind](noon), (deliver) => ({
    deliver,
    downSince: (count: number) =>
      Effect.gen(function* () {
        const events = yield* Effect.replicateEffect(deliver(noon), count)
        const claimed = yield* claimDue()
        yield* settleDeliveries(...claimed.map((each) => refused(each, noon + day)))
        return events
      }),
    hear: (now: number) =>
      Effect.gen(function* () {
        yield* deliver(now)
        yield* settleDeliveries(delivered(yield* claimTheOne({ now }), { attemptedAt: now }))
      }),
  }))

const toIds = (claimed: ReadonlyArray<ClaimedDelivery>) => claimed.map(({ eventId }) => eventId)

export const deliveryLanes: Topic = (it) => {
  it.effect.each(kinds)(
    "%s gets nothing before its own due time; the longest due comes first",
    (kind) =>
      Effect.gen(function* () {
        const deliver = yield* aTarget[kind](noon)
        const later = yield* deliver(noon + minute)
        const first = yield* deliver(noon)
        assert.deepStrictEqual(yield* claimDue({ now: noon - 1 }), [])
        const claimed = yield* claimDue({ now: noon + minute })
        assert.deepStrictEqual(toIds(claimed), [first, later])
      }),
  )

  it.effect.each(kinds)("%s has a limit in flight at once", (kind) =>
    Effect.gen(function* () {
      const deliver = yield* aTarget[kind](noon)
      const events: Array<EventId> = []
      for (let createdCount = 0; createdCount < 8; createdCount++) events.push(yield* deliver(noon))
      const two = yield* claimDue({ perTarget: 5, limit: 2 })
      const claimed = [...two, ...(yield* claimDue({ perTarget: 5 }))]
      assert.deepStrictEqual(toIds(claimed), events.slice(0, 5))
      assert.deepStrictEqual(yield* claimDue({ perTarget: 5 }), [])
      yield* settleDeliveries(delivered(at(claimed, 1)), refused(at(claimed, 3), noon + day))
      const more = yield* claimDue({ perTarget: 5 })
      assert.deepStrictEqual(toIds(more), events.slice(5, 7))
      assert.deepStrictEqual(yield* claimDue({ perTarget: 5 }), [])
    }),
  )

  it.effect.each(kinds)(
    "what a claim leaves for %s is due at once, and claimed by the next",
    (kind) =>
      Effect.gen(function* () {
        const deliver = yield* aTarget[kind](noon)
        const events: Array<EventId> = []
        for (let createdCount = 0; createdCount < 7; createdCount++)
          events.push(yield* deliver(noon))
        const claimed: Array<ClaimedDelivery> = []
        for (let claim = 0; claim < 4; claim++) claimed.push(...(yield* claimDue({ limit: 2 })))
        assert.deepStrictEqual(toIds(claimed), events)
      }),
  )

  it.effect.each(kinds)("everything queued for %s gets its turn", (kind) =>
    Effect.gen(function* () {
      const targets = yield* Effect.all([aTarget[kind](noon), aTarget[kind](noon)])
      const events: Array<EventId> = []
      for (let createdCount = 0; createdCount < 20; createdCount++)
        events.push(yield* at(targets, createdCount % 2)(noon))
      const received: Array<EventId> = []
      for (;;) {
        const claimed = yield* claimDue({ perTarget: 3, limit: 4 })
        if (claimed.length === 0) break
        received.push(...toIds(claimed))
        yield* settleDeliveries(...claimed.map((each) => delivered(each)))
      }
      assert.deepStrictEqual(received.toSorted(), events.toSorted())
    }),
  )

  it.effect.each(kinds)(
    "after its lease the same attempt to %s is handed out again, under another lease",
    (kind) =>
      Effect.gen(function* () {
        const deliver = yield* aTarget[kind](noon)
        yield* deliver(noon)
        const first = yield* claimTheOne({ now: noon, leaseUntil: noon + minute })
        assert.deepStrictEqual(yield* claimDue({ now: noon + minute - 1 }), [])
        const second = yield* claimTheOne({ now: noon + minute })
        assert.deepStrictEqual(second, { ...first, lease: second.lease })
        assert.notStrictEqual(second.lease, first.lease)
        // The first holder is too late, whatever its result.
        yield* settleDeliveries(delivered(first))
        yield* settleDeliveries(refused(first, noon))
        assert.deepStrictEqual(yield* claimDue({ now: noon + minute }), [])
        yield* settleDeliveries(refused(second, noon + hour))
        // Settled once, however often that is repeated.
        yield* settleDeliveries(delivered(second))
        assert.deepStrictEqual(yield* claimDue({ now: noon + hour - 1 }), [])
        const third = yield* claimTheOne({ now: noon + hour })
        assert.deepStrictEqual(third, { ...first, lease: third.lease, attempt: 2 })
        yield* settleDeliveries(delivered(third))
        assert.deepStrictEqual(yield* claimDue({ now: noon + day }), [])
      }),
  )

  it.effect.each(kinds)("a dead worker's permits of %s are free when its leases are over", (kind) =>
    Effect.gen(function* () {
      const deliver = yield* aTarget[kind](noon)
      const events: Array<EventId> = []
      for (let createdCount = 0; createdCount < 5; createdCount++) events.push(yield* deliver(noon))
      const dead = yield* claimDue({ now: noon, leaseUntil: noon + minute, perTarget: 2 })
      assert.lengthOf(dead, 2)
      assert.deepStrictEqual(yield* claimDue({ now: noon + 1, perTarget: 2 }), [])
      const received: Array<EventId> = []
      for (;;) {
        const claimed = yield* claimDue({ now: noon + minute, perTarget: 2 })
        if (claimed.length === 0) break
        assert.isAtMost(claimed.length, 2)
        received.push(...toIds(claimed))
        yield* settleDeliveries(...claimed.map((each) => delivered(each)))
      }
      assert.deepStrictEqual(received.toSorted(), events.toSorted())
    }),
  )

  it.effect.each(kinds)("only a commit that queues something for %s signals its process", (kind) =>
    Effect.gen(function* () {
      const deliver = yield* aTarget[kind](noon)
      const { number } = yield* aStage()
      let notified = 0
      const listening = yield* Scope.make()
      yield* Store.use(({ webhooks: queue }) =>
        queue.whenQueued(Effect.sync(() => void notified++)).pipe(Scope.provide(listening)),
      )
      yield* deliver(noon)
      yield* Effect.yieldNow
      assert.strictEqual(notified, 1)
      yield* end(cancelled(yield* aMessage(number)))
      yield* Effect.yieldNow
      assert.strictEqual(notified, 1)
      yield* Scope.close(listening, Exit.void)
      yield* deliver(noon)
      yield* Effect.yieldNow
      assert.strictEqual(notified, 1)
    }),
  )

  it.effect.each(kinds)(
    "%s is due with its first waiting delivery, in flight with the end of its lease",
    (kind) =>
      Effect.gen(function* () {
        const era = anEra()
        const until = Effect.map(
          Store.use(({ queue: status }) => status.workload(era)),
          ({ deliveringUntil }) => deliveringUntil,
        )
        // Leftovers of earlier tests are read, and ignored.
        assert.deepStrictEqual(yield* claimDue({ now: era }), [])
        assert.isNull(yield* nextDue(era))
        const deliver = yield* aTarget[kind](era)
        assert.isNull(yield* nextDue(era))
        assert.isNull(yield* until)
        yield* deliver(era)
        assert.isAtMost(present(yield* nextDue(era)), era)
        const claimed = yield* claimTheOne({ now: era, leaseUntil: era + minute })
        assert.strictEqual(yield* nextDue(era), era + minute)
        assert.strictEqual(yield* until, era + minute)
        yield* settleDeliveries(refused(claimed, era + hour))
        assert.strictEqual(yield* nextDue(era), era + hour)
        assert.isNull(yield* until)
        const second = yield* claimTheOne({ now: era + hour })
        yield* settleDeliveries(delivered(second))
        assert.isNull(yield* nextDue(era))
      }),
  )

  it.effect.each(kinds)("a full %s is due when a lease ends", (kind) =>
    Effect.gen(function* () {
      const era = anEra()
      const deliver = yield* aTarget[kind](era)
      for (let createdCount = 0; createdCount < 3; createdCount++) yield* deliver(era)
      const query = { now: era, leaseUntil: era + minute, perTarget: 2 }
      const [first] = yield* claimDue(query)
      assert.strictEqual(yield* nextDue(era), era + minute)
      yield* settleDeliveries(delivered(present(first)))
      assert.isAtMost(present(yield* nextDue(era)), era)
    }),
  )

  it.effect.each(kinds)(
    "once %s accepts a delivery after a failure, what waits longer than a minute is due at once, oldest first",
    (kind) =>
      Effect.gen(function* () {
        const { deliver, downSince, hear } = yield* aTargetThatFailed(kind)
        const events = yield* downSince(8)
        const soon = yield* deliver(noon)
        const dueSoon = noon + hour + minute
        yield* settleDeliveries(refused(yield* claimTheOne(), dueSoon))
        yield* hear(noon + hour)
        const next = yield* claimDue({ perTarget: 5 })
        assert.deepStrictEqual(toIds(next), events.slice(0, 5))
        assert.deepStrictEqual([...new Set(next.map(({ attempt }) => attempt))], [2])
        assert.deepStrictEqual(yield* claimDue({ perTarget: 5 }), [])
        const attemptedAt = noon + hour
        yield* settleDeliveries(...next.map((each) => delivered(each, { attemptedAt })))
        const rest = yield* claimDue({ leaseUntil: noon + day })
        assert.deepStrictEqual(toIds(rest), events.slice(5))
        assert.deepStrictEqual(toIds(yield* claimDue({ now: dueSoon })), [soon])
      }),
  )

  it.effect.each(kinds)(
    "what comes forward to %s in vain keeps its usual delay once, whatever else is accepted",
    (kind) =>
      Effect.gen(function* () {
        const { downSince, hear } = yield* aTargetThatFailed(kind)
        yield* downSince(1)
        yield* hear(noon + hour)
        yield* settleDeliveries(refused(yield* claimTheOne(), noon + 2 * day))
        yield* hear(noon + 2 * hour)
        assert.deepStrictEqual(yield* claimDue({ now: noon + 2 * day - 1 }), [])
        const third = yield* claimTheOne({ now: noon + 2 * day })
        yield* settleDeliveries(refused(third, noon + 4 * day))
        yield* hear(noon + 3 * day)
        assert.strictEqual((yield* claimTheOne({ now: noon + 3 * day })).attempt, 4)
      }),
  )

  it.effect.each(kinds)(
    "what fails together with a delivery to %s, or that a dead worker's late result names, does not come forward",
    (kind) =>
      Effect.gen(function* () {
        const { deliver, downSince } = yield* aTargetThatFailed(kind)
        yield* downSince(1)
        yield* deliver(noon)
        yield* deliver(noon)
        const [late, failing] = yield* claimDue({ now: noon, leaseUntil: noon + minute })
        yield* settleDeliveries(refused(present(failing), noon + day))
        const again = yield* claimTheOne({ now: noon + minute, leaseUntil: noon + day })
        yield* settleDeliveries(delivered(present(late)))
        assert.deepStrictEqual(yield* claimDue(), [])
        yield* deliver(noon)
        const other = yield* claimTheOne()
        yield* settleDeliveries(delivered(again), refused(other, noon + day))
        assert.lengthOf(yield* claimDue(), 2)
      }),
  )

  it.effect("a removed endpoint is never due", () =>
    Effect.gen(function* () {
      const era = anEra()
      const { key, number } = yield* aStageWithKey(era)
      const endpoint = yield* anEndpoint(key, { createdAt: era })
      yield* anEvent(number, { now: era })
      yield* Store.use(({ webhooks: store }) => store.remove(toScope(key), endpoint.id, era))
      assert.deepStrictEqual(yield* claimDue({ now: era }), [])
      assert.isNull(yield* nextDue(era))
    }),
  )
}
