import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { memoize } from "../../src/model/Bulkhead.ts"

describe("a memoized function", () => {
  it.effect("runs once for each argument", () =>
    Effect.sync(() => {
      const requests: Array<string> = []
      const length = memoize((text) => {
        requests.push(text)
        return text.length
      })
      assert.deepStrictEqual([length("one"), length("three"), length("one")], [3, 5, 3])
      assert.deepStrictEqual(requests, ["one", "three"])
    }),
  )

  it.effect("keeps at most 1,000 results", () =>
    Effect.sync(() => {
      let requests = 0
      const answer = memoize((text) => {
        requests++
        return text
      })
      for (let question = 0; question < 1000; question++) answer(`question ${question}`)
      assert.strictEqual(answer("question 0"), "question 0")
      assert.strictEqual(requests, 1000)
      // One more clears the cache.
      answer("question 1000")
      assert.strictEqual(answer("question 0"), "question 0")
      assert.strictEqual(requests, 1002)
    }),
  )
})
