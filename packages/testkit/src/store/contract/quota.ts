/** The 24-hour quota of a number: counted by planned time, exactly, in `accept` and in the facts. */
import { assert } from "@effect/vitest"
import { countExactly, quotaVerdict, Store } from "@messaging-service/core"
import type { Message, PlannedQuota, QuotaFacts, QuotaLimit } from "@messaging-service/core"
import { Effect, Random } from "effect"
import { at } from "../Expect.ts"
import { brokenBy, readExactQuota, facts, readQuota, remaining } from "../Reading.ts"
import { cancelled, claimOne, end, expired, failed, sendNext, settle } from "../Sending.ts"
import type { Topic } from "../Topic.ts"
import {
  accepted,
  aMessage,
  anAcceptance,
  aNumber,
  aPlan,
  aStage,
  below,
  day,
  hour,
  minute,
  noon,
} from "../Records.ts"

const three: QuotaLimit = { messages: 3, windowMillis: day }

const ascending = (times: ReadonlyArray<number>) => times.toSorted((a, b) => a - b)

/** The planned times at which a number's quota can change, at or after `now`. */
const turns = (times: ReadonlyArray<number>, now: number, limit: QuotaLimit) =>
  [
    now,
    ...times.flatMap((time) => [
      time - limit.windowMillis,
      time - limit.windowMillis + 1,
      time,
      time + limit.windowMillis,
    ]),
  ].filter((time) => time >= now)

/** Compares the store's cheap quota facts with an exact count. */
const assertFacts = (
  quota: QuotaFacts,
  times: ReadonlyArray<number>,
  now: number,
  limit: QuotaLimit,
) => {
  for (const plannedAt of turns(times, now, limit)) {
    const { planned } = countExactly(ascending(times), { plannedAt, count: 1, limit })
    assert.isAtLeast(quota.bound, planned, "the bound is below a window that is still to come")
    if (quota.fullUntil !== null && plannedAt < quota.fullUntil) {
      assert.isAtLeast(planned, limit.messages, "a window is called full and has room")
    }
  }
  if (quota.fullUntil !== null && quota.fullUntil > now) {
    const one = { plannedAt: quota.fullUntil, count: 1, limit }
    const { planned } = countExactly(ascending(times), one)
    assert.isBelow(planned, limit.messages, "the moment until which it is full has no room")
  }
}

