/** The dashboard as people use it: in a real browser, over a real service. */
import type { Page } from "playwright-core"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import {
  assertCount,
  awaitAnswers,
  barriers,
  chooseStatus,
  goTo,
  overflows,
  setUpDashboard,
  visibleText,
  signIn as signInAsOperator,
  unique,
  uniquePhone,
} from "./browserPages.ts"
import type { PageOptions } from "./browserPages.ts"
import { startFaultyProxy } from "./faultyProxy.ts"
import type { FaultyProxy } from "./faultyProxy.ts"
import { screens } from "./screens.ts"
import { skipsWithoutBrowser } from "./startDashboard.ts"
import type { TestDashboard } from "./startDashboard.ts"

describe.skipIf(skipsWithoutBrowser)("the dashboard", () => {
  const { dashboard, withPage: getWithPage } = setUpDashboard({ isFilled: true })
  let proxy: FaultyProxy
  /** Behind the proxy. */
  let service: TestDashboard

  beforeAll(async () => {
    proxy = await startFaultyProxy(dashboard.url)
    service = { ...dashboard, url: proxy.url }
  })
  afterAll(() => proxy?.close())

  const withPage = (act: (page: Page) => Promise<void>, options?: PageOptions) =>
    getWithPage(service, act, options).finally(() => proxy.failWith(null))
  const signIn = (page: Page) => signInAsOperator(page, service)
  const open = (page: Page, name: string) => goTo(page, service, `/w/1/${name}`)

  it("lets the operator in with the token alone, and keeps it nowhere that a script can read", () =>
    withPage(async (page) => {
      await page.goto(service.url)
      await page.getByLabel("Operator token").fill("wrong")
      await page.keyboard.press("Enter")
      await page.getByRole("alert").waitFor()
      await page.getByLabel("Operator token").fill(service.operatorToken)
      await page.keyboard.press("Enter")
      await page.getByRole("heading", { name: "Workspaces" }).waitFor()
      const readable = await page.evaluate(
        () => document.cookie + JSON.stringify([localStorage, sessionStorage]),
      )
      assert.notInclude(readable, service.operatorToken)
      assert.notInclude(readable, "session=")
      await page.getByRole("button", { name: "Sign out" }).click()
      await page.getByLabel("Operator token").waitFor()
      await page.goto(`${service.url}/workspaces`)
      await page.getByLabel("Operator token").waitFor()
    }))

  it("finds messages by status and text, page by page, with an address that can be passed on", () =>
    withPage(async (page) => {
      await signIn(page)
      await open(page, "messages")
      const rows = page.locator("tbody tr")
      await rows.nth(24).waitFor()
      const first = await rows.first().getAttribute("data-message")
      await page.getByRole("button", { name: "Older" }).click()
      await page.getByText("Page 2").waitFor()
      const second = await rows.first().getAttribute("data-message")
      assert.isBelow(Number(second), Number(first))
      await page.reload()
      await page.getByText("Page 2").waitFor()
      assert.strictEqual(await rows.first().getAttribute("data-message"), second)
      await chooseStatus(page, "failed")
      await assertCount(rows, 1)
      await visibleText(page, "is not registered").waitFor()
      await page.keyboard.press("j")
      const panel = page.getByRole("complementary", { name: /Message \d+/ })
      await panel.getByText("Why it failed").waitFor()
      await page.keyboard.press("Escape")
      await panel.waitFor({ state: "detached" })
    }))

  it("shows a message that is accepted elsewhere without being asked", () =>
    withPage(async (page) => {
      await signIn(page)
      await open(page, "messages")
      await page.locator("tbody tr").first().waitFor()
      await page.getByText("Live", { exact: true }).waitFor()
      const text = unique("From elsewhere")
      await service.request("POST", "/api/v2/messages", { to: { phone: "+15550107777" }, text })
      await visibleText(page, text).waitFor()
    }))

  it("says why a message waits, and the remedy that it names lets it leave", () =>
    withPage(async (page) => {
      await signIn(page)
      await service.operate("POST", "/admin/v1/workspaces/1/numbers/1/pause", { until: null })
      await service.request("POST", "/api/v2/messages", {
        to: { phone: "+15550106666" },
        text: "Held back",
      })
      await open(page, "messages?status=%5B%22queued%22%5D")
      await page.locator("tbody tr").first().click()
      await page.getByText("A user or an operator paused the number.").waitFor()
      await page.getByRole("button", { name: "Resume number" }).click()
      await page.getByText("Sent to the platform").waitFor()
    }))

  it("cancels those that are chosen, and says which of them have left already", () =>
    withPage(async (page) => {
      await signIn(page)
      const later = new Date(Date.now() + 7_200_000).toISOString()
      for (const count of [1, 2])
        await service.request("POST", "/api/v2/messages", {
          to: { phone: "+15550105555" },
          text: `Later: ${count}`,
          send_at: later,
        })
      await open(page, "messages")
      await visibleText(page, "Later: 2").first().waitFor()
      for (const row of [0, 1, 2])
        await page.locator("tbody tr").nth(row).getByRole("checkbox").click()
      await page.getByText("1 cannot be cancelled").waitFor()
      await page.getByRole("button", { name: "Cancel 2 messages" }).click()
      const dialog = page.getByRole("dialog")
      await dialog.getByRole("button", { name: "Cancel 2 messages" }).click()
      await page.getByRole("region", { name: "Selected messages" }).waitFor({ state: "detached" })
      await page.locator("tbody tr").nth(1).getByText("cancelled").waitFor()
    }))

  it("links a phone: the code appears, is taken, and the page says so by itself", () =>
    withPage(async (page) => {
      await signIn(page)
      await open(page, "numbers")
      await page.getByRole("button", { name: "Link a phone" }).click()
      await page.getByRole("button", { name: "Show code" }).click()
      await page.getByAltText("QR code to scan with the phone").waitFor()
      await page.getByText(/9:\d\d left/).waitFor()
      await page.getByRole("button", { name: "Scan as the simulated phone" }).click()
      await page.getByText("is linked").waitFor()
    }))

  it("shows on the recipient's phone what was sent, and the ticks that come back", () =>
    withPage(async (page) => {
      await signIn(page)
      const recipient = uniquePhone()
      await page.goto(`${service.url}/w/1/emulator?phone=${encodeURIComponent(recipient)}`)
      await page.getByLabel(`Message to ${recipient}`).fill("Hello <b>there</b>")
      await page.keyboard.press("Enter")
      const phone = page.getByRole("list", { name: "Messages on the phone" })
      await phone.getByText("Hello <b>there</b>").waitFor()
      await phone.getByRole("button", { name: "Mark as read" }).click()
      await phone.getByText("read", { exact: true }).waitFor()
      await open(page, `messages?find=${encodeURIComponent(recipient)}`)
      await page.locator("tbody tr").getByText("read", { exact: true }).waitFor()
    }))

  const openPalette = async (page: Page) => {
    await awaitAnswers(page)
    await page.keyboard.press("Control+k")
    await page.getByRole("combobox", { name: "Search" }).waitFor()
  }

  it("goes anywhere by a few letters, and to a message by its number", () =>
    withPage(async (page) => {
      await signIn(page)
      await open(page, "overview")
      await openPalette(page)
      await page.keyboard.type("numb")
      await page.keyboard.press("Enter")
      await page.getByRole("heading", { name: "Numbers", level: 1 }).waitFor()
      await openPalette(page)
      await page.keyboard.type("3")
      await page.keyboard.press("Enter")
      await page.getByRole("complementary", { name: "Message 3" }).waitFor()
      await awaitAnswers(page)
      await page.keyboard.press("g")
      await page.keyboard.press("o")
      await page.getByRole("heading", { name: "Overview", level: 1 }).waitFor()
      await awaitAnswers(page)
      await openPalette(page)
      await page.keyboard.type("new")
      await page.keyboard.press("Enter")
      await page.getByRole("heading", { name: "New message", level: 1 }).waitFor()
      await page.goBack()
      await page.getByRole("heading", { name: "Overview", level: 1 }).waitFor()
      await awaitAnswers(page)
      await page.keyboard.press("c")
      await page.getByRole("heading", { name: "New message", level: 1 }).waitFor()
      await page.getByRole("link", { name: "All messages" }).click()
      await page.getByRole("heading", { name: "Messages", level: 1 }).waitFor()
      await awaitAnswers(page)
      await page.keyboard.press("?")
      await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor()
    }))

  it.each([
    ["nothing", /is not responding/, "away"],
    ["500", /internal_error · req_/, { status: 500, code: "internal_error" }],
    ["429", /retry in 30 s/, { status: 429, code: "rate_limited", retryAfterSeconds: 30 }],
  ] as const)("says what is wrong when the service answers %s, and recovers", (_, labels, fault) =>
    withPage(
      async (page) => {
        await signIn(page)
        await open(page, "messages")
        await page.locator("tbody tr").first().waitFor()
        // News would ask again by themselves, and take the button away.
        await page.getByRole("button", { name: /^Live: / }).click()
        await page.getByText("Paused", { exact: true }).waitFor()
        proxy.failWith({ on: /\/messages$/, with: fault })
        await chooseStatus(page, "failed")
        await page.getByRole("alert").filter({ hasText: labels }).waitFor()
        proxy.failWith(null)
        await page.getByRole("button", { name: "Try again" }).click()
        await assertCount(page.locator("tbody tr"), 1)
        await visibleText(page, "is not registered").waitFor()
      },
      { mayComplain: fault === "away" },
    ),
  )

  it("says that a role does not allow it, and offers no second try", () =>
    withPage(async (page) => {
      await signIn(page)
      proxy.failWith({
        on: /^GET \/admin.*\/messages$/,
        with: { status: 403, code: "role_required" },
      })
      await open(page, "messages")
      const refusal = page.getByRole("alert").filter({ hasText: /role_required · req_/ })
      await refusal.getByText("Your role does not allow this.").waitFor()
      await assertCount(refusal.getByRole("button"), 0)
    }))

  it("leads to signing in when the session ends, and back to the same page", () =>
    withPage(async (page) => {
      await signIn(page)
      await open(page, "messages")
      await page.locator("tbody tr").first().waitFor()
      await page.context().clearCookies()
      await chooseStatus(page, "failed")
      await page.getByLabel("Operator token").fill(service.operatorToken)
      await page.keyboard.press("Enter")
      await assertCount(page.locator("tbody tr"), 1)
      await visibleText(page, "is not registered").waitFor()
    }))

  it.each([1280, 360])(
    "has no barrier that a machine can find, %i wide, in either theme",
    (width) =>
      withPage(
        async (page) => {
          const found: Array<string> = []
          const check = async (name: string) => {
            for (const colorScheme of ["light", "dark"] as const) {
              await page.emulateMedia({ colorScheme })
              for (const barrier of await barriers(page)) {
                found.push(`${name}, ${colorScheme}: ${barrier}`)
              }
            }
            if (await overflows(page)) found.push(`${name}: wider than the window`)
          }
          await page.goto(service.url)
          await page.getByLabel("Operator token").waitFor()
          await check("sign-in")
          await signIn(page)
          for (const { name, path, ready } of screens) {
            if (path !== null) await goTo(page, service, path)
            await ready(page)
            await check(name)
          }
          assert.deepStrictEqual(found, [])
        },
        { width },
      ),
  )
})
