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
