/** Comma-separated values as spreadsheets write them. */
import { assert, describe, it } from "vitest"
import { parseCsv } from "../pages/file/csv.ts"
import { workAtOnce } from "../pages/file/turns.ts"

const texts = (source: string) => workAtOnce(parseCsv(source)).rows.map(({ cells }) => cells)

describe("a CSV file", () => {
  it("keeps quoted separators, quotes and ends of line", () => {
    assert.deepStrictEqual(texts('a,b\r\n"1,5","say ""hi""\nthere"\r\n'), [
      ["a", "b"],
      ["1,5", 'say "hi"\nthere'],
    ])
  })

  it("may begin with a mark and use semicolons, tabs or bars", () => {
    for (const separator of [",", ";", "\t", "|"])
      assert.deepStrictEqual(texts(`\uFEFFa${separator}"x,y"\n1${separator}2`), [
        ["a", "x,y"],
        ["1", "2"],
      ])
    assert.deepStrictEqual(texts("sep=;\r\na;b,c,d\r\n"), [["a", "b,c,d"]])
  })

  it("ends lines as any system does, and has no empty ones", () => {
    for (const end of ["\n", "\r\n", "\r"])
      assert.deepStrictEqual(texts(["a,b", "", "1,", ",", "2,3", ""].join(end)), [
        ["a", "b"],
        ["1", ""],
        ["2", "3"],
      ])
  })

  it("takes a quote within a cell as it is", () => {
    assert.deepStrictEqual(texts('5" pipe,x'), [['5" pipe', "x"]])
  })

  it("names the line on which every row begins, also after cells of several lines", () => {
    const { rows } = workAtOnce(parseCsv('a,b\n"x\r\ny",2\n3,"4"'))
    assert.deepStrictEqual(
      rows.map(({ line }) => line),
      [1, 2, 4],
    )
  })

  it("says where a quote does not end, and where text follows one", () => {
    assert.deepStrictEqual(workAtOnce(parseCsv('a,b\n1,"open\n2,3')).problems, [
      { code: "unclosed_quote", line: 2, column: 2 },
    ])
    assert.deepStrictEqual(workAtOnce(parseCsv('a,b\n"1"x,"3\n4"y\n"5" 6\n')).problems, [
      { code: "text_after_quote", line: 2, column: 1 },
      { code: "text_after_quote", line: 2, column: 2 },
      { code: "text_after_quote", line: 4, column: 1 },
    ])
  })

  it("reads back whatever cells are written, whatever they hold", () => {
    const letters = ["a", '"', ",", ";", "\n", "\r\n", " ", "é", ""]
    let seed = 1
    const next = (below: number) => {
      seed = (seed * 48_271) % 2_147_483_647
      return seed % below
    }
    for (let round = 0; round < 300; round += 1) {
      const rows = Array.from({ length: 1 + next(4) }, () =>
        Array.from(
          { length: 3 },
          () => `x${Array.from({ length: next(5) }, () => letters[next(letters.length)]).join("")}`,
        ),
      )
      const quoted = (cell: string) => `"${cell.replaceAll('"', '""')}"`
      const source = rows.map((row) => row.map(quoted).join(",")).join("\r\n")
      assert.deepStrictEqual(texts(source), rows)
    }
  })
})
