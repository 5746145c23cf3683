/** How many values a JSON body may hold (sharedResources: jsonValues), and the cost of few long ones. */
import { assert, describe, it } from "@effect/vitest"
import { sharedLimits } from "@messaging-service/core"
import { Effect, Result, Schema } from "effect"
import { parseStrictJson } from "../src/StrictJson.ts"
import type { JsonValue } from "../src/StrictJson.ts"

const maxValues = sharedLimits.jsonValues.whole

const parse = (text: string) => parseStrictJson(new TextEncoder().encode(text))
const value = (text: string): JsonValue => Result.getOrThrow(parse(text))
const problem = (text: string): string | undefined => {
  const result = parse(text)
  return Result.isFailure(result) ? result.failure.reason : undefined
}
const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels)
const times = (count: number, text: string) => Array.from({ length: count }, () => text).join()

const tooMany = Result.fail({
  code: "request_too_large",
  reason: `more than ${maxValues} values`,
} as const)

/** Bodies of that many values, each without its end. */
const shapes: Readonly<Record<string, (count: number) => readonly [open: string, close: string]>> =
  {
    "a list": (count) => [`[${times(count, "0")}`, "]"],
    "a list of empty objects": (count) => [`[${times(count, "{}")}`, "]"],
    "a list of empty lists": (count) => [`[${times(count, "[]")}`, "]"],
    "a list in an object": (count) => [`{"a":[${times(count - 1, "{}")}`, "]}"],
    "an object": (count) => [
      `{${Array.from({ length: count }, (_, at) => `"u${at}":0`).join()}`,
      "}",
    ],
    "objects of one member": (count) => [`[${times(count / 2, '{"a":0}')}`, "]"],
    "lists of 31 levels": (count) => [
      `[${times(Math.floor(count / 31), nested(31))},${times(count % 31, "0")}`,
      "]",
    ],
    "the value after a deep list": (count) => [`[${nested(31)},${times(count - 31, "0")}`, "]"],
  }

/** The number of members of all lists and objects in a value. */
const countMembers = (json: Schema.Json): number =>
  typeof json === "object" && json !== null
    ? Object.values(json).reduce<number>((sum, member) => sum + 1 + countMembers(member), 0)
    : 0

describe("the number of values", () => {
  for (const [what, shape] of Object.entries(shapes)) {
    it.effect(`${what}: reads up to the maximum, and no further`, () =>
      Effect.sync(() => {
        const [open, close] = shape(maxValues)
        assert.deepStrictEqual<unknown>(value(open + close), JSON.parse(open + close))
        const another = close.startsWith("}") ? '"another":0' : "0"
        for (const rest of [another + close, another, "{}", "?", '"\\u0000"', nested(40), ""]) {
          assert.deepStrictEqual(parse(`${open},${rest}`), tooMany, rest)
        }
      }),
    )
  }

  it.effect("reports a problem before the bound, however much follows", () =>
    Effect.sync(() => {
      assert.match(problem(`[?,${times(maxValues + 1, "0")}]`)!, /^unexpected character/)
      assert.match(problem(`[{"a":0,"a":0},${times(maxValues, "0")}]`)!, /^duplicate key/)
    }),
  )

  it.effect("a list of 1,000 recipients may have eight fields in each", () =>
    Effect.sync(() => {
      const fields = Array.from({ length: 8 }, (_, at) => `"f${at}":0`).join()
      const text = `{"to":[${times(1000, `{"phone":"+15550001234",${fields}}`)}]}`
      assert.match(problem(text)!, /^more than/)
      assert.isUndefined(problem(text.replaceAll(',"f7":0', "")))
    }),
  )

  it.effect.prop(
    "reads any value up to the bound and refuses it above, whatever follows",
    [Schema.Json, Schema.String],
    ([json, rest]) =>
      Effect.sync(() => {
        if (Result.isFailure(parse(JSON.stringify(json)))) return
        const left = maxValues - 1 - countMembers(json)
        const text = `[${JSON.stringify(json)},${times(left, "0")}`
        assert.deepStrictEqual<unknown>(value(`${text}]`), JSON.parse(`${text}]`))
        // White space before the first surplus member is skipped.
        assert.deepStrictEqual(parse(`${text},${rest.toWellFormed()}`), tooMany)
      }),
    { arbitrary: { runs: 50 } },
  )
})

describe("cost", () => {
  // Each of these takes minutes with one quadratic step; the test's own time limit is the measure.
  it.effect("no body of 1 MiB is slow to read", () =>
    Effect.sync(() => {
      const size = 1 << 20
      assert.strictEqual((value(`"${"\\n".repeat(size / 2)}"`) as string).length, size / 2)
      assert.strictEqual((value(`"${"\\ud83d\\ude00".repeat(size / 12)}"`) as string).length % 2, 0)
      assert.strictEqual(value("1".repeat(size)), Number.POSITIVE_INFINITY)
      assert.isDefined(problem(`[${"1,".repeat(size / 2)}`))
      assert.isDefined(problem(" ".repeat(size)))
      const keys = Array.from({ length: maxValues }, (_, index) => `"${index}":1`)
      assert.strictEqual(Object.keys(value(`{${keys.join()}}`) as object).length, maxValues)
    }),
  )
})
