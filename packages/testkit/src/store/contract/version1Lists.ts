/** `Version1ListStore`: pages by offset with a total, of records that other ports wrote. */
import { assert } from "@effect/vitest"
import { Store } from "@messaging-service/core"
import type {
  CheckResultStatus,
  MediaType,
  Mode,
  NewReminder,
  NumberCheckId,
  OffsetPage,
  Period,
  Phone,
  TimeZone,
  WorkspaceId,
} from "@messaging-service/core"
import { Effect } from "effect"
import { at, ids, present } from "../Expect.ts"
import { onlyThese } from "../Sending.ts"
import type { Topic } from "../Topic.ts"
import {
  accepted,
  aMediaFile,
  aMessage,
  aNewMediaFile,
  aNumber,
  aPhone,
  aStage,
  aWorkspace,
  day,
  hour,
  minute,
  noon,
  oneSecond,
} from "../Records.ts"

const everything = { offset: 0, limit: 1000 }

const always: Period = { since: noon - 1000 * day, until: noon + 1000 * day }

const messages = (
  workspaceId: WorkspaceId,
  period: Partial<Period> = {},
  query = everything,
  mode: Mode = "live",
) =>
  Store.use(({ version1Lists: store }) =>
    store.messages({ workspaceId, mode }, { ...always, ...period }, query),
  )

const shown = <A extends { readonly id: number }>({ items, total }: OffsetPage<A>) => ({
  total,
  ids: ids(items),
})

const aNewReminder = (
  workspaceId: WorkspaceId,
  overrides: Partial<NewReminder> = {},
): NewReminder => ({
  workspaceId,
  mode: "live",
  name: "Reminder",
  active: true,
  to: { kind: "group", group: "Team" },
  from: null,
  text: "Hello",
  media: null,
  cron: "0 9 * * *",
  timezone: "UTC" as TimeZone,
  // Due ones would be run by the tests of runs.
  nextRunAt: null,
  createdAt: noon,
  ...overrides,
})

const aReminder = (workspaceId: WorkspaceId, overrides: Partial<NewReminder> = {}) =>
  Effect.map(
    Store.use(({ reminders: store }) => store.insert(aNewReminder(workspaceId, overrides), null)),
    (inserted) => present(inserted._tag === "Inserted" ? inserted.reminder : null),
  )

