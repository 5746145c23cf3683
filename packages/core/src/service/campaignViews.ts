/** Rows of campaigns as callers see them, in answers and in `results.csv` (campaigns: 7). Pure. */
import { rowCodes } from "../model/Campaign.ts"
import type { CampaignRow, RowRecipient } from "../model/Campaign.ts"
import { rowText } from "../model/campaignRows.ts"
import { parsePhone } from "../model/Recipient.ts"
import { catalogue } from "../model/Refusal.ts"
import type { Code } from "../model/Refusal.ts"
import { instantOrNull } from "../model/Time.ts"
import type { CampaignRowView } from "./Campaigns.ts"

const isRowCode = (code: string): code is keyof typeof rowCodes => Object.hasOwn(rowCodes, code)

/** The words of a code that a row was refused with. */
const codeMessage = (code: keyof typeof rowCodes | Code): string =>
  isRowCode(code) ? rowCodes[code] : catalogue[code].message

const rowProblem = ({ error, refusal }: CampaignRow): CampaignRowView["problem"] => {
  if (error !== null) return { ...error, field: null, row: null }
  return refusal === null ? null : { message: codeMessage(refusal.code), ...refusal }
}

/** The row with the text that it would have, of a campaign's, or had. */
export const rowView = (text: string, row: CampaignRow): CampaignRowView => {
  const { error: _, ...rest } = row
  return { ...rest, text: row.sentText ?? rowText(text, row), problem: rowProblem(row) }
}

const columns = [
  "row",
  "to",
  "status",
  "message_id",
  "number_id",
  "taken_on_at",
  "sent_at",
  "delivered_at",
  "read_at",
  "error_code",
  "error_field",
  "error_message",
] as const

/** Whether a program for tables would read a cell as a formula; of a phone it would read the number. */
const isFormula = (text: string): boolean =>
  /^[=\-@\t\r]/.test(text) || (text.startsWith("+") && parsePhone(text) === undefined)

const cell = (value: string | number | null): string => {
  const text = value === null ? "" : String(value)
  const plain = isFormula(text) ? `'${text}` : text
  return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain
}

const line = (cells: ReadonlyArray<string | number | null>): string =>
  `${cells.map(cell).join(",")}\r\n`

const recipientCell = (to: RowRecipient | null, phone: string | null): string | number | null => {
  if (to === null) return null
  if ("phone" in to) return to.phone
  if ("username" in to) return to.username
  return "group" in to ? to.group : (phone ?? to.contactId)
}

/** In JSON's spelling; the name of a column is the caller's own. */
const fieldCell = (field: string | null): string | null =>
  field === null || field.startsWith("values.")
    ? field
    : field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** The first line of the file, with the mark of its encoding. */
export const resultsHeader = `\uFEFF${line(columns)}`

/** The line of a row; its text is not in the file. */
export const resultsLine = (row: CampaignRow): string => {
  const problem = rowProblem(row)
  return line([
    row.row,
    recipientCell(row.to, row.phone),
    row.status,
    row.messageId,
    row.numberId,
    instantOrNull(row.takenOnAt),
    instantOrNull(row.sentAt),
    instantOrNull(row.deliveredAt),
    instantOrNull(row.readAt),
    problem?.code ?? null,
    fieldCell(problem?.field ?? null),
    problem?.message ?? null,
  ])
}
