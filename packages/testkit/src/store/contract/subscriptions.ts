/** `SubscriptionStore`: each name's position, its lease, and how many names there are. */
import { assert } from "@effect/vitest"
import { Store } from "@messaging-service/core"
import { Effect } from "effect"
import { atOnce, range } from "../Races.ts"
import type { Topic } from "../Topic.ts"
import { aHash, anEra, day, hour } from "../Records.ts"

const many = 10_000

const aSubscription = (now: number, reached = 7) =>
  Effect.gen(function* () {
    const store = (yield* Store).webhooks
    const name = `Emails "Zoë" ${aHash()}`
    assert.strictEqual(
      yield* store.insertSubscription({ name, reached, now, most: many }),
      "inserted",
    )
    return { name, store }
  })

export const subscriptions: Topic = (it) => {
  it.effect("a name has a position, and a lease that only its number renews", () =>
    Effect.gen(function* () {
      const now = anEra()
      const { name, store } = yield* aSubscription(now)
      assert.isNull(yield* store.findSubscription(`${name}!`))
      const fresh = { reached: 7, lease: 0, leaseUntil: now }
      assert.deepStrictEqual(yield* store.findSubscription(name), fresh)
      const until = now + hour
      const claimed = { reached: 7, lease: 1, leaseUntil: until }
      assert.deepStrictEqual(yield* store.claimSubscription({ name, lease: 0, until }), claimed)
      assert.isNull(yield* store.claimSubscription({ name, lease: 0, until }))
      const next = { name, lease: 1, reached: 9_007_199_254_740_991, until: until + 1 }
      assert.isTrue(yield* store.saveSubscription(next))
      assert.isFalse(yield* store.saveSubscription({ ...next, lease: 0, reached: 8 }))
      assert.isFalse(yield* store.saveSubscription({ ...next, name: "unknown" }))
      assert.isNull(yield* store.claimSubscription({ name: "unknown", lease: 0, until }))
      assert.deepStrictEqual(yield* store.findSubscription(name), {
        reached: next.reached,
        lease: 1,
        leaseUntil: next.until,
      })
      const again = { name, reached: 0, now, most: many }
      assert.strictEqual(yield* store.insertSubscription(again), "exists")
    }),
  )

  it.effect("a late write of its holder renews the lease, and moves no position back", () =>
    Effect.gen(function* () {
      const now = anEra()
      const { name, store } = yield* aSubscription(now)
      yield* store.claimSubscription({ name, lease: 0, until: now + hour })
      const write = (reached: number, until: number) =>
        store.saveSubscription({ name, lease: 1, reached, until })
      assert.isTrue(yield* write(12, now + hour))
      assert.isTrue(yield* write(11, now + 2 * hour))
      assert.deepStrictEqual(yield* store.findSubscription(name), {
        reached: 12,
        lease: 1,
        leaseUntil: now + 2 * hour,
      })
    }),
  )

  it.effect("one of concurrent claims wins, and concurrent names keep to the limit", () =>
    Effect.gen(function* () {
      const now = anEra()
      const { name, store } = yield* aSubscription(now)
      const claims = yield* Effect.forEach(
        range(5),
        () => store.claimSubscription({ name, lease: 0, until: now + hour }),
        atOnce,
      )
      assert.lengthOf(
        claims.filter((claim) => claim !== null),
        1,
      )
      yield* store.forgetSubscriptions(now + 1_000 * day)
      const added = yield* Effect.forEach(
        range(5),
        () => store.insertSubscription({ name: aHash(), reached: 0, now, most: 2 }),
        atOnce,
      )
      assert.lengthOf(
        added.filter((outcome) => outcome === "inserted"),
        2,
      )
      assert.lengthOf(
        added.filter((outcome) => outcome === "full"),
        3,
      )
    }),
  )

  it.effect("names whose lease ended before are forgotten", () =>
    Effect.gen(function* () {
      const now = anEra()
      const { name, store } = yield* aSubscription(now)
      const other = yield* aSubscription(now + 1)
      yield* store.forgetSubscriptions(now + 1)
      assert.isNull(yield* store.findSubscription(name))
      assert.isNotNull(yield* store.findSubscription(other.name))
    }),
  )
}
