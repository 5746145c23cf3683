/** Disabled workspaces: none of their messages leave, and all wait in order. */
import { assert } from "@effect/vitest"
import { Store } from "@messaging-service/core"
import type { WorkspaceId } from "@messaging-service/core"
import { Effect } from "effect"
import { present } from "../Expect.ts"
import { add } from "../Linking.ts"
import { atOnce, range, raceRounds } from "../Races.ts"
import {
  accepted,
  admitsAll,
  admitsNone,
  aMessage,
  anEra,
  aNumber,
  aStage,
  aWorkspace,
  day,
  hour,
  minute,
  noon,
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
  sendNext,
  sent,
  settle,
} from "../Sending.ts"
import type { Topic } from "../Topic.ts"

const setDisabled = (accountDisabled: boolean) => (id: WorkspaceId, now: number) =>
  Store.use(({ workspaces: store }) =>
    store.update(
      id,
      () => ({ change: { accountDisabled }, admits: accountDisabled ? admitsNone : admitsAll }),
      now,
    ),
  )

const disable = setDisabled(true)
const enable = setDisabled(false)

const listDueTest = (workspaceId: WorkspaceId, now: number) =>
  Effect.map(
    Store.use(({ messages: store }) => store.dueTest(now, 100_000, 100_000)),
    (messages) =>
      messages.filter((message) => message.workspaceId === workspaceId).map(({ id }) => id),
  )

const nextDue = (work: "lanes" | "test_messages") =>
  Store.use(({ queue: status }) => status.nextDue(work))

const later = noon + 1000 * day

