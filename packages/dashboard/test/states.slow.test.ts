/** Each screen in each of its states, before a real service behind a proxy that delays, replaces or drops answers. */
import type { Locator, Page } from "playwright-core"
import { assert, beforeAll, describe, it } from "vitest"
import { assertCount, assertInvalid, setUpDashboard, visibleText, unique } from "./browserPages.ts"
import { requestIdOfFaults, startFaultyProxy } from "./faultyProxy.ts"
import type { Fault, FaultyProxy, FaultyProxyOptions } from "./faultyProxy.ts"
import { skipsWithoutBrowser } from "./startDashboard.ts"

interface ReadScreen {
  readonly name: string
  readonly path: string
  /** The request for the answer that the screen is about. */
  readonly requests: RegExp
  /** What only that answer puts on the screen. */
  readonly expected: string | ((page: Page) => Locator)
}

const workspace = "GET /admin/v1/workspaces/1"

const readScreens: ReadonlyArray<ReadScreen> = [
  {
    name: "workspaces",
    path: "/workspaces",
    requests: /^GET \/admin\/v1\/workspaces$/,
    expected: "Example",
  },
  {
    name: "overview",
    path: "/w/1/overview",
    requests: new RegExp(`${workspace}/figures$`),
    expected: "Message results",
  },
  {
    name: "messages",
    path: "/w/1/messages?status=%5B%22sent%22%5D",
    requests: new RegExp(`${workspace}/messages$`),
    expected: "Your table is ready",
  },
  {
    name: "message panel",
    path: "/w/1/messages?open=1",
    requests: /\/timeline$/,
    expected: (page) => page.getByRole("list", { name: "Timeline" }).locator("li"),
  },
  {
    name: "numbers",
    path: "/w/1/numbers",
    requests: new RegExp(`${workspace}/numbers$`),
    expected: (page) => page.getByRole("main").getByRole("listitem"),
  },
  {
    name: "number",
    path: "/w/1/numbers/1",
    requests: new RegExp(`${workspace}/numbers$`),
    expected: "The number connects directly.",
  },
  {
    name: "link",
    path: "/w/1/numbers/1/link",
    requests: new RegExp(`${workspace}/numbers/1$`),
    expected: "is linked",
  },
  {
    name: "reminders",
    path: "/w/1/reminders",
    requests: new RegExp(`${workspace}/reminders$`),
    expected: "Weekly menu",
  },
  {
    name: "reminder",
    path: "/w/1/reminders/1",
    requests: new RegExp(`${workspace}/reminders/1$`),
    expected: "Clocks change from",
  },
  {
    name: "webhooks",
    path: "/w/1/webhooks",
    requests: new RegExp(`${workspace}/webhooks$`),
    expected: "/events",
  },
  {
    name: "webhook log",
    path: "/w/1/webhooks/1",
    requests: /\/webhooks\/1\/deliveries$/,
    expected: "message.sent",
  },
  {
    name: "media",
    path: "/w/1/media",
    requests: new RegExp(`${workspace}/media$`),
    expected: "table.png",
  },
  {
    name: "number checks",
    path: "/w/1/number-checks",
    requests: new RegExp(`${workspace}/number-checks$`),
    expected: "Guests",
  },
  {
    name: "number check",
    path: "/w/1/number-checks/1",
    requests: new RegExp(`${workspace}/number-checks/1$`),
    expected: "3 of 3 checked",
  },
  {
    name: "contacts",
    path: "/w/1/contacts",
    requests: new RegExp(`${workspace}/contacts$`),
    expected: "+15550100444",
  },
  {
    name: "settings",
    path: "/w/1/settings",
    requests: new RegExp(`${workspace}$`),
    expected: "Plan name",
  },
  {
    name: "emulator",
    path: "/w/1/emulator?phone=%2B15550101001",
    requests: /\/simulator\/sent$/,
    expected: (page) => page.getByRole("button", { name: "Mark as read" }),
  },
  {
    name: "service",
    path: "/service",
    requests: /^GET \/admin\/v1\/figures$/,
    expected: "Each process reports every 15 seconds.",
  },
  {
    name: "held",
    path: "/service/held",
    requests: /^GET \/admin\/v1\/held$/,
    expected: "Nothing is held",
  },
]

