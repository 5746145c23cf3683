/** Comma-separated values as spreadsheets write them, and what a page finds in their first lines. */
import { assert, describe, it } from "vitest"
import { decodeText, findColumns, parseCsv } from "../pages/ui/csv.ts"

describe("a CSV file", () => {
  it("keeps quoted separators, quotes and ends of line", () => {
    assert.deepStrictEqual(parseCsv('a,b\r\n"1,5","say ""hi""\nthere"\r\n'), [
      ["a", "b"],
      ["1,5", 'say "hi"\nthere'],
    ])
  })

  it("may begin with a mark and use semicolons, tabs or bars", () => {
    for (const separator of [",", ";", "\t", "|"])
      assert.deepStrictEqual(parseCsv(`\uFEFFa${separator}"x,y"\n1${separator}2`), [
        ["a", "x,y"],
        ["1", "2"],
      ])
    assert.deepStrictEqual(parseCsv("sep=;\r\na;b,c,d\r\n"), [["a", "b,c,d"]])
  })

  it("ends lines as any system does, and has no empty ones", () => {
    for (const end of ["\n", "\r\n", "\r"])
      assert.deepStrictEqual(parseCsv(["a,b", "", "1,", ",", "2,3", ""].join(end)), [
        ["a", "b"],
        ["1", ""],
        ["2", "3"],
      ])
  })

  it("takes a quote within a cell as it is, and a cell that does not end to the end", () => {
    assert.deepStrictEqual(parseCsv('5" pipe,x'), [['5" pipe', "x"]])
    assert.deepStrictEqual(parseCsv('a,b\n1,"open\n2,3'), [
      ["a", "b"],
      ["1", "open\n2,3"],
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
      assert.deepStrictEqual(parseCsv(source), rows)
    }
  })

  it("is text in UTF-8, or in UTF-16 with its mark", () => {
    assert.strictEqual(decodeText(new TextEncoder().encode("phone,name")), "phone,name")
    assert.strictEqual(decodeText(Uint8Array.of(0xff, 0xfe, 0x61, 0)), "a")
    assert.isUndefined(decodeText(Uint8Array.of(0x61, 0xff)))
  })

  it.each([
    ["a name", "name,Phone\nAda,+15550001234", 1, true],
    ["the first values", "who,where\nAda,+1 555 000 1234", 1, true],
    ["values alone", "Ada,+15550001234", 1, false],
    ["nothing", "who,where\nAda,here", 0, true],
  ])("finds the column of the recipients by %s", (_, text, recipients, hasHeader) => {
    const found = findColumns(parseCsv(text))
    assert.deepInclude(found, { recipients, hasHeader })
  })
})
