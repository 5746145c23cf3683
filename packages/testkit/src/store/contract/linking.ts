/** `LinkingStore`: attempts at linking numbers, their guards and their leases. */
import { assert } from "@effect/vitest"
import { emptyLinkingView, Store } from "@messaging-service/core"
import type { LinkingAttempt, LinkingId } from "@messaging-service/core"
import { Effect } from "effect"
import { only, present } from "../Expect.ts"
import { readNextDue, plenty } from "../Reading.ts"
import { onlyThese } from "../Sending.ts"
import type { Topic } from "../Topic.ts"
import { anEra, aNumber, aStage, aWorkspace, minute, oneSecond } from "../Records.ts"
import { anAttempt, add, started, findGuard, aLinking, claimAll, abandon } from "../Linking.ts"
import type { One } from "../Linking.ts"

export const linking: Topic = (it) => {
  it.effect("concurrent additions never exceed the limit", () =>
    Effect.gen(function* () {
      const era = anEra()
      const { workspace } = yield* aStage()
      const outcomes = yield* Effect.forEach(
        Array.from({ length: 12 }),
        () => add(workspace.id, era, { limit: 4 }),
        { concurrency: "unbounded" },
      )
      const numbers = outcomes.filter(({ _tag }) => _tag === "Begun").map(started)
      assert.lengthOf(numbers, 3)
      assert.lengthOf(yield* Store.use(({ numbers: store }) => store.list(workspace.id)), 4)
      for (const number of numbers) {
        yield* abandon(
          present(yield* Store.use(({ numbers: store }) => store.getLinking(number.id))).id,
        )
      }
    }),
  )

  it.effect("a deleted workspace gets no number", () =>
    Effect.gen(function* () {
      const { id } = yield* aWorkspace()
      const era = anEra()
      yield* Store.use(({ workspaces: store }) => store.delete(id, era))
      assert.strictEqual(findGuard(yield* add(id, era)), "number")
    }),
  )

  it.effect("one of concurrent requests for one number begins", () =>
    Effect.gen(function* () {
      const store = (yield* Store).numbers
      const era = anEra()
      const { id: workspaceId } = yield* aWorkspace()
      const idle = yield* aNumber(workspaceId, { status: "disconnected" })
      const attempts = Array.from({ length: 8 }, () => anAttempt(era))
      const outcomes = yield* Effect.forEach(
        attempts,
        (attempt) => store.reconnect(workspaceId, idle.id, attempt, null),
        { concurrency: "unbounded" },
      )
      const winner = outcomes.findIndex(({ _tag }) => _tag === "Begun")
      assert.lengthOf(
        outcomes.filter(({ _tag }) => _tag === "Begun"),
        1,
      )
      assert.strictEqual(present(yield* store.getLinking(idle.id)).id, attempts[winner]?.id)
      yield* abandon(present(attempts[winner]).id)
    }),
  )

  it.effect("an attempt is claimed by the worker of its number alone", () =>
    Effect.gen(function* () {
      const era = anEra()
      const { id: workspaceId } = yield* aWorkspace()
      const [one, other] = [yield* aLinking(workspaceId, era), yield* aLinking(workspaceId, era)]
      const claimed = yield* claimAll(era, era + minute, { owned: onlyThese([other.number]) })
      assert.strictEqual(only(claimed).attempt.id, other.attempt.id)
      assert.strictEqual(only(yield* claimAll(era)).attempt.id, one.attempt.id)
    }),
  )

  it.effect("live attempts are claimed once, and again when the lease has ended", () =>
    Effect.gen(function* () {
      const store = (yield* Store).numbers
      const era = anEra()
      const { id: workspaceId } = yield* aWorkspace()
      const { attempt } = yield* aLinking(workspaceId, era)
      yield* aLinking(workspaceId, era, {
        number: { mode: "test" },
        attempt: { mode: "test", linksAt: era + minute },
      })
      const first = only(yield* claimAll(era))
      assert.deepStrictEqual(first, { attempt, workspaceId, lease: first.lease })
      assert.deepStrictEqual(yield* claimAll(era + minute - 1), [])
      const second = only(yield* claimAll(era + minute))
      assert.isAbove(second.lease, first.lease)
      const { id } = attempt
      assert.isFalse(
        yield* store.showLinking(id, first.lease, { ...emptyLinkingView, qrText: "late" }),
      )
      assert.isTrue(
        yield* store.showLinking(id, second.lease, { ...emptyLinkingView, qrText: "new" }),
      )
      assert.strictEqual(present(yield* store.getLinking(attempt.numberId)).qrText, "new")
      const held = [
        { id, lease: first.lease },
        { id: "unknown" as LinkingId, lease: 1 },
      ]
      assert.deepStrictEqual(yield* store.renewLinkings(held, era + 10 * minute), new Set())
      const still = yield* store.renewLinkings([{ id, lease: second.lease }], era + 5 * minute)
      assert.deepStrictEqual(still, new Set([id]))
      assert.deepStrictEqual(yield* claimAll(era + 3 * minute), [])
      assert.deepStrictEqual(yield* claimAll(attempt.endsAt), [])
      assert.isTrue(yield* abandon(id))
      assert.deepStrictEqual(
        yield* store.renewLinkings([{ id, lease: second.lease }], era + minute),
        new Set(),
      )
      assert.isFalse(yield* store.showLinking(id, second.lease, emptyLinkingView))
    }),
  )

  it.effect("concurrent claims hold each attempt once", () =>
    Effect.gen(function* () {
      const era = anEra()
      const { id: workspaceId } = yield* aWorkspace()
      const created = yield* Effect.forEach(Array.from({ length: 6 }), () =>
        aLinking(workspaceId, era),
      )
      const claimed = yield* Effect.forEach(Array.from({ length: 4 }), () => claimAll(era), {
        concurrency: "unbounded",
      })
      assert.deepStrictEqual(
        claimed.flatMap((leased) => leased.map(({ attempt }) => attempt.id)).toSorted(),
        created.map(({ attempt }) => attempt.id).toSorted(),
      )
      yield* Effect.forEach(created, ({ attempt }) => abandon(attempt.id))
    }),
  )

  it.effect("claims no more of one workspace than the worker may hold", () =>
    Effect.gen(function* () {
      const era = anEra()
      const greedy = yield* aWorkspace()
      const modest = yield* aWorkspace()
      const many = yield* Effect.forEach([0, 1, 2, 3], (index) =>
        aLinking(greedy.id, era + index * oneSecond),
      )
      const one = yield* aLinking(modest.id, era + 4 * oneSecond)
      const now = era + 5 * oneSecond
      const claimed = (held: number, limit = 1000) =>
        Effect.map(
          claimAll(now, now + 20 * minute, {
            perWorkspace: 3,
            limit,
            held: new Map([[greedy.id, held]]),
          }),
          (all) =>
            all
              .map(({ attempt, workspaceId }) => [attempt.id, workspaceId])
              .toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1)),
        )
      const expected = (...created: ReadonlyArray<{ readonly attempt: LinkingAttempt }>) =>
        created
          .map((each) => [each.attempt.id, each === one ? modest.id : greedy.id])
          .toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1))
      const [first, second, third, fourth] = many as [One, One, One, One]
      assert.deepStrictEqual(yield* claimed(1, 3), expected(first, second, one))
      assert.deepStrictEqual(yield* claimed(3), [])
      // While its workspace is saturated an attempt waits for its end.
      assert.strictEqual(yield* readNextDue("linking", era), third.attempt.requestedAt)
      assert.strictEqual(yield* readNextDue("linking", era, [greedy.id]), first.attempt.endsAt)
      assert.strictEqual(yield* readNextDue("linking", era, "all"), first.attempt.endsAt)
      const workload = (most: number, whole = 1000) =>
        Effect.map(
          Store.use(({ queue: status }) =>
            status.workload(now, { ...plenty, linking: { whole, share: { most } } }),
          ),
          ({ nextDue: due }) => due,
        )
      // Other tests' work may be due before; this does not change it.
      const room = yield* workload(3)
      assert.isTrue(room !== null && room <= third.attempt.requestedAt)
      assert.isTrue((yield* workload(2)) !== third.attempt.requestedAt)
      assert.isTrue((yield* workload(3, 2)) !== third.attempt.requestedAt)
      yield* abandon(first.attempt.id)
      assert.deepStrictEqual(yield* claimed(2), expected(third))
      yield* Effect.forEach([second, third, fourth, one], ({ attempt }) => abandon(attempt.id))
    }),
  )
}
