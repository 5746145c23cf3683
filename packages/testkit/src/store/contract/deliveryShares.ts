/** What people write and other events share the calls to an endpoint. */
import { assert } from "@effect/vitest"
import {
  eventTypes,
  receivedCallsShare,
  receivedEventTypes,
  Store,
  webhookEventTypes,
} from "@messaging-service/core"
import type { ClaimedDelivery, DeliveryResult, EventId, EventType } from "@messaging-service/core"
import { Effect } from "effect"
import {
  anEndpoint,
  anEvent,
  aStageWithKey,
  claimDue,
  delivered,
  refused,
  settleAndClaimDue,
  settleDeliveries,
  toScope,
} from "../Delivering.ts"
import { at, present } from "../Expect.ts"
import { day, hour, minute, noon } from "../Records.ts"
import type { Topic } from "../Topic.ts"
import { aText, received, turnOn } from "./receiving.ts"

/** A workspace with conversations, and an endpoint of these events. */
const aSharedStage = (events: ReadonlyArray<EventType> = eventTypes) =>
  Effect.gen(function* () {
    const { key, number, workspace } = yield* aStageWithKey()
    yield* turnOn(workspace.id)
    const endpoint = yield* anEndpoint(key, { events })
    return {
      endpoint,
      number,
      scope: toScope(key),
      write: (count: number, now = noon) =>
        received(
          number,
          Array.from({ length: count }, () => aText()),
          now,
        ),
      announce: (count: number, now = noon + minute) =>
        Effect.replicateEffect(
          Effect.map(anEvent(number, { now }), ({ id }) => id),
          count,
        ),
    }
  })

/** Five at once, as the delivery loop asks for them. */
const claimFive = (now = noon + hour) => claimDue({ now, perTarget: 5 })

const isReceived = ({ body }: Pick<ClaimedDelivery, "body">): boolean =>
  body.includes('"type":"message.received"')

/** How many of them tell what people write, and how many do not. */
const counts = (claimed: ReadonlyArray<ClaimedDelivery>) => [
  claimed.filter(isReceived).length,
  claimed.filter((one) => !isReceived(one)).length,
]

const ids = (claimed: ReadonlyArray<ClaimedDelivery>): ReadonlyArray<EventId> =>
  claimed.map(({ eventId }) => eventId)

export const deliveryShares: Topic = (it) => {
  it.effect(
    "of five calls to an endpoint at most three tell what people write while other events wait",
    () =>
      Effect.gen(function* () {
        const { announce, write } = yield* aSharedStage()
        yield* write(12)
        const others = yield* announce(5)
        const underWay = [...(yield* claimFive())]
        assert.deepStrictEqual(counts(underWay), [3, 2])
        assert.deepStrictEqual(ids(underWay).slice(3), others.slice(0, 2))
        assert.deepStrictEqual(yield* claimFive(), [])
        const started: Array<EventId> = [...ids(underWay)]
        while (underWay.length > 0) {
          // One ends, of either kind in turn.
          const [ended] = underWay.splice(started.length % underWay.length, 1)
          const next = yield* settleAndClaimDue([delivered(present(ended))], { perTarget: 5 })
          underWay.push(...next)
          started.push(...ids(next))
          const waits = others.some((id) => !started.includes(id))
          if (waits) assert.isAtMost(counts(underWay)[0] ?? 0, receivedCallsShare)
          assert.lengthOf(underWay, Math.min(5, 17 - started.length + underWay.length))
        }
        assert.lengthOf(new Set(started), 17)
        assert.deepStrictEqual(
          started.filter((id) => others.includes(id)),
          others,
        )
      }),
  )

  it.effect("what people write takes every call while nothing else is due", () =>
    Effect.gen(function* () {
      const { announce, write } = yield* aSharedStage()
      yield* write(9)
      const [failing] = yield* announce(1, noon - minute)
      const first = yield* claimFive(noon)
      assert.deepStrictEqual(counts(first), [4, 1])
      assert.strictEqual(at(first, 0).eventId, failing)
      // It waits for its next attempt, not for a call.
      const more = yield* settleAndClaimDue([refused(at(first, 0), noon + 1)], {
        now: noon,
        leaseUntil: noon + day,
        perTarget: 5,
      })
      assert.deepStrictEqual(counts(more), [1, 0])
      const later = yield* announce(2, noon)
      const next = (results: ReadonlyArray<DeliveryResult>) =>
        settleAndClaimDue(results, { now: noon, leaseUntil: noon + day, perTarget: 5 })
      assert.deepStrictEqual(ids(yield* next([delivered(at(first, 1))])), later.slice(0, 1))
      assert.deepStrictEqual(ids(yield* next([delivered(at(first, 2))])), later.slice(1))
      assert.deepStrictEqual(counts(yield* next([delivered(at(first, 3))])), [1, 0])
    }),
  )

  it.effect(
    "pings and redeliveries pass what people write, and a limit of calls keeps the order",
    () =>
      Effect.gen(function* () {
        const { announce, endpoint, scope, write } = yield* aSharedStage()
        const store = (yield* Store).webhooks
        const [again, missed] = yield* announce(2, noon)
        const [one, other] = yield* claimFive()
        yield* settleDeliveries(delivered(present(one)), refused(present(other), noon + day))
        yield* write(9)
        const ping = { id: "evt_shared_ping" as EventId, createdAt: noon + minute, body: "{}" }
        yield* store.ping(scope, endpoint.id, ping)
        yield* store.redeliver(scope, endpoint.id, present(again), noon + minute)
        const undelivered = yield* store.undelivered(scope, endpoint.id, noon, 100)
        yield* store.recover(scope, endpoint.id, undelivered, noon + minute)
        const four = yield* claimDue({ perTarget: 6, limit: 4 })
        const rest = yield* claimDue({ perTarget: 6 })
        assert.deepStrictEqual(ids([...four, ...rest]).slice(3), [ping.id, again, missed])
        assert.deepStrictEqual(counts([...four, ...rest]), [3, 3])
      }),
  )

  it.effect(
    "an endpoint shares its calls from when it names what people write until it no longer does",
    () =>
      Effect.gen(function* () {
        const { announce, endpoint, scope, write } = yield* aSharedStage(webhookEventTypes)
        const store = (yield* Store).webhooks
        const take = Effect.gen(function* () {
          yield* write(6)
          yield* announce(4)
          const claimed = yield* claimFive()
          yield* settleDeliveries(...claimed.map((each) => delivered(each)))
          return counts(claimed)
        })
        assert.deepStrictEqual(yield* take, [0, 4])
        const events = ["message.cancelled", ...receivedEventTypes] as const
        yield* store.update(scope, endpoint.id, { events })
        assert.deepStrictEqual(yield* take, [3, 2])
        yield* store.update(scope, endpoint.id, { description: "still the same events" })
        assert.deepStrictEqual(yield* take, [3, 2])
        yield* store.update(scope, endpoint.id, { events: webhookEventTypes })
        // What waits already keeps its place.
        assert.deepStrictEqual(yield* take, [5, 0])
      }),
  )
}
