/**
 * Reads comma-separated values (RFC 4180) as spreadsheets write them: quotes, a byte order mark, semicolons or tabs,
 * and any end of line. Rows and problems have their lines, so that a page can name what is wrong by line and column.
 */
import type { Slices } from "./turns.ts"

export interface CsvRow {
  /** Of the file, from 1, on which it begins: a quoted cell may span several. */
  readonly line: number
  readonly cells: ReadonlyArray<string>
}

export interface CsvProblem {
  readonly code: "unclosed_quote" | "text_after_quote"
  readonly line: number
  /** Of the row, from 1. */
  readonly column: number
}

export interface Csv {
  /** Without empty lines. */
  readonly rows: ReadonlyArray<CsvRow>
  readonly problems: ReadonlyArray<CsvProblem>
}

const separators = [",", ";", "\t", "|"] as const

/** More characters than names of columns have. */
const headMax = 10_000

/** The separator that the first line has most of, outside of quotes. */
const guessSeparator = (text: string): string => {
  const [line = ""] = /^(?:"[^"]*"|[^\r\n])*/.exec(text.slice(0, headMax)) ?? []
  const plain = line.replaceAll(/"[^"]*"/g, "")
  const count = (separator: string) => plain.split(separator).length
  return separators.reduce((best, one) => (count(one) > count(best) ? one : best), ",")
}

interface ReadCell {
  readonly text: string
  readonly end: number
  readonly problem: CsvProblem["code"] | null
}

/** Reads the quoted cell that begins at a quote. */
const readQuoted = (source: string, start: number, plain: RegExp): ReadCell => {
  let text = ""
  let at = start + 1
  while (true) {
    const quote = source.indexOf('"', at)
    if (quote < 0)
      return { text: text + source.slice(at), end: source.length, problem: "unclosed_quote" }
    text += source.slice(at, quote)
    at = quote + 1
    if (source[at] !== '"') break
    text += '"'
    at += 1
  }
  plain.lastIndex = at
  const [rest = ""] = plain.exec(source) ?? []
  return {
    text: text + rest,
    end: at + rest.length,
    problem: rest.trim() === "" ? null : "text_after_quote",
  }
}

const readPlain = (source: string, start: number, plain: RegExp): ReadCell => {
  plain.lastIndex = start
  const [text = ""] = plain.exec(source) ?? []
  return { text, end: start + text.length, problem: null }
}

const countLines = (text: string): number => text.match(/\r\n|\r|\n/g)?.length ?? 0

export const parseCsv = function* (source: string): Slices<Csv> {
  const text = source.replace(/^\uFEFF/, "")
  // A line that Excel writes for itself.
  const named = /^sep=([,;\t|])(\r\n|\r|\n)/i.exec(text)
  const separator = named?.[1] ?? guessSeparator(text)
  const plain = new RegExp(`[^${separator}\\r\\n]*`, "y")
  const rows: Array<CsvRow> = []
  const problems: Array<CsvProblem> = []
  let cells: Array<string> = []
  let at = named?.[0].length ?? 0
  let line = named === null ? 1 : 2
  let starts = line
  while (at < text.length || cells.length > 0) {
    const cell = (text[at] === '"' ? readQuoted : readPlain)(text, at, plain)
    cells.push(cell.text)
    if (cell.problem !== null) problems.push({ code: cell.problem, line, column: cells.length })
    line += countLines(text.slice(at, cell.end))
    at = cell.end
    if (text[at] === separator) {
      at += 1
      continue
    }
    if (cells.some((one) => one.trim() !== "")) rows.push({ line: starts, cells })
    cells = []
    yield
    if (at >= text.length) break
    at += text.startsWith("\r\n", at) ? 2 : 1
    line += 1
    starts = line
  }
  return { rows, problems }
}
