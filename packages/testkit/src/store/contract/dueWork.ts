/**
 * `WorkStatus`: when a loop must poll again, and whether all is idle. It sees the whole store, so
 * each test has an era.
 */
import { assert } from "@effect/vitest"
import { Store } from "@messaging-service/core"
import type { Work } from "@messaging-service/core"
import { Effect } from "effect"
import { aCheck, answered, claimOne as claimCheck, settle as settleCheck } from "../Checking.ts"
import { claimDue } from "../Delivering.ts"
import { at, present } from "../Expect.ts"
import { atOnce } from "../Races.ts"
import { attemptsInHands, readNextDue, plenty } from "../Reading.ts"
import {
  again,
  cancelled,
  change,
  claim,
  claimOne,
  end,
  expired,
  onlyThese,
  renew,
  sendNext,
  sent,
  settle,
} from "../Sending.ts"
import type { Topic } from "../Topic.ts"
import {
  accepted,
  aMessage,
  anEra,
  aNumber,
  aStage,
  day,
  hour,
  minute,
  oneSecond,
} from "../Records.ts"

/** Ends all orphaned messages of earlier tests. */
const noneOrphaned = Effect.gen(function* () {
  const store = (yield* Store).messages
  for (;;) {
    const left = yield* store.orphaned(1000)
    if (left.length === 0) return
    yield* end(...left.map((message) => cancelled(message)))
  }
})

