/** Builds the site into `apps/site/dist`, or into the folder that is named. */
import { resolve } from "node:path"
import { build } from "vitepress"
import { siteFolder, stage, stageServed } from "./src/stage.ts"

await stage()
await stageServed()
const [, , outDir] = process.argv
await build(siteFolder, outDir === undefined ? {} : { outDir: resolve(outDir) })
