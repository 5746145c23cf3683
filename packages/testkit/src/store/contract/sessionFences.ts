/** `SessionStore`: a worker's writes to a number that another one may have by then. */
import { assert } from "@effect/vitest"
import { toShard, Store } from "@messaging-service/core"
import type { ShardLease, KeyChange, NumberId, StoreUnavailable } from "@messaging-service/core"
import { Effect, Fiber } from "effect"
import type { Topic } from "../Topic.ts"
import { aNumber, aStage, aWorkspace, noon } from "../Records.ts"

const key = (type: string, id: string, value: string | null): KeyChange => ({ type, id, value })

const getValues = (numberId: NumberId, ids: ReadonlyArray<string>, type = "a") =>
  Store.use(({ sessions: store }) =>
    Effect.map(store.keys(numberId, type, ids), (found) => Object.fromEntries(found)),
  )

/** Undefined where the number has no session. */
const leavingSince = (numberId: NumberId) =>
  Store.use(({ sessions: { list } }) =>
    Effect.map(list, (all) => all.find((one) => one.numberId === numberId)?.leavingSince),
  )

/** A worker that takes that number's shard; it leaves with the scope. */
const aLeasedNumber = (numberId: NumberId) =>
  Effect.gen(function* () {
    const leases = (yield* Store).sessions
    const worker = yield* Effect.acquireRelease(leases.addWorker("a worker", 100), (id) =>
      Effect.orDie(leases.removeWorker(id)),
    )
    let taken: ReadonlyArray<ShardLease> = []
    // Skipped while a write in flight locks it.
    while (taken.length === 0) taken = yield* leases.takeShards(worker, [toShard(numberId)])
    return { worker, fence: taken[0] ?? null }
  })

