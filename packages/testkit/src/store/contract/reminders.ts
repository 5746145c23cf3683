/** `ReminderStore`: creating, changing, listing and deleting reminders. */
import { assert } from "@effect/vitest"
import { Store } from "@messaging-service/core"
import type {
  MediaId,
  NumberId,
  ReminderContent,
  ReminderId,
  TimeZone,
} from "@messaging-service/core"
import { Effect } from "effect"
import { ids, present } from "../Expect.ts"
import { nextDueOf } from "../Reading.ts"
import type { Topic } from "../Topic.ts"
import {
  aClaim,
  aKey,
  anEra,
  aPhone,
  aPlan,
  aStage,
  aWorkspace,
  day,
  hour,
  noon,
} from "../Records.ts"
import {
  aNewReminder,
  aReminder,
  scopeOf,
  get,
  list,
  update,
  dueIn,
  aRun,
  run,
  guardOf,
  logOf,
} from "../Reminding.ts"

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
  it.effect("a reminder is found as created, for every recipient and media", () =>
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
    "is visible to its workspace and mode, and to a limited key if it sends from its number",
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
        const store = (yield* Store).reminders
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

  it.effect("a change replaces the content of its revision, or nothing", () =>
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

  it.effect("a repeated creation finds the first result, whatever happened to it", () =>
    Effect.gen(function* () {
      const store = (yield* Store).reminders
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

  it.effect("creating one finishes its claim, and creates none when the claim was lost", () =>
    Effect.gen(function* () {
      const { reminders: store, messages: claims } = yield* Store

      const { id } = yield* aWorkspace()
      const { key } = yield* aKey(id)
      const mine = aClaim(key.id)
      const paused = aNewReminder(id, { active: false, nextRunAt: null })
      assert.deepStrictEqual(yield* store.insert(paused, mine), {
        _tag: "Broken",
        guard: "idempotency",
      })
      assert.deepStrictEqual((yield* list(scopeOf({ workspaceId: id, mode: "live" }))).items, [])
      yield* claims.claimKey(mine, noon)
      const inserted = yield* store.insert(paused, mine)
      const made = present(inserted._tag === "Inserted" ? inserted.reminder : null)
      const repeated = yield* claims.claimKey({ ...mine, token: "again" }, noon)
      assert.deepInclude(repeated, { _tag: "Finished" })
      if (repeated._tag === "Finished") assert.deepStrictEqual(repeated.record.madeIds, [made.id])
    }),
  )

  it.effect("a deleted reminder is gone, does not run and is never due", () =>
    Effect.gen(function* () {
      const store = (yield* Store).reminders
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
      assert.strictEqual((yield* store.pass(aRun(made), null))._tag, "Broken")
    }),
  )

  it.effect("due reminders come longest due first, with their workspace", () =>
    Effect.gen(function* () {
      const store = (yield* Store).reminders
      const era = anEra()
      const workspace = yield* aWorkspace({ createdAt: era, plan: aPlan(3) })
      const second = yield* aReminder(workspace.id, { nextRunAt: era + 2 * hour })
      const first = yield* aReminder(workspace.id, { nextRunAt: era + hour, mode: "test" })
      yield* aReminder(workspace.id, { nextRunAt: null })
      const later = yield* aReminder(workspace.id, { nextRunAt: era + 3 * hour })
      assert.strictEqual(yield* nextDueOf("reminders", era), era + hour)
      assert.deepStrictEqual(yield* dueIn(era, era + hour - 1), [])
      assert.deepStrictEqual(yield* dueIn(era, era + 2 * hour), [
        { reminder: first, dueAt: era + hour, previousNumberId: null, workspace },
        { reminder: second, dueAt: era + 2 * hour, previousNumberId: null, workspace },
      ])
      assert.lengthOf(yield* store.due(era + day, 1), 1)
      yield* update(first, {}, null)
      assert.strictEqual(yield* nextDueOf("reminders", era), era + 2 * hour)
      yield* Store.use(({ workspaces }) => workspaces.delete(workspace.id, era))
      const [due] = yield* dueIn(era, era + 2 * hour)
      assert.strictEqual(due?.workspace.deletedAt, era)
      assert.deepStrictEqual(yield* store.pass(aRun(second, { nextRunAt: null }), null), {
        _tag: "Passed",
        runId: null,
      })
      assert.strictEqual(yield* nextDueOf("reminders", era), later.nextRunAt)
      assert.deepStrictEqual(yield* logOf(second), [])
    }),
  )
}
