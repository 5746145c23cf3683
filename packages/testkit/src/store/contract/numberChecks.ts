/** `NumberCheckStore`: lists of phones, created and read, and racing workers. */
import { assert } from "@effect/vitest"
import { Store } from "@messaging-service/core"
import type { CallerScope, NumberId } from "@messaging-service/core"
import { Effect } from "effect"
import { at, ids, present } from "../Expect.ts"
import { atOnce, range } from "../Races.ts"
import { claimKey } from "../Reading.ts"
import type { Topic } from "../Topic.ts"
import {
  aClaim,
  aKey,
  aNumber,
  aPhone,
  aStage,
  aWorkspace,
  below,
  hour,
  noon,
  oneSecond,
} from "../Records.ts"
import {
  anUnknownId,
  somePhones,
  aNewCheck,
  insert,
  scopeOf,
  aCheck,
  lookUp,
  resultsOf,
  statusesOf,
  claim,
  claimOne,
  settle,
  answered,
  again,
} from "../Checking.ts"
import type { Answer } from "../Checking.ts"

export const numberChecks: Topic = (it) => {
  it.effect("a check is kept as given, with a pending result for each phone, duplicates too", () =>
    Effect.gen(function* () {
      const { number } = yield* aStage()
      const [a, b] = [aPhone(), aPhone()]
      const given = aNewCheck(number, { name: "Kunden „März“ 🌻", phones: [a, b, a] })
      const outcome = yield* insert(given)
      const id = outcome._tag === "Made" ? outcome.id : anUnknownId
      const check = yield* Store.use(({ numberChecks: store }) => store.get(scopeOf(given), id))
      const { phones: _, ...rest } = given
      assert.deepStrictEqual(check, {
        ...rest,
        id,
        status: "pending",
        total: 3,
        checked: 0,
        registered: 0,
        notRegistered: 0,
        completedAt: null,
      })
      const results = yield* resultsOf(present(check))
      assert.deepStrictEqual(
        results.map(({ phone, status, checkedAt }) => ({ phone, status, checkedAt })),
        [a, b, a].map((phone) => ({ phone, status: "pending" as const, checkedAt: null })),
      )
      assert.deepStrictEqual(
        ids(results),
        ids(results).toSorted((x, y) => x - y),
      )
    }),
  )

  it.effect(
    "a check is visible to its workspace, in its mode, and to keys that may use its number",
    () =>
      Effect.gen(function* () {
        const store = (yield* Store).numberChecks
        const { number, workspace } = yield* aStage()
        const other = yield* aNumber(workspace.id)
        const check = yield* aCheck(number, { mode: "test" })
        const scope = scopeOf(check)
        const seen = (overrides: Partial<CallerScope>, id = check.id) =>
          Effect.map(store.get({ ...scope, ...overrides }, id), (found) => found !== null)
        assert.isTrue(yield* seen({}))
        assert.isTrue(yield* seen({ restriction: [other.id, number.id] }))
        assert.isFalse(yield* seen({ restriction: [other.id] }))
        assert.isFalse(yield* seen({ restriction: [] }))
        assert.isFalse(yield* seen({ mode: "live" }))
        assert.isFalse(yield* seen({ workspaceId: (yield* aWorkspace()).id }))
        assert.isFalse(yield* seen({}, anUnknownId))
      }),
  )

  it.effect("checks are listed newest first, separately for each mode and restriction", () =>
    Effect.gen(function* () {
      const store = (yield* Store).numberChecks
      const { number, workspace } = yield* aStage()
      const other = yield* aNumber(workspace.id)
      const a = yield* aCheck(number)
      const b = yield* aCheck(other)
      const test = yield* aCheck(number, { mode: "test" })
      const c = yield* aCheck(number)
      yield* aCheck((yield* aStage()).number)
      const list = (
        overrides: Partial<CallerScope> = {},
        page: { readonly before?: number | null; readonly limit?: number } = {},
      ) => store.list({ ...scopeOf(a), ...overrides }, { before: null, limit: 10, ...page })
      assert.deepStrictEqual(yield* list(), { items: [c, b, a], next: null })
      assert.deepStrictEqual((yield* list({ mode: "test" })).items, [test])
      assert.deepStrictEqual((yield* list({ restriction: [number.id] })).items, [c, a])
      const page = yield* list({}, { limit: 2 })
      assert.deepStrictEqual(page, { items: [c, b], next: b.id })
      assert.deepStrictEqual(yield* list({}, { before: page.next }), { items: [a], next: null })
    }),
  )

  it.effect("results are listed newest first, by status", () =>
    Effect.gen(function* () {
      const store = (yield* Store).numberChecks
      const { number } = yield* aStage()
      const phones = somePhones(5)
      const check = yield* aCheck(number, { phones })
      yield* aCheck(number, { createdAt: noon + hour })
      const claimed = yield* claimOne(number, { chunk: 4 })
      const answers: ReadonlyArray<Answer> = [
        "registered",
        "failed",
        "registered",
        "not_registered",
      ]
      yield* settle(answered(claimed, (phone) => at(answers, phones.indexOf(phone))))
      const results = yield* resultsOf(check)
      const [a, b, c] = [at(results, 0), at(results, 1), at(results, 2)]
      const [d, e] = [at(results, 3), at(results, 4)]
      const list = (
        statuses: Parameters<typeof store.results>[1],
        page: { readonly before?: number | null; readonly limit?: number } = {},
      ) => store.results(check.id, statuses, { before: null, limit: 10, ...page })
      assert.deepStrictEqual((yield* list(null)).items, [e, d, c, b, a])
      assert.deepStrictEqual((yield* list(["pending"])).items, [e])
      assert.deepStrictEqual((yield* list(["failed", "not_registered"])).items, [d, b])
      const page = yield* list(["registered"], { limit: 1 })
      assert.deepStrictEqual(page, { items: [c], next: c.id })
      assert.deepStrictEqual(yield* list(["registered"], { before: page.next }), {
        items: [a],
        next: null,
      })
      assert.deepStrictEqual((yield* list([])).items, [])
    }),
  )

  it.effect("the number must exist: neither another workspace's nor removed", () =>
    Effect.gen(function* () {
      const { number, workspace } = yield* aStage()
      const other = yield* aWorkspace()
      const broken = { _tag: "Broken", guard: "number" }
      assert.deepStrictEqual<unknown>(
        yield* insert({ ...aNewCheck(number), workspaceId: other.id }),
        broken,
      )
      assert.deepStrictEqual<unknown>(
        yield* insert({ ...aNewCheck(number), numberId: 999_999_999 as NumberId }),
        broken,
      )
      yield* Store.use(({ numbers: store }) => store.remove(workspace.id, number.id, noon))
      assert.deepStrictEqual<unknown>(yield* insert(aNewCheck(number)), broken)
      const another = yield* aStage()
      yield* Store.use(({ workspaces: store }) => store.delete(another.workspace.id, noon))
      assert.deepStrictEqual<unknown>(yield* insert(aNewCheck(another.number)), broken)
    }),
  )

  it.effect("creating a check finishes the idempotency record, if its claim is still held", () =>
    Effect.gen(function* () {
      const { number, workspace } = yield* aStage()
      const { key } = yield* aKey(workspace.id)
      const held = aClaim(key.id)
      const check = aNewCheck(number)
      const broken = { _tag: "Broken", guard: "idempotency" }
      assert.deepStrictEqual<unknown>(yield* insert(check, held), broken)
      yield* claimKey(workspace.id, held)
      assert.deepStrictEqual<unknown>(yield* insert(check, { ...held, token: "another's" }), broken)
      const outcome = yield* insert(check, held)
      const id = outcome._tag === "Made" ? outcome.id : anUnknownId
      assert.deepStrictEqual(yield* claimKey(workspace.id, { ...held, token: "a repeat" }), {
        _tag: "Finished",
        record: { fingerprint: held.fingerprint, madeIds: [id], createdAt: noon },
      })
      const { items } = yield* Store.use(({ numberChecks: store }) =>
        store.list(scopeOf(check), { before: null, limit: 10 }),
      )
      assert.deepStrictEqual(ids(items), [id])
    }),
  )
}

