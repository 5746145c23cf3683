/**
 * Compares the output of commands with the page. `…` matches at least one character. JSON is compared by its
 * values: `"…"` matches any value, and a field named `…` all fields that the page omits.
 */
import type { Expectation } from "./Markdown.ts"

/** The difference: the page's line, and what is wrong with it; null when there is none. */
export interface Difference {
  readonly line: number
  readonly what: string
}

export const findDifference = (expected: Expectation, output: string): Difference | null =>
  expected.language === "json" ? inJson(expected, output) : inText(expected, output)

const inText = ({ line, text }: Expectation, output: string): Difference | null => {
  const expected = text.trimEnd().split("\n")
  const printed = output.trimEnd().split("\n")
  for (let n = 0; n < Math.max(expected.length, printed.length); n++) {
    const pattern = expected[n]
    const found = printed[n]
    if (pattern === undefined) return { line: line + n, what: `more was printed: ${found}` }
    if (found === undefined) return { line: line + n, what: "nothing more was printed" }
    if (!fits(pattern, found)) return { line: line + n, what: `printed: ${found}` }
  }
  return null
}

const inJson = ({ line, text }: Expectation, output: string): Difference | null => {
  const expected = parse(text)
  if (expected === undefined) return { line, what: "the page's JSON is none" }
  const found = parse(output)
  if (found === undefined) return { line, what: `printed no JSON: ${output}` }
  const path = pathOfDifference(expected.json, found.json, "$")
  return path === null ? null : { line, what: `${path} differs, printed: ${output.trim()}` }
}

const parse = (text: string): { readonly json: unknown } | undefined => {
  try {
    return { json: JSON.parse(text) }
  } catch {
    return undefined
  }
}

const fits = (pattern: string, text: string): boolean =>
  new RegExp(`^${pattern.split("…").map(escape).join(".+")}$`).test(text)

const escape = (text: string): string => text.replaceAll(/[$()*+.?[\\\]^{|}]/g, "\\$&")

type Fields = Readonly<Record<string, unknown>>

const isObject = (json: unknown): json is Fields => typeof json === "object" && json !== null

/** The position of the first difference; null when there is none. */
const pathOfDifference = (expected: unknown, found: unknown, path: string): string | null => {
  if (expected === "…") return null
  if (typeof expected === "string" && typeof found === "string") {
    return fits(expected, found) ? null : path
  }
  if (!isObject(expected) || !isObject(found)) return expected === found ? null : path
  if (Array.isArray(expected) !== Array.isArray(found)) return path
  const names = Object.keys(expected).filter((name) => name !== "…")
  if (!("…" in expected)) names.push(...Object.keys(found).filter((name) => !(name in expected)))
  for (const name of names) {
    const inside = `${path}.${name}`
    if (!(name in expected) || !(name in found)) return inside
    const difference = pathOfDifference(expected[name], found[name], inside)
    if (difference !== null) return difference
  }
  return null
}
