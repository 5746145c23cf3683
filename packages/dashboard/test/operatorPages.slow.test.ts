/** What operators change in pages, over a real service: each change is then asked of the service itself. */
import type { Page } from "playwright-core"
import { assert, describe, it } from "vitest"
import {
  assertCount,
  assertEventually,
  assertInvalid,
  awaitAnswers,
  barriers,
  goTo,
  loseAnswer,
  openFilters,
  overflows,
  setUpDashboard,
  visibleText,
  unique,
  uniquePhone,
} from "./browserPages.ts"
import { skipsWithoutBrowser } from "./startDashboard.ts"

describe.skipIf(skipsWithoutBrowser)("the operator's pages", () => {
  const { dashboard, onPage, withPage } = setUpDashboard({ isFilled: true })

  /** The service's own answer. */
  const get = (path: string) =>
    dashboard.operate("GET", `/admin/v1/workspaces/${path}`) as Promise<Record<string, unknown>>

  it("shows only what the service answers", () =>
    onPage("/workspaces", async (page) => {
      const refusals: Array<string> = []
      page.on("response", (response) => {
        const answer = `${response.status()} ${new URL(response.url()).pathname}`
        // So the service says that conversations are off.
        const isOff = answer === "404 /admin/v1/workspaces/1/conversations"
        if (response.status() >= 400 && !isOff) refusals.push(answer)
      })
      await goTo(page, dashboard, "/w/1")
      const names = await page
        .getByRole("navigation", { name: "Pages" })
        .getByRole("link")
        .allTextContents()
      assert.include(names, "Numbers")
      for (const name of names) {
        await page.getByRole("link", { name, exact: true }).click()
        await page.getByRole("heading", { level: 1, name }).waitFor()
        await awaitAnswers(page)
      }
      assert.deepStrictEqual(refusals, [])
    }))

  it("signs in with the token alone, which no script can read, and out again", () =>
    withPage(dashboard, async (page) => {
      await page.goto(`${dashboard.url}/w/1/settings`)
      await page.getByLabel("Operator token").fill("wrong")
      await page.keyboard.press("Enter")
      await page.getByRole("alert").waitFor()
      await page.getByLabel("Operator token").fill(dashboard.operatorToken)
      await page.keyboard.press("Enter")
      await page.getByRole("heading", { name: "Settings" }).waitFor()
      const readable = await page.evaluate(
        () => document.cookie + JSON.stringify([localStorage, sessionStorage]),
      )
      assert.notInclude(readable, dashboard.operatorToken)
      assert.notInclude(readable, "messaging-")
      await page.getByRole("button", { name: "Sign out" }).click()
      await page.getByLabel("Operator token").waitFor()
    }))

  it("makes a key, shows it once, and revokes it after a question", () =>
    onPage("/w/1/settings", async (page) => {
      await page.getByRole("button", { name: "Create key" }).click()
      const dialog = page.getByRole("dialog")
      const name = unique("<i>Shop</i>")
      await dialog.getByLabel("Name", { exact: true }).fill(name)
      await dialog.getByLabel("Files").uncheck()
      await dialog.getByRole("button", { name: "Create key" }).click()
      const key = (await dialog.locator("code").textContent()) ?? ""
      assert.strictEqual((await fetchMe(key)).status, 200)
      await dialog.getByRole("button", { name: "Done" }).click()
      await page.getByRole("dialog").waitFor({ state: "detached" })
      assert.notInclude(await page.content(), key)
      await page.getByRole("button", { name: `Revoke ${name}` }).click()
      await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click()
      await page.getByRole("dialog").waitFor({ state: "detached" })
      assert.strictEqual((await fetchMe(key)).status, 401)
    }))

  it("shows scopes and expiry of keys on a phone too", () =>
    onPage(
      "/w/1/settings",
      async (page) => {
        const name = unique("Phone")
        await dashboard.operate("POST", "/admin/v1/workspaces/1/keys", {
          version: 2,
          name,
          mode: "live",
          scopes: ["media"],
          number_ids: null,
          expires_in: "30d",
        })
        const row = page.getByRole("row", { name })
        await row.getByText(/^Scopes: Files · Expires: /).waitFor()
        await row.locator("time").filter({ visible: true }).waitFor()
      },
      { width: 360 },
    ))

  const fetchMe = (key: string) =>
    fetch(`${dashboard.serviceUrl}/api/v2/me`, { headers: { authorization: `Bearer ${key}` } })

  it("shows a refusal at the field that it names, and keeps what was typed", () =>
    onPage("/w/1/contacts", async (page) => {
      await page.getByRole("button", { name: "Add contact" }).click()
      const [name, phone] = [unique("Grace"), uniquePhone()]
      await page.getByLabel("Name", { exact: true }).fill(name)
      await page.getByLabel("Phone or username").fill("+12")
      await page.getByRole("dialog").getByRole("button", { name: "Add contact" }).click()
      await page.getByRole("dialog").getByRole("alert").waitFor()
      await assertInvalid(page.getByLabel("Phone or username"))
      assert.strictEqual(await page.getByLabel("Name", { exact: true }).inputValue(), name)
      await page.getByLabel("Phone or username").fill(phone)
      await page.getByRole("dialog").getByRole("button", { name: "Add contact" }).click()
      await visibleText(page, phone).waitFor()
      await page.getByRole("button", { name: `Delete ${name}` }).click()
      await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click()
      await page.getByText(phone).waitFor({ state: "detached" })
    }))

  it("changes only what the operator changed of a workspace, while its allowance goes down", () =>
    onPage("/workspaces", async (page) => {
      await page.getByRole("button", { name: "Create workspace" }).click()
      await page.getByLabel("Name", { exact: true }).fill("Bakery")
      await page.getByRole("dialog").getByRole("button", { name: "Create workspace" }).click()
      await page.getByRole("link", { name: "Settings" }).click()
      await page.getByLabel("Retention (days)").fill("30")
      const id = /\/w\/(\d+)\//.exec(page.url())?.[1] ?? ""
      const plan = { ...((await get(id))["plan"] as object), messages_remaining: 7 }
      await dashboard.operate("PATCH", `/admin/v1/workspaces/${id}`, { plan })
      await page.getByRole("button", { name: "Save", exact: true }).click()
      await page.getByText("Saved.").waitFor()
      const workspace = await get(id)
      assert.strictEqual(workspace["retention_days"], 30)
      assert.deepStrictEqual(workspace["plan"], plan)
    }))

  it("deletes a workspace only once its name was typed", () =>
    onPage("/workspaces", async (page) => {
      const name = unique("Short-lived")
      const created = (await dashboard.operate("POST", "/admin/v1/workspaces", { name })) as {
        id: number
      }
      await goTo(page, dashboard, `/w/${created.id}/settings`)
      await page.getByRole("button", { name: "Delete workspace…" }).click()
      const typed = page.getByLabel(`Type ${name} to confirm`)
      await typed.fill("Short-lived")
      await page.keyboard.press("Enter")
      assert.isDefined((await get(String(created.id)))["name"])
      await typed.fill(name)
      await page.keyboard.press("Enter")
      await page.getByRole("heading", { name: "Workspaces" }).waitFor()
      await page.getByText(name).waitFor({ state: "detached" })
      assert.isUndefined((await get(String(created.id)))["name"])
    }))

  it("shows every attempt of a webhook, and sends an event again", () =>
    onPage("/w/1/webhooks", async (page) => {
      await page.getByRole("link", { name: /\/events$/ }).click()
      await visibleText(page, "HTTP 500").first().waitFor()
      await page
        .getByRole("button", { name: /^Redeliver event / })
        .first()
        .click()
      await page.getByText("is queued for redelivery").waitFor()
    }))

  it("leads from the failed attempts alone, which an address names, to delivering them again", () =>
    onPage("/w/1/webhooks", async (page) => {
      const created = (await dashboard.operate("POST", "/admin/v1/workspaces/1/webhooks", {
        url: "http://127.0.0.1:65534/no-receiver",
      })) as { readonly id: number }
      await goTo(page, dashboard, `/w/1/webhooks/${created.id}`)
      await page.getByRole("link", { name: "Failed only" }).click()
      await page.getByText("No failed attempts").waitFor()
      await page.getByRole("button", { name: "Send test event" }).click()
      await visibleText(page, "connection failed").first().waitFor()
      await page.reload()
      await visibleText(page, "connection failed").first().waitFor()
      assert.match(page.url(), /failed=true/)
      const newest = (await get(`1/webhooks/${created.id}/deliveries?failed=true`)) as {
        readonly data: ReadonlyArray<{ readonly attempted_at: string }>
      }
      const oldest = Math.min(...newest.data.map(({ attempted_at: at }) => Date.parse(at)))
      await page.getByText("endpoint has not accepted").waitFor()
      await page.getByRole("button", { name: "Redeliver missed events" }).click()
      const since = await page.getByRole("dialog").getByLabel("Since").inputValue()
      // Older failures may stand on later pages of the log.
      assert.isAtMost(Date.parse(since), oldest - 23 * 3_600_000)
      assert.isAtLeast(Date.parse(since), oldest - 25 * 3_600_000)
      await page.getByRole("button", { name: "Cancel", exact: true }).click()
      await goTo(page, dashboard, "/w/1/webhooks")
      await page.getByRole("row", { name: /no-receiver.*failing/ }).waitFor()
      await dashboard.operate("DELETE", `/admin/v1/workspaces/1/webhooks/${created.id}`)
    }))

  it("shows what was sent and answered, and delivers again what was missed", () =>
    onPage("/w/1/webhooks", async (page) => {
      await page.getByRole("link", { name: /\/events$/ }).click()
      await page
        .getByRole("button", { name: /^View attempt / })
        .first()
        .click()
      const dialog = page.getByRole("dialog")
      await dialog.getByRole("region", { name: "Request" }).getByText(/"evt_/).waitFor()
      await dialog.getByRole("region", { name: "Response" }).waitFor()
      assert.deepStrictEqual(await barriers(page), [])
      await page.getByRole("button", { name: "Done" }).click()

      await page.getByRole("button", { name: "Redeliver missed events" }).click()
      const since = dialog.getByLabel("Since")
      assert.match(await since.inputValue(), /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}$/)
      await since.fill("")
      await dialog.getByRole("button", { name: "Redeliver" }).click()
      await dialog.getByRole("alert").filter({ hasText: "Choose a day" }).waitFor()
      // A field of that kind takes local time.
      const hourAgo = new Date(Date.now() - 3_600_000 - new Date().getTimezoneOffset() * 60_000)
      await since.fill(hourAgo.toISOString().slice(0, 16))
      await dialog.getByRole("button", { name: "Redeliver" }).click()
      await dialog.getByText(/events? queued for redelivery/).waitFor()
      assert.deepStrictEqual(await barriers(page), [])
    }))

  it("shows bodies without barriers in both themes, at 360 and 1,280 pixels", async () => {
    for (const theme of ["light", "dark"] as const)
      for (const width of [360, 1280])
        await onPage(
          "/w/1/webhooks",
          async (page) => {
            await page.getByRole("link", { name: /\/events$/ }).click()
            await page
              .getByRole("button", { name: /^View attempt / })
              .first()
              .click()
            await page.getByRole("region", { name: "Request" }).getByText(/"evt_/).waitFor()
            assert.deepStrictEqual(await barriers(page), [])
            assert.isFalse(await overflows(page))
          },
          { theme, width },
        )
  })

  it("changes an endpoint, whose secret stays", () =>
    onPage("/w/1/webhooks", async (page) => {
      const url = "http://127.0.0.1:65000/to-change"
      const created = (await dashboard.operate("POST", "/admin/v1/workspaces/1/webhooks", {
        url,
      })) as {
        id: number
        secret_last4: string
      }
      await goTo(page, dashboard, `/w/1/webhooks/${created.id}`)
      await page.getByRole("button", { name: "Edit", exact: true }).click()
      const dialog = page.getByRole("dialog")
      assert.strictEqual(await dialog.getByLabel("URL").inputValue(), url)
      await dialog.getByLabel("URL").fill("ftp://shop.example")
      await dialog.getByRole("button", { name: "Save" }).click()
      await dialog.getByRole("alert").first().waitFor()
      await dialog.getByLabel("URL").fill(`${url}d`)
      await dialog.getByLabel("Sent").uncheck()
      await dialog.getByRole("button", { name: "Save" }).click()
      await visibleText(page, `${url}d`).first().waitFor()
      const { data } = (await dashboard.operate("GET", "/admin/v1/workspaces/1/webhooks")) as {
        data: ReadonlyArray<Record<string, unknown>>
      }
      assert.deepInclude(
        data.find(({ id }) => id === created.id),
        {
          url: `${url}d`,
          events: ["message.failed", "message.cancelled", "message.expired"],
          secret_last4: created.secret_last4,
        },
      )
      await dashboard.operate("DELETE", `/admin/v1/workspaces/1/webhooks/${created.id}`)
    }))

  it("adds a webhook with its secret shown once, tests it, replaces the secret and deletes it", () =>
    onPage("/w/1/webhooks", async (page) => {
      await page.getByRole("button", { name: "Add webhook" }).click()
      const path = unique("/second").replace(" ", "-")
      await page.getByLabel("URL").fill(`http://127.0.0.1:65000${path}`)
      await page.getByLabel("Cancelled").uncheck()
      await page.getByRole("dialog").getByRole("button", { name: "Add webhook" }).click()
      const secret = (await page.getByRole("dialog").locator("code").textContent()) ?? ""
      assert.match(secret, /^[\da-f]{64}$/)
      await page.getByRole("button", { name: "Done" }).click()
      await page.getByRole("link", { name: path }).click()
      assert.notInclude(await page.content(), secret)
      await page.getByRole("button", { name: "Send test event" }).click()
      await visibleText(page, "connection failed").first().waitFor()
      await page.getByRole("button", { name: "Rotate secret" }).click()
      await page.getByRole("dialog").getByRole("button", { name: "Rotate secret" }).click()
      const next = (await page.getByRole("dialog").locator("code").textContent()) ?? ""
      assert.notStrictEqual(next, secret)
      await page.getByRole("button", { name: "Done" }).click()
      await page.getByRole("button", { name: "Delete" }).click()
      await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click()
      await page.getByRole("heading", { name: "Webhooks" }).waitFor()
      await page.getByText(path).waitFor({ state: "detached" })
    }))

  it("sends to several recipients, shows the text as a phone does, and twice nothing", () =>
    onPage("/w/1/messages/new", async (page) => {
      const phones = [uniquePhone(), uniquePhone()] as const
      const [spaced, ...rest] = [phones[0].replace("+1555", "+1 555 "), phones[1], phones[0]]
      await page.getByLabel("To", { exact: true }).fill(`${spaced}\n${rest.join(", ")}`)
      await page.getByLabel("Text", { exact: true }).fill("A *bold* <script>alert(1)</script>")
      const preview = page.getByRole("region", { name: "Preview" })
      await preview.locator("b", { hasText: "bold" }).waitFor()
      await preview.getByText("<script>alert(1)</script>").waitFor()
      await page.getByRole("button", { name: "Send 2 messages" }).click()
      await page.getByText("Queued 2 messages ·").waitFor()
      await page.getByRole("link", { name: "View", exact: true }).click()
      for (const phone of phones) await page.getByRole("button", { name: `to ${phone}` }).waitFor()
    }))

  it("sends by the keyboard alone, to the last recipient, with at most 15 presses", () =>
    onPage("/w/1/messages", async (page) => {
      const to = { phone: uniquePhone() }
      await dashboard.operate("POST", "/admin/v1/workspaces/1/messages", { from: 1, to, text: "1" })
      await page.locator("tbody tr").first().waitFor()
      let presses = 0
      const press = async (...keys: ReadonlyArray<string>) => {
        for (const key of keys) {
          await page.keyboard.press(key)
          // Keys that are held together are pressed each.
          presses += key.split("+").length
        }
      }
      await press("c")
      await page.getByRole("button", { name: to.phone }).waitFor()
      await page.getByLabel("From", { exact: true }).waitFor()
      // To the suggestions and back, and past them to the text.
      await press("Tab", "Enter")
      await page.getByLabel("To", { exact: true }).and(page.locator(":focus")).waitFor()
      await press("Tab", "Tab", "H", "i")
      // Past the files to the numbers, which are several.
      await press("Tab", "Tab", "ArrowDown", "Control+Enter")
      await page.getByText("Queued ·").waitFor()
      assert.isAtMost(presses, 15)
      const { data } = await get(`1/messages?to=${encodeURIComponent(to.phone)}`)
      const sent = data as ReadonlyArray<{ readonly text: string }>
      assert.deepStrictEqual(
        sent.map(({ text }) => text),
        ["Hi", "1"],
      )
    }))

  it("sends what failed again, as a message of its own", () =>
    onPage("/w/1/messages", async (page) => {
      const reference = unique("again")
      const to = { phone: "+15550100000" }
      const path = "/admin/v1/workspaces/1/messages"
      await dashboard.operate("POST", path, { from: 1, to, text: "Once more", reference })
      await goTo(page, dashboard, `/w/1/messages?reference=${encodeURIComponent(reference)}`)
      await page.locator("tbody tr", { hasText: "failed" }).click()
      const panel = page.getByRole("complementary")
      await panel.getByRole("button", { name: "Send again" }).click()
      await page.getByText("Queued ·").waitFor()
      await assertCount(page.locator("tbody tr"), 2)
      const first = await panel.getByRole("heading", { level: 2 }).textContent()
      await page.getByRole("link", { name: "View", exact: true }).click()
      await assertEventually(async () => {
        assert.notStrictEqual(await panel.getByRole("heading", { level: 2 }).textContent(), first)
      })
      await panel.getByText("Once more").waitFor()
    }))

  it("sends once although the answer was lost and the user pressed again", () =>
    onPage("/w/1/messages/new", async (page) => {
      const phone = uniquePhone()
      await page.getByLabel("To", { exact: true }).fill(phone)
      await page.getByLabel("Text", { exact: true }).fill("Once")
      await loseAnswer(page, "**/workspaces/1/messages?*")
      await page.getByRole("button", { name: "Send", exact: true }).click()
      await page.getByRole("alert").filter({ hasText: "is not responding" }).waitFor()
      await page.getByRole("button", { name: "Send", exact: true }).click()
      await page.getByText("Queued ·").waitFor()
      const { data } = await get(`1/messages?to=${encodeURIComponent(phone)}`)
      assert.lengthOf(data as ReadonlyArray<unknown>, 1)
    }))

  it("shows a refusal at the recipient's field", () =>
    onPage("/w/1/messages/new", async (page) => {
      await page.getByLabel("To", { exact: true }).fill("+15550100901\n+12")
      await page.getByLabel("Text", { exact: true }).fill("Hello")
      await page.getByRole("button", { name: "Send 2 messages" }).click()
      await page.getByRole("alert").waitFor()
      await assertInvalid(page.getByLabel("To", { exact: true }))
      assert.strictEqual(await page.getByLabel("Text", { exact: true }).inputValue(), "Hello")
    }))

  it("shows in the emulator how a number behaves, ticks, and lets time pass", () =>
    onPage("/workspaces", async (page) => {
      const to = { phone: uniquePhone() }
      await dashboard.request("POST", "/api/v2/messages", { to, text: "Read me" })
      await goTo(page, dashboard, `/w/1/emulator?phone=${encodeURIComponent(to.phone)}`)
      // The page shows what was pressed before the service knows it.
      const isSet = page.waitForResponse((answer) => answer.request().method() === "PUT")
      await page.getByText("Reject", { exact: true }).click()
      await isSet
      await page.reload()
      await page.getByText("Sends fail.").waitFor()
      await page.getByText("Accept", { exact: true }).click()
      await page.getByText("The platform accepts every send.").waitFor()
      const phone = page.getByRole("list", { name: "Messages on the phone" })
      await phone.getByRole("button", { name: "Mark as read" }).first().click()
      await phone.getByText("read", { exact: true }).waitFor()
      await page.getByRole("button", { name: "+ 1 hour" }).click()
      await page.getByText(/(60 min|\d+ h) ahead/).waitFor()
    }))

  /** The pixels of the shown QR code. */
  const pixels = (page: Page) =>
    page.getByAltText("QR code to scan with the phone").evaluate(async (image) => {
      await (image as HTMLImageElement).decode()
      const canvas = document.createElement("canvas")
      canvas.width = 248
      canvas.height = 248
      canvas.getContext("2d")?.drawImage(image as HTMLImageElement, 0, 0, 248, 248)
      return canvas.toDataURL()
    })

  it("links a phone by a QR code that changes without flicker and vanishes once taken", () =>
    onPage("/w/1/numbers", async (page) => {
      await page.getByRole("button", { name: "Link a phone" }).click()
      await page.getByRole("button", { name: "Show code" }).click()
      const code = page.getByAltText("QR code to scan with the phone")
      await code.waitFor()
      await page.getByText(/^New code in [01]:\d\d$/).waitFor()
      await page.getByText(/^(9|10):\d\d left$/).waitFor()
      const first = await pixels(page)
      const flickers = await page.evaluateHandle(() => {
        const received: Array<string> = []
        new MutationObserver(() => {
          const image = document.querySelector<HTMLImageElement>("img[width='248']")
          if (!image) received.push("gone")
          else if (!image.complete) received.push("loading")
        }).observe(document.body, { childList: true, subtree: true, attributes: true })
        return received
      })
      await dashboard.operate("POST", "/admin/v1/simulator/clock/advance", { seconds: 65 })
      await assertEventually(async () => assert.notStrictEqual(await pixels(page), first))
      assert.deepStrictEqual(await flickers.jsonValue(), [])
      const number = /numbers\/(\d+)\/link/.exec(page.url())?.[1] ?? ""
      await page.route(`**/workspaces/1/numbers/${number}`, async (route) => {
        const answer = await route.fetch()
        const body = (await answer.json()) as { connect: object }
        await route.fulfill({ json: { ...body, connect: { ...body.connect, linking: true } } })
      })
      await page.getByText("Code accepted. Finishing…").waitFor()
      await code.waitFor({ state: "detached" })
      await assertCount(page.getByText("New code in"), 0)
      await page.unrouteAll({ behavior: "wait" })
      await code.waitFor()
      await page.getByRole("button", { name: "Scan as the simulated phone" }).click()
      await page.getByText("is linked").waitFor()
      await assertCount(code, 0)
      assert.deepInclude(await get(`1/numbers/${number}`), { status: "connected", connect: null })
    }))

  it("links a phone by a typed code, and offers another attempt when the time is over", () =>
    onPage("/w/1/numbers", async (page) => {
      await page.getByRole("button", { name: "Link a phone" }).click()
      await page.getByText("Enter a code on the phone").click()
      await page.getByLabel("Phone number, with + and country code").fill(uniquePhone())
      await page.getByRole("button", { name: "Show code" }).click()
      await page.getByRole("img", { name: /^Code: ([A-Z0-9] ?){8}$/ }).waitFor()
      await page.getByText(/^New code in [23]:/).waitFor()
      await dashboard.operate("POST", "/admin/v1/simulator/clock/advance", { seconds: 601 })
      await page.getByText("Time is up").waitFor()
      await page.getByRole("button", { name: "Get a new code" }).click()
      await page.getByAltText("QR code to scan with the phone").waitFor()
      await page.getByRole("button", { name: "Scan as the simulated phone" }).click()
      await page.getByText("is linked").waitFor()
    }))

  it("says why a message waits and what happened to it, with the button that ends the wait", () =>
    onPage("/w/1/messages", async (page) => {
      await dashboard.operate("POST", "/admin/v1/workspaces/1/numbers/1/pause", {})
      const to = { phone: uniquePhone() }
      const send = { from: 1, to, text: "Held back" }
      await dashboard.operate("POST", "/admin/v1/workspaces/1/messages", send)
      await goTo(page, dashboard, `/w/1/messages?find=${encodeURIComponent(to.phone)}`)
      await page.locator("tbody tr").first().click()
      await page.getByText("A user or an operator paused the number.").waitFor()
      await page.getByText("Resume the number. The message keeps its place in the queue.").waitFor()
      await page.getByRole("button", { name: "Resume number" }).click()
      await page.getByText("Sent to the platform").waitFor()
      await page.getByText("Webhook failed, attempt 1").waitFor()
    }))

  it("finds messages by a word of their text and by their error, and hostile text is only text", () =>
    onPage("/w/1/messages", async (page) => {
      const hostile = '<img src=x onerror="document.title=1">'
      const label = unique("Zucchini")
      for (const text of [`${hostile} ${label}`, "Cucumber"]) {
        const send = { from: 1, to: { phone: "+15550106602" }, text }
        await dashboard.operate("POST", "/admin/v1/workspaces/1/messages", send)
      }
      await page.getByLabel("Search by phone or text").fill(label.toUpperCase())
      await page.keyboard.press("Enter")
      await assertCount(page.locator("tbody tr"), 1)
      await visibleText(page, `${hostile} ${label}`).waitFor()
      await page.getByLabel("Search by phone or text").fill("no such words")
      await page.keyboard.press("Enter")
      await page.getByText("No matching messages").waitFor()
      await goTo(page, dashboard, "/w/1/messages")
      await openFilters(page)
      await page.getByLabel("Error").selectOption("recipient_not_found")
      const failed = await get("1/messages?error=recipient_not_found&limit=25")
      const { length } = failed["data"] as ReadonlyArray<unknown>
      assert.isAbove(length, 0)
      await assertCount(page.locator("tbody tr"), length)
    }))

  it("shows every filter that the address holds, and each can be taken back", () =>
    onPage("/w/1/messages", async (page) => {
      const [name, to] = [unique("order <b>7</b>"), { phone: uniquePhone() }]
      const send = { from: 1, to, reference: name }
      const path = "/admin/v1/workspaces/1/messages"
      await dashboard.operate("POST", path, { ...send, text: "With a reference" })
      const search = new URLSearchParams({ reference: name, from: "1" })
      await goTo(page, dashboard, `/w/1/messages?${search}`)
      await visibleText(page, "With a reference").waitFor()
      await assertCount(page.locator("tbody tr"), 1)
      await page.getByRole("button", { name: "Remove filter: From number 1" }).waitFor()
      await openFilters(page)
      const number = page.getByLabel("Sending number")
      await assertEventually(async () => assert.strictEqual(await number.inputValue(), "1"))
      await page.keyboard.press("Escape")
      await page.getByText("1 total").waitFor()
      await page.locator("tbody tr").click()
      const panel = page.getByRole("complementary")
      await panel.getByRole("link", { name }).waitFor()
      await openFilters(page)
      await page.getByLabel("Created").selectOption("Last hour")
      await page.waitForURL(/since=/)
      await page.getByLabel("Created").getByText("Since ").waitFor({ state: "attached" })
      await page.keyboard.press("Escape")
      await page.getByRole("button", { name: `Remove filter: Reference ${name}` }).click()
      await page.waitForURL((url) => !url.search.includes("reference"))
      await page.getByRole("button", { name: "Clear", exact: true }).click()
      await page.waitForURL((url) => !/since|from/.test(url.search))
    }))

  it("keeps test messages apart from live ones, and leads to the one that was sent", () =>
    onPage("/w/1/messages/new", async (page) => {
      await page.getByLabel("To", { exact: true }).fill(uniquePhone())
      const text = unique("Only a test")
      await page.getByLabel("Text", { exact: true }).fill(text)
      await page.getByLabel("From", { exact: true }).selectOption("1")
      await page.getByLabel("Test: accepted and reported, never sent").check()
      await page.getByRole("button", { name: "Send", exact: true }).click()
      await page.getByRole("link", { name: "View", exact: true }).click()
      await page.locator("tbody tr", { hasText: text }).waitFor()
      await page.getByRole("complementary", { name: /^Message \d+$/ }).waitFor()
      await awaitAnswers(page)
      await page.keyboard.press("Escape")
      await page.getByText(/^Test · Last 24 h: \d+ sent/).waitFor()
      await openFilters(page)
      await page.getByLabel("Mode").selectOption("Live messages")
      await page.locator("tbody tr", { hasText: text }).waitFor({ state: "detached" })
      await page.getByText(/^Last 24 h: \d+ sent, \d+ failed/).waitFor()
    }))

  it("offers to search once the user has typed, and finds again all when the field is emptied", () =>
    onPage("/w/1/messages", async (page) => {
      const find = page.getByLabel("Search by phone or text")
      const search = page.getByRole("button", { name: "Search", exact: true })
      await assertCount(search, 0)
      await find.fill("no such words")
      await search.click()
      await page.getByText("No matching messages").waitFor()
      await assertCount(search, 0)
      await find.fill("")
      await page.locator("tbody tr").first().waitFor()
    }))

  it("cancels those that are chosen, and all that match, with their number before and after", () =>
    onPage("/w/1/messages", async (page) => {
      const send_at = new Date(Date.now() + 7_200_000).toISOString()
      const to = { phone: uniquePhone() }
      const found = encodeURIComponent(to.phone)
      for (const text of ["one", "two", "three", "four"]) {
        const send = { from: 1, to, text, send_at }
        await dashboard.operate("POST", "/admin/v1/workspaces/1/messages", send)
      }
      await goTo(page, dashboard, `/w/1/messages?find=${found}`)
      for (const row of [0, 1]) {
        await page.locator("tbody tr").nth(row).getByRole("checkbox").click()
      }
      await page.getByRole("button", { name: "Cancel 2 messages" }).click()
      const dialog = page.getByRole("dialog")
      await dialog.getByText("Cancelled messages cannot be brought back.").waitFor()
      await dialog.getByRole("button", { name: "Keep them" }).click()
      await page.getByRole("button", { name: "Cancel 2 messages" }).click()
      await dialog.getByRole("button", { name: "Cancel 2 messages" }).click()
      await page.getByText("2 cancelled.").waitFor()
      await page.getByRole("button", { name: "Cancel all matching…" }).click()
      await dialog.getByText("2 waiting messages match.").waitFor()
      await dialog.getByRole("button", { name: "Cancel 2 messages" }).click()
      await dialog.waitFor({ state: "detached" })
      await assertCount(page.locator("tbody tr").filter({ hasText: "cancelled" }), 4)
      const { data } = await get(`1/messages?to=${found}&status=cancelled`)
      assert.lengthOf(data as ReadonlyArray<unknown>, 4)
    }))

  it("shows news as they happen, closes its stream while hidden, and asks for all on its return", () =>
    onPage("/w/1/messages", async (page) => {
      const open = new Set<unknown>()
      const isStream = (url: string) => url.includes("/admin/v1/events")
      page.on("request", (request) => {
        if (isStream(request.url())) open.add(request)
      })
      page.on("requestfinished", (request) => open.delete(request))
      page.on("requestfailed", (request) => open.delete(request))
      const send = (text: string) =>
        dashboard.request("POST", "/api/v2/messages", {
          from: 1,
          to: { phone: "+15550107777" },
          text,
        })
      const hide = (hidden: boolean) =>
        page.evaluate((value) => {
          Object.defineProperty(document, "hidden", { configurable: true, value })
          document.dispatchEvent(new Event("visibilitychange"))
        }, hidden)
      await page.reload()
      const assertOpen = (count: number) =>
        assertEventually(async () => assert.strictEqual(open.size, count))
      await page.getByText("Live", { exact: true }).waitFor()
      await assertOpen(1)
      const [lastText, hidden] = [unique("From elsewhere"), unique("While it was hidden")]
      await send(lastText)
      await visibleText(page, lastText).waitFor()
      await hide(true)
      await assertOpen(0)
      await send(hidden)
      await hide(false)
      await visibleText(page, hidden).waitFor()
      await assertOpen(1)
      await dashboard.operate("POST", "/admin/v1/simulator/clock/advance", { seconds: 86_400 })
      await page.getByText(/(\d\d h|\d+ d) ahead/).waitFor()
    }))

  it("lets a customer in by a link that works once, into their workspace alone", () =>
    onPage("/w/1/settings", async (page) => {
      await page.getByRole("button", { name: "Create link" }).first().click()
      await page.getByLabel("Role").selectOption("member")
      await page.getByRole("dialog").getByRole("button", { name: "Create link" }).click()
      const link = (await page.getByRole("dialog").locator("code").textContent()) ?? ""
      await page.getByRole("button", { name: "Done" }).click()
      await withPage(dashboard, async (customer) => {
        await customer.goto(link)
        // Looking at the link is not using it.
        await customer.reload()
        await customer.getByRole("button", { name: "Open the workspace" }).click()
        await customer.getByRole("heading", { level: 1, name: "Overview" }).waitFor()
        await customer.getByText("Message results").waitFor()
        // An address alone leads to no button that the role may not press.
        await customer.goto(`${dashboard.url}/w/1/settings`)
        await customer.getByText("Only owners and administrators see").waitFor()
        await assertCount(customer.getByRole("button", { name: "Create key" }), 0)
        assert.notInclude(customer.url(), "code")
        const names = await customer
          .getByRole("navigation", { name: "Pages" })
          .getByRole("link")
          .allTextContents()
        assert.deepStrictEqual(names, [
          "Overview",
          "Messages",
          "Chats",
          "Campaigns",
          "Numbers",
          "Reminders",
          "Media",
          "Number checks",
          "Contacts",
        ])
        await customer.getByRole("link", { name: "Numbers" }).click()
        await customer.getByRole("heading", { level: 1, name: "Numbers" }).waitFor()
        await customer.locator("main li").first().waitFor()
        await awaitAnswers(customer)
        await assertCount(customer.locator("main").getByRole("button"), 0)
        await customer.goto(`${dashboard.url}/w/2/messages`)
        await customer.getByText("Page not found").waitFor()
        await customer.getByRole("link", { name: "Go home" }).click()
        await customer.getByRole("heading", { level: 1, name: "Overview" }).waitFor()
        await customer.goto(`${dashboard.url}/workspaces`)
        await customer.getByRole("heading", { level: 1, name: "Overview" }).waitFor()
        await customer.getByText("Message results").waitFor()
        await assertCount(customer.getByText("Webhook deliveries"), 0)
        await customer.goto(`${dashboard.url}/w/1/numbers/1`)
        await customer.getByText("Reconnects").waitFor()
        await assertCount(customer.getByText("Worker", { exact: true }), 0)
        await customer.context().clearCookies()
        await customer.reload()
        await customer.getByText("Came from a link? Ask its sender for a new one.").waitFor()
        await customer.goto(link)
        await customer.getByRole("button", { name: "Open the workspace" }).click()
        await customer.getByText("no longer works").waitFor()
      })
      await page.reload()
      const revokes = page.getByRole("button", { name: /^Revoke link / })
      await revokes.first().waitFor()
      const links = await revokes.count()
      await revokes.first().click()
      await page.getByRole("dialog").getByText("This cannot be undone.").waitFor()
      await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click()
      await assertCount(revokes, links - 1)
      await page.getByText("revoked", { exact: true }).first().waitFor()
    }))

  it("pauses a number until it is resumed, and gives it a label, a pace and a proxy", () =>
    onPage("/w/1/numbers/1", async (page) => {
      await page.getByRole("button", { name: "Pause", exact: true }).click()
      await page.getByText("The number is paused.").waitFor()
      await page.getByRole("button", { name: "Resume", exact: true }).click()
      await page.getByRole("button", { name: "Pause", exact: true }).waitFor()
      await page.getByLabel("Label").fill("Front desk")
      await page.getByRole("button", { name: "Save", exact: true }).click()
      await page.getByRole("heading", { name: "Front desk" }).waitFor()
      await page.getByLabel("Messages per minute").fill("12")
      await page.getByRole("button", { name: "Save pacing" }).click()
      await page.getByText("Saved.").last().waitFor()
      await page.getByLabel("Proxy URL").fill("socks5://user:secret@proxy.example:1080")
      await page.getByRole("button", { name: "Save proxy" }).click()
      await page.getByText("The number uses proxy.example:1080.").waitFor()
      assert.notInclude(await page.content(), "secret@")
      await page.getByRole("button", { name: "Test proxy" }).click()
      // Phones of this service are simulated.
      await page.getByText("Not tested: this number does not connect to a platform.").waitFor()
      await assertEventually(async () => {
        const number = (await dashboard.operate(
          "PATCH",
          "/admin/v1/workspaces/1/numbers/1",
          {},
        )) as { pacing: { per_minute: number } }
        assert.strictEqual(number.pacing.per_minute, 12)
      })
    }))

  it("offers to take a pause back, and says that a cancelled message stays so", () =>
    onPage("/w/1/numbers", async (page) => {
      const row = page.getByRole("main").getByRole("listitem").last()
      await row.getByRole("button", { name: "Pause" }).click()
      await page.getByText("Paused. Messages wait until you resume it.").waitFor()
      await row.getByText("paused", { exact: true }).waitFor()
      await page.getByRole("button", { name: "Undo" }).click()
      await row.getByText("connected", { exact: true }).waitFor()
      await assertCount(page.getByRole("button", { name: "Undo" }), 0)

      await goTo(page, dashboard, "/w/1/reminders/1")
      await page.getByRole("button", { name: "Pause", exact: true }).click()
      await page.getByText("This reminder is paused.").waitFor()
      await page.getByRole("button", { name: "Undo" }).click()
      await page.getByText("This reminder is active.").waitFor()

      const { id } = (await dashboard.operate("POST", "/admin/v1/workspaces/1/messages", {
        from: 1,
        to: { phone: uniquePhone() },
        text: "Not now",
        send_at: new Date(Date.now() + 604_800_000).toISOString(),
      })) as { id: number }
      await goTo(page, dashboard, `/w/1/messages?open=${id}`)
      const panel = page.getByRole("complementary", { name: `Message ${id}` })
      await panel.getByRole("button", { name: "Cancel message" }).click()
      const dialog = page.getByRole("dialog")
      await dialog.getByText("A cancelled message cannot be brought back.").waitFor()
      assert.deepStrictEqual(await barriers(page), [])
      await dialog.getByRole("button", { name: "Keep it" }).click()
      await panel.getByRole("button", { name: "Cancel message" }).click()
      await dialog.getByRole("button", { name: "Cancel message" }).click()
      await panel.getByRole("list", { name: "Timeline" }).getByText("Cancelled").waitFor()
      await assertCount(page.getByRole("button", { name: "Undo" }), 0)
    }))

  it("asks to sign in again when the session ends, and keeps what was typed", () =>
    onPage("/w/1/contacts", async (page) => {
      await page.getByRole("button", { name: "Add contact" }).click()
      const phone = uniquePhone()
      await page.getByLabel("Name", { exact: true }).fill("Kept")
      await page.getByLabel("Phone or username").fill(phone)
      await page.context().clearCookies()
      await page.getByRole("dialog").getByRole("button", { name: "Add contact" }).click()
      await page.getByLabel("Operator token").fill(dashboard.operatorToken)
      await page.keyboard.press("Enter")
      await page.getByLabel("Operator token").waitFor({ state: "detached" })
      assert.strictEqual(await page.getByLabel("Name", { exact: true }).inputValue(), "Kept")
      await page.getByRole("dialog").getByRole("button", { name: "Add contact" }).click()
      await visibleText(page, phone).waitFor()
    }))
})