interface Form {
  readonly name: string
  readonly path: string
  readonly opens?: string
  readonly types: Readonly<Record<string, string>>
  readonly sends: RegExp
  readonly button: string
  /** A field as refusals name it, and its label. */
  readonly field: readonly [name: string, label: string]
}

const forms: ReadonlyArray<Form> = [
  {
    name: "new message",
    path: "/w/1/messages/new",
    types: { To: "+15550100600", Text: "Kept" },
    sends: /^POST .*\/messages$/,
    button: "Send",
    field: ["to.phone", "To"],
  },
  {
    name: "contacts",
    path: "/w/1/contacts",
    opens: "Add contact",
    types: { Name: "Grace", "Phone or username": "+15550100601" },
    sends: /^POST .*\/contacts$/,
    button: "Add contact",
    field: ["phone", "Phone or username"],
  },
  {
    name: "webhooks",
    path: "/w/1/webhooks",
    opens: "Add webhook",
    types: { URL: "https://shop.example/events", Description: "Kept" },
    sends: /^POST .*\/webhooks$/,
    button: "Add webhook",
    field: ["url", "URL"],
  },
  {
    name: "workspaces",
    path: "/workspaces",
    opens: "Create workspace",
    types: { Name: "Kept" },
    sends: /^POST .*\/workspaces$/,
    button: "Create workspace",
    field: ["name", "Name"],
  },
  {
    name: "number checks",
    path: "/w/1/number-checks",
    opens: "Check phones",
    types: { Phones: "+15550100602", Name: "Kept" },
    sends: /^POST .*\/number-checks$/,
    button: "Check the phone",
    field: ["phones[0]", "Phones"],
  },
]

/** Screens as the real service fills them: workspace 2 has nothing. */
const bare: ReadonlyArray<readonly [state: string, path: string, shows: string]> = [
  ["empty", "/w/2/overview", "Get started"],
  ["empty", "/w/2/messages", "No messages yet"],
  ["empty", "/w/2/numbers", "No numbers yet"],
  ["empty", "/w/2/reminders", "No reminders yet"],
  ["empty", "/w/2/webhooks", "No webhooks yet"],
  ["empty", "/w/2/webhooks/callbacks", "No callbacks yet"],
  ["empty", "/w/2/media", "No files yet"],
  ["empty", "/w/2/number-checks", "No checks yet"],
  ["empty", "/w/2/contacts", "No contacts yet"],
  ["empty", "/w/2/settings", "No keys yet"],
  ["empty", "/w/2/emulator", "No numbers yet"],
  ["nothing found", "/w/1/messages?find=zzz", "No matching messages"],
  ["nothing found", "/workspaces?find=zzz", "No match on this page"],
  ["nothing found", "/w/1/media?kind=file", "No files of this type"],
  ["nothing found", "/w/1/number-checks/1?status=pending", "No phones with this result"],
  ["gone", "/w/1/messages?open=9999", "Not found. It may have been deleted"],
  ["gone", "/w/1/numbers/9999", "Number not found."],
  ["gone", "/w/1/numbers/9999/link", "Not found. It may have been deleted"],
  ["gone", "/w/1/reminders/9999", "Not found. It may have been deleted"],
  ["gone", "/w/1/webhooks/9999", "Not found. It may have been deleted"],
  ["gone", "/w/1/number-checks/9999", "Not found. It may have been deleted"],
  ["gone", "/w/9999/settings", "Not found. It may have been deleted"],
  ["gone", "/w/1/nowhere", "Page not found"],
]

/** Longer than an answer counts as fresh, and than a page waits until it asks again. */
const staleMillis = 11_000

const limited: Fault = { status: 429, code: "rate_limited", retryAfterSeconds: 30 }
const broken: Fault = { status: 500, code: "internal_error" }
const notAllowed: Fault = { status: 403, code: "role_required" }
const ended: Fault = { status: 401, code: "session_ended" }

