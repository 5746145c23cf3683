/** `LinkingStore`: what attempts show, and how they end: linked, given up, or over. */
import { assert } from "@effect/vitest"
import { Store } from "@messaging-service/core"
import { Effect } from "effect"
import { only, present } from "../Expect.ts"
import { claimOne, connectionFacts, sent, settle } from "../Sending.ts"
import { readNextDue } from "../Reading.ts"
import type { Topic } from "../Topic.ts"
import { aMessage, anEra, aWorkspace, hour, minute, oneSecond, abandoned } from "../Records.ts"
import { digits, aLinking, claimAll, abandon } from "../Linking.ts"

export const linkingEnds: Topic = (it) => {
  it.effect("a link connects the number, whose lane can be claimed from then on", () =>
    Effect.gen(function* () {
      const { numbers: store, queue: status } = yield* Store
      const era = anEra()
      const { id: workspaceId } = yield* aWorkspace()
      const { attempt, number } = yield* aLinking(workspaceId, era)
      const message = yield* aMessage(number, { now: era })

      const lanes = yield* status.nextDue("lanes")
      assert.isTrue(lanes === null || lanes > era)
      const phone = digits()
      const linked = yield* store.linked(attempt.id, phone, era + oneSecond)
      assert.deepStrictEqual(linked, { ...number, status: "connected", phone })
      assert.deepStrictEqual(yield* Store.use(({ numbers: all }) => all.find(number.id)), linked)
      assert.isNull(yield* store.getLinking(number.id))
      assert.isNull(yield* store.linked(attempt.id, phone, era + oneSecond))
      const claimed = yield* claimOne(number, { now: era + oneSecond, leaseUntil: era + minute })
      assert.strictEqual(claimed.message.id, message.id)
      yield* settle([sent(claimed, era + oneSecond)], era + oneSecond)
    }),
  )

  it.effect("a link ends the number's own pauses, and no operator's", () =>
    Effect.gen(function* () {
      const store = (yield* Store).numbers
      const { pause } = (yield* Store).queue
      const era = anEra()
      const { id: workspaceId } = yield* aWorkspace()
      for (const operators of [null, { until: era + hour, reason: "paused" as const }]) {
        const { attempt, number } = yield* aLinking(workspaceId, era)
        const message = yield* aMessage(number, { now: era })
        if (operators !== null) yield* pause(number.id, operators, era)
        yield* pause(number.id, { until: null, reason: "banned" }, era)
        yield* store.linked(attempt.id, digits(), era + oneSecond)
        const paused = (yield* connectionFacts(number)).pause
        assert.deepStrictEqual(paused, operators)
        const now = operators === null ? era + oneSecond : era + hour
        const claimed = yield* claimOne(number, { now, leaseUntil: now + minute })
        assert.strictEqual(claimed.message.id, message.id)
        yield* settle([sent(claimed, now)], now)
      }
    }),
  )

  it.effect("one of concurrently linked numbers with one phone is connected", () =>
    Effect.gen(function* () {
      const store = (yield* Store).numbers
      const era = anEra()
      const { id: workspaceId } = yield* aWorkspace()
      const phone = digits()
      const created = yield* Effect.forEach(Array.from({ length: 5 }), () =>
        aLinking(workspaceId, era),
      )
      const linked = yield* Effect.forEach(
        created,
        ({ attempt }) => store.linked(attempt.id, phone, era),
        { concurrency: "unbounded" },
      )
      assert.lengthOf(
        linked.filter((number) => number?.status === "connected" && number.phone === phone),
        1,
      )
      assert.lengthOf(
        linked.filter((number) => number?.status === "disconnected" && number.phone === null),
        4,
      )
    }),
  )

  it.effect("one of a concurrent link and end happens", () =>
    Effect.gen(function* () {
      const store = (yield* Store).numbers
      const era = anEra()
      const { id: workspaceId } = yield* aWorkspace()
      for (let round = 0; round < 10; round++) {
        const { attempt, number } = yield* aLinking(workspaceId, era)
        const phone = digits()
        const [linked, ended] = yield* Effect.all(
          [
            store.linked(attempt.id, phone, attempt.endsAt - 1),
            store.abandonLinking(attempt.id, abandoned),
          ],
          { concurrency: "unbounded" },
        )
        assert.strictEqual(linked === null, ended)
        const after = present(yield* Store.use(({ numbers: all }) => all.find(number.id)))
        assert.deepStrictEqual(
          [after.status, after.phone],
          ended ? ["disconnected", null] : ["connected", phone],
        )
        assert.isNull(yield* store.getLinking(number.id))
      }
    }),
  )

  it.effect("linking is due with attempts to claim, ending leases, self-links, or ends", () =>
    Effect.gen(function* () {
      const store = (yield* Store).numbers
      const era = anEra()
      const { id: workspaceId } = yield* aWorkspace()
      assert.isNull(yield* readNextDue("linking", era))
      const test = yield* aLinking(workspaceId, era, {
        number: { mode: "test" },
        attempt: { mode: "test", linksAt: era + 5 * minute },
      })
      assert.strictEqual(yield* readNextDue("linking", era), era + 5 * minute)
      const { attempt } = yield* aLinking(workspaceId, era + oneSecond)
      assert.strictEqual(yield* readNextDue("linking", era), era + oneSecond)
      const { lease } = only(yield* claimAll(era + oneSecond, era + minute))
      assert.strictEqual(yield* readNextDue("linking", era), era + minute)
      yield* store.renewLinkings([{ id: attempt.id, lease }], era + 20 * minute)
      assert.strictEqual(yield* readNextDue("linking", era), era + 5 * minute)
      yield* store.linked(test.attempt.id, digits(), era + 5 * minute)
      assert.strictEqual(yield* readNextDue("linking", era), attempt.endsAt)
      yield* abandon(attempt.id)
      assert.isNull(yield* readNextDue("linking", era))
    }),
  )
}
