/** Pacing of a lane: how fast its messages may leave, and to how many new recipients. */
import { assert } from "@effect/vitest"
import { noFailures, Store } from "@messaging-service/core"
import type { Pacing, SendingNumber } from "@messaging-service/core"
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
  abandoned,
  hour,
  minute,
  noon,
  oneSecond,
} from "../Records.ts"
import {
  cancelled,
  claim,
  claimOne,
  connectionFacts,
  end,
  expired,
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

const pace = (number: SendingNumber, overrides: Partial<Pacing>, now = noon) =>
  Store.use(({ numbers: store }) =>
    store.change(number.workspaceId, number.id, { pacing: { ...unpaced, ...overrides } }, now),
  )

const nextDue = Store.use(({ queue: work }) => work.nextDue("lanes"))

export const pacing: Topic = (it) => {
  it.effect("a number starts with its given pacing, and only it changes", () =>
    Effect.gen(function* () {
      const store = (yield* Store).numbers
      const { workspace, number: plain } = yield* aStage()
      const input = { ...unpaced, minIntervalMillis: 1000, perHour: 3 }
      const { id: _, ...copy } = plain
      const paced = yield* store.insert({ ...copy, phone: null }, input)
      assert.deepStrictEqual(
        yield* store.settings([plain.id, paced.id]),
        new Map([
          [plain.id, { pacing: null, proxy: null }],
          [paced.id, { pacing: input, proxy: null }],
        ]),
      )
      yield* aMessage(paced)
      const claimed = yield* claimOne(paced)
      assert.deepStrictEqual([claimed.pacing, claimed.failures], [input, noFailures])
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

  it.effect("a lane rests after a sent message and after one that keeps waiting", () =>
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

  it.effect("no more leaves in a minute and in an hour than the pacing allows, in order", () =>
    Effect.gen(function* () {
      const era = anEra()
      const { number } = yield* aStage({ createdAt: era })
      yield* pace(number, { perMinute: 2, perHour: 3 }, era)
      const messages = yield* accepted(number, { count: 5, now: era })
      assert.strictEqual((yield* sendNext(number, era)).id, at(messages, 0).id)
      yield* sendNext(number, era + oneSecond)
      assert.deepStrictEqual(yield* claim([number], { now: era + oneSecond }), [])
      assert.strictEqual(yield* nextDue, era + minute)
      // Later arrivals make the lane no earlier.
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

  it.effect("a new pacing applies at once, and a rest that has begun continues", () =>
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

  it.effect("a blocked message expires, and the next one is checked", () =>
    Effect.gen(function* () {
      const era = anEra()
      const { number } = yield* aStage({ createdAt: era })
      yield* pace(number, { perHour: 1 }, era)
      yield* aMessage(number, { now: era })
      const message = yield* aMessage(number, { now: era, expiresAt: era + minute })
      const next = yield* aMessage(number, { now: era })
      yield* sendNext(number, era)
      assert.deepStrictEqual(yield* claim([number], { now: era + 1 }), [])
      const due = yield* Store.use(({ messages: store }) => store.expired(era + minute, 100))
      assert.include(
        due.map(({ id }) => id),
        message.id,
      )
      assert.deepStrictEqual(yield* end(expired(message, era + minute)), [message.id])
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
      // Recipients from before the limit are known.
      yield* to(known, era)
      yield* sendNext(number, era)
      yield* pace(number, { newRecipientsPerDay: 1 }, era + day)
      const first = yield* to(stranger, era + day)
      assert.strictEqual(yield* send(era + day), first.id)
      const message = yield* to(another, era + day)
      const behind = yield* to(known, era + day + 1)
      assert.deepStrictEqual(yield* claim([number], { now: era + day + 2 }), [])
      assert.strictEqual(yield* nextDue, era + 2 * day)
      const facts = yield* connectionFacts(number, era + day + 2)
      assert.deepInclude(facts, { waiting: 2, limitedUntil: era + 2 * day })
      // Only that one was blocked: without it the next may leave at once.
      yield* end(cancelled(message, era + day + 3))
      assert.strictEqual(yield* send(era + day + 4), behind.id)
      const last = yield* to(another, era + day + 5)
      assert.deepStrictEqual(yield* claim([number], { now: era + day + 5 }), [])
      assert.strictEqual(yield* send(era + 2 * day), last.id)
    }),
  )

  it.effect("recipients from while the limit begins are known as well", () =>
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
      // Sends without a limit are looked up when it returns.
      yield* pace(number, { newRecipientsPerDay: 2 }, era)
      const second = yield* claimOne(number, { now: era })
      yield* pace(number, {}, era)
      yield* settle([sent(second, era)], era)
      yield* pace(number, { newRecipientsPerDay: 2 }, era + 1)
      const last = yield* to(stranger)
      assert.strictEqual((yield* sendNext(number, era + 1)).id, last.id)
    }),
  )

  it.effect("a linked number starts with a pacing unless it was given another", () =>
    Effect.gen(function* () {
      const { numbers: store } = yield* Store

      const { workspace } = yield* aStage()
      const input = { ...unpaced, perMinute: 20 }
      const paced = { ...unpaced, perMinute: 5 }
      const numbers = [
        yield* aNumber(workspace.id, { status: "disconnected" }),
        yield* aNumber(workspace.id, { status: "disconnected" }),
      ] as const
      yield* pace(numbers[1], paced)
      const found: Array<unknown> = []
      for (const { id } of numbers) {
        const attempt = anAttempt(noon, { pacing: input })
        yield* store.reconnect(workspace.id, id, attempt, null)
        found.push((yield* store.settings([id])).get(id)?.pacing)
        yield* store.abandonLinking(attempt.id, abandoned)
      }
      assert.deepStrictEqual(found, [input, paced])
    }),
  )
}
