import { assert, describe, it } from "@effect/vitest"
import { Effect, Random } from "effect"
import { Sorted } from "../src/collections.ts"

const below = (bound: number) => Random.nextIntBetween(0, bound, { halfOpen: true })

describe("Sorted", () => {
  it.effect.each(["grows", "shrinks", "stays"])(
    "equals a plain sorted array while it %s",
    (course) =>
      Effect.gen(function* () {
        const sorted = new Sorted<number>((a, b) => a - b)
        const model = new Set<number>()
        const adds = { grows: 8, shrinks: 3, stays: 5 }[course] ?? 0
        if (course === "shrinks") {
          for (let item = 0; item < 3000; item++) {
            sorted.add(item)
            model.add(item)
          }
        }
        for (let step = 0; step < 6000; step++) {
          const item = yield* below(4000)
          if ((yield* below(10)) < adds) {
            sorted.add(item)
            model.add(item)
          } else {
            sorted.delete(item)
            model.delete(item)
          }
          if (step % 500 !== 0) continue
          const expected = [...model].toSorted((a, b) => a - b)
          const bound = yield* below(4000)
          const behind = expected.filter((each) => each >= bound)
          assert.deepStrictEqual([...sorted], expected)
          assert.strictEqual(sorted.size, expected.length)
          assert.strictEqual(sorted.first, expected[0])
          assert.strictEqual(
            sorted.count((each) => each < bound),
            expected.length - behind.length,
          )
          assert.deepStrictEqual([...sorted.from((each) => each < bound)], behind)
        }
      }).pipe(Random.withSeed(course)),
  )

  it("is empty until something is added, and again when all is removed", () => {
    const sorted = new Sorted<number>((a, b) => a - b)
    assert.strictEqual(sorted.first, undefined)
    assert.deepStrictEqual([...sorted], [])
    assert.strictEqual(
      sorted.count(() => true),
      0,
    )
    sorted.delete(1)
    for (let item = 0; item < 2000; item++) sorted.add(item)
    for (let item = 0; item < 2000; item++) sorted.delete(item)
    assert.strictEqual(sorted.size, 0)
    assert.strictEqual(sorted.first, undefined)
    sorted.add(7)
    assert.deepStrictEqual([...sorted], [7])
  })

  it("holds an item once", () => {
    const sorted = new Sorted<number>((a, b) => a - b)
    sorted.add(2)
    sorted.add(2)
    assert.strictEqual(sorted.size, 1)
  })
})
