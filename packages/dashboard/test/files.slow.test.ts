/** The built files as a server gets them: what they weigh, that copies are the same content, that nothing is inline. */
import { execFile } from "node:child_process"
import { join } from "node:path"
import { promisify } from "node:util"
import { brotliDecompressSync, gunzipSync } from "node:zlib"
import { loadDashboard } from "@messaging-service/dashboard"
import type { DashboardFile } from "@messaging-service/dashboard"
import { assert, beforeAll, describe, it } from "vitest"

const firstPageMax = 150_000
const otherPageMax = 20_000

describe("the built dashboard", () => {
  let files: ReadonlyMap<string, DashboardFile>

  beforeAll(async () => {
    // As every start does; in a process of its own, since under a test runner Vite builds what developers use.
    await promisify(execFile)(process.execPath, [join(import.meta.dirname, "../build.ts")], {
      env: { PATH: process.env["PATH"] },
    })
    files = await loadDashboard()
  })

  const toText = (path: string): string => Buffer.from(files.get(path)?.body ?? "").toString()

  /** The scripts that a script loads at once, itself included. */
  const getScripts = (path: string, known = new Set<string>()): ReadonlySet<string> => {
    if (known.has(path)) return known
    known.add(path)
    for (const [, name] of toText(path).matchAll(/(?:from|import)\s*["']\.\/([\w-]+\.js)["']/g))
      getScripts(`assets/${name}`, known)
    return known
  }

  const weigh = (paths: Iterable<string>): number =>
    [...paths].reduce((sum, path) => sum + (files.get(path)?.gzip?.length ?? 0), 0)

  const firstScript = (): string =>
    /src="\.\/(assets\/[\w-]+\.js)"/.exec(toText("index.html"))?.[1] ?? ""

  it("needs at most 150 kB of script for the first page, and 20 kB more for any other", () => {
    const first = getScripts(firstScript())
    assert.isAbove(weigh(first), 0)
    assert.isBelow(weigh(first), firstPageMax)
    const pages = [...files.keys()].filter((path) => /Page-[\w-]+\.js$/.test(path))
    assert.isAbove(pages.length, 0)
    for (const page of pages) {
      const more = [...getScripts(page)].filter((path) => !first.has(path))
      assert.isBelow(weigh(more), otherPageMax, page)
    }
  })

  it("has compressed copies of the same content, a type and a tag for each file", () => {
    for (const [path, { body, br, etag, gzip, type }] of files) {
      assert.match(type, /^(text\/(html|css|javascript); charset=utf-8|image\/svg\+xml)$/, path)
      assert.match(etag, /^"[\da-f]{32}"$/, path)
      if (path === "index.html") continue
      assert.isDefined(br, path)
      assert.isTrue(brotliDecompressSync(br ?? body).equals(body), path)
      assert.isTrue(gunzipSync(gzip ?? body).equals(body), path)
    }
  })

  it("lets browsers keep the files whose names change with their content, and no others", () => {
    for (const [path, { immutable }] of files)
      assert.strictEqual(immutable, /^assets\/[\w-]+-[\w-]{8}\.(js|css)$/.test(path), path)
  })

  it("has no inline script or style, and names files by relative addresses alone", () => {
    const page = toText("index.html")
    assert.notMatch(page, /<style|\sstyle=|\son\w+=/)
    for (const [, source] of page.matchAll(/<script([^>]*)>/g)) assert.include(source, "src=")
    for (const [, address] of page.matchAll(/\s(?:src|href)="([^"]*)"/g))
      assert.match(address ?? "", /^\.\/[\w./-]+$/)
  })
})
