/** While the store is down, a process logs it at intervals, however much fails. */
import { assert, it } from "@effect/vitest"
import { Cause, Effect, Logger } from "effect"
import { TestClock } from "effect/testing"
import { StoreUnavailable } from "../../src/index.ts"
import { logFailure, throttled } from "../../src/service/logThrottled.ts"

const unavailable = new StoreUnavailable({
  operation: "claim",
  cause: new Error("connect failed", { cause: new Error("connection refused\nat a line") }),
})

/** What was logged meanwhile, as text. */
const heard = <A, E, R>(lines: Array<string>, work: Effect.Effect<A, E, R>) =>
  Effect.provide(
    work,
    Logger.layer([Logger.make(({ message }) => void lines.push([message].flat().join(" ")))]),
  )

it.effect("logs the first line at once, then one a minute that counts the others", () => {
  const lines: Array<string> = []
  return heard(
    lines,
    Effect.gen(function* () {
      const fail = logFailure("the loop pauses", Cause.fail(unavailable))
      yield* Effect.replicateEffect(fail, 400)
      const line = "the loop pauses: the store did not answer: claim: connection refused"
      assert.deepStrictEqual(lines, [line])
      yield* logFailure("settling is tried again", unavailable)
      assert.lengthOf(lines, 2)
      yield* TestClock.adjust("59 seconds")
      yield* fail
      assert.lengthOf(lines, 2)
      yield* TestClock.adjust("1 second")
      yield* fail
      assert.strictEqual(lines[2], `${line} (400 such lines were held back)`)
    }),
  )
})

it.effect("keeps a longer pause between lines that ask for one", () => {
  const lines: Array<string> = []
  return heard(
    lines,
    Effect.gen(function* () {
      const log = throttled("rare", () => Effect.logWarning("rare"), Effect.void, 3_600_000)
      yield* log
      yield* TestClock.adjust("59 minutes")
      yield* log
      assert.lengthOf(lines, 1)
      yield* TestClock.adjust("1 minute")
      yield* log
      assert.lengthOf(lines, 2)
    }),
  )
})

it.effect("logs a defect in full each time", () => {
  const lines: Array<string> = []
  return heard(
    lines,
    Effect.gen(function* () {
      yield* Effect.replicateEffect(logFailure("broke off", Cause.die(new Error("a bug"))), 3)
      assert.lengthOf(lines, 3)
    }),
  )
})
