/**
 * Pages of a browser for tests: each is watched, signed in, and checked for barriers. A page changes while a test
 * reads it, so tests wait for what they expect and never read once.
 */
import axe from "axe-core"
import type { Browser, Locator, Page, Request } from "playwright-core"
import { afterAll, assert, beforeAll, vi } from "vitest"
import { fillWorkspace } from "./screens.ts"
import { openBrowser, startDashboard, watchProblems } from "./startDashboard.ts"
import type { StartOptions, TestDashboard } from "./startDashboard.ts"

export interface PageOptions {
  readonly theme?: "light" | "dark"
  readonly width?: number
  /** Default: that of the machine. */
  readonly timezoneId?: string
  /** The test makes requests fail on purpose. */
  readonly mayComplain?: boolean
}

/** Far more than a page ever takes: only what hangs may run into it. */
const pageTimeoutMillis = 60_000

/** Opens a page, acts on it, and fails when the page asked another host, breached its policy or complained. */
const withPage = async (
  browser: Browser,
  dashboard: Pick<TestDashboard, "url">,
  act: (page: Page) => Promise<void>,
  { mayComplain = false, theme = "light", timezoneId, width = 1280 }: PageOptions = {},
): Promise<void> => {
  const context = await browser.newContext({
    colorScheme: theme,
    // A check in the middle of an animation would see pale colours.
    reducedMotion: "reduce",
    viewport: { width, height: 800 },
    ...(timezoneId === undefined ? {} : { timezoneId }),
  })
  const page = await context.newPage()
  page.setDefaultTimeout(pageTimeoutMillis)
  const problems = watchProblems(page, dashboard.url)
  watchRequests(page)
  try {
    await act(page)
    if (!mayComplain) assert.deepStrictEqual(problems, [])
  } finally {
    await context.close()
  }
}

type Act = (page: Page) => Promise<void>

/** Opens a browser before the tests of a suite and closes it after them. Returns `withPage` in that browser. */
export const setUpBrowser = () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await openBrowser()
  })
  afterAll(() => browser?.close())
  return (server: Pick<TestDashboard, "url">, act: Act, options?: PageOptions) =>
    withPage(browser, server, act, options)
}

interface SetUpOptions extends StartOptions {
  /** Fills the workspace of the example. Default: false. */
  readonly isFilled?: boolean
}

/** Starts a dashboard and a browser before the tests of a suite, and stops them after the last one. */
export const setUpDashboard = ({ isFilled = false, ...options }: SetUpOptions = {}) => {
  // Has its members once it is started, so that tests need no variable of their own.
  const dashboard = {} as TestDashboard
  let endReceiver: (() => Promise<void>) | undefined
  beforeAll(async () => {
    Object.assign(dashboard, await startDashboard(options))
    if (isFilled) endReceiver = await fillWorkspace(dashboard)
  })
  afterAll(async () => {
    await dashboard.stop?.()
    await endReceiver?.()
  })
  const withPage = setUpBrowser()
  /** Opens that page as the operator, in a browser that remembers nothing. */
  const onPage = (path: string, act: Act, pageOptions?: PageOptions) =>
    withPage(
      dashboard,
      async (page) => {
        await signIn(page, dashboard)
        await goTo(page, dashboard, path)
        await act(page)
      },
      pageOptions,
    )
  return { dashboard, onPage, withPage }
}

/** Repeats it until it passes: what it reads may be about to change. */
export const assertEventually = (assertion: () => Promise<void>): Promise<void> =>
  vi.waitFor(assertion, { timeout: pageTimeoutMillis })

export const assertCount = (locator: Locator, count: number): Promise<void> =>
  assertEventually(async () => assert.strictEqual(await locator.count(), count))

/** The field is marked as the one that a refusal names. */
export const assertInvalid = (field: Locator): Promise<void> =>
  assertEventually(async () => assert.strictEqual(await field.getAttribute("aria-invalid"), "true"))

/** Of each page, the requests without an answer. */
const openRequests = new WeakMap<Page, Set<Request>>()

const watchRequests = (page: Page): void => {
  const open = new Set<Request>()
  openRequests.set(page, open)
  page.on("request", (request) => {
    // Nothing tells the end of what the document before it asked for.
    if (request.isNavigationRequest()) open.clear()
    if (request.resourceType() !== "eventsource") open.add(request)
  })
  page.on("requestfinished", (request) => open.delete(request))
  page.on("requestfailed", (request) => open.delete(request))
}

/**
 * Waits until everything that the page asked for is answered and shown, streams excepted. The load state
 * `networkidle` is reached once in a document, so after a link within it says nothing.
 */
export const awaitAnswers = (page: Page): Promise<void> =>
  assertEventually(async () => {
    // What an effect asks for is on its way when the next frame is drawn, and an answer shown.
    await page.evaluate(() => new Promise(requestAnimationFrame))
    const open = openRequests.get(page) ?? []
    assert.deepStrictEqual(
      [...open].map((request) => request.url()),
      [],
    )
  })

/** Lets the next change at that address reach the service, and cuts the connection in place of its answer. */
export const loseAnswer = async (page: Page, address: string): Promise<void> => {
  let isLost = false
  await page.route(address, async (route) => {
    if (isLost || route.request().method() === "GET") return route.fallback()
    isLost = true
    await route.fetch()
    await route.abort()
  })
}

let uniqueCount = 0
const nextUnique = () => String((uniqueCount += 1)).padStart(4, "0")

/** The word with a number of its own: a test that is tried again must not meet what its first try left behind. */
export const unique = (label: string): string => `${label} ${nextUnique()}`

/** A phone that exists, and that no other test writes to. */
export const uniquePhone = (): string => `+1555070${nextUnique()}`

/** Narrow windows show some things in another place. */
export const visibleText = (page: Page, text: string | RegExp) =>
  page.getByText(text).filter({ visible: true })

/** Filters the list of messages by a status. */
export const chooseStatus = async (page: Page, status: string): Promise<void> => {
  await page.locator("summary", { hasText: "Status" }).click()
  await page.getByRole("checkbox", { name: new RegExp(`^${status}`) }).check()
  await page.keyboard.press("Escape")
}

/** Shows the filters of messages that are behind a button. */
export const openFilters = (page: Page): Promise<void> =>
  page.locator("summary", { hasText: "Filter" }).click()

export const signIn = async (page: Page, { operatorToken, url }: TestDashboard): Promise<void> => {
  await page.goto(url)
  await page.getByLabel("Operator token").fill(operatorToken)
  await page.getByRole("button", { name: "Sign in" }).click()
  await page.getByRole("heading", { name: "Workspaces" }).waitFor()
}

/** Goes to an address within the dashboard. */
export const goTo = async (page: Page, { url }: TestDashboard, path: string): Promise<void> => {
  await page.goto(url + path)
  await page.getByRole("heading", { level: 1 }).waitFor()
}

/** What an automatic check finds wrong with the page as it is. */
export const barriers = async (page: Page): Promise<ReadonlyArray<string>> => {
  // Through the debugger: the page's own policy forbids foreign scripts, as it should.
  await page.evaluate(axe.source)
  const { violations } = await page.evaluate(() =>
    (globalThis as unknown as { axe: typeof axe }).axe.run({
      runOnly: ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa", "best-practice"],
    }),
  )
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`)
}

/** Whether something is wider than the window. */
export const overflows = (page: Page): Promise<boolean> =>
  page.evaluate(() => document.documentElement.scrollWidth > innerWidth)
