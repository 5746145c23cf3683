/**
 * `ReminderStore`: who sees which reminder, what is due, and the commit that makes one message for
 * one due time.
 */
import { assert } from "@effect/vitest"
import {
  IdempotencyStore,
  MessageStore,
  NumberStore,
  ReminderStore,
  WorkspaceStore,
  WorkStatus,
} from "@messaging-service/core/ports"
import type {
  MediaId,
  NewReminder,
  NumberId,
  Reminder,
  ReminderContent,
  ReminderId,
  ReminderRun,
  ReminderScope,
  RunCommit,
  SendingNumber,
  TimeZone,
  WorkspaceId,
} from "@messaging-service/core/ports"
import { Effect } from "effect"
import { ids, only, present } from "../Expect.ts"
import { atOnce, range } from "../Races.ts"
import { lookUp, remaining } from "../Reading.ts"
import { claim } from "../Sending.ts"
import type { Topic } from "../Topic.ts"
import {
  aClaim,
  aKey,
  aMessage,
  anAcceptance,
  anEra,
  aPhone,
  aPlan,
  aStage,
  aWorkspace,
  day,
  hour,
  minute,
  noon,
  waiting,
} from "../Records.ts"

const aContent = (given: Partial<ReminderContent> = {}): ReminderContent => ({
  name: "Rent",
  active: true,
  to: { kind: "phone", phone: aPhone() },
  from: null,
  text: "Please pay",
  media: null,
  cron: "0 9 * * *",
  timezone: "Europe/Berlin" as TimeZone,
  ...given,
})

const aNewReminder = (workspaceId: WorkspaceId, given: Partial<NewReminder> = {}): NewReminder => ({
  ...aContent(),
  workspaceId,
  mode: "live",
  nextRunAt: noon + 1000 * day,
  createdAt: noon,
  ...given,
})

/**
 * A reminder that goes with the test: what is due is asked of the whole store, so that no test may
 * leave one behind.
 */
const aReminder = (workspaceId: WorkspaceId, given: Partial<NewReminder> = {}) =>
  Effect.acquireRelease(
    Effect.gen(function* () {
      const store = yield* ReminderStore
      const inserted = yield* store.insert(aNewReminder(workspaceId, given), null)
      return present(inserted._tag === "Inserted" ? inserted.reminder : null)
    }),
    (reminder) =>
      ReminderStore.use((store) => store.remove(scopeOf(reminder), reminder.id, noon)).pipe(
        Effect.orDie,
      ),
  )

const scopeOf = (
  owner: Pick<ReminderScope, "workspaceId" | "mode">,
  restriction: ReminderScope["restriction"] = null,
): ReminderScope => ({ workspaceId: owner.workspaceId, mode: owner.mode, restriction })

const get = (reminder: Reminder, scope = scopeOf(reminder)) =>
  ReminderStore.use((store) => store.get(scope, reminder.id))

const list = (
  scope: ReminderScope,
  given: { active?: boolean; before?: number | null; limit?: number } = {},
) =>
  ReminderStore.use((store) =>
    store.list(
      scope,
      { active: given.active ?? null },
      { before: given.before ?? null, limit: given.limit ?? 100 },
    ),
  )

const update = (
  reminder: Reminder,
  content: Partial<ReminderContent>,
  nextRunAt = reminder.nextRunAt,
) =>
  ReminderStore.use((store) =>
    store.update(reminder.id, reminder.revision, { ...reminder, ...content }, nextRunAt),
  )

/** What is due in the 50 days after `era`, which are no other test's. */
const dueIn = (era: number, now: number) =>
  Effect.map(
    ReminderStore.use((store) => store.due(now, 1000)),
    (due) => due.filter(({ dueAt }) => dueAt >= era && dueAt < era + 50 * day),
  )

const aRun = (reminder: Reminder, given: Partial<ReminderRun> = {}): ReminderRun => ({
  id: reminder.id,
  revision: reminder.revision,
  dueAt: reminder.nextRunAt ?? noon,
  ranAt: (reminder.nextRunAt ?? noon) + 1,
  nextRunAt: (reminder.nextRunAt ?? noon) + day,
  ...given,
})

const run = (number: SendingNumber, advance: ReminderRun, mode: "live" | "test" = "live") =>
  ReminderStore.use((store) =>
    store.run(anAcceptance(number, { now: advance.ranAt, mode }), advance),
  )

const guardOf = (outcome: RunCommit) => (outcome._tag === "Broken" ? outcome.guard : null)

