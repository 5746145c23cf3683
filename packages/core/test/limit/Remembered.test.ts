import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { memoize } from "../../src/limit/Bulkhead.ts"

describe("a function that remembers its answers", () => {
  it.effect("is asked once for each question", () =>
    Effect.sync(() => {
      const asked: Array<string> = []
      const length = memoize((text) => {
        asked.push(text)
        return text.length
      })
      assert.deepStrictEqual([length("one"), length("three"), length("one")], [3, 5, 3])
      assert.deepStrictEqual(asked, ["one", "three"])
    }),
  )

  it.effect("keeps 1,000 answers and no more", () =>
    Effect.sync(() => {
      let asked = 0
      const answer = memoize((text) => {
        asked++
        return text
      })
      for (let question = 0; question < 1000; question++) answer(`question ${question}`)
      assert.strictEqual(answer("question 0"), "question 0")
      assert.strictEqual(asked, 1000)
      // One more: all are forgotten.
      answer("question 1000")
      assert.strictEqual(answer("question 0"), "question 0")
      assert.strictEqual(asked, 1002)
    }),
  )
})
