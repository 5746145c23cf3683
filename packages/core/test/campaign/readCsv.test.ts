/** Files of rows, however they come (campaigns: 3). */
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { CsvReader, rowsOfColumns } from "../../src/model/readCsv.ts"
import type { CsvRow } from "../../src/model/readCsv.ts"

const encoder = new TextEncoder()

/** Reads in pieces of so many bytes; problems as `line:column words`. */
const read = (file: string | Uint8Array, size = Infinity) => {
  const bytes = typeof file === "string" ? encoder.encode(file) : file
  const reader = new CsvReader()
  const rows: Array<CsvRow> = []
  for (let at = 0; at <= bytes.length; at += size) {
    const isLast = at + size > bytes.length
    const pieces = [reader.next(bytes.subarray(at, at + size)), ...(isLast ? [reader.end()] : [])]
    for (const piece of pieces) {
      if (Result.isFailure(piece)) {
        const { details, message } = piece.failure
        const [, reason] = message.split(": ")
        return `${details.line}:${details.column} ${reason}`
      }
      rows.push(...piece.success)
    }
  }
  return { columns: reader.columns, rows }
}

const cells = (file: string, size?: number) => {
  const found = read(file, size)
  return typeof found === "string" ? found : found.rows.map((row) => row.cells)
}

const sizes = [1, 2, 3, 5, Infinity]

const everySize = (file: string | Uint8Array, expected: ReturnType<typeof read>) => {
  for (const size of sizes) assert.deepStrictEqual(read(file, size), expected, `${size} ${file}`)
}

describe("a file of rows", () => {
  it("keeps quoted separators, quotes and ends of line", () => {
    for (const size of sizes)
      assert.deepStrictEqual(cells('a,b\r\n"1,5","say ""hi""\nthere"\r\n', size), [
        ["1,5", 'say "hi"\nthere'],
      ])
    assert.deepStrictEqual(cells('a,b\n5" pipe,"x" \n'), [['5" pipe', "x "]])
  })

  it("has the separator that the header has most of, or that a first line names", () => {
    for (const separator of [",", ";", "\t", "|"])
      everySize(`\uFEFFa${separator}"x,;\t|y,;\t|"\n1${separator}2`, {
        columns: ["a", "x,;\t|y,;\t|"],
        rows: [{ line: 2, cells: ["1", "2"] }],
      })
    for (const end of ["\n", "\r\n", "\r"])
      everySize(`SEP=;${end}a;b,c,d${end}1;2`, {
        columns: ["a", "b,c,d"],
        rows: [{ line: 3, cells: ["1", "2"] }],
      })
  })

  it("ends lines as any system does, has no empty ones, and fills rows with blanks", () => {
    for (const end of ["\n", "\r\n", "\r"])
      everySize(["", ",", "a, b ", "", "1,", ",", '" "', "2,3", '"4', '4"', "5", ""].join(end), {
        columns: ["a", "b"],
        rows: [
          { line: 5, cells: ["1", ""] },
          { line: 8, cells: ["2", "3"] },
          { line: 9, cells: [`4${end}4`, ""] },
          { line: 11, cells: ["5", ""] },
        ],
      })
  })

  it("says what is wrong, and where", () => {
    const bytes = (...parts: ReadonlyArray<string | number>) =>
      Uint8Array.from(
        parts.flatMap((part) => (typeof part === "string" ? [...encoder.encode(part)] : part)),
      )
    for (const [file, text] of [
      ["", "1:1 the file has no header."],
      ["\n\n", "1:1 the file has no header."],
      ["sep=;", "1:1 the file has no header."],
      ["a,b", "1:1 the file has no rows."],
      ["a,b\n\n", "3:1 the file has no rows."],
      ["a,b\n1,2,3\n", "2:3 the row has more cells than the header."],
      ["a,,b\n1", "1:2 the column has no name."],
      ["a,b, A\n1", "1:3 the header has this name twice."],
      ['a,b\n"1"x,2', "2:1 text follows the quote that ends the cell."],
      ['a,b\n"1\n1",2\n3,"4\n\n', "4:2 the quote that begins here has no end."],
      ["a,b\n1,\0", "2:2 NUL is not text."],
      ["a,\0b\n1,2", "1:2 NUL is not text."],
      [bytes("a,b\r\n1,2\r\n3,é", 0xff, "\n"), "3:2 this is not UTF-8."],
      [bytes("a,b\n1,2\n3,", 0xc3), "3:2 this is not UTF-8."],
      [bytes("a,", 0xc3, "\n1,2"), "1:2 this is not UTF-8."],
      [bytes("a,b\n1,", 0xed, 0xa0, 0x80), "2:2 this is not UTF-8."],
      [
        Array.from({ length: 51 }, (_, at) => `c${at}`).join(),
        "1:51 a file has at most 50 columns.",
      ],
      [`a\n${"x".repeat(8193)}`, "2:1 a row has at most 8,192 bytes."],
    ] as const)
      everySize(file, text)
    const columns = Array.from({ length: 50 }, (_, at) => `c${at}`)
    assert.deepStrictEqual(read(`${columns.join()}\n1`), {
      columns,
      rows: [{ line: 2, cells: columns.map((_, at) => (at === 0 ? "1" : "")) }],
    })
    assert.isArray(cells("a,b\n\uFFFD,😀"))
  })

  it("keeps no more than a row of it", () => {
    const reader = new CsvReader()
    const piece = encoder.encode(" ".repeat(1000))
    let refused = 0
    for (let round = 0; round < 100 && refused === 0; round++) {
      if (Result.isFailure(reader.next(piece))) refused = round
    }
    assert.isBelow(refused, 40)
    assert.isAbove(refused, 0)
  })
})

