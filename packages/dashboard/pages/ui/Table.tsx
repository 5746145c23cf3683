/** A table of rows with words for its columns; the less important columns hide on narrow windows. */
import type { ReactNode } from "react"

export interface Column {
  readonly name: string
  /** Hidden below 768 px. */
  readonly wide?: true
  readonly right?: true
  /** The name is for screen readers alone. */
  readonly silent?: true
}

export const Table = ({
  caption,
  children,
  columns,
}: {
  caption: string
  columns: ReadonlyArray<Column>
  children: ReactNode
}) => (
  <div className="card overflow-x-auto">
    <table className="w-full text-sm max-md:table-fixed">
      <caption className="sr-only">{caption}</caption>
      <thead className="border-b border-line">
        <tr>
          {columns.map(({ name, right, silent, wide }) => (
            <th
              key={name}
              scope="col"
              className={`label px-4 py-2 whitespace-nowrap max-md:px-3 ${silent ? "max-md:w-24" : ""} ${right ? "text-right" : "text-left"} ${wide ? "max-md:hidden" : ""}`}
            >
              {silent ? <span className="sr-only">{name}</span> : name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  </div>
)

export const Row = ({ children }: { children: ReactNode }) => (
  <tr className="relative h-11 border-b border-line last:border-0 hover:bg-sunken">{children}</tr>
)

export const Cell = ({
  children,
  right = false,
  wide = false,
}: {
  children: ReactNode
  right?: boolean
  wide?: boolean
}) => (
  <td
    className={`max-w-80 truncate px-4 py-1.5 max-md:px-3 ${right ? "text-right" : ""} ${wide ? "max-md:hidden" : ""}`}
  >
    {children}
  </td>
)

/** A button in a row that stays above the row's own link. */
export const rowButton =
  "relative z-1 h-8 cursor-pointer rounded-md px-2 text-xs font-medium text-soft hover:bg-sunken hover:text-ink"
