import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"
import { problem } from "../../src/model/Refusal.ts"
import {
  decoded,
  inputDecoder,
  InstantInput,
  integerBetween,
  parsed,
  refusedAs,
  textBetween,
} from "../../src/model/Input.ts"

const Inner = Schema.Struct({
  size: Schema.optionalKey(Schema.Int),
  kind: Schema.optionalKey(Schema.Literals(["small", "large"])),
})

const Body = Schema.Struct({
  name: textBetween(1, 3),
  when: Schema.optionalKey(Schema.NullOr(InstantInput)),
  inner: Schema.optionalKey(Schema.NullOr(Inner)),
  list: Schema.optionalKey(Schema.Array(Inner)),
  count: Schema.optionalKey(Schema.NullOr(integerBetween(0, 9))),
  phone: Schema.optionalKey(
    parsed("invalid_phone", (text) => (text.startsWith("+") ? text : undefined)),
  ),
  pair: Schema.optionalKey(
    decoded(Schema.Struct({ a: Schema.Int, b: Schema.Int }), ({ a, b }) =>
      a < b ? b - a : refusedAs("no_credits", ["b"]),
    ),
  ),
})

const decode = inputDecoder(Body, {
  codes: ["invalid_datetime", "invalid_phone", "no_credits", "missing_scope"],
  across: ({ name, phone }) =>
    name === "abc" && phone === undefined ? [problem("missing_scope", "when")] : [],
})

const getProblems = (body: unknown) =>
  Result.match(decode(body), {
    onSuccess: () => [],
    onFailure: ({ code, errors, field, message }) =>
      [{ code, field, message }, ...errors].map((each) => [each.code, each.field, each.message]),
  })

const codes = (body: unknown) => getProblems(body).map(([code, field]) => [code, field])

