import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"
import { canonicalJson } from "@messaging-service/core"
import { parseStrictJson } from "../src/StrictJson.ts"
import type { JsonValue } from "../src/StrictJson.ts"

const utf8 = new TextEncoder()
const parse = (text: string) => parseStrictJson(utf8.encode(text))
const value = (text: string): JsonValue => Result.getOrThrow(parse(text))
const problem = (text: string): string | undefined => {
  const result = parse(text)
  return Result.isFailure(result) ? result.failure.reason : undefined
}
const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels)

const accepted: ReadonlyArray<readonly [text: string, expected: unknown]> = [
  ["null", null],
  ["true", true],
  ["false", false],
  ['""', ""],
  [" \t\r\n 1 \n", 1],
  ["0", 0],
  ["-12", -12],
  ["0.5", 0.5],
  ["1e3", 1000],
  ["1E+3", 1000],
  ["12.5e-1", 1.25],
  ["9007199254740991", 9007199254740991],
  ["123456789012345", 123456789012345],
  ["1234567890123456", 1234567890123456],
  // Adding up these digits would round twice.
  ["31308549106263012", 31308549106263012],
  ["[]", []],
  ["[ ]", []],
  ["{ }", {}],
  ["[1 , [2]]", [1, [2]]],
  ['{"a" : {"b" : [true, null]}}', { a: { b: [true, null] } }],
  ['"\\"\\\\\\/\\b\\f\\n\\r\\t"', '"\\/\b\f\n\r\t'],
  ['"a\\u00e9\\u00E9z"', "aééz"],
  ['"\\ud83d\\ude00"', "😀"],
  ['"x😀\\n😀"', "x😀\n😀"],
  ['"\u007f\u2028\u2029"', "\u007f\u2028\u2029"],
  ['{"": 1}', { "": 1 }],
]

const outsideTheGrammar = [
  "",
  " ",
  "nul",
  "nulll",
  "True",
  "NaN",
  "Infinity",
  "undefined",
  "01",
  "-01",
  "-",
  "+1",
  ".5",
  "1.",
  "1.e3",
  "1e",
  "1e+",
  "0x10",
  "1_000",
  "1 2",
  "[1,]",
  "[,1]",
  "[1 2]",
  "[",
  "]",
  "[1}",
  "{",
  '{"a"}',
  '{"a":}',
  '{"a":1,}',
  '{,"a":1}',
  '{"a":1 "b":2}',
  "{a:1}",
  "{1:1}",
  "{'a':1}",
  "'a'",
  '"',
  '"a',
  '"\\',
  '"\\"',
  '"\\x41"',
  '"\\u12"',
  '"\\u12g4"',
  '"\\U0041"',
  '"\t"',
  '"a\nb"',
  '"\\n\n"',
  '"\u0000"',
  "1 // one",
  "/* one */ 1",
  "\u00a01",
  "\u000b1",
  "\u20281",
  '{"a":1}{"b":2}',
]

describe("the grammar", () => {
  it.effect("accepts what RFC 8259 allows", () =>
    Effect.sync(() => {
      for (const [text, expected] of accepted) {
        assert.deepStrictEqual<unknown>(value(text), expected, text)
      }
    }),
  )

  it.effect("rejects anything else", () =>
    Effect.sync(() => {
      for (const text of outsideTheGrammar) assert.isDefined(problem(text), JSON.stringify(text))
    }),
  )

  it.effect(
    "keeps the sign of zero and reads an excessive number as infinite, as JSON.parse does",
    () =>
      Effect.sync(() => {
        assert.isTrue(Object.is(value("-0"), -0))
        assert.strictEqual(value("1e400"), Number.POSITIVE_INFINITY)
      }),
  )

  it.effect("the reason gives the position, and repeats nothing of the body", () =>
    Effect.sync(() => {
      assert.strictEqual(problem('{"secret": tru}'), "unexpected character at position 11")
      assert.strictEqual(problem('{"secret": 1'), "unexpected end at position 12")
      assert.strictEqual(problem('{"secret":1,"secret":2}'), "duplicate key at position 20")
    }),
  )
})

