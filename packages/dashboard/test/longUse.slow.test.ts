/** A page that stays open for a day: what it holds does not grow with the pages gone through. */
import type { CDPSession, Page } from "playwright-core"
import { assert, beforeAll, describe, it } from "vitest"
import { assertEventually, awaitAnswers, chooseStatus, setUpDashboard } from "./browserPages.ts"
import { skipsWithoutBrowser } from "./startDashboard.ts"

interface Held {
  readonly heapBytes: number
  readonly nodes: number
  readonly listeners: number
}

/** What is left after a collection of garbage. */
const measureHeld = async (session: CDPSession): Promise<Held> => {
  await session.send("HeapProfiler.collectGarbage")
  const { usedSize: heapBytes } = await session.send("Runtime.getHeapUsage")
  const { metrics } = await session.send("Performance.getMetrics")
  const metric = (name: string) => metrics.find((one) => one.name === name)?.value ?? Number.NaN
  return { heapBytes, nodes: metric("Nodes"), listeners: metric("JSEventListeners") }
}

const goByLink = async (page: Page, link: string, heading = link) => {
  await page.getByRole("link", { name: link, exact: true }).first().click()
  await page.getByRole("heading", { level: 1, name: heading }).waitFor()
}

/** Goes through a workspace within one document: every page, a list's own pages, panels and a dialog. */
const goRound = async (page: Page): Promise<void> => {
  await goByLink(page, "Messages")
  for (const number of [2, 3, 4]) {
    await page.getByRole("button", { name: "Older" }).click()
    await page.getByText(`Page ${number} · `).waitFor()
  }
  for (const row of [0, 1]) {
    await page.locator("tbody tr").nth(row).click()
    await page.locator("tbody tr[data-open=true]").and(page.locator("tbody tr").nth(row)).waitFor()
    await page.getByRole("list", { name: "Timeline" }).locator("li").first().waitFor()
  }
  await chooseStatus(page, "failed")
  await page.waitForFunction(() => document.querySelectorAll("tbody tr").length === 1)
  for (const name of ["Overview", "Contacts", "Numbers", "Reminders", "Media", "Number checks"])
    await goByLink(page, name)
  for (const name of ["Settings", "Emulator", "Webhooks"]) await goByLink(page, name)
  await page.getByRole("link", { name: /\/events$/ }).click()
  await page
    .getByRole("button", { name: /^View attempt / })
    .first()
    .click()
  await page.getByRole("dialog").getByRole("button", { name: "Done" }).click()
  await goByLink(page, "All workspaces", "Workspaces")
  await goByLink(page, "Example", "Overview")
}
/** What `goRound` goes through: pages, pages of a list, panels. */
const pagesOfRound = 19

describe.skipIf(skipsWithoutBrowser)("a page in long use", () => {
  const { dashboard, onPage } = setUpDashboard({ isFilled: true })
  beforeAll(async () => {
    await dashboard.request("POST", "/api/v2/messages/batch", {
      to: Array.from({ length: 100 }, (_, index) => ({ phone: `+1555019${1000 + index}` })),
      text: "Your table is ready",
    })
    await dashboard.operate("POST", "/admin/v1/simulator/settle")
  })

  it("holds no more after 200 pages than after 60", () =>
    onPage("/w/1/overview", async (page) => {
      const session = await page.context().newCDPSession(page)
      await session.send("Performance.enable")
      const goPages = async (count: number) => {
        for (let missing = 0; missing < count; missing += pagesOfRound) await goRound(page)
        await awaitAnswers(page)
      }
      await goPages(60)
      const before = await measureHeld(session)
      await goPages(140)
      // Effects of the last page end after it.
      await assertEventually(async () => {
        const after = await measureHeld(session)
        // Compiled code, and answers that are kept for five minutes.
        assert.isBelow(after.heapBytes, before.heapBytes + 2_000_000)
        assert.isBelow(after.nodes, before.nodes * 1.2)
        assert.isBelow(after.listeners, before.listeners * 1.2)
      })
    }))

  it.each(["messages", "contacts", "reminders", "number-checks", "webhooks"])(
    "has its rows after two answers, the session's and the list's: %s",
    (name) =>
      onPage("/workspaces", async (page) => {
        const isNeeded = ({ pathname }: URL) =>
          pathname.endsWith("/session") || pathname.endsWith(`/workspaces/1/${name}`)
        // Whatever else the page asks for gets no answer.
        await page.route(
          (url) => url.pathname.startsWith("/admin/v1/") && !isNeeded(url),
          () => undefined,
        )
        await page.goto(`${dashboard.url}/w/1/${name}`)
        await page.locator("tbody tr, main li").first().waitFor()
      }),
  )
})
