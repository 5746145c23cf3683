/** The steps of the tutorials with pictures can be done as the text says, and each picture is small and shown. */
import { globSync, readFileSync, readdirSync, statSync } from "node:fs"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { assert, describe, it } from "vitest"
import { movingPicture, takeDocsPictures } from "./docsPictures.ts"
import { fillWorkspace } from "./screens.ts"
import { openBrowser, skipsWithoutBrowser, startDashboard } from "./startDashboard.ts"

const root = resolve(import.meta.dirname, "../../..")
const remaining = readdirSync(join(root, "docs/pictures")).filter((file) => file.endsWith(".png"))

describe("the pictures of the documentation", () => {
  it("are small, and each is shown on a page", () => {
    const pages = ["README.md", ...globSync("docs/**/*.md", { cwd: root })]
      .map((page) => readFileSync(join(root, page), "utf8"))
      .join("\n")
    for (const file of remaining) {
      const limit = file === `${movingPicture}.png` ? 1_000_000 : 150_000
      assert.isAtMost(statSync(join(root, "docs/pictures", file)).size, limit, file)
      assert.include(pages, `pictures/${file})`)
    }
  })

  it.skipIf(skipsWithoutBrowser)("are taken by doing what the tutorials say", async () => {
    const folder = await mkdtemp(join(tmpdir(), "pictures-"))
    const dashboard = await startDashboard()
    const endReceiver = await fillWorkspace(dashboard)
    const browser = await openBrowser()
    try {
      await takeDocsPictures(browser, dashboard, folder)
      assert.sameMembers(readdirSync(folder), remaining)
    } finally {
      await browser.close()
      await dashboard.stop()
      await endReceiver()
      await rm(folder, { recursive: true, force: true })
    }
  })
})
