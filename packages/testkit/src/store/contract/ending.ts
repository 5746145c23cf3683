/** `MessageStore.end` and `expired`: cancels and expiries, outside of a lane's lease. */
import { assert } from "@effect/vitest"
import { Store } from "@messaging-service/core"
import type { WorkspaceId } from "@messaging-service/core"
import { Effect } from "effect"
import { at, ids, only } from "../Expect.ts"
import { followOutbox, scenario } from "../follow.ts"
import { lookUp, readState } from "../Reading.ts"
import {
  again,
  cancelled,
  change,
  claim,
  claimOne,
  end,
  expired,
  failed,
  sendFailed,
  sendNext,
  settle,
} from "../Sending.ts"
import type { Topic } from "../Topic.ts"
import { accepted, aMessage, anEra, aStage, hour, minute, noon, oneSecond } from "../Records.ts"

const listExpired = (workspaceId: WorkspaceId, now: number) =>
  Effect.map(
    Store.use(({ messages: store }) => store.expired(now, 100_000)),
    (messages) => messages.filter((message) => message.workspaceId === workspaceId),
  )

export const ending: Topic = (it) => {
  it.effect("a waiting message is cancelled together with its event", () =>
    Effect.gen(function* () {
      const follow = yield* followOutbox
      const { workspace, number } = yield* aStage()
      const message = yield* aMessage(number, { sendAt: noon + hour })
      const cancel = cancelled(message, noon + oneSecond)
      assert.deepStrictEqual(yield* end(cancel), [message.id])
      assert.deepStrictEqual(yield* lookUp(message), {
        message: { ...message, state: "cancelled" },
        inFlight: false,
      })
      const event = only(yield* follow(workspace.id))
      assert.deepStrictEqual(event, {
        id: event.id,
        eventId: cancel.event.id,
        type: "message.cancelled",
        workspaceId: workspace.id,
        mode: "live",
        messageId: message.id,
        createdAt: noon + oneSecond,
        body: cancel.event.body,
        reference: null,
      })
    }),
  )

  it.effect("a cancelled message is never claimed", () =>
    Effect.gen(function* () {
      const { number } = yield* aStage()
      const messages = yield* accepted(number, { count: 3 })
      yield* end(cancelled(at(messages, 0)), cancelled(at(messages, 2)))
      assert.strictEqual((yield* sendNext(number)).id, at(messages, 1).id)
      assert.deepStrictEqual(yield* claim([number], { now: noon + hour }), [])
    }),
  )

  it.effect("a message ends once, whatever ends it", () =>
    Effect.gen(function* () {
      const follow = yield* followOutbox
      const { workspace, number } = yield* aStage()
      const sent = yield* aMessage(number)
      yield* sendNext(number)
      const gone = yield* aMessage(number)
      assert.deepStrictEqual(yield* end(cancelled(sent), expired(gone)), [gone.id])
      assert.deepStrictEqual(yield* end(cancelled(gone), cancelled(sent)), [])
      assert.strictEqual(yield* readState(sent), "sent")
      assert.strictEqual(yield* readState(gone), "expired")
      assert.deepStrictEqual(scenario(yield* follow(workspace.id)), [
        [sent.id, "message.sent"],
        [gone.id, "message.expired"],
      ])
    }),
  )

  it.effect("one call that would end a message twice ends it once", () =>
    Effect.gen(function* () {
      const follow = yield* followOutbox
      const { workspace, number } = yield* aStage()
      const message = yield* aMessage(number)
      assert.deepStrictEqual(yield* end(cancelled(message), expired(message)), [message.id])
      const state = yield* readState(message)
      assert.deepStrictEqual(scenario(yield* follow(workspace.id)), [
        [message.id, state === "cancelled" ? "message.cancelled" : "message.expired"],
      ])
    }),
  )

  it.effect(
    "a message in flight is neither cancelled nor expired, the others of the call are",
    () =>
      Effect.gen(function* () {
        const { number } = yield* aStage()
        const messages = yield* accepted(number, { count: 3, expiresAt: noon + minute })
        yield* claimOne(number, { leaseUntil: noon + oneSecond })
        assert.deepStrictEqual(
          yield* end(...messages.map((message) => expired(message, noon + minute))),
          ids(messages.slice(1)),
        )
        assert.strictEqual(yield* readState(at(messages, 0)), "waiting")
      }),
  )

  it.effect("a message whose attempt was taken back can be cancelled again", () =>
    Effect.gen(function* () {
      const { number } = yield* aStage()
      const message = yield* aMessage(number)
      yield* settle([again(yield* claimOne(number), { interrupted: false })])
      assert.deepStrictEqual(yield* end(cancelled(message)), [message.id])
      assert.deepStrictEqual(yield* claim([number]), [])
    }),
  )

  it.effect("a possibly sent message is not cancelled or expired until it is settled", () =>
    Effect.gen(function* () {
      const store = (yield* Store).messages
      const { number } = yield* aStage()
      const message = yield* aMessage(number, { expiresAt: noon + minute })
      yield* settle([again(yield* claimOne(number), { interrupted: true })])
      // A later attempt that certainly sent nothing does not decide about the first one either.
      yield* settle([again(yield* claimOne(number), { interrupted: false })])
      assert.deepStrictEqual(yield* end(cancelled(message)), [])
      assert.notInclude(ids(yield* store.expired(noon + hour, 1000)), message.id)
      assert.deepStrictEqual(yield* end(expired(message, noon + hour)), [])
      const repeat = yield* claimOne(number, { now: noon + hour })
      assert.strictEqual(repeat.message.id, message.id)
      assert.strictEqual(repeat.interruptions, 1)
      assert.deepStrictEqual(yield* settle([failed(repeat)], noon + hour), [message.id])
    }),
  )

  it.effect("a possibly sent message of a removed number is handed out once more", () =>
    Effect.gen(function* () {
      const store = (yield* Store).messages
      const { workspace, number } = yield* aStage()
      const message = yield* aMessage(number)
      yield* settle([again(yield* claimOne(number), { interrupted: true })])
      yield* (yield* Store).numbers.remove(workspace.id, number.id, noon)
      assert.notInclude(ids(yield* store.orphaned(1000)), message.id)
      const last = yield* claimOne(number)
      assert.isTrue(last.removed)
      assert.deepStrictEqual(yield* settle([failed(last)]), [message.id])
    }),
  )

  it.effect("ending nothing ends nothing", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* end(), [])
    }),
  )

  it.effect("one call ends messages of many numbers", () =>
    Effect.gen(function* () {
      const stages = yield* Effect.forEach(Array.from({ length: 6 }), () => aStage())
      const messages = (yield* Effect.forEach(stages, ({ number }) =>
        accepted(number, { count: 3 }),
      )).flat()
      const shuffled = messages.toSorted((a, b) => (a.id % 7) - (b.id % 7))
      assert.deepStrictEqual(
        yield* end(...shuffled.map((message) => cancelled(message))),
        ids(messages),
      )
    }),
  )

  it.effect("finds waiting messages past their expiresAt, live and test", () =>
    Effect.gen(function* () {
      const { workspace, number } = yield* aStage()
      yield* aMessage(number)
      const late = yield* aMessage(number, { expiresAt: noon + 2 * minute })
      const test = yield* aMessage(number, { expiresAt: noon + minute + 1, mode: "test" })
      const early = yield* aMessage(number, { expiresAt: noon + minute, sendAt: noon + oneSecond })
      assert.deepStrictEqual(yield* listExpired(workspace.id, noon + minute - 1), [])
      assert.deepStrictEqual(yield* listExpired(workspace.id, noon + minute), [early])
      assert.deepStrictEqual(yield* listExpired(workspace.id, noon + hour), [early, test, late])
      yield* end(expired(test, noon + hour))
      assert.deepStrictEqual(yield* listExpired(workspace.id, noon + hour), [early, late])
    }),
  )

  it.effect("messages in flight or ended are not among the expired", () =>
    Effect.gen(function* () {
      const { workspace, number } = yield* aStage()
      const messages = yield* accepted(number, { count: 4, expiresAt: noon + minute })
      yield* sendNext(number)
      yield* end(cancelled(at(messages, 3)))
      const claimed = yield* claimOne(number, { leaseUntil: noon + oneSecond })
      assert.deepStrictEqual(yield* listExpired(workspace.id, noon + hour), [at(messages, 2)])
      yield* settle([again(claimed)])
      assert.deepStrictEqual(
        ids(yield* listExpired(workspace.id, noon + hour)).toSorted((a, b) => a - b),
        ids(messages.slice(1, 3)),
      )
    }),
  )

  it.effect("the earliest expiries come first, no more than requested", () =>
    Effect.gen(function* () {
      const store = (yield* Store).messages
      const era = anEra()
      const { number } = yield* aStage({ createdAt: era })
      const expiring = (expiresAt: number) => aMessage(number, { now: era, expiresAt })
      const third = yield* expiring(era + 3 * minute)
      const first = yield* expiring(era + minute)
      const second = yield* expiring(era + 2 * minute)
      assert.deepStrictEqual(yield* store.expired(era + hour, 2), [first, second])
      yield* end(expired(first), expired(second))
      assert.deepStrictEqual(yield* store.expired(era + hour, 2), [third])
      yield* end(expired(third))
    }),
  )

  it.effect("a test message may end as sent or failed", () =>
    Effect.gen(function* () {
      const follow = yield* followOutbox
      const { workspace, number } = yield* aStage()
      const messages = yield* accepted(number, { count: 2, mode: "test" })
      const [good, bad] = [at(messages, 0), at(messages, 1)]
      yield* end(
        change(good, { trigger: "send_succeeded" }, noon + oneSecond),
        change(bad, { trigger: "send_failed", error: sendFailed }, noon + oneSecond),
      )
      assert.deepStrictEqual((yield* lookUp(good)).message, {
        ...good,
        state: "sent",
        sentAt: noon + oneSecond,
      })
      assert.deepStrictEqual((yield* lookUp(bad)).message, {
        ...bad,
        state: "failed",
        error: sendFailed,
      })
      assert.deepStrictEqual(
        (yield* follow(workspace.id)).map((event) => event.mode),
        ["test", "test"],
      )
    }),
  )
}
