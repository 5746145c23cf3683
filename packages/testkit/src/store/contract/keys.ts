/** `KeyStore`: admission, counting, and the number of keys. */
import { assert } from "@effect/vitest"
import { keyLimit, requestsPerMinute, Store } from "@messaging-service/core"
import type { AdmitQuery } from "@messaging-service/core"
import { Effect } from "effect"
import { at, only, present } from "../Expect.ts"
import type { Topic } from "../Topic.ts"
import {
  aHash,
  aKey,
  aNewKey,
  aNumber,
  aWorkspace,
  day,
  hour,
  minute,
  noon,
  oneSecond,
  admitsAll,
  admitsNone,
} from "../Records.ts"
import type { IssuedKey } from "../Records.ts"

const query = (issued: IssuedKey, now = noon): AdmitQuery => ({
  hash: issued.hash,
  version: issued.key.version,
  now,
  minuteStart: now - (now % minute),
  dayStart: now - (now % day),
  clientAddress: "203.0.113.7",
})

const admit = (issued: IssuedKey, now = noon) =>
  Effect.map(
    Store.use(({ workspaces: store }) => store.admit(query(issued, now))),
    present,
  )

const listed = (issued: IssuedKey) =>
  Effect.map(
    Store.use(({ workspaces: store }) => store.listKeys(issued.key.workspaceId)),
    (keys) => only(keys.filter((key) => key.id === issued.key.id)),
  )

