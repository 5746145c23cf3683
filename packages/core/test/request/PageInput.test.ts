import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"
import { getPage, parsePageRequest } from "../../src/model/Page.ts"

const getProblems = (query: object) =>
  Result.match(parsePageRequest(query), {
    onSuccess: (request) => request,
    onFailure: ({ code, errors, field }) =>
      [{ code, field }, ...errors].map((each) => [each.code, each.field]),
  })

describe("the query of a paged list", () => {
  it.effect("the page size is 1 to 100", () =>
    Effect.sync(() => {
      assert.deepStrictEqual(getProblems({}), {})
      assert.deepStrictEqual(getProblems({ limit: "1" }), { limit: 1 })
      assert.deepStrictEqual(getProblems({ limit: 100 }), { limit: 100 })
    }),
  )

  it.effect.each(["0", "101", "-1", "", " ", "1.5", "1e1", "0x10", "ten", "9".repeat(20), "+5"])(
    "refuses a limit of %j: validation_failed",
    (limit) =>
      Effect.sync(() =>
        assert.deepStrictEqual(getProblems({ limit }), [["validation_failed", "limit"]]),
      ),
  )

  it.effect("passes a cursor on unchanged, even an empty one", () =>
    Effect.sync(() => {
      assert.deepStrictEqual(getProblems({ cursor: "abc" }), { cursor: "abc" })
      assert.deepStrictEqual(getProblems({ cursor: "" }), { cursor: "" })
    }),
  )

  it.effect.each([null, [], "limit", 1])("rejects %j as a query", (query) =>
    Effect.sync(() =>
      assert.deepStrictEqual(getProblems(query as never), [["validation_failed", null]]),
    ),
  )

  it.effect("an unknown parameter is validation_failed", () =>
    Effect.sync(() =>
      assert.deepStrictEqual(getProblems({ offset: "5", limit: "0", ["__proto__"]: "1" }), [
        ["validation_failed", "limit"],
        ["validation_failed", "offset"],
        ["validation_failed", "__proto__"],
      ]),
    ),
  )
})

describe("pageOf", () => {
  const Count = (minimum: number, maximum: number) =>
    Schema.Int.check(Schema.isBetween({ minimum, maximum }))

  it.effect.prop(
    "pages follow one another without gap or duplicate, and the last has no next",
    [Count(0, 60), Count(1, 20)],
    ([count, limit]) =>
      Effect.sync(() => {
        const all = Array.from({ length: count }, (_, at) => ({ id: count - at }))
        const received: Array<{ readonly id: number }> = []
        let before: number | null = null
        for (let pages = 0; ; pages++) {
          assert.isAtMost(pages, count)
          const from: number = before ?? Number.POSITIVE_INFINITY
          const rows = all.filter(({ id }) => id < from).slice(0, limit + 1)
          const page = getPage(rows, limit)
          assert.isAtMost(page.items.length, limit)
          received.push(...page.items)
          if (page.next === null) break
          assert.lengthOf(page.items, limit)
          before = page.next
        }
        assert.deepStrictEqual(received, all)
      }),
  )
})
