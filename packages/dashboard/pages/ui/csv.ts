/**
 * Reads comma-separated values (RFC 4180) as spreadsheets write them: quotes, a byte order mark, semicolons or tabs,
 * and any end of line. For what a page shows of a file; the service reads the files that it sends.
 */

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
}

const readPlain = (source: string, start: number, plain: RegExp): ReadCell => {
  plain.lastIndex = start
  const [text = ""] = plain.exec(source) ?? []
  return { text, end: start + text.length }
}

/** Reads the quoted cell that begins at a quote. */
const readQuoted = (source: string, start: number, plain: RegExp): ReadCell => {
  let text = ""
  let at = start + 1
  while (true) {
    const quote = source.indexOf('"', at)
    if (quote < 0) return { text: text + source.slice(at), end: source.length }
    text += source.slice(at, quote)
    at = quote + 1
    if (source[at] !== '"') break
    text += '"'
    at += 1
  }
  const rest = readPlain(source, at, plain)
  return { text: text + rest.text, end: rest.end }
}

type Cells = ReadonlyArray<string>

/** The cells of each row that has any. */
export const parseCsv = (source: string): ReadonlyArray<Cells> => {
  const text = source.replace(/^\uFEFF/, "")
  // A line that Excel writes for itself.
  const named = /^sep=([,;\t|])(\r\n|\r|\n)/i.exec(text)
  const separator = named?.[1] ?? guessSeparator(text)
  const plain = new RegExp(`[^${separator}\\r\\n]*`, "y")
  const rows: Array<Cells> = []
  let cells: Array<string> = []
  let at = named?.[0].length ?? 0
  while (at < text.length || cells.length > 0) {
    const cell = (text[at] === '"' ? readQuoted : readPlain)(text, at, plain)
    cells.push(cell.text)
    at = cell.end
    if (text[at] === separator) {
      at += 1
      continue
    }
    if (cells.some((one) => one.trim() !== "")) rows.push(cells)
    cells = []
    if (at >= text.length) break
    at += text.startsWith("\r\n", at) ? 2 : 1
  }
  return rows
}

const looksLikeRecipient = (text: string): boolean =>
  /^\s*(\+?\d[\d\s()-]{5,}|@\w+|tg:\d+|(https?:\/\/)?t\.me\/\w+)\s*$/.test(text)

const recipientNames =
  /^(to|phone|phone[ _]?number|telephone|mobile|whatsapp|number|recipient|username|telegram)$/i

/** The first row, whether it names the columns, and which column probably has the recipients. */
export const findColumns = ([head = [], next = []]: ReadonlyArray<Cells>) => {
  const columns = head.map((cell) => cell.trim())
  const hasHeader = !head.some(looksLikeRecipient)
  const named = hasHeader ? columns.findIndex((name) => recipientNames.test(name)) : -1
  const filled = (hasHeader ? next : head).findIndex(looksLikeRecipient)
  return { columns, hasHeader, recipients: Math.max(0, named >= 0 ? named : filled) }
}

/** Whether the file begins with the mark of UTF-16, which spreadsheets write as "Unicode text". */
const isUtf16 = ([first, second]: Uint8Array): boolean => first === 0xff && second === 0xfe

/** Undefined for bytes that are not text. */
export const decodeText = (bytes: Uint8Array): string | undefined => {
  try {
    const encoding = isUtf16(bytes) ? "utf-16le" : "utf-8"
    return new TextDecoder(encoding, { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}

/** The file in UTF-8: the same one unless it begins with the mark of UTF-16. */
export const toUtf8 = async (file: File): Promise<File> => {
  if (!isUtf16(new Uint8Array(await file.slice(0, 2).arrayBuffer()))) return file
  const text = new TextDecoder("utf-16le").decode(await file.arrayBuffer())
  return new File([text], file.name)
}
