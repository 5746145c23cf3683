/** Number checks: their results by chunk, their duration, and repeats. */
import { assert, describe, it } from "@effect/vitest"
import { Emulator } from "@messaging-service/emulator"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { NumberChecks, Numbers } from "../../src/index.ts"
import { checkChunk } from "../../src/store/NumberCheckStore.ts"
import { makeNumberChecker } from "../../src/worker/NumberChecker.ts"
import { aPhone, behave, logOut } from "./Operations.ts"
import { aKey, aSender, inAService, minute, noon, pass, second, settled } from "./Service.ts"
import { unknownPhone, create, build, read, found, somePhones, scripted } from "./Checking.ts"

describe("a number check", () => {
  it.effect("tells which phones are registered, a duplicate in each of its places", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number, workspace } = yield* aSender()
        const a = aPhone()
        const check = yield* build(key, [a, unknownPhone, a], { name: "Customers" })
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

  it.effect("asks the configured phones, not the rule", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const [a, b] = [aPhone(), aPhone()]
        yield* Emulator.use((emulator) => emulator.setRegistered({ phones: [b, unknownPhone] }))
        const check = yield* build(key, [a, b, unknownPhone])
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
        const check = yield* build(key, [...phones, ...phones.toReversed()])
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

  it.effect("takes as long as its phone does", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number } = yield* aSender()
        yield* behave(number, { latencyMillis: 3000 })
        const check = yield* build(key, somePhones(60))
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

  it.effect("of a test key follows the rule and reaches no transport", () => {
    const { calls, transport } = scripted([])
    return inAService(
      Effect.gen(function* () {
        const { number, workspace } = yield* aSender()
        const test = yield* aKey(workspace, { mode: "test" })
        yield* Emulator.use((emulator) => emulator.setRegistered({ phones: [unknownPhone] }))
        const check = yield* build(test, [aPhone(), unknownPhone])
        yield* logOut(number)
        yield* settled
        assert.deepStrictEqual(yield* found(test, check), ["registered", "not_registered"])
        assert.deepStrictEqual(calls, [])
      }),
      { transport, worker: true },
    )
  })

  it.effect("fails its open phones when its number is removed", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number, workspace } = yield* aSender()
        yield* behave(number, { latencyMillis: 1000 })
        const check = yield* build(key, somePhones(130))
        yield* pass(1500)
        yield* Numbers.use((numbers) => numbers.remove("owner", workspace, number))
        yield* pass(minute)
        const { checked, registered, status } = yield* read(key, check)
        assert.deepStrictEqual([status, checked, registered], ["completed", 130, 50])
      }),
    ),
  )

  it.effect("can run step by step, without the loop", () =>
    inAService(
      Effect.gen(function* () {
        const checker = yield* makeNumberChecker
        const { key } = yield* aSender()
        const check = yield* build(key, somePhones(60))
        assert.strictEqual(yield* checker.runOnce, 1)
        assert.strictEqual((yield* read(key, check)).checked, 50)
        assert.strictEqual(yield* checker.runOnce, 1)
        assert.strictEqual(yield* checker.runOnce, 0)
        assert.strictEqual((yield* read(key, check)).status, "completed")
      }),
      { worker: false },
    ),
  )

  it.effect("repeats its first answer, whatever is known since", () =>
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

  it.effect("moves time to the end of a query, and no further", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number } = yield* aSender()
        yield* behave(number, { latencyMillis: 5000 })
        const check = yield* build(key, somePhones(150))
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
