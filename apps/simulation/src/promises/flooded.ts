/** During the remote server's flood wait nothing is handed over for the number. */
import { isRestore } from "./Promise.ts"
import type { JudgedPromise } from "./Promise.ts"

export const flooded: JudgedPromise = {
  name: "flood wait",
  check: ({ entries, setting }) => {
    if (!setting.isTimeTrue) return []
    const violations: Array<string> = []
    const waits = new Map<number, { readonly process: string; readonly until: number }>()
    /** Numbers that handed something over since the store was restored. */
    const known = new Set<number>()
    for (const entry of entries) {
      // A process that dies may not have stored it.
      if (entry._tag === "Died") {
        for (const [number, { process }] of waits) {
          if (process === entry.process) waits.delete(number)
        }
      }
      // The restored store settles nothing that was handed over before.
      if (isRestore(entry)) {
        waits.clear()
        known.clear()
      }
      if (entry._tag === "Flooded" && known.has(entry.number)) waits.set(entry.number, entry)
      if (entry._tag !== "HandedOver") continue
      known.add(entry.number)
      const left = (waits.get(entry.number)?.until ?? 0) - entry.at
      if (left > 0) violations.push(`${entry.name} was handed over ${left} ms too early`)
    }
    return violations
  },
}
