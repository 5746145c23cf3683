/** The portal of a service that a program embeds below a path of its own server. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { resolve } from "node:path"
import type { Page } from "playwright-core"
import { assert, beforeAll, describe, it } from "vitest"
import { setUpBrowser, visibleText } from "./browserPages.ts"
import { buildPages, saysLine, skipsWithoutBrowser } from "./startDashboard.ts"

const operatorToken = "operator-token-of-the-test-below-a-path"

/** Node's own server, with the pages of the operator below two segments of its path. */
const operatorsProgram = `
  const { createServer } = await import("node:http")
  const { open } = await import("@messaging-service/service")
  const server = createServer().listen(0, "127.0.0.1")
  await new Promise((resolve) => server.once("listening", resolve))
  const publicUrl = "http://127.0.0.1:" + server.address().port
  const operatorToken = ${JSON.stringify(operatorToken)}
  const messaging = await open({ http: { basePath: "/inner/messaging", publicUrl, operatorToken } })
  server.on("request", messaging.nodeHandler({ dashboard: true }))
  await messaging.workspaces.ensure("shop", { numbers: [{ phone: "+15550100001" }] })
  console.log(JSON.stringify({ link: "", url: publicUrl }))
  process.once("SIGTERM", () => {
    server.closeAllConnections()
    server.close()
    messaging.close()
  })
`

/** The example as people run it. */
const portalsProgram = `
  const { withPortal } = await import("./src/withPortal.ts")
  const { link, stop, url } = await withPortal()
  console.log(JSON.stringify({ link, url }))
  process.once("SIGTERM", stop)
`

const startProgram = async (program: string) => {
  const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
    cwd: resolve(import.meta.dirname, "../../../apps/examples"),
    stdio: ["ignore", "pipe", "inherit"],
  })
  const [line] = await saysLine(child, /^.*(?=\n)/)
  const { link, url } = JSON.parse(line) as { readonly link: string; readonly url: string }
  const stop = async () => {
    const ended = once(child, "exit")
    child.kill("SIGTERM")
    await ended
  }
  return { link, url, stop }
}

type Program = Awaited<ReturnType<typeof startProgram>>

/** Runs the program of its own for each try of a test: a link works once. */
const withProgram = async (program: string, act: (started: Program) => Promise<void>) => {
  const started = await startProgram(program)
  try {
    await act(started)
  } finally {
    await started.stop()
  }
}

describe.skipIf(skipsWithoutBrowser)("the portal below a path of another server", () => {
  beforeAll(buildPages)
  const withPage = setUpBrowser()

  const openByLink = async (page: Page, link: string) => {
    await page.goto(link)
    await page.getByRole("button", { name: "Open the workspace" }).click()
  }

  it("opens by its link, keeps to its path, and leads back", () =>
    withProgram(portalsProgram, async (example) => {
      const { link, url } = example
      assert.isTrue(link.startsWith(`${url}/messaging/portal#code=`), "the link has the path")
      await withPage(example, async (page) => {
        await openByLink(page, link)
        await page.getByRole("link", { name: "Messages", exact: true }).click()
        await visibleText(page, "Your table is ready").first().waitFor()
        assert.match(page.url(), /^http:\/\/127\.0\.0\.1:\d+\/messaging\/w\/1\/messages/)
        await page.reload()
        await visibleText(page, "Your table is ready").first().waitFor()
        const back = page.locator('a[href="https://shop.example.com/account"]').first()
        await back.waitFor({ state: "attached" })
        const [{ name, path } = { name: "", path: "" }] = await page.context().cookies(page.url())
        assert.match(name, /^messaging-/)
        assert.strictEqual(path, "/messaging")
      })
      await withPage(example, async (page) => {
        await page.goto(`${url}/`)
        await page.getByText("my own page").waitFor()
        assert.isEmpty(await page.context().cookies(url))
      })
    }))

  it("opens no second time by the same link", () =>
    withProgram(portalsProgram, async (example) => {
      await withPage(example, async (page) => {
        await openByLink(page, example.link)
        await page.getByRole("link", { name: "Messages", exact: true }).waitFor()
      })
      await withPage(
        example,
        async (page) => {
          await openByLink(page, example.link)
          await page.getByRole("alert").first().waitFor()
          assert.isEmpty(await page.context().cookies(page.url()))
        },
        { mayComplain: true },
      )
    }))
})

describe.skipIf(skipsWithoutBrowser)("the dashboard below a path of another server", () => {
  beforeAll(buildPages)
  const withPage = setUpBrowser()

  it("loads its files, its pages and its answers from below that path", () =>
    withProgram(operatorsProgram, async (example) => {
      const url = `${example.url}/inner/messaging`
      await withPage({ url }, async (page) => {
        await page.goto(`${url}/w/1/messages`)
        await page.getByLabel("Operator token").fill(operatorToken)
        await page.keyboard.press("Enter")
        await page.getByText("No messages yet").waitFor()
        await page.getByRole("link", { name: "Numbers" }).click()
        await page.getByRole("button", { name: "Link a phone" }).first().click()
        await page.getByRole("button", { name: "Show code" }).click()
        await page.getByAltText("QR code to scan with the phone").waitFor()
        assert.include(page.url(), "/inner/messaging/w/1/numbers/")
      })
      const unknown = await fetch(`${url}/api/v9/messages`)
      assert.strictEqual(unknown.status, 404)
      assert.include(unknown.headers.get("content-type"), "application/json")
    }))
})
