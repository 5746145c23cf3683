/** Deliveries to webhook endpoints: who gets an event, and how endpoints share a claim. */
import { assert } from "@effect/vitest"
import type { EventId } from "@messaging-service/core"
import { Effect } from "effect"
import {
  anEndpoint,
  anEvent,
  aStageWithKey,
  claimDue,
  claimTheOne,
  delivered,
  getEvents,
  readLog,
  refused,
  settleAndClaimDue,
  settleDeliveries,
} from "../Delivering.ts"
import { at, only, present } from "../Expect.ts"
import { failed, cancelled, change, claimOne, end, sendNext, settle } from "../Sending.ts"
import type { Topic } from "../Topic.ts"
import { accepted, aKey, aMessage, aStage, day, hour, minute, noon } from "../Records.ts"

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
      assert.lengthOf(getEvents(claimed, all), 3)
      assert.deepStrictEqual(getEvents(claimed, all).slice(1), [failedEvent, cancel.event.id])
      assert.deepStrictEqual(getEvents(claimed, some), [failedEvent, cancel.event.id])
      assert.deepStrictEqual(getEvents(claimed, tests), [testEvent.event.id])
      assert.deepStrictEqual(getEvents(claimed, others), [])
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
        kind: "webhook",
        targetId: endpoint.id,
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

  it.effect("an endpoint created after the event gets nothing", () =>
    Effect.gen(function* () {
      const { key, number } = yield* aStageWithKey()
      yield* anEvent(number)
      yield* anEndpoint(key)
      assert.deepStrictEqual(yield* claimDue(), [])
    }),
  )

  it.effect("a commit that does not end a message announces nothing", () =>
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

  it.effect("settling and claiming in one step reuses the released permits", () =>
    Effect.gen(function* () {
      const { key, number } = yield* aStageWithKey()
      const endpoint = yield* anEndpoint(key)
      const events: Array<EventId> = []
      for (let createdCount = 0; createdCount < 8; createdCount++)
        events.push((yield* anEvent(number)).id)
      const claimed = yield* claimDue({ perTarget: 5 })
      const results = [delivered(at(claimed, 1)), refused(at(claimed, 3), noon + day)]
      const more = yield* settleAndClaimDue(results, { perTarget: 5 })
      assert.deepStrictEqual(getEvents(more, endpoint), events.slice(5, 7))
      assert.lengthOf(yield* readLog(endpoint), 2)
      // It sees what was written since, and settles nothing twice.
      const other = yield* anEndpoint(key)
      const event = yield* anEvent(number)
      const again = yield* settleAndClaimDue(results, { perTarget: 5 })
      assert.deepStrictEqual(getEvents(again, other), [event.id])
      assert.lengthOf(yield* readLog(endpoint), 2)
      assert.deepStrictEqual(yield* settleAndClaimDue([], { perTarget: 5 }), [])
    }),
  )

  it.effect("an endpoint that is full or has a long queue delays no other one", () =>
    Effect.gen(function* () {
      const { key, number, workspace } = yield* aStageWithKey()
      const { key: test } = yield* aKey(workspace.id, { mode: "test" })
      const slow = yield* anEndpoint(key)
      for (let createdCount = 0; createdCount < 12; createdCount++) yield* anEvent(number)
      const claimedDeliveries = yield* claimDue({ perTarget: 5 })
      assert.lengthOf(claimedDeliveries, 5)
      const quick = yield* anEndpoint(test)
      const event = yield* anEvent(number, { now: noon + minute, mode: "test" })
      const claimed = yield* claimDue({ perTarget: 5, limit: 1 })
      assert.deepStrictEqual(getEvents(claimed, quick), [event.id])
      yield* settleDeliveries(
        ...claimedDeliveries.map((each) => delivered(each)),
        delivered(only(claimed)),
      )
      // With room for two, one of each.
      yield* anEvent(number, { now: noon + minute, mode: "test" })
      const shared = yield* claimDue({ perTarget: 5, limit: 2 })
      assert.lengthOf(getEvents(shared, slow), 1)
      assert.lengthOf(getEvents(shared, quick), 1)
    }),
  )

  it.effect("with less than one for each endpoint, those that wait longest come first", () =>
    Effect.gen(function* () {
      const stages = yield* Effect.all([aStageWithKey(), aStageWithKey(), aStageWithKey()])
      const endpoints: Array<{ readonly id: number }> = []
      for (const [index, { key, number }] of stages.entries()) {
        endpoints.push(yield* anEndpoint(key))
        yield* anEvent(number, { now: noon + index * minute })
      }
      const again = yield* anEvent(at(stages, 0).number, { now: noon + hour })
      const claimed = yield* claimDue({ limit: 2 })
      assert.deepStrictEqual(
        claimed.map(({ targetId }) => targetId as number).toSorted((a, b) => a - b),
        [at(endpoints, 0).id, at(endpoints, 1).id],
      )
      const results = claimed.map((each) => delivered(each))
      const third = only(yield* settleAndClaimDue(results, { limit: 1 }))
      assert.strictEqual(third.targetId as number, at(endpoints, 2).id)
      const last = only(yield* settleAndClaimDue([delivered(third)], { limit: 1 }))
      assert.strictEqual(last.eventId, again.id)
    }),
  )

  it.effect("endpoints share a claim evenly, and nothing due is left over", () =>
    Effect.gen(function* () {
      // The queues of three endpoints, the size of the claim, and each one's part.
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
            for (const [index, count] of waiting.entries()) {
              const { key, number } = yield* aStageWithKey()
              endpoints.push(yield* anEndpoint(key))
              // Those of the first endpoint wait longest, then those of the second.
              for (let createdCount = 0; createdCount < count; createdCount++) {
                yield* anEvent(number, { now: noon + index * minute })
              }
            }
            const claimed = yield* claimDue({ limit, perTarget: 5 })
            assert.deepStrictEqual(
              endpoints.map((endpoint) => getEvents(claimed, endpoint).length),
              given,
              JSON.stringify({ waiting, limit }),
            )
          }),
        )
      }
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