describe("drawn files", () => {
  let seed = 1
  const next = (below: number) => {
    seed = (seed * 48_271) % 2_147_483_647
    return seed % below
  }
  const pick = <A>(from: ReadonlyArray<A>): A => from[next(from.length)] as A
  const draw = (letters: ReadonlyArray<string>, max: number) =>
    Array.from({ length: next(max) }, () => pick(letters)).join("")

  it("read back whatever cells are written, whatever they hold", () => {
    const letters = ["a", '"', ",", ";", "\n", "\r\n", "\r", " ", "é", "😀", "\t", "|"]
    for (let round = 0; round < 300; round += 1) {
      const count = 1 + next(4)
      const rows = Array.from({ length: 1 + next(4) }, () =>
        Array.from({ length: count }, () => `x${draw(letters, 6)}`),
      )
      const separator = pick([",", ";", "\t", "|"])
      const end = pick(["\n", "\r\n", "\r"])
      const written = (cell: string) =>
        /^[a-zé]*$/.test(cell) && next(2) === 0 ? cell : `"${cell.replaceAll('"', '""')}"`
      const header = Array.from({ length: count }, (_, at) => `column ${at}`).join(separator)
      const lines = rows.map((row) => row.map(written).join(separator))
      const bytes = `${count === 1 ? `sep=${separator}${end}` : ""}${[header, ...lines].join(end)}`
      assert.deepStrictEqual(cells(bytes, 1 + next(7)), rows, JSON.stringify(bytes))
    }
  })

  /** Reads the whole text letter by letter; undefined for what is refused. */
  const reference = (text: string) => {
    const rows: Array<ReadonlyArray<string>> = []
    let row: Array<string> = []
    let at = 0
    for (;;) {
      let cell = ""
      if (text[at] === '"') {
        for (at += 1; text[at] !== '"' || text[at + 1] === '"'; at += 1) {
          if (at >= text.length) return undefined
          if (text[at] === '"') at += 1
          cell += text[at]
        }
        for (at += 1; at < text.length && text[at] !== "," && text[at] !== "\n"; at += 1) {
          if (text[at] !== " ") return undefined
          cell += " "
        }
      } else {
        for (; at < text.length && text[at] !== "," && text[at] !== "\n"; at += 1) cell += text[at]
      }
      row.push(cell)
      if (text[at] !== ",") {
        if (row.some((one) => one.trim() !== "")) rows.push(row)
        row = []
      }
      if (at >= text.length) break
      at += 1
    }
    const max = 3
    return rows.length === 0 || rows.some(({ length }) => length > max)
      ? undefined
      : rows.map((each) => [...each, "", ""].slice(0, max))
  }

  it("are read as letter by letter", () => {
    const letters = ["a", '"', '"', ",", "\n", " "]
    let read3 = 0
    for (let round = 0; round < 600; round += 1) {
      const text = draw(letters, 12)
      const found = cells(`a,b,c\n${text}`, 1 + next(4))
      const expected = reference(text)
      if (expected !== undefined) read3 += 1
      assert.deepStrictEqual(
        typeof found === "string" ? undefined : found,
        expected,
        JSON.stringify(text),
      )
    }
    assert.isAbove(read3, 100)
  })
})

describe("rows of columns", () => {
  const row = (
    columns: ReadonlyArray<string>,
    texts: ReadonlyArray<string>,
    toColumn: string | null = null,
  ) => Result.flatMap(rowsOfColumns(columns, toColumn), (make) => make({ line: 2, cells: texts }))

  it("have their recipient where the file or the call says", () => {
    for (const [columns, toColumn, to] of [
      [["Phone", "TO"], null, "2"],
      [["x", "phone"], null, "2"],
      [["to", "Mobile"], " mobile", "2"],
    ] as const) {
      assert.deepStrictEqual(
        Result.map(row(columns, ["1", " 2 "], toColumn), (created) => created.to),
        Result.succeed({ phone: to }),
      )
    }
    for (const [columns, toColumn] of [
      [["name"], null],
      [["to"], "phone"],
    ] as const) {
      const refused = row(columns, ["1"], toColumn)
      assert.strictEqual(Result.isFailure(refused) && refused.failure.code, "column_not_found")
    }
  })

  it("have usernames, times and values", () => {
    for (const to of ["@anna", "t.me/anna", "https://T.me/anna", "tg:12"])
      assert.deepStrictEqual(
        row(["to", "send_at", "Expires_At", "name"], [to, "2030-01-01 09:00", " ", " Ann "]),
        Result.succeed({
          line: 2,
          to: { username: to },
          values: { to, send_at: "2030-01-01 09:00", name: " Ann " },
          sendAt: "2030-01-01 09:00",
          expiresAt: null,
        }),
      )
  })
})
