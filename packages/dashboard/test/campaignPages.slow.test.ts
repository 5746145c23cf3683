/** Campaigns from the file to the results, over a real service, in a real browser. */
import { readFile } from "node:fs/promises"
import type { Page } from "playwright-core"
import { assert, describe, it } from "vitest"
import { assertCount, goTo, setUpDashboard, unique } from "./browserPages.ts"
import { skipsWithoutBrowser } from "./startDashboard.ts"

interface Campaign {
  readonly id: number
  readonly name: string
  readonly state: string
  readonly rows: Readonly<Record<string, number>>
}

describe.skipIf(skipsWithoutBrowser)("the pages of campaigns", () => {
  const { dashboard, onPage, withPage } = setUpDashboard()

  const path = "/admin/v1/workspaces/1/campaigns"

  const find = async (name: string): Promise<Campaign | undefined> => {
    const { data } = (await dashboard.operate("GET", path)) as { data: ReadonlyArray<Campaign> }
    return data.find((campaign) => campaign.name === name)
  }

  const press = (page: Page, name: string) =>
    page.getByRole("button", { name, exact: true }).first().click()

  const confirm = (page: Page, name: string) =>
    page.getByRole("dialog").getByRole("button", { name, exact: true }).click()

  it("gives the results of the chosen rows as a file, and deletes the campaign after a question", () =>
    onPage("/w/1/campaigns", async (page) => {
      const name = unique("Results")
      const { id } = (await dashboard.operate("POST", path, { name, text: "Hello" })) as Campaign
      await dashboard.operate("POST", `${path}/${id}/rows`, {
        rows: [{ to: { phone: "+15550320001" } }, { to: { phone: "0155" } }],
      })
      await goTo(page, dashboard, `/w/1/campaigns/${id}`)
      await page.getByText("“0155” is no phone").waitFor()
      const [file] = await Promise.all([
        page.waitForEvent("download"),
        press(page, "Download as CSV"),
      ])
      assert.strictEqual(file.suggestedFilename(), `campaign-${id}.csv`)
      const lines = (await readFile(await file.path(), "utf8")).split("\r\n")
      assert.lengthOf(lines, 3)
      assert.include(lines[1], "2,0155,refused,")
      await press(page, "Delete")
      await confirm(page, "Delete")
      await page.getByRole("heading", { name: "Campaigns", level: 1 }).waitFor()
      await page.getByRole("link", { name }).waitFor({ state: "detached" })
      assert.isUndefined(await find(name))
    }))

  it("changes what may still change of a running campaign, and adds rows to a draft", () =>
    onPage("/w/1/campaigns", async (page) => {
      const name = unique("Changed")
      const created = (await dashboard.operate("POST", path, {
        name,
        text: "Hello",
        timezone: "Europe/Berlin",
      })) as Campaign
      const one = `${path}/${created.id}`
      await dashboard.operate("POST", `${one}/rows`, {
        rows: [{ to: { phone: "+15550340001" } }, { to: { phone: "+15550340002" } }],
      })
      await goTo(page, dashboard, `/w/1/campaigns/${created.id}/edit`)
      assert.isTrue(await page.getByLabel("Text", { exact: true }).isDisabled())
      await page.getByLabel("Add rows").check()
      await page.getByLabel("Paste rows").check()
      await page.getByLabel("Rows", { exact: true }).fill("phone\n+15550340003\n")
      await page.getByText("Numbers and times").click()
      const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 16)
      await page.getByLabel("Begins at").fill(tomorrow)
      await page.getByLabel("Send only at these hours").check()
      await press(page, "Save")
      await page.getByText("Message 1 of 3").waitFor()
      await press(page, "Start")
      await confirm(page, "Start")
      await page.getByText("scheduled", { exact: true }).waitFor()
      await page.getByRole("link", { name: "Edit", exact: true }).click()
      await page.getByLabel("Name", { exact: true }).fill(`${name}!`)
      await page.getByLabel("Send only at these hours").uncheck()
      await page.getByText("Phones, repeats and limits").click()
      await page.getByLabel("Left to other messages").fill("1000")
      await press(page, "Save")
      await page
        .getByRole("alert")
        .filter({ hasText: /quota_reserve|999/ })
        .first()
        .waitFor()
      await page.getByLabel("Left to other messages").fill("900")
      await press(page, "Save")
      await page.getByRole("heading", { name: `${name}!`, level: 1 }).waitFor()
      assert.deepInclude(await dashboard.operate("GET", one), {
        state: "scheduled",
        hours: null,
        quota_reserve: 900,
      })
    }))

  it("says what a running campaign waits for, leads to the numbers, and to members says who can help", () =>
    withPage(dashboard, async (page) => {
      const name = unique("Waits")
      const { id } = (await dashboard.operate("POST", path, { name, text: "Hello" })) as Campaign
      await dashboard.operate("POST", `${path}/${id}/rows`, {
        rows: [{ to: { phone: "+15550350001" } }],
      })
      await dashboard.operate("POST", "/admin/v1/workspaces/1/numbers/1/pause", { until: null })
      await dashboard.operate("POST", `${path}/${id}/start`)
      const { url } = (await dashboard.operate("POST", "/admin/v1/workspaces/1/portal-sessions", {
        role: "member",
      })) as { url: string }
      const { hash, pathname } = new URL(url)
      await page.goto(`${dashboard.url}${pathname}${hash}`)
      await press(page, "Open the workspace")
      await page.getByRole("link", { name: "Campaigns", exact: true }).click()
      await page.getByRole("link", { name }).click()
      await page.getByText("Its numbers are paused.").waitFor()
      await page.getByText("Owners and administrators of this workspace can do that.").waitFor()
      await assertCount(page.getByRole("link", { name: "Go to the numbers" }), 0)
      await press(page, "Pause")
      await page.getByText("A user paused it.").waitFor()
      await dashboard.operate("POST", "/admin/v1/workspaces/1/numbers/1/resume")
      await press(page, "Resume")
      await page.getByText("It is done: no row is left, and no message waits.").waitFor()
    }))

  it("asks after a restore which row comes next, and skips those before it", () =>
    onPage("/w/1/campaigns", async (page) => {
      const name = unique("Restored")
      const later = new Date(Date.now() + 864_000_000).toISOString()
      const { id } = (await dashboard.operate("POST", path, {
        name,
        text: "Hello",
        send_at: later,
      })) as Campaign
      await dashboard.operate("POST", `${path}/${id}/rows`, {
        rows: [1, 2, 3].map((each) => ({ to: { phone: `+1555036000${each}` } })),
      })
      await dashboard.operate("POST", `${path}/${id}/start`)
      await dashboard.operate("POST", "/admin/v1/store/restored", { again: true })
      await goTo(page, dashboard, `/w/1/campaigns/${id}`)
      await page.getByText("store was restored from a backup").waitFor()
      await press(page, "Resume")
      await page.getByLabel("First row that was not sent").fill("3")
      await confirm(page, "Resume")
      await page.getByText("scheduled", { exact: true }).waitFor()
      await page.getByText("It may have been sent before the store was restored").first().waitFor()
      assert.deepInclude((await find(name))?.rows, { skipped: 2, pending: 1 })
      await dashboard.operate("DELETE", `${path}/${id}`)
    }))
})
