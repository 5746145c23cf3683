/** Every exported name of the front door, and every member of it, says in its hover text what it is. */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, it } from "vitest"

const src = join(import.meta.dirname, "../src")

/** What is exported from the package's entry, with the files that it stands in. */
const files = [
  "MessagingError.ts",
  "open.ts",
  "testing/TestMessaging.ts",
  ...readdirSync(join(src, "api")).map((name) => `api/${name}`),
]

/** An exported declaration, or a member of an interface, a type or a class, at the start of its line. */
const declaration =
  /^(?:export (?!type \{|\{|\*)|\s+(?:override )?readonly [\w]+\??:|\s+constructor\()/

/** One of a union of objects on its line: its members are told one by one. */
const undocumented = (text: string): ReadonlyArray<string> => {
  const lines = text.split("\n")
  return lines.filter((line, at) => {
    if (!declaration.test(line)) return false
    return !/\*\/\s*$/.test(lines[at - 1] ?? "")
  })
}

for (const file of files) {
  it(`${file} leaves nothing without a text`, () => {
    assert.deepStrictEqual(undocumented(readFileSync(join(src, file), "utf8")), [])
  })
}

it("a member without a text is found", () => {
  const text = "/** A thing. */\nexport interface Thing {\n  readonly id: number\n}\n"
  assert.deepStrictEqual(undocumented(text), ["  readonly id: number"])
})