export const numberCheckRaces: Topic = (it, { parallel }) => {
  it.effect("many workers, while some die, check each phone until one answer arrives", () =>
    Effect.gen(function* () {
      const store = (yield* Store).numberChecks
      for (let round = 0; round < (parallel ? 4 : 1); round++) {
        const { number, workspace } = yield* aStage()
        const numbers = [number, yield* aNumber(workspace.id)]
        const list = somePhones(30)
        const checks = yield* Effect.forEach(range(4), (index) =>
          Effect.gen(function* () {
            const doubled = yield* Effect.forEach(range(40), () =>
              Effect.map(below(list.length), (which) => at(list, which)),
            )
            return yield* aCheck(at(numbers, index % 2), { phones: doubled })
          }),
        )
        const settledAnswers: Array<string> = []
        let now = noon
        const worker = Effect.gen(function* () {
          for (;;) {
            const started = (now += oneSecond)
            const claimed = yield* claim(numbers, {
              now: started,
              leaseUntil: started + 20 * oneSecond,
              limit: 2,
              chunk: 7,
            })
            for (const each of claimed) {
              const fate = yield* below(6)
              // It died: the lease ends.
              if (fate === 0) continue
              const settlement = fate === 1 ? again(each, { tried: true }) : answered(each)
              const held = yield* store.settle(settlement, now)
              if (held && settlement._tag === "Answered") {
                for (const { phone } of settlement.answers) {
                  settledAnswers.push(`${each.id} ${phone}`)
                }
              }
            }
            if (claimed.length === 0) {
              const open = yield* Effect.forEach(checks, lookUp)
              if (open.every(({ status }) => status === "completed")) return
            }
          }
        })
        yield* Effect.forEach(range(4), () => worker, atOnce)
        assert.lengthOf(new Set(settledAnswers), settledAnswers.length)
        for (const check of checks) {
          const { checked, registered, notRegistered } = yield* lookUp(check)
          assert.deepStrictEqual([checked, registered, notRegistered], [40, 40, 0])
          assert.notInclude(yield* statusesOf(check), "pending")
        }
      }
    }),
  )

  it.effect("each check has one holder when many workers claim at once", () =>
    Effect.gen(function* () {
      const { number } = yield* aStage()
      const checks = yield* Effect.forEach(range(20), () => aCheck(number))
      const claims = yield* Effect.forEach(range(12), () => claim([number], { limit: 5 }), atOnce)
      const got = claims.flatMap((claimed) => ids(claimed))
      assert.lengthOf(new Set(got), got.length)
      const rest = ids(yield* claim([number]))
      assert.sameMembers([...got, ...rest], [...ids(checks)])
    }),
  )
}
