/** Deliveries: who gets an event, how many at once, what a lease is worth, and what is written down. */
import { assert } from "@effect/vitest"
import { DeliveryQueue, KeyStore, WebhookStore, WorkStatus } from "@messaging-service/core"
import type { ClaimedDelivery, EventId } from "@messaging-service/core"
import { Effect } from "effect"
import {
  anEndpoint,
  anEvent,
  aStageWithKey,
  claimDue,
  claimTheOne,
  delivered,
  logOf,
  lookUpEndpoint,
  refused,
  scopeOf,
  settleAndClaimDue,
  settleDeliveries,
} from "../Delivering.ts"
import { at, only, present } from "../Expect.ts"
import { failed, cancelled, change, claimOne, end, sendNext, settle } from "../Sending.ts"
import type { Topic } from "../Topic.ts"
import {
  accepted,
  aKey,
  aMessage,
  anEra,
  aStage,
  day,
  hour,
  minute,
  noon,
  oneSecond,
} from "../World.ts"

const eventsOf = (claimed: ReadonlyArray<ClaimedDelivery>, endpoint: { readonly id: number }) =>
  claimed.filter(({ endpointId }) => endpointId === endpoint.id).map(({ eventId }) => eventId)

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

  it.effect("every attempt is written down, the latest beside its endpoint", () =>
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
      const [logged] = yield* logOf(endpoint)
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
      const [latest, before] = yield* logOf(endpoint)
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
      const store = yield* WebhookStore
      const { key, number } = yield* aStageWithKey()
      const endpoint = yield* anEndpoint(key)
      for (let made = 0; made < 5; made++) yield* anEvent(number)
      yield* settleDeliveries(...(yield* claimDue()).map((each) => delivered(each)))
      const all = yield* logOf(endpoint)
      assert.lengthOf(all, 5)
      const first = yield* store.attempts(endpoint.id, { before: null, limit: 2 })
      assert.deepStrictEqual(first.items, all.slice(0, 2))
      const second = yield* store.attempts(endpoint.id, { before: first.next, limit: 3 })
      assert.deepStrictEqual(second, { items: all.slice(2), next: null })
    }),
  )

  it.effect("old attempts are forgotten, later ones kept", () =>
    Effect.gen(function* () {
      const store = yield* WebhookStore
      const era = anEra()
      const { key, number } = yield* aStageWithKey(era)
      const endpoint = yield* anEndpoint(key)
      yield* anEvent(number, { now: era })
      yield* anEvent(number, { now: era })
      const [old, later] = yield* claimDue({ now: era })
      yield* settleDeliveries(delivered(present(old), { attemptedAt: era - 1 }))
      yield* settleDeliveries(delivered(present(later), { attemptedAt: era }))
      yield* store.forgetAttempts(era)
      assert.strictEqual(only(yield* logOf(endpoint)).attemptedAt, era)
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

        // It was made after that moment.
        yield* anEvent(number)
        yield* settleDeliveries(usedUp(yield* claimTheOne(), since))
        assert.isNull((yield* lookUpEndpoint(endpoint)).disabledReason)

        // Something was delivered after that moment, if only in the same commit.
        yield* anEvent(number)
        yield* anEvent(number)
        const [lost, got] = yield* claimDue()
        yield* settleDeliveries(
          usedUp(present(lost), noon + hour),
          delivered(present(got), { attemptedAt: noon + hour + 1 }),
        )
        assert.isNull((yield* lookUpEndpoint(endpoint)).disabledReason)

        // Nothing was: it stops, and what is pending ends with it.
        yield* anEvent(number)
        yield* anEvent(number)
        const [last, pending] = yield* claimDue()
        yield* settleDeliveries(refused(present(pending), noon + 2 * hour))
        yield* settleDeliveries(usedUp(present(last), noon + hour + 1))
        const stopped = yield* lookUpEndpoint(endpoint)
        assert.strictEqual(stopped.disabledReason, "delivery_failures")
        assert.deepStrictEqual(yield* claimDue({ now: noon + day }), [])
        const log = yield* logOf(endpoint)
        assert.isTrue(log.every((attempt) => attempt.nextAttemptAt === null))
      }),
  )

  it.effect("a resume counts as a delivery for that", () =>
    Effect.gen(function* () {
      const store = yield* WebhookStore
      const { key, number } = yield* aStageWithKey()
      const endpoint = yield* anEndpoint(key)
      yield* KeyStore.use((keys) => keys.revoke(key.workspaceId, key.id, noon))
      yield* store.resume(scopeOf(key), endpoint.id, 1000, noon + day)
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

  it.effect("what was in flight when its endpoint ended is settled by nobody", () =>
    Effect.gen(function* () {
      const { key, number } = yield* aStageWithKey()
      const endpoint = yield* anEndpoint(key)
      yield* anEvent(number)
      const claimed = yield* claimTheOne()
      yield* KeyStore.use((keys) => keys.revoke(key.workspaceId, key.id, noon))
      yield* settleDeliveries(refused(claimed, noon + minute))
      assert.deepStrictEqual(yield* logOf(endpoint), [])
      assert.deepStrictEqual(yield* claimDue({ now: noon + day }), [])
      yield* WebhookStore.use((store) => store.remove(scopeOf(key), endpoint.id, noon))
      yield* settleDeliveries(delivered(claimed))
      assert.deepStrictEqual(yield* claimDue({ now: noon + day }), [])
    }),
  )

  it.effect("a redelivery is the same event with attempt 1", () =>
    Effect.gen(function* () {
      const store = yield* WebhookStore
      const { key, number } = yield* aStageWithKey()
      const endpoint = yield* anEndpoint(key)
      const event = yield* anEvent(number)
      const first = yield* claimTheOne()
      yield* settleDeliveries(delivered(first))
      const queued = yield* store.redeliver(scopeOf(key), endpoint.id, event.id, noon + 2 * hour)
      assert.deepStrictEqual(queued, { _tag: "Queued", type: "message.cancelled" })
      assert.deepStrictEqual(yield* claimDue({ now: noon + 2 * hour - 1 }), [])
      const again = yield* claimTheOne({ now: noon + 2 * hour })
      assert.deepStrictEqual(again, { ...first, id: again.id, lease: again.lease })
    }),
  )

  it.effect("a redelivery takes the place of what is pending of that event, in flight or not", () =>
    Effect.gen(function* () {
      const store = yield* WebhookStore
      const { key, number } = yield* aStageWithKey()
      const endpoint = yield* anEndpoint(key)
      const event = yield* anEvent(number)
      const other = yield* anEvent(number)
      const [mine, others] = yield* claimDue({ now: noon })
      yield* settleDeliveries(
        refused(present(mine), noon + minute),
        refused(present(others), noon + minute),
      )
      const retry = yield* claimDue({ now: noon + minute, leaseUntil: noon + day })
      assert.lengthOf(retry, 2)
      const at2 = noon + 2 * minute
      yield* store.redeliver(scopeOf(key), endpoint.id, event.id, at2)
      const again = yield* claimTheOne({ now: at2 })
      assert.deepStrictEqual([again.eventId, again.attempt], [event.id, 1])
      // The attempt that was replaced is not tried again; the other event's is.
      const log = yield* logOf(endpoint)
      assert.deepStrictEqual(
        log.map(({ eventId, nextAttemptAt }) => [eventId, nextAttemptAt]),
        [
          [other.id, noon + minute],
          [event.id, null],
        ],
      )
      yield* settleDeliveries(...retry.map((each) => delivered(each)), delivered(again))
      assert.lengthOf(yield* logOf(endpoint), 4)
      assert.deepStrictEqual(yield* claimDue({ now: noon + 2 * day }), [])
    }),
  )

  it.effect("only events that were attempted in the same workspace and mode are redelivered", () =>
    Effect.gen(function* () {
      const store = yield* WebhookStore
      const { key, number, workspace } = yield* aStageWithKey()
      const { key: test } = yield* aKey(workspace.id, { mode: "test" })
      const { key: stranger } = yield* aStageWithKey()
      const endpoint = yield* anEndpoint(key)
      const ping = { id: "evt_other_ping" as EventId, createdAt: noon, body: "{}" }
      yield* store.ping(scopeOf(key), endpoint.id, ping)
      const event = yield* anEvent(number)
      yield* settleDeliveries(...(yield* claimDue()).map((each) => refused(each, null)))

      // Made later, and in the same mode: what it missed can be delivered to it, pings aside.
      const late = yield* anEndpoint(key)
      const tests = yield* anEndpoint(test)
      const others = yield* anEndpoint(stranger)
      const redeliver = (to: typeof endpoint, id: EventId) =>
        Effect.map(store.redeliver(scopeOf(to), to.id, id, noon), ({ _tag }) => _tag)
      assert.strictEqual(yield* redeliver(late, event.id), "Queued")
      assert.strictEqual(yield* redeliver(endpoint, ping.id), "Queued")
      assert.strictEqual(yield* redeliver(late, ping.id), "NoEvent")
      assert.strictEqual(yield* redeliver(tests, event.id), "NoEvent")
      assert.strictEqual(yield* redeliver(others, event.id), "NoEvent")
      assert.strictEqual(yield* redeliver(endpoint, "evt_never" as EventId), "NoEvent")
      const claimed = yield* claimDue()
      assert.deepStrictEqual(eventsOf(claimed, late), [event.id])
      assert.deepStrictEqual(eventsOf(claimed, endpoint), [ping.id])
      assert.strictEqual(
        at(
          claimed.filter((each) => each.eventId === ping.id),
          0,
        ).body,
        "{}",
      )
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
        const status = yield* WorkStatus
        const era = anEra()
        const { key, number } = yield* aStageWithKey(era)
        // What earlier tests left behind is looked at, and is nothing.
        assert.deepStrictEqual(yield* claimDue({ now: era }), [])
        assert.isNull(yield* nextDue(era))
        const endpoint = yield* anEndpoint(key, { createdAt: era })
        assert.isNull(yield* nextDue(era))
        assert.isNull(yield* status.deliveringUntil)
        yield* anEvent(number, { now: era })
        assert.isAtMost(present(yield* nextDue(era)), era)
        const claimed = yield* claimTheOne({ now: era, leaseUntil: era + minute })
        assert.strictEqual(yield* nextDue(era), era + minute)
        assert.strictEqual(yield* status.deliveringUntil, era + minute)
        yield* settleDeliveries(refused(claimed, era + hour))
        assert.strictEqual(yield* nextDue(era), era + hour)
        assert.isNull(yield* status.deliveringUntil)
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
