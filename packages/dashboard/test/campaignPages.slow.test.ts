/** Campaigns from the file to the results, over a real service, in a real browser. */
import { readFile } from "node:fs/promises"
import type { Page } from "playwright-core"
import { assert, describe, it } from "vitest"
import {
  assertCount,
  assertEventually,
  barriers,
  goTo,
  loseAnswer,
  overflows,
  setUpDashboard,
  unique,
} from "./browserPages.ts"
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

  /** How long the number rests between two messages: without it all leave at once. */
  const pace = (min_interval_ms: number | null) =>
    dashboard.operate("PATCH", "/admin/v1/workspaces/1/numbers/1", { pacing: { min_interval_ms } })

  const advance = (seconds: number) =>
    dashboard.operate("POST", "/admin/v1/simulator/clock/advance", { seconds })

  const find = async (name: string): Promise<Campaign | undefined> => {
    const { data } = (await dashboard.operate("GET", path)) as { data: ReadonlyArray<Campaign> }
    return data.find((campaign) => campaign.name === name)
  }

  /** Messages of the campaign that the workspace has, by their recipients. */
  const getRecipients = async (id: number): Promise<ReadonlyArray<string>> => {
    const { data } = (await dashboard.operate(
      "GET",
      `/admin/v1/workspaces/1/messages?reference=campaign-${id}&limit=100`,
    )) as { data: ReadonlyArray<{ to: { phone: string } }> }
    return data.map(({ to }) => to.phone).toSorted()
  }

  const chooseFile = (page: Page, content: string) =>
    page
      .getByLabel("CSV file", { exact: true })
      .last()
      .setInputFiles({ name: "guests.csv", mimeType: "text/csv", buffer: Buffer.from(content) })

  const toPhone = (index: number) => `+1555031${String(index).padStart(4, "0")}`

  /** 50 rows; of the second and the ninth something is wrong. */
  const guests = (isMended: boolean): string =>
    [
      "phone;table",
      ...Array.from({ length: 50 }, (_, index) => {
        if (!isMended && index === 1) return "0155;2"
        return `${toPhone(index)};${!isMended && index === 8 ? "" : `"${index + 1}; <b>window</b>"`}`
      }),
      "",
    ].join("\r\n")

  const press = (page: Page, name: string) =>
    page.getByRole("button", { name, exact: true }).first().click()

  const confirm = (page: Page, name: string) =>
    page.getByRole("dialog").getByRole("button", { name, exact: true }).click()

  const fill = async (page: Page, name: string, text: string) => {
    await page.getByLabel("Name", { exact: true }).fill(name)
    await page.getByLabel("Text", { exact: true }).fill(text)
  }

  it("checks a file, takes the mended one, sends, pauses, resumes, stops, and shows what became of each row", () =>
    onPage("/w/1/campaigns", async (page) => {
      const name = unique("<img src=x>")
      await pace(20_000)
      await page.getByRole("link", { name: "New campaign" }).first().click()
      await chooseFile(page, guests(false))
      await assertEventually(async () =>
        assert.strictEqual(await page.getByLabel("Name", { exact: true }).inputValue(), "guests"),
      )
      await fill(page, name, "Your table: ")
      await page.getByRole("button", { name: "Insert the column table" }).click()
      assert.strictEqual(
        await page.getByLabel("Text", { exact: true }).inputValue(),
        "Your table: {table}",
      )
      await press(page, "Check rows")

      // The two that cannot be sent, by their lines, and a message as its recipient would see it.
      await page.getByRole("heading", { name, level: 1 }).waitFor()
      await page.getByText("“0155” is not a phone number with + and country code").waitFor()
      await page.getByText("No value in the column table").waitFor()
      await page.getByText("Line 3", { exact: true }).waitFor()
      await page.getByText("Line 10", { exact: true }).waitFor()
      await assertCount(page.locator("main table").last().locator("tbody tr"), 2)
      await page.getByText("Your table: 1; <b>window</b>").first().waitFor()
      await page.getByText("Expected finish: ").waitFor()
      await press(page, "Send me this message")
      await page.getByLabel("Your phone").fill("+15550319999")
      await confirm(page, "Send")
      await page.getByText("Queued", { exact: true }).waitFor()

      await page.getByRole("link", { name: "Upload the file again" }).click()
      assert.isTrue(await page.getByLabel("Upload them again").isChecked())
      await chooseFile(page, guests(true))
      await press(page, "Save")
      await page.getByText("Message 1 of 50").waitFor()
      assert.deepInclude(await find(name), { state: "draft" })

      await press(page, "Start")
      await page
        .getByRole("dialog")
        .getByText(/^Sends 50 messages from .*, finishing about /)
        .waitFor()
      await confirm(page, "Start")
      await page.getByText("Sending.").waitFor()
      await press(page, "Pause")
      await page.getByText("A user paused it.").waitFor()
      const id = (await find(name))?.id ?? 0
      await press(page, "Resume")
      await page.getByText("Sending.").waitFor()
      // News bring what is sent onto the page.
      const sent = page.locator("dt", { hasText: /^sent$/ }).locator("xpath=following-sibling::dd")
      await advance(30)
      await assertEventually(async () => assert.notStrictEqual(await sent.textContent(), "0"))

      await press(page, "Stop")
      await page
        .getByRole("dialog")
        .getByText(/^\d+ remaining rows are skipped/)
        .waitFor()
      await confirm(page, "Stop")
      await page.getByText("Stopped. The remaining rows are not sent.").waitFor()
      const rows = (await find(name))?.rows
      assert.isAbove(rows?.["skipped"] ?? 0, 0)
      assert.strictEqual(rows?.["total"], 50)

      await page.getByLabel("Show", { exact: true }).selectOption("skipped")
      await page.getByText("The campaign was stopped first").first().waitFor()
      await page.getByLabel("Show", { exact: true }).selectOption("all")
      await page.getByLabel("Search by phone").fill(toPhone(0))
      await page.keyboard.press("Enter")
      await assertCount(page.locator("main table").last().locator("tbody tr"), 1)
      await page.getByRole("link", { name: /^Message \d+$/ }).click()
      const panel = page.getByRole("complementary", { name: /^Message \d+$/ })
      await panel.getByRole("link", { name: `${name}, row 1` }).click()
      await page.getByRole("heading", { name, level: 1 }).waitFor()
      const recipients = await getRecipients(id)
      assert.lengthOf(new Set(recipients), recipients.length)
    }))

  it("gives the results of the chosen rows as a file, and deletes the campaign after a question", () =>
    onPage("/w/1/campaigns", async (page) => {
      const name = unique("Results")
      const { id } = (await dashboard.operate("POST", path, { name, text: "Hello" })) as Campaign
      await dashboard.operate("POST", `${path}/${id}/rows`, {
        rows: [{ to: { phone: "+15550320001" } }, { to: { phone: "0155" } }],
      })
      await goTo(page, dashboard, `/w/1/campaigns/${id}`)
      await page.getByText("“0155” is not a phone").waitFor()
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

  it("says at the file why it cannot be read, and makes one draft whatever is tried again", () =>
    onPage(
      "/w/1/campaigns/new",
      async (page) => {
        const name = unique("Once")
        await chooseFile(page, 'phone,name\n+15550330001,"open\n')
        await fill(page, name, "Hello {seat}")
        await page.getByText("No column named seat.").waitFor()
        await fill(page, name, "Hello {name}")
        await press(page, "Check rows")
        await page.getByText("Line 2, column 2: the quote that begins here has no end.").waitFor()
        await page.getByLabel("Paste rows").check()
        await page.getByLabel("Rows", { exact: true }).fill("+15550330001\tAda\n")
        await page.getByText("This one looks like a recipient.").waitFor()
        await press(page, "Check rows")
        const focused = page.getByLabel("Rows", { exact: true }).and(page.locator(":focus"))
        await focused.waitFor()
        await page
          .getByLabel("Rows", { exact: true })
          .fill("name\tnumber\nAda\t+15550330001\nEve\t+15550330002\n")
        const column = page.getByLabel("Recipient column")
        await assertEventually(async () => assert.strictEqual(await column.inputValue(), "number"))
        await loseAnswer(page, "**/rows?*")
        await press(page, "Check rows")
        await page.getByRole("alert").filter({ hasText: "is not responding" }).waitFor()
        await press(page, "Check rows")
        await page.getByText("Hello Ada").first().waitFor()
        const { data } = (await dashboard.operate("GET", path)) as {
          data: ReadonlyArray<Campaign>
        }
        const drafts = data.filter((campaign) => campaign.name === name)
        assert.deepStrictEqual(
          drafts.map(({ rows }) => rows["total"]),
          [2],
        )
      },
      { mayComplain: true },
    ))

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
      await page.getByLabel("Starts at").fill(tomorrow)
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
      await page.getByLabel("Reserved for others").fill("1000")
      await press(page, "Save")
      await page
        .getByRole("alert")
        .filter({ hasText: /quota_reserve|999/ })
        .first()
        .waitFor()
      await page.getByLabel("Reserved for others").fill("900")
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
      await pace(null)
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
      await page.getByText("Only owners and administrators can do this.").waitFor()
      await assertCount(page.getByRole("link", { name: "Go to numbers" }), 0)
      await press(page, "Pause")
      await page.getByText("A user paused it.").waitFor()
      await dashboard.operate("POST", "/admin/v1/workspaces/1/numbers/1/resume")
      await press(page, "Resume")
      await advance(30)
      await page.getByText("Done. No rows or messages are waiting.").waitFor()
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
      await page.getByText("A backup was restored").waitFor()
      await press(page, "Resume")
      await page.getByLabel("First unsent row").fill("3")
      await confirm(page, "Resume")
      await page.getByText("scheduled", { exact: true }).waitFor()
      await page.getByText("It may have been sent before the restore").first().waitFor()
      assert.deepInclude((await find(name))?.rows, { skipped: 2, pending: 1 })
      await dashboard.operate("DELETE", `${path}/${id}`)
    }))

  it.each([1280, 360])("has no barrier that a machine can find, and fits, %i wide", (width) =>
    onPage(
      "/w/1/campaigns/new",
      async (page) => {
        await pace(20_000)
        const found: Array<string> = []
        const check = async (name: string) => {
          for (const colorScheme of ["light", "dark"] as const) {
            await page.emulateMedia({ colorScheme })
            for (const barrier of await barriers(page)) found.push(`${name}: ${barrier}`)
          }
          if (await overflows(page)) found.push(`${name}: wider than the window`)
        }
        const name = `${unique("Wide")} ${"<b>long</b>".repeat(6)}`
        await chooseFile(page, guests(false))
        await fill(page, name, "Your table: {table}")
        await page.getByText("Numbers and times").click()
        await page.getByLabel("Send only at these hours").check()
        await page.getByText("Phones, repeats and limits").click()
        await check("new")
        await page.getByLabel("Send only at these hours").uncheck()
        await press(page, "Check rows")
        await page.getByText("No value in the column table").waitFor()
        await page.getByText("Expected finish: ").waitFor()
        await check("draft")
        await press(page, "Start")
        await page
          .getByRole("dialog")
          .getByText(/^Sends 48 messages/)
          .waitFor()
        await check("start")
        await confirm(page, "Start")
        await page.getByText("Sending.").waitFor()
        await check("running")
        await press(page, "Pause")
        await page.getByText("A user paused it.").waitFor()
        await check("paused")
        await page.getByRole("link", { name: "Edit", exact: true }).click()
        await page.getByLabel("Expires at").waitFor()
        await check("edit")
        await goTo(page, dashboard, "/w/1/campaigns")
        await page.getByRole("link", { name }).waitFor()
        await check("list")
        await goTo(page, dashboard, "/w/1/campaigns?mode=test")
        await page.getByText("No test campaigns yet").waitFor()
        await check("empty")
        assert.deepStrictEqual(found, [])
      },
      { width },
    ),
  )
})
