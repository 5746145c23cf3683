/** `KeyStore.admitV1`: the minute that a workspace's version 1 keys share. */
import { assert } from "@effect/vitest"
import { keyLimit, Store } from "@messaging-service/core"
import type { AdmitV1Query, WorkspaceId } from "@messaging-service/core"
import { Effect } from "effect"
import { only, present } from "../Expect.ts"
import { atOnce, range } from "../Races.ts"
import type { Topic } from "../Topic.ts"
import {
  admitsAll,
  admitsNone,
  aHash,
  aKey,
  aNewKey,
  aWorkspace,
  minute,
  noon,
  oneSecond,
} from "../Records.ts"
import type { IssuedKey } from "../Records.ts"

const aKeyV1 = (workspaceId: WorkspaceId) =>
  aKey(workspaceId, { version: 1, name: `API Key ${aHash()}` })

const query = ({ hash, key }: IssuedKey, overrides: Partial<AdmitV1Query> = {}): AdmitV1Query => {
  const now = overrides.now ?? noon
  return {
    hash,
    workspaceId: key.workspaceId,
    now,
    minuteStart: now - (now % minute),
    clientAddress: "203.0.113.7",
    ...overrides,
  }
}

const admit = (issued: IssuedKey, overrides: Partial<AdmitV1Query> = {}) =>
  Effect.map(
    Store.use(({ workspaces: store }) => store.admitV1(query(issued, overrides))),
    present,
  )

const readCount = (issued: IssuedKey, overrides: Partial<AdmitV1Query> = {}) =>
  Effect.map(admit(issued, overrides), ({ count }) => count)

const listed = ({ key }: IssuedKey) =>
  Effect.map(
    Store.use(({ workspaces: store }) => store.listKeys(key.workspaceId)),
    (keys) => only(keys.filter(({ id }) => id === key.id)),
  )

