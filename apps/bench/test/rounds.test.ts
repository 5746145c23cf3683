/** How rounds are run and what is made of their figures. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { check } from "../src/measuring/checks.ts"
import { CheckFailed } from "../src/measuring/checks.ts"
import type { Candidate } from "../src/measuring/Comparison.ts"
import { toFigures, measure, median } from "../src/measuring/rounds.ts"

/** A candidate that writes down when it ran and tells its figures one after the other. */
const report = (name: string, log: Array<string>, figures: ReadonlyArray<number>): Candidate => {
  let runs = 0
  return {
    name,
    run: Effect.sync(() => {
      log.push(name)
      return figures[runs++] ?? Number.NaN
    }),
  }
}

describe("rounds", () => {
  it.effect("every candidate runs once in each, and the order moves on", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const candidates = ["A", "B", "C"].map((name) => report(name, log, [1, 1, 1]))
      yield* measure({ unit: "ms", candidates, ratios: [], notes: [] }, 2)
      assert.strictEqual(log.join(""), "ABCBCACAB")
    }),
  )

  it.effect("the first is thrown away, and ratios are taken inside a round", () =>
    Effect.gen(function* () {
      const candidates = [report("A", [], [1000, 10, 20, 400]), report("B", [], [1, 5, 5, 100])]
      const claim = { name: "A / B", numerator: "A", denominator: "B" }
      const measured = yield* measure(
        {
          unit: "ms",
          candidates,
          ratios: [
            { ...claim, limit: { atLeast: 4 } },
            { ...claim, limit: { atMost: 3.9 } },
          ],
          figures: [{ name: "B", of: "B", limit: { atMost: 5 } }],
          notes: [],
        },
        3,
      )
      assert.deepStrictEqual(
        measured.candidates.map((candidate) => candidate.median),
        [20, 5],
      )
      assert.deepStrictEqual(
        measured.ratios.map(({ highest, holds, lowest, ratio }) => [lowest, ratio, highest, holds]),
        [
          [2, 4, 4, true],
          [2, 4, 4, false],
        ],
      )
      assert.deepStrictEqual(
        measured.figures.map(({ figure, holds }) => [figure, holds]),
        [[5, true]],
      )
      assert.strictEqual(measured.checks, 8)
    }),
  )

  it.effect("several figures come from one run of each round, whichever is asked for first", () =>
    Effect.gen(function* () {
      let runs = 0
      const getReported = toFigures(Effect.sync(() => ({ millis: ++runs, bytes: runs * 100 })))
      const { candidates } = yield* measure(
        {
          unit: "ms",
          candidates: [
            { name: "time", run: getReported(({ millis }) => millis) },
            { name: "memory", unit: "kB", run: getReported(({ bytes }) => bytes) },
          ],
          ratios: [],
          notes: [],
        },
        2,
      )
      assert.deepStrictEqual(
        candidates.map(({ name, rounds, unit }) => ({ name, rounds, unit })),
        [
          { name: "time", rounds: [2, 3], unit: "ms" },
          { name: "memory", rounds: [200, 300], unit: "kB" },
        ],
      )
      assert.strictEqual(runs, 3)
    }),
  )

  it.effect("a result that is not what it should be stops the measurement", () =>
    Effect.gen(function* () {
      const failing = { name: "A", run: Effect.as(check("messages", 9, 10), 1) }
      const error = yield* Effect.flip(
        measure({ unit: "ms", candidates: [failing], ratios: [], notes: [] }, 1),
      )
      assert.instanceOf(error, CheckFailed)
      assert.strictEqual(error.message, "messages: 9 instead of 10")
    }),
  )

  it("the median of an even number of figures lies between the middle two", () => {
    assert.strictEqual(median([4, 1, 3, 2]), 2.5)
  })
})
