/** Every answer of every page cut once, or without what the page needs: the page asks again and shows everything. */
import type { Page, Route } from "playwright-core"
import { assert, describe, it } from "vitest"
import { awaitAnswers, goTo, setUpDashboard } from "./browserPages.ts"
import { screens } from "./screens.ts"
import { skipsWithoutBrowser } from "./startDashboard.ts"

/** What comes in place of an answer's text. */
const spoilt: Readonly<Record<string, (text: string) => string>> = {
  "in its middle": (text) => text.slice(0, text.length / 2),
  "before its first byte": () => "",
  "down to an empty object": () => "{}",
}

/** Spoils the first answer to each GET of the page; returns the addresses that it spoilt. */
const spoilFirst = async (page: Page, spoil: (text: string) => string) => {
  const met = new Set<string>()
  await page.route(/\/admin\/v1\/(?!events)/, async (route: Route) => {
    const request = route.request()
    if (request.method() !== "GET" || met.has(request.url())) return route.fallback()
    met.add(request.url())
    const response = await route.fetch()
    await route.fulfill({ response, body: spoil(await response.text()) })
  })
  return met
}

describe.skipIf(skipsWithoutBrowser)("an answer that is cut", () => {
  const { dashboard, onPage } = setUpDashboard({ isFilled: true })

  it.each(Object.keys(spoilt))("is asked for again on every page: %s", (how) =>
    onPage(
      "/workspaces",
      async (page) => {
        const met = await spoilFirst(page, spoilt[how] ?? String)
        for (const { name, path, ready } of screens) {
          met.clear()
          if (path !== null) await goTo(page, dashboard, path)
          await ready(page)
          await awaitAnswers(page)
          if (path !== null) assert.isAbove(met.size, 0, name)
          const alerts = await page.getByRole("alert").allTextContents()
          assert.deepStrictEqual(alerts, [], name)
        }
      },
      { mayComplain: true },
    ),
  )

  it("leaves the other parts of the page when one cannot be drawn, and what that part showed", () =>
    onPage(
      "/w/1/webhooks/1",
      async (page) => {
        const attempt = page.getByRole("table").getByText("message.sent").first()
        await attempt.waitFor()
        // A time that is none has the shape of one.
        await page.route(/\/deliveries\?/, async (route) => {
          const response = await route.fetch()
          const text = (await response.text()).replaceAll(
            /"attempted_at":"[^"]*"/g,
            '"attempted_at":"x"',
          )
          await route.fulfill({ response, body: text })
        })
        await dashboard.operate("POST", "/admin/v1/workspaces/1/webhooks/1/test")
        await page.getByText("This part of the page cannot be shown.").waitFor()
        assert.isTrue(await attempt.isVisible())
        await page.getByRole("heading", { level: 1, name: "Webhook 1" }).waitFor()
      },
      { mayComplain: true },
    ))
})
