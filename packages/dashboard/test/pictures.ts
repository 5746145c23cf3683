/**
 * Makes pictures of every screen, light, dark and 360 px wide: `pnpm --filter @messaging-service/dashboard pictures
 * [folder]`. They come into a folder that is not tracked. `pictures --docs` makes those of
 * `docs/pictures` in their place.
 */
import { mkdir } from "node:fs/promises"
import { resolve } from "node:path"
import { goTo, signIn } from "./browserPages.ts"
import { takeDocsPictures } from "./docsPictures.ts"
import { fillWorkspace, screens } from "./screens.ts"
import { openBrowser, startDashboard } from "./startDashboard.ts"

const variants = [
  { look: "light", theme: "light", width: 1280, height: 800 },
  { look: "dark", theme: "dark", width: 1280, height: 800 },
  { look: "narrow", theme: "light", width: 360, height: 740 },
] as const

const forDocs = process.argv[2] === "--docs"
const root = resolve(import.meta.dirname, "../../..")
const folder = forDocs
  ? resolve(root, "docs/pictures")
  : resolve(process.argv[2] ?? resolve(root, "node_modules/.cache/pictures"))
await mkdir(folder, { recursive: true })
const dashboard = await startDashboard()
const endReceiver = await fillWorkspace(dashboard)
const browser = await openBrowser()

const takeEveryScreen = async () => {
  for (const { height, look, theme, width } of variants) {
    const context = await browser.newContext({
      colorScheme: theme,
      reducedMotion: "reduce",
      viewport: { width, height },
    })
    const page = await context.newPage()
    const take = (name: string) => page.screenshot({ path: `${folder}/${name}-${look}.png` })
    await page.goto(dashboard.url)
    await page.getByLabel("Operator token").waitFor()
    await take("sign-in")
    await signIn(page, dashboard)
    for (const { name, path, ready } of screens) {
      if (path !== null) await goTo(page, dashboard, path)
      await ready(page)
      await take(name)
    }
    await context.close()
  }
}

try {
  await (forDocs ? takeDocsPictures(browser, dashboard, folder) : takeEveryScreen())
} finally {
  await browser.close()
  await dashboard.stop()
  await endReceiver()
}
console.error(`pictures are in ${folder}`)
