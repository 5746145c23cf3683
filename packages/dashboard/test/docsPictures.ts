/** The pictures in README and `docs`: a file of `docs/pictures` each, taken while the text's steps are done. */
import type { Browser, Page } from "playwright-core"
import { writeFile } from "node:fs/promises"
import { goTo, signIn } from "./browserPages.ts"
import { toMovingPicture } from "./movingPicture.ts"
import type { Frame } from "./movingPicture.ts"
import type { TestDashboard } from "./startDashboard.ts"

interface Picture {
  /** Its name in `docs/pictures`, without `.png`. */
  readonly file: string
  /** Within the dashboard; null for the page that is open. */
  readonly path: string | null
  /** Does what the text before the picture says, and waits until it is shown. */
  readonly act: (page: Page, dashboard: TestDashboard) => Promise<unknown>
}

const visibleText = (page: Page, text: string | RegExp) =>
  page.getByText(text).filter({ visible: true }).first().waitFor()

const press = (page: Page, name: string) => page.getByRole("button", { name, exact: true }).click()

const openMessage = async (page: Page, text: string) => {
  await page.locator("tbody tr").filter({ hasText: text }).first().click()
  await page.getByRole("list", { name: "Timeline" }).locator("li").first().waitFor()
}

const write = async (page: Page, phone: string, text: string) => {
  await page.getByLabel("To", { exact: true }).fill(phone)
  await page.getByLabel("Text", { exact: true }).fill(text)
}

const openPhone = async (page: Page, phone: RegExp) => {
  await page.getByRole("link", { name: "Emulator", exact: true }).click()
  await page
    .getByRole("link", { name: phone })
    .or(page.getByRole("button", { name: phone }))
    .first()
    .click()
  await page.getByRole("button", { name: "Mark as read" }).first().waitFor()
}

const ofReadme: ReadonlyArray<Picture> = [
  {
    file: "dashboard",
    path: "/w/1/messages",
    act: (page) => openMessage(page, "is not registered"),
  },
]

const ofFirstMessage: ReadonlyArray<Picture> = [
  {
    file: "first-message-write",
    path: "/w/1/messages/new",
    act: (page) => write(page, "+15550100002", "Hello from *my own* gateway"),
  },
  {
    file: "first-message-arrived",
    path: null,
    act: async (page) => {
      await press(page, "Send")
      await visibleText(page, "Queued ·")
      await openPhone(page, /15550100002/)
    },
  },
  {
    file: "first-message-read",
    path: null,
    act: async (page) => {
      await press(page, "Mark as read")
      const phone = page.getByRole("list", { name: "Messages on the phone" })
      await phone.getByText("read", { exact: true }).waitFor()
      await page.getByRole("link", { name: "Messages", exact: true }).click()
      await openMessage(page, "15550100002")
    },
  },
]

const ofLinking: ReadonlyArray<Picture> = [
  {
    file: "link-welcome",
    path: null,
    act: async (page, dashboard) => {
      const created = (await dashboard.operate("POST", "/admin/v1/workspaces/1/portal-sessions", {
        role: "administrator",
        return_url: "https://shop.example/settings",
      })) as { readonly url: string }
      const { hash, pathname } = new URL(created.url)
      await page.goto(`${dashboard.url}${pathname}${hash}`)
      await page.getByRole("button", { name: "Open the workspace" }).waitFor()
    },
  },
  {
    file: "link-how",
    path: null,
    act: async (page) => {
      await press(page, "Open the workspace")
      await page.getByRole("link", { name: "Numbers", exact: true }).click()
      await press(page, "Link a phone")
      await visibleText(page, "Scan a QR code")
    },
  },
  {
    file: "link-code",
    path: null,
    act: async (page) => {
      await press(page, "Show code")
      await page.getByAltText("QR code to scan with the phone").waitFor()
    },
  },
  {
    file: "link-done",
    path: null,
    act: async (page, dashboard) => {
      const [, number = ""] = /\/numbers\/(\d+)\/link/.exec(page.url()) ?? []
      await dashboard.operate("POST", `/admin/v1/simulator/numbers/${number}/scan`, {
        phone: "+15550100077",
      })
      await visibleText(page, "is linked")
    },
  },
]

const ofWaiting: ReadonlyArray<Picture> = [
  {
    file: "why-waits",
    path: "/w/1/messages/new",
    act: async (page, dashboard) => {
      await dashboard.operate("POST", "/admin/v1/simulator/numbers/1/logout")
      await write(page, "+15550100003", "Your parcel has arrived")
      await page.getByLabel("From", { exact: true }).selectOption("1")
      await press(page, "Send")
      await visibleText(page, "Queued ·")
      await page.getByRole("link", { name: "Messages", exact: true }).click()
      await openMessage(page, "Your parcel has arrived")
      await visibleText(page, "Why is it waiting?")
    },
  },
  {
    file: "why-number",
    path: null,
    act: async (page) => {
      await page.getByRole("link", { name: "Go to number" }).click()
      await page.getByRole("heading", { level: 1 }).waitFor()
      await visibleText(page, "Logged out on the phone")
    },
  },
]

/** The name of the one that moves. */
export const movingPicture = "send-arrive-read"

const filmText = "Your table is ready. See you at eight!"

/** A message from its form to the tick of its reader, in 20 seconds. */
const film: ReadonlyArray<readonly [millis: number, act: (page: Page) => Promise<unknown>]> = [
  [1500, (page) => page.getByLabel("To", { exact: true }).fill("+15550100008")],
  [2500, (page) => page.getByLabel("Text", { exact: true }).fill(filmText)],
  [
    3000,
    async (page) => {
      await press(page, "Send")
      await visibleText(page, "Queued ·")
    },
  ],
  [4000, (page) => openPhone(page, /15550100008/)],
  [
    3500,
    async (page) => {
      await press(page, "Mark as read")
      const phone = page.getByRole("list", { name: "Messages on the phone" })
      await phone.getByText("read", { exact: true }).waitFor()
    },
  ],
  [
    5500,
    async (page) => {
      await page.getByRole("link", { name: "Messages", exact: true }).click()
      await openMessage(page, filmText)
    },
  ],
]

const takeFilm = async (page: Page, dashboard: TestDashboard): Promise<Buffer> => {
  await goTo(page, dashboard, "/w/1/messages/new")
  const frames: Array<Frame> = []
  for (const [millis, act] of film) {
    await act(page)
    frames.push({ png: await page.screenshot(), millis })
  }
  return toMovingPicture(frames)
}

const docsViewport = { width: 1280, height: 600 }

const openPage = async (browser: Browser, viewport = docsViewport): Promise<Page> => {
  const context = await browser.newContext({ reducedMotion: "reduce", viewport })
  const page = await context.newPage()
  page.setDefaultTimeout(15_000)
  return page
}

export const takeDocsPictures = async (
  browser: Browser,
  dashboard: TestDashboard,
  folder: string,
) => {
  const operator = await openPage(browser)
  await signIn(operator, dashboard)
  const customer = await openPage(browser)
  const filmed = await openPage(browser, { width: 1000, height: 620 })
  await signIn(filmed, dashboard)
  await writeFile(`${folder}/${movingPicture}.png`, await takeFilm(filmed, dashboard))
  const series = [
    [operator, [...ofReadme, ...ofFirstMessage]],
    [customer, ofLinking],
    [operator, ofWaiting],
  ] as const
  for (const [page, pictures] of series) {
    for (const { act, file, path } of pictures) {
      if (path !== null) await goTo(page, dashboard, path)
      await act(page, dashboard)
      await page.screenshot({ path: `${folder}/${file}.png` })
    }
  }
}
