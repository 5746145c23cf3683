import { assert, describe, it } from "@effect/vitest"
import type { Refusal } from "@messaging-service/core"
import { Effect, Result, Schema } from "effect"
import { parseQuery, parseTarget, queryRecord, refuseQuery } from "../src/IncomingRequest.ts"
import type { QueryEntries } from "../src/IncomingRequest.ts"

describe("a request target", () => {
  for (const [url, path, query] of [
    ["/a", "/a", ""],
    ["/a/", "/a", ""],
    ["/a//", "/a/", ""],
    ["/", "/", ""],
    ["//", "/", ""],
    ["/a?", "/a", ""],
    ["/a/?b=1", "/a", "b=1"],
    ["/a?b=/", "/a", "b=/"],
    ["/a?b?c", "/a", "b?c"],
    ["", "", ""],
    ["*", "*", ""],
  ] as const) {
    it.effect(`${JSON.stringify(url)} is path ${path} with query ${query}`, () =>
      Effect.sync(() => assert.deepStrictEqual(parseTarget(url), { path, query })),
    )
  }
})

describe("a query string", () => {
  for (const [query, entries] of [
    ["", []],
    ["&&", []],
    ["&&a&&&b=+&&", [["a", ""], ["b", " "]]], // prettier-ignore
    ["\ufeff+a=++é+%2B+%E2%82%AC", [["\ufeff a", "  é + €"]]],
    ["a=1&b=2", [["a", "1"], ["b", "2"]]], // prettier-ignore
    ["a=1&a=2", [["a", "1"], ["a", "2"]]], // prettier-ignore
    ["a", [["a", ""]]],
    ["=a", [["", "a"]]],
    ["a=b=c", [["a", "b=c"]]],
    ["a=1+2", [["a", "1 2"]]],
    ["a=1%2B2", [["a", "1+2"]]],
    ["%61=%C3%A9", [["a", "é"]]],
    ["__proto__=1", [["__proto__", "1"]]],
  ] as const) {
    it.effect(`${JSON.stringify(query)} has its parameters in order`, () =>
      Effect.sync(() =>
        assert.deepStrictEqual(
          Result.getOrThrow(parseQuery(query)),
          entries as ReadonlyArray<readonly [string, string]>,
        ),
      ),
    )
  }

  for (const query of [
    "a=%",
    "a=%4",
    "a=%zz",
    "%=1",
    "a=%C3",
    "a=%FF",
    "a=%ED%A0%80",
    "ok=1&a=%",
  ]) {
    it.effect(`${query} is validation_failed`, () =>
      Effect.sync(() => {
        const result = parseQuery(query)
        assert.isTrue(Result.isFailure(result) && result.failure.code === "validation_failed")
      }),
    )
  }

  it.effect.prop(
    "decodes what was encoded",
    [Schema.Array(Schema.Tuple([Schema.String, Schema.String]))],
    ([entries]) =>
      Effect.sync(() => {
        const known = entries.filter(
          ([name, value]) => name !== "" && name.isWellFormed() && value.isWellFormed(),
        )
        const query = known
          .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`)
          .join("&")
        assert.deepStrictEqual(Result.getOrThrow(parseQuery(query)), known)
      }),
  )
})

const listMessages = (result: Result.Result<unknown, Refusal>) =>
  Result.match(result, {
    onSuccess: () => [],
    onFailure: ({ errors, message }) => [message, ...errors.map((each) => each.message)],
  })

describe("parameters by name", () => {
  it.effect("may not repeat, even with the same value", () =>
    Effect.sync(() => {
      for (const again of ["1", "2"]) {
        const refused = queryRecord([
          ["limit", "1"],
          ["limit", again],
        ])
        assert.deepStrictEqual(listMessages(refused), ["limit: must be given only once"])
      }
    }),
  )

  it.effect("may be called like members of Object.prototype", () =>
    Effect.sync(() => {
      const entries: QueryEntries = [
        ["constructor", "a"],
        ["__proto__", "b"],
      ]
      assert.deepStrictEqual(Object.entries(Result.getOrThrow(queryRecord(entries))), entries)
    }),
  )

  it.effect("are refused by an operation without a query", () =>
    Effect.sync(() => {
      const args: QueryEntries = [
        ["limit", "0"],
        ["colour", "red"],
      ]
      assert.deepStrictEqual(listMessages(refuseQuery(args)), [
        "limit: is not a known field",
        "colour: is not a known field",
      ])
      assert.deepStrictEqual(listMessages(refuseQuery([])), [])
    }),
  )
})
