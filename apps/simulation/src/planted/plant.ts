/**
 * Plants the fault that `PLANTED` names in every later loaded module. Run before the program:
 * `PLANTED="quota off by one" node --import ./plant.ts ./main.ts`.
 */
import { registerHooks } from "node:module"
import { plantedFaults } from "./faults.ts"
import { planted } from "./PlantedFault.ts"

const query = process.env["PLANTED"]
const fault = plantedFaults.find(({ name }) => name === query)
if (fault === undefined) throw new Error(`no planted fault is called ${query}`)

registerHooks({
  load: (url, context, nextLoad) => {
    const edits = fault.edits.filter(({ file }) => url.endsWith(`/packages/${file}`))
    if (edits.length === 0) return nextLoad(url, context)
    const [{ file } = { file: "" }] = edits
    const source = planted(file, edits)
    return { format: "module-typescript", source, shortCircuit: true }
  },
})
