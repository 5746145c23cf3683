/**
 * What a file's rows become: messages, what is wrong with them by line and column, and the requests that send them.
 * All of it follows from the file and the settings alone, never from the time: the same file with the same settings
 * makes the same requests with the same keys, so that whatever is sent once more is not done twice.
 */
import type { SendBatch } from "@messaging-service/client"
import type { Body } from "../api/operations.ts"
import { parseRecipients } from "../messages/recipients.ts"
import type { CsvRow } from "./csv.ts"
import { digest } from "./sha256.ts"
import type { Sheet } from "./sheet.ts"
import { workAtOnce } from "./turns.ts"
import type { Slices } from "./turns.ts"

export interface FileSettings {
  /** The column of the recipients. */
  readonly to: number
  /** `{name}` stands for the row's cell in the column of that name. */
  readonly template: string
  readonly from: number | null
  readonly sendAt: string | null
  readonly expiresAt: string | null
  /** A recipient gets one message, from its first row. */
  readonly once: boolean
  readonly leaveOutWrong: boolean
  readonly mode: "live" | "test"
}

export type RowProblemCode =
  | "no_recipient"
  | "wrong_phone"
  | "wrong_username"
  | "no_text"
  | "long_text"
  | "wrong_time"

export interface RowProblem {
  readonly line: number
  /** From 1; null where the whole row is meant. */
  readonly column: number | null
  readonly code: RowProblemCode
  readonly text: string
}

type Recipient = SendBatch["to"][number]

export interface FileRow {
  readonly line: number
  readonly to: Recipient
  readonly text: string
  readonly sendAt: string | null
  readonly expiresAt: string | null
}

export interface CheckedRows {
  readonly rows: ReadonlyArray<FileRow>
  readonly problems: ReadonlyArray<RowProblem>
  /** Rows whose recipient has an earlier row. */
  readonly repeated: ReadonlyArray<FileRow>
}

/** Rows with one content, which one request sends. */
export interface Slot {
  /** The line of its first row: its name within the file. */
  readonly line: number
  readonly key: string
  readonly rows: ReadonlyArray<FileRow>
}

const textMax = 3000
/** Few enough that progress moves, and that a refusal of one hits few. */
const slotRowsMax = 100

const placeholder = /\{([^{}\n]+)\}/g

/** The names in braces that no column has. */
export const unknownPlaceholders = (template: string, { columns }: Sheet): ReadonlyArray<string> =>
  [...template.matchAll(placeholder)]
    .map(([, name = ""]) => name.trim())
    .filter((name) => !columns.includes(name))

export const textFor = (template: string, { columns }: Sheet, { cells }: CsvRow): string =>
  template
    .replaceAll(placeholder, (whole, name: string) => {
      const column = columns.indexOf(name.trim())
      return column < 0 ? whole : (cells[column] ?? "").trim()
    })
    .trim()

/** As the service spells them (contract: Recipients); which calling codes there are, it knows alone. */
export const phonePattern = /^\+[1-9]\d{6,14}$/
const username = /^(@\w{4,32}|tg:\d{1,19}|(https?:\/\/)?(t|telegram)\.me\/\w{4,32}\/?)$/i

const toProblem = (to: Recipient | undefined): RowProblemCode | null => {
  if (to === undefined) return "no_recipient"
  if (to.phone !== undefined) return phonePattern.test(to.phone) ? null : "wrong_phone"
  return username.test(to.username ?? "") ? null : "wrong_username"
}

/** Reads a time with its offset, or in the viewer's zone without one. Undefined when it cannot be read. */
const toInstant = (text: string): string | undefined => {
  const match = /^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?( ?(Z|[+-]\d{2}:?\d{2}))?)?$/i
  const instant = match.test(text)
    ? Date.parse(text.replace(" ", "T").replace(" ", ""))
    : Number.NaN
  return Number.isNaN(instant) ? undefined : new Date(instant).toISOString()
}

const getTime = (sheet: Sheet, name: string, row: CsvRow, whole: string | null) => {
  const column = sheet.columns.findIndex((one) => one.toLowerCase() === name)
  const cell = (row.cells[column] ?? "").trim()
  return cell === "" ? { column, cell, time: whole } : { column, cell, time: toInstant(cell) }
}

