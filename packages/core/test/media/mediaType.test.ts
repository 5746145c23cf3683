import { assert, describe, it } from "@effect/vitest"
import { toMediaType, mediaTypeOfLink } from "../../src/model/Media.ts"

describe("toMediaType", () => {
  for (const mimeType of ["image/jpeg", "image/png", "image/webp", "image/gif", "IMAGE/PNG"]) {
    it(`${mimeType} is an image`, () => assert.strictEqual(toMediaType(mimeType), "image"))
  }
  for (const mimeType of [
    "image/svg+xml",
    "image/tiff",
    "image/heic",
    "image/apng",
    "application/pdf",
    "application/octet-stream",
    "",
  ]) {
    it(`"${mimeType}" is a file`, () => assert.strictEqual(toMediaType(mimeType), "file"))
  }
})

describe("mediaTypeOfLink", () => {
  const links: ReadonlyArray<readonly [url: string, type: "image" | "file" | undefined]> = [
    ["https://example.com/photo.jpg", "image"],
    ["https://example.com/a/b.c/PHOTO.JPEG", "image"],
    ["https://example.com/photo.png?size=2#top", "image"],
    ["https://example.com/photo.webp", "image"],
    ["https://example.com/photo.gif", "image"],
    ["https://example.com/report.final.pdf", "file"],
    ["https://example.com/drawing.svg", "file"],
    ["https://example.com/archive.tar.gz", "file"],
    ["https://example.com/download", undefined],
    ["https://example.com/download.php?file=photo.jpg", undefined],
    ["https://example.com/photo.jpg/", undefined],
    ["https://example.com/v1.2", undefined],
    ["https://example.com/.png", undefined],
    ["https://photo.png", undefined],
    ["no link.png", undefined],
  ]
  for (const [url, type] of links) {
    it(`${url} implies ${type ?? "nothing"}`, () => assert.strictEqual(mediaTypeOfLink(url), type))
  }
})
