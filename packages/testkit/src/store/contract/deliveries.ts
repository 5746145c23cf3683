/** Deliveries: who gets an event, how many at once, what a lease is worth, and what is written down. */
import { assert } from "@effect/vitest"
import { DeliveryQueue, WebhookStore, WorkStatus } from "@messaging-service/core"
import type { ClaimedDelivery, EventId } from "@messaging-service/core"
import { Effect } from "effect"
import {
  anEndpoint,
  anEvent,
  aStageWithKey,
  claimDue,
  claimTheOne,
  delivered,
  eventsOf,
  logOf,
  refused,
  scopeOf,
  settleAndClaimDue,
  settleDeliveries,
} from "../Delivering.ts"
import { at, only, present } from "../Expect.ts"
import { failed, cancelled, change, claimOne, end, sendNext, settle } from "../Sending.ts"
import type { Topic } from "../Topic.ts"
import { accepted, aKey, aMessage, anEra, aStage, day, hour, minute, noon } from "../World.ts"

/** When a delivery loop must look again, if that is within 50 days of `era`. */
const nextDue = (era: number) =>
  Effect.map(
    WorkStatus.use((status) => status.nextDue("deliveries")),
    (due) => (due !== null && due < era + 50 * day ? due : null),
  )

export const deliveries: Topic = (it) => {
  it.effect("an event reaches every endpoint of its workspace and mode that subscribed to it", () =>
    Effect.gen(function* () {
      const { key, number, workspace } = yield* aStageWithKey()
      const { key: test } = yield* aKey(workspace.id, { mode: "test" })
      const { key: stranger } = yield* aStageWithKey()
      const all = yield* anEndpoint(key)
      const some = yield* anEndpoint(key, { events: ["message.failed", "message.cancelled"] })
      const tests = yield* anEndpoint(test)
      const others = yield* anEndpoint(stranger)

      const [first, second] = yield* accepted(number, { count: 2 })
      const sentEvent = (yield* sendNext(number)).id
      const failure = failed(yield* claimOne(number))
      yield* settle([failure])
      const third = yield* aMessage(number)
      const cancel = cancelled(third)
      yield* end(cancel)
      const tested = yield* aMessage(number, { mode: "test" })
      const testEvent = change(tested, { trigger: "send_succeeded" })
      yield* end(testEvent)

      const claimed = yield* claimDue()
      assert.deepStrictEqual([present(first).id, present(second).id].includes(sentEvent), true)
      const failedEvent = failure._tag === "Ended" ? failure.change.event.id : null
      assert.lengthOf(eventsOf(claimed, all), 3)
      assert.deepStrictEqual(eventsOf(claimed, all).slice(1), [failedEvent, cancel.event.id])
      assert.deepStrictEqual(eventsOf(claimed, some), [failedEvent, cancel.event.id])
      assert.deepStrictEqual(eventsOf(claimed, tests), [testEvent.event.id])
      assert.deepStrictEqual(eventsOf(claimed, others), [])
    }),
  )

  it.effect("a delivery carries the frozen body, and where and how to send it", () =>
    Effect.gen(function* () {
      const { key, number } = yield* aStageWithKey()
      const endpoint = yield* anEndpoint(key)
      const message = yield* aMessage(number, { message: { text: 'A "quoted"\n\\ line – 🦉' } })
      const cancel = cancelled(message)
      const body = `  ${cancel.event.body}\n`
      yield* end({ ...cancel, event: { ...cancel.event, body } })
      const claimed = yield* claimTheOne()
      assert.deepStrictEqual(claimed, {
        id: claimed.id,
        endpointId: endpoint.id,
        workspaceId: key.workspaceId,
        lease: claimed.lease,
        eventId: cancel.event.id,
        body,
        attempt: 1,
        url: endpoint.url,
        secretSalt: endpoint.secretSalt,
      })
    }),
  )

  it.effect("an endpoint made after the event gets nothing", () =>
    Effect.gen(function* () {
      const { key, number } = yield* aStageWithKey()
      yield* anEvent(number)
      yield* anEndpoint(key)
      assert.deepStrictEqual(yield* claimDue(), [])
    }),
  )

  it.effect("what a commit did not end is not announced", () =>
    Effect.gen(function* () {
      const { key, number } = yield* aStageWithKey()
      yield* anEndpoint(key)
      const message = yield* aMessage(number)
      const cancel = cancelled(message)
      yield* end(cancel)
      yield* end(cancelled(message), change(message, { trigger: "expire" }))
      assert.strictEqual((yield* claimTheOne()).eventId, cancel.event.id)
    }),
  )

  it.effect("nothing is due before its event's own time; the longest due comes first", () =>
    Effect.gen(function* () {
      const { key, number } = yield* aStageWithKey()
      const endpoint = yield* anEndpoint(key)
      const later = yield* anEvent(number, { now: noon + minute })
      const first = yield* anEvent(number, { now: noon })
      assert.deepStrictEqual(yield* claimDue({ now: noon - 1 }), [])
      const claimed = yield* claimDue({ now: noon + minute })
      assert.deepStrictEqual(eventsOf(claimed, endpoint), [first.id, later.id])
    }),
  )

  it.effect("at most so many of an endpoint are in flight at once", () =>
    Effect.gen(function* () {
      const { key, number } = yield* aStageWithKey()
      const endpoint = yield* anEndpoint(key)
      const events: Array<EventId> = []
      for (let made = 0; made < 8; made++) events.push((yield* anEvent(number)).id)
      const claimed = yield* claimDue({ perEndpoint: 5 })
      assert.deepStrictEqual(eventsOf(claimed, endpoint), events.slice(0, 5))
      assert.deepStrictEqual(yield* claimDue({ perEndpoint: 5 }), [])
      yield* settleDeliveries(delivered(at(claimed, 1)), refused(at(claimed, 3), noon + day))
      const more = yield* claimDue({ perEndpoint: 5 })
      assert.deepStrictEqual(eventsOf(more, endpoint), events.slice(5, 7))
      assert.deepStrictEqual(yield* claimDue({ perEndpoint: 5 }), [])
    }),
  )

  it.effect(
    "settling and claiming in one step gives the places that became free to what is due",
    () =>
      Effect.gen(function* () {
        const { key, number } = yield* aStageWithKey()
        const endpoint = yield* anEndpoint(key)
        const events: Array<EventId> = []
        for (let made = 0; made < 8; made++) events.push((yield* anEvent(number)).id)
        const claimed = yield* claimDue({ perEndpoint: 5 })
        const results = [delivered(at(claimed, 1)), refused(at(claimed, 3), noon + day)]
        const more = yield* settleAndClaimDue(results, { perEndpoint: 5 })
        assert.deepStrictEqual(eventsOf(more, endpoint), events.slice(5, 7))
        assert.lengthOf(yield* logOf(endpoint), 2)
        // It hears of what was written since, and settles nothing twice.
        const other = yield* anEndpoint(key)
        const event = yield* anEvent(number)
        const news = yield* settleAndClaimDue(results, { perEndpoint: 5 })
        assert.deepStrictEqual(eventsOf(news, other), [event.id])
        assert.lengthOf(yield* logOf(endpoint), 2)
        assert.deepStrictEqual(yield* settleAndClaimDue([], { perEndpoint: 5 }), [])
      }),
  )

  it.effect("an endpoint that is full or has a long queue delays no other one", () =>
    Effect.gen(function* () {
      const { key, number, workspace } = yield* aStageWithKey()
      const { key: test } = yield* aKey(workspace.id, { mode: "test" })
      const slow = yield* anEndpoint(key)
      for (let made = 0; made < 12; made++) yield* anEvent(number)
      const held = yield* claimDue({ perEndpoint: 5 })
      assert.lengthOf(held, 5)
      const quick = yield* anEndpoint(test)
      const event = yield* anEvent(number, { now: noon + minute, mode: "test" })
      const claimed = yield* claimDue({ perEndpoint: 5, limit: 1 })
      assert.deepStrictEqual(eventsOf(claimed, quick), [event.id])
      yield* settleDeliveries(...held.map((each) => delivered(each)), delivered(only(claimed)))
      // With room for two, one of each.
      yield* anEvent(number, { now: noon + minute, mode: "test" })
      const shared = yield* claimDue({ perEndpoint: 5, limit: 2 })
      assert.lengthOf(eventsOf(shared, slow), 1)
      assert.lengthOf(eventsOf(shared, quick), 1)
    }),
  )

  it.effect("where there is less than one for each endpoint, those that wait longest get it", () =>
    Effect.gen(function* () {
      const stages = yield* Effect.all([aStageWithKey(), aStageWithKey(), aStageWithKey()])
      const endpoints: Array<{ readonly id: number }> = []
      for (const [place, { key, number }] of stages.entries()) {
        endpoints.push(yield* anEndpoint(key))
        yield* anEvent(number, { now: noon + place * minute })
      }
      const again = yield* anEvent(at(stages, 0).number, { now: noon + hour })
      const claimed = yield* claimDue({ limit: 2 })
      assert.deepStrictEqual(
        claimed.map(({ endpointId }) => endpointId as number).toSorted((a, b) => a - b),
        [at(endpoints, 0).id, at(endpoints, 1).id],
      )
      const results = claimed.map((each) => delivered(each))
      const third = only(yield* settleAndClaimDue(results, { limit: 1 }))
      assert.strictEqual(third.endpointId as number, at(endpoints, 2).id)
      const last = only(yield* settleAndClaimDue([delivered(third)], { limit: 1 }))
      assert.strictEqual(last.eventId, again.id)
    }),
  )

  it.effect(
    "endpoints share a claim evenly, and none of it is left over while something is due",
    () =>
      Effect.gen(function* () {
        // How much waits for each of three endpoints, how much is claimed, and who gets how much of it.
        const cases = [
          { waiting: [5, 1, 1], limit: 10, given: [5, 1, 1] },
          { waiting: [5, 1, 1], limit: 7, given: [5, 1, 1] },
          { waiting: [5, 1, 1], limit: 6, given: [4, 1, 1] },
          { waiting: [5, 5, 1], limit: 6, given: [3, 2, 1] },
          { waiting: [1, 5, 5], limit: 6, given: [1, 3, 2] },
          { waiting: [5, 5, 5], limit: 4, given: [2, 1, 1] },
          { waiting: [9, 9, 0], limit: 20, given: [5, 5, 0] },
        ]
        for (const { given, limit, waiting } of cases) {
          yield* Effect.scoped(
            Effect.gen(function* () {
              const endpoints: Array<{ readonly id: number }> = []
              for (const [place, count] of waiting.entries()) {
                const { key, number } = yield* aStageWithKey()
                endpoints.push(yield* anEndpoint(key))
                // Those of the first endpoint wait longest, then those of the second.
                for (let made = 0; made < count; made++) {
                  yield* anEvent(number, { now: noon + place * minute })
                }
              }
              const claimed = yield* claimDue({ limit, perEndpoint: 5 })
              assert.deepStrictEqual(
                endpoints.map((endpoint) => eventsOf(claimed, endpoint).length),
                given,
                JSON.stringify({ waiting, limit }),
              )
            }),
          )
        }
      }),
  )

  it.effect("what a claim leaves is due at once, and claimed by the next", () =>
    Effect.gen(function* () {
      const { key, number } = yield* aStageWithKey()
      const endpoint = yield* anEndpoint(key)
      const events: Array<EventId> = []
      for (let made = 0; made < 7; made++) events.push((yield* anEvent(number)).id)
      const claimed: Array<ClaimedDelivery> = []
      for (let claim = 0; claim < 4; claim++) claimed.push(...(yield* claimDue({ limit: 2 })))
      assert.deepStrictEqual(eventsOf(claimed, endpoint), events)
    }),
  )

  it.effect("when a lease runs out the same attempt is handed out again, under another lease", () =>
    Effect.gen(function* () {
      const { key, number } = yield* aStageWithKey()
      const endpoint = yield* anEndpoint(key)
      const event = yield* anEvent(number)
      const first = yield* claimTheOne({ now: noon, leaseUntil: noon + minute })
      assert.deepStrictEqual(yield* claimDue({ now: noon + minute - 1 }), [])
      const second = yield* claimTheOne({ now: noon + minute })
      assert.strictEqual(second.eventId, event.id)
      assert.strictEqual(second.attempt, 1)
      assert.notStrictEqual(second.lease, first.lease)
      // The first holder comes too late.
      yield* settleDeliveries(delivered(first))
      assert.deepStrictEqual(yield* logOf(endpoint), [])
      yield* settleDeliveries(refused(second, noon + hour))
      yield* settleDeliveries(delivered(second))
      assert.lengthOf(yield* logOf(endpoint), 1)
      assert.strictEqual((yield* claimTheOne({ now: noon + hour })).attempt, 2)
    }),
  )

  it.effect("a commit that queues deliveries tells the process that made it", () =>
    Effect.gen(function* () {
      const queue = yield* DeliveryQueue
      const { key, number } = yield* aStageWithKey()
      yield* anEndpoint(key)
      yield* anEvent(number)
      yield* queue.queued
      yield* aMessage(number)
      yield* sendNext(number)
      yield* queue.queued
    }),
  )

  it.effect(
    "deliveries are due with the first that waits, in flight with the end of its lease",
    () =>
      Effect.gen(function* () {
        const era = anEra()
        const until = Effect.map(
          WorkStatus.use((status) => status.workload(era)),
          ({ deliveringUntil }) => deliveringUntil,
        )
        const { key, number } = yield* aStageWithKey(era)
        // What earlier tests left behind is looked at, and is nothing.
        assert.deepStrictEqual(yield* claimDue({ now: era }), [])
        assert.isNull(yield* nextDue(era))
        const endpoint = yield* anEndpoint(key, { createdAt: era })
        assert.isNull(yield* nextDue(era))
        assert.isNull(yield* until)
        yield* anEvent(number, { now: era })
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
        // Of a stopped or removed endpoint nothing is due.
        yield* anEvent(number, { now: era })
        yield* WebhookStore.use((store) => store.remove(scopeOf(key), endpoint.id, era))
        assert.deepStrictEqual(yield* claimDue({ now: era }), [])
        assert.isNull(yield* nextDue(era))
      }),
  )

  it.effect("a full endpoint is due when one of its leases runs out", () =>
    Effect.gen(function* () {
      const era = anEra()
      const { key, number } = yield* aStageWithKey(era)
      yield* anEndpoint(key, { createdAt: era })
      for (let made = 0; made < 3; made++) yield* anEvent(number, { now: era })
      const query = { now: era, leaseUntil: era + minute, perEndpoint: 2 }
      const [first] = yield* claimDue(query)
      assert.strictEqual(yield* nextDue(era), era + minute)
      yield* settleDeliveries(delivered(present(first)))
      assert.isAtMost(present(yield* nextDue(era)), era)
    }),
  )

  it.effect("a workspace without endpoints queues nothing", () =>
    Effect.gen(function* () {
      const { number } = yield* aStage()
      yield* anEvent(number)
      assert.deepStrictEqual(yield* claimDue(), [])
    }),
  )
}
