/** Concurrent writers of events, delivery loops, and calls that end endpoints. */
import { assert } from "@effect/vitest"
import { endpointLimit, Store } from "@messaging-service/core"
import type { ClaimedDelivery, EventId, WebhookEndpoint } from "@messaging-service/core"
import { Effect, Random } from "effect"
import {
  anEndpoint,
  anEvent,
  aNewWebhook,
  aStageWithKey,
  claimDue,
  delivered,
  readLog,
  refused,
  toScope,
  settleAndClaimDue,
  settleDeliveries,
} from "../Delivering.ts"
import { at } from "../Expect.ts"
import { atOnce, range } from "../Races.ts"
import type { Topic } from "../Topic.ts"
import { aKey, below, day, hour, noon, oneSecond, someNumbers } from "../Records.ts"

interface Race {
  now: number
  writing: number
  readonly inFlight: Map<number, number>
  readonly deliveredTo: Map<number, Array<EventId>>
  readonly perTarget: number
}

/** A delivery loop that sometimes fails, settles late, or forgets a claim. */
const loop = (race: Race) =>
  Effect.gen(function* () {
    const late: Array<ClaimedDelivery> = []
    const hold = (claimed: ReadonlyArray<ClaimedDelivery>) => {
      for (const { targetId } of claimed) {
        const inFlight = (race.inFlight.get(targetId) ?? 0) + 1
        race.inFlight.set(targetId, inFlight)
        assert.isAtMost(inFlight, race.perTarget)
      }
      late.push(...claimed)
    }
    const release = (claimed: ClaimedDelivery) =>
      race.inFlight.set(claimed.targetId, (race.inFlight.get(claimed.targetId) ?? 0) - 1)
    for (;;) {
      const last = race.writing === 0
      // No lease ends while the count in flight is checked against the limit.
      const now = ++race.now
      const query = {
        now,
        leaseUntil: noon + day,
        limit: 1 + (yield* below(12)),
        perTarget: race.perTarget,
      }
      const claimed = yield* claimDue(query)
      hold(claimed)
      yield* Effect.yieldNow
      const ready = late.splice(0, last ? late.length : yield* below(late.length + 1))
      const results = yield* Effect.forEach(ready, (each) =>
        Effect.map(below(4), (random) => (random === 0 ? refused(each, now) : delivered(each))),
      )
      // Counted as free before the commit that frees it: another loop may claim as soon as it is over.
      for (const each of ready) release(each)
      // One loop in two does both in one step.
      if (!last && (yield* below(2)) === 0) hold(yield* settleAndClaimDue(results, query))
      else yield* settleDeliveries(...results)
      for (const [index, result] of results.entries()) {
        if (result.error !== null) continue
        const { targetId, eventId } = at(ready, index)
        race.deliveredTo.set(targetId, [...(race.deliveredTo.get(targetId) ?? []), eventId])
      }
      if (last && claimed.length === 0 && late.length === 0 && ready.length === 0) return
      yield* Effect.yieldNow
    }
  })

const sorted = (events: ReadonlyArray<EventId>) => events.toSorted()

