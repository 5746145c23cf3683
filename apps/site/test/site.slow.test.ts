/** The built site in a browser: its links, its search without a server, and what is served with its pages. */
import { execFile } from "node:child_process"
import { existsSync, globSync, readFileSync } from "node:fs"
import { mkdtemp, readFile, rm } from "node:fs/promises"
import { createServer } from "node:http"
import { tmpdir } from "node:os"
import { dirname, extname, join, normalize } from "node:path"
import { promisify } from "node:util"
import { chromium } from "playwright-core"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { root } from "../src/pages.ts"

const folder = await mkdtemp(join(tmpdir(), "site-"))

beforeAll(async () => {
  // Under a test runner Vite builds what developers use.
  await promisify(execFile)(process.execPath, [join(root, "apps/site/build.ts"), folder], {
    env: { PATH: process.env["PATH"] },
  })
})

afterAll(() => rm(folder, { recursive: true, force: true }))

const read = (file: string): string => readFileSync(join(folder, file), "utf8")

const toHrefs = (html: string): ReadonlyArray<string> =>
  [...html.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, href = ""]) => href)

const toIds = (html: string): ReadonlySet<string> =>
  new Set([...html.matchAll(/ id="([^"]+)"/g)].map(([, id = ""]) => id))

/** The file that a static server answers with. */
const findFile = (path: string): string | undefined =>
  [path, `${path}.html`, join(path, "index.html")].find(
    (file) => extname(file) !== "" && existsSync(join(folder, file)),
  )

const isOutside = (href: string): boolean => /^(?:[a-z]+:|\/\/)/.test(href)

describe("the built site", () => {
  it("has no link to a page or a heading that is not there", () => {
    const htmls = globSync("**/*.html", { cwd: folder }).filter((file) => !file.startsWith("http/"))
    assert.isAbove(htmls.length, 40)
    const broken = htmls.flatMap((file) =>
      toHrefs(read(file)).flatMap((href) => {
        if (isOutside(href)) return []
        const [path = "", anchor = ""] = decodeURIComponent(href).split("#")
        const at = path.startsWith("/") ? path.slice(1) : normalize(join(dirname(file), path))
        const target = path === "" ? file : findFile(at === "" ? "index.html" : at)
        if (target === undefined) return [`${file}: ${href}`]
        if (anchor === "" || !target.endsWith(".html") || target.startsWith("http/")) return []
        return toIds(read(target)).has(anchor) ? [] : [`${file}: ${href}`]
      }),
    )
    assert.deepStrictEqual(broken, [])
  })

  it("loads nothing from another host", () => {
    for (const file of globSync("**/*.html", { cwd: folder })) {
      const loaded = [...read(file).matchAll(/<(?:script|link|img)\b[^>]*?(?:href|src)="([^"]+)"/g)]
      for (const [, href = ""] of loaded) {
        assert.isFalse(isOutside(href) && !href.startsWith("data:"), `${file}: ${href}`)
      }
    }
  })

  it("serves the Markdown of each page, named in llms.txt, and the interface's document", () => {
    const listed = [...read("llms.txt").matchAll(/^- \[.+?\]\(([^)]+)\): ./gm)].map(
      ([, path = ""]) => path,
    )
    assert.isAbove(listed.length, 40)
    for (const path of listed) assert.match(read(path), /^# \S/m, path)
    assert.containsAllKeys(JSON.parse(read("openapi.json")).paths, [
      "/api/v2/messages",
      "/admin/v1/workspaces",
    ])
    assert.include(read("http/index.html"), "<title>")
  })

  it("leads back from the pages of the interface, and between them", () => {
    for (const file of [
      "http/index.html",
      "http/operations/index.html",
      "http/errors/index.html",
    ]) {
      const targets = toHrefs(read(file))
        .map((href) => href.split("#")[0] ?? "")
        .filter((href) => href !== "" && !isOutside(href))
        .map((href) => normalize(join(dirname(file), href)))
      assert.include(targets, "index.html", file)
      for (const target of targets) assert.isTrue(existsSync(join(folder, target)), target)
    }
    assert.include(
      toHrefs(read("http/index.html")).join("\n"),
      "operations/index.html#tag/messages/",
    )
  })
})

const types: Readonly<Record<string, string>> = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
}

const serve = async () => {
  const server = createServer(async (request, response) => {
    const path = decodeURIComponent(new URL(request.url ?? "/", "http://a").pathname).slice(1)
    const file = findFile(path === "" ? "index.html" : path)
    if (file === undefined) return void response.writeHead(404).end()
    response.setHeader("content-type", types[extname(file)] ?? "application/octet-stream")
    response.end(await readFile(join(folder, file)))
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  return { server, url: `http://127.0.0.1:${port}` }
}

const executablePath = [
  process.env["CHROMIUM"] ?? "",
  "/usr/bin/chromium",
  "/usr/bin/google-chrome",
].find((path) => path !== "" && existsSync(path))
const skips = executablePath === undefined && process.env["CI"] === undefined
if (skips) console.warn("The site is not looked at: no Chromium. CHROMIUM names the path of one.")

/** Words, and the page that readers mean by them. */
const meant = [
  ["schedule", "/contract/messages"],
  ["cancel", "/contract/messages"],
  ["retry", "/webhooks"],
  ["QR", "/live"],
  ["docker", "/installing"],
] as const

describe.skipIf(skips)("the site in a browser", () => {
  it("finds words without a server, shows where they are, and opens the page that is meant", async () => {
    const { server, url } = await serve()
    const browser = await chromium.launch({
      executablePath: executablePath ?? "",
      args: ["--disable-gpu", "--no-first-run", "--disable-background-networking"],
      chromiumSandbox: process.getuid?.() !== 0,
    })
    try {
      const page = await browser.newPage({ viewport: { width: 1280, height: 800 } })
      const problems: Array<string> = []
      page.on("pageerror", (error) => problems.push(String(error)))
      page.on("request", (each) => {
        if (!each.url().startsWith(url)) problems.push(each.url())
      })
      await page.goto(`${url}/index.html`)
      await page
        .getByRole("heading", { level: 1, name: "Messaging Service: documentation" })
        .waitFor()
      await page.keyboard.press("Control+k")
      const first = page.locator("#localsearch-list li a").first()
      for (const [word, path] of meant) {
        await page.locator("#localsearch-input").fill(word)
        await page.locator(`#localsearch-list li:first-child a[href*="${path}"]`).waitFor()
        await page.locator("#localsearch-list li:first-child .excerpt").waitFor()
      }
      await page.locator("#localsearch-input").fill("idempotency")
      await first.click()
      await page.waitForURL((address) => !address.pathname.endsWith("/index.html"))
      await page.getByRole("heading", { level: 1 }).waitFor()
      assert.deepStrictEqual(problems, [])
    } finally {
      await browser.close()
      server.closeAllConnections()
      server.close()
    }
  })
})
