import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { fetchedFileName } from "../../src/model/Media.ts"
import { codePointLength } from "../../src/model/Input.ts"

const nowhere = "https://example.com/"

const ofDisposition = (header: string) =>
  fetchedFileName({ headers: { "content-disposition": header }, url: nowhere }, nowhere)

const ofUrl = (url: string) => fetchedFileName({ headers: {}, url }, nowhere)

describe("the name in a Content-Disposition", () => {
  const names: ReadonlyArray<readonly [header: string, name: string]> = [
    ["attachment", ""],
    ["attachment; filename=report.pdf", "report.pdf"],
    ["attachment;FileName = report.pdf ;x=y", "report.pdf"],
    ["filename=report.pdf", "report.pdf"],
    [`inline; filename="my report.pdf"`, "my report.pdf"],
    [`attachment; filename="a \\"b\\" c.pdf"`, `a "b" c.pdf`],
    [`attachment; filename="a;b.pdf"; size=7`, "a;b.pdf"],
    [`attachment; note="; filename=no.pdf"; filename=yes.pdf`, "yes.pdf"],
    [`attachment; filename="unfinished.pdf`, "unfinished.pdf"],
    [`attachment; filename=a.pdf; filename*=UTF-8''%e2%82%ac%20rates.pdf`, "€ rates.pdf"],
    [`attachment; filename*=utf-8'en'b%20c.pdf`, "b c.pdf"],
    [`attachment; filename*=ISO-8859-1''%A3%20rates.pdf`, "£ rates.pdf"],
    [`attachment; filename=a.pdf; filename*=UTF-8''%ff.pdf`, "a.pdf"],
    [`attachment; filename=a.pdf; filename*=KOI8-R''%ff.pdf`, "a.pdf"],
    [`attachment; filename=a.pdf; filename=b.pdf`, "a.pdf"],
    [`attachment; filename="B%C3%BCro%20M.pdf"`, "Büro M.pdf"],
    [`attachment; filename="100%.pdf"`, "100%.pdf"],
    // UTF-8 and Latin-1 as header bytes arrive.
    [`attachment; filename="B\xc3\xbcro.pdf"`, "Büro.pdf"],
    [`attachment; filename="B\xfcro.pdf"`, "Büro.pdf"],
    [`attachment; filename="写真.png"`, "写真.png"],
    [`attachment; filename="../../etc/passwd"`, "passwd"],
    [`attachment; filename="C:\\dir\\report.pdf"`, "report.pdf"],
    [`attachment; filename*=UTF-8''..%2F..%5Cpasswd`, "passwd"],
    [`attachment; filename="a\u0000b\u0085\tc.pdf"`, "abc.pdf"],
    [`attachment; filename=".."`, ""],
    [`attachment; filename=""`, ""],
    [`attachment; filename="${"a".repeat(300)}.pdf"`, `${"a".repeat(251)}.pdf`],
  ]
  for (const [header, name] of names) {
    it(JSON.stringify(header).slice(0, 80), () => assert.strictEqual(ofDisposition(header), name))
  }
})

describe("the name in a path", () => {
  const names: ReadonlyArray<readonly [url: string, name: string]> = [
    ["https://example.com/a/photo.png", "photo.png"],
    ["https://example.com/photo.png?x=/y.gif#z", "photo.png"],
    ["https://example.com/report (1)+final-2.pdf", "report (1)+final-2.pdf"],
    ["https://example.com/B%C3%BCro.pdf", "Büro.pdf"],
    ["https://example.com/100%.pdf", "100%.pdf"],
    ["https://example.com/", ""],
    ["https://example.com", ""],
    ["https://example.com/a/", ""],
    ["https://example.com/%2e%2e%2fpasswd", "passwd"],
    ["https://example.com/a%2F", ""],
    ["https://example.com/a%0A%00b.txt", "ab.txt"],
    ["nonsense", ""],
    [`https://example.com/${"a".repeat(256)}`, "a".repeat(255)],
    [`https://example.com/${"a".repeat(256)}.jpeg`, `${"a".repeat(250)}.jpeg`],
  ]
  for (const [url, name] of names) {
    it(url.slice(0, 60), () => assert.strictEqual(ofUrl(url), name))
  }
})

describe("for any server", () => {
  it.effect.prop(
    "the name is one path segment of at most 255 characters",
    [Schema.String],
    ([said]) =>
      Effect.sync(() => {
        for (const name of [
          ofDisposition(`attachment; filename="${said}"`),
          ofDisposition(said),
          ofUrl(`https://example.com/${said}`),
        ]) {
          assert.notMatch(name, /[/\\\p{Cc}]/u)
          assert.notMatch(name, /^\.{1,2}$/)
          assert.isAtMost(codePointLength(name), 255)
        }
      }),
  )
})