describe("bytes", () => {
  it.effect("accepts one BOM, in front", () =>
    Effect.sync(() => {
      assert.strictEqual(value("\ufeff1"), 1)
      assert.isDefined(problem("\ufeff\ufeff1"))
      assert.isDefined(problem("1\ufeff"))
      assert.strictEqual(value('"\ufeff"'), "\ufeff")
    }),
  )

  it.effect("rejects invalid UTF-8, without affecting the next body", () =>
    Effect.sync(() => {
      const inQuotes = (...bytes: ReadonlyArray<number>) =>
        parseStrictJson(Uint8Array.of(0x22, ...bytes, 0x22))
      const broken = [
        [0xff],
        [0xc3],
        [0xc0, 0x80], // overlong NUL
        [0xe0, 0x80, 0xaf], // overlong slash
        [0xed, 0xa0, 0x80], // encoded surrogate
        [0xf4, 0x90, 0x80, 0x80], // above U+10FFFF
      ]
      for (const bytes of broken) {
        assert.deepStrictEqual(
          inQuotes(...bytes),
          Result.fail({ code: "invalid_json", reason: "the body is not UTF-8" }),
        )
        assert.deepStrictEqual(inQuotes(0xc3, 0xa9), Result.succeed("é"))
      }
    }),
  )

  it.effect("rejects UTF-16 and UTF-32, with a BOM or without", () =>
    Effect.sync(() => {
      const bodies = [
        [0xff, 0xfe, 0x31, 0x00],
        [0xfe, 0xff, 0x00, 0x31],
        [0x31, 0x00],
        [0x00, 0x00, 0x00, 0x31],
      ]
      for (const bytes of bodies) {
        assert.isTrue(Result.isFailure(parseStrictJson(Uint8Array.from(bytes))))
      }
    }),
  )
})

describe("errors that other readers tolerate", () => {
  it.effect("allows 32 levels, the root being level 1; a scalar is no level", () =>
    Effect.sync(() => {
      assert.isUndefined(problem(nested(32)))
      assert.isUndefined(problem("[".repeat(32) + "1" + "]".repeat(32)))
      assert.isUndefined(problem('{"a":'.repeat(32) + "1" + "}".repeat(32)))
      assert.match(problem(nested(33))!, /nested deeper than 32 levels/)
      assert.match(problem('{"a":'.repeat(33) + "1" + "}".repeat(33))!, /nested deeper/)
      assert.match(problem("[".repeat(1_000_000))!, /nested deeper/)
    }),
  )

  it.effect("does not add up sibling levels", () =>
    Effect.sync(() => {
      assert.isUndefined(problem(`[${Array.from({ length: 100 }, () => nested(31)).join()}]`))
    }),
  )

  it.effect("rejects a duplicate key at any level and in any spelling", () =>
    Effect.sync(() => {
      const duplicates = [
        '{"a":1,"a":1}',
        '{"a":null,"b":2,"a":null}',
        '[{"x":{"a":false,"a":0}}]',
        '{"a":1,"\\u0061":2}',
        '{"":1,"":2}',
        '{"__proto__":1,"__proto__":2}',
        '{"0":1,"0":2}',
      ]
      for (const text of duplicates) assert.match(problem(text) ?? "", /^duplicate key/, text)
      assert.isUndefined(problem('{"a":{"a":1},"b":{"a":1}}'))
    }),
  )

  it.effect("rejects a lone surrogate, in keys too", () =>
    Effect.sync(() => {
      const lone = [
        '"\\ud800"',
        '"\\udc00"',
        '"\\ude00\\ud83d"',
        '"\\ud83d\\ud83d\\ude00"',
        '"\\udc00\\ude00"',
        '"\\ud83d\\udbff"',
        '"\\ud83d\\ue000"',
        '"\\ud83dx"',
        '"\\ud83d\\n"',
        '"\\ud83d\\u0041"',
        '"\\ud83d\u{1F600}"',
        '{"\\udfff":1}',
      ]
      for (const text of lone) assert.match(problem(text) ?? "", /^lone surrogate/, text)
    }),
  )

  it.effect("rejects a NUL, in keys too", () =>
    Effect.sync(() => {
      for (const text of ['"\\u0000"', '"a\\u0000b"', '{"\\u0000":1}']) {
        assert.match(problem(text) ?? "", /^NUL/, text)
      }
      assert.strictEqual(value('"\\u0001\\\\u0000"'), "\u0001\\u0000")
    }),
  )

  it.effect("treats __proto__ and the like as ordinary keys of an object without prototype", () =>
    Effect.sync(() => {
      const object = value('{"__proto__":{"admin":true},"constructor":1,"toString":2}') as object
      assert.isNull(Object.getPrototypeOf(object))
      assert.deepStrictEqual(Object.keys(object), ["__proto__", "constructor", "toString"])
      assert.isUndefined(({} as { admin?: boolean }).admin)
      assert.isFalse("admin" in object)
    }),
  )
})

