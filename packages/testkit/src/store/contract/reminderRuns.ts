/** `ReminderStore`: runs, each with its message or none, their log, and racing workers. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { ids, only, present } from "../Expect.ts"
import { atOnce, range } from "../Races.ts"
import { lookUp, remaining } from "../Reading.ts"
import { claim } from "../Sending.ts"
import type { Topic } from "../Topic.ts"
import {
  aClaim,
  aMessage,
  anAcceptance,
  anEra,
  aPlan,
  aStage,
  aWorkspace,
  day,
  hour,
  minute,
  noon,
  waiting,
} from "../Records.ts"
import {
  aReminder,
  scopeOf,
  get,
  list,
  toRun,
  update,
  dueIn,
  aRun,
  run,
  guardOf,
  runsOf,
  logOf,
} from "../Reminding.ts"
import { Store } from "@messaging-service/core"
import type { IdempotencyClaim, Reminder } from "@messaging-service/core"

export const reminderRuns: Topic = (it) => {
  it.effect("a run writes its message, the advance and the log's line together", () =>
    Effect.gen(function* () {
      const { number, workspace } = yield* aStage({ plan: aPlan(5) })
      const reminder = yield* aReminder(workspace.id, { from: number.id })
      const advance = aRun(reminder, { ranAt: noon, dueAt: noon - minute })
      const store = (yield* Store).reminders
      const acceptance = anAcceptance(number)
      const outcome = yield* store.run(acceptance, advance)
      assert.strictEqual(outcome._tag, "Accepted")
      const messageId = only(outcome._tag === "Accepted" ? outcome.ids : [])
      const message = waiting(only(acceptance.messages), messageId)
      assert.deepStrictEqual((yield* lookUp(message)).message, message)
      assert.strictEqual(yield* remaining(workspace), 4)
      assert.deepStrictEqual(yield* get(reminder), {
        ...reminder,
        revision: 2,
        nextRunAt: advance.nextRunAt,
        lastRun: { dueAt: noon - minute, outcome: "accepted", messageId, code: null },
      })
      const line = only(yield* logOf(reminder))
      assert.deepStrictEqual(line, {
        id: line.id,
        dueAt: noon - minute,
        ranAt: noon,
        outcome: "accepted",
        messageId,
        code: null,
      })
      assert.deepStrictEqual(ids((yield* claim([number])).map((each) => each.message)), [messageId])
    }),
  )

  it.effect("one revision has one run, and none after a change", () =>
    Effect.gen(function* () {
      const { number, workspace } = yield* aStage({ plan: aPlan(5) })
      const reminder = yield* aReminder(workspace.id)
      assert.isNull(guardOf(yield* run(number, aRun(reminder))))
      assert.strictEqual(guardOf(yield* run(number, aRun(reminder))), "reminder")
      const now = present(yield* get(reminder))
      yield* update(now, { text: "other" })
      assert.strictEqual(guardOf(yield* run(number, aRun(now))), "reminder")
      assert.strictEqual(yield* remaining(workspace), 4)
      assert.lengthOf(yield* logOf(reminder), 1)
    }),
  )

  it.effect("a run that breaks a guard of the acceptance leaves everything unchanged", () =>
    Effect.gen(function* () {
      const store = (yield* Store).reminders
      const { number, workspace } = yield* aStage({ plan: aPlan(1) })
      const reminder = yield* aReminder(workspace.id)
      yield* aMessage(number)
      assert.strictEqual(guardOf(yield* run(number, aRun(reminder))), "allowance")
      const limit = { messages: 1, windowMillis: day }
      const saturated = anAcceptance(number, { allowance: 0, limit })
      assert.strictEqual(guardOf(yield* store.run(saturated, aRun(reminder))), "quota")
      yield* Store.use(({ numbers }) => numbers.remove(workspace.id, number.id, noon))
      assert.strictEqual(guardOf(yield* run(number, aRun(reminder))), "number")
      assert.deepStrictEqual(yield* get(reminder), reminder)
      assert.deepStrictEqual(yield* logOf(reminder), [])
    }),
  )

  it.effect("a run of test mode creates a test message", () =>
    Effect.gen(function* () {
      const { number, workspace } = yield* aStage({ plan: aPlan(1) })
      const reminder = yield* aReminder(workspace.id, { mode: "test" })
      const outcome = yield* run(number, aRun(reminder), "test")
      const made = only(outcome._tag === "Accepted" ? outcome.ids : [])
      const message = only(yield* Store.use(({ messages: store }) => store.byIds([made])))
      assert.strictEqual(message.mode, "test")
      assert.strictEqual(yield* remaining(workspace), 1)
    }),
  )

  it.effect("a refused or missed run advances, with its line in the log", () =>
    Effect.gen(function* () {
      const store = (yield* Store).reminders
      const { id } = yield* aWorkspace()
      const reminder = yield* aReminder(id)
      const refused = aRun(reminder)
      const first = yield* store.pass(refused, { outcome: "refused", code: "no_credits" })
      assert.deepStrictEqual(
        yield* store.pass(refused, { outcome: "refused", code: "no_credits" }),
        {
          _tag: "Broken",
          guard: "reminder",
        },
      )
      const now = present(yield* get(reminder))
      assert.deepStrictEqual(now, {
        ...reminder,
        revision: 2,
        nextRunAt: refused.nextRunAt,
        lastRun: {
          dueAt: refused.dueAt,
          outcome: "refused",
          messageId: null,
          code: "no_credits",
        },
      })
      yield* store.pass(aRun(now), { outcome: "missed", code: null })
      const [listed] = (yield* list(scopeOf(reminder))).items
      const { lastRun } = present(listed)
      const missed = { dueAt: now.nextRunAt, outcome: "missed", messageId: null, code: null }
      assert.deepStrictEqual<unknown>(lastRun, missed)
      assert.deepStrictEqual<unknown>((yield* get(reminder))?.lastRun, missed)
      const log = yield* logOf(reminder)
      assert.deepStrictEqual(
        log.map(({ code, dueAt, messageId, outcome }) => [dueAt, outcome, code, messageId]),
        [
          [now.nextRunAt, "missed", null, null],
          [reminder.nextRunAt, "refused", "no_credits", null],
        ],
      )
      assert.deepStrictEqual(first, { _tag: "Passed", runId: present(log[1]).id })
      const page = yield* runsOf(reminder, { before: null, limit: 1 })
      assert.deepStrictEqual(page, { items: log.slice(0, 1), next: log[0]?.id ?? null })
      const rest = yield* runsOf(reminder, { before: page.next, limit: 1 })
      assert.deepStrictEqual(rest, { items: log.slice(1), next: null })
    }),
  )

  it.effect("a run that was asked for finishes its claim with its line, accepted or refused", () =>
    Effect.gen(function* () {
      const { messages, reminders: store } = yield* Store
      const { number, workspace } = yield* aStage()
      const reminder = yield* aReminder(workspace.id)
      assert.deepStrictEqual(yield* toRun(reminder), { reminder, previousNumberId: null })
      const [one, two] = [aClaim(-2 * workspace.id), aClaim(-2 * workspace.id)]
      const refuse = (of: Reminder, idempotency: IdempotencyClaim) =>
        store.pass(aRun(of, { idempotency }), { outcome: "refused", code: "no_credits" })

      const claimless = yield* run(number, aRun(reminder, { idempotency: one }))
      assert.strictEqual(guardOf(claimless), "idempotency")
      assert.deepStrictEqual(yield* refuse(reminder, one), { _tag: "Broken", guard: "idempotency" })
      assert.deepStrictEqual(yield* logOf(reminder), [])
      assert.deepStrictEqual(yield* messages.claimKey(one, noon), { _tag: "Claimed" })
      const accepted = yield* run(number, aRun(reminder, { idempotency: one, ranAt: noon }))
      yield* messages.claimKey(two, noon)
      const next = present(yield* get(reminder))
      assert.deepStrictEqual(yield* toRun(next), { reminder: next, previousNumberId: number.id })
      yield* refuse(next, two)

      const lines = ids(yield* logOf(reminder)).toReversed()
      assert.strictEqual(accepted._tag === "Accepted" ? accepted.runId : null, lines[0])
      const made: Array<number | undefined> = []
      for (const finished of [one, two]) {
        const again = yield* messages.claimKey({ ...finished, token: "of a repeat" }, noon)
        made.push(again._tag === "Finished" ? only(again.record.madeIds) : undefined)
      }
      assert.deepStrictEqual(made, lines)
    }),
  )

  it.effect("old lines of the log and long deleted reminders are forgotten, others are not", () =>
    Effect.gen(function* () {
      const store = (yield* Store).reminders
      const era = anEra()
      const { id } = yield* aWorkspace()
      const deleted = yield* aReminder(id)
      const kept = yield* aReminder(id)
      yield* store.pass(aRun(kept, { ranAt: era }), { outcome: "missed", code: null })
      const next = present(yield* get(kept))
      yield* store.pass(aRun(next, { ranAt: era + hour }), { outcome: "missed", code: null })
      yield* store.remove(scopeOf(deleted), deleted.id, era)
      yield* store.forget(era)
      assert.isNotNull(yield* store.made(deleted.id))
      assert.lengthOf(yield* logOf(kept), 2)
      yield* store.forget(era + hour)
      assert.isNull(yield* store.made(deleted.id))
      assert.deepStrictEqual(
        (yield* logOf(kept)).map(({ ranAt }) => ranAt),
        [era + hour],
      )
      // Its latest run is still shown, and goes with the reminder.
      yield* store.forget(era + day)
      assert.strictEqual((yield* get(kept))?.lastRun?.outcome, "missed")
      yield* store.remove(scopeOf(kept), kept.id, era + day)
      yield* store.forget(era + 2 * day)
      assert.deepStrictEqual(yield* logOf(kept), [])
    }),
  )

  it.effect("a due reminder has the number of its latest message, whatever later runs did", () =>
    Effect.gen(function* () {
      const store = (yield* Store).reminders
      const era = anEra()
      const { number, workspace } = yield* aStage({ createdAt: era })
      const reminder = yield* aReminder(workspace.id, { nextRunAt: era })
      const previous = Effect.map(dueIn(era, era + 10 * day), (due) =>
        due.map(({ previousNumberId }) => previousNumberId),
      )
      assert.deepStrictEqual(yield* previous, [null])
      const given = { nextRunAt: era + day }
      yield* run(number, aRun(reminder, given))
      assert.deepStrictEqual(yield* previous, [number.id])
      const now = present(yield* get(reminder))
      yield* store.pass(aRun(now, given), { outcome: "missed", code: null })
      assert.deepStrictEqual(yield* previous, [number.id])
    }),
  )
}

export const reminderRaces: Topic = (it, { parallel }) => {
  it.effect("one of any number of workers at a due time creates its message", () =>
    Effect.gen(function* () {
      const rounds = parallel ? 20 : 3
      const { number, workspace } = yield* aStage({ plan: aPlan(rounds) })
      const reminder = yield* aReminder(workspace.id)
      for (let round = 0; round < rounds; round++) {
        const now = present(yield* get(reminder))
        const outcomes = yield* Effect.forEach(range(8), () => run(number, aRun(now)), atOnce)
        const guards = outcomes.map(guardOf)
        assert.lengthOf(
          guards.filter((guard) => guard === null),
          1,
        )
        assert.lengthOf(
          guards.filter((guard) => guard === "reminder"),
          7,
        )
      }
      assert.strictEqual(yield* remaining(workspace), 0)
      assert.lengthOf(yield* logOf(reminder), rounds)
    }),
  )

  it.effect(
    "one of a run and a concurrent change or deletion goes through on what it was decided on",
    () =>
      Effect.gen(function* () {
        const store = (yield* Store).reminders
        const { number, workspace } = yield* aStage()
        for (let round = 0; round < (parallel ? 30 : 3); round++) {
          const reminder = yield* aReminder(workspace.id)
          const [outcome, changed] = yield* Effect.all(
            [run(number, aRun(reminder)), update(reminder, { text: "other" })],
            atOnce,
          )
          assert.strictEqual(changed, outcome._tag === "Broken")
          const next = present(yield* get(reminder))
          const [second] = yield* Effect.all(
            [run(number, aRun(next)), store.remove(scopeOf(next), next.id, noon)],
            atOnce,
          )
          const accepted = [outcome, second].filter(({ _tag }) => _tag === "Accepted")
          assert.strictEqual((yield* logOf(reminder)).length, accepted.length)
        }
      }),
  )

  it.effect("concurrent runs, sends and deletions finish, each whole or not at all", () =>
    Effect.gen(function* () {
      for (let round = 0; round < (parallel ? 10 : 2); round++) {
        const plan = aPlan(100)
        const { number, workspace } = yield* aStage({ plan })
        const all = yield* Effect.forEach(range(5), () => aReminder(workspace.id))
        const [outcomes] = yield* Effect.all(
          [
            Effect.forEach([...all, ...all], (reminder) => run(number, aRun(reminder)), atOnce),
            Effect.forEach(range(5), () => aMessage(number), atOnce),
          ],
          atOnce,
        )
        const accepted = outcomes.filter(({ _tag }) => _tag === "Accepted").length
        assert.strictEqual(accepted, 5)
        assert.strictEqual(yield* remaining(workspace), 90)
        const [deleted] = yield* Effect.all(
          [
            Store.use(({ workspaces }) => workspaces.delete(workspace.id, noon)),
            Effect.forEach(
              all,
              (reminder) => Effect.flatMap(get(reminder), (now) => run(number, aRun(present(now)))),
              atOnce,
            ),
          ],
          atOnce,
        )
        assert.isTrue(deleted)
      }
    }),
  )
}
