/** The text of a campaign with its placeholders (campaigns: 3). */
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { parseTemplate, renderTemplate } from "../../src/model/template.ts"

const render = (text: string, values: Readonly<Record<string, string>> = {}) =>
  renderTemplate(Result.getOrThrow(parseTemplate(text)), values)

const problem = (text: string): string => {
  const template = parseTemplate(text)
  return Result.isFailure(template) ? template.failure : "none"
}

describe("a template", () => {
  it("puts values in where their names are", () => {
    const values = { name: "Ann", "First Name": " Bo ", city: "{name}" }
    for (const [text, expected] of [
      ["", ""],
      ["Hello", "Hello"],
      ["Hello {name}", "Hello Ann"],
      ["{ NAME }{first name}", "AnnBo"],
      ["{city}", "{name}"],
      ["{name|friend}", "Ann"],
      ["{gone|friend}", "friend"],
      ["{gone|}", ""],
      ["{gone| a|b }", " a|b "],
      ["{{name}}", "{name}"],
      ["{{{name}}}", "{Ann}"],
      ["{{}}", "{}"],
      ["{{{{", "{{"],
      ["}}{name}}}", "}Ann}"],
      ["{name}\n{name}", "Ann\nAnn"],
    ] as const)
      assert.deepStrictEqual(render(text, values), Result.succeed(expected), text)
  })

  it("fails with the name of a placeholder that has neither a value nor words", () => {
    for (const values of [{}, { name: "" }, { name: " \t\u0085" }]) {
      assert.deepStrictEqual(render("Hello {Name},", values), Result.fail("Name"))
      assert.deepStrictEqual(render("{name|you}", values), Result.succeed("you"))
    }
  })

  it("names the character of a brace that is none of these", () => {
    for (const [text, at] of [
      ["Hello {name", 7],
      ["Hello name}", 11],
      ["{}", 1],
      ["{ }", 1],
      ["{|words}", 1],
      ["{a{b}", 1],
      ["{a|b{c}}", 1],
      ["{a}}", 4],
      ["😀{", 2],
      [`{${"x".repeat(101)}}`, 1],
    ] as const)
      assert.include(problem(text), `at character ${at} `, text)
    assert.strictEqual(problem(`{${"😀".repeat(100)}}`), "none")
  })

  it("reads back any text whose braces are doubled", () => {
    const letters = ["{", "}", "a", "|", " ", "😀"]
    let seed = 7
    const next = (below: number) => {
      seed = (seed * 48_271) % 2_147_483_647
      return seed % below
    }
    for (let round = 0; round < 300; round += 1) {
      const text = Array.from({ length: next(9) }, () => letters[next(letters.length)]).join("")
      const doubled = text.replaceAll(/[{}]/g, "$&$&")
      const expected = Result.succeed(`${text}-${text}-`)
      assert.deepStrictEqual(render(`${doubled}{v}`, { v: `-${text}-` }), expected)
    }
  })
})