export const version1Lists: Topic = (it) => {
  it.effect("messages come newest first, page by page, each with the total of all", () =>
    Effect.gen(function* () {
      const { number, workspace } = yield* aStage()
      const all = (yield* accepted(number, { count: 7 })).toReversed()
      yield* aMessage((yield* aStage()).number)
      const page = (offset: number, limit: number) => messages(workspace.id, {}, { offset, limit })
      assert.deepStrictEqual(yield* page(0, 3), { total: 7, items: all.slice(0, 3) })
      assert.deepStrictEqual(yield* page(3, 3), { total: 7, items: all.slice(3, 6) })
      assert.deepStrictEqual(yield* page(6, 3), { total: 7, items: all.slice(6) })
      assert.deepStrictEqual(yield* page(7, 3), { total: 7, items: [] })
      assert.deepStrictEqual(yield* page(1_000_000_000, 3), { total: 7, items: [] })
    }),
  )

  it.effect("a workspace without messages has a total of 0", () =>
    Effect.gen(function* () {
      const workspace = yield* aWorkspace()
      assert.deepStrictEqual(yield* messages(workspace.id), { total: 0, items: [] })
      assert.deepStrictEqual(yield* messages(999_999_999 as WorkspaceId), { total: 0, items: [] })
    }),
  )

  it.effect("the two modes of a workspace are two lists", () =>
    Effect.gen(function* () {
      const { number, workspace } = yield* aStage()
      const live = yield* aMessage(number)
      const test = yield* aMessage(number, { mode: "test" })
      const list = (mode: Mode) => Effect.map(messages(workspace.id, {}, everything, mode), shown)
      assert.deepStrictEqual(yield* list("live"), { total: 1, ids: [live.id] })
      assert.deepStrictEqual(yield* list("test"), { total: 1, ids: [test.id] })
    }),
  )

  it.effect("a period includes its first moment and excludes its last", () =>
    Effect.gen(function* () {
      const { number, workspace } = yield* aStage()
      const moments = [noon - 1, noon, noon + hour, noon + day - 1, noon + day]
      const made = yield* Effect.forEach(moments, (now) => aMessage(number, { now }))
      const [, first, middle, last] = [at(made, 0), at(made, 1), at(made, 2), at(made, 3)]
      const list = (period: Partial<Period>) => Effect.map(messages(workspace.id, period), shown)
      assert.deepStrictEqual(yield* list({ since: noon, until: noon + day }), {
        total: 3,
        ids: [last.id, middle.id, first.id],
      })
      assert.deepStrictEqual(yield* list({ since: noon, until: noon + 1 }), {
        total: 1,
        ids: [first.id],
      })
      assert.deepStrictEqual(yield* list({ since: noon, until: noon }), { total: 0, ids: [] })
      assert.deepStrictEqual(yield* list({ since: noon + 2 * day }), { total: 0, ids: [] })
      assert.deepStrictEqual(yield* list({ until: noon - day }), { total: 0, ids: [] })
      assert.strictEqual((yield* list({})).total, 5)
    }),
  )

  it.effect("each page of a period is cut from that period, whatever its length", () =>
    Effect.gen(function* () {
      const { number, workspace } = yield* aStage()
      // Some ten minutes around noon, close to one another and, as ids may be, a little out of order.
      const moments = Array.from(
        { length: 40 },
        (_, index) => noon + (index - 20) * 15 * oneSecond + (index % 3) * 20 * oneSecond,
      )
      const made = yield* Effect.forEach(moments, (now) => aMessage(number, { now }))
      for (const [from, to] of [
        [-2, 2],
        [-5, 5],
        [-1, 0],
        [0, 5],
        [-60, 60],
      ] as const) {
        const period = { since: noon + from * minute, until: noon + to * minute }
        const inside = made
          .filter(({ createdAt }) => createdAt >= period.since && createdAt < period.until)
          .toReversed()
        assert.deepStrictEqual(shown(yield* messages(workspace.id, period)), {
          total: inside.length,
          ids: ids(inside),
        })
        assert.deepStrictEqual(
          shown(yield* messages(workspace.id, period, { offset: 2, limit: 3 })),
          { total: inside.length, ids: ids(inside.slice(2, 5)) },
        )
      }
    }),
  )

  it.effect("files of the directory, of one type or both", () =>
    Effect.gen(function* () {
      const { version1Lists: store, media: directory } = yield* Store

      const workspace = yield* aWorkspace()
      const image = yield* aMediaFile(workspace.id)
      const file = yield* aMediaFile(workspace.id, { type: "file" })
      const another = yield* aMediaFile(workspace.id)
      const test = yield* aMediaFile(workspace.id, { mode: "test" })
      yield* aMediaFile((yield* aWorkspace()).id)
      // Not committed yet, and deleted.
      yield* directory.reserve(aNewMediaFile(workspace.id), Number.MAX_SAFE_INTEGER)
      const deleted = yield* aMediaFile(workspace.id)
      yield* directory.delete(workspace.id, "live", deleted.id)
      const list = (type: MediaType | null, query = everything, mode: Mode = "live") =>
        store.media({ workspaceId: workspace.id, mode }, type, query)
      assert.deepStrictEqual(yield* list(null), { total: 3, items: [another, file, image] })
      assert.deepStrictEqual(yield* list("image"), { total: 2, items: [another, image] })
      assert.deepStrictEqual(yield* list("file"), { total: 1, items: [file] })
      assert.deepStrictEqual(yield* list("image", { offset: 1, limit: 1 }), {
        total: 2,
        items: [image],
      })
      assert.deepStrictEqual(yield* list(null, { offset: 3, limit: 1 }), { total: 3, items: [] })
      assert.deepStrictEqual(yield* list(null, everything, "test"), { total: 1, items: [test] })
    }),
  )

  it.effect("reminders, paused ones included and deleted ones left out", () =>
    Effect.gen(function* () {
      const store = (yield* Store).version1Lists
      const { number, workspace } = yield* aStage()
      const bound = yield* aReminder(workspace.id, { from: number.id })
      const paused = yield* aReminder(workspace.id, { active: false })
      const test = yield* aReminder(workspace.id, { mode: "test" })
      const deleted = yield* aReminder(workspace.id)
      yield* aReminder((yield* aWorkspace()).id)
      yield* Store.use(({ reminders }) =>
        reminders.remove(
          { workspaceId: workspace.id, mode: "live", restriction: null },
          deleted.id,
          noon,
        ),
      )
      const list = (query = everything, mode: Mode = "live") =>
        store.reminders({ workspaceId: workspace.id, mode }, query)
      assert.deepStrictEqual(yield* list(), { total: 2, items: [paused, bound] })
      assert.deepStrictEqual(yield* list({ offset: 1, limit: 5 }), { total: 2, items: [bound] })
      assert.deepStrictEqual(yield* list(everything, "test"), { total: 1, items: [test] })
    }),
  )

  it.effect("results of a number check, by status or all", () =>
    Effect.gen(function* () {
      const { version1Lists: store, numberChecks: checks } = yield* Store

      const workspace = yield* aWorkspace()
      const number = yield* aNumber(workspace.id)
      const check = {
        workspaceId: workspace.id,
        mode: "live" as const,
        numberId: number.id,
        name: null,
        createdAt: noon,
      }
      const made = (phones: ReadonlyArray<Phone>) =>
        Effect.map(checks.insert({ ...check, phones }, null), (inserted) =>
          present(inserted._tag === "Made" ? inserted.id : null),
        )
      const phones = [aPhone(), aPhone(), aPhone(), aPhone()]
      const id = yield* made(phones)
      yield* made([aPhone()])
      const claimed = yield* checks.claim({
        now: noon,
        leaseUntil: noon + minute,
        limit: 1000,
        chunk: 3,
        perWorkspace: 1000,
        held: new Map(),
        owned: onlyThese([number]),
      })
      const lease = present(claimed.find((each) => each.id === id)).lease
      const answers = (["registered", "failed", "registered"] as const).map((status, index) => ({
        phone: at(phones, index),
        status,
      }))
      assert.isTrue(yield* checks.settle({ _tag: "Answered", id, lease, answers }, noon + 1))
      const list = (status: CheckResultStatus | null, query = everything) =>
        Effect.map(store.checkResults(id, status, query), ({ items, total }) => ({
          total,
          phones: items.map(({ phone }) => phones.indexOf(phone)),
        }))
      assert.deepStrictEqual(yield* list(null), { total: 4, phones: [3, 2, 1, 0] })
      assert.deepStrictEqual(yield* list("registered"), { total: 2, phones: [2, 0] })
      assert.deepStrictEqual(yield* list("not_registered"), { total: 0, phones: [] })
      assert.deepStrictEqual(yield* list("pending"), { total: 1, phones: [3] })
      assert.deepStrictEqual(yield* list(null, { offset: 1, limit: 2 }), {
        total: 4,
        phones: [2, 1],
      })
      const { items } = yield* store.checkResults(id, "failed", everything)
      assert.deepStrictEqual(
        items.map(({ checkedAt, status }) => ({ checkedAt, status })),
        [{ checkedAt: noon + 1, status: "failed" }],
      )
      assert.deepStrictEqual(
        yield* store.checkResults(999_999_999 as NumberCheckId, null, everything),
        { total: 0, items: [] },
      )
      // A test that claims the checks of all workspaces must not find this one.
      yield* Store.use(({ workspaces }) => workspaces.delete(workspace.id, noon))
    }),
  )
}
