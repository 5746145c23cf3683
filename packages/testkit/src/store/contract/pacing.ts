/** Pacing, pauses and strikes of a lane. */
import { assert } from "@effect/vitest"
import {
  LaneQueue,
  LinkingStore,
  MessageStore,
  noStrikes,
  NumberStore,
  WorkStatus,
} from "@messaging-service/core/ports"
import type { Pacing, Pause, SendingNumber } from "@messaging-service/core/ports"
import { Effect } from "effect"
import { at } from "../Expect.ts"
import { anAttempt } from "../Linking.ts"
import {
  accepted,
  aMessage,
  anEra,
  aNumber,
  aPhone,
  aStage,
  day,
  givenUp,
  hour,
  minute,
  noon,
  oneSecond,
} from "../Records.ts"
import {
  again,
  cancelled,
  claim,
  claimOne,
  connectionFacts,
  end,
  endedAs,
  expired,
  sendFailed,
  sendNext,
  sent,
  settle,
} from "../Sending.ts"
import type { Topic } from "../Topic.ts"

const unpaced: Pacing = {
  minIntervalMillis: null,
  jitterMillis: null,
  perMinute: null,
  perHour: null,
  newRecipientsPerDay: null,
}

const pace = (number: SendingNumber, given: Partial<Pacing>, now = noon) =>
  NumberStore.use((store) =>
    store.change(number.workspaceId, number.id, { pacing: { ...unpaced, ...given } }, now),
  )

const pause = (number: SendingNumber, given: Pause, now = noon) =>
  LaneQueue.use((queue) => queue.pause(number.id, given, now))

const resume = (number: SendingNumber, now = noon) =>
  LaneQueue.use((queue) => queue.resume(number.id, now))

const nextDue = WorkStatus.use((work) => work.nextDue("lanes"))

const byOperator = (until: number | null): Pause => ({ until, reason: "paused" })