export const keysV1: Topic = (it, { parallel }) => {
  it.effect("a version 1 key is found by its hash, with its workspace", () =>
    Effect.gen(function* () {
      const store = (yield* Store).workspaces
      const workspace = yield* aWorkspace()
      const issued = yield* aKeyV1(workspace.id)
      const found = yield* admit(issued)
      assert.deepStrictEqual(found, {
        key: { ...issued.key, lastUsedAt: noon, lastUsedIp: "203.0.113.7" },
        workspace,
        count: 1,
      })
      assert.isNull(yield* store.admitV1(query(issued, { hash: aHash() })))
      assert.isNull(yield* store.admitV1(query(yield* aKey(workspace.id))))
    }),
  )

  it.effect("all version 1 keys of a workspace share its minute, and others' do not", () =>
    Effect.gen(function* () {
      const workspace = yield* aWorkspace()
      const first = yield* aKeyV1(workspace.id)
      const second = yield* aKeyV1(workspace.id)
      const stranger = yield* aKeyV1((yield* aWorkspace()).id)
      assert.strictEqual(yield* readCount(first), 1)
      assert.strictEqual(yield* readCount(second), 2)
      assert.strictEqual(yield* readCount(first), 3)
      assert.strictEqual(yield* readCount(stranger), 1)
    }),
  )

  it.effect("no two version 1 keys of a workspace have one name, however they are made", () =>
    Effect.gen(function* () {
      const store = (yield* Store).workspaces
      const workspace = yield* aWorkspace()
      const named = (id: WorkspaceId, version: 1 | 2 = 1) =>
        store.insertKey(aNewKey(id, { version, name: "API Key 1" }), keyLimit)
      const apiKeys = yield* Effect.forEach(range(5), () => named(workspace.id), atOnce)
      const key = only(apiKeys.filter((one) => one !== null))
      yield* store.revokeKey(workspace.id, key.id, noon)
      assert.isNull(yield* named(workspace.id))
      assert.isNotNull(yield* named(workspace.id, 2))
      assert.isNotNull(yield* named((yield* aWorkspace()).id))
    }),
  )

  it.effect("version 2 keys count in windows of their own", () =>
    Effect.gen(function* () {
      const store = (yield* Store).workspaces
      const workspace = yield* aWorkspace()
      const version1 = yield* aKeyV1(workspace.id)
      const version2 = yield* aKey(workspace.id)
      yield* readCount(version1)
      const windows = { minuteStart: noon - (noon % minute), dayStart: noon, clientAddress: null }
      const admitted = yield* store.admit({
        hash: version2.hash,
        version: 2,
        now: noon,
        ...windows,
      })
      assert.deepStrictEqual(present(admitted).count, { minute: 1, day: 1 })
      assert.strictEqual(yield* readCount(version1), 2)
    }),
  )

  it.effect("the minute restarts with its start", () =>
    Effect.gen(function* () {
      const issued = yield* aKeyV1((yield* aWorkspace()).id)
      const instants = [noon, noon + oneSecond, noon + minute, noon + minute + 1, noon + 3 * minute]
      assert.deepStrictEqual(
        yield* Effect.forEach(instants, (now) => readCount(issued, { now })),
        [1, 2, 1, 2, 1],
      )
    }),
  )

  it.effect("a counted request records when and from where its own key was used", () =>
    Effect.gen(function* () {
      const workspace = yield* aWorkspace()
      const used = yield* aKeyV1(workspace.id)
      const unused = yield* aKeyV1(workspace.id)
      yield* admit(used)
      yield* admit(used, { now: noon + oneSecond, clientAddress: "2001:db8::7" })
      assert.deepStrictEqual(yield* listed(used), {
        ...used.key,
        lastUsedAt: noon + oneSecond,
        lastUsedIp: "2001:db8::7",
      })
      assert.deepStrictEqual(yield* listed(unused), unused.key)
    }),
  )

  it.effect("nothing is counted or recorded when another workspace is named", () =>
    Effect.gen(function* () {
      const workspace = yield* aWorkspace()
      const other = yield* aWorkspace()
      const issued = yield* aKeyV1(workspace.id)
      const found = yield* admit(issued, { workspaceId: other.id })
      assert.deepStrictEqual(found, { key: issued.key, workspace, count: null })
      assert.isNull(yield* readCount(issued, { workspaceId: 0 as WorkspaceId }))
      assert.deepStrictEqual(yield* listed(issued), issued.key)
      // Where no client id is needed, the key identifies its workspace.
      assert.strictEqual(yield* readCount(issued, { workspaceId: null }), 1)
      assert.strictEqual(yield* readCount(yield* aKeyV1(other.id)), 1)
    }),
  )

  it.effect("nothing is counted or recorded with a deleted key", () =>
    Effect.gen(function* () {
      const workspace = yield* aWorkspace()
      const issued = yield* aKeyV1(workspace.id)
      yield* Store.use(({ workspaces: store }) =>
        store.revokeKey(workspace.id, issued.key.id, noon),
      )
      const revoked = { ...issued.key, revokedAt: noon }
      const found = yield* admit(issued, { now: noon + 1 })
      assert.deepStrictEqual(found, { key: revoked, workspace, count: null })
      assert.deepStrictEqual(yield* listed(issued), revoked)
      assert.strictEqual(yield* readCount(yield* aKeyV1(workspace.id)), 1)
    }),
  )

  it.effect("each version counts by the workspace's settings for it", () =>
    Effect.gen(function* () {
      const { workspaces } = yield* Store
      const workspace = yield* aWorkspace({ apiV2Enabled: false, admits: { v1: true, v2: false } })
      const issued = yield* aKeyV1(workspace.id)
      assert.strictEqual(yield* readCount(issued), 1)
      yield* workspaces.update(
        workspace.id,
        () => ({
          change: { accountDisabled: true },
          admits: admitsNone,
        }),
        noon,
      )
      const disabled = yield* admit(issued)
      assert.isNull(disabled.count)
      assert.isTrue(disabled.workspace.accountDisabled)
      yield* workspaces.update(
        workspace.id,
        () => ({
          change: { accountDisabled: false },
          admits: admitsAll,
        }),
        noon,
      )
      assert.strictEqual(yield* readCount(issued), 2)
      yield* workspaces.delete(workspace.id, noon)
      const deleted = yield* admit(issued)
      assert.isNull(deleted.count)
      assert.strictEqual(deleted.workspace.deletedAt, noon)
    }),
  )

  it.effect("concurrent requests are each counted once, whatever their keys", () =>
    Effect.gen(function* () {
      const store = (yield* Store).workspaces
      for (let round = 0; round < (parallel ? 5 : 1); round++) {
        const workspaces = [yield* aWorkspace(), yield* aWorkspace(), yield* aWorkspace()]
        const issued = yield* Effect.forEach([...workspaces, ...workspaces], ({ id }) => aKeyV1(id))
        const foreign = yield* aKey(present(workspaces[0]).id)
        const queries = range(20).flatMap((iteration) =>
          issued.flatMap((key, index) => [
            query(key),
            // Found, but not counted, and not found at all.
            ...(iteration % 5 === 0
              ? [query(key, { workspaceId: 0 as WorkspaceId }), query(foreign)]
              : []),
            ...(iteration === index ? [query(key, { workspaceId: null })] : []),
          ]),
        )
        const found = yield* Effect.forEach(queries, store.admitV1, atOnce)
        for (const { id } of workspaces) {
          const counts = found.flatMap((each) =>
            each === null || each.workspace.id !== id || each.count === null ? [] : [each.count],
          )
          assert.deepStrictEqual(
            counts.toSorted((a, b) => a - b),
            range(42).map((index) => index + 1),
          )
        }
      }
    }),
  )

  it.effect("the minute never restarts for late requests from the one before", () =>
    Effect.gen(function* () {
      const store = (yield* Store).workspaces
      const issued = yield* aKeyV1((yield* aWorkspace()).id)
      const queries = range(20).map((iteration) =>
        query(issued, { now: iteration < 10 ? noon : noon + minute }),
      )
      const found = yield* Effect.forEach(queries, store.admitV1, { concurrency: 20 })
      assert.isTrue(found.every((each) => each?.count !== null))
      // Requests counted before the minute turned no longer count.
      const count = yield* readCount(issued, { now: noon + minute })
      assert.isAtLeast(count ?? 0, 11)
      assert.isAtMost(count ?? 0, 21)
      assert.strictEqual(yield* readCount(issued, { now: noon }), (count ?? 0) + 1)
      assert.strictEqual(yield* readCount(issued, { now: noon + minute }), (count ?? 0) + 2)
      // A clock that was set back counts from there.
      assert.strictEqual(yield* readCount(issued, { now: noon - minute }), 1)
    }),
  )
}
