/** Concurrent ends of messages, callback loops and the deletion of a workspace. */
import { assert } from "@effect/vitest"
import { Store } from "@messaging-service/core"
import type { ClaimedDelivery, EventId } from "@messaging-service/core"
import { Effect, Random } from "effect"
import { aCallback, aCallbackUrl, aCallingStage } from "../Calling.ts"
import { claimDue, delivered, refused, settleDeliveries, sharing } from "../Delivering.ts"
import { at } from "../Expect.ts"
import { atOnce, range } from "../Races.ts"
import type { Topic } from "../Topic.ts"
import { aWorkspace, below, day, hour, noon, someNumbers } from "../Records.ts"

interface Race {
  now: number
  writing: number
  readonly inFlight: Map<string, number>
  readonly created: Array<EventId>
  readonly perTarget: number
  readonly perWorkspace: number
}

const toTarget = ({ url }: ClaimedDelivery): string => new URL(url).origin

/** A callback loop that sometimes fails, and settles late. */
const loop = (race: Race) =>
  Effect.gen(function* () {
    const late: Array<ClaimedDelivery> = []
    const count = (claimed: ClaimedDelivery, by: 1 | -1): number => {
      const inFlight = (race.inFlight.get(toTarget(claimed)) ?? 0) + by
      race.inFlight.set(toTarget(claimed), inFlight)
      return inFlight
    }
    for (;;) {
      const last = race.writing === 0
      // No lease ends while the count in flight is checked against the limit.
      const now = ++race.now
      const claimed = yield* claimDue({
        now,
        leaseUntil: noon + day,
        limit: 1 + (yield* below(12)),
        perTarget: race.perTarget,
        ...sharing(race.perWorkspace, late),
      })
      for (const each of claimed) assert.isAtMost(count(each, 1), race.perTarget)
      assert.isAtMost(late.length + claimed.length, race.perWorkspace)
      yield* Effect.yieldNow
      late.push(...claimed)
      const ready = late.splice(0, last ? late.length : yield* below(late.length + 1))
      const results = yield* Effect.forEach(ready, (each) =>
        Effect.map(below(4), (random) => (random === 0 ? refused(each, now) : delivered(each))),
      )
      // Counted as free before the commit that frees it: another loop may claim as soon as it is over.
      for (const each of ready) count(each, -1)
      yield* settleDeliveries(...results)
      for (const [index, result] of results.entries()) {
        if (result.nextAttemptAt === null) race.created.push(at(ready, index).eventId)
      }
      if (last && claimed.length === 0 && late.length === 0 && ready.length === 0) return
      yield* Effect.yieldNow
    }
  })

export const callbackRaces: Topic = (it, { parallel }) => {
  const rounds = range(parallel ? 4 : 2)

  it.effect.each(rounds)(
    "makes every callback once, never too many at once to a target or of a workspace (round %i)",
    (round) =>
      Effect.gen(function* () {
        const { workspace } = yield* aCallingStage()
        const numbers = yield* someNumbers(workspace.id, 4)
        const urls = range(3).map(() => aCallbackUrl())
        const race: Race = {
          now: noon + hour,
          writing: 8,
          inFlight: new Map(),
          created: [],
          perTarget: 3,
          perWorkspace: 5,
        }
        const events: Array<EventId> = []
        const write = (index: number) =>
          Effect.forEach(range(6), (turn) =>
            Effect.map(aCallback(at(numbers, index % 4), at(urls, turn % 3)), ({ eventId }) =>
              events.push(eventId),
            ),
          ).pipe(Effect.ensuring(Effect.sync(() => race.writing--)))
        yield* Effect.all(
          [
            ...range(8).map((index) => write(index)),
            ...range(4).map((index) =>
              loop(race).pipe(Random.withSeed(`callbacks ${round} ${index}`)),
            ),
          ],
          atOnce,
        )
        assert.lengthOf(events, 48)
        assert.deepStrictEqual(race.created.toSorted(), events.toSorted())
        assert.deepStrictEqual(yield* claimDue({ now: noon + 2 * day }), [])
      }),
    60_000,
  )

  it.effect.each(rounds)(
    "leaves nothing of a workspace that is deleted meanwhile (round %i)",
    (round) =>
      Effect.gen(function* () {
        const store = (yield* Store).workspaces
        const workspace = yield* aWorkspace()
        const numbers = yield* someNumbers(workspace.id, 3)
        const url = aCallbackUrl()
        const write = (index: number) =>
          Effect.ignore(
            Effect.catchDefect(
              Effect.forEach(range(6), () => aCallback(at(numbers, index % 3), url)),
              // Nothing more is accepted: the builder's assertion does not hold any more.
              () => Effect.void,
            ),
          )
        const work = Effect.forEach(range(8), (turn) =>
          Effect.gen(function* () {
            const claimed = yield* claimDue({ perTarget: 2, limit: 3 })
            yield* settleDeliveries(
              ...claimed.map((each) => (turn % 2 === 0 ? delivered(each) : refused(each, noon))),
            )
          }),
        )
        const turns = Effect.flatMap(below(20), (count) =>
          Effect.forEach(range(count), () => Effect.yieldNow),
        )
        yield* Effect.all(
          [
            ...range(6).map((index) => write(index)),
            work,
            work,
            Effect.andThen(turns, store.delete(workspace.id, noon)),
          ],
          atOnce,
        ).pipe(Random.withSeed(`deleted ${round}`))
        assert.deepStrictEqual(yield* claimDue({ now: noon + 2 * day }), [])
      }),
    60_000,
  )
}
