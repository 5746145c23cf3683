/** During the remote server's flood wait nothing is handed over for the number. */
import { isRestore } from "./Promise.ts"
import type { JudgedPromise } from "./Promise.ts"

export const flooded: JudgedPromise = {
  name: "flood wait",
  check: ({ entries, setting }) => {
    if (!setting.isTimeTrue) return []
    const violations: Array<string> = []
    const waits = new Map<number, { readonly process: string; readonly until: number }>()
    for (const entry of entries) {
      // A process that dies may not have stored it.
      if (entry._tag === "Died") {
        for (const [number, { process }] of waits) {
          if (process === entry.process) waits.delete(number)
        }
      }
      if (isRestore(entry)) waits.clear()
      if (entry._tag === "Flooded") waits.set(entry.number, entry)
      if (entry._tag !== "HandedOver") continue
      const left = (waits.get(entry.number)?.until ?? 0) - entry.at
      if (left > 0) violations.push(`${entry.name} was handed over ${left} ms too early`)
    }
    return violations
  },
}