describe("the canonical text", () => {
  it.effect("is the same for every order of keys, spelling and white space", () =>
    Effect.sync(() => {
      const canonical = '{"a":[1,{"c":"é","d":null}],"b":true}'
      assert.strictEqual(canonicalJson(value(canonical)), canonical)
      assert.strictEqual(
        canonicalJson(value('{ "b" : true, "\\u0061": [1.0, {"d":null,"c":"\\u00e9"}] }')),
        canonical,
      )
    }),
  )

  it.effect("differs where the values differ", () =>
    Effect.sync(() => {
      const texts = ["[]", "{}", "null", '"null"', "0", '"0"', "[[]]", "[1,2]", "[2,1]", "1e400"]
      const all = [...texts, "-1e400", '{"a":null}', '{"__proto__":null}', '"\\u0022"', '""']
      assert.strictEqual(new Set(all.map((text) => canonicalJson(value(text)))).size, all.length)
    }),
  )
})

const jsonParse = (text: string) =>
  Result.try({
    // The decoder removes the BOM before JSON.parse would see it.
    try: (): unknown => JSON.parse(text.startsWith("\ufeff") ? text.slice(1) : text),
    catch: () => "no JSON",
  })

/** Equal to JSON.parse, or refused for one of the four reasons that JSON.parse ignores. */
const assertAgreesWithJsonParse = (text: string) => {
  const strict = parse(text)
  const lenient = jsonParse(text)
  if (Result.isSuccess(strict)) {
    assert.deepStrictEqual<unknown>(strict.success, Result.getOrThrow(lenient), text)
  } else if (Result.isSuccess(lenient)) {
    assert.match(strict.failure.reason, /^(duplicate key|lone surrogate|NUL|nested deeper)/, text)
  }
}

const isStrict = (json: Schema.Json): boolean => {
  if (typeof json === "string") return json.isWellFormed() && !json.includes("\0")
  if (typeof json !== "object" || json === null) return true
  return Object.entries(json).every(([key, member]) => isStrict(key) && isStrict(member))
}

const fragments = [
  "{",
  "}",
  "[",
  "]",
  ",",
  ":",
  " ",
  '"',
  '"a"',
  '"b":',
  "\\",
  "\\u",
  "\\n",
  "d83d",
]
const moreFragments = [
  "de00",
  "0000",
  "0041",
  "0",
  "1",
  "-",
  ".",
  "e",
  "true",
  "null",
  "\n",
  "\0",
  "é",
]
const Soup = Schema.Array(Schema.Literals([...fragments, ...moreFragments]))

describe("for any input", () => {
  it.effect.prop("reads the output of JSON.stringify as JSON.parse does", [Schema.Json], ([json]) =>
    Effect.sync(() => {
      for (const text of [JSON.stringify(json), JSON.stringify(json, null, "\t")]) {
        assert.strictEqual(Result.isSuccess(parse(text)), isStrict(json), text)
        assertAgreesWithJsonParse(text)
      }
    }),
  )

  it.effect.prop("the canonical text parses to the same value", [Schema.Json], ([json]) =>
    Effect.sync(() => {
      const text = JSON.stringify(json)
      if (!isStrict(json)) return
      const canonical = canonicalJson(value(text))
      assert.deepStrictEqual(value(canonical), value(text))
      assert.strictEqual(canonicalJson(value(canonical)), canonical)
    }),
  )

  it.effect.prop(
    "refuses a damaged text, or reads it as JSON.parse does",
    [Schema.Json, Schema.Natural, Schema.Natural, Schema.String],
    ([json, from, length, inserted]) =>
      Effect.sync(() => {
        const text = JSON.stringify(json)
        const start = from % (text.length + 1)
        const end = start + (length % 3)
        // Only texts that UTF-8 can carry: otherwise the two readers get different input.
        assertAgreesWithJsonParse(
          (text.slice(0, start) + inserted.slice(0, 2) + text.slice(end)).toWellFormed(),
        )
      }),
    { arbitrary: { runs: 1000 } },
  )

  it.effect.prop(
    "refuses fragments in any order, or reads them as JSON.parse does",
    [Soup],
    ([soup]) => Effect.sync(() => assertAgreesWithJsonParse(soup.join(""))),
    { arbitrary: { runs: 3000 } },
  )

  it.effect.prop("never throws, whatever the bytes", [Schema.Uint8Array], ([bytes]) =>
    Effect.sync(() => {
      assert.isDefined(parseStrictJson(bytes))
      assert.isDefined(parseStrictJson(Uint8Array.of(0x22, ...bytes, 0x22)))
    }),
  )
})
