/** `WorkspaceStore`: creating, changing and deleting workspaces. */
import { assert } from "@effect/vitest"
import { Store } from "@messaging-service/core"
import type { NewWorkspace, WantedNumber, WorkspaceId } from "@messaging-service/core"
import { Effect } from "effect"
import { present } from "../Expect.ts"
import { atOnce, range } from "../Races.ts"
import { brokenBy } from "../Reading.ts"
import type { Topic } from "../Topic.ts"
import {
  aNumber,
  aPlan,
  aWorkspace,
  anAcceptance,
  day,
  noon,
  oneSecond,
  admitsAll,
  admitsNone,
} from "../Records.ts"

export const workspaces: Topic = (it) => {
  it.effect("a store is empty until its first workspace, and not again when that is deleted", () =>
    Effect.gen(function* () {
      const store = (yield* Store).workspaces
      assert.isTrue(yield* store.isEmpty)
      const workspace = yield* aWorkspace()
      assert.isFalse(yield* store.isEmpty)
      yield* store.delete(workspace.id, noon)
      assert.isFalse(yield* store.isEmpty)
    }),
  )

  it.effect("a workspace is kept as given", () =>
    Effect.gen(function* () {
      const store = (yield* Store).workspaces
      const given = {
        name: "Zoë's bakery 🥐",
        demo: true,
        accountDisabled: true,
        apiV2Enabled: false,
        plan: {
          name: "Basic",
          messagesRemaining: 12,
          reminders: false,
          qrCodeApi: false,
          maxNumbers: 3,
          mediaStorageBytes: 5_000_000_000,
        },
        retentionDays: 30,
        createdAt: noon + 1,
      }
      const workspace = yield* store.insert(given, admitsNone)
      assert.deepStrictEqual(workspace, { ...given, id: workspace.id, deletedAt: null })
      assert.deepStrictEqual(yield* store.get(workspace.id), workspace)
      const bare = yield* aWorkspace({ plan: null })
      assert.isNull(present(yield* store.get(bare.id)).plan)
      assert.isNull(yield* store.get(999_999_999 as WorkspaceId))
    }),
  )

  it.effect("workspaces are paged newest first, without deleted ones", () =>
    Effect.gen(function* () {
      const store = (yield* Store).workspaces
      const oldest = yield* aWorkspace({ name: "Oldest" })
      const older = yield* aWorkspace({ name: "Older" })
      const deleted = yield* aWorkspace({ name: "Deleted" })
      const newest = yield* aWorkspace({ name: "Newest" })
      yield* store.delete(deleted.id, noon)
      const first = yield* store.list({ before: null, limit: 2 })
      assert.deepStrictEqual(first, { items: [newest, older], next: older.id })
      yield* aWorkspace({ name: "Made meanwhile" })
      const second = yield* store.list({ before: first.next, limit: 1 })
      assert.deepStrictEqual(second.items, [oldest])
    }),
  )

  const wanted = (name: string): NewWorkspace => ({
    name,
    demo: false,
    accountDisabled: false,
    apiV2Enabled: true,
    plan: aPlan(5),
    retentionDays: null,
    createdAt: noon,
  })
  const aWanted = (phone: string): WantedNumber => ({
    number: {
      mode: "live",
      phone,
      label: "",
      platform: "whatsapp",
      status: "connected",
      loginMethod: "qr",
      createdAt: noon,
    },
    pacing: null,
  })

  it.effect("concurrent callers create a workspace of a name once, and each number once", () =>
    Effect.gen(function* () {
      const store = (yield* Store).workspaces
      const numbers = [aWanted("15550107771"), aWanted("15550107772"), aWanted("15550107771")]
      const all = yield* Effect.forEach(
        range(8),
        () => store.ensure(wanted("At once"), admitsAll, numbers),
        atOnce,
      )
      const [first] = all
      assert.deepStrictEqual(first, {
        ...wanted("At once"),
        id: present(first).id,
        deletedAt: null,
      })
      assert.deepStrictEqual(
        all,
        Array.from(all, () => first),
      )
      const made = yield* (yield* Store).numbers.list(present(first).id)
      assert.deepStrictEqual(
        made.map(({ phone, status }) => [phone, status]),
        [
          ["15550107771", "connected"],
          ["15550107772", "connected"],
        ],
      )
    }),
  )

  it.effect("the oldest undeleted workspace with a name is returned, and stays unchanged", () =>
    Effect.gen(function* () {
      const { workspaces: store, numbers } = yield* Store

      const deleted = yield* aWorkspace({ name: "Several" })
      const oldest = yield* aWorkspace({ name: "Several", plan: null, demo: true })
      yield* aWorkspace({ name: "Several" })
      yield* aWorkspace({ name: "several" })
      yield* store.delete(deleted.id, noon)
      const telegram = yield* aNumber(oldest.id, { phone: "15550107773", platform: "telegram" })
      const test = yield* aNumber(oldest.id, { phone: "15550107773", mode: "test" })
      const ensure = store.ensure(wanted("Several"), admitsAll, [aWanted("15550107773")])
      assert.deepStrictEqual(yield* ensure, oldest)
      assert.deepStrictEqual(yield* ensure, oldest)
      const found = yield* numbers.list(oldest.id)
      assert.deepStrictEqual(found.slice(0, 2), [telegram, test])
      assert.lengthOf(found, 3)
      // A removed one is missing again.
      yield* numbers.remove(oldest.id, present(found[2]).id, noon)
      yield* ensure
      assert.lengthOf(yield* numbers.list(oldest.id), 3)
    }),
  )

  it.effect("a plan without room for the numbers makes and adds nothing", () =>
    Effect.gen(function* () {
      const { workspaces: store, numbers } = yield* Store
      const plan = { ...aPlan(5), maxNumbers: 1 }
      const two = [aWanted("15550107774"), aWanted("15550107775")]
      const small = { ...wanted("Small"), plan }
      assert.isNull(yield* store.ensure(small, admitsAll, two))
      const { id } = present(yield* store.ensure(small, admitsAll, two.slice(0, 1)))
      // What is there takes no more room, and the plan of the present workspace counts.
      assert.strictEqual((yield* store.ensure(small, admitsAll, two.slice(0, 1)))?.id, id)
      assert.isNull(yield* store.ensure(wanted("Small"), admitsAll, two))
      assert.lengthOf(yield* numbers.list(id), 1)
      yield* store.update(id, () => ({ change: { plan: null }, admits: admitsAll }), noon)
      yield* store.ensure(small, admitsAll, two)
      assert.lengthOf(yield* numbers.list(id), 2)
    }),
  )

  it.effect("a change replaces the fields it names and no others", () =>
    Effect.gen(function* () {
      const store = (yield* Store).workspaces
      const workspace = yield* aWorkspace({ plan: aPlan(5) })
      const renamed = yield* store.update(
        workspace.id,
        (current) => {
          assert.deepStrictEqual(current, workspace)
          return { change: { name: "Renamed" }, admits: admitsAll }
        },
        noon,
      )
      assert.deepStrictEqual(renamed, { ...workspace, name: "Renamed" })
      const changed = yield* store.update(
        workspace.id,
        () => ({
          change: { plan: null, demo: true, accountDisabled: true, apiV2Enabled: false },
          admits: admitsNone,
        }),
        noon,
      )
      assert.deepStrictEqual(changed, {
        ...workspace,
        name: "Renamed",
        plan: null,
        demo: true,
        accountDisabled: true,
        apiV2Enabled: false,
      })
      assert.deepStrictEqual(yield* store.get(workspace.id), changed)
      const planned = yield* store.update(
        workspace.id,
        () => ({
          change: { plan: aPlan(null) },
          admits: admitsNone,
        }),
        noon,
      )
      assert.deepStrictEqual(present(planned).plan, aPlan(null))
    }),
  )

  it.effect("no concurrent change is lost", () =>
    Effect.gen(function* () {
      const store = (yield* Store).workspaces
      const workspace = yield* aWorkspace({ plan: aPlan(0) })
      const rounds = 20
      yield* Effect.forEach(
        Array.from({ length: rounds }),
        () =>
          store.update(
            workspace.id,
            (current) => ({
              change: { plan: aPlan((current.plan?.messagesRemaining ?? 0) + 1) },
              admits: admitsAll,
            }),
            noon,
          ),
        { concurrency: "unbounded", discard: true },
      )
      assert.deepStrictEqual(present(yield* store.get(workspace.id)).plan, aPlan(rounds))
    }),
  )

  it.effect("a deleted workspace is unknown, and deleted once", () =>
    Effect.gen(function* () {
      const store = (yield* Store).workspaces
      const workspace = yield* aWorkspace()
      assert.isTrue(yield* store.delete(workspace.id, noon + oneSecond))
      assert.isFalse(yield* store.delete(workspace.id, noon + day))
      assert.isNull(yield* store.get(workspace.id))
      const change = { change: { name: "Late" }, admits: admitsAll }
      assert.isNull(yield* store.update(workspace.id, () => change, noon))
      assert.isFalse(yield* store.delete(999_999_999 as WorkspaceId, noon))
    }),
  )

  it.effect("the numbers of a deleted workspace are unknown, those of others are not", () =>
    Effect.gen(function* () {
      const { workspaces: store, numbers } = yield* Store

      const workspace = yield* aWorkspace()
      const number = yield* aNumber(workspace.id)
      const other = yield* aNumber((yield* aWorkspace()).id)
      yield* store.delete(workspace.id, noon)
      assert.isNull(yield* numbers.find(number.id))
      assert.isNull(yield* numbers.get(workspace.id, number.id))
      assert.deepStrictEqual(yield* numbers.list(workspace.id), [])
      assert.isNull(yield* numbers.setStatus(number.id, "disconnected", undefined, noon))
      assert.isFalse(yield* numbers.remove(workspace.id, number.id, noon))
      assert.strictEqual(yield* brokenBy(anAcceptance(number)), "number")
      assert.deepStrictEqual(yield* numbers.find(other.id), other)
      assert.isNull(yield* brokenBy(anAcceptance(other)))
    }),
  )
}
