/** The portal of a service that a program embeds below a path of its own server. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { resolve } from "node:path"
import type { Browser } from "playwright-core"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { shown, withPage } from "./browserPages.ts"
import { buildPages, openBrowser, skipsWithoutBrowser } from "./startDashboard.ts"
import type { TestDashboard } from "./startDashboard.ts"

/** Runs the example in a program of its own, as people do. */
const program = `
  const { withPortal } = await import("./src/withPortal.ts")
  const { link, stop, url } = await withPortal()
  console.log(JSON.stringify({ link, url }))
  process.once("SIGTERM", stop)
`

const startExample = async () => {
  const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
    cwd: resolve(import.meta.dirname, "../../examples"),
    stdio: ["ignore", "pipe", "inherit"],
  })
  const [line] = await once(child.stdout, "data")
  const { link, url } = JSON.parse(String(line)) as { readonly link: string; readonly url: string }
  const stop = async () => {
    const ended = once(child, "exit")
    child.kill("SIGTERM")
    await ended
  }
  return { link, url, stop }
}

type Example = Awaited<ReturnType<typeof startExample>>

describe.skipIf(skipsWithoutBrowser)("the portal below a path of another server", () => {
  let browser: Browser
  let example: Example

  beforeAll(async () => {
    await buildPages()
    example = await startExample()
    browser = await openBrowser()
  }, 120_000)
  afterAll(async () => {
    await browser?.close()
    await example?.stop()
  })

  /** What pages of tests ask of a dashboard. */
  const dashboardOf = ({ url }: Example): Pick<TestDashboard, "standIn" | "url"> => ({
    url,
    standIn: null,
  })

  it("opens by its link, keeps to its path, and leads back", async () => {
    const { link, url } = example
    assert.isTrue(link.startsWith(`${url}/messaging/portal#code=`), "the link has the path")
    await withPage(browser, dashboardOf(example), async (page) => {
      await page.goto(link)
      await page.getByRole("button", { name: "Open the workspace" }).click()
      await page.getByRole("heading", { level: 1 }).waitFor()
      await page.getByRole("link", { name: "Messages", exact: true }).click()
      await shown(page, "Your table is ready").first().waitFor()
      assert.match(page.url(), /^http:\/\/127\.0\.0\.1:\d+\/messaging\/w\/1\/messages/)
      await page.reload()
      await shown(page, "Your table is ready").first().waitFor()
      const back = page.locator('a[href="https://shop.example.com/account"]').first()
      await back.waitFor({ state: "attached" })
      const [{ name, path } = { name: "", path: "" }] = await page.context().cookies(page.url())
      assert.match(name, /^messaging-/)
      assert.strictEqual(path, "/messaging")
    })
    await withPage(browser, dashboardOf(example), async (page) => {
      await page.goto(`${url}/`)
      await page.getByText("my own page").waitFor()
      assert.isEmpty(await page.context().cookies(url))
    })
  })

  it("opens no second time by the same link", async () => {
    await withPage(
      browser,
      dashboardOf(example),
      async (page) => {
        await page.goto(example.link)
        await page.getByRole("button", { name: "Open the workspace" }).click()
        await page.getByRole("alert").first().waitFor()
        assert.isEmpty(await page.context().cookies(page.url()))
      },
      { mayComplain: true },
    )
  })
})
