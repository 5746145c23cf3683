import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { toProblems } from "../../src/model/Refusal.ts"
import { parseCheckNumbers, parseListCheckResults } from "../../src/service/NumberChecks.ts"

const phone = "+15550000001"

const problems = (body: unknown) => {
  const parsed = parseCheckNumbers(body)
  return Result.isFailure(parsed)
    ? toProblems(parsed.failure).map(({ code, field }) => [code, field])
    : []
}

describe("the body of a number check", () => {
  it.effect("accepts phones with spaces and dashes, and keeps order and duplicates", () =>
    Effect.sync(() =>
      assert.deepStrictEqual<unknown>(
        parseCheckNumbers({ phones: ["+1 555-000 0002", phone, "+15550000002"] }),
        Result.succeed({ phones: ["+15550000002", phone, "+15550000002"] }),
      ),
    ),
  )

  it.effect("accepts a name of up to 100 characters, and null for missing fields", () =>
    Effect.sync(() => {
      const name = "🌻".repeat(100)
      assert.deepStrictEqual<unknown>(
        parseCheckNumbers({ phones: [phone], name, from: 7 }),
        Result.succeed({ phones: [phone], name, from: 7 }),
      )
      const nothing = { phones: [phone], name: null, from: null }
      assert.deepStrictEqual<unknown>(parseCheckNumbers(nothing), Result.succeed(nothing))
      assert.deepStrictEqual(problems({ phones: [phone], name: `${name}x` }), [
        ["validation_failed", "name"],
      ])
    }),
  )

  const wrong: ReadonlyArray<readonly [what: string, body: unknown, found: unknown]> = [
    ["no phones", {}, [["validation_failed", "phones"]]],
    ["phones that are null", { phones: null }, [["validation_failed", "phones"]]],
    ["an empty list", { phones: [] }, [["validation_failed", "phones"]]],
    ["1,001 phones", { phones: Array(1001).fill(phone) }, [["validation_failed", "phones"]]],
    ["one phone as text", { phones: phone }, [["validation_failed", "phones"]]],
    [
      "a phone that is a number",
      { phones: [phone, 15550000001] },
      [["validation_failed", "phones[1]"]],
    ],
    [
      "several bad phones, each by its index",
      { phones: [phone, "0155500001", phone, ""] },
      [
        ["invalid_phone", "phones[1]"],
        ["invalid_phone", "phones[3]"],
      ],
    ],
    ["a name that is a number", { phones: [phone], name: 7 }, [["validation_failed", "name"]]],
    ["a from that is text", { phones: [phone], from: "7" }, [["validation_failed", "from"]]],
    ["an unknown field", { phones: [phone], to: 7 }, [["validation_failed", "to"]]],
    [
      "everything at once, in the order of the fields",
      { from: "7", name: 7, phones: ["1"] },
      [
        ["invalid_phone", "phones[0]"],
        ["validation_failed", "name"],
        ["validation_failed", "from"],
      ],
    ],
  ]
  it.effect.each(wrong)("refuses %s", ([, body, found]) =>
    Effect.sync(() => assert.deepStrictEqual<unknown>(problems(body), found)),
  )

  it.effect("accepts 1,000 phones", () =>
    Effect.sync(() => assert.deepStrictEqual(problems({ phones: Array(1000).fill(phone) }), [])),
  )
})

describe("the query of a check's results", () => {
  it.effect("accepts one status or several, in any order", () =>
    Effect.sync(() => {
      assert.deepStrictEqual(parseListCheckResults({}), Result.succeed({}))
      const request = Result.succeed({ status: ["failed", "registered"] as const, limit: 30 })
      for (const input of [
        { status: "registered,failed,registered", limit: "30" },
        { status: ["registered", "failed", "registered"], limit: 30 },
      ] as const) {
        assert.deepStrictEqual<unknown>(parseListCheckResults(input), request)
      }
    }),
  )

  it.effect("rejects an unknown status", () =>
    Effect.sync(() => {
      for (const status of ["", "Registered", "registered,", "queued"]) {
        const parsed = parseListCheckResults({ status })
        assert.strictEqual(Result.isFailure(parsed) && parsed.failure.field, "status", status)
      }
    }),
  )
})
