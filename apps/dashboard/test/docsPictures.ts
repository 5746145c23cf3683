/** The pictures in README and `docs`: a file of `docs/pictures` each, small enough for a repository. */
import type { Page } from "playwright-core"
import { goTo } from "./browserPages.ts"
import { screens } from "./screens.ts"
import type { Screen } from "./screens.ts"
import type { TestDashboard } from "./startDashboard.ts"

/** File name, and the screen that it shows. Screens without a path need the one before them. */
const pictures: ReadonlyArray<readonly [file: string, screen: string, before?: string]> = [
  ["dashboard", "message", "messages"],
  ["message-new", "message-new"],
  ["emulator", "emulator"],
]

const screenOf = (name: string): Screen => {
  const found = screens.find((screen) => screen.name === name)
  if (found === undefined) throw new Error(`no screen ${name}`)
  return found
}

export const docsViewport = { width: 1280, height: 660 }

export const takeDocsPictures = async (page: Page, dashboard: TestDashboard, folder: string) => {
  for (const [file, name, before] of pictures) {
    for (const each of [before, name]) {
      if (each === undefined) continue
      const { path, ready } = screenOf(each)
      if (path !== null) await goTo(page, dashboard, path)
      await ready(page)
    }
    await page.screenshot({ path: `${folder}/${file}.png` })
  }
}
