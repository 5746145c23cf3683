/** What holds on every screen: the keyboard reaches everything and loses nothing, and nothing is wider than the window. */
import type { Page } from "playwright-core"
import { assert, describe, it } from "vitest"
import { awaitAnswers, goTo, overflows, setUpDashboard } from "./browserPages.ts"
import { screens } from "./screens.ts"
import { skipsWithoutBrowser } from "./startDashboard.ts"

/** More than any screen has controls. */
const tabsMax = 250

/** In the page: numbers for elements, which stay theirs while others come and go. */
interface Named {
  names: Map<Element, number>
  toName: (element: Element) => number
}

const nameElements = (page: Page): Promise<void> =>
  page.evaluate(() => {
    const page = globalThis as unknown as Named
    page.names = new Map()
    page.toName = (element) => {
      const name = page.names.get(element) ?? page.names.size
      page.names.set(element, name)
      return name
    }
  })

/** The name of what has the focus; null for none, false for what is not to be seen. */
const focused = (page: Page): Promise<number | false | null> =>
  page.evaluate(() => {
    const on = document.activeElement
    if (on === null || on === document.body) return null
    const { height, width } = on.getBoundingClientRect()
    const observed = on.checkVisibility({ visibilityProperty: true, opacityProperty: true })
    return observed && width > 0 && height > 0 && (globalThis as unknown as Named).toName(on)
  })

/** The controls that Tab has to reach: those of the open dialog, else of the page. */
const controls = (page: Page): Promise<ReadonlyArray<readonly [name: number, what: string]>> =>
  page.evaluate(() => {
    const dialogs = document.querySelectorAll("dialog[open]")
    const within = dialogs[dialogs.length - 1] ?? document.body
    return (
      [...within.querySelectorAll("a[href], button, input, select, textarea, summary")]
        .filter((one) => one.checkVisibility({ visibilityProperty: true }))
        // Arrows go from one radio button of a group to the others.
        .filter((one) => !one.matches("[tabindex='-1'], [type=radio]:not(:checked), :disabled"))
        .map((one) => {
          const html = one.outerHTML.slice(0, 120)
          return [(globalThis as unknown as Named).toName(one), html] as const
        })
    )
  })

/** How often news may change a page while it is walked: a failing receiver is called again at its times. */
const changesMax = 3

/** Goes round a page by Tab, on which nothing changes meanwhile: what has the focus, and how often nothing has. */
const walked = async (page: Page, name: string) => {
  for (let changes = 0; ; changes += 1) {
    const before = await controls(page)
    const received = new Set<number>()
    let last: number | null = null
    let lost = 0
    for (let tabs = 0; tabs < tabsMax; tabs += 1) {
      await page.keyboard.press("Tab")
      const on = await focused(page)
      if (on === false) assert.fail(`${name}: the focus is on what is not to be seen`)
      // Between the last control and the first the browser's own bar has it, once a round.
      if (on === null) lost += 1
      // The parts of a time are one element.
      else if (on !== last && received.has(on)) break
      else received.add(on)
      last = on
    }
    const all = await controls(page)
    const isSame = all.every(([control], index) => before[index]?.[0] === control)
    if (isSame || changes === changesMax) return { all, lost, received }
  }
}

describe.skipIf(skipsWithoutBrowser)("every screen", () => {
  const { dashboard, onPage } = setUpDashboard({ isFilled: true })

  const onEvery = (
    options: { readonly width?: number },
    act: (page: Page, name: string) => Promise<void>,
  ) =>
    onPage(
      "/workspaces",
      async (page) => {
        for (const { name, path, ready } of screens) {
          if (path !== null) await goTo(page, dashboard, path)
          await ready(page)
          await awaitAnswers(page)
          await act(page, name)
        }
      },
      options,
    )

  it("is walked by Tab from one control to another, and the focus is always to be seen", () =>
    onEvery({}, async (page, name) => {
      await nameElements(page)
      const { all, lost, received } = await walked(page, name)
      assert.isAtMost(lost, 1, `${name}: the focus is lost within the page`)
      const missed = all.filter(([control]) => !received.has(control))
      assert.deepStrictEqual(missed, [], name)
    }))

  for (const width of [2560, 360, 320])
    it(`has its own title, and nothing wider than the window: ${width}`, () =>
      onEvery({ width }, async (page, name) => {
        const heading = (await page.locator("h1").textContent()) ?? ""
        assert.strictEqual(await page.title(), `${heading} · Messaging`, name)
        assert.isFalse(await overflows(page), `${name} at ${width}`)
      }))

  it("has one left and one right edge for all pages", () =>
    onEvery({ width: 1600 }, async (page, name) => {
      // A chat is shown next to its list, an open message next to the messages.
      if (/^chat|^message$/.test(name)) return
      const box = await page.locator("main").boundingBox()
      assert.deepStrictEqual([box?.x, box?.width], [224, 1216], name)
    }))

  it("keeps filters in one row and texts readable beside an open message", () =>
    onPage("/w/1/messages", async (page) => {
      await page.locator("tbody tr").first().click()
      await page.getByRole("list", { name: "Timeline" }).locator("li").first().waitFor()
      const height = async () => (await page.getByRole("search").boundingBox())?.height ?? 0
      assert.isAtMost(await height(), 40)
      const text = await page.getByRole("columnheader", { name: "Text" }).boundingBox()
      assert.isAtLeast(text?.width ?? 0, 200)
      const status = page.locator("summary", { hasText: "Status" })
      await status.click()
      await page.getByRole("checkbox", { name: /^failed 1 in 24 h$/ }).check()
      await page.keyboard.press("Escape")
      await page.getByRole("button", { name: "Remove filter: failed" }).click()
      assert.isAtMost(await height(), 40)
      // Escape closed the menu alone.
      await page.getByRole("complementary", { name: /^Message / }).waitFor()
    }))

  it("lists its keys on `?`, every page's among them", () =>
    onPage("/w/1/contacts", async (page) => {
      await awaitAnswers(page)
      const pages = await page
        .getByRole("navigation", { name: "Pages" })
        .getByRole("link")
        .allTextContents()
      assert.include(pages, "Contacts")
      await page.keyboard.press("?")
      const keys = page.getByRole("dialog", { name: "Keyboard shortcuts" })
      for (const name of pages) await keys.getByText(name, { exact: true }).waitFor()
    }))
})
