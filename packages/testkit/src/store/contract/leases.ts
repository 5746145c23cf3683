/** `LaneQueue.settle`: the holder of the present lease decides, once. */
import { assert } from "@effect/vitest"
import { Store } from "@messaging-service/core"
import type { Settlement } from "@messaging-service/core"
import { Effect } from "effect"
import { at, ids, only } from "../Expect.ts"
import { followOutbox, scenario } from "../follow.ts"
import { attemptsInHands, lookUp, readState } from "../Reading.ts"
import {
  again,
  cancelled,
  claim,
  claimOne,
  end,
  endedAs,
  expired,
  failed,
  renew,
  sendFailed,
  sent,
  settle,
} from "../Sending.ts"
import type { Topic } from "../Topic.ts"
import {
  accepted,
  aMessage,
  aNumber,
  anEra,
  aStage,
  hour,
  minute,
  noon,
  oneSecond,
} from "../Records.ts"

export const leases: Topic = (it) => {
  it.effect("a settlement writes the message's end and its event together", () =>
    Effect.gen(function* () {
      const follow = yield* followOutbox
      const { workspace, number } = yield* aStage()
      const message = yield* aMessage(number)
      const claimed = yield* claimOne(number)
      const later = noon + oneSecond
      const settlement = endedAs(claimed, { trigger: "send_succeeded" }, later)
      assert.deepStrictEqual(yield* settle([settlement], later), [message.id])
      assert.deepStrictEqual(yield* lookUp(message), {
        message: { ...message, state: "sent", sentAt: later },
        inFlight: false,
      })
      const event = only(yield* follow(workspace.id))
      assert.strictEqual(settlement._tag, "Ended")
      if (settlement._tag === "Ended") {
        assert.deepStrictEqual(event, {
          id: event.id,
          eventId: settlement.change.event.id,
          type: "message.sent",
          workspaceId: workspace.id,
          mode: "live",
          messageId: message.id,
          createdAt: later,
          body: settlement.change.event.body,
          reference: null,
        })
      }
    }),
  )

  it.effect("a failed attempt leaves its reason", () =>
    Effect.gen(function* () {
      const { number } = yield* aStage()
      const message = yield* aMessage(number)
      const settlement = failed(yield* claimOne(number))
      yield* settle([settlement])
      assert.deepStrictEqual((yield* lookUp(message)).message, {
        ...message,
        state: "failed",
        error: sendFailed,
      })
    }),
  )

  it.effect("one call settles many lanes, each by its own lease", () =>
    Effect.gen(function* () {
      const { workspace } = yield* aStage()
      const numbers = yield* Effect.forEach(Array.from({ length: 5 }), () => aNumber(workspace.id))
      const messages = yield* Effect.forEach(numbers, (number) => aMessage(number))
      const claimed = yield* claim(numbers)
      assert.lengthOf(claimed, 5)
      const settlements = claimed.map((each, index): Settlement => {
        if (index === 0) return { ...sent(each), lease: each.lease + 1 }
        if (index === 1) return failed(each)
        if (index === 2) return again(each)
        return sent(each)
      })
      const unsettled = at(claimed, 0).message.id
      assert.deepStrictEqual(
        yield* settle(settlements),
        ids(messages).filter((id) => id !== unsettled),
      )
    }),
  )

  it.effect("a lease settles once", () =>
    Effect.gen(function* () {
      const follow = yield* followOutbox
      const { workspace, number } = yield* aStage()
      const message = yield* aMessage(number)
      const claimed = yield* claimOne(number)
      assert.deepStrictEqual(yield* settle([sent(claimed)]), [message.id])
      assert.deepStrictEqual(yield* settle([failed(claimed), sent(claimed), again(claimed)]), [])
      assert.strictEqual(yield* readState(message), "sent")
      assert.lengthOf(yield* follow(workspace.id), 1)
    }),
  )

  it.effect("one call with the same settlement twice settles it once", () =>
    Effect.gen(function* () {
      const follow = yield* followOutbox
      const { workspace, number } = yield* aStage()
      const message = yield* aMessage(number)
      const claimed = yield* claimOne(number)
      assert.deepStrictEqual(yield* settle([sent(claimed), sent(claimed)]), [message.id])
      assert.lengthOf(yield* follow(workspace.id), 1)
    }),
  )

  it.effect("leases of a lane grow, and an earlier one settles nothing of a later message", () =>
    Effect.gen(function* () {
      const { number } = yield* aStage()
      const messages = yield* accepted(number, { count: 2 })
      const first = yield* claimOne(number)
      yield* settle([sent(first)])
      const second = yield* claimOne(number)
      assert.isAbove(second.lease, first.lease)
      const forged: Settlement = { ...sent(second), lease: first.lease }
      assert.deepStrictEqual(yield* settle([forged]), [])
      assert.deepStrictEqual(yield* settle([sent(first)]), [])
      assert.strictEqual(yield* readState(at(messages, 1)), "waiting")
      assert.deepStrictEqual(yield* settle([sent(second)]), [at(messages, 1).id])
    }),
  )

  it.effect("after its lease a lane hands the same message out again, as interrupted", () =>
    Effect.gen(function* () {
      const { number } = yield* aStage()
      const first = at(yield* accepted(number, { count: 2 }), 0)
      const lost = yield* claimOne(number, { leaseUntil: noon + minute })
      assert.deepStrictEqual(yield* claim([number], { now: noon + minute - 1 }), [])
      const repeat = yield* claimOne(number, { now: noon + minute, leaseUntil: noon + 2 * minute })
      assert.deepStrictEqual(repeat, {
        ...lost,
        dueSince: noon + minute,
        lease: repeat.lease,
        interruptions: 1,
      })
      assert.isAbove(repeat.lease, lost.lease)
      assert.strictEqual(repeat.message.id, first.id)
      const third = yield* claimOne(number, { now: noon + hour })
      assert.strictEqual(third.message.id, first.id)
      assert.strictEqual(third.interruptions, 2)
    }),
  )

  it.effect("the holder of an expired lease may settle until another worker claims", () =>
    Effect.gen(function* () {
      const { number } = yield* aStage()
      const message = yield* aMessage(number)
      const claimed = yield* claimOne(number, { leaseUntil: noon + minute })
      const late = noon + hour
      assert.deepStrictEqual(yield* settle([sent(claimed, late)], late), [message.id])
      assert.deepStrictEqual(yield* claim([number], { now: late }), [])
    }),
  )

  it.effect("of two holders the second decides: one outcome, one event", () =>
    Effect.gen(function* () {
      const follow = yield* followOutbox
      const { workspace, number } = yield* aStage()
      const message = yield* aMessage(number)
      const slow = yield* claimOne(number, { leaseUntil: noon + minute })
      const late = noon + 2 * minute
      const quick = yield* claimOne(number, { now: late })
      assert.deepStrictEqual(yield* settle([failed(slow, late)], late), [])
      assert.deepStrictEqual(yield* settle([again(slow)], late), [])
      assert.strictEqual(yield* readState(message), "waiting")
      assert.deepStrictEqual(yield* settle([sent(quick, late)], late), [message.id])
      assert.deepStrictEqual(yield* settle([failed(slow, late)], late), [])
      assert.deepStrictEqual(scenario(yield* follow(workspace.id)), [[message.id, "message.sent"]])
    }),
  )

  it.effect("a renewed lease continues, even if it had expired", () =>
    Effect.gen(function* () {
      const { workspace, number } = yield* aStage()
      const other = yield* aNumber(workspace.id)
      const both = [number, other]
      for (const each of both) yield* accepted(each, { count: 2 })
      const claimed = yield* claim(both, { leaseUntil: noon + minute })
      assert.deepStrictEqual(yield* renew(claimed, noon + 2 * minute), ids(both))
      assert.deepStrictEqual(yield* claim(both, { now: noon + 2 * minute - 1 }), [])
      assert.deepStrictEqual(yield* renew(claimed, noon + 4 * minute), ids(both))
      assert.deepStrictEqual(yield* claim(both, { now: noon + 3 * minute }), [])
      const repeats = yield* claim(both, { now: noon + 4 * minute })
      assert.deepStrictEqual(
        repeats.map((each) => [each.message.id, each.interruptions]),
        claimed.map((each) => [each.message.id, 1]),
      )
      assert.deepStrictEqual(yield* renew([], noon + hour), [])
    }),
  )

  it.effect("a lease that was settled or taken over is not renewed, others of the call are", () =>
    Effect.gen(function* () {
      const { workspace, number: settled } = yield* aStage()
      const takenOver = yield* aNumber(workspace.id)
      const removed = yield* aNumber(workspace.id)
      const all = [settled, takenOver, removed]
      for (const each of all) yield* accepted(each, { count: 2 })
      const claimed = yield* claim(all, { leaseUntil: noon + minute })
      yield* settle(
        claimed.filter((each) => each.number.id === settled.id).map((each) => sent(each)),
      )
      const late = noon + hour
      const claimedMessage = yield* claimOne(takenOver, { now: late, leaseUntil: late + minute })
      yield* Store.use(({ numbers: store }) => store.remove(workspace.id, removed.id, noon))
      assert.deepStrictEqual(yield* renew(claimed, late + hour), [removed.id])
      assert.deepStrictEqual(yield* claim([removed], { now: late + hour - 1 }), [])
      const free = yield* claim([settled, takenOver], { now: late + minute })
      assert.deepStrictEqual(
        ids(free.map((each) => each.number)).toSorted((a, b) => a - b),
        [settled.id, takenOver.id],
      )
      assert.deepStrictEqual(yield* renew([claimedMessage], late + hour), [])
    }),
  )

  it.effect("attempts that may have sent are counted, postponed ones are not", () =>
    Effect.gen(function* () {
      const { number } = yield* aStage()
      yield* accepted(number, { count: 2 })
      const interruptions: Array<number> = []
      const claimAt = (now: number) =>
        Effect.gen(function* () {
          const claimed = yield* claimOne(number, { now, leaseUntil: now + oneSecond })
          interruptions.push(claimed.interruptions)
          return claimed
        })
      yield* settle([again(yield* claimAt(noon), { interrupted: false })])
      yield* settle([again(yield* claimAt(noon), { interrupted: true })])
      yield* settle([again(yield* claimAt(noon), { notBefore: noon + minute })])
      yield* claimAt(noon + minute)
      const last = yield* claimAt(noon + hour)
      assert.deepStrictEqual(interruptions, [0, 0, 1, 1, 2])
      yield* settle([sent(last, noon + hour)], noon + hour)
      yield* claimAt(noon + hour)
      assert.deepStrictEqual(interruptions.slice(5), [0])
    }),
  )

  it.effect("a message that must be retried precedes the others of its lane", () =>
    Effect.gen(function* () {
      const { number } = yield* aStage()
      const messages = yield* accepted(number, { count: 3 })
      const claimed = yield* claimOne(number)
      assert.deepStrictEqual(yield* settle([again(claimed, { interrupted: true })]), [
        at(messages, 0).id,
      ])
      assert.deepStrictEqual(yield* lookUp(at(messages, 0)), {
        message: at(messages, 0),
        inFlight: true,
      })
      assert.strictEqual((yield* claimOne(number)).message.id, at(messages, 0).id)
    }),
  )

  it.effect("a message handed to a transport is in flight, also after its lease", () =>
    Effect.gen(function* () {
      const { number } = yield* aStage()
      const inFlight = (now: number) => attemptsInHands(number, now)
      const messages = yield* accepted(number, { count: 2 })
      const [message, other] = [at(messages, 0), at(messages, 1)]
      assert.isEmpty(yield* inFlight(noon))
      const claimed = yield* claimOne(number, { leaseUntil: noon + minute })
      assert.deepStrictEqual(yield* lookUp(message), { message, inFlight: true })
      assert.isFalse((yield* lookUp(other)).inFlight)
      assert.lengthOf(yield* inFlight(noon), 1)
      assert.deepStrictEqual(yield* end(cancelled(message, noon + hour)), [])
      // No worker holds it any more, though it may have left.
      assert.isEmpty(yield* inFlight(noon + minute))
      assert.deepStrictEqual(yield* lookUp(message), { message, inFlight: true })
      yield* settle([again(claimed)])
      assert.isFalse((yield* lookUp(message)).inFlight)
      assert.isEmpty(yield* inFlight(noon))
      assert.deepStrictEqual(yield* end(cancelled(message, noon + hour)), [message.id])
    }),
  )

  it.effect("an unsettled message comes again first, also when it expired meanwhile", () =>
    Effect.gen(function* () {
      const { number } = yield* aStage()
      const message = at(yield* accepted(number, { count: 2, expiresAt: noon + oneSecond }), 0)
      yield* claimOne(number, { leaseUntil: noon + minute })
      assert.deepStrictEqual(yield* end(expired(message, noon + oneSecond)), [])
      const repeat = yield* claimOne(number, { now: noon + hour })
      assert.strictEqual(repeat.message.id, message.id)
      assert.strictEqual(repeat.interruptions, 1)
    }),
  )

  it.effect("in a pause too an expired possibly sent message is concluded, and no other", () =>
    Effect.gen(function* () {
      const { queue } = yield* Store

      const pause = { until: null, reason: "paused" } as const
      for (const isLost of [false, true]) {
        const era = anEra()
        const { number } = yield* aStage({ createdAt: era })
        const message = yield* aMessage(number, { now: era, expiresAt: era + hour })
        const claimed = yield* claimOne(number, { now: era, leaseUntil: era + minute })
        if (!isLost) yield* settle([again(claimed, { interrupted: true })], era)
        yield* queue.pause(number.id, pause, era + 1)
        const [other] = yield* accepted(number, { count: 2, now: era + 2 })
        assert.deepStrictEqual(yield* claim([number], { now: era + minute }), [])
        assert.strictEqual(yield* queue.nextDue("lanes"), era + hour)
        yield* aMessage(number, { now: era + minute })
        if (other !== undefined) yield* end(cancelled(other, era + minute))
        yield* queue.pause(number.id, pause, era + minute)
        assert.strictEqual(yield* queue.nextDue("lanes"), era + hour)
        assert.deepStrictEqual(yield* claim([number], { now: era + hour - 1 }), [])
        const last = yield* claimOne(number, { now: era + hour })
        assert.deepStrictEqual([last.message.id, last.interruptions], [message.id, 1])
        yield* settle([failed(last, era + hour)], era + hour)
        assert.deepStrictEqual(yield* claim([number], { now: era + 2 * hour }), [])
        yield* Store.use(({ numbers: store }) => store.remove(number.workspaceId, number.id, era))
      }
    }),
  )

  it.effect.each([
    [false, "connected"],
    [true, "connected"],
    [false, "disconnected"],
    [true, "disconnected"],
  ] as const)(
    "a possibly sent message of a disconnected number waits for it, or for its expiry (lost %j, then %s)",
    ([isLost, then]) =>
      Effect.gen(function* () {
        const { queue: work, numbers } = yield* Store

        const era = anEra()
        const { number } = yield* aStage({ createdAt: era })
        const status = (is: "connected" | "disconnected", now: number) =>
          numbers.setStatus(number.id, is, undefined, now)
        const message = yield* aMessage(number, { now: era, expiresAt: era + hour })
        const claimed = yield* claimOne(number, { now: era, leaseUntil: era + minute })
        yield* status("disconnected", era + 1)
        if (!isLost) yield* settle([again(claimed, { interrupted: true })], era + 1)
        const [other] = yield* accepted(number, { count: 2, now: era + 2 })
        assert.deepStrictEqual(yield* claim([number], { now: era + minute }), [])
        assert.strictEqual(yield* work.nextDue("lanes"), era + hour)
        if (other !== undefined) yield* end(cancelled(other, era + minute))
        assert.strictEqual(yield* work.nextDue("lanes"), era + hour)
        assert.deepStrictEqual(yield* claim([number], { now: era + hour - 1 }), [])
        const back = then === "connected" ? era + 2 * minute : era + hour
        if (then === "connected") yield* status(then, back)
        const last = yield* claimOne(number, { now: back })
        assert.deepStrictEqual([last.message.id, last.interruptions], [message.id, 1])
        yield* settle([failed(last, back)], back)
        // The rest waits for the number.
        const rest = yield* claim([number], { now: era + 2 * hour })
        assert.lengthOf(rest, then === "connected" ? 1 : 0)
        yield* numbers.remove(number.workspaceId, number.id, era)
      }),
  )

  it.effect("a possibly sent message without an expiry waits until its number reconnects", () =>
    Effect.gen(function* () {
      const { numbers } = yield* Store
      const era = anEra()
      const { number } = yield* aStage({ createdAt: era })
      const message = yield* aMessage(number, { now: era })
      yield* claimOne(number, { now: era, leaseUntil: era + minute })
      yield* numbers.setStatus(number.id, "disconnected", undefined, era)
      assert.deepStrictEqual(yield* claim([number], { now: era + minute }), [])
      assert.deepStrictEqual(yield* claim([number], { now: era + 1000 * hour }), [])
      yield* numbers.setStatus(number.id, "connected", undefined, era + minute)
      const last = yield* claimOne(number, { now: era + minute })
      assert.deepStrictEqual([last.message.id, last.interruptions], [message.id, 1])
    }),
  )

  it.effect("settling nothing settles nothing", () =>
    Effect.gen(function* () {
      const { queue } = yield* Store
      assert.strictEqual((yield* queue.settle([], noon)).settled.size, 0)
    }),
  )
}
