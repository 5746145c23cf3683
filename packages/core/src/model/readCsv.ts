/**
 * Reads a file of comma-separated values (RFC 4180) as it comes, piece by piece, and makes rows of it
 * (campaigns: 3). Keeps no more of the file than the row that it is in. Pure.
 */
import { Result } from "effect"
import { maximumValuesBytes, utf8Length, valuesBytes } from "./CampaignInput.ts"
import type { GivenRow } from "./CampaignInput.ts"
import type { RowRecipient } from "./Campaign.ts"
import { isBlank } from "./Input.ts"
import { refuse } from "./Refusal.ts"
import type { Refusal } from "./Refusal.ts"
import { columnKey } from "./template.ts"

const maximumCsvColumns = 50

export interface CsvRow {
  /** Of the file, from 1, on which it begins: a quoted cell may span several. */
  readonly line: number
  /** As many as there are columns. */
  readonly cells: ReadonlyArray<string>
}

const reasons = {
  not_utf8: "this is not UTF-8",
  nul: "NUL is not text",
  unclosed_quote: "the quote that begins here has no end",
  text_behind_quote: "text follows the quote that ends the cell",
  too_many_cells: "the row has more cells than the header",
  too_many_columns: `a file has at most ${maximumCsvColumns} columns`,
  doubled_name: "the header has this name twice",
  empty_name: "the column has no name",
  too_long: `a row has at most ${maximumValuesBytes.toLocaleString("en")} bytes`,
  no_header: "the file has no header",
  no_rows: "the file has no rows",
} as const

type Reason = keyof typeof reasons

interface CsvProblem {
  readonly reason: Reason
  readonly line: number
  /** Of the row, from 1. */
  readonly column: number
}

const invalid = ({ column, line, reason }: CsvProblem): Refusal<"invalid_csv"> =>
  refuse("invalid_csv", {
    message: `Line ${line}, column ${column}: ${reasons[reason]}.`,
    details: { line, column },
  })

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })
const lenient = new TextDecoder("utf-8", { ignoreBOM: true })

/** How many bytes at the end begin a character that is not whole. */
const unfinished = (bytes: Uint8Array): number => {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0
    // A continuation: its character begins before.
    if (byte >= 0x80 && byte < 0xc0) continue
    const size = (byte >= 0xf0 && 4) || (byte >= 0xe0 && 3) || (byte >= 0xc0 && 2) || 1
    return size > back ? back : 0
  }
  return 0
}

const lineFeed = 0x0a

/** The text before what is not UTF-8, to within the line in which that is. */
const validStart = (bytes: Uint8Array): string => {
  let start = 0
  for (;;) {
    const feed = bytes.indexOf(lineFeed, start)
    const end = feed < 0 ? bytes.length : feed + 1
    const line = Result.try(() => utf8.decode(bytes.subarray(start, end)))
    if (Result.isFailure(line) || feed < 0) break
    start = end
  }
  const [broken = ""] = lenient.decode(bytes.subarray(start)).split("\uFFFD", 1)
  return utf8.decode(bytes.subarray(0, start)) + broken
}

interface Decoded {
  readonly text: string
  /** What follows the text is not UTF-8. */
  readonly isBroken: boolean
}

const makeDecoder = () => {
  let carry = new Uint8Array(0)
  return (piece: Uint8Array, isLast: boolean): Decoded => {
    const bytes = new Uint8Array(carry.length + piece.length)
    bytes.set(carry)
    bytes.set(piece, carry.length)
    const whole = bytes.length - (isLast ? 0 : unfinished(bytes))
    carry = bytes.slice(whole)
    const text = Result.try(() => utf8.decode(bytes.subarray(0, whole)))
    return Result.isSuccess(text)
      ? { text: text.success, isBroken: false }
      : { text: validStart(bytes), isBroken: true }
  }
}

const separators = [",", ";", "\t", "|"] as const

type Separator = (typeof separators)[number]

