/** A table made of columns that are data; the less important ones hide on narrow windows. */
import type { ButtonHTMLAttributes, Key, ReactNode } from "react"
import { PagedAnswer } from "./Answer.tsx"
import type { IconName } from "./Icon.tsx"
import type { List } from "./list.ts"
import { Empty } from "./parts.tsx"

interface Column<Item> {
  readonly name: string
  readonly cell: (item: Item) => ReactNode
  /** Classes of the cell's text. */
  readonly tone?: string
  /** Hidden below 768 px. */
  readonly wide?: true
  readonly right?: true
  /** The name is for screen readers alone. */
  readonly silent?: true
}

export type Columns<Item> = ReadonlyArray<Column<Item>>

interface TableProps<Item> {
  readonly caption: string
  readonly columns: Columns<Item>
  /** What a table without rows says. */
  readonly empty?: readonly [icon: IconName, title: string, about: ReactNode, action?: ReactNode]
}

interface HasKey {
  readonly id: Key
}

const head = ({ right, silent, wide }: Column<never>): string =>
  `label px-4 py-2 whitespace-nowrap max-md:px-3 ${silent ? "max-md:w-24" : ""} ${right ? "text-right" : "text-left"} ${wide ? "max-md:hidden" : ""}`

const body = ({ right, wide }: Column<never>): string =>
  `max-w-80 truncate px-4 py-1.5 max-md:px-3 ${right ? "text-right" : ""} ${wide ? "max-md:hidden" : ""}`

export const Table = <Item extends HasKey>({
  caption,
  columns,
  empty,
  rows,
}: TableProps<Item> & { readonly rows: ReadonlyArray<Item> }) =>
  rows.length === 0 && empty ? (
    <div className="card">
      <Empty icon={empty[0]} title={empty[1]}>
        {empty[2]}
        {empty[3] && <div className="mt-3 flex flex-wrap justify-center gap-2">{empty[3]}</div>}
      </Empty>
    </div>
  ) : (
    <div className="card overflow-x-auto">
      <table className="w-full text-sm max-md:table-fixed">
        <caption className="sr-only">{caption}</caption>
        <thead className="border-b border-line">
          <tr>
            {columns.map((column) => (
              <th key={column.name} scope="col" className={head(column)}>
                {column.silent ? <span className="sr-only">{column.name}</span> : column.name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((item) => (
            <tr
              key={item.id}
              className="relative h-11 border-b border-line last:border-0 hover:bg-sunken"
            >
              {columns.map((column) => (
                <td key={column.name} className={body(column)}>
                  {column.tone === undefined ? (
                    column.cell(item)
                  ) : (
                    <span className={column.tone}>{column.cell(item)}</span>
                  )}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )

/** A list of the service as a table, in each of its states, with the way to its other pages. */
export const PagedTable = <Item extends HasKey>({
  list,
  ...table
}: TableProps<Item> & { readonly list: List<Item> }) => (
  <PagedAnswer list={list}>{(rows) => <Table {...table} rows={rows} />}</PagedAnswer>
)

/** Phones, ids and codes. */
export const mono = "font-mono text-xs"

/** A link that takes its whole row. */
export const rowLink = "font-medium after:absolute after:inset-0"

/** What stays above the row's own link. */
export const rowButton =
  "relative z-1 h-8 cursor-pointer rounded-md px-2 text-xs font-medium text-soft hover:bg-sunken hover:text-ink"

export const RowButton = ({
  className = "",
  ...attributes
}: ButtonHTMLAttributes<HTMLButtonElement>) => (
  <button type="button" {...attributes} className={`${rowButton} ${className}`} />
)
