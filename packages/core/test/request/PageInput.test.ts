import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"
import { pageOf } from "../../src/request/Page.ts"
import { parsePageRequest, queryRecord, refuseQuery } from "../../src/request/PageInput.ts"
import type { Refusal } from "../../src/error/Refusal.ts"
import type { QueryEntries } from "../../src/request/PageInput.ts"

const told = (entries: QueryEntries) =>
  Result.match(parsePageRequest(entries), {
    onSuccess: (request) => request,
    onFailure: ({ code, errors, field }) =>
      [{ code, field }, ...errors].map((each) => [each.code, each.field]),
  })

describe("the query of a paged list", () => {
  it.effect("the page size is 1 to 100, 25 when not given", () =>
    Effect.sync(() => {
      assert.deepStrictEqual(told([]), { limit: 25, cursor: null })
      assert.deepStrictEqual(told([["limit", "1"]]), { limit: 1, cursor: null })
      assert.deepStrictEqual(told([["limit", "100"]]), { limit: 100, cursor: null })
    }),
  )

  it.effect.each(["0", "101", "-1", "", " ", "1.5", "1e1", "0x10", "ten", "9".repeat(20), "+5"])(
    "a limit of %j is validation_failed",
    (limit) =>
      Effect.sync(() =>
        assert.deepStrictEqual(told([["limit", limit]]), [["validation_failed", "limit"]]),
      ),
  )

  it.effect("a cursor is passed on as it is, an empty one too", () =>
    Effect.sync(() => {
      assert.deepStrictEqual(told([["cursor", "abc"]]), { limit: 25, cursor: "abc" })
      assert.deepStrictEqual(told([["cursor", ""]]), { limit: 25, cursor: "" })
    }),
  )

  it.effect(
    "a problem names its parameter in the message too, for an operation without a query as well",
    () =>
      Effect.sync(() => {
        const messages = (result: Result.Result<unknown, Refusal>) =>
          Result.match(result, {
            onSuccess: () => [],
            onFailure: ({ errors, message }) => [message, ...errors.map((each) => each.message)],
          })
        const wrong: QueryEntries = [
          ["limit", "0"],
          ["colour", "red"],
        ]
        const [limit, colour] = messages(parsePageRequest(wrong))
        assert.match(limit ?? "", /^limit: /)
        assert.strictEqual(colour, "colour: is not a known field")
        assert.deepStrictEqual(messages(parsePageRequest([...wrong, ...wrong])), [
          "limit: must be given only once",
        ])
        assert.deepStrictEqual(messages(refuseQuery(wrong)), [
          "limit: is not a known field",
          "colour: is not a known field",
        ])
        assert.deepStrictEqual(messages(refuseQuery([])), [])
      }),
  )

  it.effect("an unknown parameter is validation_failed", () =>
    Effect.sync(() =>
      assert.deepStrictEqual(
        told([
          ["offset", "5"],
          ["limit", "0"],
          ["__proto__", "1"],
        ]),
        [
          ["validation_failed", "limit"],
          ["validation_failed", "offset"],
          ["validation_failed", "__proto__"],
        ],
      ),
    ),
  )

  it.effect("a repeated parameter is validation_failed, also with the same value", () =>
    Effect.sync(() => {
      for (const again of ["1", "2"]) {
        assert.deepStrictEqual(
          told([
            ["limit", "1"],
            ["limit", again],
          ]),
          [["validation_failed", "limit"]],
        )
      }
    }),
  )

  it.effect("names that every object has are names like any other", () =>
    Effect.sync(() => {
      const record = Result.getOrThrow(
        queryRecord([
          ["constructor", "a"],
          ["__proto__", "b"],
        ]),
      )
      assert.deepStrictEqual(Object.entries(record), [
        ["constructor", "a"],
        ["__proto__", "b"],
      ])
    }),
  )
})

describe("pageOf", () => {
  const Count = (minimum: number, maximum: number) =>
    Schema.Int.check(Schema.isBetween({ minimum, maximum }))

  it.effect.prop(
    "pages follow one another without gap or double, and the last has no next",
    [Count(0, 60), Count(1, 20)],
    ([count, limit]) =>
      Effect.sync(() => {
        const all = Array.from({ length: count }, (_, at) => ({ id: count - at }))
        const seen: Array<{ readonly id: number }> = []
        let before: number | null = null
        for (let pages = 0; ; pages++) {
          assert.isAtMost(pages, count)
          const from: number = before ?? Number.POSITIVE_INFINITY
          const rows = all.filter(({ id }) => id < from).slice(0, limit + 1)
          const page = pageOf(rows, limit)
          assert.isAtMost(page.items.length, limit)
          seen.push(...page.items)
          if (page.next === null) break
          assert.lengthOf(page.items, limit)
          before = page.next
        }
        assert.deepStrictEqual(seen, all)
      }),
  )
})
