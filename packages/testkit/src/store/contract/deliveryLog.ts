/** The results of deliveries: the log, stopping endpoints, and redelivery. */
import { assert } from "@effect/vitest"
import { Store } from "@messaging-service/core"
import type { ClaimedDelivery, EventId, WebhookEndpoint } from "@messaging-service/core"
import { Effect } from "effect"
import {
  anEndpoint,
  anEvent,
  aStageWithKey,
  claimDue,
  claimTheOne,
  delivered,
  everyAttempt,
  getEvents,
  readLog,
  lookUpEndpoint,
  refused,
  toScope,
  settleDeliveries,
} from "../Delivering.ts"
import { at, only, present } from "../Expect.ts"
import type { Topic } from "../Topic.ts"
import { aKey, anEra, day, hour, minute, noon, oneSecond } from "../Records.ts"

/** Event, attempt and next attempt of each line of the log, newest first. */
const getLines = (endpoint: WebhookEndpoint) =>
  Effect.map(readLog(endpoint), (log) =>
    log.map(({ attempt, eventId, nextAttemptAt }) => [eventId, attempt, nextAttemptAt] as const),
  )

export const deliveryLog: Topic = (it) => {
  it.effect("a next attempt that came forward is logged for when it did", () =>
    Effect.gen(function* () {
      const { key, number } = yield* aStageWithKey()
      const endpoint = yield* anEndpoint(key)
      const { id: waiting } = yield* anEvent(number)
      yield* settleDeliveries(refused(yield* claimTheOne(), noon + day))
      const { id: next } = yield* anEvent(number)
      const attemptedAt = noon + hour
      yield* settleDeliveries(delivered(yield* claimTheOne(), { attemptedAt }))
      assert.deepStrictEqual(yield* getLines(endpoint), [
        [next, 1, null],
        [waiting, 1, attemptedAt],
      ])
    }),
  )

  it.effect("the log has every attempt, and the endpoint the latest", () =>
    Effect.gen(function* () {
      const { key, number } = yield* aStageWithKey()
      const endpoint = yield* anEndpoint(key)
      const event = yield* anEvent(number)
      const first = yield* claimTheOne({ now: noon })
      yield* settleDeliveries(
        refused(first, noon + 5 * oneSecond, {
          attemptedAt: noon + 3,
          responseStatus: null,
          error: "timeout",
          durationMillis: 15_000,
        }),
      )
      const failure = {
        eventId: event.id,
        type: "message.cancelled",
        attempt: 1,
        attemptedAt: noon + 3,
        responseStatus: null,
        error: "timeout",
        durationMillis: 15_000,
        nextAttemptAt: noon + 5 * oneSecond,
      } as const
      const [logged] = yield* readLog(endpoint)
      assert.deepStrictEqual(logged, { id: present(logged).id, ...failure })
      assert.deepStrictEqual((yield* lookUpEndpoint(endpoint)).lastAttempt, logged)

      assert.deepStrictEqual(yield* claimDue({ now: noon + 5 * oneSecond - 1 }), [])
      const second = yield* claimTheOne({ now: noon + 5 * oneSecond })
      assert.deepStrictEqual(second, {
        ...first,
        lease: second.lease,
        attempt: 2,
      })
      yield* settleDeliveries(delivered(second, { attemptedAt: noon + 6 * oneSecond }))
      const [latest, before] = yield* readLog(endpoint)
      assert.deepStrictEqual(before, logged)
      assert.deepStrictEqual(latest, {
        id: present(latest).id,
        eventId: event.id,
        type: "message.cancelled",
        attempt: 2,
        attemptedAt: noon + 6 * oneSecond,
        responseStatus: 204,
        error: null,
        durationMillis: 7,
        nextAttemptAt: null,
      })
      assert.deepStrictEqual((yield* lookUpEndpoint(endpoint)).lastAttempt, latest)
      assert.deepStrictEqual(yield* claimDue({ now: noon + day }), [])
    }),
  )

  it.effect("the log is paged, newest first", () =>
    Effect.gen(function* () {
      const store = (yield* Store).webhooks
      const { key, number } = yield* aStageWithKey()
      const endpoint = yield* anEndpoint(key)
      for (let createdCount = 0; createdCount < 5; createdCount++) yield* anEvent(number)
      yield* settleDeliveries(...(yield* claimDue()).map((each) => delivered(each)))
      const all = yield* readLog(endpoint)
      assert.lengthOf(all, 5)
      const first = yield* store.attempts(endpoint.id, everyAttempt, { before: null, limit: 2 })
      assert.deepStrictEqual(first.items, all.slice(0, 2))
      const second = yield* store.attempts(endpoint.id, everyAttempt, {
        before: first.next,
        limit: 3,
      })
      assert.deepStrictEqual(second, { items: all.slice(2), next: null })
    }),
  )

  it.effect("old attempts are forgotten, later ones kept", () =>
    Effect.gen(function* () {
      const store = (yield* Store).webhooks
      const era = anEra()
      const { key, number } = yield* aStageWithKey(era)
      const endpoint = yield* anEndpoint(key)
      yield* anEvent(number, { now: era })
      yield* anEvent(number, { now: era })
      const [old, later] = yield* claimDue({ now: era })
      yield* settleDeliveries(delivered(present(old), { attemptedAt: era - 1 }))
      yield* settleDeliveries(delivered(present(later), { attemptedAt: era }))
      yield* store.forgetAttempts(era)
      assert.strictEqual(only(yield* readLog(endpoint)).attemptedAt, era)
    }),
  )

  it.effect(
    "an endpoint stops when an event is used up and nothing was delivered for so long",
    () =>
      Effect.gen(function* () {
        const { key, number } = yield* aStageWithKey()
        const endpoint = yield* anEndpoint(key, { createdAt: noon })
        const since = noon - 1
        const usedUp = (claimed: ClaimedDelivery, stopUnlessDeliveredSince: number) =>
          refused(claimed, null, { stopUnlessDeliveredSince })

        // It was created after that moment.
        yield* anEvent(number)
        yield* settleDeliveries(usedUp(yield* claimTheOne(), since))
        assert.isNull((yield* lookUpEndpoint(endpoint)).disabledReason)

        // Something was delivered after that moment, even in the same commit.
        yield* anEvent(number)
        yield* anEvent(number)
        const [lost, got] = yield* claimDue()
        yield* settleDeliveries(
          usedUp(present(lost), noon + hour),
          delivered(present(got), { attemptedAt: noon + hour + 1 }),
        )
        assert.isNull((yield* lookUpEndpoint(endpoint)).disabledReason)

        // Nothing was: it stops, and its pending deliveries end with it.
        yield* anEvent(number)
        yield* anEvent(number)
        const [last, pending] = yield* claimDue()
        yield* settleDeliveries(refused(present(pending), noon + 2 * hour))
        yield* settleDeliveries(usedUp(present(last), noon + hour + 1))
        const stopped = yield* lookUpEndpoint(endpoint)
        assert.strictEqual(stopped.disabledReason, "delivery_failures")
        assert.deepStrictEqual(yield* claimDue({ now: noon + day }), [])
        const log = yield* readLog(endpoint)
        assert.isTrue(log.every((attempt) => attempt.nextAttemptAt === null))
      }),
  )

  it.effect("a delivery under an expired lease does not count for that", () =>
    Effect.gen(function* () {
      const [stage, other] = yield* Effect.all([aStageWithKey(), aStageWithKey()])
      const endpoint = yield* anEndpoint(stage.key, { createdAt: noon })
      const bystander = yield* anEndpoint(other.key)
      yield* anEvent(stage.number)
      yield* anEvent(stage.number)
      yield* anEvent(other.number)
      const ran = yield* claimDue()
      const claimedDeliveries = yield* claimDue({ now: noon + 2 * hour })
      const ofEndpoint = (claimed: ReadonlyArray<ClaimedDelivery>) =>
        claimed.filter(({ targetId }) => targetId === endpoint.id)
      yield* settleDeliveries(
        delivered(at(ofEndpoint(ran), 0), { attemptedAt: noon + hour }),
        ...claimedDeliveries
          .filter(({ targetId }) => targetId === bystander.id)
          .map((each) => delivered(each)),
        refused(at(ofEndpoint(claimedDeliveries), 1), null, {
          stopUnlessDeliveredSince: noon + minute,
        }),
      )
      assert.strictEqual((yield* lookUpEndpoint(endpoint)).disabledReason, "delivery_failures")
      assert.lengthOf(yield* readLog(endpoint), 1)
      assert.isNull((yield* lookUpEndpoint(bystander)).disabledReason)
      assert.lengthOf(yield* readLog(bystander), 1)
    }),
  )

  it.effect("a resume counts as a delivery for that", () =>
    Effect.gen(function* () {
      const store = (yield* Store).webhooks
      const { key, number } = yield* aStageWithKey()
      const endpoint = yield* anEndpoint(key)
      yield* Store.use(({ workspaces: keys }) => keys.revokeKey(key.workspaceId, key.id, noon))
      yield* store.resume(toScope(key), endpoint.id, 1000, noon + day)
      for (const [since, reason] of [
        [noon + day - 1, null],
        [noon + day, "delivery_failures"],
      ] as const) {
        yield* anEvent(number)
        const claimed = yield* claimTheOne()
        yield* settleDeliveries(refused(claimed, null, { stopUnlessDeliveredSince: since }))
        assert.strictEqual((yield* lookUpEndpoint(endpoint)).disabledReason, reason)
      }
    }),
  )

  it.effect("deliveries in flight of an ended endpoint can no longer be settled", () =>
    Effect.gen(function* () {
      const { key, number } = yield* aStageWithKey()
      const endpoint = yield* anEndpoint(key)
      yield* anEvent(number)
      const claimed = yield* claimTheOne()
      yield* Store.use(({ workspaces: keys }) => keys.revokeKey(key.workspaceId, key.id, noon))
      yield* settleDeliveries(refused(claimed, noon + minute))
      assert.deepStrictEqual(yield* readLog(endpoint), [])
      assert.deepStrictEqual(yield* claimDue({ now: noon + day }), [])
      yield* Store.use(({ webhooks: store }) => store.remove(toScope(key), endpoint.id, noon))
      yield* settleDeliveries(delivered(claimed))
      assert.deepStrictEqual(yield* claimDue({ now: noon + day }), [])
    }),
  )

  it.effect("a redelivery is the same event with attempt 1", () =>
    Effect.gen(function* () {
      const store = (yield* Store).webhooks
      const { key, number } = yield* aStageWithKey()
      const endpoint = yield* anEndpoint(key)
      const event = yield* anEvent(number)
      const first = yield* claimTheOne()
      yield* settleDeliveries(delivered(first))
      const queued = yield* store.redeliver(toScope(key), endpoint.id, event.id, noon + 2 * hour)
      assert.deepStrictEqual(queued, { _tag: "Queued", type: "message.cancelled" })
      assert.deepStrictEqual(yield* claimDue({ now: noon + 2 * hour - 1 }), [])
      const again = yield* claimTheOne({ now: noon + 2 * hour })
      assert.deepStrictEqual(again, { ...first, id: again.id, lease: again.lease })
    }),
  )

  it.effect("a redelivery replaces the event's delivery that waits, and no other event's", () =>
    Effect.gen(function* () {
      const store = (yield* Store).webhooks
      const { key, number } = yield* aStageWithKey()
      const endpoint = yield* anEndpoint(key)
      const event = yield* anEvent(number)
      const other = yield* anEvent(number)
      const first = yield* claimDue({ now: noon })
      yield* settleDeliveries(...first.map((each) => refused(each, noon + day)))
      yield* store.redeliver(toScope(key), endpoint.id, event.id, noon + minute)
      yield* store.redeliver(toScope(key), endpoint.id, event.id, noon + 2 * minute)
      assert.deepStrictEqual(yield* claimDue({ now: noon + 2 * minute - 1 }), [])
      const again = yield* claimTheOne({ now: noon + 2 * minute })
      assert.deepStrictEqual([again.eventId, again.attempt], [event.id, 1])
      assert.deepStrictEqual(yield* getLines(endpoint), [
        [other.id, 1, noon + day],
        [event.id, 1, null],
      ])
      yield* settleDeliveries(delivered(again))
      assert.deepStrictEqual(getEvents(yield* claimDue({ now: noon + 2 * day }), endpoint), [
        other.id,
      ])
    }),
  )

  it.effect("redeliveries share the calls of their endpoint with the one in flight", () =>
    Effect.gen(function* () {
      const store = (yield* Store).webhooks
      const { key, number } = yield* aStageWithKey()
      const endpoint = yield* anEndpoint(key)
      const event = yield* anEvent(number)
      const query = { now: noon + hour, leaseUntil: noon + day, perTarget: 2 }
      const redeliver = store.redeliver(toScope(key), endpoint.id, event.id, noon + hour)
      const first = yield* claimTheOne(query)
      yield* redeliver
      const second = yield* claimTheOne(query)
      yield* redeliver
      yield* redeliver
      assert.deepStrictEqual(yield* claimDue(query), [])
      yield* settleDeliveries(delivered(first))
      const third = yield* claimTheOne(query)
      yield* settleDeliveries(delivered(second), delivered(third))
      assert.deepStrictEqual(yield* claimDue({ now: noon + 2 * day }), [])
      assert.deepStrictEqual(
        yield* getLines(endpoint),
        [1, 2, 3].map(() => [event.id, 1, null]),
      )
    }),
  )

  it.effect("a call in flight is logged after a redelivery, and only the latter is retried", () =>
    Effect.gen(function* () {
      const store = (yield* Store).webhooks
      const { key, number } = yield* aStageWithKey()
      const endpoint = yield* anEndpoint(key)
      const event = yield* anEvent(number)
      yield* settleDeliveries(refused(yield* claimTheOne({ now: noon }), noon + minute))
      const overtaken = yield* claimTheOne({ now: noon + minute, leaseUntil: noon + day })
      yield* store.redeliver(toScope(key), endpoint.id, event.id, noon + 2 * minute)
      const again = yield* claimTheOne({ now: noon + 2 * minute, leaseUntil: noon + day })
      yield* settleDeliveries(refused(overtaken, noon + hour), refused(again, noon + 2 * hour))
      assert.sameDeepMembers(Array.from(yield* getLines(endpoint)), [
        [event.id, 1, noon + 2 * hour],
        [event.id, 2, null],
        [event.id, 1, noon + minute],
      ])
      assert.deepStrictEqual(yield* claimDue({ now: noon + 2 * hour - 1 }), [])
      const retry = yield* claimTheOne({ now: noon + 2 * hour })
      assert.deepStrictEqual([retry.eventId, retry.attempt], [event.id, 2])
      yield* settleDeliveries(delivered(retry))
      assert.deepStrictEqual(yield* claimDue({ now: noon + 2 * day }), [])
    }),
  )

  it.effect("a call that a redelivery overtook is repeated when its lease ends, not retried", () =>
    Effect.gen(function* () {
      const store = (yield* Store).webhooks
      const { key, number } = yield* aStageWithKey()
      const endpoint = yield* anEndpoint(key)
      const event = yield* anEvent(number)
      const lost = yield* claimTheOne({ now: noon, leaseUntil: noon + minute })
      yield* store.redeliver(toScope(key), endpoint.id, event.id, noon + oneSecond)
      yield* settleDeliveries(delivered(yield* claimTheOne({ now: noon + oneSecond })))
      assert.deepStrictEqual(yield* claimDue({ now: noon + minute - 1 }), [])
      const repeated = yield* claimTheOne({ now: noon + minute })
      assert.deepStrictEqual(repeated, { ...lost, lease: repeated.lease })
      yield* settleDeliveries(refused(repeated, noon + hour))
      assert.deepStrictEqual(
        yield* getLines(endpoint),
        [1, 2].map(() => [event.id, 1, null]),
      )
      assert.deepStrictEqual(yield* claimDue({ now: noon + day }), [])
    }),
  )

  it.effect(
    "redelivers any event since the endpoint's creation, also from while it was stopped",
    () =>
      Effect.gen(function* () {
        const store = (yield* Store).webhooks
        const { key, number } = yield* aStageWithKey()
        const endpoint = yield* anEndpoint(key, { createdAt: noon + minute })
        const [before, since] = [
          yield* anEvent(number, { now: noon + minute - 1 }),
          yield* anEvent(number, { now: noon + minute }),
        ]
        yield* settleDeliveries(...(yield* claimDue()).map((each) => refused(each, null)))
        yield* Store.use(({ workspaces: keys }) =>
          keys.revokeKey(key.workspaceId, key.id, noon + minute),
        )
        const missed = yield* anEvent(number, { now: noon + hour })
        yield* store.resume(toScope(key), endpoint.id, 5, noon + 2 * hour)
        assert.deepStrictEqual(yield* claimDue({ now: noon + 3 * hour }), [])

        const redeliver = (id: EventId) =>
          Effect.map(
            store.redeliver(toScope(key), endpoint.id, id, noon + 2 * hour),
            ({ _tag }) => _tag,
          )
        assert.strictEqual(yield* redeliver(before.id), "NoEvent")
        assert.strictEqual(yield* redeliver(since.id), "Queued")
        assert.strictEqual(yield* redeliver(missed.id), "Queued")
        const claimed = yield* claimDue({ now: noon + 3 * hour })
        assert.deepStrictEqual(
          claimed.map(({ attempt, body, eventId }) => [eventId, attempt, body]),
          [since, missed].map(({ body, id }) => [id, 1, body]),
        )
      }),
  )

  it.effect(
    "does not redeliver events of another workspace, mode or type; pings only to their endpoint",
    () =>
      Effect.gen(function* () {
        const store = (yield* Store).webhooks
        const { key, number, workspace } = yield* aStageWithKey()
        const { key: test } = yield* aKey(workspace.id, { mode: "test" })
        const { key: stranger } = yield* aStageWithKey()
        const endpoint = yield* anEndpoint(key)
        const ping = { id: "evt_other_ping" as EventId, createdAt: noon, body: "{}" }
        yield* store.ping(toScope(key), endpoint.id, ping)
        const event = yield* anEvent(number)
        yield* settleDeliveries(...(yield* claimDue()).map((each) => refused(each, null)))

        const second = yield* anEndpoint(key)
        const unsubscribed = yield* anEndpoint(key, { events: ["message.sent"] })
        const tests = yield* anEndpoint(test)
        const others = yield* anEndpoint(stranger)
        const redeliver = (to: typeof endpoint, id: EventId) =>
          Effect.map(store.redeliver(toScope(to), to.id, id, noon), ({ _tag }) => _tag)
        assert.strictEqual(yield* redeliver(second, event.id), "Queued")
        assert.strictEqual(yield* redeliver(unsubscribed, event.id), "NoEvent")
        assert.strictEqual(yield* redeliver(endpoint, ping.id), "Queued")
        assert.strictEqual(yield* redeliver(second, ping.id), "NoEvent")
        assert.strictEqual(yield* redeliver(tests, event.id), "NoEvent")
        assert.strictEqual(yield* redeliver(others, event.id), "NoEvent")
        assert.strictEqual(yield* redeliver(endpoint, "evt_never" as EventId), "NoEvent")
        const claimed = yield* claimDue()
        assert.deepStrictEqual(getEvents(claimed, second), [event.id])
        assert.deepStrictEqual(getEvents(claimed, endpoint), [ping.id])
        assert.strictEqual(
          at(
            claimed.filter((each) => each.eventId === ping.id),
            0,
          ).body,
          "{}",
        )
      }),
  )
}