export const hasTemplate = ({ template }: FileSettings): boolean => template.trim() !== ""

const checkRow = (sheet: Sheet, settings: FileSettings, row: CsvRow) => {
  const problems: Array<RowProblem> = []
  const wrong = (code: RowProblemCode, column: number | null, text: string) =>
    problems.push({ line: row.line, column, code, text })
  const cell = (row.cells[settings.to] ?? "").trim()
  const [to, another] = parseRecipients(cell)
  const problem = another === undefined ? toProblem(to) : "wrong_phone"
  if (problem !== null) wrong(problem, settings.to + 1, cell)
  const text = textFor(settings.template, sheet, row)
  // Before a text is given, its absence is no error of any row.
  if (text === "" && hasTemplate(settings)) wrong("no_text", null, "")
  if ([...text].length > textMax) wrong("long_text", null, `${[...text].length}`)
  const times = (["send_at", "expires_at"] as const).map((name) => {
    const whole = name === "send_at" ? settings.sendAt : settings.expiresAt
    const found = getTime(sheet, name, row, whole)
    if (found.time === undefined) wrong("wrong_time", found.column + 1, found.cell)
    return found.time ?? null
  })
  const [sendAt = null, expiresAt = null] = times
  return to === undefined || problems.length > 0
    ? { problems, row: null }
    : { problems, row: { line: row.line, to, text, sendAt, expiresAt } satisfies FileRow }
}

const toName = ({ phone: number, username: name = "" }: Recipient): string =>
  number ?? name.toLowerCase()

export const checkRows = function* (sheet: Sheet, settings: FileSettings): Slices<CheckedRows> {
  const problems: Array<RowProblem> = []
  const rows: Array<FileRow> = []
  const repeated: Array<FileRow> = []
  const known = new Set<string>()
  for (const each of sheet.rows) {
    yield
    const checked = checkRow(sheet, settings, each)
    problems.push(...checked.problems)
    if (checked.row === null) continue
    const isRepeated = known.has(toName(checked.row.to))
    if (isRepeated) repeated.push(checked.row)
    known.add(toName(checked.row.to))
    if (!isRepeated || !settings.once) rows.push(checked.row)
  }
  return { rows, problems, repeated }
}

/** Names the sending of a file: `again` counts the times that a user wanted all of it once more. */
export const getRun = (fileDigest: string, settings: FileSettings, again: number): string =>
  workAtOnce(
    digest(
      new TextEncoder().encode(
        JSON.stringify([fileDigest, Object.entries(settings).toSorted(), again]),
      ),
    ),
  )

/** What the service calls all messages of a run, whichever request sent them: its list finds them by it. */
export const toReference = (run: string): string => `file-${run.slice(0, 12)}`

/** The requests, in the order of their first rows. */
export const toSlots = function* (
  rows: ReadonlyArray<FileRow>,
  run: string,
): Slices<ReadonlyArray<Slot>> {
  const groups = new Map<string, Array<FileRow>>()
  for (const row of rows) {
    yield
    const content = JSON.stringify([row.text, row.sendAt, row.expiresAt])
    const group = groups.get(content)
    if (group === undefined) groups.set(content, [row])
    else group.push(row)
  }
  const slots: Array<Slot> = []
  for (const group of groups.values()) {
    for (let start = 0; start < group.length; start += slotRowsMax) {
      const part = group.slice(start, start + slotRowsMax)
      const line = part[0]?.line ?? 0
      slots.push({ line, key: `file-${run}-${line}`, rows: part })
    }
  }
  return slots.toSorted((a, b) => a.line - b.line)
}

/** The body that sends those rows of a slot. */
export const getBody = (
  rows: ReadonlyArray<FileRow>,
  from: number | null,
  run: string,
): Body<"POST /admin/v1/workspaces/{id}/messages/batch"> => ({
  to: rows.map(({ to }) => to),
  reference: toReference(run),
  ...(from === null ? {} : { from }),
  text: rows[0]?.text ?? "",
  send_at: rows[0]?.sendAt ?? null,
  expires_at: rows[0]?.expiresAt ?? null,
})