export const workStatus: Topic = (it, { parallel }) => {
  it.effect("a lane is due with its first message", () =>
    Effect.gen(function* () {
      const era = anEra()
      const { number } = yield* aStage({ createdAt: era })
      assert.isNull(yield* readNextDue("lanes", era))
      const later = yield* aMessage(number, { now: era, sendAt: era + 2 * hour })
      assert.strictEqual(yield* readNextDue("lanes", era), era + 2 * hour)
      const first = yield* aMessage(number, { now: era, sendAt: era + hour })
      assert.strictEqual(yield* readNextDue("lanes", era), era + hour)
      yield* end(cancelled(first, era))
      assert.strictEqual(yield* readNextDue("lanes", era), era + 2 * hour)
      yield* end(cancelled(later, era))
      assert.isNull(yield* readNextDue("lanes", era))
    }),
  )

  it.effect("work that only another number's worker can take is not due", () =>
    Effect.gen(function* () {
      const status = (yield* Store).queue
      const era = anEra()
      const { number, workspace } = yield* aStage({ createdAt: era })
      const other = yield* aNumber(workspace.id)
      const message = yield* aMessage(number, { now: era })
      yield* aCheck(number, { createdAt: era })
      const due = (work: Work, owner: typeof number) =>
        Effect.map(status.nextDue(work, [], onlyThese([owner])), (instant) => instant === era)
      for (const work of ["lanes", "number_checks"] as const) {
        assert.isTrue(yield* due(work, number))
        assert.isFalse(yield* due(work, other))
      }
      yield* end(cancelled(message, era))
      yield* settleCheck(answered(yield* claimCheck(number, { now: era })), era)
    }),
  )

  it.effect("of kinds that the loop has no permit for, only the ends of leases count", () =>
    Effect.gen(function* () {
      const era = anEra()
      const { number, workspace } = yield* aStage({ createdAt: era })
      const other = yield* aNumber(workspace.id, { createdAt: era })
      yield* noneOrphaned
      yield* claimDue({ now: era })
      yield* aMessage(number, { now: era })
      yield* aMessage(other, { now: era })
      yield* claimOne(number, { now: era, leaseUntil: era + minute })
      for (const saturated of [[workspace.id], "all"] as const) {
        const due = Store.use(({ queue: status }) => status.nextDue("lanes", saturated))
        assert.strictEqual(yield* due, era + minute)
      }
      const soonest = (most: number, whole: number) =>
        Effect.map(
          Store.use(({ queue: status }) =>
            status.workload(era, { ...plenty, lanes: { whole, share: { most } } }),
          ),
          (load) => load.nextDue,
        )
      assert.strictEqual(yield* soonest(2, 1000), era)
      assert.strictEqual(yield* soonest(1, 1000), era + minute)
      assert.strictEqual(yield* soonest(2, 1), era + minute)
      assert.strictEqual(yield* readNextDue("lanes", era), era)
      yield* sendNext(other, era)
    }),
  )

  it.effect("a claimed lane is due when its lease ends, a settled one with its next message", () =>
    Effect.gen(function* () {
      const era = anEra()
      const { number } = yield* aStage({ createdAt: era })
      yield* accepted(number, { count: 2, now: era })
      yield* aMessage(number, { now: era, sendAt: era + hour })
      const first = yield* claimOne(number, { now: era, leaseUntil: era + minute })
      assert.strictEqual(yield* readNextDue("lanes", era), era + minute)
      yield* renew([first], era + 2 * minute)
      assert.strictEqual(yield* readNextDue("lanes", era), era + 2 * minute)
      yield* settle([sent(first, era + oneSecond)], era + oneSecond)
      assert.strictEqual(yield* readNextDue("lanes", era), era + oneSecond)
      yield* sendNext(number, era + 2 * oneSecond)
      assert.strictEqual(yield* readNextDue("lanes", era), era + hour)
      yield* sendNext(number, era + hour)
      assert.isNull(yield* readNextDue("lanes", era))
    }),
  )

  it.effect("a lane that rests is due when its rest is over", () =>
    Effect.gen(function* () {
      const era = anEra()
      const { number } = yield* aStage({ createdAt: era })
      yield* accepted(number, { count: 2, now: era })
      const notBefore = era + hour
      yield* settle([again(yield* claimOne(number, { now: era }), { notBefore })], era + oneSecond)
      assert.strictEqual(yield* readNextDue("lanes", era), notBefore)
      yield* aMessage(number, { now: era + minute })
      assert.strictEqual(yield* readNextDue("lanes", era), notBefore)
      const claimed = yield* claimOne(number, { now: notBefore })
      yield* settle([again(claimed)], notBefore + oneSecond)
      assert.strictEqual(yield* readNextDue("lanes", era), notBefore + oneSecond)
      const last = yield* claimOne(number, { now: notBefore + minute })
      yield* settle([sent(last, era + day)], era + day)
      assert.strictEqual(yield* readNextDue("lanes", era), era + day)
    }),
  )

  it.effect("a lane of a disconnected number cannot be claimed and is not due", () =>
    Effect.gen(function* () {
      const { numbers } = yield* Store
      const era = anEra()
      const { number } = yield* aStage({ createdAt: era })
      yield* accepted(number, { count: 2, now: era })
      assert.strictEqual(yield* readNextDue("lanes", era), era)
      yield* numbers.setStatus(number.id, "disconnected", undefined, era)
      assert.isNull(yield* readNextDue("lanes", era))
      yield* numbers.setStatus(number.id, "connected", undefined, era)
      assert.strictEqual(yield* readNextDue("lanes", era), era)
      // Messages in flight are read once their lease is over.
      yield* claimOne(number, { now: era, leaseUntil: era + minute })
      yield* numbers.setStatus(number.id, "disconnected", undefined, era)
      assert.strictEqual(yield* readNextDue("lanes", era), era + minute)
      yield* numbers.setStatus(number.id, "connected", undefined, era + hour)
      assert.strictEqual(yield* readNextDue("lanes", era), era + minute)
    }),
  )

  it.effect("the lane of a removed number is due only while it has an unsettled message", () =>
    Effect.gen(function* () {
      const era = anEra()
      const { workspace, number } = yield* aStage({ createdAt: era })
      const other = yield* aNumber(workspace.id)
      yield* accepted(other, { now: era })
      yield* accepted(number, { count: 2, now: era })
      yield* claimOne(number, { now: era, leaseUntil: era + minute })
      yield* Store.use(({ workspaces: store }) => store.delete(workspace.id, era))
      assert.strictEqual(yield* readNextDue("lanes", era), era + minute)
      const claimed = yield* claimOne(number, { now: era + hour, leaseUntil: era + 2 * hour })
      assert.strictEqual(yield* readNextDue("lanes", era), era + 2 * hour)
      yield* settle([sent(claimed, era + hour)], era + hour)
      assert.isNull(yield* readNextDue("lanes", era))
      yield* noneOrphaned
    }),
  )

  it.effect("a claim that finds only expired messages does not leave its lane due for them", () =>
    Effect.gen(function* () {
      const era = anEra()
      const { number } = yield* aStage({ createdAt: era })
      yield* accepted(number, { count: 2, now: era, expiresAt: era + minute })
      yield* aMessage(number, { now: era, sendAt: era + day })
      assert.deepStrictEqual(yield* claim([number], { now: era + hour }), [])
      assert.strictEqual(yield* readNextDue("lanes", era), era + day)
      yield* sendNext(number, era + day)
    }),
  )

  it.effect(
    "expiry is due with the earliest expiresAt of waiting messages that are not in flight",
    () =>
      Effect.gen(function* () {
        const era = anEra()
        const { number } = yield* aStage({ createdAt: era })
        yield* aMessage(number, { now: era })
        yield* sendNext(number, era)
        assert.isNull(yield* readNextDue("expiry", era))
        const last = yield* aMessage(number, { now: era, expiresAt: era + hour, mode: "test" })
        assert.strictEqual(yield* readNextDue("expiry", era), era + hour)
        const first = yield* aMessage(number, { now: era, expiresAt: era + minute })
        assert.strictEqual(yield* readNextDue("expiry", era), era + minute)
        const claimed = yield* claimOne(number, { now: era })
        assert.strictEqual(yield* readNextDue("expiry", era), era + hour)
        yield* settle([again(claimed)], era)
        assert.strictEqual(yield* readNextDue("expiry", era), era + minute)
        yield* end(expired(first, era + minute))
        assert.strictEqual(yield* readNextDue("expiry", era), era + hour)
        yield* end(cancelled(last, era))
        assert.isNull(yield* readNextDue("expiry", era))
      }),
  )

  it.effect("test messages are due with the first one", () =>
    Effect.gen(function* () {
      const era = anEra()
      const { number } = yield* aStage({ createdAt: era })
      const mode = "test"
      yield* aMessage(number, { now: era })
      assert.isNull(yield* readNextDue("test_messages", era))
      const last = yield* aMessage(number, { now: era, mode, sendAt: era + hour })
      const first = yield* aMessage(number, { now: era, mode })
      assert.strictEqual(yield* readNextDue("test_messages", era), era)
      yield* end(change(first, { trigger: "send_succeeded" }, era))
      assert.strictEqual(yield* readNextDue("test_messages", era), era + hour)
      yield* end(cancelled(last, era))
      assert.isNull(yield* readNextDue("test_messages", era))
      yield* sendNext(number, era)
    }),
  )

  it.effect("orphaned messages are due at once, and not without any", () =>
    Effect.gen(function* () {
      const status = (yield* Store).queue
      yield* noneOrphaned
      assert.isNull(yield* status.nextDue("orphaned"))
      const era = anEra()
      const { workspace, number } = yield* aStage({ createdAt: era })
      const messages = [
        yield* aMessage(number, { now: era, sendAt: era + day }),
        yield* aMessage(number, { now: era, sendAt: era + day, mode: "test" }),
      ]
      assert.isNull(yield* status.nextDue("orphaned"))
      yield* Store.use(({ numbers: store }) => store.remove(workspace.id, number.id, era + hour))
      assert.isAtMost(present(yield* status.nextDue("orphaned")), era + hour)
      assert.isNull(yield* readNextDue("test_messages", era))
      yield* end(cancelled(at(messages, 0), era + hour))
      assert.isAtMost(present(yield* status.nextDue("orphaned")), era + hour)
      yield* end(cancelled(at(messages, 1), era + hour))
      assert.isNull(yield* status.nextDue("orphaned"))
      const other = yield* aNumber(workspace.id)
      yield* aMessage(other, { now: era })
      const claimed = yield* claimOne(other, { now: era })
      yield* Store.use(({ numbers: store }) => store.remove(workspace.id, other.id, era + hour))
      assert.isNull(yield* status.nextDue("orphaned"))
      yield* settle([again(claimed)], era + hour)
      assert.isNotNull(yield* status.nextDue("orphaned"))
      yield* noneOrphaned
    }),
  )

  it.effect("the whole work is due with the first of all kinds", () =>
    Effect.gen(function* () {
      const era = anEra()
      const { number } = yield* aStage({ createdAt: era })
      yield* noneOrphaned
      yield* claimDue({ now: era })
      const soonest = Effect.map(
        Store.use(({ queue: status }) => status.workload(era)),
        ({ nextDue: due }) => (due !== null && due < era + 50 * day ? due : null),
      )
      assert.isNull(yield* soonest)
      const message = yield* aMessage(number, { now: era, sendAt: era + hour })
      assert.strictEqual(yield* soonest, era + hour)
      const test = yield* aMessage(number, { now: era, sendAt: era + minute, mode: "test" })
      assert.strictEqual(yield* soonest, era + minute)
      yield* end(cancelled(test, era), cancelled(message, era))
      assert.isNull(yield* soonest)
    }),
  )

  it.effect("each attempt has a name of its own", () =>
    Effect.gen(function* () {
      const era = anEra()
      const { number } = yield* aStage({ createdAt: era })
      yield* accepted(number, { count: 2, now: era })
      const names = new Set<string>()
      for (const outcome of [again, sent, sent]) {
        const claimed = yield* claimOne(number, { now: era })
        const before = yield* attemptsInHands(number, era)
        yield* renew([claimed], era + hour)
        assert.deepStrictEqual(yield* attemptsInHands(number, era), before)
        names.add(at(before, 0).attempt)
        yield* settle([outcome(claimed)], era)
      }
      assert.strictEqual(names.size, 3)
    }),
  )

  it.effect("a lane at work is due or in flight, at any time", () =>
    Effect.gen(function* () {
      const status = (yield* Store).queue
      const era = anEra()
      const { number } = yield* aStage({ createdAt: era })
      yield* noneOrphaned
      yield* claimDue({ now: era })
      const isBusy = Effect.map(
        status.workload(era),
        ({ inFlight, nextDue: due }) =>
          (due !== null && due <= era) || inFlight.some(({ numberId }) => numberId === number.id),
      )
      assert.isFalse(yield* isBusy)
      // A sequential store's polls come between each two of them anyway.
      const messages = yield* accepted(number, { count: parallel ? 100 : 20, now: era })
      const lane = { left: messages.length }
      const worker = Effect.gen(function* () {
        for (; lane.left > 1; lane.left--) yield* sendNext(number, era)
      })
      const looking = Effect.gen(function* () {
        while (lane.left > 1) assert.isTrue(yield* isBusy)
      })
      const lookers = Array.from({ length: parallel ? 3 : 1 }, () => looking)
      yield* Effect.all([worker, ...lookers], atOnce)
      yield* sendNext(number, era)
      assert.isFalse(yield* isBusy)
    }),
  )
}
