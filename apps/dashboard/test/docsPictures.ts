/** The pictures in README and `docs`: a file of `docs/pictures` each, small enough for a repository. */
import type { Page } from "playwright-core"
import { goTo } from "./browserPages.ts"
import type { TestDashboard } from "./startDashboard.ts"

interface Picture {
  /** Its name in `docs/pictures`, without `.png`. */
  readonly file: string
  /** Within the dashboard; null for the page that is open. */
  readonly path: string | null
  /** Does what the text before the picture says, and waits until it is shown. */
  readonly act: (page: Page) => Promise<unknown>
}

const shown = (page: Page, text: string | RegExp) =>
  page.getByText(text).filter({ visible: true }).first().waitFor()

const openMessage = async (page: Page, text: string) => {
  await page.locator("tbody tr").filter({ hasText: text }).first().click()
  await page.getByRole("list", { name: "What happened" }).locator("li").first().waitFor()
}

const pictures: ReadonlyArray<Picture> = [
  {
    file: "dashboard",
    path: "/w/1/messages",
    act: (page) => openMessage(page, "is not registered"),
  },
  {
    file: "first-message-write",
    path: "/w/1/messages/new",
    act: async (page) => {
      await page.getByLabel("To", { exact: true }).fill("+15550100002")
      await page.getByLabel("Text", { exact: true }).fill("Hello from *my own* gateway")
    },
  },
  {
    file: "first-message-arrived",
    path: null,
    act: async (page) => {
      await page.getByRole("button", { name: "Send", exact: true }).click()
      await shown(page, "Hello from")
      await page.getByRole("link", { name: "Emulator", exact: true }).click()
      await page
        .getByRole("link", { name: /15550100002/ })
        .or(page.getByRole("button", { name: /15550100002/ }))
        .first()
        .click()
      await page.getByRole("button", { name: "Read it" }).first().waitFor()
    },
  },
  {
    file: "first-message-read",
    path: null,
    act: async (page) => {
      await page.getByRole("button", { name: "Read it" }).first().click()
      await page.getByRole("link", { name: "Messages", exact: true }).click()
      await openMessage(page, "15550100002")
    },
  },
]

export const docsViewport = { width: 1280, height: 660 }

export const takeDocsPictures = async (page: Page, dashboard: TestDashboard, folder: string) => {
  for (const { act, file, path } of pictures) {
    if (path !== null) await goTo(page, dashboard, path)
    await act(page)
    await page.screenshot({ path: `${folder}/${file}.png` })
  }
}
