/** `ReminderStore`: runs, each with its message or none, their log, and racing workers. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { present } from "../Expect.ts"
import { atOnce, range } from "../Races.ts"
import { remaining } from "../Reading.ts"
import type { Topic } from "../Topic.ts"
import { aMessage, aPlan, aStage, noon } from "../Records.ts"
import { aReminder, getScope, get, update, aRun, run, findGuard, readRunLog } from "../Reminding.ts"
import { Store } from "@messaging-service/core"

export const reminderRaces: Topic = (it, { parallel }) => {
  it.effect("one of any number of workers at a due time creates its message", () =>
    Effect.gen(function* () {
      const rounds = parallel ? 20 : 3
      const { number, workspace } = yield* aStage({ plan: aPlan(rounds) })
      const reminder = yield* aReminder(workspace.id)
      for (let round = 0; round < rounds; round++) {
        const now = present(yield* get(reminder))
        const outcomes = yield* Effect.forEach(range(8), () => run(number, aRun(now)), atOnce)
        const guards = outcomes.map(findGuard)
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
      assert.lengthOf(yield* readRunLog(reminder), rounds)
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
          assert.strictEqual(changed, outcome._tag === "Conflict")
          const next = present(yield* get(reminder))
          const [second] = yield* Effect.all(
            [run(number, aRun(next)), store.remove(getScope(next), next.id, noon)],
            atOnce,
          )
          const accepted = [outcome, second].filter(({ _tag }) => _tag === "Accepted")
          assert.strictEqual((yield* readRunLog(reminder)).length, accepted.length)
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
