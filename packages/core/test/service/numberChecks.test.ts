import { assert, describe, it } from "@effect/vitest"
import { layer as layerTransport, Emulator } from "@messaging-service/emulator"
import { Clock, Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { NumberChecker, NumberChecks, Numbers } from "../../src/index.ts"
import type {
  Caller,
  CursorPage,
  ListCheckResults,
  NumberCheck,
  NumberCheckId,
  NumberCheckResult,
  NumberId,
  Phone,
} from "../../src/index.ts"
import { NumberCheckStore, PhoneDirectory, sharedResources } from "../../src/ports.ts"
import type { PhonesOutcome } from "../../src/ports.ts"
import {
  checkChunk,
  checkLeaseMillis,
  checkRetryMillis,
  checkTimeoutMillis,
} from "../../src/numberCheck/NumberCheck.ts"
import { aPhone, behave, logOut, reconnect } from "./Operations.ts"
import {
  aKey,
  aNumber,
  aSender,
  day,
  inAService,
  minute,
  noon,
  pass,
  second,
  settled,
  startWorker,
  stopWorker,
} from "./Service.ts"

const unknownPhone = "+15550000000"

const create = (
  caller: Caller,
  phones: ReadonlyArray<string>,
  given: Readonly<Record<string, unknown>> = {},
  idempotencyKey: string | null = null,
) =>
  NumberChecks.use((checks) =>
    checks.create(
      caller,
      { phones, ...given },
      idempotencyKey === null ? null : { key: idempotencyKey, fingerprint: "same" },
    ),
  )

const made = (
  caller: Caller,
  phones: ReadonlyArray<string>,
  given: Readonly<Record<string, unknown>> = {},
) => Effect.map(create(caller, phones, given), ({ answer }) => answer)

const read = (caller: Caller, { id }: NumberCheck) =>
  NumberChecks.use((checks) => checks.get(caller, id))

/** What was found out, in the order of the list. */
const found = (caller: Caller, { id, total }: NumberCheck) =>
  Effect.gen(function* () {
    const checks = yield* NumberChecks
    const all: Array<string> = []
    let cursor: string | null = null
    do {
      const query: ListCheckResults = { limit: 100, ...(cursor === null ? {} : { cursor }) }
      const page: CursorPage<NumberCheckResult> = yield* checks.results(caller, id, query)
      all.push(...page.items.map(({ status }) => status))
      cursor = page.next
    } while (cursor !== null)
    assert.lengthOf(all, total)
    return all.toReversed()
  })

const somePhones = (count: number) => Array.from({ length: count }, aPhone)

/** A far side that answers as told, call by call, then for ever as by default; and its calls. */
const scripted = (
  answers: ReadonlyArray<Effect.Effect<PhonesOutcome>>,
  byDefault: (phones: ReadonlyArray<Phone>) => PhonesOutcome = (phones) => ({
    _tag: "Checked",
    registered: new Set(phones),
  }),
) => {
  const calls: Array<{ readonly at: number; readonly phones: ReadonlyArray<Phone> }> = []
  const directory = Layer.succeed(PhoneDirectory, {
    checkPhones: (_: NumberId, phones) =>
      Effect.gen(function* () {
        calls.push({ at: (yield* Clock.currentTimeMillis) - noon, phones })
        return yield* answers[calls.length - 1] ?? Effect.succeed(byDefault(phones))
      }),
  })
  return { calls, transport: Layer.merge(layerTransport, directory) }
}

const unknown: Effect.Effect<PhonesOutcome> = Effect.succeed({ _tag: "Unknown" })

describe("a number check", () => {
  it.effect("tells which phones are registered, a doubled phone in each of its places", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number, workspace } = yield* aSender()
        const a = aPhone()
        const check = yield* made(key, [a, unknownPhone, a], { name: "Customers" })
        assert.deepStrictEqual(check, {
          id: check.id,
          workspaceId: workspace,
          mode: "live",
          numberId: number,
          name: "Customers",
          status: "pending",
          total: 3,
          checked: 0,
          registered: 0,
          notRegistered: 0,
          createdAt: noon,
          completedAt: null,
        })
        yield* settled
        assert.deepStrictEqual<unknown>(yield* read(key, check), {
          ...check,
          status: "completed",
          checked: 3,
          registered: 2,
          notRegistered: 1,
          completedAt: noon,
        })
        assert.deepStrictEqual(yield* found(key, check), [
          "registered",
          "not_registered",
          "registered",
        ])
      }),
    ),
  )

  it.effect("asks the phones that were set, not the rule", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const [a, b] = [aPhone(), aPhone()]
        yield* Emulator.use((emulator) => emulator.setRegistered({ phones: [b, unknownPhone] }))
        const check = yield* made(key, [a, b, unknownPhone])
        yield* settled
        assert.deepStrictEqual(yield* found(key, check), [
          "not_registered",
          "registered",
          "registered",
        ])
      }),
    ),
  )

  it.effect("asks for 50 phones at a time, for each once", () => {
    const { calls, transport } = scripted([])
    return inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const phones = somePhones(120)
        const check = yield* made(key, [...phones, ...phones.toReversed()])
        yield* settled
        assert.strictEqual(checkChunk, 50)
        assert.deepStrictEqual(
          calls.map((call) => call.phones.length),
          [50, 50, 20],
        )
        assert.deepStrictEqual<unknown>(
          calls.flatMap((call) => call.phones),
          phones,
        )
        assert.strictEqual((yield* read(key, check)).registered, 240)
      }),
      { transport },
    )
  })

  it.effect("takes the time that its phone takes", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number } = yield* aSender()
        yield* behave(number, { latency_ms: 3000 })
        const check = yield* made(key, somePhones(60))
        yield* pass(2999)
        const { checked, status } = yield* read(key, check)
        assert.deepStrictEqual([status, checked], ["processing", 0])
        yield* pass(1)
        assert.strictEqual((yield* read(key, check)).checked, 50)
        yield* pass(3000)
        assert.strictEqual((yield* read(key, check)).completedAt, noon + 6 * second)
      }),
    ),
  )

  it.effect("waits while its number is logged out, and goes on where it was", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number } = yield* aSender()
        yield* behave(number, { latency_ms: 1000 })
        const check = yield* made(key, somePhones(70))
        yield* pass(1500)
        yield* logOut(number)
        yield* pass(day)
        const { checked, status } = yield* read(key, check)
        assert.deepStrictEqual([status, checked], ["processing", 50])
        yield* reconnect(number)
        yield* pass(1000)
        assert.strictEqual((yield* read(key, check)).status, "completed")
      }),
    ),
  )

  it.effect("notes that its number turned out to be logged out", () => {
    const notConnected = Effect.succeed<PhonesOutcome>({ _tag: "NotConnected" })
    const { calls, transport } = scripted([notConnected])
    return inAService(
      Effect.gen(function* () {
        const { key, number, workspace } = yield* aSender()
        const check = yield* made(key, somePhones(1))
        yield* pass(day)
        assert.lengthOf(calls, 1)
        const [only] = yield* Numbers.use((numbers) => numbers.list("owner", workspace))
        assert.strictEqual(only?.status, "disconnected")
        yield* reconnect(number)
        yield* settled
        assert.strictEqual((yield* read(key, check)).status, "completed")
      }),
      { transport },
    )
  })

  const silences: ReadonlyArray<
    readonly [what: string, answer: Effect.Effect<PhonesOutcome>, takes: number]
  > = [
    ["cannot tell", unknown, 0],
    ["breaks", Effect.die(new Error("a bug")), 0],
    ["does not answer", Effect.never, checkTimeoutMillis],
  ]
  it.effect.each(silences)(
    "a far side that %s is asked three times for a chunk; then it failed, and the next one comes",
    ([, answer, takes]) => {
      const { calls, transport } = scripted([answer, answer, answer])
      return inAService(
        Effect.gen(function* () {
          const { key } = yield* aSender()
          const check = yield* made(key, somePhones(60))
          const [first = 0, next = 0] = checkRetryMillis
          yield* pass(3 * takes + first + next)
          assert.deepStrictEqual(
            calls.map(({ at }) => at),
            [0, takes + first, 2 * takes + first + next, 3 * takes + first + next],
          )
          const { checked, notRegistered, registered, status } = yield* read(key, check)
          assert.deepStrictEqual(
            [status, checked, registered, notRegistered],
            ["completed", 60, 10, 0],
          )
          assert.deepStrictEqual(yield* found(key, check), [
            ...Array<string>(50).fill("failed"),
            ...Array<string>(10).fill("registered"),
          ])
        }),
        { transport },
      )
    },
  )

  it.effect("a try that succeeds forgives those before it", () => {
    const checked = Effect.succeed<PhonesOutcome>({ _tag: "Checked", registered: new Set() })
    const { transport } = scripted([unknown, unknown, checked, unknown, unknown, checked])
    return inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const check = yield* made(key, somePhones(100))
        yield* pass(2 * minute)
        assert.strictEqual((yield* read(key, check)).notRegistered, 100)
      }),
      { transport },
    )
  })

  it.effect("a pause that the far side asks for is no try", () => {
    const pause = Effect.succeed<PhonesOutcome>({ _tag: "Postponed", afterMillis: 10 * minute })
    const { calls, transport } = scripted([pause, pause, pause, pause])
    return inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const check = yield* made(key, somePhones(1))
        yield* pass(40 * minute)
        assert.deepStrictEqual(
          calls.map(({ at }) => at),
          [0, 10, 20, 30, 40].map((minutes) => minutes * minute),
        )
        assert.strictEqual((yield* read(key, check)).registered, 1)
      }),
      { transport },
    )
  })

  it.effect("a number that does not answer holds up no other number's check", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number, workspace } = yield* aSender()
        const other = yield* aNumber(workspace)
        yield* behave(number, { send: "hang" })
        const slow = yield* made(key, somePhones(1), { from: number })
        const fast = yield* made(key, somePhones(200), { from: other })
        yield* settled
        assert.strictEqual((yield* read(key, fast)).status, "completed")
        assert.strictEqual((yield* read(key, slow)).status, "processing")
      }),
    ),
  )

  it.effect("a workspace whose checks hang holds its share of a worker, and no other's up", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number } = yield* aSender()
        const modest = (yield* aSender()).key
        yield* behave(number, { send: "hang" })
        const { most } = sharedResources.numberChecks.share
        const slow: Array<NumberCheck> = []
        for (let asked = 0; asked < most + 3; asked++) slow.push(yield* made(key, somePhones(1)))
        yield* settled
        const statuses = yield* Effect.forEach(slow, (check) =>
          Effect.map(read(key, check), ({ status }) => status),
        )
        assert.lengthOf(
          statuses.filter((status) => status === "processing"),
          most,
        )
        const fast = yield* made(modest, somePhones(60))
        yield* settled
        assert.strictEqual((yield* read(modest, fast)).status, "completed")
      }),
    ),
  )

  it.effect("of a test key follows the rule, and reaches no transport, not even logged out", () => {
    const { calls, transport } = scripted([])
    return inAService(
      Effect.gen(function* () {
        const { number, workspace } = yield* aSender()
        const test = yield* aKey(workspace, { mode: "test" })
        yield* Emulator.use((emulator) => emulator.setRegistered({ phones: [unknownPhone] }))
        const check = yield* made(test, [aPhone(), unknownPhone])
        yield* logOut(number)
        yield* settled
        assert.deepStrictEqual(yield* found(test, check), ["registered", "not_registered"])
        assert.deepStrictEqual(calls, [])
      }),
      { transport, worker: true },
    )
  })

  it.effect("whose number is removed can no longer be made: what is left failed", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number, workspace } = yield* aSender()
        yield* behave(number, { latency_ms: 1000 })
        const check = yield* made(key, somePhones(130))
        yield* pass(1500)
        yield* Numbers.use((numbers) => numbers.remove("owner", workspace, number))
        yield* pass(minute)
        const { checked, registered, status } = yield* read(key, check)
        assert.deepStrictEqual([status, checked, registered], ["completed", 130, 50])
      }),
    ),
  )

  it.effect("a worker that is stopped gives its chunk back at once", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number } = yield* aSender()
        yield* behave(number, { send: "hang" })
        const first = yield* startWorker
        const check = yield* made(key, somePhones(3))
        yield* settled
        assert.strictEqual((yield* read(key, check)).status, "processing")
        yield* stopWorker(first)
        yield* behave(number, {})
        yield* startWorker
        assert.strictEqual((yield* read(key, check)).registered, 3)
        assert.isBelow((yield* Clock.currentTimeMillis) - noon, 30 * second)
      }),
      { worker: false },
    ),
  )

  it.effect("a chunk of a worker that died is taken up when its lease runs out", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const check = yield* made(key, somePhones(80))
        const store = yield* NumberCheckStore
        const [lost] = yield* store.claim({
          now: noon,
          leaseUntil: noon + checkLeaseMillis,
          limit: 1,
          chunk: 50,
          owned: "all",
          perWorkspace: 1,
          held: new Map(),
        })
        assert.strictEqual<NumberCheckId | undefined>(lost?.id, check.id)
        yield* startWorker
        yield* pass(checkLeaseMillis - 1)
        assert.strictEqual((yield* read(key, check)).checked, 0)
        yield* pass(1)
        assert.strictEqual((yield* read(key, check)).registered, 80)
      }),
      { worker: false },
    ),
  )

  it.effect("a lease outlives the longest look", () =>
    Effect.sync(() => assert.isAbove(checkLeaseMillis, checkTimeoutMillis)),
  )

  it.effect("can be driven by hand, without the loop", () =>
    inAService(
      Effect.gen(function* () {
        const checker = yield* NumberChecker
        const { key } = yield* aSender()
        const check = yield* made(key, somePhones(60))
        assert.strictEqual(yield* checker.runOnce, 1)
        assert.strictEqual((yield* read(key, check)).checked, 50)
        assert.strictEqual(yield* checker.runOnce, 1)
        assert.strictEqual(yield* checker.runOnce, 0)
        assert.strictEqual((yield* read(key, check)).status, "completed")
      }),
      { worker: false },
    ),
  )

  it.effect("a repeat shows the first answer, whatever was found out since", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const phones = somePhones(2)
        const first = yield* create(key, phones, {}, "k")
        yield* pass(minute)
        const repeat = yield* create(key, phones, {}, "k")
        assert.isTrue(repeat.replayed)
        assert.deepStrictEqual(repeat.answer, first.answer)
        assert.strictEqual((yield* read(key, first.answer)).status, "completed")
        const { items } = yield* NumberChecks.use((checks) => checks.list(key, {}))
        assert.lengthOf(items, 1)
      }),
    ),
  )

  it.effect("time moves on to the end of a look, and not past it", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number } = yield* aSender()
        yield* behave(number, { latency_ms: 5000 })
        const check = yield* made(key, somePhones(150))
        const settling = yield* Effect.forkChild(Emulator.use((emulator) => emulator.settle))
        yield* TestClock.adjust("14 seconds")
        assert.isUndefined(settling.pollUnsafe())
        yield* TestClock.adjust("2 seconds")
        yield* Fiber.join(settling)
        assert.strictEqual((yield* read(key, check)).completedAt, noon + 15 * second)
      }),
    ),
  )
})
