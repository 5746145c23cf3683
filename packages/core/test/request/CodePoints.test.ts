import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { codePointLength, isBlank } from "../../src/model/Input.ts"

// Unicode's PropList.txt, property White_Space.
const whiteSpace = [
  0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x20, 0x85, 0xa0, 0x1680, 0x2000, 0x2001, 0x2002, 0x2003, 0x2004,
  0x2005, 0x2006, 0x2007, 0x2008, 0x2009, 0x200a, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000,
]

describe("lengths are counted in Unicode code points", () => {
  it.effect("a surrogate pair counts once", () =>
    Effect.sync(() => {
      const lengths: ReadonlyArray<readonly [text: string, length: number]> = [
        ["", 0],
        ["abc", 3],
        ["é", 1],
        ["e\u0301", 2],
        ["😀", 1],
        ["a😀b😀", 4],
        ["👨‍👩‍👧", 5],
        ["\ud83d", 1],
        ["\ude00", 1],
        ["\ude00\ud83d", 2],
        ["\ud83d\ud83d\ude00", 2],
        ["\ud83d\ude00\ude00", 2],
      ]
      for (const [text, length] of lengths) assert.strictEqual(codePointLength(text), length, text)
    }),
  )

  it.effect.prop(
    "agrees with the string's own iterator",
    [Schema.String, Schema.String],
    ([a, b]) => Effect.sync(() => assert.strictEqual(codePointLength(a + b), [...(a + b)].length)),
  )
})

describe("text of white space only counts as blank", () => {
  it.effect("exactly the characters of Unicode White_Space are white space", () =>
    Effect.sync(() => {
      const blank: Array<number> = []
      for (let code = 0; code <= 0x10_ffff; code++) {
        if (isBlank(String.fromCodePoint(code))) blank.push(code)
      }
      assert.deepStrictEqual(blank, whiteSpace)
    }),
  )

  it.effect("the empty text is blank, and one visible character is not", () =>
    Effect.sync(() => {
      const all = String.fromCodePoint(...whiteSpace)
      assert.isTrue(isBlank(""))
      assert.isTrue(isBlank(all))
      for (const other of ["x", "\ufeff", "\u200b", "😀", "\ud83d", "\u0000"]) {
        assert.isFalse(isBlank(all + other + all), other)
      }
    }),
  )

  it.effect("judges a long run of white space in one pass", () =>
    Effect.sync(() => assert.isFalse(isBlank(" ".repeat(1 << 20) + "x"))),
  )
})