export const disabledWorkspaces: Topic = (it, options) => {
  it.effect(
    "a disabled workspace sends nothing until it is enabled, then everything in order",
    () =>
      Effect.gen(function* () {
        const work = (yield* Store).queue
        const era = anEra()
        const { number, workspace } = yield* aStage({ createdAt: era })
        const { number: other } = yield* aStage({ createdAt: era })
        const quiet = yield* nextDue("lanes")
        const second = yield* aMessage(number, { now: era, sendAt: era + minute })
        const first = yield* aMessage(number, { now: era })
        yield* disable(workspace.id, era)
        const third = yield* aMessage(number, { now: era + 2 * minute })
        assert.deepStrictEqual(yield* claim([number], { now: later }), [])
        assert.strictEqual(yield* nextDue("lanes"), quiet)
        assert.strictEqual((yield* work.earliestDue()).lanes, quiet)
        assert.notStrictEqual((yield* work.workload(era + hour)).nextDue, era)
        // Those of others continue.
        const theirs = yield* aMessage(other, { now: era })
        assert.strictEqual((yield* sendNext(other, era)).id, theirs.id)
        yield* enable(workspace.id, era + hour)
        assert.strictEqual(yield* nextDue("lanes"), era)
        for (const { id } of [first, second, third]) {
          assert.strictEqual((yield* sendNext(number, era + hour)).id, id)
        }
      }),
  )

  it.effect("its test messages are not due either", () =>
    Effect.gen(function* () {
      const work = (yield* Store).queue
      const era = anEra()
      const { number, workspace } = yield* aStage({ createdAt: era })
      const quiet = yield* nextDue("test_messages")
      const mode = "test"
      const first = yield* aMessage(number, { mode, now: era })
      yield* disable(workspace.id, era)
      const second = yield* aMessage(number, { mode, now: era + 1 })
      assert.deepStrictEqual(yield* listDueTest(workspace.id, era + hour), [])
      assert.strictEqual(yield* nextDue("test_messages"), quiet)
      assert.strictEqual((yield* work.earliestDue()).test_messages, quiet)
      yield* enable(workspace.id, era + hour)
      assert.strictEqual(yield* nextDue("test_messages"), era)
      assert.deepStrictEqual(yield* listDueTest(workspace.id, era + hour), [first.id, second.id])
      yield* end(cancelled(first, era), cancelled(second, era))
    }),
  )

  it.effect("its waiting messages may be cancelled and may expire", () =>
    Effect.gen(function* () {
      const store = (yield* Store).messages
      const era = anEra()
      const { number, workspace } = yield* aStage({ createdAt: era })
      const live = yield* aMessage(number, { now: era, expiresAt: era + minute })
      const test = yield* aMessage(number, { now: era, expiresAt: era + minute, mode: "test" })
      yield* disable(workspace.id, era)
      const late = yield* aMessage(number, { now: era, expiresAt: era + minute })
      const other = yield* aMessage(number, { now: era })
      const found = (yield* store.expired(era + minute, 3)).map(({ id }) => id)
      assert.sameMembers(found, [live.id, test.id, late.id])
      yield* end(cancelled(other, era), ...[live, test, late].map((one) => expired(one, era)))
      yield* enable(workspace.id, era)
      assert.deepStrictEqual(yield* claim([number], { now: later }), [])
      assert.deepStrictEqual(yield* listDueTest(workspace.id, later), [])
    }),
  )

  it.effect("no other change lets its numbers send", () =>
    Effect.gen(function* () {
      const { queue: lanes, numbers } = yield* Store

      const { number, workspace } = yield* aStage()
      const [first, second] = yield* accepted(number, { count: 2 })
      yield* disable(workspace.id, noon)
      yield* lanes.pause(number.id, { until: noon + minute, reason: "paused" }, noon)
      assert.deepStrictEqual(yield* claim([number], { now: later }), [])
      yield* lanes.resume(number.id, noon)
      assert.deepStrictEqual(yield* claim([number], { now: later }), [])
      yield* numbers.setStatus(number.id, "disconnected", undefined, noon)
      yield* numbers.setStatus(number.id, "connected", undefined, noon)
      assert.deepStrictEqual(yield* claim([number], { now: later }), [])
      const pacing = {
        minIntervalMillis: null,
        jitterMillis: null,
        perMinute: 5,
        perHour: null,
        newRecipientsPerDay: null,
      }
      yield* numbers.change(workspace.id, number.id, { pacing }, noon)
      assert.deepStrictEqual(yield* claim([number], { now: later }), [])
      yield* end(cancelled(present(first)))
      assert.deepStrictEqual(yield* claim([number], { now: later }), [])
      // Neither does a change of other fields.
      yield* Store.use(({ workspaces: store }) =>
        store.update(workspace.id, () => ({ change: { name: "Other" }, admits: admitsNone }), noon),
      )
      assert.deepStrictEqual(yield* claim([number], { now: later }), [])
      yield* enable(workspace.id, noon)
      assert.strictEqual((yield* sendNext(number)).id, second?.id)
    }),
  )

  it.effect("a pause of one of its numbers continues once it is enabled", () =>
    Effect.gen(function* () {
      const lanes = (yield* Store).queue
      const { number, workspace } = yield* aStage()
      const message = yield* aMessage(number)
      yield* lanes.pause(number.id, { until: noon + hour, reason: "paused" }, noon)
      yield* disable(workspace.id, noon)
      yield* enable(workspace.id, noon)
      assert.deepStrictEqual(yield* claim([number], { now: noon + hour - 1 }), [])
      assert.strictEqual((yield* sendNext(number, noon + hour)).id, message.id)
    }),
  )

  it.effect("its new numbers send nothing either", () =>
    Effect.gen(function* () {
      const store = (yield* Store).workspaces
      const workspace = yield* aWorkspace({ name: "Disabled", accountDisabled: true })
      const created = yield* aNumber(workspace.id)
      const outcome = yield* add(workspace.id, noon)
      assert.strictEqual(outcome._tag, "Begun")
      const ensured = {
        number: {
          mode: "live",
          phone: "15550107779",
          label: "",
          platform: "whatsapp",
          status: "connected",
          loginMethod: "qr",
          createdAt: noon,
        },
        pacing: null,
      } as const
      yield* store.ensure(workspace, admitsNone, [ensured])
      const numbers = yield* Store.use(({ numbers: all }) => all.list(workspace.id))
      assert.lengthOf(numbers, 3)
      assert.include(
        numbers.map(({ id }) => id),
        created.id,
      )
      for (const number of numbers) {
        yield* Store.use(({ numbers: all }) =>
          all.setStatus(number.id, "connected", undefined, noon),
        )
        yield* aMessage(number)
        yield* aMessage(number, { mode: "test" })
        assert.isTrue((yield* connectionFacts(number)).isDisabled)
      }
      assert.deepStrictEqual(yield* claim(numbers, { now: later }), [])
      assert.deepStrictEqual(yield* listDueTest(workspace.id, later), [])
      yield* enable(workspace.id, noon)
      for (const number of numbers) {
        assert.isFalse((yield* connectionFacts(number)).isDisabled)
        yield* sendNext(number)
      }
      assert.lengthOf(yield* listDueTest(workspace.id, later), 3)
    }),
  )

  it.effect("its messages in flight are settled, or wait interrupted", () =>
    Effect.gen(function* () {
      const { number, workspace } = yield* aStage()
      const [, second] = yield* accepted(number, { count: 2 })
      const first = yield* claimOne(number)
      yield* disable(workspace.id, noon)
      assert.deepStrictEqual(yield* settle([sent(first)]), [first.message.id])
      assert.deepStrictEqual(yield* claim([number], { now: later }), [])
      yield* enable(workspace.id, noon)
      const lost = yield* claimOne(number)
      assert.strictEqual(lost.message.id, second?.id)
      yield* disable(workspace.id, noon)
      assert.deepStrictEqual(yield* claim([number], { now: noon + minute }), [])
      assert.deepStrictEqual(yield* settle([sent(lost)]), [])
      assert.deepStrictEqual(yield* claim([number], { now: later }), [])
      yield* enable(workspace.id, noon + minute)
      const repeat = yield* claimOne(number, { now: noon + minute })
      assert.deepStrictEqual([repeat.message.id, repeat.interruptions], [lost.message.id, 1])
    }),
  )

  it.effect("a message that an attempt puts back waits until it is enabled", () =>
    Effect.gen(function* () {
      const { number, workspace } = yield* aStage()
      const message = yield* aMessage(number)
      const claimed = yield* claimOne(number)
      yield* disable(workspace.id, noon)
      yield* settle([again(claimed, { notBefore: noon + minute })])
      assert.deepStrictEqual(yield* claim([number], { now: later }), [])
      yield* enable(workspace.id, noon)
      assert.deepStrictEqual(yield* claim([number], { now: noon + minute - 1 }), [])
      assert.strictEqual((yield* sendNext(number, noon + minute)).id, message.id)
    }),
  )

  it.effect("a possibly sent message that expired is concluded meanwhile", () =>
    Effect.gen(function* () {
      const { number, workspace } = yield* aStage()
      const message = yield* aMessage(number, { expiresAt: noon + hour })
      yield* aMessage(number)
      yield* settle([again(yield* claimOne(number), { interrupted: true })])
      yield* disable(workspace.id, noon)
      assert.deepStrictEqual(yield* claim([number], { now: noon + hour - 1 }), [])
      const claimed = yield* claimOne(number, { now: noon + hour })
      assert.deepStrictEqual([claimed.message.id, claimed.interruptions], [message.id, 1])
      const unknown = { code: "outcome_unknown", message: "Unknown." } as const
      yield* settle([endedAs(claimed, { trigger: "send_failed", error: unknown }, noon + hour)])
      assert.deepStrictEqual(yield* claim([number], { now: later }), [])
    }),
  )

  it.effect(
    "a number removed from it is concluded, and so are its messages when it is deleted",
    () =>
      Effect.gen(function* () {
        const { numbers } = yield* Store
        const { number, workspace } = yield* aStage()
        const other = yield* aNumber(workspace.id)
        for (const one of [number, other]) {
          yield* aMessage(one)
          yield* settle([again(yield* claimOne(one), { interrupted: true })])
        }
        yield* disable(workspace.id, noon)
        yield* numbers.remove(workspace.id, number.id, noon)
        assert.isTrue((yield* claimOne(number)).removed)
        yield* Store.use(({ workspaces: store }) => store.delete(workspace.id, noon))
        assert.isTrue((yield* claimOne(other)).removed)
      }),
  )

  it.effect(
    "nothing leaves after it is disabled, whatever is accepted and claimed at the same time",
    () =>
      Effect.gen(function* () {
        const lanes = (yield* Store).queue
        const { number, workspace } = yield* aStage()
        const total = { accepted: 0, sent: 0 }
        const acceptSome = Effect.map(accepted(number, { count: 2 }), (messages) => {
          total.accepted += messages.length
        })
        const sendOne = Effect.gen(function* () {
          let open = (yield* claim([number])).map((one) => sent(one))
          while (open.length > 0) {
            const { blockedByLock, settled } = yield* lanes.settle(open, noon)
            total.sent += settled.size
            open = [...blockedByLock]
          }
        })
        for (const round of raceRounds(options, 20)) {
          yield* Effect.all(
            [
              ...range(3).flatMap(() => [acceptSome, sendOne]),
              round % 2 === 0 ? disable(workspace.id, noon) : enable(workspace.id, noon),
              ...range(3).flatMap(() => [sendOne, acceptSome]),
            ],
            atOnce,
          )
          if (round % 2 === 0) assert.deepStrictEqual(yield* claim([number], { now: later }), [])
        }
        yield* enable(workspace.id, noon)
        while (total.sent < total.accepted) {
          yield* sendNext(number)
          total.sent++
        }
        assert.deepStrictEqual(yield* claim([number]), [])
      }),
  )
}