describe("inputDecoder", () => {
  it.effect("returns the decoded value", () =>
    Effect.sync(() =>
      assert.deepStrictEqual<unknown>(
        decode({
          name: "ab",
          when: "1970-01-01T00:00:01.0005Z",
          inner: null,
          list: [{ size: 1 }, {}],
          phone: "+1",
          pair: { a: 1, b: 3 },
        }),
        Result.succeed({
          name: "ab",
          when: { millis: 1000, beyond: "5" },
          inner: null,
          list: [{ size: 1 }, {}],
          phone: "+1",
          pair: 2,
        }),
      ),
    ),
  )

  it.effect("rejects a non-object value as a whole: validation_failed", () =>
    Effect.sync(() => {
      for (const body of [undefined, null, 5, "text", true, [], [{}]]) {
        assert.deepStrictEqual(codes(body), [["validation_failed", null]])
      }
    }),
  )

  it.effect("refuses with the catalogue code and text that a check names", () =>
    Effect.sync(() => {
      assert.deepStrictEqual(getProblems({ name: "a", phone: "1" }), [
        ["invalid_phone", "phone", "Phone numbers are international, with + and a country code."],
      ])
      assert.deepStrictEqual(codes({ name: "a", when: "soon" }), [["invalid_datetime", "when"]])
      assert.deepStrictEqual(codes({ name: "a", pair: { a: 2, b: 1 } }), [["no_credits", "pair.b"]])
    }),
  )

  it.effect("everything else is validation_failed, with a description", () =>
    Effect.sync(() => {
      assert.deepStrictEqual(getProblems({}), [["validation_failed", "name", "is required"]])
      assert.deepStrictEqual(getProblems({ name: 5 }), [
        ["validation_failed", "name", "must be a text"],
      ])
      assert.deepStrictEqual(getProblems({ name: "" }), [
        ["validation_failed", "name", "must have 1 to 3 characters"],
      ])
      assert.deepStrictEqual(getProblems({ name: "a", other: 1 }), [
        ["validation_failed", "other", "is not a known field"],
      ])
      assert.deepStrictEqual(getProblems({ name: "a", inner: { kind: "huge" } }), [
        ["validation_failed", "inner.kind", 'must be "small" or "large"'],
      ])
      for (const inner of [5, []]) {
        assert.deepStrictEqual(getProblems({ name: "a", inner }), [
          ["validation_failed", "inner", "must be an object or null"],
        ])
      }
      for (const list of [5, null]) {
        assert.deepStrictEqual(getProblems({ name: "a", list }), [
          ["validation_failed", "list", "must be a list"],
        ])
      }
      assert.deepStrictEqual(getProblems({ name: "a", inner: { size: "1" } }), [
        ["validation_failed", "inner.size", "must be a whole number"],
      ])
      assert.deepStrictEqual(getProblems({ name: "a", when: 5 }), [
        ["validation_failed", "when", "must be a text or null"],
      ])
      for (const count of [-1, 10, 1.5, 1e300, 2 ** 53]) {
        assert.deepStrictEqual(getProblems({ name: "a", count }), [
          ["validation_failed", "count", "must be a whole number from 0 to 9"],
        ])
      }
      assert.deepStrictEqual(getProblems({ name: "a", count: "5" }), [
        ["validation_failed", "count", "must be a whole number from 0 to 9 or null"],
      ])
    }),
  )

  it.effect("lengths are counted in code points", () =>
    Effect.sync(() => {
      assert.deepStrictEqual(codes({ name: "\u{1F680}\u{1F680}\u{1F680}" }), [])
      assert.deepStrictEqual(codes({ name: "\u{1F680}\u{1F680}\u{1F680}a" }), [
        ["validation_failed", "name"],
      ])
    }),
  )

  it.effect("reports every problem, whatever the order of the input", () =>
    Effect.sync(() => {
      const expected = [
        ["validation_failed", "name"],
        ["validation_failed", "when"],
        ["validation_failed", "inner.size"],
        ["validation_failed", "inner.kind"],
        ["validation_failed", "list[1].size"],
        ["validation_failed", "list[2]"],
        ["invalid_phone", "phone"],
      ]
      const fields = {
        name: null,
        when: 5,
        inner: { size: "1", kind: "huge" },
        list: [{}, { size: 1.5 }, null],
        phone: "1",
      }
      assert.deepStrictEqual(codes(fields), expected)
      const turned = Object.fromEntries(Object.entries(fields).toReversed())
      assert.deepStrictEqual(codes(turned), expected)
    }),
  )

  it.effect("unknown fields come last, named by their path", () =>
    Effect.sync(() =>
      assert.deepStrictEqual(
        codes({ zeta: 1, inner: { extra: 1 }, list: [{}, { more: 1 }], phone: "1", name: "a" }),
        [
          ["invalid_phone", "phone"],
          ["validation_failed", "zeta"],
          ["validation_failed", "inner.extra"],
          ["validation_failed", "list[1].more"],
        ],
      ),
    ),
  )

  it.effect("orders rules across fields as the table does, among problems of fields", () =>
    Effect.sync(() => {
      assert.deepStrictEqual(codes({ name: "abc" }), [["missing_scope", "when"]])
      assert.deepStrictEqual(codes({ name: "abc", inner: 5, list: 5 }), [
        ["missing_scope", "when"],
        ["validation_failed", "inner"],
        ["validation_failed", "list"],
      ])
    }),
  )

  it.effect("accepts null only where the field allows it", () =>
    Effect.sync(() => {
      assert.deepStrictEqual(codes({ name: "a", when: null, inner: null }), [])
      assert.deepStrictEqual(codes({ name: null, list: null, phone: null, pair: null }), [
        ["validation_failed", "name"],
        ["validation_failed", "list"],
        ["validation_failed", "phone"],
        ["validation_failed", "pair"],
      ])
    }),
  )

  it.effect("a field that is undefined counts as left out", () =>
    Effect.sync(() => {
      assert.deepStrictEqual(codes({ name: "a", list: undefined, colour: undefined }), [])
      assert.deepStrictEqual(codes({ name: undefined }), [["validation_failed", "name"]])
    }),
  )
})
