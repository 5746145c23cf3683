import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"
import { parseQuery, parseTarget } from "../../src/request/Target.ts"

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
    it.effect(`${JSON.stringify(query)} has its parameters in their order`, () =>
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
    "whatever is encoded comes back",
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
