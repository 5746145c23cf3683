/**
 * Plants the fault that `PLANTED` names in every module that is loaded after this one. Run before the
 * program: `PLANTED="quota off by one" node --import ./plant.ts ./main.ts`.
 */
import { readFileSync } from "node:fs"
import { registerHooks } from "node:module"
import { fileURLToPath } from "node:url"
import { plantedFaults } from "./faults.ts"

const wanted = process.env["PLANTED"]
const fault = plantedFaults.find(({ name }) => name === wanted)
if (fault === undefined) throw new Error(`no planted fault is called ${wanted}`)

registerHooks({
  load: (url, context, nextLoad) => {
    const edits = fault.edits.filter(({ file }) => url.endsWith(`/packages/${file}`))
    if (edits.length === 0) return nextLoad(url, context)
    let source = readFileSync(fileURLToPath(url), "utf8")
    for (const { file, from, to } of edits) {
      if (!source.includes(from)) throw new Error(`${file} has no ${JSON.stringify(from)}`)
      source = source.replace(from, () => to)
    }
    return { format: "module-typescript", source, shortCircuit: true }
  },
})
