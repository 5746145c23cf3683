/** Formatting marks in texts, and the text without them. */
import { assert, it } from "@effect/vitest"
import { formatted } from "../src/content.ts"

/** Each part with its kind, as a phone shows it. */
const format = (source: string) => {
  const { entities, text } = formatted(source)
  return {
    text,
    parts: entities.map(({ kind, length, offset }) => [kind, text.slice(offset, offset + length)]),
  }
}

it("bold, italic and struck parts lose their marks, also when nested and after emoji", () => {
  assert.deepStrictEqual(format("👋 *bold* _italic_ ~gone~"), {
    text: "👋 bold italic gone",
    parts: [
      ["bold", "bold"],
      ["italic", "italic"],
      ["strike", "gone"],
    ],
  })
  assert.deepStrictEqual(format("*bold and _both_ again*."), {
    text: "bold and both again.",
    parts: [
      ["bold", "bold and both again"],
      ["italic", "both"],
    ],
  })
})

it.each([
  "2 * 3 * 4",
  "snake_case_name",
  "a*b*c",
  "*one\ntwo*",
  "**",
  "* *",
  "*open",
  "5~6~7",
  "_ spaced _",
])("%j stays unchanged", (source) => {
  assert.deepStrictEqual(format(source), { text: source, parts: [] })
})

it("overlapping marks of different kinds leave the inner one unchanged", () => {
  assert.deepStrictEqual(format("*a _b* c_"), { text: "a _b c_", parts: [["bold", "a _b"]] })
})