describe.skipIf(skipsWithoutBrowser)("every screen in every state", () => {
  const { dashboard, withPage } = setUpDashboard({ isFilled: true })
  beforeAll(async () => {
    await dashboard.operate("POST", "/admin/v1/workspaces", { name: "Fresh" })
  })

  const signInAgain = async (page: Page) => {
    const dialog = page.getByRole("dialog", { name: "Your session has ended" })
    await dialog.getByLabel("Operator token").fill(dashboard.operatorToken)
    await page.keyboard.press("Enter")
    await dialog.waitFor({ state: "detached" })
  }

  /** A page behind a proxy of its own, signed in. */
  const behindProxy = async (
    act: (page: Page, proxy: FaultyProxy) => Promise<void>,
    options: FaultyProxyOptions = {},
  ) => {
    const proxy = await startFaultyProxy(dashboard.url, options)
    try {
      await withPage(
        proxy,
        async (page) => {
          await page.clock.install()
          const answer = await page.request.post(`${proxy.url}/admin/v1/session`, {
            data: { token: dashboard.operatorToken },
          })
          assert.isTrue(answer.ok())
          await act(page, proxy)
        },
        { mayComplain: true },
      )
    } finally {
      await proxy.close()
    }
  }

  const alert = (page: Page, text: string) =>
    page.getByRole("alert").filter({ hasText: text }).first()

  /** Presses the button, unless news have made the page ask before. */
  const tryAgain = (page: Page) =>
    Promise.race([
      page
        .getByRole("button", { name: "Try again" })
        .first()
        .click()
        .catch(() => {}),
      page.getByRole("alert").first().waitFor({ state: "detached" }),
    ])

  /** Lets the page ask again for what it shows, as after a while in another tab. */
  const askAgain = async (page: Page) => {
    await page.clock.fastForward(staleMillis)
    await page.evaluate(() =>
      document.dispatchEvent(new Event("visibilitychange", { bubbles: true })),
    )
  }

  it.each(readScreens)("keeps what it shows: $name", ({ requests, path, expected }) =>
    behindProxy(async (page, { failWith, url }) => {
      const found = () =>
        (typeof expected === "string" ? visibleText(page, expected) : expected(page)).first()
      failWith({ on: requests, with: "held" })
      // The document counts as loaded only once its first requests are answered.
      await page.goto(url + path, { waitUntil: "commit" })
      await page.getByRole("status", { name: "Loading" }).first().waitFor()
      await page.getByRole("heading", { level: 1 }).waitFor()

      failWith({ on: requests, with: broken })
      await alert(page, `internal_error · ${requestIdOfFaults}`).waitFor()
      failWith(null)
      await tryAgain(page)
      await found().waitFor()
      await page.getByRole("alert").first().waitFor({ state: "detached" })

      const refusals = [
        [limited, "retry in 30 s"],
        [notAllowed, "Your role does not allow this."],
      ] as const
      for (const [fault, message] of refusals) {
        failWith({ on: requests, with: fault })
        await askAgain(page)
        await alert(page, message).waitFor()
        assert.isTrue(await found().isVisible(), `${message}: what was shown stays`)
      }
      await assertCount(page.getByRole("button", { name: "Try again" }), 0)

      const unavailable = alert(page, "The service is not responding.")
      for (const fault of ["away", "cut", "hollow"] as const) {
        failWith({ on: requests, with: fault })
        await askAgain(page)
        while (!(await unavailable.isVisible())) await page.clock.fastForward(1000)
        assert.isTrue(await found().isVisible(), `${fault}: what was shown stays`)
        failWith(null)
        await tryAgain(page)
        await unavailable.waitFor({ state: "detached" })
      }

      const address = page.url()
      failWith({ on: requests, with: ended })
      await askAgain(page)
      await page.getByRole("dialog", { name: "Your session has ended" }).waitFor()
      await assertCount(page.getByRole("alert").filter({ hasText: "nothing was changed" }), 0)
      failWith(null)
      await signInAgain(page)
      await found().waitFor()
      await page.getByRole("alert").first().waitFor({ state: "detached" })
      assert.strictEqual(page.url(), address)
    }),
  )

  it.each(forms)("keeps what was typed: $name, to $button", (form) =>
    behindProxy(async (page, { failWith, url }) => {
      await page.goto(url + form.path)
      if (form.opens !== undefined)
        await page.getByRole("button", { name: form.opens, exact: true }).click()
      const within =
        form.opens === undefined ? page.getByRole("main") : page.getByRole("dialog").first()
      const field = (label: string) => within.getByLabel(label, { exact: true })
      for (const [label, text] of Object.entries(form.types)) await field(label).fill(text)
      const button = within.getByRole("button", { name: form.button, exact: true }).first()

      const [name, label] = form.field
      failWith({ on: form.sends, with: { status: 422, code: "invalid_field", field: name } })
      await button.click()
      await alert(page, "Refused: invalid_field.").waitFor()
      await assertInvalid(field(label))

      const refusals = [
        ["cut", "The service is not responding."],
        [limited, "retry in 30 s"],
        ["hollow", "The service is not responding."],
        [notAllowed, "Your role does not allow this."],
        [broken, `internal_error · ${requestIdOfFaults}`],
        ["away", "The service is not responding."],
      ] as const
      for (const [fault, message] of refusals) {
        failWith({ on: form.sends, with: fault })
        await button.click()
        await alert(page, message).waitFor()
      }
      failWith({ on: form.sends, with: ended })
      await button.click()
      await page.getByRole("dialog", { name: "Your session has ended" }).waitFor()
      await signInAgain(page)
      for (const [typedAt, text] of Object.entries(form.types))
        assert.strictEqual(await field(typedAt).inputValue(), text)
    }),
  )

  it("says what is empty, not found and gone, and has a heading on each", () =>
    behindProxy(async (page, { url }) => {
      for (const [, path, message] of bare) {
        await page.goto(url + path)
        await visibleText(page, message).first().waitFor()
        await assertCount(page.getByRole("heading", { level: 1 }), 1)
      }
    }))

  it("leads back to the address that a stranger asked for", () =>
    behindProxy(async (page, { url }) => {
      await page.context().clearCookies()
      await page.goto(`${url}/w/1/messages?find=table`)
      await page.getByLabel("Operator token").fill(dashboard.operatorToken)
      await page.keyboard.press("Enter")
      await visibleText(page, "Your table is ready").first().waitFor()
      assert.strictEqual(page.url(), `${url}/w/1/messages?find=table`)
      for (const elsewhere of ["//elsewhere.example/x", "/\\elsewhere.example", "/.//x.example"]) {
        await page.context().clearCookies()
        await page.goto(`${url}/sign-in?to=${encodeURIComponent(elsewhere)}`)
        await page.getByLabel("Operator token").fill(dashboard.operatorToken)
        await page.keyboard.press("Enter")
        await page.getByRole("heading", { level: 1, name: "Workspaces" }).waitFor()
        assert.strictEqual(page.url(), `${url}/workspaces`)
      }
    }))

  it("shows a new message within its polling when a proxy holds the stream of events back", () =>
    behindProxy(
      async (page, { url }) => {
        const opened = page.waitForResponse(/\/admin\/v1\/events/)
        await page.goto(`${url}/w/1/messages`)
        await visibleText(page, "Your table is ready").first().waitFor()
        await opened
        // Past what the page asks for once the stream is open.
        await page.clock.runFor(3000)
        await page.getByText(/^Page 1 · /).waitFor()
        const text = unique("Behind a proxy that buffers")
        await dashboard.request("POST", "/api/v2/messages", { to: { phone: "+15550100610" }, text })
        await page.getByRole("button", { name: "Connecting: pause live updates" }).waitFor()
        await page.clock.fastForward(10_000)
        await visibleText(page, text).first().waitFor()
      },
      { buffersStreams: true },
    ))

  it("counts as live once the service's clock has arrived", () =>
    behindProxy(async (page, { url }) => {
      await page.goto(`${url}/w/1/messages`)
      await page.getByRole("button", { name: "Live: pause live updates" }).waitFor()
    }))
})
