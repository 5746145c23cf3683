/** The whole way of an operator and of a customer, on each persistent store and in each form of deployment. */
import { EmbeddedPostgres, putDataDirectory } from "@messaging-service/testkit"
import { Effect, ManagedRuntime, Redacted } from "effect"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import type { Page } from "playwright-core"
import { afterAll, assert, describe, it } from "vitest"
import { goTo, setUpBrowser, visibleText, signIn } from "./browserPages.ts"
import { skipsWithoutBrowser, startDashboard } from "./startDashboard.ts"
import type { TestDashboard } from "./startDashboard.ts"

const phone = "+15550101001"

/** Presses it, and waits for the service's answer: leaving the page earlier would take the request back. */
const press = async (page: Page, name: string): Promise<number> => {
  const answered = page.waitForResponse((answer) => answer.request().method() === "POST")
  await page.getByRole("button", { name, exact: true }).click()
  return (await answered).status()
}

/** Sends from the page, and finds the message on the recipient's phone. */
const sendAndSeeItArrive = async (page: Page, dashboard: TestDashboard): Promise<void> => {
  await goTo(page, dashboard, "/w/1/messages/new")
  await page.getByLabel("To", { exact: true }).fill(phone)
  await page.getByLabel("Text", { exact: true }).fill("Your table is ready")
  assert.strictEqual(await press(page, "Send"), 202)
  await goTo(page, dashboard, `/w/1/emulator?phone=${encodeURIComponent(phone)}`)
  const bubbles = page.getByRole("list", { name: "Messages on the phone" })
  await bubbles.getByText("Your table is ready").waitFor()
}

/** Logs the number out on its phone: the page of numbers says so by itself. */
const seeTheLogout = async (page: Page, dashboard: TestDashboard): Promise<void> => {
  await goTo(page, dashboard, "/w/1/emulator")
  assert.strictEqual(await press(page, "Log out on the phone"), 200)
  await goTo(page, dashboard, "/w/1/numbers")
  await visibleText(page, /logged out/i)
    .first()
    .waitFor()
}

const makePortalLink = async (page: Page, dashboard: TestDashboard): Promise<string> => {
  await goTo(page, dashboard, "/w/1/settings")
  await page.getByRole("button", { name: "Create link" }).first().click()
  await page.getByRole("dialog").getByRole("button", { name: "Create link" }).click()
  return (await page.getByRole("dialog").locator("code").textContent()) ?? ""
}

const openPortal = async (page: Page, link: string): Promise<void> => {
  await page.goto(link)
  await page.getByRole("button", { name: "Open the workspace" }).click()
  await page.getByRole("heading", { level: 1 }).waitFor()
  await page.getByRole("link", { name: "Messages", exact: true }).click()
  await visibleText(page, "Your table is ready").first().waitFor()
}

describe.skipIf(skipsWithoutBrowser)("the whole way of operator and customer", () => {
  const postgres = ManagedRuntime.make(EmbeddedPostgres.layer())
  afterAll(() => postgres.dispose())
  const withPage = setUpBrowser()

  /** What both do, one after the other. */
  const goTheWholeWay = async (dashboard: TestDashboard): Promise<void> => {
    let link = ""
    await withPage(dashboard, async (page) => {
      await signIn(page, dashboard)
      await sendAndSeeItArrive(page, dashboard)
      link = await makePortalLink(page, dashboard)
      await seeTheLogout(page, dashboard)
    })
    assert.isTrue(link.startsWith(`${dashboard.serviceUrl}/portal#code=`), "on PORT")
    await withPage({ url: dashboard.serviceUrl }, (page) => openPortal(page, link))
  }

  const goWith = async (settings: Readonly<Record<string, string>>) => {
    const dashboard = await startDashboard({ settings })
    try {
      await goTheWholeWay(dashboard)
    } finally {
      await dashboard.stop()
    }
  }

  it("is the same on the embedded database", async () => {
    const directory = await mkdtemp(join(tmpdir(), "dashboard-embedded-"))
    const data = join(directory, "data")
    const store = resolve(import.meta.dirname, "../../../packages/store-postgres/package.json")
    try {
      await Effect.runPromise(putDataDirectory(store, data))
      await goWith({ DATABASE_URL: "", DATA_DIR: data })
    } finally {
      await rm(directory, { recursive: true, force: true })
    }
  })

  it("is the same on PostgreSQL with a worker of its own and the operator on ADMIN_PORT", async () => {
    const { url } = await postgres.runPromise(
      Effect.flatMap(EmbeddedPostgres, (cluster) => cluster.createDatabase()),
    )
    await goWith({
      DATABASE_URL: Redacted.value(url),
      SECRETS_KEY: "0123456789abcdef".repeat(4),
      WORKER: "separate",
      ADMIN_PORT: "0",
    })
  })
})
