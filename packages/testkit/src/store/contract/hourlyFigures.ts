/**
 * `FigureStore`: what happens in a workspace is counted once, by hour, and nothing is missing from
 * what is read meanwhile. Counting walks through the whole store, so every test looks at workspaces
 * of its own.
 */
import { assert } from "@effect/vitest"
import { countFigures, readSpan, Store, tallyFigures } from "@messaging-service/core"
import type { FigureCounts, Message, Mode, SendingNumber, Workspace } from "@messaging-service/core"
import { Effect } from "effect"
import { aCallback } from "../Calling.ts"
import {
  anEndpoint,
  aStageWithKey,
  claimTheOne,
  delivered,
  refused as refusedDelivery,
  settleDeliveries,
} from "../Delivering.ts"
import { at } from "../Expect.ts"
import { atOnce } from "../Races.ts"
import { cancelled, claimOne, end, failed, sent, settle } from "../Sending.ts"
import type { Topic } from "../Topic.ts"
import {
  accepted,
  aKey,
  aMessage,
  anEra,
  aStage,
  below,
  day,
  hour,
  minute,
  noon,
} from "../Records.ts"

const readFigures = ({ id }: Workspace, now: number, mode: Mode = "live") =>
  Store.use(({ figures }) => readSpan(figures, { workspaceId: id, mode }, "30d", now))

type Sums = Omit<FigureCounts, "failures" | "waits">

const sumUp = (buckets: ReadonlyArray<FigureCounts>): Sums => {
  const sum = (of: (one: FigureCounts) => number) =>
    buckets.reduce((total, one) => total + of(one), 0)
  return {
    accepted: sum((one) => one.accepted),
    sent: sum((one) => one.sent),
    failed: sum((one) => one.failed),
    expired: sum((one) => one.expired),
    cancelled: sum((one) => one.cancelled),
    deliveries: sum((one) => one.deliveries),
    deliveriesFailed: sum((one) => one.deliveriesFailed),
  }
}

const nothing: Sums = {
  accepted: 0,
  sent: 0,
  failed: 0,
  expired: 0,
  cancelled: 0,
  deliveries: 0,
  deliveriesFailed: 0,
}

/** Counted hours of the workspace, without what lies behind the places. */
const readCounted = ({ id }: Workspace, now: number) =>
  Effect.map(
    Store.use(({ figures }) =>
      figures.hours({ workspaceId: id, mode: "live", from: now - day, until: now + day }),
    ),
    ({ hours }) => sumUp(hours),
  )

const sendOne = Effect.fnUntraced(function* sendOne(number: SendingNumber, now: number) {
  yield* settle([sent(yield* claimOne(number, { now }), now)], now)
})

