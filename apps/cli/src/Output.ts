/**
 * Output of commands: tables and fields for people, with `--json` one JSON value per line for programs.
 * Results go to standard output. Progress goes to standard error, and only where a person sees it.
 */
import { Ended } from "./ending.ts"
import type { Machine } from "./Machine.ts"

/** A column of a table: a field under its own name, or a heading with a field or what a record gives. */
export type Column<Item> =
  | (keyof Item & string)
  | readonly [heading: string, of: (keyof Item & string) | ((item: Item) => unknown)]

type Cell<Item> = readonly [heading: string, of: (item: Item) => unknown]

export interface Output {
  readonly json: boolean
  /** One record. People see only the named columns, if any, and a blank line between records. */
  one<Item extends object>(item: Item, columns?: ReadonlyArray<Column<NoInfer<Item>>>): void
  /** Records as they arrive, at most `max`, while the output accepts them. */
  all<Item extends object>(
    items: AsyncIterable<Item> | Iterable<Item>,
    columns: ReadonlyArray<Column<NoInfer<Item>>>,
    max?: number,
  ): Promise<void>
  /** A record in one line, as it happens: those columns. */
  event<Item extends object>(item: Item, columns: ReadonlyArray<Column<NoInfer<Item>>>): void
  /** For people only, where a record shows nothing. */
  print(line: string): void
  /** Unchanged text, for people only. */
  show(text: string): void
  /** A line on standard error, for people and, with its subject, for programs. */
  remark(line: string, about: Readonly<Record<string, unknown>>): void
  /** Progress of long work; the next one replaces it, and `undefined` removes it. */
  progress(line: string | undefined): void
}

/** Texts of others may contain terminal commands. */
const printable = (text: string): string =>
  text.replaceAll(/[\u0000-\u001F\u007F-\u009F]/g, (each) =>
    each === "\n" || each === "\t" ? " " : `\\u{${each.charCodeAt(0).toString(16)}}`,
  )

/** A field's name for people. */
const toLabel = (name: string): string => name.replaceAll("_", " ")

/** A value for people. */
const format = (value: unknown): string => {
  if (value === null || value === undefined || value === "") return "-"
  if (typeof value === "string") return printable(value)
  if (typeof value === "boolean") return value ? "yes" : "no"
  if (Array.isArray(value)) return value.length === 0 ? "-" : value.map(format).join(", ")
  if (typeof value !== "object") return String(value)
  return Object.entries(value)
    .filter(([, inner]) => inner !== null)
    .map(([name, inner]) => `${toLabel(name)} ${format(inner)}`)
    .join(", ")
}

/** A time as the API gives it. */
const instant = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/

/** Short times of a zone; with the year where it is not the present one. */
const makeTimeText = (timeZone: string, now: number): ((time: string) => string) => {
  const formatter = (withYear: boolean) =>
    new Intl.DateTimeFormat("en-GB", {
      timeZone,
      day: "2-digit",
      month: "short",
      ...(withYear ? { year: "numeric" } : {}),
      hour: "2-digit",
      minute: "2-digit",
      second: "2-digit",
      hourCycle: "h23",
    })
  const [short, long] = [formatter(false), formatter(true)]
  const year = new Intl.DateTimeFormat("en-GB", { timeZone, year: "numeric" })
  return (time) => {
    const date = new Date(time)
    const isThisYear = year.format(date) === year.format(now)
    return (isThisYear ? short : long).format(date).replace(",", "")
  }
}

/** The value with each time in it as such a text. */
const withTimes = (value: unknown, text: (time: string) => string): unknown => {
  if (typeof value === "string") return instant.test(value) ? text(value) : value
  if (Array.isArray(value)) return value.map((each) => withTimes(each, text))
  if (!isNested(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, withTimes(inner, text)]),
  )
}

const toCell = <Item>(column: Column<Item>): Cell<Item> => {
  if (typeof column === "string") return [column, (item) => item[column]]
  const [heading, of] = column
  return [heading, typeof of === "function" ? of : (item) => item[of]]
}

