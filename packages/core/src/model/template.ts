/**
 * The text of a campaign, with the places of its rows' values (campaigns: 3). Reads from the left:
 * `{{` and `}}` are braces, `{column}` is a value, `{column|words}` has words for where it is
 * missing or blank. Pure.
 */
import { Result } from "effect"
import { codePointLength, isBlank } from "./Input.ts"

/** In code points. */
const maximumNameLength = 100

interface Placeholder {
  /** As the text has it, trimmed. */
  readonly name: string
  /** In place of a value that is missing or blank; null without words. */
  readonly fallback: string | null
}

/** Plain texts and placeholders in their order. */
export type Template = ReadonlyArray<string | Placeholder>

/** By this columns and placeholders are compared: trimmed and without case. */
export const columnKey = (name: string): string => name.trim().toLowerCase()

const form = /([^{}]+)|(\{\{|\}\})|\{([^{}|]+)(?:\|([^{}]*))?\}/y

/** The template, or what is wrong with it, in words that name the character. */
export const parseTemplate = (text: string): Result.Result<Template, string> => {
  const parts: Array<string | Placeholder> = []
  let at = 0
  while (at < text.length) {
    form.lastIndex = at
    const [whole, plain, braces, column, words] = form.exec(text) ?? []
    if (whole === undefined) return Result.fail(misplaced(text, at))
    if (column === undefined) {
      parts.push(plain ?? braces?.slice(1) ?? "")
    } else {
      const name = column.trim()
      const length = codePointLength(name)
      if (length === 0 || length > maximumNameLength) return Result.fail(misnamed(text, at))
      parts.push({ name, fallback: words ?? null })
    }
    at += whole.length
  }
  return Result.succeed(parts)
}

/** Counted from 1, in code points. */
const position = (text: string, at: number): number => codePointLength(text.slice(0, at)) + 1

const misplaced = (text: string, at: number): string => {
  const brace = text[at] ?? ""
  const rule =
    brace === "{"
      ? "begins no `{column}` or `{column|words}`"
      : "ends no `{column}` or `{column|words}`"
  return `The \`${brace}\` at character ${position(text, at)} ${rule}; write \`${brace}${brace}\` for a brace.`
}

const misnamed = (text: string, at: number): string =>
  `The \`{\` at character ${position(text, at)} needs the name of a column, of 1 to ${maximumNameLength} characters.`

/** Finds a row's values by `columnKey`. */
const valuesByColumn = (values: Readonly<Record<string, string>>): ReadonlyMap<string, string> =>
  new Map(Object.entries(values).map(([name, value]) => [columnKey(name), value.trim()]))

/**
 * The text with a row's values, put in once: braces of a value stay as they are. Fails with the name
 * of the first placeholder that has neither a value nor words.
 */
export const renderTemplate = (
  template: Template,
  values: Readonly<Record<string, string>>,
): Result.Result<string, string> => {
  const byColumn = valuesByColumn(values)
  let text = ""
  for (const part of template) {
    if (typeof part === "string") {
      text += part
      continue
    }
    const value = byColumn.get(columnKey(part.name)) ?? ""
    const filled = isBlank(value) ? part.fallback : value
    if (filled === null) return Result.fail(part.name)
    text += filled
  }
  return Result.succeed(text)
}
