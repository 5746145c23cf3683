/** `NumberCheckStore`: lists of phones, processed chunk by chunk by any number of workers. */
import { assert } from "@effect/vitest"
import { Store } from "@messaging-service/core"
import type { CheckClaimQuery, WorkspaceId } from "@messaging-service/core"
import { Effect } from "effect"
import { onlyThese } from "../Sending.ts"
import { at, ids } from "../Expect.ts"
import { attemptsInHands, readNextDue } from "../Reading.ts"
import type { Topic } from "../Topic.ts"
import { anEra, aNumber, aStage, day, hour, minute, noon } from "../Records.ts"
import {
  anUnknownId,
  aCheck,
  lookUp,
  readStatuses,
  claim,
  claimOne,
  settle,
  answered,
  again,
  setStatus,
} from "../Checking.ts"

export const numberCheckWork: Topic = (it) => {
  it.effect("a claimed check is not claimed again until it is settled or its lease ends", () =>
    Effect.gen(function* () {
      const { number } = yield* aStage()
      const check = yield* aCheck(number)
      const first = yield* claimOne(number, { leaseUntil: noon + minute })
      assert.deepStrictEqual(yield* claim([number], { now: noon + minute - 1 }), [])
      const second = yield* claimOne(number, { now: noon + minute, leaseUntil: noon + hour })
      assert.deepStrictEqual(second, { ...first, lease: first.lease + 1 })
      assert.isFalse(yield* settle(answered(first), noon + minute))
      assert.isFalse(yield* settle(again(first), noon + minute))
      assert.deepStrictEqual(yield* readStatuses(check), ["pending", "pending"])
      assert.isTrue(yield* settle(answered(second), noon + minute))
      assert.isFalse(yield* settle(answered(second), noon + minute))
      assert.strictEqual((yield* lookUp(check)).checked, 2)
      assert.isFalse(yield* settle({ ...answered(second), id: anUnknownId }))
    }),
  )

  it.effect("checks are claimed longest due first, as many as requested", () =>
    Effect.gen(function* () {
      const era = anEra()
      const { number } = yield* aStage({ createdAt: era })
      const later = yield* aCheck(number, { createdAt: era + minute })
      const first = yield* aCheck(number, { createdAt: era })
      const future = yield* aCheck(number, { createdAt: era + day })
      const now = era + hour
      assert.deepStrictEqual(ids(yield* claim([number], { now, limit: 1 })), [first.id])
      assert.deepStrictEqual(ids(yield* claim([number], { now })), [later.id])
      const claimed = yield* claim([number], { now: era + day, leaseUntil: era + 2 * day })
      assert.deepStrictEqual(
        ids(claimed).toSorted((x, y) => x - y),
        ids([later, first, future]),
      )
    }),
  )

  it.effect("claims no more checks of one workspace than the worker may hold", () =>
    Effect.gen(function* () {
      const era = anEra()
      const greedy = yield* aStage({ createdAt: era })
      const modest = yield* aStage({ createdAt: era })
      const many = yield* Effect.forEach([0, 1, 2, 3], (index) =>
        aCheck(greedy.number, { createdAt: era + index }),
      )
      const one = yield* aCheck(modest.number, { createdAt: era + minute })
      const both = [greedy.number, modest.number]
      const limits = { now: era + minute, leaseUntil: era + hour, perWorkspace: 3 }
      const holding = (held: number) => new Map([[greedy.workspace.id, held]])
      const nextDue = (saturated: ReadonlyArray<WorkspaceId>) =>
        Store.use(({ queue: status }) => status.nextDue("number_checks", saturated))
      const claimed = yield* claim(both, { ...limits, limit: 3, held: holding(1) })
      assert.deepStrictEqual(ids(claimed), ids([at(many, 0), at(many, 1), one]))
      assert.deepStrictEqual(
        claimed.map(({ workspaceId }) => workspaceId),
        [greedy.workspace.id, greedy.workspace.id, modest.workspace.id],
      )
      assert.deepStrictEqual(yield* claim(both, { ...limits, held: holding(3) }), [])
      // Other workspaces' checks of earlier tests are due before.
      const others = (yield* nextDue([greedy.workspace.id])) ?? 0
      assert.isTrue(others < era || others === era + hour)
      yield* settle(answered(at(claimed, 0)), era + minute)
      assert.deepStrictEqual(
        ids(yield* claim(both, { ...limits, held: holding(2) })),
        ids([at(many, 2)]),
      )
    }),
  )

  it.effect("only the number's owner runs its checks; test checks run on any worker", () =>
    Effect.gen(function* () {
      const store = (yield* Store).numberChecks
      const era = anEra()
      const { number, workspace } = yield* aStage({ createdAt: era })
      const other = yield* aNumber(workspace.id)
      const live = yield* aCheck(number, { createdAt: era })
      const test = yield* aCheck(number, { createdAt: era, mode: "test" })
      const claimed = (owned: CheckClaimQuery["owned"]) =>
        Effect.map(
          store.claim({
            now: era,
            leaseUntil: era + minute,
            limit: 1000,
            chunk: 50,
            perWorkspace: 1000,
            held: new Map(),
            owned,
          }),
          (all) => ids(all).filter((id) => id === live.id || id === test.id),
        )
      assert.deepStrictEqual(yield* claimed(onlyThese([other])), [test.id])
      assert.deepStrictEqual(yield* claimed("all"), [live.id])
    }),
  )

  it.effect("chunks of a removed number or a deleted workspace are handed out to be ended", () =>
    Effect.gen(function* () {
      const { number, workspace } = yield* aStage()
      const another = yield* aStage()
      const checks = [yield* aCheck(number), yield* aCheck(another.number)]
      yield* setStatus(number, "disconnected")
      yield* Store.use(({ numbers: store }) => store.remove(workspace.id, number.id, noon))
      yield* Store.use(({ workspaces: store }) => store.delete(another.workspace.id, noon))
      const claimed = yield* claim([number, another.number])
      assert.deepStrictEqual(
        claimed.map(({ id, removed }) => [id, removed]),
        checks.map(({ id }) => [id, true]),
      )
      for (const each of claimed) yield* settle(answered(each, () => "failed"))
      const { checked, registered, notRegistered, status } = yield* lookUp(at(checks, 0))
      assert.deepStrictEqual([checked, registered, notRegistered, status], [2, 0, 0, "completed"])
    }),
  )

  it.effect("checks are due when a worker could claim them, claimed ones with their lease", () =>
    Effect.gen(function* () {
      const era = anEra()
      const nextDue = readNextDue("number_checks", era)
      const { number } = yield* aStage({ createdAt: era })
      const inFlight = attemptsInHands(number, era)
      assert.isNull(yield* nextDue)
      yield* aCheck(number, { createdAt: era })
      assert.strictEqual(yield* nextDue, era)
      assert.isEmpty(yield* inFlight)
      yield* setStatus(number, "disconnected")
      assert.isNull(yield* nextDue)
      yield* setStatus(number, "connected")
      const first = yield* claimOne(number, { now: era, leaseUntil: era + hour })
      assert.strictEqual(yield* nextDue, era + hour)
      assert.lengthOf(yield* inFlight, 1)
      // Its worker is dead by then.
      assert.isEmpty(yield* attemptsInHands(number, era + hour))
      yield* settle(again(first, { notBefore: era + minute }), era)
      assert.strictEqual(yield* nextDue, era + minute)
      assert.isEmpty(yield* inFlight)
      const second = yield* claimOne(number, { now: era + minute, chunk: 1 })
      yield* settle(answered(second), era + 2 * minute)
      assert.strictEqual(yield* nextDue, era + 2 * minute)
      const last = yield* claimOne(number, { now: era + 2 * minute })
      yield* settle(answered(last), era + 2 * minute)
      assert.isNull(yield* nextDue)
      yield* aCheck(number, { createdAt: era, mode: "test" })
      const test = yield* claimOne(number, { now: era })
      assert.lengthOf(yield* inFlight, 1)
      yield* settle(answered(test), era)
    }),
  )
}
