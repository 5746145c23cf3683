/** `LaneQueue` when a number leaves while one of its messages is in flight. */
import { assert } from "@effect/vitest"
import { noFailures, Store } from "@messaging-service/core"
import type { MediaReference } from "@messaging-service/core"
import { Effect } from "effect"
import { at, ids, only } from "../Expect.ts"
import { followOutbox, scenario } from "../follow.ts"
import { lookUp, readState } from "../Reading.ts"
import { again, claim, claimOne, endedAs, failed, sent, settle } from "../Sending.ts"
import type { Topic } from "../Topic.ts"
import { accepted, aMessage, aNumber, aStage, hour, minute, noon } from "../Records.ts"

export const departures: Topic = (it) => {
  it.effect("the detected media type is written with the end, and shown from then on", () =>
    Effect.gen(function* () {
      const store = (yield* Store).messages
      const { number } = yield* aStage()
      const media: MediaReference = {
        mediaId: null,
        attachmentId: null,
        url: "https://example.com/picture",
        type: null,
        fileName: null,
      }
      const message = yield* aMessage(number, { message: { media } })
      const claimed = yield* claimOne(number)
      assert.isNull(claimed.message.foundMediaType)
      const found = { ...claimed.message, foundMediaType: "image" as const }
      yield* settle([sent({ ...claimed, message: found })])
      const expected = { ...found, state: "sent", sentAt: noon } as const
      assert.deepStrictEqual((yield* lookUp(message)).message, expected)
      assert.deepStrictEqual(yield* store.byIds([message.id]), [expected])
      const ticked = yield* store.tick(message.from.id, message.transportId, "read", noon)
      assert.deepStrictEqual(ticked, { ...expected, state: "read" })
    }),
  )

  it.effect("an unsettled message of a number that logged out waits for its return", () =>
    Effect.gen(function* () {
      const { numbers } = yield* Store
      const { number } = yield* aStage()
      const message = yield* aMessage(number)
      yield* claimOne(number, { leaseUntil: noon + minute })
      yield* numbers.setStatus(number.id, "disconnected", undefined, noon)
      assert.deepStrictEqual(yield* claim([number], { now: noon + hour }), [])
      assert.isTrue((yield* lookUp(message)).inFlight)
      yield* numbers.setStatus(number.id, "connected", undefined, noon + hour)
      const repeat = yield* claimOne(number, { now: noon + hour })
      assert.strictEqual(repeat.message.id, message.id)
      assert.strictEqual(repeat.interruptions, 1)
    }),
  )

  it.effect("an attempt settles after its number logged out or was removed", () =>
    Effect.gen(function* () {
      const { numbers } = yield* Store
      const { workspace, number } = yield* aStage()
      const second = yield* aNumber(workspace.id)
      const messages = [yield* aMessage(number), yield* aMessage(second)]
      const claimed = yield* claim([number, second])
      yield* numbers.setStatus(number.id, "disconnected", undefined, noon)
      yield* numbers.remove(workspace.id, second.id, noon)
      assert.deepStrictEqual(yield* settle(claimed.map((each) => sent(each))), ids(messages))
      for (const message of messages) assert.strictEqual(yield* readState(message), "sent")
    }),
  )

  it.effect("an unsettled message of a removed number is handed out to be concluded", () =>
    Effect.gen(function* () {
      const follow = yield* followOutbox
      const { workspace, number } = yield* aStage()
      const message = yield* aMessage(number)
      const { numbers } = yield* Store
      const lost = yield* claimOne(number, { leaseUntil: noon + minute })
      yield* numbers.setStatus(number.id, "disconnected", undefined, noon)
      yield* numbers.remove(workspace.id, number.id, noon)
      assert.deepStrictEqual(yield* claim([number], { now: noon + minute - 1 }), [])
      const repeat = yield* claimOne(number, { now: noon + minute })
      assert.deepStrictEqual(repeat, {
        message,
        rest: [],
        dueSince: noon + minute,
        number: { ...number, status: repeat.number.status },
        removed: true,
        lease: repeat.lease,
        interruptions: 1,
        pacing: null,
        failures: noFailures,
        diskFailuresInARow: 0,
      })
      assert.deepStrictEqual(yield* settle([sent(lost)]), [])
      const outcome = endedAs(repeat, { trigger: "cancel" }, noon + minute)
      assert.deepStrictEqual(yield* settle([outcome], noon + minute), [message.id])
      assert.deepStrictEqual(scenario(yield* follow(workspace.id)), [
        [message.id, "message.cancelled"],
      ])
      assert.deepStrictEqual(yield* claim([number], { now: noon + hour }), [])
    }),
  )

  it.effect("a possibly sent message precedes earlier due ones, by a clock set back since", () =>
    Effect.gen(function* () {
      const { workspace, number } = yield* aStage()
      const later = noon + hour
      const doubtful = yield* aMessage(number, { sendAt: later })
      yield* settle([again(yield* claimOne(number, { now: later }), { interrupted: true })], later)
      const early = yield* aMessage(number)
      const repeat = yield* claimOne(number, { now: later })
      assert.deepStrictEqual([repeat.message.id, repeat.interruptions], [doubtful.id, 1])
      yield* settle([again(repeat)], later)
      yield* Store.use(({ numbers: store }) => store.remove(workspace.id, number.id, later))
      const orphaned = ids(yield* Store.use(({ messages: store }) => store.orphaned(100_000)))
      assert.include(orphaned, early.id)
      assert.notInclude(orphaned, doubtful.id)
      const last = yield* claimOne(number, { now: later })
      assert.deepStrictEqual([last.message.id, last.removed], [doubtful.id, true])
      assert.deepStrictEqual(yield* settle([failed(last)], later), [doubtful.id])
    }),
  )

  it.effect(
    "a possibly sent message is concluded while its number is away, once it has expired",
    () =>
      Effect.gen(function* () {
        const { number } = yield* aStage()
        const later = noon + hour
        const doubtful = yield* aMessage(number, { sendAt: later, expiresAt: later + minute })
        yield* settle(
          [again(yield* claimOne(number, { now: later }), { interrupted: true })],
          later,
        )
        yield* aMessage(number)
        yield* Store.use(({ numbers: store }) =>
          store.setStatus(number.id, "disconnected", undefined, later),
        )
        assert.deepStrictEqual(yield* claim([number], { now: later }), [])
        const last = yield* claimOne(number, { now: later + minute })
        assert.strictEqual(last.message.id, doubtful.id)
      }),
  )

  it.effect("an unsettled message of a deleted workspace is handed out to be concluded", () =>
    Effect.gen(function* () {
      const { workspace, number } = yield* aStage()
      const message = at(yield* accepted(number, { count: 2 }), 0)
      yield* claimOne(number, { leaseUntil: noon + minute })
      yield* Store.use(({ workspaces: store }) => store.delete(workspace.id, noon))
      const repeat = only(yield* claim([number], { now: noon + hour }))
      assert.isTrue(repeat.removed)
      assert.strictEqual(repeat.message.id, message.id)
      assert.deepStrictEqual(yield* settle([failed(repeat)]), [message.id])
      assert.deepStrictEqual(yield* claim([number], { now: noon + hour }), [])
    }),
  )
}
