/** The contacts of a CSV file: a name and a phone or username in each row. */
import { findColumns, parseCsv } from "../ui/csv.ts"

export interface ContactRow {
  /** From 1, as a spreadsheet counts. */
  readonly row: number
  readonly name: string
  readonly address: string
}

export interface ContactsFile {
  readonly contacts: ReadonlyArray<ContactRow>
  /** Rows without a name or without an address. */
  readonly incomplete: ReadonlyArray<number>
}

const nameNames = /^(name|full[ _]?name|contact|customer)$/i

/** Takes each address once: a contact is one name for it. */
export const readContacts = (text: string): ContactsFile => {
  const rows = parseCsv(text)
  const { columns, hasHeader, recipients } = findColumns(rows)
  const named = hasHeader ? columns.findIndex((column) => nameNames.test(column)) : -1
  const names = named >= 0 ? named : columns.findIndex((_, index) => index !== recipients)
  const all = rows.map((cells, index) => ({
    row: index + 1,
    name: cells[names]?.trim() ?? "",
    address: cells[recipients]?.trim() ?? "",
  }))
  const listed = all.slice(hasHeader ? 1 : 0)
  const whole = listed.filter(({ address, name }) => name !== "" && address !== "")
  return {
    contacts: [
      ...new Map(whole.toReversed().map((one) => [one.address, one])).values(),
    ].toReversed(),
    incomplete: listed.filter((one) => !whole.includes(one)).map(({ row }) => row),
  }
}