const runsOf = (reminder: Reminder, page: { before: number | null; limit: number }) =>
  ReminderStore.use((store) => store.runs(reminder.id, page))

const logOf = (reminder: Reminder) =>
  Effect.map(runsOf(reminder, { before: null, limit: 100 }), ({ items }) => items)

const contents: ReadonlyArray<Partial<ReminderContent>> = [
  { to: { kind: "phone", phone: aPhone() }, name: "", text: "é\n👋" },
  { to: { kind: "group", group: "Team" }, from: 7 as NumberId, active: false },
  {
    to: { kind: "contact", contactId: 9 as never },
    media: {
      mediaId: 4 as MediaId,
      attachmentId: null,
      url: null,
      type: "image",
      fileName: "a.png",
    },
  },
  {
    to: {
      kind: "username",
      username: { given: "https://t.me/jane", target: { kind: "name", name: "jane" } },
    },
    media: {
      mediaId: null,
      attachmentId: null,
      url: "https://example.com/a",
      type: null,
      fileName: null,
    },
  },
]

export const reminders: Topic = (it) => {
  it.effect("what was made is found as it was made, of every recipient and media", () =>
    Effect.gen(function* () {
      const { id } = yield* aWorkspace()
      for (const content of contents) {
        const given = aNewReminder(id, { ...content, nextRunAt: null })
        const made = yield* aReminder(id, given)
        assert.deepStrictEqual(made, { ...given, id: made.id, revision: 1, lastRun: null })
        assert.deepStrictEqual(yield* get(made), made)
      }
    }),
  )

  it.effect(
    "is seen by its workspace and mode, and by a limited key if it sends from its number",
    () =>
      Effect.gen(function* () {
        const { workspace, number } = yield* aStage()
        const mine = yield* aReminder(workspace.id, { from: number.id })
        const open = yield* aReminder(workspace.id)
        const test = yield* aReminder(workspace.id, { mode: "test", from: number.id })
        const other = yield* aWorkspace()
        const all = { workspaceId: workspace.id, mode: "live" } as const
        assert.deepStrictEqual(yield* list(scopeOf(all)), { items: [open, mine], next: null })
        assert.deepStrictEqual((yield* list(scopeOf(all, [number.id]))).items, [mine])
        assert.deepStrictEqual((yield* list(scopeOf(all, []))).items, [])
        assert.deepStrictEqual((yield* list(scopeOf({ ...all, mode: "test" }))).items, [test])
        assert.deepStrictEqual(ids((yield* list(scopeOf({ ...all, mode: null }))).items), [
          test.id,
          open.id,
          mine.id,
        ])
        assert.deepStrictEqual(yield* get(mine, scopeOf(all, [number.id])), mine)
        assert.isNull(yield* get(open, scopeOf(all, [number.id])))
        assert.isNull(yield* get(mine, scopeOf({ ...all, mode: "test" })))
        assert.isNull(yield* get(mine, scopeOf({ workspaceId: other.id, mode: null })))
        const store = yield* ReminderStore
        assert.isFalse(yield* store.remove(scopeOf(all, []), mine.id, noon))
        assert.isNull(yield* store.get(scopeOf(all), 999_999_999 as ReminderId))
      }),
  )

  it.effect("lists newest first, in pages, paused and active ones together or apart", () =>
    Effect.gen(function* () {
      const { id } = yield* aWorkspace()
      const a = yield* aReminder(id)
      const b = yield* aReminder(id, { active: false, nextRunAt: null })
      const c = yield* aReminder(id)
      const scope = scopeOf({ workspaceId: id, mode: "live" })
      const first = yield* list(scope, { limit: 2 })
      assert.deepStrictEqual(first, { items: [c, b], next: b.id })
      const second = yield* list(scope, { limit: 2, before: first.next })
      assert.deepStrictEqual(second, { items: [a], next: null })
      assert.deepStrictEqual((yield* list(scope, { active: true })).items, [c, a])
      assert.deepStrictEqual((yield* list(scope, { active: false })).items, [b])
    }),
  )

  it.effect(
    "a change replaces the content of the revision that it was decided on, or nothing",
    () =>
      Effect.gen(function* () {
        const { id } = yield* aWorkspace()
        for (const content of contents) {
          const made = yield* aReminder(id)
          assert.isTrue(yield* update(made, content, noon + day))
          const changed = { ...made, ...content, nextRunAt: noon + day, revision: 2 }
          assert.deepStrictEqual(yield* get(made), changed)
          assert.isFalse(yield* update(made, { name: "too late" }))
          assert.deepStrictEqual(yield* get(made), changed)
        }
      }),
  )

  it.effect("the repeat of a creation finds what was made, whatever became of it", () =>
    Effect.gen(function* () {
      const store = yield* ReminderStore
      const { id } = yield* aWorkspace()
      const made = yield* aReminder(id, contents[3])
      const found = Effect.map(store.made(made.id), (first) => ({
        ...present(first),
        nextRunAt: null,
        revision: 0,
      }))
      const first = { ...made, nextRunAt: null, revision: 0 }
      assert.deepStrictEqual(yield* found, first)
      assert.isTrue(yield* update(made, { ...contents[1], name: "other", text: "other" }))
      assert.isTrue(
        yield* update({ ...made, revision: 2 }, { ...contents[0], timezone: "UTC" as TimeZone }),
      )
      assert.deepStrictEqual(yield* found, first)
      assert.isTrue(yield* store.remove(scopeOf(made), made.id, noon))
      assert.deepStrictEqual(yield* found, first)
      assert.isNull(yield* store.made(999_999_999 as ReminderId))
    }),
  )

  it.effect("making one finishes its claim, and makes none when the claim was lost", () =>
    Effect.gen(function* () {
      const store = yield* ReminderStore
      const claims = yield* IdempotencyStore
      const { id } = yield* aWorkspace()
      const { key } = yield* aKey(id)
      const mine = aClaim(key.id)
      const paused = aNewReminder(id, { active: false, nextRunAt: null })
      assert.deepStrictEqual(yield* store.insert(paused, mine), {
        _tag: "Broken",
        guard: "idempotency",
      })
      assert.deepStrictEqual((yield* list(scopeOf({ workspaceId: id, mode: "live" }))).items, [])
      yield* claims.claim(mine, noon)
      const inserted = yield* store.insert(paused, mine)
      const made = present(inserted._tag === "Inserted" ? inserted.reminder : null)
      const repeated = yield* claims.claim({ ...mine, token: "again" }, noon)
      assert.deepInclude(repeated, { _tag: "Finished" })
      if (repeated._tag === "Finished") assert.deepStrictEqual(repeated.record.madeIds, [made.id])
    }),
  )

  it.effect("what was deleted is gone, runs no more and is never due", () =>
    Effect.gen(function* () {
      const store = yield* ReminderStore
      const era = anEra()
      const { number, workspace } = yield* aStage({ createdAt: era })
      const made = yield* aReminder(workspace.id, { nextRunAt: era })
      assert.isTrue(yield* store.remove(scopeOf(made), made.id, era))
      assert.isFalse(yield* store.remove(scopeOf(made), made.id, era))
      assert.isNull(yield* get(made))
      assert.deepStrictEqual((yield* list(scopeOf(made))).items, [])
      assert.isFalse(yield* update(made, {}))
      assert.deepStrictEqual(yield* dueIn(era, era + day), [])
      assert.strictEqual(guardOf(yield* run(number, aRun(made))), "reminder")
      assert.isFalse(yield* store.pass(aRun(made), null))
    }),
  )

  it.effect(
    "due are those whose next run has come, the longest due first, with their workspace",
    () =>
      Effect.gen(function* () {
        const store = yield* ReminderStore
        const status = yield* WorkStatus
        const era = anEra()
        const workspace = yield* aWorkspace({ createdAt: era, plan: aPlan(3) })
        const second = yield* aReminder(workspace.id, { nextRunAt: era + 2 * hour })
        const first = yield* aReminder(workspace.id, { nextRunAt: era + hour, mode: "test" })
        yield* aReminder(workspace.id, { nextRunAt: null })
        const later = yield* aReminder(workspace.id, { nextRunAt: era + 3 * hour })
        assert.strictEqual(yield* status.nextDue("reminders"), era + hour)
        assert.deepStrictEqual(yield* dueIn(era, era + hour - 1), [])
        assert.deepStrictEqual(yield* dueIn(era, era + 2 * hour), [
          { reminder: first, dueAt: era + hour, previousNumberId: null, workspace },
          { reminder: second, dueAt: era + 2 * hour, previousNumberId: null, workspace },
        ])
        assert.lengthOf(yield* store.due(era + day, 1), 1)
        yield* update(first, {}, null)
        assert.strictEqual(yield* status.nextDue("reminders"), era + 2 * hour)
        yield* WorkspaceStore.use((workspaces) => workspaces.delete(workspace.id, era))
        const [due] = yield* dueIn(era, era + 2 * hour)
        assert.strictEqual(due?.workspace.deletedAt, era)
        assert.isTrue(yield* store.pass(aRun(second, { nextRunAt: null }), null))
        assert.strictEqual(yield* status.nextDue("reminders"), later.nextRunAt)
        assert.deepStrictEqual(yield* logOf(second), [])
      }),
  )

  it.effect("a run writes its message, the advance and the log's line together", () =>
    Effect.gen(function* () {
      const { number, workspace } = yield* aStage({ plan: aPlan(5) })
      const reminder = yield* aReminder(workspace.id, { from: number.id })
      const advance = aRun(reminder, { ranAt: noon, dueAt: noon - minute })
      const store = yield* ReminderStore
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

  it.effect("of one revision there is one run, and none after a change", () =>
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

  it.effect("a run that breaks a guard of the acceptance leaves everything as it was", () =>
    Effect.gen(function* () {
      const store = yield* ReminderStore
      const { number, workspace } = yield* aStage({ plan: aPlan(1) })
      const reminder = yield* aReminder(workspace.id)
      yield* aMessage(number)
      assert.strictEqual(guardOf(yield* run(number, aRun(reminder))), "allowance")
      const limit = { messages: 1, windowMillis: day }
      const crowded = anAcceptance(number, { allowance: 0, limit })
      assert.strictEqual(guardOf(yield* store.run(crowded, aRun(reminder))), "quota")
      yield* NumberStore.use((numbers) => numbers.remove(workspace.id, number.id, noon))
      assert.strictEqual(guardOf(yield* run(number, aRun(reminder))), "number")
      assert.deepStrictEqual(yield* get(reminder), reminder)
      assert.deepStrictEqual(yield* logOf(reminder), [])
    }),
  )

  it.effect("a run of test mode makes a test message", () =>
    Effect.gen(function* () {
      const { number, workspace } = yield* aStage({ plan: aPlan(1) })
      const reminder = yield* aReminder(workspace.id, { mode: "test" })
      const outcome = yield* run(number, aRun(reminder), "test")
      const made = only(outcome._tag === "Accepted" ? outcome.ids : [])
      const message = only(yield* MessageStore.use((store) => store.byIds([made])))
      assert.strictEqual(message.mode, "test")
      assert.strictEqual(yield* remaining(workspace), 1)
    }),
  )

  it.effect("a run that is refused or missed advances, with its line in the log", () =>
    Effect.gen(function* () {
      const store = yield* ReminderStore
      const { id } = yield* aWorkspace()
      const reminder = yield* aReminder(id)
      const refused = aRun(reminder)
      assert.isTrue(yield* store.pass(refused, { outcome: "refused", code: "no_credits" }))
      assert.isFalse(yield* store.pass(refused, { outcome: "refused", code: "no_credits" }))
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
      assert.isTrue(yield* store.pass(aRun(now), { outcome: "missed", code: null }))
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
      const page = yield* runsOf(reminder, { before: null, limit: 1 })
      assert.deepStrictEqual(page, { items: log.slice(0, 1), next: log[0]?.id ?? null })
      const rest = yield* runsOf(reminder, { before: page.next, limit: 1 })
      assert.deepStrictEqual(rest, { items: log.slice(1), next: null })
    }),
  )

  it.effect("old lines of the log and long deleted reminders are forgotten, others are not", () =>
    Effect.gen(function* () {
      const store = yield* ReminderStore
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
      // Its latest run goes on being shown, and goes with the reminder.
      yield* store.forget(era + day)
      assert.strictEqual((yield* get(kept))?.lastRun?.outcome, "missed")
      yield* store.remove(scopeOf(kept), kept.id, era + day)
      yield* store.forget(era + 2 * day)
      assert.deepStrictEqual(yield* logOf(kept), [])
    }),
  )

  it.effect("what is due tells the number of its latest message, whatever came of runs since", () =>
    Effect.gen(function* () {
      const store = yield* ReminderStore
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
  it.effect("however many workers take a due time at once, one of them makes its message", () =>
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
    "of a run and a change or deletion at once, one goes through on what it was decided on",
    () =>
      Effect.gen(function* () {
        const store = yield* ReminderStore
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

  it.effect("runs, sends and deletions at once come to an end, each whole or not at all", () =>
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
            WorkspaceStore.use((workspaces) => workspaces.delete(workspace.id, noon)),
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
