import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { parseListRequest, textPattern } from "../../src/service/Messages.ts"
import type { ReferencedList } from "../../src/service/Messages.ts"

const getProblems = (query: object) =>
  Result.match(parseListRequest(query, true), {
    onSuccess: () => [],
    onFailure: ({ code, errors, field }) =>
      [{ code, field }, ...errors].map((each) => [each.code, each.field]),
  })

const getSuccess = (input: Readonly<Record<string, string>>) => {
  assert.deepStrictEqual(getProblems(input), [])
  return Result.getOrThrow(parseListRequest(input as ReferencedList, true))
}

const noon = Date.UTC(2030, 0, 1, 12)

describe("GET /messages", () => {
  it.effect("without parameters lists everything, 25 to a page", () =>
    Effect.sync(() =>
      assert.deepStrictEqual(getSuccess({}), {
        filter: {
          statuses: null,
          from: null,
          phone: null,
          reference: null,
          error: null,
          since: null,
          until: null,
        },
        limit: 25,
        cursor: null,
        text: null,
      }),
    ),
  )

  it.effect("parses values from text as strictly as from JSON", () =>
    Effect.sync(() => {
      const text = {
        status: "sent,read",
        from: "7",
        to: "+15550000001",
        since: "2030-01-01T12:00:00.000Z",
        limit: "30",
      }
      const values: ReferencedList = {
        status: ["sent", "read"],
        from: 7,
        to: "+15550000001",
        since: new Date(noon),
        limit: 30,
      }
      assert.deepStrictEqual(Result.getOrThrow(parseListRequest(values, true)), getSuccess(text))
      const wrong: ReadonlyArray<readonly [ReferencedList, code: string, field: string]> = [
        [{ limit: 0 }, "validation_failed", "limit"],
        [{ from: 1.5 }, "validation_failed", "from"],
        [{ to: "12" }, "invalid_phone", "to"],
        [{ until: new Date(Number.NaN) }, "invalid_datetime", "until"],
        [{ status: [] }, "validation_failed", "status"],
        [{ colour: "red" } as ReferencedList, "validation_failed", "colour"],
      ]
      for (const [input, code, field] of wrong) {
        const refusal = Result.getOrThrow(Result.flip(parseListRequest(input, true)))
        assert.deepStrictEqual([refusal.code, refusal.field], [code, field])
      }
    }),
  )

  it.effect("takes every filter", () =>
    Effect.sync(() =>
      assert.deepStrictEqual<unknown>(
        getSuccess({
          status: "sent",
          from: "7",
          to: "+1 555-000-0001",
          since: "2030-01-01T12:00:00Z",
          until: "2030-01-01T14:00:00+01:00",
          limit: "100",
          cursor: "abc",
          reference: "order 4711",
          error: "send_failed",
        }),
        {
          filter: {
            statuses: ["sent"],
            from: 7,
            phone: "+15550000001",
            reference: "order 4711",
            error: "send_failed",
            since: noon,
            until: noon + 3_600_000,
          },
          limit: 100,
          cursor: "abc",
          text: null,
        },
      ),
    ),
  )

  it.effect("accepts one or several statuses, comma-separated, in any order", () =>
    Effect.sync(() => {
      const statuses = (status: string) => getSuccess({ status }).filter.statuses
      const all = "queued,scheduled,sent,delivered,read,failed,cancelled,expired"
      assert.sameMembers([...(statuses(all) ?? [])], all.split(","))
      assert.deepStrictEqual(statuses("sent,queued"), statuses("queued,sent,queued"))
      assert.deepStrictEqual(
        getSuccess({ status: "sent,queued" }).filter,
        getSuccess({ status: "queued,sent" }).filter,
      )
    }),
  )

  it.effect("compares since and until at full precision", () =>
    Effect.sync(() => {
      const { filter } = getSuccess({
        since: "2030-01-01T12:00:00.0001Z",
        until: "2030-01-01T12:00:00.00100Z",
      })
      // Created at or after, created before; creation times are whole milliseconds.
      assert.strictEqual(filter.since, noon + 1)
      assert.strictEqual(filter.until, noon + 1)
      assert.strictEqual(getSuccess({ until: "2030-01-01T12:00:00.0001Z" }).filter.until, noon + 1)
    }),
  )

  const refused: ReadonlyArray<
    readonly [what: string, query: object, told: ReadonlyArray<ReadonlyArray<string>>]
  > = [
    ["an unknown status", { status: "waiting" }, [["validation_failed", "status"]]],
    ["an empty status", { status: "" }, [["validation_failed", "status"]]],
    ["a status in capitals", { status: "Sent" }, [["validation_failed", "status"]]],
    ["a trailing comma", { status: "sent," }, [["validation_failed", "status"]]],
    ["a space between", { status: "sent, read" }, [["validation_failed", "status"]]],
    ["a from that is not an id", { from: "x" }, [["validation_failed", "from"]]],
    ["a from of 0", { from: "0" }, [["validation_failed", "from"]]],
    ["an empty from", { from: "" }, [["validation_failed", "from"]]],
    ["a from that is too large", { from: "9007199254740992" }, [["validation_failed", "from"]]],
    ["a to without +", { to: "15550000001" }, [["invalid_phone", "to"]]],
    ["an empty to", { to: "" }, [["invalid_phone", "to"]]],
    [
      "a since without an offset",
      { since: "2030-01-01T12:00:00" },
      [["invalid_datetime", "since"]],
    ],
    ["an until that is a date", { until: "2030-01-01" }, [["invalid_datetime", "until"]]],
    [
      "a plus sign that became a space",
      { since: "2030-01-01T12:00:00 02:00" },
      [["invalid_datetime", "since"]],
    ],
    ["a limit of 101", { limit: "101" }, [["validation_failed", "limit"]]],
    ["an unknown parameter", { page: "2" }, [["validation_failed", "page"]]],
    [
      "several problems, unknown parameters last",
      { page: "2", limit: "0", until: "x", since: "y", to: "z", from: "f", status: "s" },
      [
        ["validation_failed", "status"],
        ["validation_failed", "from"],
        ["invalid_phone", "to"],
        ["invalid_datetime", "since"],
        ["invalid_datetime", "until"],
        ["validation_failed", "limit"],
        ["validation_failed", "page"],
      ],
    ],
  ]
  it.effect.each(refused)("refuses %s", ([, entries, expected]) =>
    Effect.sync(() => assert.deepStrictEqual<unknown>(getProblems(entries), expected)),
  )

  it.effect("looks for a text and an error only for the program and the operator", () =>
    Effect.sync(() => {
      const trusted = Result.getOrThrow(
        parseListRequest({ text: " Order", error: "send_failed" }, true),
      )
      assert.strictEqual(trusted.text, " Order")
      assert.strictEqual(trusted.filter.error, "send_failed")
      const refusedBy = (input: object, isTrusted: boolean) =>
        Result.match(parseListRequest(input, isTrusted), {
          onFailure: ({ code, field }) => [code, field],
          onSuccess: () => [],
        })
      assert.deepStrictEqual(refusedBy({ text: "Order" }, false), ["validation_failed", "text"])
      assert.deepStrictEqual(refusedBy({ error: "send_failed" }, false), [
        "validation_failed",
        "error",
      ])
      for (const input of [
        { text: "" },
        { text: "a".repeat(101) },
        { text: "Order", to: "+15550000001" },
      ]) {
        assert.deepStrictEqual(refusedBy(input, true), ["validation_failed", "text"])
      }
      assert.deepStrictEqual(refusedBy({ error: "no_error" }, true), ["validation_failed", "error"])
    }),
  )

  it.effect("makes a pattern that finds the text in any case, and nothing else", () =>
    Effect.sync(() => {
      const finds = (text: string, within: string) =>
        new RegExp(textPattern(text), "u").test(within)
      assert.isTrue(finds("order", "An ORDER of 4711"))
      assert.isTrue(finds("GRÜSSE 😀", "Schöne grüsse 😀"))
      assert.isTrue(finds("привет", "ПРИВЕТ"))
      assert.isFalse(finds("order", "ord er"))
      const signs = "^$\\.*+?()[]{}|/-&~#\n"
      assert.isTrue(finds(signs, `before ${signs} behind`))
      for (const sign of signs) assert.isFalse(finds(sign, "plain text"), sign)
    }),
  )
})
