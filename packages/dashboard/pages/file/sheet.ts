/** A chosen file as a sheet: named columns, rows with the line that they begin on, or why it is none. */
import { parseCsv } from "./csv.ts"
import type { Csv, CsvProblem, CsvRow } from "./csv.ts"
import { digest } from "./sha256.ts"
import { workInSlices } from "./turns.ts"
import type { Slices } from "./turns.ts"

export interface Sheet {
  readonly columns: ReadonlyArray<string>
  readonly rows: ReadonlyArray<CsvRow>
  /** Which column probably has the recipients. */
  readonly recipients: number
}

export type SheetProblem =
  | { readonly code: "too_large" | "not_text" | "empty" | "too_many_rows" }
  | CsvProblem
  | { readonly code: "too_many_cells"; readonly line: number; readonly column: number }

const rowsMax = 10_000
const bytesMax = 10 * 1024 * 1024

/** UTF-8, or UTF-16 where the file begins with its mark. Undefined for what is neither. */
const decode = (bytes: Uint8Array): string | undefined => {
  const [first, second] = bytes
  const encoding = first === 0xff && second === 0xfe ? "utf-16le" : "utf-8"
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}

const looksLikeRecipient = (text: string): boolean =>
  /^\s*(\+?\d[\d\s()-]{5,}|@\w+|tg:\d+|(https?:\/\/)?t\.me\/\w+)\s*$/.test(text)

const recipientNames =
  /^(to|phone|phone[ _]?number|telephone|mobile|whatsapp|number|recipient|username|telegram)$/i

/** Names that tell the columns apart. */
const getNames = (cells: ReadonlyArray<string>): ReadonlyArray<string> => {
  const names: Array<string> = []
  for (const [index, cell] of cells.entries()) {
    const name = cell.trim().replaceAll(/[{}]/g, "") || `column ${index + 1}`
    names.push(names.includes(name) ? `${name} ${index + 1}` : name)
  }
  return names
}

const toSheet = ({ rows }: Csv): Sheet => {
  const [head = [], next = []] = rows.slice(0, 2).map(({ cells }) => cells)
  const hasHeader = !head.some(looksLikeRecipient)
  const columns = hasHeader ? getNames(head) : head.map((_, index) => `column ${index + 1}`)
  const named = hasHeader ? columns.findIndex((name) => recipientNames.test(name)) : -1
  const variants = (hasHeader ? next : head).findIndex(looksLikeRecipient)
  return {
    columns,
    rows: hasHeader ? rows.slice(1) : rows,
    recipients: Math.max(0, named >= 0 ? named : variants),
  }
}

/** The sheet, or every reason why it is none. */
export const openSheet = function* (
  bytes: Uint8Array,
): Slices<Sheet | { readonly problems: ReadonlyArray<SheetProblem> }> {
  if (bytes.length > bytesMax) return { problems: [{ code: "too_large" }] }
  const text = decode(bytes)
  if (text === undefined || text.includes("\0")) return { problems: [{ code: "not_text" }] }
  const csv = yield* parseCsv(text)
  const sheet = toSheet(csv)
  if (csv.problems.length > 0) return { problems: csv.problems }
  if (sheet.rows.length === 0) return { problems: [{ code: "empty" }] }
  if (sheet.rows.length > rowsMax) return { problems: [{ code: "too_many_rows" }] }
  const column = sheet.columns.length + 1
  const problems = sheet.rows
    .filter(({ cells }) => cells.slice(column - 1).some((cell) => cell.trim() !== ""))
    .map(({ line }) => ({ code: "too_many_cells" as const, line, column }))
  return problems.length > 0 ? { problems } : sheet
}

export interface ChosenFile {
  readonly name: string
  readonly digest: string
  readonly sheet: Sheet
}

export type OpenedFile =
  | ChosenFile
  | { readonly name: string; readonly problems: ReadonlyArray<SheetProblem> }

/** Opens the file that a user chose. */
export const openFile = async (file: File): Promise<OpenedFile> => {
  // A huge file is not even read.
  const bytes = new Uint8Array(await file.slice(0, bytesMax + 1).arrayBuffer())
  const sheet = await workInSlices(openSheet(bytes))
  const { name } = file
  return "problems" in sheet
    ? { name, problems: sheet.problems }
    : { name, digest: await workInSlices(digest(bytes)), sheet }
}