export const quota: Topic = (it, { quick }) => {
  it.effect("messages planned within 24 hours before and up to the planned time count", () =>
    Effect.gen(function* () {
      const { number } = yield* aStage()
      const accept = (now: number) => brokenBy(anAcceptance(number, { now, limit: three }))
      assert.isNull(yield* accept(noon))
      assert.isNull(yield* accept(noon + hour))
      assert.isNull(yield* accept(noon + hour))
      assert.strictEqual(yield* accept(noon + day - 1), "quota")
      assert.isNull(yield* accept(noon + day))
      assert.strictEqual(yield* accept(noon + day), "quota")
      assert.strictEqual(yield* accept(noon + day + hour - 1), "quota")
      assert.isNull(yield* accept(noon + day + hour))
    }),
  )

  it.effect("a scheduled message counts at its send_at", () =>
    Effect.gen(function* () {
      const { number } = yield* aStage()
      const sendAt = noon + 3 * day
      yield* accepted(number, { count: 3, sendAt, limit: three })
      const plan = (planned: number) =>
        brokenBy(anAcceptance(number, { sendAt: planned, limit: three }))
      assert.strictEqual(yield* plan(sendAt), "quota")
      assert.strictEqual(yield* plan(sendAt + day - 1), "quota")
      // Earlier planned messages, accepted later, do not displace planned ones.
      assert.strictEqual(yield* plan(sendAt - 1), "quota")
      assert.strictEqual(yield* plan(sendAt - day + 1), "quota")
      assert.isNull(yield* plan(sendAt - day))
      assert.isNull(yield* plan(sendAt + day))
      assert.isNull(yield* brokenBy(anAcceptance(number, { limit: three })))
    }),
  )

  it.effect("a batch fits whole or not at all", () =>
    Effect.gen(function* () {
      const { number } = yield* aStage()
      yield* accepted(number, { limit: three })
      assert.strictEqual(yield* brokenBy(anAcceptance(number, { count: 3, limit: three })), "quota")
      assert.isNull(yield* brokenBy(anAcceptance(number, { count: 2, limit: three })))
    }),
  )

  it.effect("each number has a quota of its own", () =>
    Effect.gen(function* () {
      const { workspace, number } = yield* aStage()
      const other = yield* aNumber(workspace.id)
      yield* accepted(number, { count: 3, limit: three })
      assert.isNull(yield* brokenBy(anAcceptance(other, { count: 3, limit: three })))
    }),
  )

  it.effect("sent and failed messages count by their planned time, whenever they left", () =>
    Effect.gen(function* () {
      const { number } = yield* aStage()
      yield* accepted(number, { count: 3, limit: three })
      const later = noon + 2 * hour
      yield* sendNext(number, later)
      yield* settle([failed(yield* claimOne(number, { now: later }), later)], later)
      const again = anAcceptance(number, { now: later, limit: three })
      assert.strictEqual(yield* brokenBy(again), "quota")
      assert.isNull(yield* brokenBy(anAcceptance(number, { now: noon + day, limit: three })))
    }),
  )

  it.effect("cancelled and expired messages do not count", () =>
    Effect.gen(function* () {
      const { number } = yield* aStage()
      const messages = yield* accepted(number, { count: 3, expiresAt: noon + hour, limit: three })
      yield* end(cancelled(at(messages, 0)), expired(at(messages, 1)))
      assert.strictEqual(yield* brokenBy(anAcceptance(number, { count: 3, limit: three })), "quota")
      assert.isNull(yield* brokenBy(anAcceptance(number, { count: 2, limit: three })))
    }),
  )

  it.effect("test messages neither take nor need quota", () =>
    Effect.gen(function* () {
      const { number } = yield* aStage()
      yield* accepted(number, { count: 5, mode: "test" })
      yield* accepted(number, { count: 3, limit: three })
      assert.isNull(yield* brokenBy(anAcceptance(number, { mode: "test" })))
      const exact = yield* readExactQuota(number, { plannedAt: noon, limit: three })
      assert.strictEqual(exact.planned, 3)
    }),
  )

  it.effect("an exact count tells what is planned and when there is room", () =>
    Effect.gen(function* () {
      const { number } = yield* aStage()
      const none = yield* readExactQuota(number, { plannedAt: noon, limit: three })
      assert.deepStrictEqual(none, { planned: 0, roomAt: noon })
      yield* accepted(number, { limit: three })
      yield* accepted(number, { now: noon + hour, count: 2, limit: three })
      const plannedAt = noon + 2 * hour
      const count = (expected: number) =>
        readExactQuota(number, { plannedAt, count: expected, limit: three })
      assert.deepStrictEqual(yield* count(1), { planned: 3, roomAt: noon + day })
      assert.deepStrictEqual(yield* count(2), { planned: 3, roomAt: noon + hour + day })
      assert.deepStrictEqual(yield* count(3), { planned: 3, roomAt: noon + hour + day })
    }),
  )

  it.effect("an exact count is of the requested number, named or connected", () =>
    Effect.gen(function* () {
      const { workspace, number } = yield* aStage()
      const other = yield* aNumber(workspace.id)
      yield* accepted(other, { count: 2, limit: three })
      const planned: PlannedQuota = { plannedAt: noon, count: 1, limit: three }
      const found = yield* facts(workspace.id, { exactQuota: { numberId: other.id, planned } })
      assert.deepStrictEqual(
        found.connected.map((each) => [each.number.id, each.quota.exact?.planned ?? null]),
        [
          [number.id, null],
          [other.id, 2],
        ],
      )
    }),
  )

  it.effect("counts all connected numbers where none is named", () =>
    Effect.gen(function* () {
      const { workspace, number } = yield* aStage()
      const second = yield* aNumber(workspace.id)
      const third = yield* aNumber(workspace.id)
      const telegram = yield* aNumber(workspace.id, { platform: "telegram" })
      yield* aNumber(workspace.id, { status: "disconnected" })
      yield* aNumber(workspace.id, { mode: "test" })
      yield* accepted(second, { count: 2, limit: three })
      yield* accepted(third, { count: 3, limit: three })
      const planned: PlannedQuota = { plannedAt: noon + hour, count: 1, limit: three }
      const found = yield* facts(workspace.id, { exactQuota: { numberId: null, planned } })
      assert.deepStrictEqual(
        found.connected.map((each) => [each.number.id, each.quota.exact]),
        [
          [number.id, { planned: 0, roomAt: noon + hour }],
          [second.id, { planned: 2, roomAt: noon + hour }],
          [third.id, { planned: 3, roomAt: noon + day }],
          [telegram.id, { planned: 0, roomAt: noon + hour }],
        ],
      )
    }),
  )

  it.effect("a number counts as full only once a count found it so", () =>
    Effect.gen(function* () {
      const { number } = yield* aStage()
      yield* accepted(number, { count: 2, limit: three })
      yield* accepted(number, { now: noon + hour, limit: three })
      assert.isNull((yield* readQuota(number, noon + hour)).fullUntil)
      const refused = anAcceptance(number, { now: noon + hour, limit: three })
      assert.strictEqual(yield* brokenBy(refused), "quota")
      const full = yield* readQuota(number, noon + hour)
      assert.strictEqual(full.fullUntil, noon + day)
      assert.isNull(full.exact)
      assert.isAtLeast(full.bound, 3)
    }),
  )

  it.effect("taking future room makes the end of the full period unknown", () =>
    Effect.gen(function* () {
      const { number } = yield* aStage()
      yield* accepted(number, { limit: three })
      yield* accepted(number, { now: noon + hour, count: 2, limit: three })
      const full = brokenBy(anAcceptance(number, { now: noon + hour, limit: three }))
      assert.strictEqual(yield* full, "quota")
      assert.strictEqual((yield* readQuota(number, noon + hour)).fullUntil, noon + day)
      // Far from it, so it stays known.
      yield* accepted(number, { now: noon + hour, sendAt: noon + 2 * day, limit: three })
      assert.strictEqual((yield* readQuota(number, noon + hour)).fullUntil, noon + day)
      yield* accepted(number, { now: noon + hour, sendAt: noon + day, limit: three })
      assert.isNull((yield* readQuota(number, noon + hour)).fullUntil)
      assert.strictEqual(yield* full, "quota")
      assert.strictEqual((yield* readQuota(number, noon + hour)).fullUntil, noon + day + hour)
    }),
  )

  it.effect("a load that counts exactly remembers that it found the number full", () =>
    Effect.gen(function* () {
      const { number } = yield* aStage()
      yield* accepted(number, { count: 3, limit: three })
      yield* readExactQuota(number, { plannedAt: noon + 1, now: noon + 1, limit: three })
      assert.strictEqual((yield* readQuota(number, noon + 1)).fullUntil, noon + day)
    }),
  )

  it.effect("a batch that does not fit does not make the number full for a single message", () =>
    Effect.gen(function* () {
      const { number } = yield* aStage()
      yield* accepted(number, { count: 2, limit: three })
      const batch = anAcceptance(number, { count: 2, limit: three })
      assert.strictEqual(yield* brokenBy(batch), "quota")
      assert.isNull((yield* readQuota(number)).fullUntil)
      assert.isNull(yield* brokenBy(anAcceptance(number, { limit: three })))
    }),
  )

  it.effect("a full day in the future does not make the number full now", () =>
    Effect.gen(function* () {
      const { number } = yield* aStage()
      const sendAt = noon + 5 * day
      yield* accepted(number, { count: 3, sendAt, limit: three })
      assert.strictEqual(yield* brokenBy(anAcceptance(number, { sendAt, limit: three })), "quota")
      yield* readExactQuota(number, { plannedAt: sendAt, limit: three })
      const known = yield* readQuota(number)
      const planned: PlannedQuota = { plannedAt: noon, count: 1, limit: three }
      assert.deepStrictEqual(quotaVerdict(known, planned), { _tag: "Fits" })
      assert.isNull(yield* brokenBy(anAcceptance(number, { limit: three })))
    }),
  )

  it.effect("a refund makes the number no longer full", () =>
    Effect.gen(function* () {
      const { number } = yield* aStage()
      const messages = yield* accepted(number, { count: 3, expiresAt: noon + hour, limit: three })
      const full = brokenBy(anAcceptance(number, { limit: three }))
      assert.strictEqual(yield* full, "quota")
      yield* end(cancelled(at(messages, 0)))
      assert.isNull((yield* readQuota(number)).fullUntil)
      yield* aMessage(number, { limit: three })
      assert.strictEqual(yield* full, "quota")
      assert.isNotNull((yield* readQuota(number)).fullUntil)
      yield* end(expired(at(messages, 1)))
      assert.isNull((yield* readQuota(number)).fullUntil)
    }),
  )

  it.effect("a full number has room again when its messages leave the window", () =>
    Effect.gen(function* () {
      const { number } = yield* aStage()
      yield* accepted(number, { count: 3, limit: three })
      assert.strictEqual(yield* brokenBy(anAcceptance(number, { limit: three })), "quota")
      const later = noon + day
      const known = yield* readQuota(number, later)
      const planned: PlannedQuota = { plannedAt: later, count: 3, limit: three }
      assert.deepStrictEqual(quotaVerdict(known, planned), { _tag: "Fits" })
      yield* accepted(number, { now: later, count: 3, limit: three })
    }),
  )

  it.effect("a refused acceptance takes no allowance", () =>
    Effect.gen(function* () {
      const { workspace, number } = yield* aStage({ plan: aPlan(10) })
      yield* accepted(number, { count: 3, limit: three })
      assert.strictEqual(yield* brokenBy(anAcceptance(number, { limit: three })), "quota")
      assert.strictEqual(yield* remaining(workspace), 7)
    }),
  )

  it.effect("an immediate send must leave room for planned messages", () =>
    Effect.gen(function* () {
      const { number } = yield* aStage()
      const plan = (after: number, count: number) =>
        brokenBy(anAcceptance(number, { sendAt: noon + after, count, limit: three }))
      assert.isNull(yield* plan(hour, 1))
      assert.isNull(yield* plan(day + hour - 1, 2))
      assert.strictEqual(
        yield* brokenBy(anAcceptance(number, { now: noon + hour, limit: three })),
        "quota",
      )
      assert.strictEqual((yield* readQuota(number, noon + hour)).fullUntil, noon + day + hour)
      assert.isNull(yield* plan(day + hour, 1))
    }),
  )

  // An SQL store takes many times as long, and several share the same SQL.
  const requestCount = quick ? 40 : 12
  it.effect.each(Array.from({ length: quick ? 40 : 15 }, (_, run) => run))(
    "the store counts as the core does, whatever is planned (run %i)",
    (run) =>
      Effect.gen(function* () {
        const { number } = yield* aStage()
        const times: Array<number> = []
        const plans = yield* below(30)
        // Close together, so that times are equal and windows end where others begin.
        const span = 1 + (yield* below(60))
        for (let plan = 0; plan < plans; plan++) {
          const sendAt = noon + (yield* below(span)) * minute
          const count = 1 + (yield* below(3))
          yield* accepted(number, { sendAt, count, limit: { messages: 1000, windowMillis: day } })
          for (let message = 0; message < count; message++) times.push(sendAt)
        }
        for (let requests = 0; requests < requestCount; requests++) {
          const planned: PlannedQuota = {
            plannedAt: noon + ((yield* below(2 * span)) - (yield* below(span))) * minute,
            count: 1 + (yield* below(4)),
            limit: {
              messages: 1 + (yield* below(8)),
              windowMillis: (1 + (yield* below(span))) * minute,
            },
          }
          const { count, limit, plannedAt } = planned
          assert.deepStrictEqual(
            yield* readExactQuota(number, { plannedAt, count, limit }),
            countExactly(ascending(times), planned),
            JSON.stringify({ times, planned }),
          )
        }
      }).pipe(Random.withSeed(`counts ${run}`)),
  )

  const runs = quick ? 40 : 5
  it.effect.each(Array.from({ length: runs }, (_, run) => run))(
    "the store decides as an exact count does, after any accepts, sends and cancels (run %i)",
    (run) =>
      Effect.gen(function* () {
        const limit: QuotaLimit = { messages: 5, windowMillis: day }
        const { number } = yield* aStage()
        const counting = new Map<Message["id"], Message>()
        let now = noon
        for (let step = 0; step < 60; step++) {
          now += yield* below(5 * hour)
          const times = [...counting.values()].map((message) => message.dueAt)
          const random = yield* below(10)
          if (random < 6) {
            const count = 1 + (yield* below(3))
            const ahead = (yield* Random.nextBoolean) ? (1 + (yield* below(47))) * hour : 0
            const plannedAt = now + ahead
            const planned: PlannedQuota = { plannedAt, count, limit }
            const exact = countExactly(ascending(times), planned)
            if (random === 0) {
              const found = yield* readExactQuota(number, { plannedAt, count, limit, now })
              assert.deepStrictEqual(found, exact)
            }
            const known = yield* readQuota(number, now)
            const options = { now, count, limit, sendAt: ahead === 0 ? null : plannedAt }
            if (exact.planned + count <= limit.messages) {
              assert.deepStrictEqual(quotaVerdict(known, planned), { _tag: "Fits" })
              for (const message of yield* accepted(number, options)) {
                counting.set(message.id, message)
              }
            } else {
              assert.strictEqual(yield* brokenBy(anAcceptance(number, options)), "quota")
            }
          } else if (random < 8 && counting.size > 0) {
            const index = yield* below(counting.size)
            const message = at([...counting.values()], index)
            const [gone] = yield* end(cancelled(message, now))
            if (gone !== undefined) counting.delete(gone)
          } else {
            const due = yield* Store.use(({ messages: store }) => store.byIds([...counting.keys()]))
            if (due.some((each) => each.state === "waiting" && each.dueAt <= now)) {
              yield* sendNext(number, now)
            }
          }
          const left = [...counting.values()].map((message) => message.dueAt)
          assertFacts(yield* readQuota(number, now), left, now, limit)
        }
        assert.isAbove(now, noon + minute)
      }).pipe(Random.withSeed(`quota ${run}`)),
  )
}
