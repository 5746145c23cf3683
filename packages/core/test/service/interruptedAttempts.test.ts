import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { Numbers } from "../../src/index.ts"
import {
  arrived,
  claimAndDie,
  get,
  logOut,
  reconnect,
  send,
  sendBatch,
  status,
  statuses,
} from "./Operations.ts"
import { ahead, aSender, hour, inAService, pass, second, settled, startWorker } from "./Service.ts"

describe("a worker that died with a message in flight", () => {
  it.effect("is replaced by another that repeats the attempt after the lease", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const [first, second_] = yield* sendBatch(key, 2)
        yield* claimAndDie()
        yield* startWorker
        yield* pass(30 * second - 1)
        assert.deepStrictEqual(yield* arrived(), [])
        yield* pass(1)
        assert.deepStrictEqual<unknown>(yield* arrived(), [first?.id, second_?.id])
      }),
      { worker: false },
    ),
  )

  it.effect("three times ends in outcome_unknown", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const message = yield* send(key)
        for (let death = 0; death < 3; death++) {
          assert.lengthOf(yield* claimAndDie(), 1)
          yield* TestClock.adjust(30 * second)
        }
        yield* startWorker
        assert.strictEqual((yield* get(key, message)).error?.code, "outcome_unknown")
        assert.deepStrictEqual(yield* arrived(), [])
      }),
      { worker: false },
    ),
  )

  it.effect("leaves an expired message as outcome_unknown: it may have left in time", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const message = yield* send(key, { expiresAt: yield* ahead(10 * second) })
        yield* claimAndDie()
        yield* startWorker
        yield* pass(hour)
        assert.strictEqual((yield* get(key, message)).error?.code, "outcome_unknown")
        assert.deepStrictEqual(yield* arrived(), [])
      }),
      { worker: false },
    ),
  )

  it.effect("leaves a removed number's message as outcome_unknown: it may have left", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number, workspace } = yield* aSender()
        const [started, behind] = yield* sendBatch(key, 2)
        yield* claimAndDie()
        yield* Numbers.use((numbers) => numbers.remove("owner", workspace, number))
        assert.deepStrictEqual(yield* statuses(key, [started!, behind!]), ["queued", "cancelled"])
        yield* startWorker
        yield* pass(hour)
        assert.strictEqual((yield* get(key, started!)).error?.code, "outcome_unknown")
        assert.deepStrictEqual(yield* arrived(), [])
      }),
      { worker: false },
    ),
  )

  it.effect("leaves a logged-out number's message as outcome_unknown once it expired", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number } = yield* aSender()
        const message = yield* send(key, { expiresAt: yield* ahead(hour) })
        yield* claimAndDie()
        yield* logOut(number)
        yield* startWorker
        const behind = yield* send(key, { from: number })
        yield* pass(hour - 1)
        assert.strictEqual(yield* status(key, message), "queued")
        yield* pass(1)
        assert.strictEqual((yield* get(key, message)).error?.code, "outcome_unknown")
        assert.strictEqual(yield* status(key, behind), "queued")
        assert.deepStrictEqual(yield* arrived(), [])
        yield* reconnect(number)
        yield* settled
        assert.deepStrictEqual<unknown>(yield* arrived(), [behind.id])
      }),
      { worker: false },
    ),
  )

  it.effect("leaves a logged-out number's message waiting for the number", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number } = yield* aSender()
        const message = yield* send(key)
        yield* claimAndDie()
        yield* logOut(number)
        yield* startWorker
        yield* pass(hour)
        assert.strictEqual(yield* status(key, message), "queued")
        yield* reconnect(number)
        yield* settled
        assert.strictEqual(yield* status(key, message), "sent")
        assert.deepStrictEqual<unknown>(yield* arrived(), [message.id])
      }),
      { worker: false },
    ),
  )
})