export const keys: Topic = (it) => {
  it.effect("a key is found by its hash and its version, with its workspace", () =>
    Effect.gen(function* () {
      const store = (yield* Store).workspaces
      const workspace = yield* aWorkspace()
      const number = yield* aNumber(workspace.id)
      const issued = yield* aKey(workspace.id, {
        name: "Schlüssel ✓",
        mode: "test",
        scopes: ["messages:read", "numbers"],
        numberIds: [number.id],
        expiresAt: noon + day,
      })
      const found = yield* admit(issued)
      assert.deepStrictEqual(found.workspace, workspace)
      assert.deepStrictEqual({ ...found.key, lastUsedAt: null, lastUsedIp: null }, issued.key)
      assert.isNull(yield* store.admit({ ...query(issued), version: 1 }))
      assert.isNull(yield* store.admit({ ...query(issued), hash: aHash() }))
    }),
  )

  it.effect("a new key has an id, no use and no revocation", () =>
    Effect.gen(function* () {
      const store = (yield* Store).workspaces
      const workspace = yield* aWorkspace()
      const given = aNewKey(workspace.id, { numberIds: [] })
      const key = present(yield* store.insertKey(given, keyLimit))
      const { hash: _, ...rest } = given
      assert.deepStrictEqual(key, {
        ...rest,
        id: key.id,
        lastUsedAt: null,
        lastUsedIp: null,
        revokedAt: null,
      })
      assert.deepStrictEqual(yield* store.listKeys(workspace.id), [key])
    }),
  )

  it.effect("a late request counts in the present minute and day", () =>
    Effect.gen(function* () {
      const issued = yield* aKey((yield* aWorkspace()).id)
      const midnight = noon + 12 * hour
      const counts = yield* Effect.forEach(
        [
          midnight,
          midnight - oneSecond,
          midnight - minute,
          midnight - minute - oneSecond,
          midnight,
        ],
        (now) => Effect.map(admit(issued, now), (found) => found.count),
      )
      assert.deepStrictEqual(counts, [
        { minute: 1, day: 1 },
        { minute: 2, day: 2 },
        { minute: 3, day: 3 },
        // A minute later, and the clock was set back.
        { minute: 1, day: 4 },
        { minute: 1, day: 5 },
      ])
    }),
  )

  it.effect("a request counts in its minute and its day; a window restarts with its start", () =>
    Effect.gen(function* () {
      const issued = yield* aKey((yield* aWorkspace()).id)
      const counts = yield* Effect.forEach(
        [
          noon,
          noon + oneSecond,
          noon + minute,
          noon + minute + oneSecond,
          noon + day,
          noon + day + oneSecond,
        ],
        (now) => Effect.map(admit(issued, now), (found) => found.count),
      )
      assert.deepStrictEqual(counts, [
        { minute: 1, day: 1 },
        { minute: 2, day: 2 },
        { minute: 1, day: 3 },
        { minute: 2, day: 4 },
        { minute: 1, day: 1 },
        { minute: 2, day: 2 },
      ])
    }),
  )

  it.effect("what the minute's limit refuses leaves the day's allowance alone", () =>
    Effect.gen(function* () {
      const issued = yield* aKey((yield* aWorkspace()).id)
      const many = Array.from({ length: requestsPerMinute + 5 }, () => noon)
      // Together, as concurrent requests, then one by one.
      const together = yield* Effect.forEach(many, (now) => admit(issued, now), {
        concurrency: "unbounded",
      })
      assert.deepStrictEqual(
        together.map(({ count }) => count).toSorted((a, b) => (a?.minute ?? 0) - (b?.minute ?? 0)),
        many.map((_, place) => ({
          minute: place + 1,
          day: Math.min(place + 1, requestsPerMinute),
        })),
      )
      assert.deepStrictEqual((yield* admit(issued, noon + oneSecond)).count, {
        minute: many.length + 1,
        day: requestsPerMinute,
      })
      assert.deepStrictEqual((yield* admit(issued, noon + minute)).count, {
        minute: 1,
        day: requestsPerMinute + 1,
      })
    }),
  )

  it.effect("a counted request records when and from where the key was used", () =>
    Effect.gen(function* () {
      const issued = yield* aKey((yield* aWorkspace()).id)
      yield* admit(issued, noon + oneSecond)
      const used = { ...issued.key, lastUsedAt: noon + oneSecond, lastUsedIp: "203.0.113.7" }
      assert.deepStrictEqual(yield* listed(issued), used)
    }),
  )

  it.effect("nothing is counted or recorded while the workspace does not admit", () =>
    Effect.gen(function* () {
      const { workspaces } = yield* Store
      const workspace = yield* aWorkspace({ demo: true, admits: admitsNone })
      const issued = yield* aKey(workspace.id)
      const found = yield* admit(issued)
      assert.isNull(found.count)
      assert.isTrue(found.workspace.demo)
      assert.deepStrictEqual(yield* listed(issued), issued.key)

      yield* workspaces.update(
        workspace.id,
        () => ({ change: { demo: false }, admits: admitsAll }),
        noon,
      )
      assert.deepStrictEqual((yield* admit(issued)).count, { minute: 1, day: 1 })
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
    }),
  )

  it.effect("nothing is counted with a key of a deleted workspace", () =>
    Effect.gen(function* () {
      const workspace = yield* aWorkspace()
      const issued = yield* aKey(workspace.id)
      yield* Store.use(({ workspaces: store }) => store.delete(workspace.id, noon))
      const found = yield* admit(issued, noon + oneSecond)
      assert.isNull(found.count)
      assert.strictEqual(found.workspace.deletedAt, noon)
    }),
  )

  it.effect("nothing is counted with a revoked key", () =>
    Effect.gen(function* () {
      const issued = yield* aKey((yield* aWorkspace()).id)
      yield* Store.use(({ workspaces: store }) =>
        store.revokeKey(issued.key.workspaceId, issued.key.id, noon),
      )
      const found = yield* admit(issued, noon + oneSecond)
      assert.isNull(found.count)
      assert.deepStrictEqual(found.key, { ...issued.key, revokedAt: noon })
      assert.isNull((yield* listed(issued)).lastUsedAt)
    }),
  )

  it.effect("a key counts exactly until its expiresAt", () =>
    Effect.gen(function* () {
      const issued = yield* aKey((yield* aWorkspace()).id, { expiresAt: noon + day })
      assert.isNotNull((yield* admit(issued, noon + day - 1)).count)
      assert.isNull((yield* admit(issued, noon + day)).count)
      assert.isNull((yield* admit(issued, noon + day + 1)).count)
      assert.strictEqual((yield* listed(issued)).lastUsedAt, noon + day - 1)
    }),
  )

  it.effect("lists keys oldest first, revoked ones included, of their workspace alone", () =>
    Effect.gen(function* () {
      const store = (yield* Store).workspaces
      const workspace = yield* aWorkspace()
      const first = yield* aKey(workspace.id)
      yield* aKey((yield* aWorkspace()).id)
      const second = yield* aKey(workspace.id, { version: 1, name: "API Key 1" })
      const third = yield* aKey(workspace.id)
      yield* store.revokeKey(workspace.id, second.key.id, noon)
      assert.deepStrictEqual(yield* store.listKeys(workspace.id), [
        first.key,
        { ...second.key, revokedAt: noon },
        third.key,
      ])
    }),
  )

  it.effect("a key is revoked once, and by its own workspace", () =>
    Effect.gen(function* () {
      const store = (yield* Store).workspaces
      const { key } = yield* aKey((yield* aWorkspace()).id)
      const other = yield* aWorkspace()
      assert.isNull(yield* store.revokeKey(other.id, key.id, noon))
      const revoked = { ...key, revokedAt: noon + oneSecond }
      assert.deepStrictEqual(
        yield* store.revokeKey(key.workspaceId, key.id, noon + oneSecond),
        revoked,
      )
      assert.deepStrictEqual(
        yield* store.revokeKey(key.workspaceId, key.id, noon + minute),
        revoked,
      )
      assert.deepStrictEqual(yield* store.listKeys(key.workspaceId), [revoked])
    }),
  )

  it.effect("at most 10 non-revoked keys of a version: expired ones count, revoked do not", () =>
    Effect.gen(function* () {
      const store = (yield* Store).workspaces
      const workspace = yield* aWorkspace()
      const made = yield* Effect.forEach(Array.from({ length: keyLimit }), (_, index) =>
        aKey(workspace.id, index === 0 ? { expiresAt: noon - day } : {}),
      )
      assert.isNull(yield* store.insertKey(aNewKey(workspace.id), keyLimit))
      assert.isNotNull(yield* store.insertKey(aNewKey(workspace.id, { version: 1 }), keyLimit))
      assert.isNotNull(yield* store.insertKey(aNewKey((yield* aWorkspace()).id), keyLimit))
      yield* store.revokeKey(workspace.id, at(made, 3).key.id, noon)
      assert.isNotNull(yield* store.insertKey(aNewKey(workspace.id), keyLimit))
      assert.isNull(yield* store.insertKey(aNewKey(workspace.id), keyLimit))
      assert.lengthOf(yield* store.listKeys(workspace.id), keyLimit + 2)
    }),
  )

  it.effect("a key limited to no number at all differs from an unlimited one", () =>
    Effect.gen(function* () {
      const workspace = yield* aWorkspace()
      const limited = yield* aKey(workspace.id, { numberIds: [] })
      const unlimited = yield* aKey(workspace.id, { numberIds: null })
      const number = yield* aNumber(workspace.id)
      const second = yield* aNumber(workspace.id)
      const numberIds = [second.id, number.id]
      const toSome = yield* aKey(workspace.id, { numberIds })
      assert.deepStrictEqual((yield* admit(limited)).key.numberIds, [])
      assert.isNull((yield* admit(unlimited)).key.numberIds)
      assert.deepStrictEqual((yield* admit(toSome)).key.numberIds, numberIds)
    }),
  )
}
