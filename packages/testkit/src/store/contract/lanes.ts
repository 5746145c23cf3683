/** `LaneQueue.claim`: which message leaves next, from which number. */
import { assert } from "@effect/vitest"
import { noFailures, Store } from "@messaging-service/core"
import type { QuotaLimit, SendingNumber } from "@messaging-service/core"
import { Effect } from "effect"
import { at, ids, only, present } from "../Expect.ts"
import {
  again,
  aClaimQuery,
  cancelled,
  claim,
  claimOne,
  connectionFacts,
  end,
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
  noon,
  oneSecond,
  someNumbers,
} from "../Records.ts"

const setStatus = (number: SendingNumber, status: SendingNumber["status"], now = noon) =>
  Store.use(({ numbers: store }) => store.setStatus(number.id, status, undefined, now))

export const lanes: Topic = (it) => {
  it.effect("a claim hands out the message as it waits, with its number and a lease", () =>
    Effect.gen(function* () {
      const { number } = yield* aStage()
      const message = yield* aMessage(number, { expiresAt: noon + hour })
      const claimed = yield* claimOne(number)
      assert.deepStrictEqual(claimed, {
        message,
        rest: [],
        dueSince: noon,
        number,
        removed: false,
        lease: claimed.lease,
        interruptions: 0,
        pacing: null,
        failures: noFailures,
        diskFailuresInARow: 0,
      })
    }),
  )

  it.effect("one message of a number at a time", () =>
    Effect.gen(function* () {
      const { number } = yield* aStage()
      yield* accepted(number, { count: 3 })
      const first = yield* claimOne(number)
      assert.deepStrictEqual(yield* claim([number]), [])
      yield* settle([sent(first)])
      const second = yield* claimOne(number)
      assert.notStrictEqual(second.message.id, first.message.id)
      assert.deepStrictEqual(yield* claim([number]), [])
    }),
  )

  it.effect("messages leave in the order of their due times, then of their ids", () =>
    Effect.gen(function* () {
      const { number } = yield* aStage()
      const last = yield* aMessage(number, { sendAt: noon + 3 * minute })
      const tied = yield* aMessage(number, { sendAt: noon + minute })
      const first = yield* aMessage(number)
      const alsoTied = yield* aMessage(number, { now: noon + minute })
      const third = yield* aMessage(number, { sendAt: noon + 2 * minute })
      const order: Array<number> = []
      for (let index = 0; index < 5; index++) {
        order.push((yield* sendNext(number, noon + hour)).id)
      }
      assert.deepStrictEqual<ReadonlyArray<number>>(
        order,
        ids([first, tied, alsoTied, third, last]),
      )
    }),
  )

  it.effect("a message that is not due yet is not claimed", () =>
    Effect.gen(function* () {
      const { number } = yield* aStage()
      const message = yield* aMessage(number, { sendAt: noon + hour })
      assert.deepStrictEqual(yield* claim([number], { now: noon + hour - 1 }), [])
      const claimed = yield* claimOne(number, { now: noon + hour })
      assert.strictEqual(claimed.message.id, message.id)
    }),
  )

  it.effect("a claim passes over lanes that were due before it begins to look", () =>
    Effect.gen(function* () {
      const { number, workspace } = yield* aStage()
      const other = yield* aNumber(workspace.id)
      const both = [number, other]
      yield* aMessage(number)
      const later = yield* aMessage(other, { sendAt: noon + minute })
      const now = noon + hour
      const claimed = only(yield* claim(both, { now, dueSince: noon + 1 }))
      assert.deepStrictEqual([claimed.message.id, claimed.dueSince], [later.id, noon + minute])
      assert.deepStrictEqual(yield* claim(both, { now, dueSince: noon + 1 }), [])
      assert.strictEqual(only(yield* claim(both, { now, dueSince: noon })).dueSince, noon)
    }),
  )

  it.effect("test messages are not in a lane", () =>
    Effect.gen(function* () {
      const { number } = yield* aStage()
      yield* accepted(number, { count: 2, mode: "test" })
      assert.deepStrictEqual(yield* claim([number]), [])
    }),
  )

  it.effect("an expired or cancelled message is skipped", () =>
    Effect.gen(function* () {
      const { number } = yield* aStage()
      yield* aMessage(number, { expiresAt: noon + minute })
      const gone = yield* aMessage(number)
      const good = yield* aMessage(number, { expiresAt: noon + minute + 1 })
      yield* end(cancelled(gone))
      const claimed = yield* claimOne(number, { now: noon + minute })
      assert.strictEqual(claimed.message.id, good.id)
      yield* settle([sent(claimed, noon + minute)], noon + minute)
      assert.deepStrictEqual(yield* claim([number], { now: noon + minute }), [])
    }),
  )

  it.effect("a lane whose due messages have all expired hides no later one", () =>
    Effect.gen(function* () {
      const { number } = yield* aStage()
      yield* accepted(number, { count: 3, expiresAt: noon + minute })
      const later = yield* aMessage(number, { sendAt: noon + hour })
      assert.deepStrictEqual(yield* claim([number], { now: noon + 2 * minute }), [])
      const fresh = yield* aMessage(number, { now: noon + 3 * minute })
      assert.strictEqual((yield* sendNext(number, noon + 4 * minute)).id, fresh.id)
      assert.strictEqual((yield* sendNext(number, noon + hour)).id, later.id)
    }),
  )

  it.effect("only numbers that the worker owns are claimed from", () =>
    Effect.gen(function* () {
      const { queue } = yield* Store
      const { workspace, number: mine } = yield* aStage()
      const other = yield* aNumber(workspace.id)
      const message = yield* aMessage(mine)
      yield* aMessage(other)
      assert.deepStrictEqual(yield* claim([]), [])
      const claimed = yield* claim([mine])
      assert.strictEqual(only(claimed).message.id, message.id)
      assert.lengthOf(yield* queue.claim(aClaimQuery([other])), 1)
    }),
  )

  it.effect("a worker that owns all numbers claims from any", () =>
    Effect.gen(function* () {
      const { queue } = yield* Store
      const now = anEra()
      const { number } = yield* aStage({ createdAt: now })
      const message = yield* aMessage(number, { now })
      const claimed = yield* queue.claim({ ...aClaimQuery([], { now }), owned: "all" })
      assert.deepStrictEqual(
        claimed.map((each) => each.message),
        [message],
      )
      yield* settle([sent(only(claimed), now)], now)
    }),
  )

  it.effect("a disconnected number is not claimed from, and delays no other", () =>
    Effect.gen(function* () {
      const { workspace, number: good } = yield* aStage()
      const offline = yield* aNumber(workspace.id, { status: "disconnected" })
      const linking = yield* aNumber(workspace.id, { status: "connecting" })
      const all = [offline, linking, good]
      for (const number of all) yield* aMessage(number)
      assert.strictEqual(only(yield* claim(all, { limit: 1 })).number.id, good.id)
      assert.deepStrictEqual(yield* claim(all), [])
      yield* setStatus(offline, "connected")
      yield* setStatus(linking, "connected")
      assert.deepStrictEqual(
        ids((yield* claim(all)).map((each) => each.number)).toSorted((a, b) => a - b),
        ids([offline, linking]),
      )
    }),
  )

  it.effect("a number that logs out keeps its messages until it returns", () =>
    Effect.gen(function* () {
      const { number } = yield* aStage()
      const messages = yield* accepted(number, { count: 2 })
      yield* sendNext(number)
      yield* setStatus(number, "disconnected")
      assert.deepStrictEqual(yield* claim([number]), [])
      yield* accepted(number, { now: noon + minute })
      assert.deepStrictEqual(yield* claim([number], { now: noon + hour }), [])
      yield* setStatus(number, "connected", noon + hour)
      assert.strictEqual((yield* sendNext(number, noon + hour)).id, at(messages, 1).id)
      yield* sendNext(number, noon + hour)
    }),
  )

  it.effect("a claim takes no more lanes than requested, the longest due first", () =>
    Effect.gen(function* () {
      const { workspace } = yield* aStage()
      const all = yield* someNumbers(workspace.id, 4)
      const [a, b, c, d] = [at(all, 0), at(all, 1), at(all, 2), at(all, 3)]
      yield* aMessage(d, { now: noon })
      yield* aMessage(b, { now: noon + 1 })
      yield* aMessage(a, { now: noon + 2 })
      yield* aMessage(c, { now: noon + 3 })
      const numbers = (limit: number) =>
        Effect.map(claim(all, { now: noon + minute, limit }), (claimed) =>
          ids(claimed.map((each) => each.number)),
        )
      assert.deepStrictEqual(yield* numbers(2), ids([d, b]))
      assert.deepStrictEqual(yield* numbers(1), ids([a]))
      assert.deepStrictEqual(yield* numbers(5), ids([c]))
      assert.deepStrictEqual(yield* numbers(5), [])
    }),
  )

  it.effect("claims no more lanes of one workspace than the worker may hold", () =>
    Effect.gen(function* () {
      const greedy = yield* aStage()
      const modest = yield* aStage()
      const many = [greedy.number, ...(yield* someNumbers(greedy.workspace.id, 4))]
      const few = [modest.number, ...(yield* someNumbers(modest.workspace.id, 1))]
      for (const [index, number] of many.entries()) yield* aMessage(number, { now: noon + index })
      for (const [index, number] of few.entries()) {
        yield* aMessage(number, { now: noon + oneSecond + index })
      }
      const claimed = (limit: number, held: number) =>
        Effect.map(
          claim([...many, ...few], {
            now: noon + minute,
            leaseUntil: noon + hour,
            perWorkspace: 3,
            held: new Map([[greedy.workspace.id, held]]),
            limit,
          }),
          (all) => ids(all.map((each) => each.number)),
        )
      // The rest of the limit goes to the other.
      assert.deepStrictEqual(yield* claimed(4, 1), ids([...many.slice(0, 2), ...few]))
      assert.deepStrictEqual(yield* claimed(4, 3), [])
      assert.deepStrictEqual(yield* claimed(4, 2), ids([at(many, 2)]))
      assert.deepStrictEqual(yield* claimed(1, 0), ids([at(many, 3)]))
    }),
  )

  it.effect("a number with many messages goes to the end of the queue after each", () =>
    Effect.gen(function* () {
      const { workspace } = yield* aStage()
      const all = yield* someNumbers(workspace.id, 4)
      yield* accepted(at(all, 0), { count: 10 })
      for (const [index, number] of all.slice(1).entries()) {
        yield* accepted(number, { count: 2, now: noon + oneSecond + index })
      }
      const order: Array<number> = []
      for (let turn = 0; turn < 8; turn++) {
        const now = noon + minute + turn
        const claimed = only(yield* claim(all, { now, limit: 1 }))
        order.push(claimed.number.id)
        yield* settle([sent(claimed, now)], now)
      }
      assert.deepStrictEqual(order, [...ids(all), ...ids(all)])
    }),
  )

  it.effect("a number that had its turn does not get another one by a cancel", () =>
    Effect.gen(function* () {
      const { workspace, number: busy } = yield* aStage()
      const idle = yield* aNumber(workspace.id)
      const messages = yield* accepted(busy, { count: 3 })
      yield* aMessage(idle, { now: noon + oneSecond })
      yield* sendNext(busy, noon + minute)
      yield* end(cancelled(at(messages, 1), noon + minute))
      const claimed = yield* claim([busy, idle], { now: noon + hour, limit: 1 })
      assert.strictEqual(only(claimed).number.id, idle.id)
      assert.strictEqual((yield* sendNext(busy, noon + hour)).id, at(messages, 2).id)
    }),
  )

  it.effect("empty lanes do not keep others waiting", () =>
    Effect.gen(function* () {
      const { workspace } = yield* aStage()
      const empty = yield* someNumbers(workspace.id, 3)
      const good = yield* aNumber(workspace.id)
      for (const number of empty) yield* aMessage(number, { expiresAt: noon + minute })
      const message = yield* aMessage(good, { now: noon + oneSecond })
      const found: Array<number> = []
      for (let turn = 0; turn < 5 && found.length === 0; turn++) {
        const claimed = yield* claim([...empty, good], { now: noon + hour, limit: 1 })
        found.push(...claimed.map((each) => each.message.id))
      }
      assert.deepStrictEqual(found, [message.id])
    }),
  )

  it.effect(
    "a lane rests until notBefore, whatever arrives meanwhile, and continues in order",
    () =>
      Effect.gen(function* () {
        const { number } = yield* aStage()
        const messages = yield* accepted(number, { count: 2 })
        const claimed = yield* claimOne(number)
        const notBefore = noon + hour
        assert.deepStrictEqual(yield* settle([again(claimed, { notBefore })]), [claimed.message.id])
        assert.deepStrictEqual(yield* claim([number], { now: noon + minute }), [])
        yield* aMessage(number, { now: noon + minute })
        assert.deepStrictEqual(yield* claim([number], { now: notBefore - 1 }), [])
        yield* setStatus(number, "disconnected", noon + minute)
        yield* setStatus(number, "connected", noon + minute)
        assert.deepStrictEqual(yield* claim([number], { now: notBefore - 1 }), [])
        assert.strictEqual((yield* sendNext(number, notBefore)).id, at(messages, 0).id)
        assert.strictEqual((yield* sendNext(number, notBefore)).id, at(messages, 1).id)
      }),
  )

  it.effect("over the sending cap a lane rests until the oldest send leaves the window", () =>
    Effect.gen(function* () {
      const work = (yield* Store).queue
      const era = anEra()
      const dailyLimit: QuotaLimit = { messages: 2, windowMillis: day }
      const { number } = yield* aStage({ createdAt: era })
      const messages = yield* accepted(number, { count: 5, now: era })
      const send = (now: number) =>
        Effect.gen(function* () {
          const claimed = yield* claimOne(number, { now, dailyLimit })
          yield* settle([sent(claimed, now)], now)
          return claimed.message.id
        })
      yield* send(era + hour)
      yield* send(era + 2 * hour)
      assert.deepStrictEqual(yield* claim([number], { now: era + 3 * hour, dailyLimit }), [])
      assert.strictEqual(yield* work.nextDue("lanes"), era + hour + day)
      assert.deepStrictEqual(yield* claim([number], { now: era + hour + day - 1, dailyLimit }), [])
      assert.strictEqual(yield* send(era + hour + day), at(messages, 2).id)
      assert.deepStrictEqual(yield* claim([number], { now: era + hour + day, dailyLimit }), [])
      assert.strictEqual(yield* work.nextDue("lanes"), era + 2 * hour + day)
      assert.strictEqual(yield* send(era + 2 * hour + day), at(messages, 3).id)
    }),
  )

  it.effect("only sent messages count towards the sending cap", () =>
    Effect.gen(function* () {
      const dailyLimit: QuotaLimit = { messages: 1, windowMillis: day }
      const { workspace, number } = yield* aStage()
      const other = yield* aNumber(workspace.id)
      yield* aMessage(other)
      yield* sendNext(other)
      const messages = yield* accepted(number, { count: 3 })
      yield* end(cancelled(at(messages, 0)))
      yield* settle([again(yield* claimOne(number, { dailyLimit }))])
      const claimed = yield* claimOne(number, { dailyLimit })
      assert.strictEqual(claimed.message.id, at(messages, 1).id)
      yield* settle([sent(claimed)])
      assert.deepStrictEqual(yield* claim([number], { dailyLimit }), [])
    }),
  )

  it.effect("nothing more of a removed number is claimed", () =>
    Effect.gen(function* () {
      const { workspace, number } = yield* aStage()
      yield* accepted(number, { count: 2 })
      yield* Store.use(({ numbers: store }) => store.remove(workspace.id, number.id, noon))
      assert.deepStrictEqual(yield* claim([number], { now: noon + day }), [])
    }),
  )

  it.effect("a number whose first message finds no room on the disk rests, its order kept", () =>
    Effect.gen(function* () {
      const { number } = yield* aStage()
      const [first, second] = yield* accepted(number, { count: 2 })
      const { number: other } = yield* aStage()
      yield* aMessage(other)
      const claimed = yield* claimOne(number)
      assert.strictEqual(claimed.diskFailuresInARow, 0)
      yield* settle([again(claimed, { diskRest: { until: noon + minute, inARow: 1 } })])
      assert.deepInclude(yield* connectionFacts(number), {
        noRoomUntil: noon + minute,
        pacedUntil: null,
        limitedUntil: null,
      })
      // New messages wait behind it, and others continue.
      const third = yield* aMessage(number)
      assert.deepStrictEqual(yield* claim([number], { now: noon + minute - 1 }), [])
      yield* sendNext(other)
      const repeat = yield* claimOne(number, { now: noon + minute })
      assert.deepStrictEqual([repeat.message.id, repeat.diskFailuresInARow], [first?.id, 1])
      const diskRest = { until: noon + 3 * minute, inARow: 2 }
      yield* settle([again(repeat, { diskRest })], noon + minute)
      assert.deepStrictEqual(yield* claim([number], { now: noon + 3 * minute - 1 }), [])
      const last = yield* claimOne(number, { now: noon + 3 * minute })
      assert.strictEqual(last.diskFailuresInARow, 2)
      yield* settle([sent(last, noon + 3 * minute)], noon + 3 * minute)
      assert.isNull((yield* connectionFacts(number)).noRoomUntil)
      const next = yield* claimOne(number, { now: noon + 3 * minute })
      assert.deepStrictEqual([next.message.id, next.diskFailuresInARow], [second?.id, 0])
      yield* settle([sent(next, noon + 3 * minute)], noon + 3 * minute)
      assert.strictEqual((yield* sendNext(number, noon + 3 * minute)).id, third.id)
    }),
  )

  it.effect("once that message is cancelled, the next one does not wait for room", () =>
    Effect.gen(function* () {
      const { number } = yield* aStage()
      const [first, second] = yield* accepted(number, { count: 2 })
      const diskRest = { until: noon + minute, inARow: 1 }
      yield* settle([again(yield* claimOne(number), { diskRest })])
      yield* end(cancelled(present(first)))
      assert.isNull((yield* connectionFacts(number)).noRoomUntil)
      const next = yield* claimOne(number)
      // It may need a file too.
      assert.deepStrictEqual([next.message.id, next.diskFailuresInARow], [second?.id, 1])
    }),
  )

  it.effect("a message limited since then is no longer blocked for want of room", () =>
    Effect.gen(function* () {
      const { number } = yield* aStage()
      yield* accepted(number, { count: 2 })
      yield* sendNext(number)
      const diskRest = { until: noon + minute, inARow: 1 }
      yield* settle([again(yield* claimOne(number), { diskRest })])
      const dailyLimit = { messages: 1, windowMillis: hour }
      assert.deepStrictEqual(yield* claim([number], { now: noon + minute, dailyLimit }), [])
      assert.isNull((yield* connectionFacts(number)).noRoomUntil)
      const next = yield* claimOne(number, { now: noon + hour, dailyLimit })
      assert.strictEqual(next.diskFailuresInARow, 0)
    }),
  )
}
