/** `KeyStore`: admission, counting, and the number of keys. */
import { assert } from "@effect/vitest"
import { keyLimit, requestsPerMinute, Store } from "@messaging-service/core"
import type { AdmitQuery } from "@messaging-service/core"
import { Effect } from "effect"
import { at, present } from "../Expect.ts"
import type { Topic } from "../Topic.ts"
import { aKey, aNewKey, aWorkspace, day, minute, noon, oneSecond } from "../Records.ts"
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

export const keys: Topic = (it) => {
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
        many.map((_, index) => ({
          minute: index + 1,
          day: Math.min(index + 1, requestsPerMinute),
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

  it.effect("at most 10 non-revoked keys of a version: expired ones count, revoked do not", () =>
    Effect.gen(function* () {
      const store = (yield* Store).workspaces
      const workspace = yield* aWorkspace()
      const created = yield* Effect.forEach(Array.from({ length: keyLimit }), (_, index) =>
        aKey(workspace.id, index === 0 ? { expiresAt: noon - day } : {}),
      )
      assert.isNull(yield* store.insertKey(aNewKey(workspace.id), keyLimit))
      assert.isNotNull(yield* store.insertKey(aNewKey(workspace.id, { version: 1 }), keyLimit))
      assert.isNotNull(yield* store.insertKey(aNewKey((yield* aWorkspace()).id), keyLimit))
      yield* store.revokeKey(workspace.id, at(created, 3).key.id, noon)
      assert.isNotNull(yield* store.insertKey(aNewKey(workspace.id), keyLimit))
      assert.isNull(yield* store.insertKey(aNewKey(workspace.id), keyLimit))
      assert.lengthOf(yield* store.listKeys(workspace.id), keyLimit + 2)
    }),
  )
}
