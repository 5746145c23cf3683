/** The pages when the browser, the network or a stranger misbehaves. */
import { createServer } from "node:http"
import { assert, describe, it } from "vitest"
import {
  assertCount,
  assertEventually,
  awaitAnswers,
  goTo,
  overflows,
  setUpDashboard,
  visibleText,
  signIn,
  uniquePhone,
} from "./browserPages.ts"
import { screens } from "./screens.ts"
import { skipsWithoutBrowser } from "./startDashboard.ts"

/** Markup, a reversal of the writing direction, and a word without an end. */
const hostile = `"><img src=x onerror="document.title='ran'"><script>document.title='ran'</script>\u202E${"w".repeat(60)}`

const day = 86_400_000

describe.skipIf(skipsWithoutBrowser)("the dashboard in a browser", () => {
  const { dashboard, onPage, withPage } = setUpDashboard({ isFilled: true })

  const messageCount = async (): Promise<number> => {
    const page = (await dashboard.request("GET", "/api/v2/messages?limit=1")) as {
      readonly data: ReadonlyArray<{ readonly id: number }>
    }
    return page.data[0]?.id ?? 0
  }

  /** A page of another origin of the same host: its requests carry the cookie. */
  const startSibling = async (): Promise<{ url: string; close: () => Promise<void> }> => {
    const server = createServer((_, response) =>
      response.writeHead(200, { "content-type": "text/html" }).end("<form method=post></form>"),
    )
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const address = server.address()
    const port = typeof address === "object" && address !== null ? address.port : 0
    return {
      url: `http://127.0.0.1:${port}`,
      close: () => new Promise<void>((resolve) => server.close(() => resolve())),
    }
  }

  it("does nothing that a page of another port asks for with the operator's cookie", async () => {
    const sibling = await startSibling()
    const before = await messageCount()
    const target = `${dashboard.url}/admin/v1/workspaces/1/messages`
    const body = JSON.stringify({ to: { phone: "+15550100002" }, text: "forged" })
    try {
      await onPage(
        "/workspaces",
        async (page) => {
          await page.goto(sibling.url)
          const read = await page.evaluate(
            async ([url, json]) => {
              const answers: Array<string> = []
              for (const mode of ["no-cors", "cors"] as const)
                for (const method of ["GET", "POST"])
                  answers.push(
                    await fetch(url ?? "", {
                      mode,
                      method,
                      credentials: "include",
                      ...(method === "POST" ? { body: json ?? "" } : {}),
                    }).then(
                      (answer) => answer.text(),
                      () => "",
                    ),
                  )
              return answers.join("")
            },
            [target, body],
          )
          assert.strictEqual(read, "", "another origin reads nothing")
          const sawForm = page.waitForResponse(target)
          await page.evaluate((url) => {
            const form = document.forms[0]
            if (form === undefined) return
            form.action = url
            form.submit()
          }, target)
          assert.strictEqual((await sawForm).status(), 403)
          await page.getByText("cross_site_request").waitFor()
        },
        { mayComplain: true },
      )
      assert.strictEqual(await messageCount(), before)
    } finally {
      await sibling.close()
    }
  })

  it("keeps filter and open message in the address: back closes, reload shows the same", () =>
    onPage("/w/1/messages?status=%5B%22sent%22%5D", async (page) => {
      await page.locator("tbody tr").first().click()
      const panel = page.getByRole("complementary", { name: /^Message \d+$/ })
      await panel.waitFor()
      const address = page.url()
      assert.match(address, /sent.*open=/)
      await page.reload()
      await panel.waitFor()
      assert.strictEqual(page.url(), address)
      await page.goBack()
      await panel.waitFor({ state: "detached" })
      assert.include(page.url(), "sent")
      await page.goForward()
      await panel.waitFor()
    }))

  it("keeps what it shows while the service is away, says so, and goes on", () =>
    onPage(
      "/w/1/contacts",
      async (page) => {
        await visibleText(page, "+15550100444").first().waitFor()
        await page.context().setOffline(true)
        const contacts = page.getByRole("heading", { level: 1, name: "Contacts" })
        const goToSettings = async () => {
          // Its file is not there yet.
          await page.getByRole("link", { name: "Settings", exact: true }).click()
          await contacts.waitFor({ state: "detached" })
          await page.getByText("The service is not responding.").first().waitFor()
        }
        await goToSettings()
        await page.getByRole("link", { name: "Contacts", exact: true }).click()
        await contacts.waitFor()
        await visibleText(page, "+15550100444").first().waitFor()
        await goToSettings()
        await page.context().setOffline(false)
        await page.getByRole("button", { name: "Try again" }).click()
        await page.getByRole("heading", { level: 1, name: "Settings" }).waitFor()
      },
      { mayComplain: true },
    ))

  it("says once the user has signed in again that what they asked for was not done", () =>
    onPage(
      "/w/1/numbers/1",
      async (page) => {
        const label = page.getByLabel("Label")
        await label.fill("Typed before")
        await page.context().clearCookies()
        // The page's own requests may find the session gone first, and the dialog would take a click.
        await page.getByRole("button", { name: "Save", exact: true }).dispatchEvent("click")
        await page.getByLabel("Operator token").fill(dashboard.operatorToken)
        await page.getByRole("button", { name: "Sign in" }).click()
        await page.getByRole("dialog").waitFor({ state: "detached" })
        await page
          .locator("form")
          .getByText("Your session had expired and nothing was changed.")
          .waitFor()
        assert.strictEqual(await label.inputValue(), "Typed before")
        await page.getByRole("button", { name: "Save", exact: true }).click()
        await page.getByText("Saved.").waitFor()
      },
      { mayComplain: true },
    ))

  it("loads itself again when a server with other files has taken over", () =>
    onPage(
      "/w/1/contacts",
      async (page) => {
        // The file of that page went with the older server.
        let missing = 0
        await page.route(/assets\/SettingsPage-[\w-]+\.js/, async (route) => {
          missing += 1
          if (missing === 1) await route.fulfill({ status: 404, body: "{}" })
          else await route.continue()
        })
        await page.getByRole("link", { name: "Settings", exact: true }).click()
        await page.getByRole("heading", { level: 1, name: "Settings" }).waitFor()
        assert.strictEqual(missing, 2)
      },
      { mayComplain: true },
    ))

  it("submits a form once, however often its button is pressed before the answer", () =>
    onPage("/w/1/contacts", async (page) => {
      let requests = 0
      let answer = () => {}
      const released = new Promise<void>((resolve) => {
        answer = resolve
      })
      await page.route("**/contacts", async (route) => {
        if (route.request().method() !== "POST") return route.continue()
        requests += 1
        await released
        await route.continue()
      })
      await page.getByRole("button", { name: "Add contact" }).click()
      await page.getByLabel("Name", { exact: true }).fill("Once")
      await page.getByLabel("Phone or username").fill(uniquePhone())
      const submit = page.getByRole("dialog").getByRole("button", { name: "Add contact" })
      await submit.click()
      await page.getByRole("dialog").locator("[aria-busy=true]").first().waitFor()
      await submit.click({ force: true })
      await page.getByLabel("Name", { exact: true }).press("Enter")
      answer()
      await page.getByRole("dialog").waitFor({ state: "detached" })
      assert.strictEqual(requests, 1)
    }))

  it("follows the service's time when the browser's clock is wrong by a day", () =>
    withPage(dashboard, async (page) => {
      await page.clock.install({ time: Date.now() + day })
      await page.clock.resume()
      await signIn(page, dashboard)
      await goTo(page, dashboard, "/w/1/messages")
      const time = page.locator("tbody tr time").first()
      // The page shows seconds for times of today.
      assert.match((await time.textContent()) ?? "", /^\d\d:\d\d:\d\d$/)
    }))

  it("shows times in the viewer's zone, or in UTC where they chose that, and takes them so", () =>
    onPage(
      "/w/1/messages",
      async (page) => {
        const clock = page.locator("aside time")
        const time = page.locator("tbody tr time").first()
        const inUtc = new Date((await time.getAttribute("datetime")) ?? "")
          .toISOString()
          .slice(11, 16)
        assert.match((await clock.textContent()) ?? "", /^[\d:]{8} Asia\/Calcutta$/)
        assert.notInclude(await time.textContent(), inUtc)
        await page.getByRole("button", { name: "Show times in UTC" }).click()
        await assertEventually(async () => {
          assert.match((await clock.textContent()) ?? "", /^[\d:]{8} UTC$/)
          assert.include(await time.textContent(), inUtc)
        })
        // The browser keeps the choice, and fields follow it.
        await goTo(page, dashboard, "/w/1/messages/new")
        await page.getByText("Leave empty to send now. Time zone: UTC.").waitFor()
        const phone = uniquePhone()
        await page.getByLabel("To", { exact: true }).fill(phone)
        await page.getByLabel("Text", { exact: true }).fill("In UTC")
        const sendAt = page.getByLabel("Send at")
        await sendAt.fill("2099-01-30T18:00")
        await page.getByRole("button", { name: "Show times in Asia/Calcutta" }).click()
        await page.getByText("Leave empty to send now. Time zone: Asia/Calcutta.").waitFor()
        assert.strictEqual(await sendAt.inputValue(), "", "no time moves unseen")
        await sendAt.fill("2099-01-30T18:00")
        await page.getByRole("button", { name: "Schedule", exact: true }).click()
        await page.getByText("Scheduled ·").waitFor()
        // The form is ready for the next one.
        assert.strictEqual(await page.getByLabel("To", { exact: true }).inputValue(), "")
        await page.getByRole("button", { name: "Send", exact: true }).waitFor()
        const list = (await dashboard.request("GET", "/api/v2/messages?limit=1")) as {
          readonly data: ReadonlyArray<{ readonly send_at: string }>
        }
        assert.strictEqual(list.data[0]?.send_at, "2099-01-30T12:30:00Z")
      },
      { timezoneId: "Asia/Calcutta" },
    ))

  it("serves ten tabs of one session", () =>
    onPage("/workspaces", async (page) => {
      const tabs = await Promise.all(
        Array.from({ length: 10 }, async () => {
          const tab = await page.context().newPage()
          await tab.goto(`${dashboard.url}/w/1/messages`)
          return tab
        }),
      )
      for (const tab of tabs) await visibleText(tab, "Your table is ready").first().waitFor()
      for (const tab of tabs) await assertCount(tab.getByRole("alert"), 0)
    }))

  it("shows hostile text as text on every screen, and breaks at no width", async () => {
    const workspace = "/admin/v1/workspaces/1"
    await dashboard.operate("PATCH", workspace, { name: hostile.slice(0, 100) })
    await dashboard.operate("PATCH", `${workspace}/numbers/1`, { label: hostile.slice(0, 100) })
    await dashboard.operate("POST", `${workspace}/contacts`, {
      name: hostile.slice(0, 100),
      phone: "+15550100445",
    })
    await dashboard.request("POST", "/api/v2/messages", {
      to: { phone: "+15550101001" },
      text: hostile.repeat(5),
    })
    await dashboard.operate("POST", "/admin/v1/simulator/numbers/1/received-messages", {
      from: { phone: "+15550100446", name: hostile.slice(0, 100) },
      text: hostile.repeat(5),
    })
    await dashboard.operate("POST", "/admin/v1/simulator/settle")
    await onPage(
      "/workspaces",
      async (page) => {
        const wide: Array<string> = []
        for (const { name, path } of screens) {
          if (path === null) continue
          await goTo(page, dashboard, path)
          await awaitAnswers(page)
          if (await overflows(page)) wide.push(name)
          assert.notStrictEqual(await page.title(), "ran", name)
        }
        assert.deepStrictEqual(wide, [])
      },
      { width: 360 },
    )
  })
})