/** A column's value. An answer of another form than the service's may lack what a column reads. */
const valueOf = <Item>(of: Cell<Item>[1], item: Item): unknown => {
  try {
    return of(item)
  } catch {
    throw unlikeTheService
  }
}

const isList = (items: object | undefined): boolean =>
  items !== undefined && (Symbol.iterator in items || Symbol.asyncIterator in items)

const unlikeTheService = new Ended(
  "unavailable",
  "an answer has another form than the service's; --json shows it as it is",
)

/** Measures and prints as many rows at once as a page has. */
const blockRows = 100

/** What stays of the widest column at least, where a terminal is too narrow for all. */
const minCut = 20

/** Columns side by side. Where they are wider than `max` together, the widest one is cut. */
const table = (rows: ReadonlyArray<ReadonlyArray<string>>, max: number | null = null): string => {
  const widths = (rows[0] ?? []).map((_, at) =>
    Math.max(...rows.map((row) => row[at]?.length ?? 0)),
  )
  const widest = widths.indexOf(Math.max(...widths))
  const excess = max === null ? 0 : widths.reduce((a, b) => a + b + 2, -2) - max
  if (excess > 0) {
    const own = widths[widest] ?? 0
    widths[widest] = Math.min(own, Math.max(minCut, own - excess))
  }
  const cut = (cell: string, width: number) =>
    cell.length > width ? `${cell.slice(0, width - 1)}…` : cell.padEnd(width)
  return rows
    .map((row) =>
      row
        .map((cell, at) => cut(cell, widths[at] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .map((line) => `${line}\n`)
    .join("")
}

/** Nested values up to that many characters share the line of their name. */
const inlineWidth = 60

type Entries = ReadonlyArray<readonly [name: string, value: unknown]>

const isNested = (value: unknown): value is object => typeof value === "object" && value !== null

const isFlat = (value: object): boolean => Object.values(value).every((inner) => !isNested(inner))

/** Entries of an object that say something. */
const getEntries = (value: object): Entries =>
  Object.entries(value).filter(([, inner]) => inner !== null)

const isShort = (value: unknown): boolean =>
  !isNested(value) ||
  (Array.isArray(value) && value.every((each) => !isNested(each))) ||
  (isFlat(value) && !Array.isArray(value) && format(value).length <= inlineWidth)

const indented = (text: string): string => text.replaceAll(/^(?=.)/gm, "  ")

/** Records of a list as a table with a column for each name that says something. */
const nestedTable = (records: ReadonlyArray<object>): string => {
  const names = [...new Set(records.flatMap((each) => getEntries(each).map(([name]) => name)))]
  const cells = records.map((each) => names.map((name) => format(getField(each, name))))
  return table([names.map((name) => toLabel(name).toUpperCase()), ...cells])
}

const nested = (value: unknown): string => {
  if (!Array.isArray(value)) return fieldLines(getEntries(value as object))
  return value.every(isNested)
    ? nestedTable(value)
    : value.map((each) => `${format(each)}\n`).join("")
}

/** Fields below each other; a value that is too long for a line is below its name. */
const fieldLines = (entries: Entries): string => {
  const lines = table(
    entries.map(([name, value]) => [toLabel(name), isShort(value) ? format(value) : ""]),
  ).split("\n")
  return entries
    .map(([, value], at) => `${lines[at]}\n${isShort(value) ? "" : indented(nested(value))}`)
    .join("")
}

/** A field of a record by its name, or by names with dots between them. */
const getField = (item: unknown, path: string): unknown =>
  path
    .split(".")
    .reduce<unknown>(
      (inner, name) =>
        typeof inner === "object" && inner !== null && Object.hasOwn(inner, name)
          ? (inner as Readonly<Record<string, unknown>>)[name]
          : undefined,
      item,
    )

/** Only these fields of a record, by their names; null where it lacks one. */
const picked = (item: object, fields: ReadonlyArray<string>): Readonly<Record<string, unknown>> =>
  Object.fromEntries(fields.map((name) => [name, getField(item, name) ?? null]))

/** The chosen fields of records; undefined for all. */
const chosenFields = (
  fields: ReadonlyArray<string> | undefined,
  remark: Output["remark"],
): {
  readonly of: (item: object) => object
  readonly columns: <Item extends object>(
    own: ReadonlyArray<Column<Item>>,
  ) => ReadonlyArray<Cell<Item>>
} => {
  if (fields === undefined) return { of: (item) => item, columns: (own) => own.map(toCell) }
  let isChecked = false
  /** The first record says which fields there are. */
  const check = (item: object) => {
    if (isChecked) return
    isChecked = true
    const names = Object.keys(item)
    const unknown = fields.filter((name) => !names.includes(name.split(".")[0] ?? ""))
    if (unknown.length === 0) return
    remark(`unknown field ${unknown.join(", ")}; there are ${names.join(", ")}`, {
      unknown_fields: unknown,
    })
  }
  return {
    of: (item) => {
      check(item)
      return picked(item, fields)
    },
    columns: () =>
      fields.map((name, at) => [
        name,
        (item) => {
          if (at === 0) check(item)
          return getField(item, name)
        },
      ]),
  }
}

const remarker =
  (machine: Machine, json: boolean, progress: Output["progress"]): Output["remark"] =>
  (text, about) => {
    progress(undefined)
    const said = json
      ? JSON.stringify({ remark: { message: text, ...about } })
      : `messaging: ${text}`
    machine.remark(`${said}\n`)
  }

/** Output with only those fields of each record, or with all; people see times of the machine's zone, or of UTC. */
export const makeOutput = (
  machine: Machine,
  { json, utc = false }: { readonly json: boolean; readonly utc?: boolean },
  fields?: ReadonlyArray<string>,
): Output => {
  const timeText = makeTimeText(utc ? "UTC" : machine.timeZone, machine.now())
  const toText = <Item>(of: Cell<Item>[1], item: Item) =>
    format(withTimes(valueOf(of, item), timeText))
  let hasProgress = false
  let hasRecord = false
  const progress = (text: string | undefined) => {
    if (!machine.isWatched || json) return
    if (hasProgress || text !== undefined) machine.remark(`\r\u001B[K${text ?? ""}`)
    hasProgress = text !== undefined
  }
  const print = (text: string) => {
    progress(undefined)
    machine.print(text)
  }
  const remark = remarker(machine, json, progress)
  const chosen = chosenFields(fields, remark)
  const line = (item: object) => machine.print(`${JSON.stringify(chosen.of(item))}\n`)
  return {
    json,
    one: (item, columns) => {
      if (json) return line(item)
      if (hasRecord) print("\n")
      hasRecord = true
      const pairs =
        columns === undefined
          ? Object.entries(chosen.of(item))
          : chosen.columns(columns).map(([name, of]) => [name, valueOf(of, item)] as const)
      print(fieldLines(pairs.map(([name, value]) => [name, withTimes(value, timeText)])))
    },
    all: async (items, own, max = Number.POSITIVE_INFINITY) => {
      const columns = chosen.columns(own)
      const heading = columns.map(([name]) => name.toUpperCase())
      let rows: Array<ReadonlyArray<string>> = [heading]
      let lastCount = 0
      if (!isList(items)) throw unlikeTheService
      for await (const item of items) {
        if (json) line(item)
        else rows.push(columns.map(([, of]) => toText(of, item)))
        if (rows.length > blockRows) {
          print(table(rows, machine.width))
          rows = []
        }
        if (++lastCount >= max || (await machine.written()) !== null) break
      }
      if (json) return
      if (lastCount === 0) print("none\n")
      else print(table(rows, machine.width))
    },
    event: (item, columns) => {
      if (json) return line(item)
      const cells = chosen.columns(columns).map(([, of]) => toText(of, item))
      print(`${cells.join("  ")}\n`)
    },
    print: (text) => {
      if (!json) print(`${printable(text)}\n`)
    },
    show: (text) => {
      if (!json) print(text)
    },
    remark,
    progress,
  }
}