export const hourlyFigures: Topic = (it, { parallel }) => {
  it.effect("attempts at webhook endpoints count by the endpoint's mode, callbacks do not", () =>
    Effect.gen(function* () {
      const era = anEra()
      const { key, number, workspace } = yield* aStageWithKey(era)
      yield* anEndpoint(key, { createdAt: era })
      yield* end(cancelled(yield* aMessage(number, { now: era }), era))
      yield* settleDeliveries(refusedDelivery(yield* claimTheOne({ now: era }), era + minute))
      yield* settleDeliveries(delivered(yield* claimTheOne({ now: era + minute })))
      const { number: other, workspace: calling } = yield* aStage({ createdAt: era })
      yield* aCallback(other, "https://example.com/called", era)
      yield* settleDeliveries(delivered(yield* claimTheOne({ now: era })))
      const deliveries = ({ deliveries: all, deliveriesFailed }: Sums) => [all, deliveriesFailed]
      const read = (one: Workspace) =>
        Effect.map(readFigures(one, noon), ({ buckets }) => deliveries(sumUp(buckets)))
      const both = Effect.all([read(workspace), read(calling)])
      const uncounted = yield* both
      yield* countFigures
      assert.deepStrictEqual(yield* both, uncounted)
      assert.deepStrictEqual(uncounted, [
        [2, 1],
        [0, 0],
      ])
    }),
  )

  it.effect("waits from due to sent are known to the step", () =>
    Effect.gen(function* () {
      const era = anEra()
      const { number, workspace } = yield* aStage({ createdAt: era })
      yield* accepted(number, { count: 3, now: era })
      yield* aMessage(number, { now: era, sendAt: era + hour })
      for (const wait of [1, 4, 5000]) yield* sendOne(number, era + wait)
      yield* sendOne(number, era + hour + 40 * minute)
      const waits = Effect.map(readFigures(workspace, era + 2 * hour), ({ buckets }) =>
        buckets
          .flatMap((one) => one.waits.map((count, step) => [step, count] as const))
          .filter(([, count]) => count > 0),
      )
      const found = yield* waits
      assert.deepStrictEqual(found, [
        [0, 1],
        [2, 1],
        [11, 1],
        [19, 1],
      ])
      yield* countFigures
      assert.deepStrictEqual(yield* waits, found)
    }),
  )

  it.effect("workers that count at once count nothing twice", () =>
    Effect.gen(function* () {
      const era = anEra()
      const { number, workspace } = yield* aStage({ createdAt: era })
      const messages: Array<Message> = []
      for (let round = 0; round < (parallel ? 10 : 3); round++) {
        messages.push(...(yield* accepted(number, { count: 5, now: era })))
        yield* Effect.all([countFigures, countFigures, countFigures], atOnce)
        yield* Effect.all(
          [countFigures, end(...messages.splice(0, 3).map((one) => cancelled(one, era)))],
          atOnce,
        )
      }
      yield* countFigures
      const rounds = parallel ? 10 : 3
      assert.deepStrictEqual(yield* readCounted(workspace, era), {
        ...nothing,
        accepted: 5 * rounds,
        cancelled: 3 * rounds,
      })
      yield* end(...messages.map((one) => cancelled(one, era)))
    }),
  )

  it.effect("a place that has moved meanwhile keeps everything from being written", () =>
    Effect.gen(function* () {
      const { figures } = yield* Store
      const era = anEra()
      const { number, workspace } = yield* aStage({ createdAt: era })
      yield* countFigures
      yield* end(cancelled(yield* aMessage(number, { now: era }), era))
      const { entries, from, to } = yield* figures.readUncounted("messages", 100)
      assert.isAbove(to, from)
      yield* countFigures
      assert.isFalse(yield* figures.count("messages", { from, to }, tallyFigures(entries)))
      assert.deepStrictEqual(yield* readCounted(workspace, era), {
        ...nothing,
        accepted: 1,
        cancelled: 1,
      })
    }),
  )

  it.effect("a deleted workspace has no hours, also when something is counted later", () =>
    Effect.gen(function* () {
      const { system, workspaces } = yield* Store
      const era = anEra()
      const { number, workspace } = yield* aStage({ createdAt: era })
      const message = yield* aMessage(number, { now: era })
      yield* countFigures
      yield* workspaces.delete(workspace.id, era)
      yield* end(cancelled(message, era))
      yield* system.eraseDeleted([{ id: workspace.id, claimants: [] }], era)
      yield* countFigures
      assert.deepStrictEqual(yield* readCounted(workspace, era), nothing)
    }),
  )

  it.effect("over any history the buckets add up to what happened", () =>
    Effect.gen(function* () {
      const start = anEra()
      const { number, workspace } = yield* aStage({ createdAt: start })
      yield* aKey(workspace.id, { createdAt: start })
      const happened: Array<{ readonly at: number; readonly what: keyof Sums }> = []
      const waiting: Array<Message> = []
      let now = start
      for (let step = 0; step < (parallel ? 120 : 40); step++) {
        now += yield* below(day)
        const choice = yield* below(6)
        const [first] = waiting
        if (choice < 2 || first === undefined) {
          const count = 1 + (yield* below(3))
          waiting.push(...(yield* accepted(number, { count, now })))
          for (let each = 0; each < count; each++) happened.push({ at: now, what: "accepted" })
        } else if (choice === 2) {
          yield* countFigures
        } else {
          const endings = { 3: "sent", 4: "failed", 5: "cancelled" } as const
          const what = endings[choice as 3 | 4 | 5]
          if (what === "cancelled") yield* end(cancelled(first, now))
          else {
            const claimed = yield* claimOne(number, { now })
            yield* settle([(what === "sent" ? sent : failed)(claimed, now)], now)
          }
          waiting.shift()
          happened.push({ at: now, what })
        }
      }
      const expected = (from: number, until: number) => {
        const sums = { ...nothing }
        for (const one of happened) if (one.at >= from && one.at < until) sums[one.what]++
        return sums
      }
      const read = yield* readFigures(workspace, now)
      for (const [index, bucket] of read.buckets.entries()) {
        const until = read.buckets[index + 1]?.at ?? Infinity
        assert.deepStrictEqual(sumUp([bucket]), expected(bucket.at, until))
      }
      const from = at(read.buckets, 0).at
      assert.deepStrictEqual(sumUp([read.before]), expected(from - 30 * day, from))
      yield* end(...waiting.map((one) => cancelled(one, now)))
    }),
  )
}
