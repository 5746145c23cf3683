/** Number checks without an answer: tries, pauses, logged-out numbers, stopping workers. */
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { Numbers, sharedLimits, Store } from "../../src/index.ts"
import type { NumberCheck, NumberCheckId, PhonesOutcome } from "../../src/index.ts"
import {
  checkLeaseMillis,
  checkRetryMillis,
  checkTimeoutMillis,
} from "../../src/store/NumberCheckStore.ts"
import { behave, logOut, reconnect } from "./Operations.ts"
import {
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
import { build, read, found, somePhones, scripted, unknown } from "./Checking.ts"

describe("a number check", () => {
  it.effect("waits while its number is logged out, then continues where it was", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number } = yield* aSender()
        yield* behave(number, { latencyMillis: 1000 })
        const check = yield* build(key, somePhones(70))
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

  it.effect("marks its number as logged out when that is the answer", () => {
    const notConnected = Effect.succeed<PhonesOutcome>({ _tag: "NotConnected" })
    const { calls, transport } = scripted([notConnected])
    return inAService(
      Effect.gen(function* () {
        const { key, number, workspace } = yield* aSender()
        const check = yield* build(key, somePhones(1))
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
    "asks a remote server that %s three times for a chunk, then fails it and continues",
    ([, answer, accepts]) => {
      const { calls, transport } = scripted([answer, answer, answer])
      return inAService(
        Effect.gen(function* () {
          const { key } = yield* aSender()
          const check = yield* build(key, somePhones(60))
          const [first = 0, next = 0] = checkRetryMillis
          yield* pass(3 * accepts + first + next)
          assert.deepStrictEqual(
            calls.map(({ at }) => at),
            [0, accepts + first, 2 * accepts + first + next, 3 * accepts + first + next],
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

  it.effect("forgets failed tries after a success", () => {
    const checked = Effect.succeed<PhonesOutcome>({ _tag: "Checked", registered: new Set() })
    const { transport } = scripted([unknown, unknown, checked, unknown, unknown, checked])
    return inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const check = yield* build(key, somePhones(100))
        yield* pass(2 * minute)
        assert.strictEqual((yield* read(key, check)).notRegistered, 100)
      }),
      { transport },
    )
  })

  it.effect("does not count a pause requested by the remote server as a try", () => {
    const pause = Effect.succeed<PhonesOutcome>({ _tag: "Postponed", afterMillis: 10 * minute })
    const { calls, transport } = scripted([pause, pause, pause, pause])
    return inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const check = yield* build(key, somePhones(1))
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

  it.effect("delays no other number's check when its number does not answer", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number, workspace } = yield* aSender()
        const other = yield* aNumber(workspace)
        yield* behave(number, { send: "hang" })
        const slow = yield* build(key, somePhones(1), { from: number })
        const fast = yield* build(key, somePhones(200), { from: other })
        yield* settled
        assert.strictEqual((yield* read(key, fast)).status, "completed")
        assert.strictEqual((yield* read(key, slow)).status, "processing")
      }),
    ),
  )

  it.effect("holds at most its workspace's share of a worker when it hangs", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number } = yield* aSender()
        const modest = (yield* aSender()).key
        yield* behave(number, { send: "hang" })
        const { most } = sharedLimits.numberChecks.share
        const slow: Array<NumberCheck> = []
        for (let requests = 0; requests < most + 3; requests++)
          slow.push(yield* build(key, somePhones(1)))
        yield* settled
        const statuses = yield* Effect.forEach(slow, (check) =>
          Effect.map(read(key, check), ({ status }) => status),
        )
        assert.lengthOf(
          statuses.filter((status) => status === "processing"),
          most,
        )
        const fast = yield* build(modest, somePhones(60))
        yield* settled
        assert.strictEqual((yield* read(modest, fast)).status, "completed")
      }),
    ),
  )

  it.effect("is handed back at once by a worker that stops", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number } = yield* aSender()
        yield* behave(number, { send: "hang" })
        const first = yield* startWorker
        const check = yield* build(key, somePhones(3))
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

  it.effect("is taken over when the lease of a dead worker ends", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const check = yield* build(key, somePhones(80))
        const store = (yield* Store).numberChecks
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

  it.effect("has a lease longer than the longest query", () =>
    Effect.sync(() => assert.isAbove(checkLeaseMillis, checkTimeoutMillis)),
  )
})
