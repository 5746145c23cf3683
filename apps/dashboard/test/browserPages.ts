/** Pages of a browser for tests: each is watched, signed in, and checked for barriers. */
import axe from "axe-core"
import type { Browser, Page } from "playwright-core"
import { assert } from "vitest"
import { watchProblems } from "./startDashboard.ts"
import type { TestDashboard } from "./startDashboard.ts"

export interface PageOptions {
  readonly theme?: "light" | "dark"
  readonly width?: number
  /** The test makes requests fail on purpose. */
  readonly mayComplain?: boolean
}

/** Far more than a page ever takes: only what hangs may run into it. */
const pageTimeoutMillis = 15_000

/** Opens a page, acts on it, and fails when the page asked another host, breached its policy or complained. */
export const withPage = async (
  browser: Browser,
  dashboard: Pick<TestDashboard, "url">,
  act: (page: Page) => Promise<void>,
  { mayComplain = false, theme = "light", width = 1280 }: PageOptions = {},
): Promise<void> => {
  const context = await browser.newContext({
    colorScheme: theme,
    // A check in the middle of an animation would see pale colours.
    reducedMotion: "reduce",
    viewport: { width, height: 800 },
  })
  const page = await context.newPage()
  page.setDefaultTimeout(pageTimeoutMillis)
  const problems = watchProblems(page, dashboard.url)
  try {
    await act(page)
    if (!mayComplain) assert.deepStrictEqual(problems, [])
  } finally {
    await context.close()
  }
}

/** Narrow windows show some things in another place. */
export const shown = (page: Page, text: string | RegExp) =>
  page.getByText(text).filter({ visible: true })

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
