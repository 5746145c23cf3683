/** Serves the site while its pages are written: a change of `docs` is shown at once. */
import { watch } from "node:fs/promises"
import { join } from "node:path"
import { createServer } from "vitepress"
import { root } from "./src/pages.ts"
import { siteFolder, stage, stageServed } from "./src/stage.ts"

await stage()
await stageServed()
const server = await createServer(siteFolder, {})
await server.listen()
server.printUrls()
for await (const _ of watch(join(root, "docs"), { recursive: true })) await stage()
