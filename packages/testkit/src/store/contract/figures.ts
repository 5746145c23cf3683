/**
 * `ServiceFigures` cover the whole store, so each test checks what it adds to them, and uses its
 * own era for the earliest.
 */
import { assert } from "@effect/vitest"
import { maxCounted, Store } from "@messaging-service/core"
import type { Figures } from "@messaging-service/core"
import { Effect } from "effect"
import {
  aStageWithKey,
  anEndpoint,
  anEvent,
  claimDue,
  claimTheOne,
  delivered,
  refused,
  settleDeliveries,
} from "../Delivering.ts"
import { again, claimOne, settle } from "../Sending.ts"
import type { Topic } from "../Topic.ts"
import { accepted, aMessage, anEra, aNumber, aStage, hour, minute, oneSecond } from "../Records.ts"

const figuresAt = (now: number, countAtMost = maxCounted) =>
  Store.use(({ system: figures }) => figures.figures(now, countAtMost))

type Counted = "queued" | "scheduled" | "lanesInFlight" | "leasesRunOut" | "deliveries" | "retries"

const getCounts = (figures: Figures, names: ReadonlyArray<Counted>) =>
  names.map((name) => figures[name])

/** What was added to these counts since `before`. */
const added = (before: Figures, now: number, ...names: ReadonlyArray<Counted>) =>
  Effect.map(figuresAt(now), (after) => names.map((name) => after[name] - before[name]))

export const figures: Topic = (it) => {
  it.effect("counts stop at the requested maximum", () =>
    Effect.gen(function* () {
      const era = anEra()
      const { key, number } = yield* aStageWithKey(era)
      yield* anEndpoint(key)
      yield* anEndpoint(key)
      yield* accepted(number, { count: 3, now: era })
      yield* anEvent(number, { now: era })
      const few = yield* figuresAt(era, 2)
      assert.strictEqual(few.queued + few.scheduled, 2)
      const one = yield* figuresAt(era, 1)
      assert.deepStrictEqual(getCounts(one, ["deliveries", "retries"]), [1, 0])
    }),
  )

  it.effect("the figures name the first due message of connected numbers and of the others", () =>
    Effect.gen(function* () {
      const { numbers } = yield* Store
      const era = anEra()
      const { number, workspace } = yield* aStage({ createdAt: era })
      const other = yield* aNumber(workspace.id, { createdAt: era })
      yield* accepted(number, { count: 2, now: era + hour })
      yield* aMessage(other, { now: era + minute })
      yield* aMessage(other, { now: era, expiresAt: era + oneSecond })
      assert.strictEqual((yield* figuresAt(era)).firstDueAt.connected, era)
      const now = era + 2 * hour
      assert.strictEqual((yield* figuresAt(now)).firstDueAt.connected, era + minute)
      yield* numbers.setStatus(other.id, "disconnected", undefined, now)
      assert.deepStrictEqual((yield* figuresAt(now)).firstDueAt, {
        connected: era + hour,
        notConnected: era + minute,
      })
      yield* Store.use(({ workspaces: store }) => store.delete(workspace.id, now))
      const { connected, notConnected } = (yield* figuresAt(now)).firstDueAt
      assert.isTrue(connected === null || connected > era + hour)
      assert.isTrue(notConnected === null || notConnected > era + hour)
    }),
  )

  it.effect("a lane is behind from the moment at which it could have been claimed", () =>
    Effect.gen(function* () {
      const { numbers } = yield* Store
      const era = anEra()
      const { number } = yield* aStage({ createdAt: era })
      yield* aMessage(number, { now: era })
      assert.strictEqual((yield* figuresAt(era + hour)).laneDueAt, era)
      const rest = era + minute
      yield* settle([again(yield* claimOne(number, { now: era }), { notBefore: rest })], era)
      assert.strictEqual((yield* figuresAt(era + hour)).laneDueAt, rest)
      yield* numbers.setStatus(number.id, "disconnected", undefined, era)
      const { firstDueAt, laneDueAt } = yield* figuresAt(era + hour)
      assert.isTrue(laneDueAt === null || laneDueAt > rest)
      assert.strictEqual(firstDueAt.notConnected, era)
    }),
  )

  it.effect("a delivery counts until it is made or given up, as a retry once it has failed", () =>
    Effect.gen(function* () {
      const era = anEra()
      const { key, number } = yield* aStageWithKey(era)
      yield* anEndpoint(key, { createdAt: era })
      const before = yield* figuresAt(era)
      yield* anEvent(number, { now: era })
      assert.deepStrictEqual(yield* added(before, era, "deliveries", "retries"), [1, 0])
      const first = yield* claimTheOne({ now: era })
      assert.deepStrictEqual(yield* added(before, era, "deliveries", "retries"), [1, 0])
      yield* settleDeliveries(refused(first, era + minute))
      assert.deepStrictEqual(yield* added(before, era, "deliveries", "retries"), [1, 1])
      assert.lengthOf(yield* claimDue({ now: era }), 0)
      yield* settleDeliveries(delivered(yield* claimTheOne({ now: era + minute })))
      assert.deepStrictEqual(yield* added(before, era, "deliveries", "retries"), [0, 0])
    }),
  )
}
