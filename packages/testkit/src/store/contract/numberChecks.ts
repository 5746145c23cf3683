/** `NumberCheckStore`: lists of phones, taken up chunk by chunk by any number of workers. */
import { assert } from "@effect/vitest"
import {
  NumberCheckStore,
  NumberStore,
  WorkspaceStore,
  WorkStatus,
} from "@messaging-service/core/ports"
import type {
  CheckClaimQuery,
  CheckSettlement,
  ClaimedCheck,
  IdempotencyClaim,
  NewNumberCheck,
  NumberCheck,
  NumberCheckId,
  NumberCheckScope,
  NumberId,
  Phone,
  SendingNumber,
  WorkspaceId,
} from "@messaging-service/core/ports"
import { Effect } from "effect"
import { at, ids, only, present } from "../Expect.ts"
import { atOnce, range } from "../Races.ts"
import { attemptsInHands, claimKey } from "../Reading.ts"
import type { StoreTester, Topic } from "../Topic.ts"
import {
  aClaim,
  aKey,
  anEra,
  aNumber,
  aPhone,
  aStage,
  aWorkspace,
  below,
  day,
  hour,
  minute,
  noon,
  oneSecond,
} from "../Records.ts"

const anUnknownId = 999_999_999 as NumberCheckId

const somePhones = (count: number): ReadonlyArray<Phone> => range(count).map(() => aPhone())

const aNewCheck = (
  number: SendingNumber,
  given: Partial<Omit<NewNumberCheck, "workspaceId" | "numberId">> = {},
): NewNumberCheck => ({
  workspaceId: number.workspaceId,
  mode: "live",
  numberId: number.id,
  name: null,
  createdAt: noon,
  phones: somePhones(2),
  ...given,
})

const insert = (check: NewNumberCheck, idempotency: IdempotencyClaim | null = null) =>
  NumberCheckStore.use((store) => store.insert(check, idempotency))

const scopeOf = (check: Pick<NumberCheck, "workspaceId" | "mode">): NumberCheckScope => ({
  workspaceId: check.workspaceId,
  mode: check.mode,
  restriction: null,
})

/** A check that was made; as the store has it. */
const aCheck = (
  number: SendingNumber,
  given: Partial<Omit<NewNumberCheck, "workspaceId" | "numberId">> = {},
) =>
  Effect.gen(function* () {
    const check = aNewCheck(number, given)
    const made = yield* insert(check)
    const store = yield* NumberCheckStore
    const id = made._tag === "Made" ? made.id : anUnknownId
    return present(yield* store.get(scopeOf(check), id))
  })

const lookUp = (check: NumberCheck) =>
  Effect.map(
    NumberCheckStore.use((store) => store.get(scopeOf(check), check.id)),
    present,
  )

/** All results, in the order of the list. */
const resultsOf = (check: NumberCheck) =>
  Effect.map(
    NumberCheckStore.use((store) =>
      store.results(check.id, null, { before: null, limit: 100_000 }),
    ),
    (page) => page.items.toReversed(),
  )

const statusesOf = (check: NumberCheck) =>
  Effect.map(resultsOf(check), (results) => results.map(({ status }) => status))

/** Claims from these numbers alone, so that tests do not take one another's checks. */
const claim = (
  numbers: ReadonlyArray<SendingNumber>,
  given: Partial<Omit<CheckClaimQuery, "owned">> = {},
) =>
  Effect.gen(function* () {
    const now = given.now ?? noon
    const owned = numbers.map(({ id }) => id)
    const claimed = yield* NumberCheckStore.use((store) =>
      store.claim({
        now,
        leaseUntil: now + minute,
        limit: 1000,
        chunk: 50,
        perWorkspace: 1000,
        held: new Map(),
        ...given,
        owned,
      }),
    )
    return claimed.filter(({ numberId }) => owned.includes(numberId))
  })

const claimOne = (number: SendingNumber, given: Partial<Omit<CheckClaimQuery, "owned">> = {}) =>
  Effect.map(claim([number], given), only)

const settle = (settlement: CheckSettlement, now = noon) =>
  NumberCheckStore.use((store) => store.settle(settlement, now))

type Answer = "registered" | "not_registered" | "failed"

const answered = (
  claimed: ClaimedCheck,
  answer: (phone: Phone) => Answer = () => "registered",
): CheckSettlement => ({
  _tag: "Answered",
  id: claimed.id,
  lease: claimed.lease,
  answers: claimed.phones.map((phone) => ({ phone, status: answer(phone) })),
})