export const pacing: Topic = (it) => {
  it.effect("a number begins with the pacing that it is made with, and changes it alone", () =>
    Effect.gen(function* () {
      const store = yield* NumberStore
      const { workspace, number: plain } = yield* aStage()
      const given = { ...unpaced, minIntervalMillis: 1000, perHour: 3 }
      const { id: _, ...copy } = plain
      const paced = yield* store.insert({ ...copy, phone: null }, given)
      assert.deepStrictEqual(
        yield* store.settings([plain.id, paced.id]),
        new Map([
          [plain.id, { pacing: null, proxy: null }],
          [paced.id, { pacing: given, proxy: null }],
        ]),
      )
      yield* aMessage(paced)
      const claimed = yield* claimOne(paced)
      assert.deepStrictEqual([claimed.pacing, claimed.strikes], [given, noStrikes])
      assert.deepStrictEqual(yield* pace(paced, { jitterMillis: 7 }), paced)
      const proxy = { host: "192.0.2.7", port: 1080, url: "sealed" }
      yield* store.change(workspace.id, paced.id, { proxy, label: "Desk" }, noon)
      const settings = { pacing: { ...unpaced, jitterMillis: 7 }, proxy }
      assert.deepStrictEqual((yield* store.settings([paced.id])).get(paced.id), settings)
      yield* store.change(workspace.id, paced.id, { label: "" }, noon)
      assert.deepStrictEqual((yield* store.settings([paced.id])).get(paced.id), settings)
      yield* store.change(workspace.id, paced.id, { proxy: null }, noon)
      assert.isNull((yield* store.settings([paced.id])).get(paced.id)?.proxy)
      yield* store.remove(workspace.id, paced.id, noon)
      assert.deepStrictEqual(yield* store.settings([paced.id]), new Map())
    }),
  )

  it.effect("a lane rests after what was sent as after what goes on waiting", () =>
    Effect.gen(function* () {
      const era = anEra()
      const { number } = yield* aStage({ createdAt: era })
      const messages = yield* accepted(number, { count: 2, now: era })
      const first = yield* claimOne(number, { now: era })
      yield* settle([sent(first, era, { notBefore: era + oneSecond })], era)
      assert.strictEqual(yield* nextDue, era + oneSecond)
      yield* aMessage(number, { now: era + 1 })
      yield* end(cancelled(at(messages, 1), era + 2))
      assert.strictEqual(yield* nextDue, era + oneSecond)
      assert.deepStrictEqual(yield* claim([number], { now: era + oneSecond - 1 }), [])
      yield* sendNext(number, era + oneSecond)
    }),
  )

  it.effect("no more leaves in a minute and in an hour than the pacing says, in order", () =>
    Effect.gen(function* () {
      const era = anEra()
      const { number } = yield* aStage({ createdAt: era })
      yield* pace(number, { perMinute: 2, perHour: 3 }, era)
      const messages = yield* accepted(number, { count: 5, now: era })
      assert.strictEqual((yield* sendNext(number, era)).id, at(messages, 0).id)
      yield* sendNext(number, era + oneSecond)
      assert.deepStrictEqual(yield* claim([number], { now: era + oneSecond }), [])
      assert.strictEqual(yield* nextDue, era + minute)
      // What arrives meanwhile makes the lane no earlier.
      yield* aMessage(number, { now: era + 2 * oneSecond })
      assert.strictEqual(yield* nextDue, era + minute)
      assert.deepStrictEqual(yield* claim([number], { now: era + minute - 1 }), [])
      assert.strictEqual((yield* sendNext(number, era + minute)).id, at(messages, 2).id)
      assert.deepStrictEqual(yield* claim([number], { now: era + 2 * minute }), [])
      assert.strictEqual(yield* nextDue, era + hour)
      assert.strictEqual(
        (yield* connectionFacts(number, era + 2 * minute)).limitedUntil,
        era + hour,
      )
      assert.strictEqual((yield* sendNext(number, era + hour)).id, at(messages, 3).id)
    }),
  )

  it.effect("another pacing counts at once, and a rest that has begun goes on", () =>
    Effect.gen(function* () {
      const era = anEra()
      const { number } = yield* aStage({ createdAt: era })
      yield* pace(number, { perHour: 1 }, era)
      yield* accepted(number, { count: 3, now: era })
      yield* sendNext(number, era)
      assert.deepStrictEqual(yield* claim([number], { now: era + 1 }), [])
      yield* pace(number, { perHour: 2 }, era + 2)
      const second = yield* claimOne(number, { now: era + 2 })
      yield* settle([sent(second, era + 2, { notBefore: era + minute })], era + 2)
      yield* pace(number, {}, era + 3)
      assert.strictEqual(yield* nextDue, era + minute)
      yield* sendNext(number, era + minute)
    }),
  )

  it.effect("what is held back expires, and the next message is looked at", () =>
    Effect.gen(function* () {
      const era = anEra()
      const { number } = yield* aStage({ createdAt: era })
      yield* pace(number, { perHour: 1 }, era)
      yield* aMessage(number, { now: era })
      const held = yield* aMessage(number, { now: era, expiresAt: era + minute })
      const next = yield* aMessage(number, { now: era })
      yield* sendNext(number, era)
      assert.deepStrictEqual(yield* claim([number], { now: era + 1 }), [])
      const due = yield* MessageStore.use((store) => store.expired(era + minute, 100))
      assert.include(
        due.map(({ id }) => id),
        held.id,
      )
      assert.deepStrictEqual(yield* end(expired(held, era + minute)), [held.id])
      assert.deepStrictEqual(yield* claim([number], { now: era + minute }), [])
      assert.strictEqual(yield* nextDue, era + hour)
      assert.strictEqual((yield* sendNext(number, era + hour)).id, next.id)
    }),
  )

  it.effect("new recipients are limited in a day, known ones are not, and the order holds", () =>
    Effect.gen(function* () {
      const era = anEra()
      const { number } = yield* aStage({ createdAt: era })
      const [known, stranger, another] = [aPhone(), aPhone(), aPhone()]
      const to = (phone: typeof known, now: number) =>
        aMessage(number, { now, message: { to: { kind: "phone", phone, contactId: null } } })
      const send = (now: number) =>
        Effect.gen(function* () {
          const claimed = yield* claimOne(number, { now })
          yield* settle([sent(claimed, now)], now)
          return claimed.message.id
        })
      // Whom it wrote to before there was a limit is known.
      yield* to(known, era)
      yield* sendNext(number, era)
      yield* pace(number, { newRecipientsPerDay: 1 }, era + day)
      const first = yield* to(stranger, era + day)
      assert.strictEqual(yield* send(era + day), first.id)
      const held = yield* to(another, era + day)
      const behind = yield* to(known, era + day + 1)
      assert.deepStrictEqual(yield* claim([number], { now: era + day + 2 }), [])
      assert.strictEqual(yield* nextDue, era + 2 * day)
      const facts = yield* connectionFacts(number, era + day + 2)
      assert.deepInclude(facts, { waiting: 2, limitedUntil: era + 2 * day })
      // It alone was held back: without it the next may leave at once.
      yield* end(cancelled(held, era + day + 3))
      assert.strictEqual(yield* send(era + day + 4), behind.id)
      const last = yield* to(another, era + day + 5)
      assert.deepStrictEqual(yield* claim([number], { now: era + day + 5 }), [])
      assert.strictEqual(yield* send(era + 2 * day), last.id)
    }),
  )

  it.effect("whom it writes to while new recipients begin to be limited is known as well", () =>
    Effect.gen(function* () {
      const era = anEra()
      const { number } = yield* aStage({ createdAt: era })
      const [known, stranger] = [aPhone(), aPhone()]
      const to = (phone: typeof known) =>
        aMessage(number, { now: era, message: { to: { kind: "phone", phone, contactId: null } } })
      yield* to(known)
      const first = yield* claimOne(number, { now: era })
      yield* pace(number, { newRecipientsPerDay: 1 }, era)
      yield* settle([sent(first, era)], era)
      const repeat = yield* to(known)
      assert.strictEqual((yield* sendNext(number, era)).id, repeat.id)
      yield* to(stranger)
      assert.deepStrictEqual(yield* claim([number], { now: era }), [])
      // What is sent while the limit is taken away is looked up when it comes back.
      yield* pace(number, { newRecipientsPerDay: 2 }, era)
      const second = yield* claimOne(number, { now: era })
      yield* pace(number, {}, era)
      yield* settle([sent(second, era)], era)
      yield* pace(number, { newRecipientsPerDay: 2 }, era + 1)
      const last = yield* to(stranger)
      assert.strictEqual((yield* sendNext(number, era + 1)).id, last.id)
    }),
  )

  it.effect("a paused number sends nothing until the pause is over, whatever arrives", () =>
    Effect.gen(function* () {
      const era = anEra()
      const { number } = yield* aStage({ createdAt: era })
      const first = yield* aMessage(number, { now: era })
      assert.isTrue(yield* pause(number, byOperator(era + hour), era))
      yield* aMessage(number, { now: era + 1 })
      assert.deepStrictEqual(yield* claim([number], { now: era + hour - 1 }), [])
      assert.strictEqual(yield* nextDue, era + hour)
      assert.strictEqual((yield* sendNext(number, era + hour)).id, first.id)
      yield* sendNext(number, era + hour)
    }),
  )

  it.effect("a pause without an end lasts until it is resumed", () =>
    Effect.gen(function* () {
      const work = yield* WorkStatus
      const era = anEra()
      const { number } = yield* aStage({ createdAt: era })
      const quiet = yield* nextDue
      const first = yield* aMessage(number, { now: era })
      yield* pause(number, byOperator(null), era)
      const second = yield* aMessage(number, { now: era + 1 })
      yield* end(cancelled(first, era + 2))
      assert.deepStrictEqual(yield* claim([number], { now: noon + 1000 * day }), [])
      assert.strictEqual(yield* nextDue, quiet)
      assert.notStrictEqual((yield* work.workload(era)).nextDue, era)
      assert.isTrue(yield* resume(number, era + 3))
      assert.strictEqual((yield* sendNext(number, era + 3)).id, second.id)
    }),
  )

  it.effect("an operator's pause and the number's own stand side by side until it is resumed", () =>
    Effect.gen(function* () {
      const { number } = yield* aStage()
      const paused = Effect.map(connectionFacts(number), (known) => known.pause)
      const restricted: Pause = { until: noon + hour, reason: "restricted" }
      yield* pause(number, restricted)
      yield* pause(number, byOperator(noon + minute))
      assert.deepStrictEqual(yield* paused, restricted)
      yield* pause(number, byOperator(null))
      assert.deepStrictEqual(yield* paused, byOperator(null))
      // The operator's next takes the place of the operator's last, and of nothing else.
      yield* pause(number, byOperator(noon + minute))
      assert.deepStrictEqual(yield* paused, restricted)
      yield* pause(number, byOperator(noon + 2 * hour))
      assert.deepStrictEqual(yield* paused, byOperator(noon + 2 * hour))
      const banned: Pause = { until: null, reason: "banned" }
      yield* pause(number, banned)
      yield* pause(number, byOperator(null))
      assert.deepStrictEqual(yield* paused, banned)
      yield* resume(number)
      assert.isNull(yield* paused)
      // Nothing of what was resumed comes back.
      yield* pause(number, byOperator(null))
      yield* pause(number, byOperator(noon + minute))
      assert.deepStrictEqual(yield* paused, byOperator(noon + minute))
    }),
  )

  it.effect("a pause that an attempt brings stands behind an operator's that is longer", () =>
    Effect.gen(function* () {
      const { number } = yield* aStage()
      const [, next] = yield* accepted(number, { count: 2 })
      const claimed = yield* claimOne(number)
      yield* pause(number, byOperator(noon + 2 * hour))
      const breaker = {
        strikes: { refusals: 0, pauses: 1 },
        pause: { until: noon + hour, reason: "restricted" as const },
      }
      const failed = { trigger: "send_failed", error: sendFailed } as const
      yield* settle([endedAs(claimed, failed, noon, { breaker })])
      const paused = Effect.map(connectionFacts(number), (known) => known.pause)
      assert.deepStrictEqual(yield* paused, byOperator(noon + 2 * hour))
      yield* pause(number, byOperator(noon + minute))
      assert.deepStrictEqual(yield* paused, breaker.pause)
      assert.deepStrictEqual(yield* claim([number], { now: noon + hour - 1 }), [])
      assert.strictEqual((yield* claimOne(number, { now: noon + hour })).message.id, next?.id)
    }),
  )

  it.effect("strikes and the pause that they bring are kept with the attempt", () =>
    Effect.gen(function* () {
      const { number } = yield* aStage()
      yield* accepted(number, { count: 4 })
      const strikes = { refusals: 3, pauses: 1 }
      const refuse = (until: number) =>
        Effect.gen(function* () {
          const claimed = yield* claimOne(number, { now: until })
          const breaker = { strikes, pause: { until: until + hour, reason: "restricted" } as const }
          const failed = { trigger: "send_failed", error: sendFailed } as const
          yield* settle([endedAs(claimed, failed, until, { breaker })], until)
        })
      yield* refuse(noon)
      assert.deepStrictEqual(yield* claim([number], { now: noon + hour - 1 }), [])
      const next = yield* claimOne(number, { now: noon + hour })
      assert.deepStrictEqual(next.strikes, strikes)
      // What says nothing of strikes leaves them as they are.
      yield* settle([sent(next, noon + hour)], noon + hour)
      const last = yield* claimOne(number, { now: noon + hour })
      assert.deepStrictEqual(last.strikes, strikes)
      const forgiven = { strikes: noStrikes, pause: null }
      yield* settle([sent(last, noon + hour, { breaker: forgiven })], noon + hour)
      const clean = yield* claimOne(number, { now: noon + hour })
      assert.deepStrictEqual(clean.strikes, noStrikes)
      // An operator's pause that came meanwhile is longer.
      yield* pause(number, byOperator(null), noon + hour)
      const breaker = {
        strikes,
        pause: { until: noon + 2 * hour, reason: "restricted" as const },
      }
      yield* settle([sent(clean, noon + hour, { breaker })], noon + hour)
      assert.deepStrictEqual((yield* connectionFacts(number)).pause, byOperator(null))
    }),
  )

  it.effect("what is in flight when the pause begins is settled, or waits interrupted", () =>
    Effect.gen(function* () {
      const { number } = yield* aStage()
      const messages = yield* accepted(number, { count: 2 })
      const first = yield* claimOne(number)
      yield* pause(number, byOperator(noon + hour))
      assert.deepStrictEqual(yield* settle([sent(first)]), [at(messages, 0).id])
      assert.deepStrictEqual(yield* claim([number], { now: noon + hour - 1 }), [])
      const lost = yield* claimOne(number, { now: noon + hour, leaseUntil: noon + hour + minute })
      yield* pause(number, byOperator(noon + 2 * hour), noon + hour)
      assert.deepStrictEqual(yield* claim([number], { now: noon + hour + minute }), [])
      assert.deepStrictEqual(yield* settle([sent(lost)]), [])
      const repeat = yield* claimOne(number, { now: noon + 2 * hour })
      assert.deepStrictEqual(
        [repeat.message.id, repeat.interruptions],
        [lost.message.id, lost.interruptions + 1],
      )
    }),
  )

  it.effect("what may have left is concluded after a pause although it expired meanwhile", () =>
    Effect.gen(function* () {
      const { number } = yield* aStage()
      const message = yield* aMessage(number, { expiresAt: noon + minute })
      const other = yield* aMessage(number)
      yield* settle([again(yield* claimOne(number), { interrupted: true })])
      yield* pause(number, byOperator(null))
      yield* end(cancelled(other, noon + hour))
      yield* resume(number, noon + hour)
      const claimed = yield* claimOne(number, { now: noon + hour })
      assert.deepStrictEqual([claimed.message.id, claimed.interruptions], [message.id, 1])
    }),
  )

  it.effect("a removed number is concluded although it was paused, and is paused no more", () =>
    Effect.gen(function* () {
      const store = yield* NumberStore
      const { workspace, number } = yield* aStage()
      yield* aMessage(number)
      yield* settle([again(yield* claimOne(number), { interrupted: true })])
      yield* pause(number, byOperator(null))
      yield* store.remove(workspace.id, number.id, noon)
      assert.isFalse(yield* pause(number, byOperator(null)))
      assert.isFalse(yield* resume(number))
      assert.isTrue((yield* claimOne(number)).removed)
    }),
  )

  it.effect("a number that is linked begins with a pacing unless it was told another", () =>
    Effect.gen(function* () {
      const store = yield* NumberStore
      const linking = yield* LinkingStore
      const { workspace } = yield* aStage()
      const given = { ...unpaced, perMinute: 20 }
      const paced = { ...unpaced, perMinute: 5 }
      const numbers = [
        yield* aNumber(workspace.id, { status: "disconnected" }),
        yield* aNumber(workspace.id, { status: "disconnected" }),
      ] as const
      yield* pace(numbers[1], paced)
      const found: Array<unknown> = []
      for (const { id } of numbers) {
        const attempt = anAttempt(noon, { pacing: given })
        yield* linking.reconnect(workspace.id, id, attempt, null)
        found.push((yield* store.settings([id])).get(id)?.pacing)
        yield* linking.giveUp(attempt.id, givenUp)
      }
      assert.deepStrictEqual(found, [given, paced])
    }),
  )
}