const isSeparator = (text: string): text is Separator =>
  (separators as ReadonlyArray<string>).includes(text)

/** The first line as far as it is there: quotes begin cells, whatever separates them. */
const scanLine = (text: string) => {
  const counts: Record<Separator, number> = { ",": 0, ";": 0, "\t": 0, "|": 0 }
  let isQuoted = false
  let isBegin = true
  let at = 0
  for (; at < text.length; at++) {
    const letter = text[at] ?? ""
    if (isQuoted) {
      if (letter !== '"') continue
      if (text[at + 1] === '"') at++
      else isQuoted = false
      continue
    }
    if (letter === "\r" || letter === "\n") break
    if (letter === '"' && isBegin) isQuoted = true
    isBegin = isSeparator(letter)
    if (isSeparator(letter)) counts[letter]++
  }
  const max = separators.reduce((best, one) => (counts[one] > counts[best] ? one : best), ",")
  return { end: at, isWhole: at < text.length, separator: max }
}

/** More than the names of columns may have. */
const longestHeader = 4 * maximumValuesBytes

const blankLine = /^[\s",;|]*$/

const namedSeparator = /^sep=([,;\t|])$/i

/** Where the reader is in the file. */
interface Position {
  line: number
  /** The last letter was CR: LF after it ends no other line. */
  isAfterReturn: boolean
}

const advance = (position: Position, text: string): void => {
  for (let at = 0; at < text.length; at++) {
    const letter = text[at]
    if (letter === "\r" || (letter === "\n" && !position.isAfterReturn)) position.line++
    position.isAfterReturn = letter === "\r"
  }
}

/** Splits text into rows, without blank ones. */
class Splitter {
  readonly #separator: Separator
  readonly #plain: RegExp
  readonly #position: Position
  readonly #take: (row: CsvRow) => CsvProblem | null
  #mode: "begin" | "plain" | "quoted" | "quote" | "behind" = "begin"
  #cells: Array<string> = []
  #cell = ""
  #bytes = 0
  #rowLine: number
  #cellLine: number

  constructor(separator: Separator, position: Position, take: (row: CsvRow) => CsvProblem | null) {
    this.#separator = separator
    this.#plain = new RegExp(`[^${separator}\\r\\n]*`, "y")
    this.#position = position
    this.#take = take
    this.#rowLine = this.#cellLine = position.line
  }

  problem(reason: Reason, line = this.#position.line): CsvProblem {
    return { reason, line, column: this.#cells.length + 1 }
  }

  feed(text: string): CsvProblem | null {
    let at = 0
    while (at < text.length) {
      const next = this.#step(text, at)
      if (typeof next !== "number") return next
      if (this.#bytes > maximumValuesBytes) return this.problem("too_long", this.#cellLine)
      at = next
    }
    return null
  }

  end(): CsvProblem | null {
    if (this.#mode === "quoted") return this.problem("unclosed_quote", this.#cellLine)
    return this.#mode === "begin" && this.#cells.length === 0 ? null : this.#endRow()
  }

  /** Takes some of the text; where the rest of it begins. */
  #step(text: string, at: number): number | CsvProblem {
    if (this.#mode === "quoted") return this.#inQuotes(text, at)
    const letter = text[at] ?? ""
    const isAfterReturn = this.#position.isAfterReturn
    this.#position.isAfterReturn = false
    if (letter === '"' && (this.#mode === "quote" || this.#mode === "begin")) {
      if (this.#mode === "quote") this.#add('"')
      this.#mode = "quoted"
      return at + 1
    }
    if (letter === this.#separator) {
      this.#endCell()
      return at + 1
    }
    if (letter === "\n" && isAfterReturn) return at + 1
    if (letter === "\r" || letter === "\n") {
      const refused = this.#endRow()
      advance(this.#position, letter)
      this.#rowLine = this.#cellLine = this.#position.line
      return refused ?? at + 1
    }
    return this.#inPlain(text, at)
  }

  #inQuotes(text: string, at: number): number {
    const quote = text.indexOf('"', at)
    const end = quote < 0 ? text.length : quote
    const inside = text.slice(at, end)
    this.#add(inside)
    advance(this.#position, inside)
    if (quote < 0) return end
    this.#mode = "quote"
    this.#position.isAfterReturn = false
    return quote + 1
  }

  #inPlain(text: string, at: number): number | CsvProblem {
    this.#plain.lastIndex = at
    const [cell = ""] = this.#plain.exec(text) ?? []
    if (this.#mode === "quote" || this.#mode === "behind") {
      if (!isBlank(cell)) return this.problem("text_behind_quote", this.#cellLine)
      this.#mode = "behind"
    } else {
      this.#mode = "plain"
    }
    this.#add(cell)
    return at + cell.length
  }

  #add(text: string): void {
    this.#cell += text
    this.#bytes += utf8Length(text)
  }

  #endCell(): void {
    this.#cells.push(this.#cell)
    this.#cell = ""
    this.#mode = "begin"
    this.#cellLine = this.#position.line
  }

  #endRow(): CsvProblem | null {
    this.#endCell()
    const row = { line: this.#rowLine, cells: this.#cells }
    this.#cells = []
    this.#bytes = 0
    return row.cells.every(isBlank) ? null : this.#take(row)
  }
}

const headerProblem = ({ cells, line }: CsvRow): CsvProblem | null => {
  if (cells.length > maximumCsvColumns) {
    return { reason: "too_many_columns", line, column: maximumCsvColumns + 1 }
  }
  const names = cells.map(columnKey)
  const empty = names.findIndex(isBlank)
  if (empty >= 0) return { reason: "empty_name", line, column: empty + 1 }
  const doubled = names.findIndex((name, index) => names.indexOf(name) < index)
  return doubled < 0 ? null : { reason: "doubled_name", line, column: doubled + 1 }
}

export type CsvResult = Result.Result<ReadonlyArray<CsvRow>, Refusal<"invalid_csv">>

/** Reads one file. After a problem it is not used again. */
export class CsvReader {
  /** As the header names them; null before it was read. */
  columns: ReadonlyArray<string> | null = null
  readonly #decode = makeDecoder()
  readonly #position: Position = { line: 1, isAfterReturn: false }
  /** What was read before the separator is known. */
  #head = ""
  #isBegin = true
  #splitter: Splitter | null = null
  #isEmpty = true
  #rows: Array<CsvRow> = []

  /** The rows that end in the next piece of the file. */
  next(piece: Uint8Array): CsvResult {
    return this.#result(this.#read(piece, false))
  }

  /** The row that ends with the file. */
  end(): CsvResult {
    return this.#result(this.#read(new Uint8Array(0), true))
  }

  #result(refused: CsvProblem | null): CsvResult {
    const rows = this.#rows
    this.#rows = []
    return refused === null ? Result.succeed(rows) : Result.fail(invalid(refused))
  }

  #read(piece: Uint8Array, isLast: boolean): CsvProblem | null {
    const { isBroken, text } = this.#decode(piece, isLast)
    const nul = text.indexOf("\0")
    const isUnfit = nul >= 0 || isBroken
    const refused = this.#feed(nul < 0 ? text : text.slice(0, nul), isUnfit || isLast)
    if (refused !== null) return refused
    const { line } = this.#position
    if (isUnfit) {
      const reason = nul < 0 ? "not_utf8" : "nul"
      return this.#splitter?.problem(reason) ?? { reason, line, column: 1 }
    }
    return isLast ? this.#end() : null
  }

  #end(): CsvProblem | null {
    const last = this.#splitter?.end() ?? null
    if (last !== null) return last
    if (this.columns === null) return { reason: "no_header", line: 1, column: 1 }
    return this.#isEmpty ? { reason: "no_rows", line: this.#position.line, column: 1 } : null
  }

  #feed(text: string, isLast: boolean): CsvProblem | null {
    if (this.#splitter !== null) return this.#splitter.feed(text)
    const isFirst = this.#isBegin && this.#head === "" && text.startsWith("\uFEFF")
    this.#head += isFirst ? text.slice(1) : text
    return this.#readHead(isLast)
  }

  /** Finds the header's separator; lines before it are blank. */
  #readHead(isLast: boolean): CsvProblem | null {
    while (this.#head !== "") {
      const { end, isWhole, separator } = scanLine(this.#head)
      if (!isWhole && !isLast) {
        return this.#head.length > longestHeader
          ? { reason: "too_long", line: this.#position.line, column: 1 }
          : null
      }
      const line = this.#head.slice(0, end)
      const named = this.#isBegin ? namedSeparator.exec(line)?.[1] : undefined
      this.#isBegin = false
      if (named === undefined && !blankLine.test(line)) return this.#split(separator)
      advance(this.#position, this.#head.slice(0, end + 1))
      this.#head = this.#head.slice(end + 1)
      if (named !== undefined && isSeparator(named)) return this.#split(named)
    }
    return null
  }

  #split(separator: Separator): CsvProblem | null {
    this.#splitter = new Splitter(separator, this.#position, (row) => this.#take(row))
    const text = this.#head
    this.#head = ""
    return this.#splitter.feed(text)
  }

  #take(row: CsvRow): CsvProblem | null {
    if (this.columns === null) {
      this.columns = row.cells.map((name) => name.trim())
      return headerProblem(row)
    }
    const count = this.columns.length
    if (row.cells.length > count) {
      return { reason: "too_many_cells", line: row.line, column: count + 1 }
    }
    this.#isEmpty = false
    const blanks = Array.from({ length: count - row.cells.length }, () => "")
    this.#rows.push({ line: row.line, cells: [...row.cells, ...blanks] })
    return null
  }
}

const usernameForm = /^(?:@|tg:|(?:https?:\/\/)?(?:www\.)?t\.me\/)/i

const recipientIn = (cell: string): RowRecipient =>
  usernameForm.test(cell) ? { username: cell } : { phone: cell }

const timeIn = (cell: string | undefined): string | null =>
  cell === undefined || isBlank(cell) ? null : cell.trim()

/** Makes a row of a campaign from one of a file. */
export type ReadRow = (row: CsvRow) => Result.Result<GivenRow, Refusal<"invalid_csv">>

/**
 * Makes what reads the rows of a file with these columns. `toColumn` names the recipient's, else it is
 * `to`, else `phone`. Fails with `column_not_found`.
 */
export const rowsOfColumns = (
  columns: ReadonlyArray<string>,
  toColumn: string | null,
): Result.Result<ReadRow, Refusal<"column_not_found">> => {
  const keys = columns.map(columnKey)
  const requested = toColumn === null ? ["to", "phone"] : [columnKey(toColumn)]
  const to = requested.map((name) => keys.indexOf(name)).find((index) => index >= 0)
  if (to === undefined) return Result.fail(refuse("column_not_found", { field: "toColumn" }))
  const sendAt = keys.indexOf("send_at")
  const expiresAt = keys.indexOf("expires_at")
  return Result.succeed(({ cells, line }) => {
    // A blank cell is as one that is missing.
    const values = Object.fromEntries(
      columns.flatMap((name, index) => {
        const cell = cells[index] ?? ""
        return isBlank(cell) ? [] : [[name, cell]]
      }),
    )
    if (valuesBytes(values) > maximumValuesBytes) {
      return Result.fail(invalid({ reason: "too_long", line, column: 1 }))
    }
    return Result.succeed({
      line,
      to: recipientIn((cells[to] ?? "").trim()),
      values,
      sendAt: timeIn(cells[sendAt]),
      expiresAt: timeIn(cells[expiresAt]),
    })
  })
}
