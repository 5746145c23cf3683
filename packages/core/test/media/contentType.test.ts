import { assert, describe, it } from "@effect/vitest"
import { toMimeType, withFittingEnding } from "../../src/model/Media.ts"

const nothing = "application/octet-stream"

describe("the MIME type of a content", () => {
  const types: ReadonlyArray<readonly [sniffed: string, fileName: string, mimeType: string]> = [
    [nothing, "notes.txt", "text/plain"],
    [nothing, "list.csv", "text/csv"],
    [nothing, "LIST.CSV", "text/csv"],
    [nothing, "data.json", "application/json"],
    [nothing, "drawing.svg", "image/svg+xml"],
    [nothing, "page.html", "text/html"],
    [nothing, "a.b.md", "text/markdown"],
    // Known formats begin with known bytes; this one does not.
    [nothing, "photo.png", nothing],
    [nothing, "report.pdf", nothing],
    [nothing, "archive.zip", nothing],
    [nothing, "program.exe", nothing],
    [nothing, "notes", nothing],
    [nothing, "txt", nothing],
    [nothing, ".txt", nothing],
    [nothing, "", nothing],
    ["image/png", "notes.txt", "image/png"],
    ["application/pdf", "list.csv", "application/pdf"],
    ["application/xml", "drawing.svg", "image/svg+xml"],
    ["application/xml", "track.gpx", "application/gpx+xml"],
    ["application/xml", "feed.xml", "application/xml"],
    ["application/xml", "notes.txt", "application/xml"],
  ]
  for (const [sniffed, fileName, mimeType] of types) {
    it(`${sniffed} called "${fileName}" is ${mimeType}`, () =>
      assert.strictEqual(toMimeType(sniffed, fileName), mimeType))
  }
})

describe("a fitting extension", () => {
  const names: ReadonlyArray<readonly [mimeType: string, given: string, name: string]> = [
    ["image/jpeg", "photo", "photo.jpg"],
    ["image/jpeg", "photo.jpg", "photo.jpg"],
    ["image/jpeg", "photo.Jpeg", "photo.Jpeg"],
    ["image/jpeg", "photo.png", "photo.png.jpg"],
    ["application/pdf", "v1.2", "v1.2.pdf"],
    ["text/plain", "app.log", "app.log"],
    ["application/zip", "sheet.xlsx", "sheet.xlsx"],
    ["application/zip", "files", "files.zip"],
    [nothing, "anything", "anything"],
    ["application/x-unheard-of", "anything", "anything"],
  ]
  for (const [mimeType, text, name] of names) {
    it(`of ${mimeType} makes "${text}" "${name}"`, () =>
      assert.strictEqual(withFittingEnding(text, mimeType), name))
  }
})
