/** `WorkspaceStore`: creating, changing and deleting workspaces. */
import { assert } from "@effect/vitest"
import { Store } from "@messaging-service/core"
import type { NewWorkspace, RequestedNumber } from "@messaging-service/core"
import { Effect } from "effect"
import { present } from "../Expect.ts"
import { atOnce, range } from "../Races.ts"
import type { Topic } from "../Topic.ts"
import { aPlan, aWorkspace, noon, admitsAll } from "../Records.ts"

export const workspaces: Topic = (it) => {
  it.effect(
    "a store is empty until its first workspace, and never again, even after that one is deleted",
    () =>
      Effect.gen(function* () {
        const store = (yield* Store).workspaces
        assert.isTrue(yield* store.isEmpty)
        const workspace = yield* aWorkspace()
        assert.isFalse(yield* store.isEmpty)
        yield* store.delete(workspace.id, noon)
        assert.isFalse(yield* store.isEmpty)
      }),
  )

  const expected = (name: string): NewWorkspace => ({
    name,
    demo: false,
    accountDisabled: false,
    apiV2Enabled: true,
    plan: aPlan(5),
    retentionDays: null,
    createdAt: noon,
  })
  const aRequestedNumber = (phone: string): RequestedNumber => ({
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
      const numbers = [
        aRequestedNumber("15550107771"),
        aRequestedNumber("15550107772"),
        aRequestedNumber("15550107771"),
      ]
      const all = yield* Effect.forEach(
        range(8),
        () => store.ensure(expected("At once"), admitsAll, numbers),
        atOnce,
      )
      const [first] = all
      assert.deepStrictEqual(first, {
        ...expected("At once"),
        id: present(first).id,
        deletedAt: null,
      })
      assert.deepStrictEqual(
        all,
        Array.from(all, () => first),
      )
      const created = yield* (yield* Store).numbers.list(present(first).id)
      assert.deepStrictEqual(
        created.map(({ phone, status }) => [phone, status]),
        [
          ["15550107771", "connected"],
          ["15550107772", "connected"],
        ],
      )
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
}