export const sessionFences: Topic = (it) => {
  it.effect("a heartbeat answers with the table as it was before it", () =>
    Effect.gen(function* () {
      const { number } = yield* aStage()
      const { worker } = yield* aLeasedNumber(number.id)
      const { sessions } = yield* Store
      const beats = Effect.map(
        sessions.beat(worker),
        (table) => table?.workers.find(({ id }) => id === worker)?.beat,
      )
      assert.deepStrictEqual([yield* beats, yield* beats], [0, 1])
    }),
  )

  it.effect("refuses a worker's write once another has taken the number's shard", () =>
    Effect.gen(function* () {
      const { sessions } = yield* Store

      const { number } = yield* aStage()
      const { id } = number
      const first = yield* aLeasedNumber(id)
      assert.isTrue(yield* sessions.write(id, "first", [key("a", "1", "one")], noon, first.fence))
      // It is free, and no other worker has it yet.
      yield* sessions.removeWorker(first.worker)
      assert.isTrue(yield* sessions.write(id, null, [key("a", "2", "two")], noon, first.fence))
      const next = yield* aLeasedNumber(id)
      const late = [
        yield* sessions.write(
          id,
          "late",
          [key("a", "1", "late"), key("a", "2", null)],
          noon,
          first.fence,
        ),
        yield* sessions.replace(id, "late", [], noon, first.fence),
        yield* sessions.trim(id, "a", 0, first.fence),
        yield* sessions.markLeaving(id, noon, first.fence),
        yield* sessions.wipe(id, first.fence),
      ]
      assert.deepStrictEqual(late, [false, false, false, false, false])
      assert.strictEqual(yield* sessions.credentials(id), "first")
      assert.deepStrictEqual(yield* getValues(id, ["1", "2"]), { "1": "one", "2": "two" })
      assert.isNull(yield* leavingSince(id))
      const fresh = [
        yield* sessions.replace(id, "next", [key("a", "1", "next")], noon, next.fence),
        yield* sessions.write(id, null, [key("a", "2", "next")], noon, next.fence),
        yield* sessions.trim(id, "a", 1, next.fence),
        yield* sessions.markLeaving(id, noon, next.fence),
      ]
      assert.deepStrictEqual(fresh, [true, true, true, true])
      assert.strictEqual(yield* sessions.credentials(id), "next")
      assert.strictEqual(yield* leavingSince(id), noon)
      // An operator's write succeeds whichever worker has the number.
      assert.isTrue(yield* sessions.markLeaving(id, noon, null))
      assert.isTrue(yield* sessions.wipe(id, next.fence))
      assert.isUndefined(yield* leavingSince(id))
    }).pipe(Effect.scoped),
  )

  it.effect("a write in flight when a shard is taken happens before that, or not at all", () =>
    Effect.gen(function* () {
      const { sessions } = yield* Store

      const { number } = yield* aStage()
      const { id } = number
      const first = yield* aLeasedNumber(id)
      yield* sessions.removeWorker(first.worker)
      const writing = yield* Effect.forkChild(
        Effect.forEach(
          Array.from({ length: 20 }, (_, index) => `write ${index}`),
          (text) => sessions.write(id, text, [key("a", "1", text)], noon, first.fence),
          { concurrency: 5 },
        ),
      )
      yield* aLeasedNumber(id)
      const found = [yield* sessions.credentials(id), yield* getValues(id, ["1"])]
      yield* Fiber.join(writing)
      assert.deepStrictEqual([yield* sessions.credentials(id), yield* getValues(id, ["1"])], found)
    }).pipe(Effect.scoped),
  )

  it.effect("concurrent writes of many numbers change each their own, or are refused", () =>
    Effect.gen(function* () {
      const { sessions, numbers } = yield* Store

      const workspace = yield* aWorkspace()
      const all = yield* Effect.forEach(Array.from({ length: 8 }), () => aNumber(workspace.id))
      const [unlinked, removed, moved, dropped, fenced] = all.map(({ id }) => id)
      assert.isTrue(removed !== undefined && moved !== undefined && fenced !== undefined)
      if (removed === undefined || moved === undefined || fenced === undefined) return
      const together = <A>(write: (id: NumberId) => Effect.Effect<A, StoreUnavailable>) =>
        Effect.forEach(all, ({ id }) => write(id), { concurrency: "unbounded" })
      yield* together((id) =>
        sessions.write(
          id,
          id === unlinked ? null : `of ${id}`,
          [key("a", "1", "once")],
          noon,
          null,
        ),
      )
      yield* numbers.remove(workspace.id, removed, noon)
      const late = yield* aLeasedNumber(moved)
      yield* sessions.removeWorker(late.worker)
      yield* aLeasedNumber(moved)
      const present = yield* aLeasedNumber(fenced)
      const fences = new Map([
        [moved, late.fence],
        [fenced, present.fence],
      ])
      const written = yield* together((id) =>
        sessions.write(
          id,
          id === fenced || id === moved ? "fresh" : null,
          [key("a", "1", id === dropped ? null : `again ${id}`), key("b", `${id}`, "b")],
          noon,
          fences.get(id) ?? null,
        ),
      )
      assert.deepStrictEqual(
        written,
        all.map(({ id }) => id !== moved),
      )
      for (const { id } of all) {
        const found = {
          credentials: yield* sessions.credentials(id),
          a: (yield* getValues(id, ["1"]))["1"],
          b: Object.keys(
            yield* getValues(
              id,
              all.map((each) => `${each.id}`),
              "b",
            ),
          ),
        }
        const isStored = id !== unlinked && id !== removed && id !== moved
        const before = id === unlinked ? undefined : "once"
        const credentials = id === unlinked ? null : id === fenced ? "fresh" : `of ${id}`
        const again = id === dropped ? undefined : `again ${id}`
        assert.deepStrictEqual(found, {
          credentials,
          a: isStored ? again : before,
          b: isStored ? [`${id}`] : [],
        })
      }
    }).pipe(Effect.scoped),
  )
}