export const deliveryRaces: Topic = (it, { parallel }) => {
  const rounds = range(parallel ? 4 : 2)

  it.effect.each(rounds)(
    "delivers every event once to every endpoint, never too many at once (round %i)",
    (round) =>
      Effect.gen(function* () {
        const { key, workspace } = yield* aStageWithKey()
        const numbers = yield* someNumbers(workspace.id, 4)
        const endpoints = yield* Effect.forEach(range(3), () => anEndpoint(key))
        const race: Race = {
          now: noon + hour,
          writing: 8,
          inFlight: new Map(),
          deliveredTo: new Map(),
          perTarget: 3,
        }
        const events: Array<EventId> = []
        const write = (index: number) =>
          Effect.forEach(range(10), () =>
            Effect.map(anEvent(at(numbers, index % 4)), ({ id }) => events.push(id)),
          ).pipe(Effect.ensuring(Effect.sync(() => race.writing--)))
        yield* Effect.all(
          [
            ...range(8).map((index) => write(index)),
            ...range(4).map((index) =>
              loop(race).pipe(Random.withSeed(`deliveries ${round} ${index}`)),
            ),
          ],
          atOnce,
        )
        assert.lengthOf(events, 80)
        for (const { id } of endpoints) {
          assert.deepStrictEqual(sorted(race.deliveredTo.get(id) ?? []), sorted(events))
        }
        assert.deepStrictEqual(yield* claimDue({ now: noon + 2 * day }), [])
      }),
    60_000,
  )

  it.effect.each(rounds)(
    "redeliveries during calls exceed no limit, and lose no attempt (round %i)",
    (round) =>
      Effect.gen(function* () {
        const store = (yield* Store).webhooks
        const { key, number } = yield* aStageWithKey()
        const endpoint = yield* anEndpoint(key)
        const events = yield* Effect.forEach(range(3), () => anEvent(number))
        const race: Race = {
          now: noon + hour,
          writing: 4,
          inFlight: new Map(),
          deliveredTo: new Map(),
          perTarget: 3,
        }
        const redeliver = Effect.forEach(range(10), () =>
          Effect.gen(function* () {
            const { id } = at(events, yield* below(3))
            yield* store.redeliver(toScope(key), endpoint.id, id, race.now)
            yield* Effect.yieldNow
          }),
        ).pipe(Effect.ensuring(Effect.sync(() => race.writing--)))
        yield* Effect.all(
          [...range(4).map(() => redeliver), ...range(3).map(() => loop(race))],
          atOnce,
        ).pipe(Random.withSeed(`redeliveries ${round}`))
        const log = yield* readLog(endpoint)
        assert.deepStrictEqual(
          sorted(log.flatMap(({ error, eventId }) => (error === null ? eventId : []))),
          sorted(race.deliveredTo.get(endpoint.id) ?? []),
        )
        assert.deepStrictEqual(yield* claimDue({ now: noon + 2 * day }), [])
      }),
    60_000,
  )

  it.effect.each(rounds)(
    "an endpoint that ends while events are written gets nothing afterwards (round %i)",
    (round) =>
      Effect.gen(function* () {
        const { key, workspace } = yield* aStageWithKey()
        const { key: doomed } = yield* aKey(workspace.id)
        const numbers = yield* someNumbers(workspace.id, 4)
        const stays = yield* anEndpoint(key)
        const stops = yield* anEndpoint(doomed)
        const goes = yield* anEndpoint(key)
        const store = (yield* Store).webhooks
        const write = (index: number) =>
          Effect.forEach(range(6), () => anEvent(at(numbers, index % 4)))
        const turns = (bound: number) =>
          Effect.flatMap(below(bound), (count) =>
            Effect.forEach(range(count), () => Effect.yieldNow),
          )
        const claims: Array<ClaimedDelivery> = []
        const claim = Effect.forEach(range(6), () =>
          Effect.map(claimDue({ leaseUntil: noon + 2 * day, limit: 5 }), (more) =>
            claims.push(...more),
          ),
        )
        yield* Effect.all(
          [
            ...range(6).map((index) => write(index)),
            claim,
            Effect.andThen(
              turns(20),
              Store.use(({ workspaces: keys }) => keys.revokeKey(workspace.id, doomed.id, noon)),
            ),
            Effect.andThen(turns(20), store.remove(toScope(goes), goes.id, noon)),
          ],
          atOnce,
        ).pipe(Random.withSeed(`ends ${round}`))
        // Earlier claims are lost with the endpoint; the others are gone.
        yield* settleDeliveries(...claims.map((each) => delivered(each)))
        const rest = yield* claimDue({ now: noon + day })
        assert.isTrue(rest.every(({ targetId }) => targetId === stays.id))
        yield* settleDeliveries(...rest.map((each) => delivered(each)))
        assert.lengthOf(yield* readLog(stays), 36)
        // None of them returns.
        yield* store.resume(toScope(stops), stops.id, endpointLimit, noon)
        assert.deepStrictEqual(yield* claimDue({ now: noon + day }), [])
      }),
    60_000,
  )

  it.effect.each(rounds)("concurrent creations stay within the limit (round %i)", () =>
    Effect.gen(function* () {
      const store = (yield* Store).webhooks
      const { key, workspace } = yield* aStageWithKey()
      const { key: test } = yield* aKey(workspace.id, { mode: "test" })
      const outcomes = yield* Effect.forEach(
        range(12),
        (index) => store.insert(aNewWebhook(index % 2 === 0 ? key : test), endpointLimit, null),
        atOnce,
      )
      const endpoints = outcomes.flatMap((outcome) =>
        outcome._tag === "Inserted" ? [outcome.endpoint] : [],
      )
      assert.lengthOf(endpoints, endpointLimit)
      // A concurrent revocation leaves no endpoint of the key running.
      const remove = (endpoint: WebhookEndpoint) =>
        store.remove(toScope(endpoint), endpoint.id, noon)
      yield* Effect.forEach(endpoints, remove)
      yield* Effect.all(
        [
          ...range(4).map(() => store.insert(aNewWebhook(key), endpointLimit, null)),
          Store.use(({ workspaces: keys }) =>
            keys.revokeKey(workspace.id, key.id, noon + oneSecond),
          ),
        ],
        atOnce,
      )
      assert.deepStrictEqual(yield* store.list(toScope(key), false), [])
    }),
  )
}