const again = (
  { id, lease }: ClaimedCheck,
  given: { readonly notBefore?: number; readonly tried?: boolean } = {},
): CheckSettlement => ({
  _tag: "Again",
  id,
  lease,
  notBefore: given.notBefore ?? null,
  tried: given.tried ?? false,
})

const setStatus = (number: SendingNumber, status: "connected" | "disconnected") =>
  NumberStore.use((store) => store.setStatus(number.id, status, undefined, noon))

const made = (it: StoreTester) => {
  it.effect(
    "a check is kept as given, with a pending result for each phone, doubled ones too",
    () =>
      Effect.gen(function* () {
        const { number } = yield* aStage()
        const [a, b] = [aPhone(), aPhone()]
        const given = aNewCheck(number, { name: "Kunden „März“ 🌻", phones: [a, b, a] })
        const outcome = yield* insert(given)
        const id = outcome._tag === "Made" ? outcome.id : anUnknownId
        const check = yield* NumberCheckStore.use((store) => store.get(scopeOf(given), id))
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
    "a check is seen by its workspace, in its mode, and by keys that may use its number",
    () =>
      Effect.gen(function* () {
        const store = yield* NumberCheckStore
        const { number, workspace } = yield* aStage()
        const other = yield* aNumber(workspace.id)
        const check = yield* aCheck(number, { mode: "test" })
        const scope = scopeOf(check)
        const seen = (given: Partial<NumberCheckScope>, id = check.id) =>
          Effect.map(store.get({ ...scope, ...given }, id), (found) => found !== null)
        assert.isTrue(yield* seen({}))
        assert.isTrue(yield* seen({ restriction: [other.id, number.id] }))
        assert.isFalse(yield* seen({ restriction: [other.id] }))
        assert.isFalse(yield* seen({ restriction: [] }))
        assert.isFalse(yield* seen({ mode: "live" }))
        assert.isFalse(yield* seen({ workspaceId: (yield* aWorkspace()).id }))
        assert.isFalse(yield* seen({}, anUnknownId))
      }),
  )

  it.effect("checks are listed newest first, each world and each restriction for itself", () =>
    Effect.gen(function* () {
      const store = yield* NumberCheckStore
      const { number, workspace } = yield* aStage()
      const other = yield* aNumber(workspace.id)
      const a = yield* aCheck(number)
      const b = yield* aCheck(other)
      const test = yield* aCheck(number, { mode: "test" })
      const c = yield* aCheck(number)
      yield* aCheck((yield* aStage()).number)
      const list = (
        given: Partial<NumberCheckScope> = {},
        page: { readonly before?: number | null; readonly limit?: number } = {},
      ) => store.list({ ...scopeOf(a), ...given }, { before: null, limit: 10, ...page })
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
      const store = yield* NumberCheckStore
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

  it.effect("the number must be there: neither another workspace's nor removed", () =>
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
      yield* NumberStore.use((store) => store.remove(workspace.id, number.id, noon))
      assert.deepStrictEqual<unknown>(yield* insert(aNewCheck(number)), broken)
      const another = yield* aStage()
      yield* WorkspaceStore.use((store) => store.delete(another.workspace.id, noon))
      assert.deepStrictEqual<unknown>(yield* insert(aNewCheck(another.number)), broken)
    }),
  )

  it.effect("making a check finishes the idempotency record, if its claim is still held", () =>
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
      const { items } = yield* NumberCheckStore.use((store) =>
        store.list(scopeOf(check), { before: null, limit: 10 }),
      )
      assert.deepStrictEqual(ids(items), [id])
    }),
  )
}

const worked = (it: StoreTester) => {
  it.effect("a claim hands out the next phones, each once, and the check is processing", () =>
    Effect.gen(function* () {
      const { number } = yield* aStage()
      const [a, b, c] = somePhones(3) as [Phone, Phone, Phone]
      const check = yield* aCheck(number, { phones: [b, a, b, c] })
      const claimed = yield* claimOne(number, { chunk: 2 })
      assert.deepStrictEqual(claimed, {
        id: check.id,
        workspaceId: number.workspaceId,
        mode: "live",
        numberId: number.id,
        removed: false,
        lease: 1,
        tries: 0,
        phones: [b, a],
      })
      assert.deepStrictEqual(yield* lookUp(check), { ...check, status: "processing" })
    }),
  )

  it.effect(
    "an answer goes to every result of its phone, and the last one completes the check",
    () =>
      Effect.gen(function* () {
        const { number } = yield* aStage()
        const [a, b, c] = somePhones(3) as [Phone, Phone, Phone]
        const check = yield* aCheck(number, { phones: [a, b, a, c, a] })
        const first = yield* claimOne(number, { chunk: 2 })
        assert.isTrue(
          yield* settle(
            answered(first, (phone) => (phone === a ? "registered" : "not_registered")),
            noon + oneSecond,
          ),
        )
        assert.deepStrictEqual(yield* lookUp(check), {
          ...check,
          status: "processing",
          checked: 4,
          registered: 3,
          notRegistered: 1,
        })
        const second = yield* claimOne(number, { now: noon + oneSecond })
        assert.deepStrictEqual(second.phones, [c])
        assert.isTrue(
          yield* settle(
            answered(second, () => "failed"),
            noon + minute,
          ),
        )
        assert.deepStrictEqual(yield* lookUp(check), {
          ...check,
          status: "completed",
          checked: 5,
          registered: 3,
          notRegistered: 1,
          completedAt: noon + minute,
        })
        assert.deepStrictEqual(
          (yield* resultsOf(check)).map(({ phone, status, checkedAt }) => [
            phone,
            status,
            checkedAt,
          ]),
          [
            [a, "registered", noon + oneSecond],
            [b, "not_registered", noon + oneSecond],
            [a, "registered", noon + oneSecond],
            [c, "failed", noon + minute],
            [a, "registered", noon + oneSecond],
          ],
        )
        assert.deepStrictEqual(yield* claim([number], { now: noon + day }), [])
      }),
  )

  it.effect("a claimed check is not claimed again until it is settled or its lease runs out", () =>
    Effect.gen(function* () {
      const { number } = yield* aStage()
      const check = yield* aCheck(number)
      const first = yield* claimOne(number, { leaseUntil: noon + minute })
      assert.deepStrictEqual(yield* claim([number], { now: noon + minute - 1 }), [])
      const second = yield* claimOne(number, { now: noon + minute, leaseUntil: noon + hour })
      assert.deepStrictEqual(second, { ...first, lease: first.lease + 1 })
      assert.isFalse(yield* settle(answered(first), noon + minute))
      assert.isFalse(yield* settle(again(first), noon + minute))
      assert.deepStrictEqual(yield* statusesOf(check), ["pending", "pending"])
      assert.isTrue(yield* settle(answered(second), noon + minute))
      assert.isFalse(yield* settle(answered(second), noon + minute))
      assert.strictEqual((yield* lookUp(check)).checked, 2)
      assert.isFalse(yield* settle({ ...answered(second), id: anUnknownId }))
    }),
  )

  it.effect("a try that found nothing out is counted, and the check rests", () =>
    Effect.gen(function* () {
      const { number } = yield* aStage()
      yield* aCheck(number, { phones: somePhones(2) })
      const first = yield* claimOne(number, { chunk: 1 })
      yield* settle(again(first, { tried: true, notBefore: noon + minute }), noon + oneSecond)
      assert.deepStrictEqual(yield* claim([number], { now: noon + minute - 1 }), [])
      const second = yield* claimOne(number, { now: noon + minute, chunk: 1 })
      assert.deepStrictEqual([second.tries, second.phones], [1, first.phones])
      yield* settle(again(second), noon + minute)
      const third = yield* claimOne(number, { now: noon + minute, chunk: 1 })
      assert.strictEqual(third.tries, 1)
      yield* settle(answered(third), noon + minute)
      const next = yield* claimOne(number, { now: noon + minute, chunk: 1 })
      assert.strictEqual(next.tries, 0)
    }),
  )

  it.effect("checks are claimed longest due first, as many as were asked for", () =>
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

  it.effect("of one workspace no more checks are claimed than the worker may hold", () =>
    Effect.gen(function* () {
      const era = anEra()
      const greedy = yield* aStage({ createdAt: era })
      const modest = yield* aStage({ createdAt: era })
      const many = yield* Effect.forEach([0, 1, 2, 3], (place) =>
        aCheck(greedy.number, { createdAt: era + place }),
      )
      const one = yield* aCheck(modest.number, { createdAt: era + minute })
      const both = [greedy.number, modest.number]
      const limits = { now: era + minute, leaseUntil: era + hour, perWorkspace: 3 }
      const holding = (held: number) => new Map([[greedy.workspace.id, held]])
      const nextDue = (crowded: ReadonlyArray<WorkspaceId>) =>
        WorkStatus.use((status) => status.nextDue("number_checks", crowded))
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

  it.effect("a live check waits while its number is not connected, a test one does not", () =>
    Effect.gen(function* () {
      const { number } = yield* aStage()
      const live = yield* aCheck(number)
      const test = yield* aCheck(number, { mode: "test" })
      yield* setStatus(number, "disconnected")
      const allowed = yield* claimOne(number)
      assert.strictEqual(allowed.id, test.id)
      yield* settle(answered(allowed))
      yield* setStatus(number, "connected")
      const claimed = yield* claimOne(number)
      assert.strictEqual(claimed.id, live.id)
      yield* setStatus(number, "disconnected")
      assert.deepStrictEqual(yield* claim([number], { now: noon + day }), [])
      assert.isTrue(yield* settle(answered(claimed), noon + minute))
      assert.strictEqual((yield* lookUp(live)).status, "completed")
    }),
  )

  it.effect("only the owner of the number asks from it; test checks run on any worker", () =>
    Effect.gen(function* () {
      const store = yield* NumberCheckStore
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
      assert.deepStrictEqual(yield* claimed([other.id]), [test.id])
      assert.deepStrictEqual(yield* claimed("all"), [live.id])
    }),
  )

  it.effect("what a removed number or a deleted workspace leaves is handed out to be ended", () =>
    Effect.gen(function* () {
      const { number, workspace } = yield* aStage()
      const another = yield* aStage()
      const checks = [yield* aCheck(number), yield* aCheck(another.number)]
      yield* setStatus(number, "disconnected")
      yield* NumberStore.use((store) => store.remove(workspace.id, number.id, noon))
      yield* WorkspaceStore.use((store) => store.delete(another.workspace.id, noon))
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
      const status = yield* WorkStatus
      const era = anEra()
      const nextDue = Effect.map(status.nextDue("number_checks"), (due) =>
        due !== null && due < era + 50 * day ? due : null,
      )
      const { number } = yield* aStage({ createdAt: era })
      const inHands = attemptsInHands(number, era)
      assert.isNull(yield* nextDue)
      yield* aCheck(number, { createdAt: era })
      assert.strictEqual(yield* nextDue, era)
      assert.isEmpty(yield* inHands)
      yield* setStatus(number, "disconnected")
      assert.isNull(yield* nextDue)
      yield* setStatus(number, "connected")
      const first = yield* claimOne(number, { now: era, leaseUntil: era + hour })
      assert.strictEqual(yield* nextDue, era + hour)
      assert.lengthOf(yield* inHands, 1)
      // Its worker is dead by then.
      assert.isEmpty(yield* attemptsInHands(number, era + hour))
      yield* settle(again(first, { notBefore: era + minute }), era)
      assert.strictEqual(yield* nextDue, era + minute)
      assert.isEmpty(yield* inHands)
      const second = yield* claimOne(number, { now: era + minute, chunk: 1 })
      yield* settle(answered(second), era + 2 * minute)
      assert.strictEqual(yield* nextDue, era + 2 * minute)
      const last = yield* claimOne(number, { now: era + 2 * minute })
      yield* settle(answered(last), era + 2 * minute)
      assert.isNull(yield* nextDue)
      yield* aCheck(number, { createdAt: era, mode: "test" })
      const test = yield* claimOne(number, { now: era })
      assert.lengthOf(yield* inHands, 1)
      yield* settle(answered(test), era)
    }),
  )

  it.effect("a check is dropped with its results once it was completed long enough ago", () =>
    Effect.gen(function* () {
      const store = yield* NumberCheckStore
      const era = anEra()
      const { number } = yield* aStage({ createdAt: era })
      const done = yield* aCheck(number, { createdAt: era })
      yield* settle(answered(yield* claimOne(number, { now: era })), era + hour)
      const open = yield* aCheck(number, { createdAt: era })
      const listed = Effect.map(
        store.list(scopeOf(done), { before: null, limit: 10 }),
        ({ items }) => items.map(({ id }) => id),
      )
      yield* store.forget(era + hour)
      assert.deepStrictEqual(yield* listed, [open.id, done.id])
      assert.lengthOf(yield* resultsOf(done), 2)
      yield* store.forget(era + hour + 1)
      assert.deepStrictEqual(yield* listed, [open.id])
      assert.isNull(yield* store.get(scopeOf(done), done.id))
      assert.deepStrictEqual(yield* resultsOf(done), [])
      assert.lengthOf(yield* resultsOf(open), 2)
    }),
  )
}

export const numberChecks: Topic = (it) => {
  made(it)
  worked(it)
}

export const numberCheckRaces: Topic = (it, { parallel }) => {
  it.effect("many workers, some of which die, ask for each phone until it is answered once", () =>
    Effect.gen(function* () {
      const store = yield* NumberCheckStore
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
              // Died: the lease runs out.
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

  it.effect("of many who claim at once each check has one holder", () =>
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
